//! Links of several modules, the size of code in memory, and options of the compiler.

use std::ffi::{c_char, c_void};
use std::fs;

use crate::call::in_context;
use crate::caller::{self, Out, set, text};
use crate::handles::Raw;
use crate::state::images::LoadError;
use crate::state::{LinkInput, Linker};
use crate::status::{Outcome, Status};

/// The first bytes of a structure that points to a fatbin.
const FATBIN_WRAPPER: u32 = 0x4662_43b1;
/// The first bytes of a fatbin.
const FATBIN: u32 = 0xba55_ed50;
/// The first bytes of an ELF file.
const ELF: u32 = u32::from_le_bytes(*b"\x7fELF");

/// The bytes of the header of an ELF file with 64-bit addresses.
const ELF_HEADER_BYTES: u64 = 64;

/// The bytes of code in memory of the caller, whose size the code itself states.
pub(crate) fn image_bytes<'a>(image: *const c_void) -> Outcome<&'a [u8]> {
    let first: u32 = caller::read(image.cast())?;
    let start = image.addr();
    match first {
        FATBIN_WRAPPER => image_bytes(caller::read::<*const c_void>(
            image.wrapping_byte_add(8).cast(),
        )?),
        FATBIN => {
            let header: u16 = caller::read(image.wrapping_byte_add(6).cast())?;
            let content_bytes: u64 = caller::read(image.wrapping_byte_add(8).cast())?;
            caller::bytes(start, usize::from(header) + content_bytes as usize)
        }
        ELF => {
            let sections: u64 = caller::read(image.wrapping_byte_add(40).cast())?;
            let section_bytes: u16 = caller::read(image.wrapping_byte_add(58).cast())?;
            let section_count: u16 = caller::read(image.wrapping_byte_add(60).cast())?;
            let all_sections = u64::from(section_bytes) * u64::from(section_count);
            let end = sections.saturating_add(all_sections).max(ELF_HEADER_BYTES);
            caller::bytes(start, end as usize)
        }
        _ => Ok(text(image.cast())?.as_bytes()),
    }
}

/// Options of the compiler. Only the buffers for its messages and the limit of registers have an effect.
pub(crate) struct JitOptions {
    /// The most registers of a thread, if they are limited.
    pub(crate) register_limit: Option<u32>,
    error_buffer: usize,
    error_bytes: usize,
    /// The place of the size of the buffer, which becomes that of the text.
    error_bytes_place: usize,
}

impl JitOptions {
    const MAX_REGISTERS: u32 = 0;
    const INFO_BYTES: u32 = 4;
    const ERROR_BUFFER: u32 = 5;
    const ERROR_BYTES: u32 = 6;

    /// The options that a program passes: their numbers, and their values or pointers to their values.
    pub(crate) fn new(count: u32, numbers: *const u32, values: *const usize) -> Outcome<Self> {
        let mut options = Self {
            register_limit: None,
            error_buffer: 0,
            error_bytes: 0,
            error_bytes_place: 0,
        };
        let numbers = caller::slice(numbers, count as usize)?;
        let all = caller::slice(values, count as usize)?;
        for (index, (number, value)) in numbers.iter().zip(all).enumerate() {
            let place = values.wrapping_add(index).addr();
            match *number {
                // No limit is zero.
                Self::MAX_REGISTERS => {
                    options.register_limit = Some(*value as u32).filter(|limit| *limit > 0);
                }
                Self::ERROR_BUFFER => options.error_buffer = *value,
                Self::ERROR_BYTES => {
                    options.error_bytes = *value as u32 as usize;
                    options.error_bytes_place = place;
                }
                // There are no messages besides errors.
                Self::INFO_BYTES => {
                    caller::copy(0u32.to_le_bytes().as_ptr().expose_provenance(), place, 4)
                }
                _ => {}
            }
        }
        if options.error_bytes_place != 0 {
            caller::copy(
                0u32.to_le_bytes().as_ptr().expose_provenance(),
                options.error_bytes_place,
                4,
            );
        }
        Ok(options)
    }

    /// Passes the message of an error to the program, or prints it if the program has no buffer for it, and returns its status.
    pub(crate) fn failed(&self, error: &LoadError) -> Status {
        if self.error_buffer == 0 || self.error_bytes == 0 {
            eprintln!("ptxkit: {error}");
        } else {
            let message = error.to_string();
            let _ = caller::set_text(self.error_buffer as *mut c_char, self.error_bytes, &message);
            let length = (message.len() + 1).min(self.error_bytes) as u32;
            caller::copy(
                length.to_le_bytes().as_ptr().expose_provenance(),
                self.error_bytes_place,
                4,
            );
        }
        error.status
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLinkCreate_v2(
    option_count: u32,
    options: *const u32,
    values: *const usize,
    state: Out<'_, Raw>,
) -> Status {
    in_context("cuLinkCreate_v2", |driver| {
        let options = JitOptions::new(option_count, options, values)?;
        let handle = driver.linkers.insert(Linker::new(options.register_limit));
        set(state, handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLinkAddData_v2(
    state: Raw,
    kind: u32,
    data: *const c_void,
    bytes: usize,
    _name: *const c_char,
    _option_count: u32,
    _options: *const u32,
    _values: *const usize,
) -> Status {
    in_context("cuLinkAddData_v2", |driver| {
        let input = LinkInput {
            kind,
            bytes: caller::bytes(data.addr(), bytes)?.to_vec(),
        };
        driver.add_link_input(state, input)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLinkAddFile_v2(
    state: Raw,
    kind: u32,
    path: *const c_char,
    _option_count: u32,
    _options: *const u32,
    _values: *const usize,
) -> Status {
    in_context("cuLinkAddFile_v2", |driver| {
        let bytes = fs::read(text(path)?).map_err(|_| Status::FILE_NOT_FOUND)?;
        driver.add_link_input(state, LinkInput { kind, bytes })
    })
}

/// The result is PTX, which functions load like machine code.
#[unsafe(no_mangle)]
pub extern "C" fn cuLinkComplete(
    state: Raw,
    image: Out<'_, *const c_void>,
    bytes: Out<'_, usize>,
) -> Status {
    in_context("cuLinkComplete", |driver| {
        let linked = driver.complete_link(state)?;
        let (start, len) = (linked.as_ptr(), linked.len());
        set(image, start.cast())?;
        caller::set_if_wanted(bytes, len);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLinkDestroy(state: Raw) -> Status {
    in_context("cuLinkDestroy", |driver| {
        driver.linkers.remove(state).map(|_| ())
    })
}
