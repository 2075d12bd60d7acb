//! Contexts.

use super::device::check_device;
use crate::call::{call, in_context, wait};
use crate::caller::{Out, set, set_if_wanted};
use crate::handles::Raw;
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRetain(context: Out<'_, Raw>, device: i32) -> Status {
    call("cuDevicePrimaryCtxRetain", |driver| {
        check_device(device)?;
        let handle = driver.primary_context();
        driver.contexts.get_mut(handle)?.holders += 1;
        set(context, handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: i32) -> Status {
    call("cuDevicePrimaryCtxRelease_v2", |driver| {
        check_device(device)?;
        driver.release_primary_context()
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease(device: i32) -> Status {
    cuDevicePrimaryCtxRelease_v2(device)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxReset_v2(device: i32) -> Status {
    call("cuDevicePrimaryCtxReset_v2", |driver| {
        check_device(device)?;
        driver.reset_primary_context();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxReset(device: i32) -> Status {
    cuDevicePrimaryCtxReset_v2(device)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) -> Status {
    call("cuDevicePrimaryCtxSetFlags_v2", |driver| {
        check_device(device)?;
        let handle = driver.primary_context();
        driver.contexts.get_mut(handle)?.flags = flags;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxSetFlags(device: i32, flags: u32) -> Status {
    cuDevicePrimaryCtxSetFlags_v2(device, flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxCreate_v2(context: Out<'_, Raw>, flags: u32, device: i32) -> Status {
    call("cuCtxCreate_v2", |driver| {
        check_device(device)?;
        let handle = driver.create_context(flags);
        set(context, handle)
    })
}

/// The parameters are those of execution resources, which the device does not divide.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxCreate_v4(
    context: Out<'_, Raw>,
    _parameters: usize,
    flags: u32,
    device: i32,
) -> Status {
    cuCtxCreate_v2(context, flags, device)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxDestroy_v2(context: Raw) -> Status {
    call("cuCtxDestroy_v2", |driver| {
        if driver.primary == Some(context) {
            return Err(Status::INVALID_CONTEXT);
        }
        driver.destroy_context(context)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPushCurrent_v2(context: Raw) -> Status {
    call("cuCtxPushCurrent_v2", |driver| {
        driver.contexts.get(context)?;
        driver.push_context(context);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPopCurrent_v2(context: Out<'_, Raw>) -> Status {
    call("cuCtxPopCurrent_v2", |driver| {
        let popped = driver.pop_context()?;
        set_if_wanted(context, popped);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: Raw) -> Status {
    call("cuCtxSetCurrent", |driver| {
        driver.set_current_context(context)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetCurrent(context: Out<'_, Raw>) -> Status {
    call("cuCtxGetCurrent", |driver| {
        set(context, driver.current_context().unwrap_or(0))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetDevice(device: Out<'_, i32>) -> Status {
    call("cuCtxGetDevice", |driver| {
        driver.current_context()?;
        set(device, 0)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetFlags(flags: Out<'_, u32>) -> Status {
    call("cuCtxGetFlags", |driver| {
        let handle = driver.current_context()?;
        set(flags, driver.contexts.get(handle)?.flags)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetFlags(flags: u32) -> Status {
    call("cuCtxSetFlags", |driver| {
        let handle = driver.current_context()?;
        driver.contexts.get_mut(handle)?.flags = flags;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetId(context: Raw, number: Out<'_, u64>) -> Status {
    call("cuCtxGetId", |driver| {
        let handle = if context == 0 {
            driver.current_context()?
        } else {
            context
        };
        driver.contexts.get(handle)?;
        set(number, handle as u64)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetApiVersion(context: Raw, version: Out<'_, u32>) -> Status {
    call("cuCtxGetApiVersion", |driver| {
        if context != 0 {
            driver.contexts.get(context)?;
        }
        set(version, 3020)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSynchronize() -> Status {
    wait("cuCtxSynchronize", |driver| {
        driver.current_context()?;
        driver.check_unsafe_call()?;
        Ok(driver.is_device_idle())
    })
}

/// The least and the greatest priority of streams. Priorities have no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetStreamPriorityRange(
    least: Out<'_, i32>,
    greatest: Out<'_, i32>,
) -> Status {
    in_context("cuCtxGetStreamPriorityRange", |_| {
        set_if_wanted(least, 0);
        set_if_wanted(greatest, -5);
        Ok(())
    })
}

/// Limits can be read and set; the limits of the machine apply to kernels.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetLimit(value: Out<'_, usize>, limit: u32) -> Status {
    in_context("cuCtxGetLimit", |driver| set(value, driver.limit(limit)?))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetLimit(limit: u32, value: usize) -> Status {
    in_context("cuCtxSetLimit", |driver| driver.set_limit(limit, value))
}

/// The device has one kind of cache: the preference can be read again, and has no other effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetCacheConfig(preference: Out<'_, u32>) -> Status {
    in_context("cuCtxGetCacheConfig", |driver| {
        set(preference, driver.cache_preference()?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCacheConfig(preference: u32) -> Status {
    in_context("cuCtxSetCacheConfig", |driver| {
        driver.set_cache_preference(preference)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetSharedMemConfig(size: Out<'_, u32>) -> Status {
    in_context("cuCtxGetSharedMemConfig", |_| set(size, 1))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetSharedMemConfig(_size: u32) -> Status {
    in_context("cuCtxSetSharedMemConfig", |_| Ok(()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxResetPersistingL2Cache() -> Status {
    in_context("cuCtxResetPersistingL2Cache", |_| Ok(()))
}
