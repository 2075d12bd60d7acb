//! Surfaces.

use super::call::in_context;
use crate::abi::arrays::ResourceDescriptor;
use crate::caller::{Out, given, set};
use crate::driver::surface::{array_of, resource_of};
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateSurfaceObject(
    surface: Out<'_, u64>,
    resource: Option<&ResourceDescriptor>,
) -> Status {
    in_context("cudaCreateSurfaceObject", |driver| {
        let surface = surface.ok_or(Status::INVALID_VALUE)?;
        surface.write(driver.create_surface(array_of(given(resource)?)?)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDestroySurfaceObject(surface: u64) -> Status {
    in_context("cudaDestroySurfaceObject", |driver| {
        driver.destroy_surface(surface)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetSurfaceObjectResourceDesc(
    resource: Out<'_, ResourceDescriptor>,
    surface: u64,
) -> Status {
    in_context("cudaGetSurfaceObjectResourceDesc", |driver| {
        set(resource, resource_of(driver.surface(surface)?.array))
    })
}
