//! The control of profilers, which has no effect.

use crate::call::plain;
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cuProfilerStart() -> Status {
    plain("cuProfilerStart", || Ok(()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuProfilerStop() -> Status {
    plain("cuProfilerStop", || Ok(()))
}
