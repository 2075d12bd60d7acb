//! The functions that `nvcc` calls before `main`, which register the code of a program with its kernels and variables, and those by which it launches kernels.

use std::cell::RefCell;
use std::ffi::{c_char, c_void};

use super::call::{in_context, plain, recorded};
use super::launch::launch_kernel;
use super::types::Dim3;
use crate::call;
use crate::caller::{self, Out, set, text};
use crate::driver::link::image_bytes;
use crate::handles::Raw;
use crate::state::registered;
use crate::status::{Outcome, Status};
use crate::thread_list::ThreadList;

/// The structure that `nvcc` passes for code: `__fatBinC_Wrapper_t`.
#[derive(Copy, Clone)]
#[repr(C)]
struct FatbinWrapper {
    magic: u32,
    version: u32,
    fatbin: *const c_void,
    /// Version 2: fatbins that are to be linked, up to a null pointer.
    parts: *const *const c_void,
}

/// The version of the structure for programs with several linked fatbins.
const LINKED: u32 = 2;
/// The largest number of fatbins that are linked.
const PARTS: usize = 1 << 16;

/// The fatbins of a structure.
fn images(wrapper: *const FatbinWrapper) -> Outcome<Vec<&'static [u8]>> {
    let wrapper = caller::read(wrapper)?;
    let mut images = Vec::new();
    if wrapper.version == LINKED && !wrapper.parts.is_null() {
        for index in 0..PARTS {
            let part = caller::read(wrapper.parts.wrapping_add(index))?;
            if part.is_null() {
                break;
            }
            images.push(image_bytes(part)?);
        }
    }
    if images.is_empty() {
        images.push(image_bytes(wrapper.fatbin)?);
    }
    Ok(images)
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinary(wrapper: *const FatbinWrapper) -> usize {
    let mut number = 0;
    plain("__cudaRegisterFatBinary", || {
        number = registered::register_code(images(wrapper)?);
        Ok(())
    });
    number
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinaryEnd(_code: usize) {}

#[unsafe(no_mangle)]
extern "C" fn __cudaUnregisterFatBinary(code: usize) {
    call::call("__cudaUnregisterFatBinary", |driver| {
        driver.unregister_code(code);
        Ok(())
    });
}

/// Registers the kernel of a function. The other arguments are of old versions.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFunction(
    code: usize,
    function: usize,
    _device_function: usize,
    name: *const c_char,
    _thread_limit: i32,
    _thread: usize,
    _block: usize,
    _block_sizes: usize,
    _grid_sizes: usize,
    _warp_size: usize,
) {
    plain("__cudaRegisterFunction", || {
        registered::register_function(code, function, text(name)?);
        Ok(())
    });
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterVar(
    code: usize,
    variable: usize,
    _device_address: usize,
    name: *const c_char,
    _is_external: i32,
    _bytes: usize,
    _is_constant: i32,
    _is_global: i32,
) {
    plain("__cudaRegisterVar", || {
        registered::register_variable(code, variable, text(name)?);
        Ok(())
    });
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterManagedVar(
    code: usize,
    pointer: usize,
    _device_address: usize,
    name: *const c_char,
    _is_external: i32,
    _bytes: usize,
    _is_constant: i32,
    _is_global: i32,
) {
    plain("__cudaRegisterManagedVar", || {
        registered::register_managed(code, pointer, text(name)?);
        Ok(())
    });
}

/// Kernels cannot access variables of the host that are not managed.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterHostVar(
    _code: usize,
    _name: *const c_char,
    _variable: usize,
    _bytes: usize,
) {
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterUnifiedTable(_code: usize, _table: usize) {}

/// Sets the pointers to the managed variables of code.
#[unsafe(no_mangle)]
extern "C" fn __cudaInitModule(code: usize) -> c_char {
    let status = in_context("__cudaInitModule", |driver| {
        driver.load_registered_code(code)
    });
    (status == Status::SUCCESS).into()
}

/// The configuration of a launch between `<<<` and `>>>`.
struct Configuration {
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: Raw,
}

thread_local! {
    static OF_THREAD: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// The configurations of launches of this thread that have not begun.
static CONFIGURATIONS: ThreadList<Configuration> = ThreadList::new(&OF_THREAD);

/// Always succeeds: 0.
#[unsafe(no_mangle)]
extern "C" fn __cudaPushCallConfiguration(
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: Raw,
) -> u32 {
    CONFIGURATIONS.with(|configurations| {
        configurations.push(Configuration {
            grid,
            block,
            shared_bytes,
            stream,
        });
    });
    0
}

#[unsafe(no_mangle)]
extern "C" fn __cudaPopCallConfiguration(
    grid: Out<'_, Dim3>,
    block: Out<'_, Dim3>,
    shared_bytes: Out<'_, usize>,
    stream: Out<'_, Raw>,
) -> Status {
    plain("__cudaPopCallConfiguration", || {
        let configuration = CONFIGURATIONS.with(Vec::pop);
        let configuration = configuration.ok_or(Status::MISSING_CONFIGURATION)?;
        set(grid, configuration.grid)?;
        set(block, configuration.block)?;
        set(shared_bytes, configuration.shared_bytes)?;
        set(stream, configuration.stream)
    })
}

/// The handle that the program passes to `__cudaLaunchKernel` is the address of the function, so that it stays valid when its code is loaded again.
#[unsafe(no_mangle)]
extern "C" fn __cudaGetKernel(kernel: Out<'_, usize>, function: usize) -> Status {
    if set(kernel, function).is_ok() && registered::is_registered(function) {
        Status::SUCCESS
    } else {
        recorded(Status::INVALID_DEVICE_FUNCTION)
    }
}

#[unsafe(no_mangle)]
extern "C" fn __cudaLaunchKernel(
    kernel: usize,
    grid: Dim3,
    block: Dim3,
    arguments: *const *const c_void,
    shared_bytes: usize,
    stream: Raw,
) -> Status {
    launch_kernel(
        "__cudaLaunchKernel",
        kernel,
        [grid, block],
        arguments,
        shared_bytes,
        stream,
        false,
    )
}
