//! Errors: the last one of the thread, and the names of results.

use std::ffi::{CStr, c_char};

use super::call::{last_error, set_last_error};
use crate::call;
use crate::status::Status;

/// The error that a kernel caused in the current context, which stays until the context ends.
fn fault() -> Option<Status> {
    call::with(|driver| driver.check_context()).err()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> Status {
    let status = last_error();
    if status != Status::SUCCESS && fault() != Some(status) {
        set_last_error(Status::SUCCESS);
    }
    status
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> Status {
    last_error()
}

/// A text that always exists, for an unknown number, too.
const fn text_or_unknown(text: Option<&'static CStr>, unknown: &'static CStr) -> *const c_char {
    match text {
        Some(text) => text.as_ptr(),
        None => unknown.as_ptr(),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(status: Status) -> *const c_char {
    text_or_unknown(status.runtime_name(), c"unrecognized error code")
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(status: Status) -> *const c_char {
    if status == Status::SUCCESS {
        return c"no error".as_ptr();
    }
    let text = status.runtime_name().and(status.text());
    text_or_unknown(text, c"unrecognized error code")
}
