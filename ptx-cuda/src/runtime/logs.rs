//! The messages about functions that failed. Reading them does not initialize the runtime.

use std::ffi::c_char;

use super::call::recorded;
use crate::caller::Out;
use crate::driver::logs as d;
use crate::handles::Raw;
use crate::logs::LogCallback;
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cudaLogsRegisterCallback(
    callback: Option<LogCallback>,
    data: usize,
    handle: Out<'_, Raw>,
) -> Status {
    recorded(d::cuLogsRegisterCallback(callback, data, handle))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaLogsUnregisterCallback(handle: Raw) -> Status {
    recorded(d::cuLogsUnregisterCallback(handle))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaLogsCurrent(iterator: Out<'_, u32>, flags: u32) -> Status {
    recorded(d::cuLogsCurrent(iterator, flags))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaLogsDumpToFile(
    iterator: Option<&mut u32>,
    path: *const c_char,
    flags: u32,
) -> Status {
    recorded(d::cuLogsDumpToFile(iterator, path, flags))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaLogsDumpToMemory(
    iterator: Option<&mut u32>,
    buffer: *mut c_char,
    bytes: Option<&mut usize>,
    flags: u32,
) -> Status {
    recorded(d::cuLogsDumpToMemory(iterator, buffer, bytes, flags))
}
