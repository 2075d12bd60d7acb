//! Facts about addresses.

use super::call::in_context;
use super::types::PointerAttributes;
use super::version::{Major, major};
use crate::caller::{self, Out};
use crate::state::{AllocationKind, Driver};
use crate::status::Status;

/// The kinds of memory: `cudaMemoryType`.
mod memory_type {
    pub(super) const UNREGISTERED: u32 = 0;
    pub(super) const HOST: u32 = 1;
    pub(super) const DEVICE: u32 = 2;
    pub(super) const MANAGED: u32 = 3;
}

/// The device of an address that no device owns.
const NO_DEVICE: i32 = -2;

fn attributes(driver: &Driver, pointer: usize) -> PointerAttributes {
    let mut attributes = PointerAttributes {
        memory_type: memory_type::UNREGISTERED,
        device: NO_DEVICE,
        device_pointer: 0,
        host_pointer: pointer,
        reserved: [0; 8],
    };
    let Ok(address) = driver.device_address(pointer as u64) else {
        return attributes;
    };
    let Some((start, allocation)) = driver.memory.find(address) else {
        return attributes;
    };
    attributes.device = 0;
    attributes.device_pointer = address as usize;
    (attributes.memory_type, attributes.host_pointer) = match allocation.kind {
        AllocationKind::Device
        | AllocationKind::Mapped
        | AllocationKind::Shared
        | AllocationKind::Variable => (memory_type::DEVICE, 0),
        AllocationKind::Managed | AllocationKind::ManagedVariable => {
            (memory_type::MANAGED, address as usize)
        }
        AllocationKind::Pinned { .. } => (memory_type::HOST, address as usize),
        AllocationKind::Registered { host, .. } => {
            (memory_type::HOST, host + (address - start) as usize)
        }
    };
    attributes
}

/// The structure of CUDA 12 ends before `reserved`.
#[unsafe(no_mangle)]
pub extern "C" fn cudaPointerGetAttributes(
    result: Out<'_, PointerAttributes>,
    pointer: usize,
) -> Status {
    in_context("cudaPointerGetAttributes", |driver| {
        let result = result.ok_or(Status::INVALID_VALUE)?;
        if pointer == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let value = attributes(driver, pointer);
        let bytes = match major() {
            Major::Twelve => std::mem::offset_of!(PointerAttributes, reserved),
            Major::Thirteen => size_of::<PointerAttributes>(),
        };
        let source = std::ptr::from_ref(&value).expose_provenance();
        caller::copy(source, result.as_mut_ptr().expose_provenance(), bytes);
        Ok(())
    })
}
