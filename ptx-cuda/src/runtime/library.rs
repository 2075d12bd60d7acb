//! Libraries: code that a program loads itself. Options of the compiler have the numbers of the driver API.

use std::ffi::{c_char, c_void};

use super::call::same_as_driver;
use crate::caller::Out;
use crate::driver::library;
use crate::handles::Raw;
use crate::status::Status;

same_as_driver! {
    pub extern "C" fn cudaLibraryLoadData(
        library: Out<'_, Raw>,
        code: *const c_void,
        options: *const u32,
        values: *const usize,
        option_count: u32,
        library_options: *const u32,
        library_values: *const usize,
        library_option_count: u32,
    ) -> Status => library::cuLibraryLoadData;

    pub extern "C" fn cudaLibraryLoadFromFile(
        library: Out<'_, Raw>,
        path: *const c_char,
        options: *const u32,
        values: *const usize,
        option_count: u32,
        library_options: *const u32,
        library_values: *const usize,
        library_option_count: u32,
    ) -> Status => library::cuLibraryLoadFromFile;

    pub extern "C" fn cudaLibraryUnload(library: Raw) -> Status => library::cuLibraryUnload;

    pub extern "C" fn cudaLibraryGetKernel(
        kernel: Out<'_, Raw>,
        library: Raw,
        name: *const c_char,
    ) -> Status => library::cuLibraryGetKernel;

    pub extern "C" fn cudaLibraryGetKernelCount(
        count: Out<'_,
        u32>,
        library: Raw,
    ) -> Status => library::cuLibraryGetKernelCount;

    pub extern "C" fn cudaLibraryEnumerateKernels(
        kernels: *mut Raw,
        count: u32,
        library: Raw,
    ) -> Status => library::cuLibraryEnumerateKernels;

    pub extern "C" fn cudaLibraryGetGlobal(
        address: Out<'_, u64>,
        bytes: Out<'_, usize>,
        library: Raw,
        name: *const c_char,
    ) -> Status => library::cuLibraryGetGlobal;

    pub extern "C" fn cudaLibraryGetManaged(
        address: Out<'_, u64>,
        bytes: Out<'_, usize>,
        library: Raw,
        name: *const c_char,
    ) -> Status => library::cuLibraryGetManaged;
}
