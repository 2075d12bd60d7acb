//! Libraries: code that is loaded for all contexts. They are modules, as there is one device.

use std::ffi::{c_char, c_void};
use std::fs;

use super::link::{JitOptions, image_bytes};
use crate::call::{in_context, on_device};
use crate::caller::{self, Out, set, set_if_wanted, text};
use crate::handles::Raw;
use crate::state::Driver;
use crate::status::{Outcome, Status};

/// Loads code with options of the compiler, which get the messages.
fn load(driver: &mut Driver, image: &[u8], options: &JitOptions) -> Outcome<Raw> {
    driver
        .try_load(image, options.register_limit)
        .map_err(|error| options.failed(&error))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryLoadData(
    library: Out<'_, Raw>,
    code: *const c_void,
    options: *const u32,
    values: *const usize,
    option_count: u32,
    _library_options: *const u32,
    _library_values: *const usize,
    _library_option_count: u32,
) -> Status {
    on_device("cuLibraryLoadData", |driver| {
        let options = JitOptions::new(option_count, options, values)?;
        set(library, load(driver, image_bytes(code)?, &options)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryLoadFromFile(
    library: Out<'_, Raw>,
    path: *const c_char,
    options: *const u32,
    values: *const usize,
    option_count: u32,
    _library_options: *const u32,
    _library_values: *const usize,
    _library_option_count: u32,
) -> Status {
    on_device("cuLibraryLoadFromFile", |driver| {
        let options = JitOptions::new(option_count, options, values)?;
        let image = fs::read(text(path)?).map_err(|_| Status::FILE_NOT_FOUND)?;
        set(library, load(driver, &image, &options)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryUnload(library: Raw) -> Status {
    on_device("cuLibraryUnload", |driver| {
        driver.flush_output();
        driver.unload(library)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryGetKernel(
    kernel: Out<'_, Raw>,
    library: Raw,
    name: *const c_char,
) -> Status {
    on_device("cuLibraryGetKernel", |driver| {
        let handle = driver.kernel(library, text(name)?)?;
        set(kernel, handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryGetModule(module: Out<'_, Raw>, library: Raw) -> Status {
    in_context("cuLibraryGetModule", |driver| {
        driver.modules.get(library)?;
        set(module, library)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryGetKernelCount(count: Out<'_, u32>, library: Raw) -> Status {
    on_device("cuLibraryGetKernelCount", |driver| {
        set(count, driver.kernel_names(library)?.len() as u32)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryEnumerateKernels(kernels: *mut Raw, count: u32, library: Raw) -> Status {
    on_device("cuLibraryEnumerateKernels", |driver| {
        let places = caller::slice_mut(kernels, count as usize)?;
        for (place, name) in places.iter_mut().zip(driver.kernel_names(library)?) {
            place.write(driver.kernel(library, &name)?);
        }
        Ok(())
    })
}

/// Writes the address and the size of a variable.
fn variable(
    driver: &Driver,
    library: Raw,
    name: *const c_char,
    address: Out<'_, u64>,
    bytes: Out<'_, usize>,
) -> Outcome<()> {
    let (start, size) = driver.variable(library, text(name)?)?;
    set_if_wanted(address, start);
    set_if_wanted(bytes, size as usize);
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryGetGlobal(
    address: Out<'_, u64>,
    bytes: Out<'_, usize>,
    library: Raw,
    name: *const c_char,
) -> Status {
    in_context("cuLibraryGetGlobal", |driver| {
        variable(driver, library, name, address, bytes)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLibraryGetManaged(
    address: Out<'_, u64>,
    bytes: Out<'_, usize>,
    library: Raw,
    name: *const c_char,
) -> Status {
    on_device("cuLibraryGetManaged", |driver| {
        let (start, _) = driver.variable(library, text(name)?)?;
        let allocation = driver.memory.find(start);
        if allocation.is_none_or(|(_, allocation)| !allocation.kind.is_exposed()) {
            return Err(Status::NOT_FOUND);
        }
        variable(driver, library, name, address, bytes)
    })
}
