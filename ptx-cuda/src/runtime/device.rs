//! The device: its selection, attributes, limits and the wait for all of its operations.

use std::ffi::c_char;

use super::call::{in_context, prepared, recorded, without_context};
use crate::call;
use crate::caller::{Out, set, set_if_wanted, set_text, text};
use crate::driver::context::cuCtxSynchronize;
use crate::driver::device::{BUS_ADDRESS, check_device, device_at};
use crate::state::attributes::attribute;
use crate::status::{Outcome, Status};

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceCount(count: Out<'_, i32>) -> Status {
    without_context("cudaGetDeviceCount", |_| set(count, 1))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDevice(device: Out<'_, i32>) -> Status {
    without_context("cudaGetDevice", |_| set(device, 0))
}

/// Makes the primary context of the device current.
#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDevice(device: i32) -> Status {
    without_context("cudaSetDevice", |driver| {
        check_device(device)?;
        driver.use_primary_context()?;
        let primary = driver.primary_context();
        if driver.current_context() != Ok(primary) {
            driver.set_current_context(primary)?;
        }
        driver.check_context()
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaInitDevice(device: i32, _flags: u32, _choice: u32) -> Status {
    without_context("cudaInitDevice", |driver| {
        check_device(device)?;
        let primary = driver.primary_context();
        driver.contexts.get(primary).map(|_| ())
    })
}

/// Every description of a device fits the only one.
#[unsafe(no_mangle)]
pub extern "C" fn cudaChooseDevice(device: Out<'_, i32>, properties: usize) -> Status {
    without_context("cudaChooseDevice", |_| {
        if properties == 0 {
            return Err(Status::INVALID_VALUE);
        }
        set(device, 0)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetValidDevices(devices: *const i32, count: i32) -> Status {
    without_context("cudaSetValidDevices", |_| {
        let count = usize::try_from(count).map_err(|_| Status::INVALID_VALUE)?;
        for device in crate::caller::slice(devices, count)? {
            check_device(*device)?;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaSetDeviceFlags(flags: u32) -> Status {
    without_context("cudaSetDeviceFlags", |driver| {
        let primary = driver.primary_context();
        driver.contexts.get_mut(primary)?.flags = flags;
        Ok(())
    })
}

/// Contexts of the runtime API can always map memory of the host: flag 8.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDeviceFlags(flags: Out<'_, u32>) -> Status {
    without_context("cudaGetDeviceFlags", |driver| {
        let primary = driver.primary_context();
        set(flags, driver.contexts.get(primary)?.flags | 8)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSynchronize() -> Status {
    prepared("cudaDeviceSynchronize", || cuCtxSynchronize())
}

/// Ends the primary context, and with it the error of a kernel.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceReset() -> Status {
    without_context("cudaDeviceReset", |driver| {
        driver.flush_output();
        driver.reset_primary_context();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadSynchronize() -> Status {
    cudaDeviceSynchronize()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadExit() -> Status {
    cudaDeviceReset()
}

/// The attributes have the numbers of the driver API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetAttribute(value: Out<'_, i32>, number: u32, device: i32) -> Status {
    without_context("cudaDeviceGetAttribute", |driver| {
        check_device(device)?;
        set(value, attribute(driver, number)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetPCIBusId(address: *mut c_char, len: i32, device: i32) -> Status {
    without_context("cudaDeviceGetPCIBusId", |_| {
        check_device(device)?;
        set_text(address, usize::try_from(len).unwrap_or(0), BUS_ADDRESS)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetByPCIBusId(device: Out<'_, i32>, address: *const c_char) -> Status {
    without_context("cudaDeviceGetByPCIBusId", |_| {
        set(device, device_at(text(address)?)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetStreamPriorityRange(
    least: Out<'_, i32>,
    greatest: Out<'_, i32>,
) -> Status {
    in_context("cudaDeviceGetStreamPriorityRange", |_| {
        set_if_wanted(least, 0);
        set_if_wanted(greatest, -5);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetLimit(value: Out<'_, usize>, limit: u32) -> Status {
    in_context("cudaDeviceGetLimit", |driver| {
        set(value, driver.limit(limit)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSetLimit(limit: u32, value: usize) -> Status {
    in_context("cudaDeviceSetLimit", |driver| {
        driver.set_limit(limit, value)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadGetLimit(value: Out<'_, usize>, limit: u32) -> Status {
    cudaDeviceGetLimit(value, limit)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadSetLimit(limit: u32, value: usize) -> Status {
    cudaDeviceSetLimit(limit, value)
}

/// The device has one kind of cache: the preference can be read again, and has no other effect.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetCacheConfig(preference: Out<'_, u32>) -> Status {
    in_context("cudaDeviceGetCacheConfig", |driver| {
        set(preference, driver.cache_preference()?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSetCacheConfig(preference: u32) -> Status {
    in_context("cudaDeviceSetCacheConfig", |driver| {
        driver.set_cache_preference(preference)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadGetCacheConfig(preference: Out<'_, u32>) -> Status {
    cudaDeviceGetCacheConfig(preference)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaThreadSetCacheConfig(preference: u32) -> Status {
    cudaDeviceSetCacheConfig(preference)
}

/// The banks of shared memory have 4 bytes.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetSharedMemConfig(size: Out<'_, u32>) -> Status {
    in_context("cudaDeviceGetSharedMemConfig", |_| set(size, 1))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceSetSharedMemConfig(_size: u32) -> Status {
    in_context("cudaDeviceSetSharedMemConfig", |_| Ok(()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaCtxResetPersistingL2Cache() -> Status {
    in_context("cudaCtxResetPersistingL2Cache", |_| Ok(()))
}

/// Writes of other devices do not exist.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceFlushGPUDirectRDMAWrites(_target: u32, _scope: u32) -> Status {
    in_context("cudaDeviceFlushGPUDirectRDMAWrites", |_| Ok(()))
}

/// Checks the device of a function without effect.
fn for_device(name: &str, device: i32) -> Status {
    recorded(call::plain(name, || -> Outcome<()> {
        check_device(device)
    }))
}

/// Nothing is kept that could be released.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGraphMemTrim(device: i32) -> Status {
    for_device("cudaDeviceGraphMemTrim", device)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaProfilerStart() -> Status {
    for_device("cudaProfilerStart", 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaProfilerStop() -> Status {
    for_device("cudaProfilerStop", 0)
}
