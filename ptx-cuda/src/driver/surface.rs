//! Surfaces and surface references.

use std::ffi::c_char;

use crate::abi::arrays::{ResourceDescriptor, resource_type};
use crate::call::in_context;
use crate::caller::{Out, given, set, text};
use crate::handles::Raw;
use crate::status::{Outcome, Status};

/// The array of the resource of a surface.
pub(crate) fn array_of(resource: &ResourceDescriptor) -> Outcome<Raw> {
    if resource.resource_type != resource_type::ARRAY || resource.flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    Ok(resource.words[0] as Raw)
}

/// The resource of the surface of an array.
pub(crate) fn resource_of(array: Raw) -> ResourceDescriptor {
    let mut resource = ResourceDescriptor {
        resource_type: resource_type::ARRAY,
        ..ResourceDescriptor::default()
    };
    resource.words[0] = array as u64;
    resource
}

#[unsafe(no_mangle)]
pub extern "C" fn cuSurfObjectCreate(
    surface: Out<'_, u64>,
    resource: Option<&ResourceDescriptor>,
) -> Status {
    in_context("cuSurfObjectCreate", |driver| {
        let surface = surface.ok_or(Status::INVALID_VALUE)?;
        surface.write(driver.create_surface(array_of(given(resource)?)?)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuSurfObjectDestroy(surface: u64) -> Status {
    in_context("cuSurfObjectDestroy", |driver| {
        driver.destroy_surface(surface)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuSurfObjectGetResourceDesc(
    resource: Out<'_, ResourceDescriptor>,
    surface: u64,
) -> Status {
    in_context("cuSurfObjectGetResourceDesc", |driver| {
        set(resource, resource_of(driver.surface(surface)?.array))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuModuleGetSurfRef(
    reference: Out<'_, Raw>,
    module: Raw,
    name: *const c_char,
) -> Status {
    in_context("cuModuleGetSurfRef", |driver| {
        set(reference, driver.surface_reference(module, text(name)?)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuSurfRefSetArray(reference: Raw, array: Raw, flags: u32) -> Status {
    in_context("cuSurfRefSetArray", |driver| {
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        driver.bind_surface(reference, array)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuSurfRefGetArray(array: Out<'_, Raw>, reference: Raw) -> Status {
    in_context("cuSurfRefGetArray", |driver| {
        let bound = driver.references.surface(reference)?.array;
        set(array, bound.ok_or(Status::INVALID_VALUE)?)
    })
}
