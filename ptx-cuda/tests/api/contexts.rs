//! The device, contexts, streams and events.

use std::ffi::{CStr, c_char};

use ptx_cuda::abi::graph::{MemoryLocation, PoolProperties};
use ptx_cuda::driver::context::*;
use ptx_cuda::driver::device::*;
use ptx_cuda::driver::event::*;
use ptx_cuda::driver::fill::cuMemsetD32Async;
use ptx_cuda::driver::launch::cuLaunchKernel;
use ptx_cuda::driver::memory::cuMemFreeAsync;
use ptx_cuda::driver::pool::*;
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
fn the_preference_for_a_cache_is_one_of_the_context() {
    let session = Session::new();
    let preference = || result(|preference| cuCtxGetCacheConfig(preference));
    succeeds(cuCtxSetCacheConfig(2));
    assert_eq!(cuCtxSetCacheConfig(4), Status::INVALID_VALUE);
    assert_eq!(preference(), Ok(2));
    let other = result(|context| cuCtxCreate_v2(context, 0, 0)).unwrap();
    assert_eq!(preference(), Ok(0));
    succeeds(cuCtxDestroy_v2(other));
    succeeds(cuCtxSetCurrent(session.context));
    succeeds(cuCtxSetCacheConfig(0));
}

#[test]
fn addresses_on_the_bus_have_several_forms() {
    let _session = Session::new();
    let mut name = [1 as c_char; 13];
    succeeds(cuDeviceGetPCIBusId(name.as_mut_ptr(), 13, 0));
    // SAFETY: the function writes a zero byte at the end.
    assert_eq!(unsafe { CStr::from_ptr(name.as_ptr()) }, c"0000:01:00.0");
    let device = |address: &CStr| result(|device| cuDeviceGetByPCIBusId(device, address.as_ptr()));
    for address in [c"0000:01:00.0", c"0:1:0", c"1:0", c"01:00.0"] {
        assert_eq!(device(address), Ok(0), "{address:?}");
    }
    for address in [c"0000:02:00.0", c"01:00.1", c"", c"1", c"1:0:0:0", c"0:1:x"] {
        assert_eq!(device(address), Err(Status::INVALID_DEVICE), "{address:?}");
    }
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

#[test]
fn streams_and_pools_need_no_current_context() {
    let session = Session::new();
    let stream = result(|stream| cuStreamCreate(stream, 1)).unwrap();
    let event = result(|event| cuEventCreate(event, 0)).unwrap();
    let properties = PoolProperties {
        allocation_type: 1,
        handle_types: 0,
        location: MemoryLocation { kind: 1, number: 0 },
        security: 0,
        limit_bytes: 0,
        usage: 0,
        reserved: [0; 54],
    };
    succeeds(cuCtxSetCurrent(0));
    let pool = result(|pool| cuMemPoolCreate(pool, Some(&properties))).unwrap();
    let mut threshold = 64u64;
    let value = std::ptr::from_mut(&mut threshold).addr();
    succeeds(cuMemPoolSetAttribute(pool, 4, value));
    threshold = 0;
    let value = std::ptr::from_mut(&mut threshold).addr();
    succeeds(cuMemPoolGetAttribute(pool, 4, value));
    assert_eq!(threshold, 64);
    let allocate = |stream| result(|place| cuMemAllocFromPoolAsync(place, 4, pool, stream));
    let address = allocate(stream).unwrap();
    succeeds(cuMemsetD32Async(address, 9, 1, stream));
    succeeds(cuEventRecord(event, stream));
    succeeds(cuStreamSynchronize(stream));
    succeeds(cuEventSynchronize(event));
    // Default streams are those of the current context.
    assert_eq!(allocate(0), Err(Status::INVALID_CONTEXT));
    assert_eq!(cuStreamSynchronize(0), Status::INVALID_CONTEXT);
    assert_eq!(cuCtxSynchronize(), Status::INVALID_CONTEXT);
    assert_eq!(result(|value| cuCtxGetCurrent(value)), Ok(0));
    succeeds(cuCtxSetCurrent(session.context));
    assert_eq!(session.numbers(address, 1), [9]);
    succeeds(cuMemFreeAsync(address, stream));
    succeeds(cuMemPoolDestroy(pool));
    assert_eq!(allocate(stream), Err(Status::INVALID_VALUE));
}

#[test]
fn the_error_of_a_kernel_is_that_of_the_context_of_its_stream() {
    let session = Session::new();
    let other = result(|context| cuCtxCreate_v2(context, 0, 0)).unwrap();
    let stream = result(|stream| cuStreamCreate(stream, 1)).unwrap();
    let kernel = session.kernel("stop", "", "trap;");
    succeeds(cuCtxSetCurrent(session.context));
    let (arguments, extra) = (std::ptr::null(), std::ptr::null());
    succeeds(cuLaunchKernel(
        kernel, 1, 1, 1, 1, 1, 1, 0, stream, arguments, extra,
    ));
    succeeds(session.synchronize());
    assert_eq!(cuStreamSynchronize(stream), Status::LAUNCH_FAILED);
    assert_eq!(cuStreamQuery(stream), Status::LAUNCH_FAILED);
    succeeds(cuCtxDestroy_v2(other));
    succeeds(session.synchronize());
}

#[test]
fn pools_of_the_host_have_memory_that_the_program_accesses() {
    let session = Session::new();
    let stream = result(|stream| cuStreamCreate(stream, 1)).unwrap();
    let device = MemoryLocation { kind: 1, number: 0 };
    let host = MemoryLocation { kind: 2, number: 0 };
    let pool = |location, kind| result(|pool| cuMemGetDefaultMemPool(pool, Some(location), kind));
    // Pinned memory of the host, and managed memory.
    for pool in [pool(&host, 1).unwrap(), pool(&device, 2).unwrap()] {
        let address = result(|address| cuMemAllocFromPoolAsync(address, 8, pool, stream)).unwrap();
        succeeds(cuMemsetD32Async(address, 11, 2, stream));
        succeeds(cuStreamSynchronize(stream));
        // SAFETY: the allocation has two numbers, which the program can read.
        assert_eq!(unsafe { *(address as *const [u32; 2]) }, [11, 11]);
        succeeds(cuMemFreeAsync(address, stream));
        assert_eq!(cuDeviceSetMemPool(0, pool), Status::INVALID_VALUE);
    }
    let default = pool(&device, 1).unwrap();
    assert_eq!(result(|pool| cuDeviceGetMemPool(pool, 0)), Ok(default));
    assert_eq!(cuMemPoolDestroy(default), Status::INVALID_VALUE);
    assert_eq!(pool(&device, 3), Err(Status::INVALID_VALUE));
    drop(session);
}
