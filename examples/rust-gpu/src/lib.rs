//! Kernels in Rust: each thread processes a row of numbers.
#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]

extern crate alloc;

pub mod rows;

use core::arch::nvptx;
use core::slice;

/// The index and the numbers of the row of this thread; `None` if there are fewer rows.
///
/// # Safety
///
/// `numbers` points to `rows` rows of that width, which no other thread uses.
unsafe fn row<'a>(numbers: *mut u32, width: u32, rows: u32) -> Option<(usize, &'a mut [u32])> {
    let thread =
        unsafe { nvptx::_block_idx_x() * nvptx::_block_dim_x() + nvptx::_thread_idx_x() } as u32;
    let (index, width) = (thread as usize, width as usize);
    (thread < rows).then(|| {
        (index, unsafe {
            slice::from_raw_parts_mut(numbers.add(index * width), width)
        })
    })
}

/// Sorts the row of each thread.
///
/// # Safety
///
/// See [`row`].
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn sort_rows(numbers: *mut u32, width: u32, rows: u32) {
    if let Some((_, row)) = unsafe { row(numbers, width, rows) } {
        rows::sort(row);
    }
}

macro_rules! per_row {
    ($($kernel:ident: $function:ident,)*) => {$(
        /// Stores the result of a function for the row of each thread.
        ///
        /// # Safety
        ///
        /// See [`row`]. `results` points to a number for each row.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $kernel(numbers: *mut u32, width: u32, rows: u32, results: *mut u32) {
            if let Some((index, row)) = unsafe { row(numbers, width, rows) } {
                unsafe { *results.add(index) = rows::$function(row) };
            }
        }
    )*};
}

per_row! {
    frequent_in_rows: most_frequent,
    neighbours_in_rows: neighbours,
    follow_in_rows: follow,
}
