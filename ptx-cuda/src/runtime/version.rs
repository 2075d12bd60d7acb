//! Versions, and the version of CUDA that the program expects.

use super::call::plain;
use crate::caller::{Out, loaded_libraries, set};
use crate::driver::version::CUDA_VERSION;
use crate::status::Status;

/// The major version of CUDA for which a program was compiled.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Major {
    Twelve,
    Thirteen,
}

/// The major version that the program expects: that of the name of the runtime library which it loaded. Without a name, the newest one.
pub(crate) fn major() -> Major {
    let mut major = Major::Thirteen;
    for library in loaded_libraries() {
        if library.contains("libcudart.so.13") {
            return Major::Thirteen;
        }
        if library.contains("libcudart.so.12") {
            major = Major::Twelve;
        }
    }
    major
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDriverGetVersion(version: Out<'_, i32>) -> Status {
    plain("cudaDriverGetVersion", || set(version, CUDA_VERSION))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaRuntimeGetVersion(version: Out<'_, i32>) -> Status {
    plain("cudaRuntimeGetVersion", || {
        set(
            version,
            match major() {
                Major::Twelve => 12090,
                Major::Thirteen => CUDA_VERSION,
            },
        )
    })
}
