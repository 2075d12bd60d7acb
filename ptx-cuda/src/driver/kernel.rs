//! Kernels: names, parameters and attributes.

use std::ffi::c_char;

use super::device::check_device;
use crate::call::{in_context, on_device};
use crate::caller::{Out, set, set_if_wanted};
use crate::handles::Raw;
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetAttribute(value: Out<'_, i32>, attribute: u32, function: Raw) -> Status {
    in_context("cuFuncGetAttribute", |driver| {
        set(value, driver.kernel_attribute(function, attribute)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetAttribute(function: Raw, attribute: u32, value: i32) -> Status {
    in_context("cuFuncSetAttribute", |driver| {
        driver.set_kernel_attribute(function, attribute, value)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelGetAttribute(
    value: Out<'_, i32>,
    attribute: u32,
    kernel: Raw,
    device: i32,
) -> Status {
    on_device("cuKernelGetAttribute", |driver| {
        check_device(device)?;
        set(value, driver.kernel_attribute(kernel, attribute)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelSetAttribute(
    attribute: u32,
    value: i32,
    kernel: Raw,
    device: i32,
) -> Status {
    on_device("cuKernelSetAttribute", |driver| {
        check_device(device)?;
        driver.set_kernel_attribute(kernel, attribute, value)
    })
}

/// The device has one kind of cache: the preference has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetCacheConfig(function: Raw, _preference: u32) -> Status {
    in_context("cuFuncSetCacheConfig", |driver| {
        driver.kernels.get(function).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelSetCacheConfig(kernel: Raw, _preference: u32, device: i32) -> Status {
    on_device("cuKernelSetCacheConfig", |driver| {
        check_device(device)?;
        driver.kernels.get(kernel).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncSetSharedMemConfig(function: Raw, _size: u32) -> Status {
    in_context("cuFuncSetSharedMemConfig", |driver| {
        driver.kernels.get(function).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetModule(module: Out<'_, Raw>, function: Raw) -> Status {
    in_context("cuFuncGetModule", |driver| {
        set(module, driver.kernels.get(function)?.module)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelGetLibrary(library: Out<'_, Raw>, kernel: Raw) -> Status {
    on_device("cuKernelGetLibrary", |driver| {
        set(library, driver.kernels.get(kernel)?.module)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelGetFunction(function: Out<'_, Raw>, kernel: Raw) -> Status {
    in_context("cuKernelGetFunction", |driver| {
        driver.kernels.get(kernel)?;
        set(function, kernel)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetName(name: Out<'_, *const c_char>, function: Raw) -> Status {
    on_device("cuFuncGetName", |driver| {
        set(name, driver.kernels.get(function)?.c_name.as_ptr())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelGetName(name: Out<'_, *const c_char>, kernel: Raw) -> Status {
    cuFuncGetName(name, kernel)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetParamInfo(
    function: Raw,
    index: usize,
    offset: Out<'_, usize>,
    bytes: Out<'_, usize>,
) -> Status {
    on_device("cuFuncGetParamInfo", |driver| {
        let parameters = &driver.kernels.get(function)?.parameters;
        let parameter = parameters.get(index).ok_or(Status::INVALID_VALUE)?;
        set(offset, parameter.offset as usize)?;
        set_if_wanted(bytes, parameter.bytes as usize);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelGetParamInfo(
    kernel: Raw,
    index: usize,
    offset: Out<'_, usize>,
    bytes: Out<'_, usize>,
) -> Status {
    cuFuncGetParamInfo(kernel, index, offset, bytes)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncGetParamCount(function: Raw, count: Out<'_, usize>) -> Status {
    on_device("cuFuncGetParamCount", |driver| {
        set(count, driver.kernels.get(function)?.parameters.len())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuKernelGetParamCount(kernel: Raw, count: Out<'_, usize>) -> Status {
    cuFuncGetParamCount(kernel, count)
}

/// All functions are loaded with their modules.
#[unsafe(no_mangle)]
pub extern "C" fn cuFuncLoad(function: Raw) -> Status {
    on_device("cuFuncLoad", |driver| {
        driver.kernels.get(function).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuFuncIsLoaded(state: Out<'_, u32>, function: Raw) -> Status {
    on_device("cuFuncIsLoaded", |driver| {
        driver.kernels.get(function)?;
        set(state, 1)
    })
}
