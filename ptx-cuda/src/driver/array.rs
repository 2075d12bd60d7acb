//! Arrays and mipmapped arrays.

use super::device::check_device;
use crate::abi::arrays::{ArrayDescriptor, ArrayMemory, ImageDescriptor};
use crate::call::{in_context, on_device};
use crate::caller::{Out, given, set};
use crate::handles::Raw;
use crate::state::ARRAY_ALIGNMENT;
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cuArrayCreate_v2(
    array: Out<'_, Raw>,
    descriptor: Option<&ImageDescriptor>,
) -> Status {
    in_context("cuArrayCreate_v2", |driver| {
        let descriptor = given(descriptor)?;
        let array = array.ok_or(Status::INVALID_VALUE)?;
        let handle = driver.create_array(&ArrayDescriptor {
            width: descriptor.width,
            height: descriptor.height,
            depth: 0,
            format: descriptor.format,
            channels: descriptor.channels,
            flags: 0,
        })?;
        array.write(handle);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuArray3DCreate_v2(
    array: Out<'_, Raw>,
    descriptor: Option<&ArrayDescriptor>,
) -> Status {
    in_context("cuArray3DCreate_v2", |driver| {
        let array = array.ok_or(Status::INVALID_VALUE)?;
        array.write(driver.create_array(given(descriptor)?)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuArrayGetDescriptor_v2(
    descriptor: Out<'_, ImageDescriptor>,
    array: Raw,
) -> Status {
    in_context("cuArrayGetDescriptor_v2", |driver| {
        let array_descriptor = driver.arrays.get(array)?.descriptor;
        set(
            descriptor,
            ImageDescriptor {
                width: array_descriptor.width,
                height: array_descriptor.height,
                format: array_descriptor.format,
                channels: array_descriptor.channels,
            },
        )
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuArray3DGetDescriptor_v2(
    descriptor: Out<'_, ArrayDescriptor>,
    array: Raw,
) -> Status {
    in_context("cuArray3DGetDescriptor_v2", |driver| {
        set(descriptor, driver.arrays.get(array)?.descriptor)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuArrayDestroy(array: Raw) -> Status {
    in_context("cuArrayDestroy", |driver| driver.destroy_array(array))
}

/// The device has no formats with several planes.
#[unsafe(no_mangle)]
pub extern "C" fn cuArrayGetPlane(plane: Out<'_, Raw>, array: Raw, _index: u32) -> Status {
    in_context("cuArrayGetPlane", |driver| {
        driver.arrays.get(array)?;
        plane.ok_or(Status::INVALID_VALUE)?;
        Err(Status::NOT_SUPPORTED)
    })
}

/// NVIDIA's driver answers for arrays with deferred mapping only; here, all arrays have an answer.
#[unsafe(no_mangle)]
pub extern "C" fn cuArrayGetMemoryRequirements(
    requirements: Out<'_, ArrayMemory>,
    array: Raw,
    device: i32,
) -> Status {
    on_device("cuArrayGetMemoryRequirements", |driver| {
        check_device(device)?;
        let description = driver.arrays.get(array)?.description;
        set(requirements, memory(description.memory_bytes().ok()))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMipmappedArrayGetMemoryRequirements(
    requirements: Out<'_, ArrayMemory>,
    mipmap: Raw,
    device: i32,
) -> Status {
    on_device("cuMipmappedArrayGetMemoryRequirements", |driver| {
        check_device(device)?;
        let description = driver.mipmaps.get(mipmap)?.description;
        set(requirements, memory(description.memory_bytes().ok()))
    })
}

/// The memory of an array that exists.
fn memory(bytes: Option<u64>) -> ArrayMemory {
    ArrayMemory {
        bytes: bytes.unwrap_or(0) as usize,
        alignment: ARRAY_ALIGNMENT,
        reserved: [0; 4],
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMipmappedArrayCreate(
    mipmap: Out<'_, Raw>,
    descriptor: Option<&ArrayDescriptor>,
    levels: u32,
) -> Status {
    in_context("cuMipmappedArrayCreate", |driver| {
        let mipmap = mipmap.ok_or(Status::INVALID_VALUE)?;
        mipmap.write(driver.create_mipmap(given(descriptor)?, levels)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMipmappedArrayGetLevel(array: Out<'_, Raw>, mipmap: Raw, level: u32) -> Status {
    in_context("cuMipmappedArrayGetLevel", |driver| {
        set(array, driver.level_of_mipmap(mipmap, level)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMipmappedArrayDestroy(mipmap: Raw) -> Status {
    in_context("cuMipmappedArrayDestroy", |driver| {
        driver.destroy_mipmap(mipmap)
    })
}

/// The largest number of texels of a texture in linear memory, whose format has no effect on it.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetTexture1DLinearMaxWidth(
    width: Out<'_, usize>,
    format: u32,
    channels: u32,
    device: i32,
) -> Status {
    crate::call::call("cuDeviceGetTexture1DLinearMaxWidth", |driver| {
        check_device(device)?;
        crate::state::formats::texel_format(format, channels)?;
        let texels = crate::state::attributes::attribute(driver, 69)?;
        set(width, usize::try_from(texels).unwrap_or(0))
    })
}
