//! The results of functions.

use std::ffi::CStr;

/// The result of a function: `CUresult` and `cudaError_t`, which have the same numbers.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Status(pub u32);

include!(concat!(env!("OUT_DIR"), "/status.rs"));

impl Status {
    fn row(self) -> Option<&'static (u32, &'static CStr, &'static CStr, &'static CStr)> {
        let index = NAMES.binary_search_by_key(&self.0, |row| row.0).ok()?;
        NAMES.get(index)
    }

    /// The name of the result in the driver API; `None` for an unknown number.
    pub fn driver_name(self) -> Option<&'static CStr> {
        self.row().map(|row| row.1).filter(|name| !name.is_empty())
    }

    /// The name of the result in the runtime API; `None` for an unknown number.
    pub fn runtime_name(self) -> Option<&'static CStr> {
        self.row().map(|row| row.2).filter(|name| !name.is_empty())
    }

    /// What the result means; `None` for an unknown number.
    pub fn text(self) -> Option<&'static CStr> {
        self.row().map(|row| row.3)
    }
}

/// The result of an operation that may fail.
pub type Outcome<T> = Result<T, Status>;
