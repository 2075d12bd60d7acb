//! Virtual memory management.

use crate::abi::graph::{MemoryAccess, MemoryLocation};
use crate::abi::location;
use crate::call::{call, on_device};
use crate::caller::{self, Out, set};
use crate::handles::Raw;
use crate::state::pools::FILE_DESCRIPTOR;
use crate::state::virtual_memory::GRANULARITY;
use crate::status::{Outcome, Status};

/// `CUmemAllocationProp`.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct Properties {
    /// 1 for memory that stays where it is.
    pub kind: u32,
    /// The kinds of handles for other processes that the program wants.
    pub handle_kinds: u32,
    pub location: MemoryLocation,
    pub windows_data: usize,
    pub flags: [u8; 8],
}

/// Whether a location is the device; otherwise it is memory of the host.
fn is_device(place: MemoryLocation) -> Outcome<bool> {
    match place.kind {
        location::DEVICE => super::device::check_device(place.number).map(|()| true),
        location::HOST..=location::HOST_NUMA_CURRENT => Ok(false),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// Checks properties. Other processes get memory by descriptors of files only.
fn check_properties(properties: *const Properties) -> Outcome<Properties> {
    let properties = caller::read(properties)?;
    is_device(properties.location)?;
    if properties.kind != 1 {
        return Err(Status::INVALID_VALUE);
    }
    if properties.handle_kinds & !FILE_DESCRIPTOR != 0 {
        return Err(Status::NOT_SUPPORTED);
    }
    Ok(properties)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetAllocationGranularity(
    bytes: Out<'_, usize>,
    properties: *const Properties,
    option: u32,
) -> Status {
    call("cuMemGetAllocationGranularity", |_| {
        check_properties(properties)?;
        if option > 1 {
            return Err(Status::INVALID_VALUE);
        }
        set(bytes, GRANULARITY as usize)
    })
}

/// The requested address is ignored, as it is a wish.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemAddressReserve(
    address: Out<'_, u64>,
    bytes: usize,
    alignment: usize,
    _wanted: u64,
    flags: u64,
) -> Status {
    on_device("cuMemAddressReserve", |driver| {
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let address = address.ok_or(Status::INVALID_VALUE)?;
        address.write(driver.reserve_addresses(bytes as u64, alignment as u64)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemAddressFree(address: u64, bytes: usize) -> Status {
    on_device("cuMemAddressFree", |driver| {
        driver.free_addresses(address, bytes as u64)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemCreate(
    memory: Out<'_, u64>,
    bytes: usize,
    properties: *const Properties,
    flags: u64,
) -> Status {
    on_device("cuMemCreate", |driver| {
        let is_shared = check_properties(properties)?.handle_kinds != 0;
        let given = caller::bytes(properties.expose_provenance(), size_of::<Properties>())?;
        let given = given.try_into().map_err(|_| Status::INVALID_VALUE)?;
        let memory = memory.filter(|_| flags == 0);
        let memory = memory.ok_or(Status::INVALID_VALUE)?;
        memory.write(driver.create_memory(bytes as u64, given, is_shared)? as u64);
        Ok(())
    })
}

/// Another process, or this one, can use the memory through a file descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemExportToShareableHandle(
    handle: usize,
    memory: u64,
    kind: u32,
    flags: u64,
) -> Status {
    on_device("cuMemExportToShareableHandle", |driver| {
        if handle == 0 || flags != 0 || kind != FILE_DESCRIPTOR {
            return Err(Status::INVALID_VALUE);
        }
        let descriptor = driver.export_memory(memory as Raw)?;
        caller::put(&descriptor.to_ne_bytes(), handle);
        Ok(())
    })
}

/// The properties of memory of which the program has a descriptor.
const IMPORTED: [u32; 8] = [1, FILE_DESCRIPTOR, location::DEVICE, 0, 0, 0, 0, 0];

/// `handle` is the file descriptor.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemImportFromShareableHandle(
    memory: Out<'_, u64>,
    handle: usize,
    kind: u32,
) -> Status {
    on_device("cuMemImportFromShareableHandle", |driver| {
        let memory = memory.filter(|_| kind == FILE_DESCRIPTOR);
        let memory = memory.ok_or(Status::INVALID_VALUE)?;
        let mut properties = [0; 32];
        for (place, word) in properties.chunks_mut(4).zip(IMPORTED) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        memory.write(driver.import_memory(handle, properties)? as u64);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemRelease(memory: u64) -> Status {
    on_device("cuMemRelease", |driver| {
        driver.release_memory(memory as Raw)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemRetainAllocationHandle(memory: Out<'_, u64>, address: u64) -> Status {
    on_device("cuMemRetainAllocationHandle", |driver| {
        let memory = memory.ok_or(Status::INVALID_VALUE)?;
        memory.write(driver.retain_memory(address)? as u64);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetAllocationPropertiesFromHandle(
    properties: Out<'_, [u8; 32]>,
    memory: u64,
) -> Status {
    on_device("cuMemGetAllocationPropertiesFromHandle", |driver| {
        let memory = driver.physical_memory.get(memory as Raw)?;
        set(properties, memory.properties)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemMap(
    address: u64,
    bytes: usize,
    offset: usize,
    memory: u64,
    flags: u64,
) -> Status {
    on_device("cuMemMap", |driver| {
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        driver.map_memory(address, bytes as u64, offset as u64, memory as Raw)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemUnmap(address: u64, bytes: usize) -> Status {
    on_device("cuMemUnmap", |driver| {
        driver.unmap_memory(address, bytes as u64)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemSetAccess(
    address: u64,
    bytes: usize,
    descriptions: *const MemoryAccess,
    count: usize,
) -> Status {
    on_device("cuMemSetAccess", |driver| {
        let descriptions = caller::slice(descriptions, count)?;
        if descriptions.is_empty() {
            return Err(Status::INVALID_VALUE);
        }
        for description in descriptions {
            let of_device = is_device(description.location)?;
            driver.set_access(address, bytes as u64, of_device, description.flags)?;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemGetAccess(
    access: Out<'_, u64>,
    location: *const MemoryLocation,
    address: u64,
) -> Status {
    on_device("cuMemGetAccess", |driver| {
        let of_device = is_device(caller::read(location)?)?;
        set(access, driver.access(address, of_device)?.into())
    })
}
