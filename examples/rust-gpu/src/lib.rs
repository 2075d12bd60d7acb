//! Kernels that are Rust: each thread works on a row of numbers.
#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]

extern crate alloc;

pub mod rows;

use core::arch::nvptx;
use core::slice;

/// The row of this thread, unless there are fewer rows.
///
/// # Safety
///
/// `numbers` has `rows` rows of that width, which no other thread uses.
unsafe fn row<'a>(numbers: *mut u32, width: u32, rows: u32) -> Option<(usize, &'a mut [u32])> {
    let thread =
        unsafe { nvptx::_block_idx_x() * nvptx::_block_dim_x() + nvptx::_thread_idx_x() } as u32;
    let (at, width) = (thread as usize, width as usize);
    (thread < rows).then(|| {
        (at, unsafe {
            slice::from_raw_parts_mut(numbers.add(at * width), width)
        })
    })
}

/// # Safety
///
/// As of [`row`].
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn sort_rows(numbers: *mut u32, width: u32, rows: u32) {
    if let Some((_, row)) = unsafe { row(numbers, width, rows) } {
        rows::sort(row);
    }
}

macro_rules! per_row {
    ($($kernel:ident: $function:ident,)*) => {$(
        /// # Safety
        ///
        /// As of [`row`], and `results` has a number for each row.
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $kernel(numbers: *mut u32, width: u32, rows: u32, results: *mut u32) {
            if let Some((at, row)) = unsafe { row(numbers, width, rows) } {
                unsafe { *results.add(at) = rows::$function(row) };
            }
        }
    )*};
}

per_row! {
    frequent_in_rows: most_frequent,
    neighbours_in_rows: neighbours,
    follow_in_rows: follow,
}
