//! Fills of memory.

use crate::call::enqueue;
use crate::handles::Raw;
use crate::state::{DEFAULT_STREAM, Fill, Operation};
use crate::status::Status;

/// The result of a function that fills memory.
fn fill(name: &str, fill: Fill, stream: Option<Raw>) -> Status {
    enqueue(name, stream.unwrap_or(DEFAULT_STREAM), |driver| {
        driver.check_fill(&fill)?;
        Ok(Operation::Fill(fill))
    })
}

/// A fill of values that follow each other.
const fn row(address: u64, value: u32, width: u64, values: usize) -> Fill {
    Fill {
        address,
        pitch: 0,
        value,
        width,
        values: values as u64,
        rows: 1,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8_v2(address: u64, value: u8, count: usize) -> Status {
    fill("cuMemsetD8_v2", row(address, value.into(), 1, count), None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD16_v2(address: u64, value: u16, count: usize) -> Status {
    fill("cuMemsetD16_v2", row(address, value.into(), 2, count), None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD32_v2(address: u64, value: u32, count: usize) -> Status {
    fill("cuMemsetD32_v2", row(address, value, 4, count), None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD8Async(address: u64, value: u8, count: usize, stream: Raw) -> Status {
    fill(
        "cuMemsetD8Async",
        row(address, value.into(), 1, count),
        Some(stream),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD16Async(address: u64, value: u16, count: usize, stream: Raw) -> Status {
    fill(
        "cuMemsetD16Async",
        row(address, value.into(), 2, count),
        Some(stream),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD32Async(address: u64, value: u32, count: usize, stream: Raw) -> Status {
    fill(
        "cuMemsetD32Async",
        row(address, value, 4, count),
        Some(stream),
    )
}

/// A fill of several rows.
const fn rows(address: u64, pitch: usize, value: u32, width: u64, size: [usize; 2]) -> Fill {
    Fill {
        address,
        pitch: pitch as u64,
        value,
        width,
        values: size[0] as u64,
        rows: size[1] as u64,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD2D8_v2(
    address: u64,
    pitch: usize,
    value: u8,
    width: usize,
    height: usize,
) -> Status {
    let request = rows(address, pitch, value.into(), 1, [width, height]);
    fill("cuMemsetD2D8_v2", request, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD2D16_v2(
    address: u64,
    pitch: usize,
    value: u16,
    width: usize,
    height: usize,
) -> Status {
    let request = rows(address, pitch, value.into(), 2, [width, height]);
    fill("cuMemsetD2D16_v2", request, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD2D32_v2(
    address: u64,
    pitch: usize,
    value: u32,
    width: usize,
    height: usize,
) -> Status {
    fill(
        "cuMemsetD2D32_v2",
        rows(address, pitch, value, 4, [width, height]),
        None,
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD2D8Async(
    address: u64,
    pitch: usize,
    value: u8,
    width: usize,
    height: usize,
    stream: Raw,
) -> Status {
    let request = rows(address, pitch, value.into(), 1, [width, height]);
    fill("cuMemsetD2D8Async", request, Some(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD2D16Async(
    address: u64,
    pitch: usize,
    value: u16,
    width: usize,
    height: usize,
    stream: Raw,
) -> Status {
    let request = rows(address, pitch, value.into(), 2, [width, height]);
    fill("cuMemsetD2D16Async", request, Some(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemsetD2D32Async(
    address: u64,
    pitch: usize,
    value: u32,
    width: usize,
    height: usize,
    stream: Raw,
) -> Status {
    let request = rows(address, pitch, value, 4, [width, height]);
    fill("cuMemsetD2D32Async", request, Some(stream))
}
