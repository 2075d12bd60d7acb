//! The results of the functions of the driver.

use std::ffi::CStr;

use cudarc::driver::sys::CUresult;
use ptx_vm::RunError;

/// The reason why a function fails.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Failure(pub(crate) CUresult);

impl Failure {
    pub(crate) const INVALID_VALUE: Self = Self(CUresult::CUDA_ERROR_INVALID_VALUE);
    pub(crate) const INVALID_DEVICE: Self = Self(CUresult::CUDA_ERROR_INVALID_DEVICE);
    pub(crate) const INVALID_CONTEXT: Self = Self(CUresult::CUDA_ERROR_INVALID_CONTEXT);
    pub(crate) const INVALID_HANDLE: Self = Self(CUresult::CUDA_ERROR_INVALID_HANDLE);
    pub(crate) const INVALID_PTX: Self = Self(CUresult::CUDA_ERROR_INVALID_PTX);
    pub(crate) const NOT_FOUND: Self = Self(CUresult::CUDA_ERROR_NOT_FOUND);
    pub(crate) const OUT_OF_MEMORY: Self = Self(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    pub(crate) const LAUNCH_FAILED: Self = Self(CUresult::CUDA_ERROR_LAUNCH_FAILED);
}

/// The failure for an address that is not in memory.
impl From<RunError> for Failure {
    fn from(_: RunError) -> Self {
        Self::INVALID_VALUE
    }
}

/// The result that a function returns.
pub(crate) fn code(result: Result<(), Failure>) -> CUresult {
    result.map_or_else(|failure| failure.0, |()| CUresult::CUDA_SUCCESS)
}

/// The text of an error.
pub(crate) fn error_text(error: CUresult) -> &'static CStr {
    match error {
        CUresult::CUDA_ERROR_INVALID_PTX => c"the text is not accepted",
        CUresult::CUDA_ERROR_LAUNCH_FAILED => c"a kernel failed",
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => c"no memory",
        CUresult::CUDA_ERROR_NOT_FOUND => c"no such name",
        _ => c"a wrong argument",
    }
}

/// Writes a result to the place that the caller gives, if it gives one.
///
/// # Safety
///
/// The pointer is null, or to a place for a value.
pub(crate) unsafe fn store<T>(place: *mut T, value: T) -> Result<(), Failure> {
    if !place.is_null() {
        // SAFETY: the caller guarantees that there is a place for a value.
        unsafe { place.write(value) };
    }
    Ok(())
}
