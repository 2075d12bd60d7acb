//! Functions by their names, and tables that are not documented.

use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::abi::Uuid;
use crate::call::plain;
use crate::caller::{Out, given, set, set_if_wanted, text};
use crate::functions::{self, DRIVER};
use crate::status::Status;

/// The flag that asks for the functions with a default stream of each thread.
const PER_THREAD: u64 = 2;

#[unsafe(no_mangle)]
pub extern "C" fn cuGetProcAddress_v2(
    name: *const c_char,
    address: Out<'_, *const c_void>,
    version: i32,
    flags: u64,
    result: Out<'_, u32>,
) -> Status {
    plain("cuGetProcAddress_v2", || {
        let name = text(name)?;
        let version = u32::try_from(version).map_err(|_| Status::INVALID_VALUE)?;
        let function = functions::find(&DRIVER, name, version, flags & PER_THREAD != 0);
        let symbol_status = match function {
            Some(function) => {
                set(address, function.address as *const c_void)?;
                0
            }
            None => {
                set(address, std::ptr::null())?;
                if functions::has(&DRIVER, name) { 2 } else { 1 }
            }
        };
        let wants_result = result.is_some();
        set_if_wanted(result, symbol_status);
        if symbol_status == 0 || wants_result {
            Ok(())
        } else {
            Err(Status::NOT_FOUND)
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetProcAddress(
    name: *const c_char,
    address: Out<'_, *const c_void>,
    version: i32,
    flags: u64,
) -> Status {
    cuGetProcAddress_v2(name, address, version, flags, None)
}

/// Whether the process was told that it asks for a table that does not exist here.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// Programs that contain NVIDIA's runtime library ask for tables that are not documented, and that recognize NVIDIA's driver. They are not imitated.
#[unsafe(no_mangle)]
pub extern "C" fn cuGetExportTable(
    table: Out<'_, *const c_void>,
    identifier: Option<&Uuid>,
) -> Status {
    plain("cuGetExportTable", || {
        set(table, std::ptr::null())?;
        given(identifier)?;
        if !IS_TOLD.swap(true, Ordering::Relaxed) {
            eprintln!(
                "ptxkit: this program asks for undocumented tables of NVIDIA's driver, as programs that contain NVIDIA's runtime library do; link such a program with `nvcc -cudart shared`"
            );
        }
        Err(Status::NOT_FOUND)
    })
}
