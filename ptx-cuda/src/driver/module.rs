//! Modules: code, kernels and variables.

use std::ffi::{c_char, c_void};
use std::fs;

use super::link::{JitOptions, image_bytes};
use crate::call::{in_context, on_device};
use crate::caller::{self, Out, set, set_if_wanted, text};
use crate::handles::Raw;
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadData(module: Out<'_, Raw>, image: *const c_void) -> Status {
    in_context("cuModuleLoadData", |driver| {
        let handle = driver.load(image_bytes(image)?)?;
        set(module, handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadDataEx(
    module: Out<'_, Raw>,
    image: *const c_void,
    option_count: u32,
    options: *const u32,
    values: *const usize,
) -> Status {
    in_context("cuModuleLoadDataEx", |driver| {
        let options = JitOptions::new(option_count, options, values)?;
        match driver.try_load(image_bytes(image)?, options.register_limit) {
            Ok(handle) => set(module, handle),
            Err(error) => Err(options.failed(&error)),
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoadFatBinary(module: Out<'_, Raw>, image: *const c_void) -> Status {
    cuModuleLoadData(module, image)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleLoad(module: Out<'_, Raw>, path: *const c_char) -> Status {
    in_context("cuModuleLoad", |driver| {
        let image = fs::read(text(path)?).map_err(|_| Status::FILE_NOT_FOUND)?;
        let handle = driver.load(&image)?;
        set(module, handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleUnload(module: Raw) -> Status {
    in_context("cuModuleUnload", |driver| {
        driver.flush_output();
        driver.unload(module)
    })
}

/// Modules are loaded when functions load them.
#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetLoadingMode(mode: Out<'_, u32>) -> Status {
    on_device("cuModuleGetLoadingMode", |_| set(mode, 1))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetFunction(
    function: Out<'_, Raw>,
    module: Raw,
    name: *const c_char,
) -> Status {
    in_context("cuModuleGetFunction", |driver| {
        let kernel = driver.kernel(module, text(name)?)?;
        set(function, kernel)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetFunctionCount(count: Out<'_, u32>, module: Raw) -> Status {
    on_device("cuModuleGetFunctionCount", |driver| {
        set(count, driver.kernel_names(module)?.len() as u32)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleEnumerateFunctions(
    functions: *mut Raw,
    count: u32,
    module: Raw,
) -> Status {
    in_context("cuModuleEnumerateFunctions", |driver| {
        let places = caller::slice_mut(functions, count as usize)?;
        for (place, name) in places.iter_mut().zip(driver.kernel_names(module)?) {
            place.write(driver.kernel(module, &name)?);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetGlobal_v2(
    address: Out<'_, u64>,
    bytes: Out<'_, usize>,
    module: Raw,
    name: *const c_char,
) -> Status {
    in_context("cuModuleGetGlobal_v2", |driver| {
        let (start, size) = driver.variable(module, text(name)?)?;
        set_if_wanted(address, start);
        set_if_wanted(bytes, size as usize);
        Ok(())
    })
}
