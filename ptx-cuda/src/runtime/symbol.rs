//! Variables of the program in device memory.

use super::call::{enqueue_or_wait, in_context};
use super::copy::{kind, operation};
use crate::caller::{Out, set};
use crate::handles::Raw;
use crate::state::{Copy, Driver};
use crate::status::{Outcome, Status};

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetSymbolAddress(address: Out<'_, usize>, symbol: usize) -> Status {
    in_context("cudaGetSymbolAddress", |driver| {
        let (start, _) = driver.registered_variable(symbol)?;
        set(address, start as usize)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetSymbolSize(bytes: Out<'_, usize>, symbol: usize) -> Status {
    in_context("cudaGetSymbolSize", |driver| {
        let (_, size) = driver.registered_variable(symbol)?;
        set(bytes, size as usize)
    })
}

/// A part of a variable.
#[derive(Copy, Clone)]
pub(crate) struct Part {
    /// The address of the variable on the host.
    pub(crate) symbol: usize,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

impl Part {
    /// The address of the part on the device. Fails if it is not within the variable.
    pub(crate) fn address(self, driver: &mut Driver) -> Outcome<u64> {
        let (start, size) = driver.registered_variable(self.symbol)?;
        let end = self.offset.checked_add(self.bytes);
        if end.is_none_or(|end| end as u64 > size) {
            return Err(Status::INVALID_VALUE);
        }
        Ok(start + self.offset as u64)
    }
}

/// The result of a function that copies to a variable.
fn copy_to(name: &str, to: Part, from: usize, direction: u32, stream: Option<Raw>) -> Status {
    enqueue_or_wait(name, stream, |driver| {
        if !matches!(
            direction,
            kind::HOST_TO_DEVICE | kind::DEVICE_TO_DEVICE | kind::DEFAULT
        ) {
            return Err(Status::INVALID_MEMCPY_DIRECTION);
        }
        let address = to.address(driver)?;
        let copy = Copy::linear(from as u64, address, to.bytes as u64);
        operation(driver, copy, direction)
    })
}

/// The result of a function that copies from a variable.
fn copy_from(name: &str, to: usize, from: Part, direction: u32, stream: Option<Raw>) -> Status {
    enqueue_or_wait(name, stream, |driver| {
        if !matches!(
            direction,
            kind::DEVICE_TO_HOST | kind::DEVICE_TO_DEVICE | kind::DEFAULT
        ) {
            return Err(Status::INVALID_MEMCPY_DIRECTION);
        }
        let address = from.address(driver)?;
        let copy = Copy::linear(address, to as u64, from.bytes as u64);
        operation(driver, copy, direction)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyToSymbol(
    symbol: usize,
    from: usize,
    bytes: usize,
    offset: usize,
    direction: u32,
) -> Status {
    let to = Part {
        symbol,
        offset,
        bytes,
    };
    copy_to("cudaMemcpyToSymbol", to, from, direction, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyToSymbolAsync(
    symbol: usize,
    from: usize,
    bytes: usize,
    offset: usize,
    direction: u32,
    stream: Raw,
) -> Status {
    let to = Part {
        symbol,
        offset,
        bytes,
    };
    copy_to("cudaMemcpyToSymbolAsync", to, from, direction, Some(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyFromSymbol(
    to: usize,
    symbol: usize,
    bytes: usize,
    offset: usize,
    direction: u32,
) -> Status {
    let from = Part {
        symbol,
        offset,
        bytes,
    };
    copy_from("cudaMemcpyFromSymbol", to, from, direction, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyFromSymbolAsync(
    to: usize,
    symbol: usize,
    bytes: usize,
    offset: usize,
    direction: u32,
    stream: Raw,
) -> Status {
    let from = Part {
        symbol,
        offset,
        bytes,
    };
    let name = "cudaMemcpyFromSymbolAsync";
    copy_from(name, to, from, direction, Some(stream))
}
