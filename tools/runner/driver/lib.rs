//! A driver of CUDA for tests: the functions that `runner` calls, implemented by `ptx-vm`. On a machine without a GPU and its driver, it checks
//! that the calls have the right arguments in the right order.
//!
//! `cargo test -p runner --features cuda` builds it as `target/debug/examples/libcuda.so`, which is used where `LD_LIBRARY_PATH` names that folder.
//! Like the driver, it refuses a launch outside of the context of its function, more than 48 KiB of dynamic shared memory without permission, and all
//! calls in a context in which a kernel failed.
#![allow(non_snake_case, reason = "the names of CUDA")]

mod context;
mod result;

use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};

use context::{Context, Function, current, set_current, with};
use cudarc::driver::sys::{
    CUcontext, CUctxCreateParams, CUdevice, CUdevice_attribute, CUdeviceptr, CUfunction,
    CUfunction_attribute, CUlaunchConfig, CUmodule, CUresult,
};
use result::{Failure, code, error_text, store};

/// CUDA 12.8.
const VERSION: c_int = 12_080;

#[unsafe(no_mangle)]
extern "C" fn cuInit(flags: c_uint) -> CUresult {
    code(if flags == 0 {
        Ok(())
    } else {
        Err(Failure::INVALID_VALUE)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> CUresult {
    // SAFETY: the caller gives a place for a number.
    code(unsafe { store(version, VERSION) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> CUresult {
    if ordinal != 0 {
        return code(Err(Failure::INVALID_DEVICE));
    }
    // SAFETY: the caller gives a place for a device.
    code(unsafe { store(device, 0) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, _: CUdevice) -> CUresult {
    let text = c"ptx-vm as a GPU".to_bytes_with_nul();
    if usize::try_from(len).is_ok_and(|len| len < text.len()) {
        return code(Err(Failure::INVALID_VALUE));
    }
    // SAFETY: the caller gives `len` bytes, which are enough.
    unsafe { name.cast::<u8>().copy_from(text.as_ptr(), text.len()) };
    code(Ok(()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDeviceGetAttribute(
    value: *mut c_int,
    attribute: CUdevice_attribute,
    _: CUdevice,
) -> CUresult {
    use CUdevice_attribute as A;
    let number = match attribute {
        A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => 9,
        A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => 0,
        A::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED => 1,
        _ => return code(Err(Failure::INVALID_VALUE)),
    };
    // SAFETY: the caller gives a place for a number.
    code(unsafe { store(value, number) })
}

/// Each call adds an owner to the context of a device, but the context exists until the program ends.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, _: CUdevice) -> CUresult {
    // SAFETY: the caller gives a place for a context.
    code(unsafe { store(context, context::PRIMARY.handle()) })
}

#[unsafe(no_mangle)]
extern "C" fn cuDevicePrimaryCtxRelease_v2(_: CUdevice) -> CUresult {
    code(Ok(()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxCreate_v4(
    context: *mut CUcontext,
    _: *mut CUctxCreateParams,
    _: c_uint,
    _: CUdevice,
) -> CUresult {
    let new = Context::create();
    set_current(Some(new));
    // SAFETY: the caller gives a place for a context.
    code(unsafe { store(context, new.handle()) })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxDestroy_v2(context: CUcontext) -> CUresult {
    code(Context::of(context).and_then(Context::destroy))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuCtxGetCurrent(context: *mut CUcontext) -> CUresult {
    let handle = current().map_or(std::ptr::null_mut(), Context::handle);
    // SAFETY: the caller gives a place for a context.
    code(unsafe { store(context, handle) })
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSetCurrent(context: CUcontext) -> CUresult {
    code(Context::of(context).map(|context| set_current(Some(context))))
}

#[unsafe(no_mangle)]
extern "C" fn cuCtxSynchronize() -> CUresult {
    code(with(|_| Ok(())))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) -> CUresult {
    // SAFETY: the caller gives a text that ends with a zero byte.
    let text = unsafe { CStr::from_ptr(image.cast()) };
    // SAFETY: the caller gives a place for a module.
    code(with(|state| state.load(text.to_bytes())).and_then(|new| unsafe { store(module, new) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetFunction(
    function: *mut CUfunction,
    module: CUmodule,
    name: *const c_char,
) -> CUresult {
    // SAFETY: the caller gives a name that ends with a zero byte.
    let name = unsafe { CStr::from_ptr(name) };
    let handle = with(|state| state.function(module, &name.to_string_lossy()));
    // SAFETY: the caller gives a place for a function.
    code(handle.and_then(|handle| unsafe { store(function, handle) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuModuleGetGlobal_v2(
    address: *mut CUdeviceptr,
    bytes: *mut usize,
    module: CUmodule,
    name: *const c_char,
) -> CUresult {
    // SAFETY: the caller gives a name that ends with a zero byte.
    let name = unsafe { CStr::from_ptr(name) };
    let variable = with(|state| {
        state
            .machine(module)?
            .variable(&name.to_string_lossy())
            .ok_or(Failure::NOT_FOUND)
    });
    // SAFETY: the caller gives places for both, or none.
    code(variable.and_then(|(start, size)| unsafe {
        store(address, start)?;
        store(bytes, size as usize)
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuFuncGetParamInfo(
    function: CUfunction,
    index: usize,
    offset: *mut usize,
    size: *mut usize,
) -> CUresult {
    let parameter = with(|state| {
        let parameters = &state.function_mut(function)?.parameters;
        parameters.get(index).copied().ok_or(Failure::INVALID_VALUE)
    });
    // SAFETY: the caller gives places for both, or none.
    code(parameter.and_then(|(start, bytes)| unsafe {
        store(offset, start)?;
        store(size, bytes)
    }))
}

#[unsafe(no_mangle)]
extern "C" fn cuFuncSetAttribute(
    function: CUfunction,
    attribute: CUfunction_attribute,
    value: c_int,
) -> CUresult {
    code(with(|state| {
        state.function_mut(function)?.set(attribute, value)
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize) -> CUresult {
    let new = with(|state| match bytes {
        0 => Err(Failure::INVALID_VALUE),
        _ => state
            .memory()?
            .allocate(bytes as u64)
            .ok_or(Failure::OUT_OF_MEMORY),
    });
    // SAFETY: the caller gives a place for an address.
    code(new.and_then(|new| unsafe { store(address, new) }))
}

#[unsafe(no_mangle)]
extern "C" fn cuMemsetD8_v2(address: CUdeviceptr, byte: c_uchar, count: usize) -> CUresult {
    code(with(|state| {
        Ok(state.memory()?.write(address, &vec![byte; count])?)
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyHtoD_v2(
    to: CUdeviceptr,
    from: *const c_void,
    count: usize,
) -> CUresult {
    // SAFETY: the caller gives as many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), count) };
    code(with(|state| Ok(state.memory()?.write(to, bytes)?)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, count: usize) -> CUresult {
    let bytes = with(|state| Ok(state.memory()?.read(from, count)?));
    // SAFETY: the caller gives as many bytes.
    code(bytes.map(|bytes| unsafe { to.cast::<u8>().copy_from(bytes.as_ptr(), count) }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuLaunchKernelEx(
    config: *const CUlaunchConfig,
    function: CUfunction,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult {
    if config.is_null() || !extra.is_null() {
        return code(Err(Failure::INVALID_VALUE));
    }
    code(with(|state| {
        let function: &Function = state.function_mut(function)?;
        // SAFETY: the caller passes a pointer for each parameter of the function, to the bytes of its size, and the number of attributes
        // in the configuration.
        let launch = unsafe { function.launch(&*config, arguments) }?;
        state.run(&launch)
    }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorName(error: CUresult, text: *mut *const c_char) -> CUresult {
    // SAFETY: the caller gives a place for a pointer.
    code(unsafe { store(text, error_text(error).as_ptr()) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuGetErrorString(error: CUresult, text: *mut *const c_char) -> CUresult {
    // SAFETY: the caller gives a place for a pointer.
    code(unsafe { store(text, error_text(error).as_ptr()) })
}
