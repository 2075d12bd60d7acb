//! Arrays, mipmapped arrays, and copies of rows of arrays.

use super::call::{enqueue_or_wait, in_context, same_as_driver};
use super::copy::operation;
use super::types::Extent;
use crate::abi::arrays::{ArrayDescriptor, ArrayMemory, ChannelFormat};
use crate::caller::{Out, given, set, set_if_wanted};
use crate::driver::array;
use crate::driver::device::check_device;
use crate::handles::Raw;
use crate::state::attributes::attribute;
use crate::state::{Copy, Place, Region, formats};
use crate::status::{Outcome, Status};

/// The number of the attribute of the device that is the largest number of texels of a texture in linear memory.
const LINEAR_WIDTH: u32 = 69;

/// The format with bits for each channel.
#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(
    x: i32,
    y: i32,
    z: i32,
    w: i32,
    kind: u32,
) -> ChannelFormat {
    ChannelFormat {
        bits: [x, y, z, w],
        kind,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetChannelDesc(format: Out<'_, ChannelFormat>, array: Raw) -> Status {
    in_context("cudaGetChannelDesc", |driver| {
        let descriptor = driver.arrays.get(array)?.descriptor;
        set(
            format,
            formats::to_channels(descriptor.format, descriptor.channels)?,
        )
    })
}

/// The descriptor of the driver API of an array.
fn descriptor(
    format: Option<&ChannelFormat>,
    extent: Extent,
    flags: u32,
) -> Outcome<ArrayDescriptor> {
    let (format, channels) = formats::of_channels(given(format)?)?;
    Ok(ArrayDescriptor {
        width: extent.width,
        height: extent.height,
        depth: extent.depth,
        format,
        channels,
        flags,
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocArray(
    array: Out<'_, Raw>,
    format: Option<&ChannelFormat>,
    width: usize,
    height: usize,
    flags: u32,
) -> Status {
    let extent = Extent {
        width,
        height,
        depth: 0,
    };
    malloc("cudaMallocArray", array, format, extent, flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMalloc3DArray(
    array: Out<'_, Raw>,
    format: Option<&ChannelFormat>,
    extent: Extent,
    flags: u32,
) -> Status {
    malloc("cudaMalloc3DArray", array, format, extent, flags)
}

fn malloc(
    name: &str,
    array: Out<'_, Raw>,
    format: Option<&ChannelFormat>,
    extent: Extent,
    flags: u32,
) -> Status {
    in_context(name, |driver| {
        let array = array.ok_or(Status::INVALID_VALUE)?;
        array.write(driver.create_array(&descriptor(format, extent, flags)?)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeArray(array: Raw) -> Status {
    in_context("cudaFreeArray", |driver| match array {
        0 => Ok(()),
        array => driver.destroy_array(array),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMallocMipmappedArray(
    mipmap: Out<'_, Raw>,
    format: Option<&ChannelFormat>,
    extent: Extent,
    levels: u32,
    flags: u32,
) -> Status {
    in_context("cudaMallocMipmappedArray", |driver| {
        let mipmap = mipmap.ok_or(Status::INVALID_VALUE)?;
        let descriptor = descriptor(format, extent, flags)?;
        mipmap.write(driver.create_mipmap(&descriptor, levels)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetMipmappedArrayLevel(
    array: Out<'_, Raw>,
    mipmap: Raw,
    level: u32,
) -> Status {
    in_context("cudaGetMipmappedArrayLevel", |driver| {
        set(array, driver.level_of_mipmap(mipmap, level)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFreeMipmappedArray(mipmap: Raw) -> Status {
    in_context("cudaFreeMipmappedArray", |driver| match mipmap {
        0 => Ok(()),
        mipmap => driver.destroy_mipmap(mipmap),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaArrayGetInfo(
    format: Out<'_, ChannelFormat>,
    extent: Out<'_, Extent>,
    flags: Out<'_, u32>,
    array: Raw,
) -> Status {
    in_context("cudaArrayGetInfo", |driver| {
        let array_descriptor = driver.arrays.get(array)?.descriptor;
        set_if_wanted(
            format,
            formats::to_channels(array_descriptor.format, array_descriptor.channels)?,
        );
        set_if_wanted(
            extent,
            Extent {
                width: array_descriptor.width,
                height: array_descriptor.height,
                depth: array_descriptor.depth,
            },
        );
        set_if_wanted(flags, array_descriptor.flags);
        Ok(())
    })
}

same_as_driver! {
    pub extern "C" fn cudaArrayGetPlane(
        plane: Out<'_, Raw>,
        array: Raw,
        index: u32,
    ) -> Status => array::cuArrayGetPlane;

    pub extern "C" fn cudaArrayGetMemoryRequirements(
        requirements: Out<'_, ArrayMemory>,
        array: Raw,
        device: i32,
    ) -> Status => array::cuArrayGetMemoryRequirements;

    pub extern "C" fn cudaMipmappedArrayGetMemoryRequirements(
        requirements: Out<'_, ArrayMemory>,
        mipmap: Raw,
        device: i32,
    ) -> Status => array::cuMipmappedArrayGetMemoryRequirements;
}

/// The format has no effect on the number.
#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetTexture1DLinearMaxWidth(
    width: Out<'_, usize>,
    format: Option<&ChannelFormat>,
    device: i32,
) -> Status {
    in_context("cudaDeviceGetTexture1DLinearMaxWidth", |driver| {
        check_device(device)?;
        formats::of_channels(given(format)?)?;
        let texels = attribute(driver, LINEAR_WIDTH)?;
        set(width, usize::try_from(texels).unwrap_or(0))
    })
}

/// Rows of memory, or of an array from a position in bytes and rows on.
#[derive(Copy, Clone)]
enum Rows {
    Memory { address: usize, pitch: usize },
    Array { array: Raw, x: usize, y: usize },
}

/// The result of a function that copies rows of `width` bytes.
fn rows(
    name: &str,
    [to, from]: [Rows; 2],
    [width, height]: [usize; 2],
    direction: u32,
    stream: Option<Raw>,
) -> Status {
    enqueue_or_wait(name, stream, |driver| {
        let place = |rows: Rows| match rows {
            Rows::Memory { pitch, .. } if height > 0 && width > pitch => {
                Err(Status::INVALID_PITCH_VALUE)
            }
            Rows::Memory { address, pitch } => Ok(Place::Address {
                address: address as u64,
                row: pitch as u64,
                layer: 0,
            }),
            Rows::Array { array, x, y } => Ok(Place::Array {
                array,
                position: [x as u64, y as u64, 0],
            }),
        };
        let copy = Copy {
            from: place(from)?,
            to: place(to)?,
            region: Region {
                bytes: width as u64,
                rows: height as u64,
                layers: 1,
            },
        };
        operation(driver, copy, direction)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy2DToArray(
    to: Raw,
    x: usize,
    y: usize,
    from: usize,
    pitch: usize,
    width: usize,
    height: usize,
    direction: u32,
) -> Status {
    let to = Rows::Array { array: to, x, y };
    let from = Rows::Memory {
        address: from,
        pitch,
    };
    let size = [width, height];
    rows("cudaMemcpy2DToArray", [to, from], size, direction, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy2DToArrayAsync(
    to: Raw,
    x: usize,
    y: usize,
    from: usize,
    pitch: usize,
    width: usize,
    height: usize,
    direction: u32,
    stream: Raw,
) -> Status {
    let to = Rows::Array { array: to, x, y };
    let from = Rows::Memory {
        address: from,
        pitch,
    };
    let (name, size) = ("cudaMemcpy2DToArrayAsync", [width, height]);
    rows(name, [to, from], size, direction, Some(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy2DFromArray(
    to: usize,
    pitch: usize,
    from: Raw,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    direction: u32,
) -> Status {
    let to = Rows::Memory { address: to, pitch };
    let from = Rows::Array { array: from, x, y };
    let size = [width, height];
    rows("cudaMemcpy2DFromArray", [to, from], size, direction, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy2DFromArrayAsync(
    to: usize,
    pitch: usize,
    from: Raw,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
    direction: u32,
    stream: Raw,
) -> Status {
    let to = Rows::Memory { address: to, pitch };
    let from = Rows::Array { array: from, x, y };
    let (name, size) = ("cudaMemcpy2DFromArrayAsync", [width, height]);
    rows(name, [to, from], size, direction, Some(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpy2DArrayToArray(
    to: Raw,
    to_x: usize,
    to_y: usize,
    from: Raw,
    from_x: usize,
    from_y: usize,
    width: usize,
    height: usize,
    direction: u32,
) -> Status {
    let to = Rows::Array {
        array: to,
        x: to_x,
        y: to_y,
    };
    let from = Rows::Array {
        array: from,
        x: from_x,
        y: from_y,
    };
    let (name, size) = ("cudaMemcpy2DArrayToArray", [width, height]);
    rows(name, [to, from], size, direction, None)
}

/// Bytes of memory, or of an array from a position in bytes and rows on, which continue in the next row.
#[derive(Copy, Clone)]
enum Bytes {
    Memory(usize),
    Array { array: Raw, x: usize, y: usize },
}

/// The result of a function that copies bytes that follow each other.
fn bytes(
    name: &str,
    [to, from]: [Bytes; 2],
    bytes: usize,
    direction: u32,
    stream: Option<Raw>,
) -> Status {
    enqueue_or_wait(name, stream, |driver| {
        let place = |bytes: Bytes| match bytes {
            Bytes::Memory(address) => Ok(Place::linear(address as u64)),
            Bytes::Array { array, x, y } => {
                let row_bytes = driver.arrays.get(array)?.row_bytes();
                let start = (y as u64).checked_mul(row_bytes);
                let offset = start.and_then(|start| start.checked_add(x as u64));
                Ok(Place::ArrayBytes {
                    array,
                    offset: offset.ok_or(Status::INVALID_VALUE)?,
                })
            }
        };
        let copy = Copy {
            from: place(from)?,
            to: place(to)?,
            region: Region {
                bytes: bytes as u64,
                rows: 1,
                layers: 1,
            },
        };
        operation(driver, copy, direction)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyToArray(
    to: Raw,
    x: usize,
    y: usize,
    from: usize,
    count: usize,
    direction: u32,
) -> Status {
    let places = [Bytes::Array { array: to, x, y }, Bytes::Memory(from)];
    bytes("cudaMemcpyToArray", places, count, direction, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyToArrayAsync(
    to: Raw,
    x: usize,
    y: usize,
    from: usize,
    count: usize,
    direction: u32,
    stream: Raw,
) -> Status {
    let places = [Bytes::Array { array: to, x, y }, Bytes::Memory(from)];
    let name = "cudaMemcpyToArrayAsync";
    bytes(name, places, count, direction, Some(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyFromArray(
    to: usize,
    from: Raw,
    x: usize,
    y: usize,
    count: usize,
    direction: u32,
) -> Status {
    let places = [Bytes::Memory(to), Bytes::Array { array: from, x, y }];
    bytes("cudaMemcpyFromArray", places, count, direction, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyFromArrayAsync(
    to: usize,
    from: Raw,
    x: usize,
    y: usize,
    count: usize,
    direction: u32,
    stream: Raw,
) -> Status {
    let places = [Bytes::Memory(to), Bytes::Array { array: from, x, y }];
    let name = "cudaMemcpyFromArrayAsync";
    bytes(name, places, count, direction, Some(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaMemcpyArrayToArray(
    to: Raw,
    to_x: usize,
    to_y: usize,
    from: Raw,
    from_x: usize,
    from_y: usize,
    count: usize,
    direction: u32,
) -> Status {
    let to = Bytes::Array {
        array: to,
        x: to_x,
        y: to_y,
    };
    let from = Bytes::Array {
        array: from,
        x: from_x,
        y: from_y,
    };
    let name = "cudaMemcpyArrayToArray";
    bytes(name, [to, from], count, direction, None)
}
