//! Texture references. They are bound to memory before the next launch; a property that does not fit the memory makes that launch fail.

use std::ffi::c_char;

use crate::abi::arrays::{ImageDescriptor, TextureDescriptor, texture_flag};
use crate::call::in_context;
use crate::caller::{self, Out, given, set, set_if_wanted, text};
use crate::handles::Raw;
use crate::state::{ARRAY_ALIGNMENT, Driver, Resource, formats};
use crate::status::{Outcome, Status};

/// The flag of functions that bind arrays, whose format replaces that of the reference.
const OVERRIDE_FORMAT: u32 = 1;

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetTexRef(
    reference: Out<'_, Raw>,
    module: Raw,
    name: *const c_char,
) -> Status {
    in_context("cuModuleGetTexRef", |driver| {
        set(reference, driver.texture_reference(module, text(name)?)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefCreate(reference: Out<'_, Raw>) -> Status {
    in_context("cuTexRefCreate", |driver| {
        set(reference, driver.references.create_texture())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefDestroy(reference: Raw) -> Status {
    in_context("cuTexRefDestroy", |driver| {
        driver.references.destroy_texture(reference)
    })
}

/// References are bound to variables of modules, and not to kernels.
#[unsafe(no_mangle)]
pub extern "C" fn cuParamSetTexRef(kernel: Raw, unit: i32, reference: Raw) -> Status {
    in_context("cuParamSetTexRef", |driver| {
        driver.kernels.get(kernel)?;
        driver.references.texture(reference)?;
        // The only unit that the documentation allows.
        if unit == -1 {
            Ok(())
        } else {
            Err(Status::INVALID_VALUE)
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefSetArray(reference: Raw, array: Raw, flags: u32) -> Status {
    in_context("cuTexRefSetArray", |driver| {
        let array_descriptor = driver.arrays.get(array)?.descriptor;
        let format = (array_descriptor.format, array_descriptor.channels);
        bind_array(driver, reference, Resource::Array(array), format, flags)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefSetMipmappedArray(reference: Raw, mipmap: Raw, flags: u32) -> Status {
    in_context("cuTexRefSetMipmappedArray", |driver| {
        let mipmap_descriptor = driver.mipmaps.get(mipmap)?.descriptor;
        let format = (mipmap_descriptor.format, mipmap_descriptor.channels);
        bind_array(driver, reference, Resource::Mipmap(mipmap), format, flags)
    })
}

fn bind_array(
    driver: &mut Driver,
    reference: Raw,
    resource: Resource,
    (format, channels): (u32, u32),
    flags: u32,
) -> Outcome<()> {
    if flags != OVERRIDE_FORMAT {
        return Err(Status::INVALID_VALUE);
    }
    let reference = driver.references.change_texture(reference)?;
    reference.resource = Some(resource);
    (reference.format, reference.channels) = (format, channels);
    Ok(())
}

/// The texture begins at a multiple of 512 bytes, before the address by the returned offset.
#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefSetAddress_v2(
    offset: Out<'_, usize>,
    reference: Raw,
    address: u64,
    bytes: usize,
) -> Status {
    in_context("cuTexRefSetAddress_v2", |driver| {
        let invalid = Status::INVALID_VALUE;
        let padding = address % ARRAY_ALIGNMENT as u64;
        let bytes = (bytes as u64).checked_add(padding).ok_or(invalid)?;
        if padding != 0 && offset.is_none() {
            return Err(invalid);
        }
        let start = driver.device_address(address - padding)?;
        driver.memory.check(start, bytes)?;
        let reference = driver.references.change_texture(reference)?;
        reference.resource = Some(Resource::Linear {
            address: start,
            format: reference.format,
            channels: reference.channels,
            bytes,
        });
        set_if_wanted(offset, padding as usize);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefSetAddress2D_v3(
    reference: Raw,
    descriptor: Option<&ImageDescriptor>,
    address: u64,
    pitch: usize,
) -> Status {
    in_context("cuTexRefSetAddress2D_v3", |driver| {
        let descriptor = given(descriptor)?;
        formats::texel_format(descriptor.format, descriptor.channels)?;
        driver.device_address(address)?;
        if !address.is_multiple_of(ARRAY_ALIGNMENT as u64) {
            return Err(Status::INVALID_VALUE);
        }
        let reference = driver.references.change_texture(reference)?;
        (reference.format, reference.channels) = (descriptor.format, descriptor.channels);
        reference.resource = Some(Resource::Rows {
            address,
            format: descriptor.format,
            channels: descriptor.channels,
            width: descriptor.width as u64,
            height: descriptor.height as u64,
            pitch: pitch as u64,
        });
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefSetAddress2D_v2(
    reference: Raw,
    descriptor: Option<&ImageDescriptor>,
    address: u64,
    pitch: usize,
) -> Status {
    cuTexRefSetAddress2D_v3(reference, descriptor, address, pitch)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefSetFormat(reference: Raw, format: u32, channels: i32) -> Status {
    in_context("cuTexRefSetFormat", |driver| {
        let channels = u32::try_from(channels).map_err(|_| Status::INVALID_VALUE)?;
        formats::texel_format(format, channels)?;
        let reference = driver.references.change_texture(reference)?;
        if let Some(Resource::Rows { .. }) = reference.resource {
            return Err(Status::INVALID_VALUE);
        }
        (reference.format, reference.channels) = (format, channels);
        if let Some(Resource::Linear { address, bytes, .. }) = reference.resource {
            reference.resource = Some(Resource::Linear {
                address,
                format,
                channels,
                bytes,
            });
        }
        Ok(())
    })
}

/// The result of a function that changes a property of a reference.
fn change(
    name: &str,
    reference: Raw,
    change: impl FnOnce(&mut TextureDescriptor) -> Outcome<()>,
) -> Status {
    in_context(name, |driver| {
        change(&mut driver.references.change_texture(reference)?.descriptor)
    })
}

/// A filter mode of the program.
const fn filter(mode: u32) -> Outcome<u32> {
    if mode <= 1 {
        Ok(mode)
    } else {
        Err(Status::INVALID_VALUE)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefSetAddressMode(reference: Raw, dimension: i32, mode: u32) -> Status {
    change("cuTexRefSetAddressMode", reference, |descriptor| {
        let place = usize::try_from(dimension)
            .ok()
            .and_then(|dimension| descriptor.address_modes.get_mut(dimension));
        match place {
            Some(place) if mode <= 3 => *place = mode,
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefSetFilterMode(reference: Raw, mode: u32) -> Status {
    change("cuTexRefSetFilterMode", reference, |descriptor| {
        descriptor.filter = filter(mode)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefSetMipmapFilterMode(reference: Raw, mode: u32) -> Status {
    change("cuTexRefSetMipmapFilterMode", reference, |descriptor| {
        descriptor.level_filter = filter(mode)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefSetMipmapLevelBias(reference: Raw, bias: f32) -> Status {
    change("cuTexRefSetMipmapLevelBias", reference, |descriptor| {
        descriptor.level_bias = bias;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefSetMipmapLevelClamp(reference: Raw, least: f32, most: f32) -> Status {
    change("cuTexRefSetMipmapLevelClamp", reference, |descriptor| {
        (descriptor.min_level, descriptor.max_level) = (least, most);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefSetMaxAnisotropy(reference: Raw, ratio: u32) -> Status {
    change("cuTexRefSetMaxAnisotropy", reference, |descriptor| {
        descriptor.max_anisotropy = ratio;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefSetBorderColor(reference: Raw, color: *const f32) -> Status {
    change("cuTexRefSetBorderColor", reference, |descriptor| {
        descriptor
            .border_color
            .copy_from_slice(caller::slice(color, 4)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefSetFlags(reference: Raw, flags: u32) -> Status {
    change("cuTexRefSetFlags", reference, |descriptor| {
        let known = texture_flag::READ_AS_INTEGER
            | texture_flag::NORMALIZED_COORDINATES
            | texture_flag::SRGB
            | texture_flag::DISABLE_TRILINEAR_OPTIMIZATION;
        if flags & !known != 0 {
            return Err(Status::INVALID_VALUE);
        }
        descriptor.flags = flags;
        Ok(())
    })
}

/// The result of a function that returns the memory of a reference. It fails if the reference is bound to memory of another kind.
fn bound<T>(
    name: &str,
    result: Out<'_, T>,
    reference: Raw,
    select: impl FnOnce(Resource) -> Option<T>,
) -> Status {
    in_context(name, |driver| {
        let resource = driver.references.texture(reference)?.resource;
        set(
            result,
            resource.and_then(select).ok_or(Status::INVALID_VALUE)?,
        )
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefGetAddress_v2(address: Out<'_, u64>, reference: Raw) -> Status {
    bound(
        "cuTexRefGetAddress_v2",
        address,
        reference,
        |resource| match resource {
            Resource::Linear { address, .. } | Resource::Rows { address, .. } => Some(address),
            _ => None,
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefGetArray(array: Out<'_, Raw>, reference: Raw) -> Status {
    bound(
        "cuTexRefGetArray",
        array,
        reference,
        |resource| match resource {
            Resource::Array(array) => Some(array),
            _ => None,
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefGetMipmappedArray(mipmap: Out<'_, Raw>, reference: Raw) -> Status {
    bound(
        "cuTexRefGetMipmappedArray",
        mipmap,
        reference,
        |resource| match resource {
            Resource::Mipmap(mipmap) => Some(mipmap),
            _ => None,
        },
    )
}

/// The result of a function that returns a property of a reference.
fn property<T>(
    name: &str,
    result: Out<'_, T>,
    reference: Raw,
    select: impl FnOnce(&TextureDescriptor) -> T,
) -> Status {
    in_context(name, |driver| {
        let descriptor = &driver.references.texture(reference)?.descriptor;
        set(result, select(descriptor))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefGetAddressMode(
    mode: Out<'_, u32>,
    reference: Raw,
    dimension: i32,
) -> Status {
    in_context("cuTexRefGetAddressMode", |driver| {
        let modes = &driver
            .references
            .texture(reference)?
            .descriptor
            .address_modes;
        let address_mode = usize::try_from(dimension).ok().and_then(|d| modes.get(d));
        set(mode, *address_mode.ok_or(Status::INVALID_VALUE)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefGetFilterMode(mode: Out<'_, u32>, reference: Raw) -> Status {
    property("cuTexRefGetFilterMode", mode, reference, |d| d.filter)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefGetFormat(
    format: Out<'_, u32>,
    channels: Out<'_, i32>,
    reference: Raw,
) -> Status {
    in_context("cuTexRefGetFormat", |driver| {
        let reference = driver.references.texture(reference)?;
        set_if_wanted(format, reference.format);
        set_if_wanted(channels, reference.channels as i32);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefGetMipmapFilterMode(mode: Out<'_, u32>, reference: Raw) -> Status {
    property("cuTexRefGetMipmapFilterMode", mode, reference, |d| {
        d.level_filter
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefGetMipmapLevelBias(bias: Out<'_, f32>, reference: Raw) -> Status {
    property("cuTexRefGetMipmapLevelBias", bias, reference, |d| {
        d.level_bias
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefGetMipmapLevelClamp(
    least: Out<'_, f32>,
    most: Out<'_, f32>,
    reference: Raw,
) -> Status {
    in_context("cuTexRefGetMipmapLevelClamp", |driver| {
        let descriptor = &driver.references.texture(reference)?.descriptor;
        set_if_wanted(least, descriptor.min_level);
        set_if_wanted(most, descriptor.max_level);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefGetMaxAnisotropy(ratio: Out<'_, i32>, reference: Raw) -> Status {
    property("cuTexRefGetMaxAnisotropy", ratio, reference, |d| {
        i32::try_from(d.max_anisotropy).unwrap_or(i32::MAX)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefGetBorderColor(color: *mut f32, reference: Raw) -> Status {
    in_context("cuTexRefGetBorderColor", |driver| {
        let border_color = driver
            .references
            .texture(reference)?
            .descriptor
            .border_color;
        if color.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        for (place, value) in caller::slice_mut(color, 4)?.iter_mut().zip(border_color) {
            place.write(value);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexRefGetFlags(flags: Out<'_, u32>, reference: Raw) -> Status {
    property("cuTexRefGetFlags", flags, reference, |d| d.flags)
}
