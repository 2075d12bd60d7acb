//! Textures. The structures of the runtime API differ from those of the driver API.

use super::call::in_context;
use crate::abi::arrays::{
    ChannelFormat, ResourceDescriptor, ResourceView, RuntimeTextureDescriptor, TextureDescriptor,
    resource_type, texture_flag,
};
use crate::caller::{Out, given, set};
use crate::handles::Raw;
use crate::state::{Driver, Resource, formats};
use crate::status::{Outcome, Status};

/// The format in the words of a resource, from the second one on.
fn format_of(words: &[u64; 16]) -> Outcome<(u32, u32)> {
    let half = |index: usize| (words[1 + index / 2] >> (32 * (index % 2))) as u32;
    formats::of_channels(&ChannelFormat {
        bits: [0, 1, 2, 3].map(|index| half(index) as i32),
        kind: half(4),
    })
}

/// The memory that a descriptor of the runtime API describes.
fn resource(descriptor: &ResourceDescriptor) -> Outcome<Resource> {
    let words = &descriptor.words;
    Ok(match descriptor.resource_type {
        resource_type::ARRAY => Resource::Array(words[0] as Raw),
        resource_type::MIPMAP => Resource::Mipmap(words[0] as Raw),
        resource_type::LINEAR => {
            let (format, channels) = format_of(words)?;
            Resource::Linear {
                address: words[0],
                format,
                channels,
                bytes: words[4],
            }
        }
        resource_type::PITCH => {
            let (format, channels) = format_of(words)?;
            Resource::Rows {
                address: words[0],
                format,
                channels,
                width: words[4],
                height: words[5],
                pitch: words[6],
            }
        }
        _ => return Err(Status::INVALID_VALUE),
    })
}

/// The descriptor of the runtime API for memory.
fn descriptor_of(resource: Resource) -> Outcome<ResourceDescriptor> {
    let mut descriptor = ResourceDescriptor::default();
    let words = &mut descriptor.words;
    let mut set_texels = |address: u64, format: u32, channels: u32, sizes: &[u64]| {
        words[0] = address;
        let ChannelFormat { bits, kind } = formats::to_channels(format, channels)?;
        let [x, y, z, w] = bits.map(|bits| u64::from(bits.cast_unsigned()));
        words[1] = x | y << 32;
        words[2] = z | w << 32;
        words[3] = kind.into();
        words[4..4 + sizes.len()].copy_from_slice(sizes);
        Ok(())
    };
    descriptor.resource_type = match resource {
        Resource::Array(array) => {
            words[0] = array as u64;
            resource_type::ARRAY
        }
        Resource::Mipmap(mipmap) => {
            words[0] = mipmap as u64;
            resource_type::MIPMAP
        }
        Resource::Linear {
            address,
            format,
            channels,
            bytes,
        } => {
            set_texels(address, format, channels, &[bytes])?;
            resource_type::LINEAR
        }
        Resource::Rows {
            address,
            format,
            channels,
            width,
            height,
            pitch,
        } => {
            set_texels(address, format, channels, &[width, height, pitch])?;
            resource_type::PITCH
        }
    };
    Ok(descriptor)
}

/// The flags of a descriptor of the driver API.
fn flags(descriptor: &RuntimeTextureDescriptor) -> Outcome<u32> {
    let read_flag = match descriptor.read_mode {
        0 => texture_flag::READ_AS_INTEGER,
        1 => 0,
        _ => return Err(Status::INVALID_VALUE),
    };
    let flags = [
        (
            descriptor.normalized_coordinates,
            texture_flag::NORMALIZED_COORDINATES,
        ),
        (descriptor.srgb, texture_flag::SRGB),
        (
            descriptor.disable_trilinear_optimization,
            texture_flag::DISABLE_TRILINEAR_OPTIMIZATION,
        ),
        (descriptor.seamless_cubemap, texture_flag::SEAMLESS_CUBEMAP),
    ];
    let set = flags.into_iter().filter(|(value, _)| *value != 0);
    Ok(set.fold(read_flag, |flags, (_, flag)| flags | flag))
}

