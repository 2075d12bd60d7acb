//! A library that programs load as `libnvrtc.so.13`: it passes all calls to NVIDIA's library, but a program that is compiled for a real architecture, such as
//! `sm_80`, is compiled for the virtual architecture `compute_80`, and its machine code is the PTX, which the driver of `ptxkit exec` loads.
//!
//! Functions have the names and the signatures of NVIDIA's public documentation. All parameters are integers and pointers, six at most, so that one function with
//! six words passes on each of them.
#![cfg(target_os = "linux")]
#![allow(
    non_snake_case,
    missing_docs,
    clippy::not_unsafe_ptr_arg_deref,
    reason = "the names are those of the API, whose documentation describes them and what they require of pointers"
)]

mod architecture;
mod library;
mod locate;

use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char};
use std::sync::{Mutex, MutexGuard, PoisonError};

use architecture::virtual_options;

/// The result of a function that fails without NVIDIA's library.
const INTERNAL_ERROR: usize = 11;

/// The handles of the programs that were compiled for a virtual architecture, and asked for a real one.
static REDIRECTED: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

fn redirected() -> MutexGuard<'static, Option<HashSet<usize>>> {
    REDIRECTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the machine code of a program is its PTX.
fn is_redirected(program: usize) -> bool {
    let programs = redirected();
    programs.as_ref().is_some_and(|set| set.contains(&program))
}

/// Marks a program as redirected, or removes the mark.
fn mark(program: usize, is_redirected: bool) {
    let mut programs = redirected();
    let set = programs.get_or_insert_default();
    if is_redirected {
        set.insert(program);
    } else {
        set.remove(&program);
    }
}

/// Calls a function of NVIDIA's library.
fn forward(name: &CStr, arguments: [usize; 6]) -> usize {
    match library::function(name) {
        Some(function) => {
            let [a, b, c, d, e, f] = arguments;
            // SAFETY: the caller called the function of this name with these arguments, of which it has six at most. On the supported architectures, words are
            // passed in registers, and a function ignores those that it has no parameters for.
            unsafe { function(a, b, c, d, e, f) }
        }
        None => INTERNAL_ERROR,
    }
}

/// Exports functions that only pass on their arguments.
macro_rules! forwarded {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> usize {
                const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                };
                forward(NAME, [a, b, c, d, e, f])
            }
        )*
    };
}

forwarded! {
    nvrtcAddNameExpression nvrtcCreateProgram nvrtcGetBundledHeadersInfo nvrtcGetErrorString nvrtcGetLTOIR nvrtcGetLTOIRSize nvrtcGetLoweredName nvrtcGetNVVM
    nvrtcGetNVVMSize nvrtcGetNumSupportedArchs nvrtcGetOptiXIR nvrtcGetOptiXIRSize nvrtcGetPCHCreateStatus nvrtcGetPCHHeapSize nvrtcGetPCHHeapSizeRequired
    nvrtcGetPTX nvrtcGetPTXSize nvrtcGetProgramLog nvrtcGetProgramLogSize nvrtcGetSupportedArchs nvrtcGetTileIR nvrtcGetTileIRSize nvrtcInstallBundledHeaders
    nvrtcRemoveBundledHeaders nvrtcSetFlowCallback nvrtcSetPCHHeapSize nvrtcVersion
}

/// Compiles a program for the virtual architecture of the real one in the options.
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcCompileProgram(
    program: usize,
    count: i32,
    options: *const *const c_char,
) -> usize {
    let length = usize::try_from(count).unwrap_or(0);
    let pointers: &[*const c_char] = if options.is_null() {
        &[]
    } else {
        // SAFETY: the program passes that many pointers.
        unsafe { std::slice::from_raw_parts(options, length) }
    };
    // What NVIDIA's library says of a null pointer is its result.
    let changed = if pointers.iter().any(|text| text.is_null()) {
        None
    } else {
        // SAFETY: the program passes pointers to texts that end with a zero byte.
        let texts = pointers.iter().map(|text| unsafe { CStr::from_ptr(*text) });
        virtual_options(&texts.collect::<Vec<&CStr>>())
    };
    let Some(changed) = changed else {
        mark(program, false);
        // The count is passed as it was given.
        let words = [
            program,
            count as usize,
            options.expose_provenance(),
            0,
            0,
            0,
        ];
        return forward(c"nvrtcCompileProgram", words);
    };
    mark(program, true);
    let pointers: Vec<*const c_char> = changed.iter().map(|text: &CString| text.as_ptr()).collect();
    let words = [
        program,
        length,
        pointers.as_ptr().expose_provenance(),
        0,
        0,
        0,
    ];
    forward(c"nvrtcCompileProgram", words)
}

/// Destroys a program, whose handle another one may have later.
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcDestroyProgram(program: *mut usize) -> usize {
    // SAFETY: the program passes a pointer to a handle, or null.
    if let Some(handle) = unsafe { program.as_ref() } {
        mark(*handle, false);
    }
    let words = [program.expose_provenance(), 0, 0, 0, 0, 0];
    forward(c"nvrtcDestroyProgram", words)
}

/// The size of the machine code: that of the PTX, if the program was compiled for a virtual architecture.
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetCUBINSize(program: usize, size: usize) -> usize {
    let name = if is_redirected(program) {
        c"nvrtcGetPTXSize"
    } else {
        c"nvrtcGetCUBINSize"
    };
    forward(name, [program, size, 0, 0, 0, 0])
}

/// The machine code: the PTX, if the program was compiled for a virtual architecture.
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetCUBIN(program: usize, code: usize) -> usize {
    let name = if is_redirected(program) {
        c"nvrtcGetPTX"
    } else {
        c"nvrtcGetCUBIN"
    };
    forward(name, [program, code, 0, 0, 0, 0])
}

#[cfg(test)]
mod tests {
    use super::{is_redirected, mark};

    #[test]
    fn a_handle_that_is_used_again_has_no_mark() {
        mark(8, true);
        assert!(is_redirected(8) && !is_redirected(16));
        mark(8, false);
        assert!(!is_redirected(8));
    }
}
