//! Copies of several ranges, and copies with attributes. Attributes say where memory is and when it is read; copies are performed when they are appended.

use super::call::{enqueue, enqueue_or_wait, prepared, recorded, same_as_driver};
use super::copy::{kind, operation};
use super::version::{Major, major};
use crate::abi::arrays::BatchCopy;
use crate::call;
use crate::caller;
use crate::driver::copy_batch as driver;
use crate::handles::Raw;
use crate::state::Copy;
use crate::status::{Outcome, Status};

/// Appends the copies, and returns the index of the one that fails with its status.
fn append(
    name: &str,
    [to, from]: [&[usize]; 2],
    sizes: &[usize],
    stream: Raw,
) -> Result<(), (usize, Status)> {
    for (index, ((to, from), bytes)) in to.iter().zip(from).zip(sizes).enumerate() {
        let status = enqueue(name, stream, |driver| {
            let copy = Copy::linear(*from as u64, *to as u64, *bytes as u64);
            operation(driver, copy, kind::DEFAULT)
        });
        if status != Status::SUCCESS {
            return Err((index, status));
        }
    }
    Ok(())
}

/// The eighth parameter is the stream in CUDA 13; in CUDA 12 it is a place for the index of the copy that fails.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyBatchAsync(
    to: *const usize,
    from: *const usize,
    sizes: *const usize,
    count: usize,
    _attributes: usize,
    _attribute_indices: usize,
    _attribute_count: usize,
    failed_or_stream: usize,
    stream: Raw,
) -> Status {
    let name = "cudaMemcpyBatchAsync";
    let (failed, stream) = match major() {
        Major::Twelve => (failed_or_stream, stream),
        Major::Thirteen => (0, failed_or_stream),
    };
    let lists = || -> Outcome<_> {
        let ends = [caller::slice(to, count)?, caller::slice(from, count)?];
        Ok((ends, caller::slice(sizes, count)?))
    };
    let (ends, sizes) = match lists() {
        Ok(lists) => lists,
        Err(status) => return recorded(call::plain(name, || Err(status))),
    };
    match append(name, ends, sizes, stream) {
        Ok(()) => Status::SUCCESS,
        Err((index, status)) => {
            if failed != 0 {
                caller::put(&index.to_ne_bytes(), failed);
            }
            status
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyWithAttributesAsync(
    to: usize,
    from: usize,
    bytes: usize,
    _attributes: usize,
    stream: Raw,
) -> Status {
    let name = "cudaMemcpyWithAttributesAsync";
    enqueue_or_wait(name, Some(stream), |driver| {
        let copy = Copy::linear(from as u64, to as u64, bytes as u64);
        operation(driver, copy, kind::DEFAULT)
    })
}

/// The third parameter is the flags in CUDA 13; in CUDA 12 it is a place for the index of the copy that fails.
#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy3DBatchAsync(
    count: usize,
    operations: *const BatchCopy,
    failed_or_flags: usize,
    flags_or_stream: usize,
    stream: Raw,
) -> Status {
    let name = "cudaMemcpy3DBatchAsync";
    let (failed, flags, stream) = match major() {
        Major::Twelve => (failed_or_flags, flags_or_stream, stream),
        Major::Thirteen => (0, failed_or_flags, flags_or_stream),
    };
    prepared(name, || {
        let (status, index) = driver::shaped_batch(name, count, operations, flags as u64, stream);
        if failed != 0 {
            caller::put(&index.to_ne_bytes(), failed);
        }
        status
    })
}

same_as_driver! {
    pub extern "C" fn cudaMemcpy3DWithAttributesAsync(
        operation: *const BatchCopy,
        flags: u64,
        stream: Raw,
    ) -> Status => driver::cuMemcpy3DWithAttributesAsync;
}

/// Numbers of double precision are the same on the device.
#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDoubleForDevice(_number: usize) -> Status {
    Status::SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDoubleForHost(_number: usize) -> Status {
    Status::SUCCESS
}
