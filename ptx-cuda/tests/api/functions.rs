//! The lists of functions.

use std::ffi::{CString, c_void};

use ptx_cuda::driver::memory::cuMemAlloc_v2;
use ptx_cuda::driver::proc_address::{cuGetExportTable, cuGetProcAddress, cuGetProcAddress_v2};
use ptx_cuda::driver::version::{cuDriverGetVersion, cuGetErrorName, cuGetErrorString};
use ptx_cuda::status::Status;

use crate::session::{Session, result};

fn address(name: &str, version: i32, flags: u64) -> *const c_void {
    let name = CString::new(name).unwrap();
    result(|address| cuGetProcAddress(name.as_ptr(), address, version, flags))
        .unwrap_or(std::ptr::null())
}

#[test]
fn functions_are_found_by_name_and_version() {
    let _session = Session::new();
    assert_eq!(
        address("cuMemAlloc", 12000, 0),
        cuMemAlloc_v2 as *const c_void
    );
    assert_ne!(
        address("cuMemAlloc", 2000, 0),
        cuMemAlloc_v2 as *const c_void
    );
    assert!(address("cuMemAlloc", 1000, 0).is_null());
    assert!(address("cuMemAllocAsync", 11000, 0).is_null());
    assert!(!address("cuMemAllocAsync", 11020, 0).is_null());
    assert_ne!(
        address("cuLaunchKernel", 12000, 0),
        address("cuLaunchKernel", 12000, 2)
    );
    assert!(address("cuNothing", 13000, 0).is_null());
    let found = |name: &std::ffi::CStr, version| {
        let mut address = std::mem::MaybeUninit::uninit();
        result(|found| cuGetProcAddress_v2(name.as_ptr(), Some(&mut address), version, 0, found))
    };
    assert_eq!(found(c"cuMemAlloc", 12000), Ok(0));
    assert_eq!(found(c"cuNothing", 12000), Ok(1));
    assert_eq!(found(c"cuMemAllocAsync", 11000), Ok(2));
}

#[test]
fn results_have_names() {
    let name = result(|name| cuGetErrorName(Status::ILLEGAL_ADDRESS, name)).unwrap();
    let text = result(|text| cuGetErrorString(Status::ILLEGAL_ADDRESS, text)).unwrap();
    // SAFETY: both functions succeeded: their results are texts that end with a zero byte.
    let [name, text] = [name, text].map(|text| unsafe { std::ffi::CStr::from_ptr(text) });
    assert_eq!(
        (name, text),
        (c"CUDA_ERROR_ILLEGAL_ADDRESS", c"illegal address")
    );
    assert!(result(|name| cuGetErrorName(Status(12345), name)).is_err());
    assert_eq!(result(|value| cuDriverGetVersion(value)), Ok(13020));
    let _session = Session::new();
    assert_eq!(cuGetExportTable(None, None), Status::INVALID_VALUE);
}
