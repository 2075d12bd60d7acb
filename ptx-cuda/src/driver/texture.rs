//! Textures.

use crate::abi::arrays::{ResourceDescriptor, ResourceView, TextureDescriptor, resource_type};
use crate::call::in_context;
use crate::caller::{Out, given, set};
use crate::handles::Raw;
use crate::state::Resource;
use crate::status::{Outcome, Status};

/// The memory that a descriptor of the driver API describes.
fn resource(descriptor: &ResourceDescriptor) -> Outcome<Resource> {
    let words = &descriptor.words;
    if descriptor.flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let [format, channels] = [words[1] as u32, (words[1] >> 32) as u32];
    Ok(match descriptor.resource_type {
        resource_type::ARRAY => Resource::Array(words[0] as Raw),
        resource_type::MIPMAP => Resource::Mipmap(words[0] as Raw),
        resource_type::LINEAR => Resource::Linear {
            address: words[0],
            format,
            channels,
            bytes: words[2],
        },
        resource_type::PITCH => Resource::Rows {
            address: words[0],
            format,
            channels,
            width: words[2],
            height: words[3],
            pitch: words[4],
        },
        _ => return Err(Status::INVALID_VALUE),
    })
}

/// The descriptor of the driver API for memory.
fn descriptor_of(resource: Resource) -> ResourceDescriptor {
    let texel = |format: u32, channels: u32| u64::from(format) | u64::from(channels) << 32;
    let (resource_type, values) = match resource {
        Resource::Array(array) => (resource_type::ARRAY, vec![array as u64]),
        Resource::Mipmap(mipmap) => (resource_type::MIPMAP, vec![mipmap as u64]),
        Resource::Linear {
            address,
            format,
            channels,
            bytes,
        } => (
            resource_type::LINEAR,
            vec![address, texel(format, channels), bytes],
        ),
        Resource::Rows {
            address,
            format,
            channels,
            width,
            height,
            pitch,
        } => (
            resource_type::PITCH,
            vec![address, texel(format, channels), width, height, pitch],
        ),
    };
    let mut descriptor = ResourceDescriptor {
        resource_type,
        ..ResourceDescriptor::default()
    };
    descriptor.words[..values.len()].copy_from_slice(&values);
    descriptor
}

/// Anisotropic filters are not computed: the ratio has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuTexObjectCreate(
    texture: Out<'_, u64>,
    resource_descriptor: Option<&ResourceDescriptor>,
    descriptor: Option<&TextureDescriptor>,
    view: Option<&ResourceView>,
) -> Status {
    in_context("cuTexObjectCreate", |driver| {
        let texture = texture.ok_or(Status::INVALID_VALUE)?;
        let resource = resource(given(resource_descriptor)?)?;
        texture.write(driver.create_texture(resource, given(descriptor)?, view)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexObjectDestroy(texture: u64) -> Status {
    in_context("cuTexObjectDestroy", |driver| {
        driver.destroy_texture(texture)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexObjectGetResourceDesc(
    resource: Out<'_, ResourceDescriptor>,
    texture: u64,
) -> Status {
    in_context("cuTexObjectGetResourceDesc", |driver| {
        set(resource, descriptor_of(driver.texture(texture)?.resource))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexObjectGetTextureDesc(
    descriptor: Out<'_, TextureDescriptor>,
    texture: u64,
) -> Status {
    in_context("cuTexObjectGetTextureDesc", |driver| {
        set(descriptor, driver.texture(texture)?.descriptor)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuTexObjectGetResourceViewDesc(
    view: Out<'_, ResourceView>,
    texture: u64,
) -> Status {
    in_context("cuTexObjectGetResourceViewDesc", |driver| {
        let texture_view = driver.texture(texture)?.view;
        set(view, texture_view.ok_or(Status::INVALID_VALUE)?)
    })
}
