//! The device, contexts, streams and events.

use std::ffi::{CStr, c_char};

use ptx_cuda::driver::context::*;
use ptx_cuda::driver::device::*;
use ptx_cuda::driver::event::*;
use ptx_cuda::driver::stream::*;
use ptx_cuda::status::Status;

use crate::session::{Session, result, succeeds};

#[test]
fn the_device_has_a_name_and_attributes() {
    let _session = Session::new();
    assert_eq!(result(|value| cuDeviceGetCount(value)), Ok(1));
    assert_eq!(result(|device| cuDeviceGet(device, 0)), Ok(0));
    assert_eq!(
        result(|device| cuDeviceGet(device, 1)),
        Err(Status::INVALID_DEVICE)
    );
    let mut name = [1 as c_char; 8];
    succeeds(cuDeviceGetName(name.as_mut_ptr(), 8, 0));
    // SAFETY: the function writes a zero byte at the end.
    assert_eq!(unsafe { CStr::from_ptr(name.as_ptr()) }, c"ptxkit ");
    assert_eq!(
        cuDeviceGetName(name.as_mut_ptr(), 0, 0),
        Status::INVALID_VALUE
    );
    assert_eq!(result(|value| cuDeviceGetAttribute(value, 1, 0)), Ok(1024));
    assert_eq!(result(|value| cuDeviceGetAttribute(value, 75, 0)), Ok(8));
    assert_eq!(
        result(|value| cuDeviceGetAttribute(value, 0, 0)),
        Err(Status::INVALID_VALUE)
    );
    assert_eq!(
        result(|value| cuDeviceGetAttribute(value, 9999, 0)),
        Err(Status::INVALID_VALUE)
    );
}

#[test]
fn contexts_form_a_stack() {
    let session = Session::new();
    let second = result(|context| cuCtxCreate_v2(context, 0, 0)).unwrap();
    assert_eq!(result(|value| cuCtxGetCurrent(value)), Ok(second));
    assert_eq!(result(|value| cuCtxPopCurrent_v2(value)), Ok(second));
    assert_eq!(result(|value| cuCtxGetCurrent(value)), Ok(session.context));
    succeeds(cuCtxPushCurrent_v2(second));
    assert_eq!(result(|value| cuCtxGetCurrent(value)), Ok(second));
    succeeds(cuCtxDestroy_v2(second));
    assert_eq!(result(|value| cuCtxGetCurrent(value)), Ok(session.context));
    assert_eq!(cuCtxPushCurrent_v2(second), Status::INVALID_CONTEXT);
    assert_eq!(cuCtxDestroy_v2(12345), Status::INVALID_CONTEXT);
    succeeds(cuCtxSetCurrent(0));
    assert_eq!(cuCtxSynchronize(), Status::INVALID_CONTEXT);
    succeeds(cuCtxSetCurrent(session.context));
}

#[test]
fn handles_are_recognized_by_kind_and_life() {
    let _session = Session::new();
    let stream = result(|stream| cuStreamCreate(stream, 1)).unwrap();
    let event = result(|event| cuEventCreate(event, 0)).unwrap();
    succeeds(cuEventRecord(event, stream));
    assert_eq!(cuEventRecord(stream, event), Status::INVALID_HANDLE);
    assert_eq!(cuStreamQuery(event), Status::INVALID_HANDLE);
    succeeds(cuStreamDestroy_v2(stream));
    assert_eq!(cuStreamDestroy_v2(stream), Status::INVALID_HANDLE);
    let next = result(|stream| cuStreamCreate(stream, 1)).unwrap();
    assert_ne!(next, stream);
    succeeds(cuEventDestroy_v2(event));
    assert_eq!(cuEventSynchronize(event), Status::INVALID_HANDLE);
    assert_eq!(cuStreamQuery(usize::MAX), Status::INVALID_HANDLE);
}

#[test]
fn events_measure_time() {
    let _session = Session::new();
    let [start, end] = [0, 0].map(|flags| result(|event| cuEventCreate(event, flags)).unwrap());
    let elapsed = || result(|time| cuEventElapsedTime(time, start, end));
    assert_eq!(elapsed(), Err(Status::INVALID_HANDLE));
    succeeds(cuEventRecord(start, 0));
    std::thread::sleep(std::time::Duration::from_millis(2));
    succeeds(cuEventRecord(end, 0));
    assert!(elapsed().is_ok_and(|time| time >= 2.0));
    let reverse = result(|time| cuEventElapsedTime(time, end, start));
    assert!(reverse.is_ok_and(|time| time <= -2.0));
}
