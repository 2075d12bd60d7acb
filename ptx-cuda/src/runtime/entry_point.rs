//! Functions of the driver API by their names.

use std::ffi::{c_char, c_void};

use super::call::plain;
use crate::abi::Uuid;
use crate::caller::{Out, set, set_if_wanted, text};
use crate::driver::version::CUDA_VERSION;
use crate::functions::{self, DRIVER};
use crate::status::{Outcome, Status};

/// The flag that asks for the functions with a default stream of each thread.
const PER_THREAD: u64 = 2;

/// The results of a search: `cudaDriverEntryPointQueryResult`.
const FOUND: u32 = 0;
const NOT_FOUND: u32 = 1;
const VERSION_NOT_SUFFICIENT: u32 = 2;

/// Searches a function of the driver API that has existed since a version or an earlier one.
fn find(
    name: *const c_char,
    address: Out<'_, *const c_void>,
    version: u32,
    flags: u64,
    result: Out<'_, u32>,
) -> Outcome<()> {
    let name = text(name)?;
    let function = functions::find(&DRIVER, name, version, flags & PER_THREAD != 0);
    let (pointer, found) = match function {
        Some(function) => (function.address as *const c_void, FOUND),
        None if functions::has(&DRIVER, name) => (std::ptr::null(), VERSION_NOT_SUFFICIENT),
        None => (std::ptr::null(), NOT_FOUND),
    };
    set(address, pointer)?;
    let wants_result = result.is_some();
    set_if_wanted(result, found);
    match found {
        FOUND => Ok(()),
        _ if wants_result => Ok(()),
        NOT_FOUND => Err(Status::NOT_FOUND),
        _ => Err(Status::CALL_REQUIRES_NEWER_DRIVER),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDriverEntryPoint(
    name: *const c_char,
    address: Out<'_, *const c_void>,
    flags: u64,
    result: Out<'_, u32>,
) -> Status {
    plain("cudaGetDriverEntryPoint", || {
        find(name, address, CUDA_VERSION as u32, flags, result)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetDriverEntryPointByVersion(
    name: *const c_char,
    address: Out<'_, *const c_void>,
    version: u32,
    flags: u64,
    result: Out<'_, u32>,
) -> Status {
    plain("cudaGetDriverEntryPointByVersion", || {
        find(name, address, version, flags, result)
    })
}

/// There are no tables that are not documented.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetExportTable(
    table: Out<'_, *const c_void>,
    _identifier: Option<&Uuid>,
) -> Status {
    plain("cudaGetExportTable", || {
        set(table, std::ptr::null())?;
        Err(Status::NOT_FOUND)
    })
}