/// The descriptor of the driver API of a texture.
fn to_driver(descriptor: &RuntimeTextureDescriptor) -> Outcome<TextureDescriptor> {
    Ok(TextureDescriptor {
        address_modes: descriptor.address_modes,
        filter: descriptor.filter,
        flags: flags(descriptor)?,
        max_anisotropy: descriptor.max_anisotropy,
        level_filter: descriptor.level_filter,
        level_bias: descriptor.level_bias,
        min_level: descriptor.min_level,
        max_level: descriptor.max_level,
        border_color: descriptor.border_color,
        reserved: [0; 12],
    })
}

/// The descriptor of the runtime API of a texture.
fn to_runtime(descriptor: &TextureDescriptor) -> RuntimeTextureDescriptor {
    let has = |flag: u32| i32::from(descriptor.flags & flag != 0);
    RuntimeTextureDescriptor {
        address_modes: descriptor.address_modes,
        filter: descriptor.filter,
        read_mode: u32::from(descriptor.flags & texture_flag::READ_AS_INTEGER == 0),
        srgb: has(texture_flag::SRGB),
        border_color: descriptor.border_color,
        normalized_coordinates: has(texture_flag::NORMALIZED_COORDINATES),
        max_anisotropy: descriptor.max_anisotropy,
        level_filter: descriptor.level_filter,
        level_bias: descriptor.level_bias,
        min_level: descriptor.min_level,
        max_level: descriptor.max_level,
        disable_trilinear_optimization: has(texture_flag::DISABLE_TRILINEAR_OPTIMIZATION),
        seamless_cubemap: has(texture_flag::SEAMLESS_CUBEMAP),
    }
}

/// Checks that the format of a resource can be filtered as described. The runtime API has its own error for that.
fn check_filter(
    driver: &Driver,
    resource: Resource,
    descriptor: &RuntimeTextureDescriptor,
    view: Option<&ResourceView>,
) -> Outcome<()> {
    let array_format = |handle: Raw| {
        driver
            .arrays
            .get(handle)
            .map(|array| array.description.format)
    };
    let format = match resource {
        Resource::Array(array) => array_format(array)?,
        Resource::Mipmap(mipmap) => driver.mipmaps.get(mipmap)?.description.format,
        Resource::Linear {
            format, channels, ..
        }
        | Resource::Rows {
            format, channels, ..
        } => formats::texel_format(format, channels)?,
    };
    let viewed = view.map_or(Ok(None), |view| formats::view_format(view.format))?;
    let format = viewed.unwrap_or(format);
    // Integers of 32 bits are never read as fractions.
    let is_promoted = descriptor.read_mode == 1 && format.channel.bits() < 32;
    let is_filtered = descriptor.filter == 1 && !matches!(resource, Resource::Linear { .. });
    if is_filtered && formats::is_integer(format) && !is_promoted {
        return Err(Status::INVALID_FILTER_SETTING);
    }
    Ok(())
}

/// Anisotropic filters are not computed: the ratio has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateTextureObject(
    texture: Out<'_, u64>,
    resource_descriptor: Option<&ResourceDescriptor>,
    descriptor: Option<&RuntimeTextureDescriptor>,
    view: Option<&ResourceView>,
) -> Status {
    in_context("cudaCreateTextureObject", |driver| {
        let texture = texture.ok_or(Status::INVALID_VALUE)?;
        let resource = resource(given(resource_descriptor)?)?;
        let descriptor = given(descriptor)?;
        check_filter(driver, resource, descriptor, view)?;
        texture.write(driver.create_texture(resource, &to_driver(descriptor)?, view)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDestroyTextureObject(texture: u64) -> Status {
    in_context("cudaDestroyTextureObject", |driver| {
        driver.destroy_texture(texture)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetTextureObjectResourceDesc(
    resource: Out<'_, ResourceDescriptor>,
    texture: u64,
) -> Status {
    in_context("cudaGetTextureObjectResourceDesc", |driver| {
        set(resource, descriptor_of(driver.texture(texture)?.resource)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetTextureObjectTextureDesc(
    descriptor: Out<'_, RuntimeTextureDescriptor>,
    texture: u64,
) -> Status {
    in_context("cudaGetTextureObjectTextureDesc", |driver| {
        set(descriptor, to_runtime(&driver.texture(texture)?.descriptor))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetTextureObjectResourceViewDesc(
    view: Out<'_, ResourceView>,
    texture: u64,
) -> Status {
    in_context("cudaGetTextureObjectResourceViewDesc", |driver| {
        let texture_view = driver.texture(texture)?.view;
        set(view, texture_view.ok_or(Status::INVALID_VALUE)?)
    })
}
