//! The messages about functions that failed.

use std::ffi::c_char;
use std::fs;

use crate::call::plain;
use crate::caller::{self, Out, set, set_if_wanted, text};
use crate::handles::Raw;
use crate::logs::{self, LogCallback};
use crate::status::{Outcome, Status};

/// Fails if there are flags, because none is defined.
fn check_flags(flags: u32) -> Outcome<()> {
    if flags == 0 {
        Ok(())
    } else {
        Err(Status::INVALID_VALUE)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLogsRegisterCallback(
    callback: Option<LogCallback>,
    data: usize,
    handle: Out<'_, Raw>,
) -> Status {
    plain("cuLogsRegisterCallback", || {
        let callback = callback.ok_or(Status::INVALID_VALUE)?;
        set_if_wanted(handle, logs::register(callback, data));
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLogsUnregisterCallback(handle: Raw) -> Status {
    plain("cuLogsUnregisterCallback", || logs::unregister(handle))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLogsCurrent(iterator: Out<'_, u32>, flags: u32) -> Status {
    plain("cuLogsCurrent", || {
        check_flags(flags)?;
        set(iterator, logs::current())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLogsDumpToFile(
    iterator: Option<&mut u32>,
    path: *const c_char,
    flags: u32,
) -> Status {
    plain("cuLogsDumpToFile", || {
        check_flags(flags)?;
        let path = text(path)?;
        let (messages, next) = logs::all(iterator.as_deref().copied());
        fs::write(path, messages).map_err(|_| Status::INVALID_VALUE)?;
        if let Some(iterator) = iterator {
            *iterator = next;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLogsDumpToMemory(
    iterator: Option<&mut u32>,
    buffer: *mut c_char,
    bytes: Option<&mut usize>,
    flags: u32,
) -> Status {
    plain("cuLogsDumpToMemory", || {
        check_flags(flags)?;
        let bytes = bytes.ok_or(Status::INVALID_VALUE)?;
        // The last byte is zero.
        let capacity = bytes.checked_sub(1).ok_or(Status::INVALID_VALUE)?;
        let capacity_with_end = *bytes;
        *bytes = 0;
        let (messages, next) = logs::fitting(iterator.as_deref().copied(), capacity)?;
        caller::set_text(buffer, capacity_with_end, &messages)?;
        *bytes = messages.len();
        if let Some(iterator) = iterator {
            *iterator = next;
        }
        Ok(())
    })
}
