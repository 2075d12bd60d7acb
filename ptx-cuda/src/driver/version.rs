//! Initialization, versions, and the names of results.

use std::ffi::{CStr, c_char};

use crate::call::{initialize, plain};
use crate::caller::{Out, set};
use crate::status::Status;

/// The version of CUDA that the driver has: 13.2.
pub(crate) const CUDA_VERSION: i32 = 13020;

/// Initializes the driver.
#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: u32) -> Status {
    plain("cuInit", || {
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        initialize()
    })
}

/// The version of CUDA.
#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(version: Out<'_, i32>) -> Status {
    plain("cuDriverGetVersion", || set(version, CUDA_VERSION))
}

/// Passes a text that always exists to the caller, or null for an unknown result.
fn set_static(result: Out<'_, *const c_char>, text: Option<&'static CStr>) -> Status {
    plain("cuGetErrorName", || {
        set(result, text.map_or(std::ptr::null(), CStr::as_ptr))?;
        text.map(|_| ()).ok_or(Status::INVALID_VALUE)
    })
}

/// The name of a result.
#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorName(status: Status, name: Out<'_, *const c_char>) -> Status {
    set_static(name, status.driver_name())
}

/// What a result means.
#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorString(status: Status, text: Out<'_, *const c_char>) -> Status {
    set_static(text, status.driver_name().and(status.text()))
}
