//! The device and its attributes.

use std::ffi::c_char;

use crate::abi::Uuid;
use crate::call::call;
use crate::caller::{Out, set, set_if_wanted, set_text, text};
use crate::state::attributes::attribute;
use crate::status::{Outcome, Status};

/// The name of the device.
pub(crate) const NAME: &str = "ptxkit virtual machine";
/// The identifier of the device.
pub(crate) const UUID: [u8; 16] = *b"ptxkit machine 0";
/// The address of the device on the bus.
pub(crate) const BUS_ADDRESS: &str = "0000:01:00.0";

/// The numbers of an address on the bus: domain, bus, device and function, in hexadecimal digits. The domain and the function are 0 if the address has none.
fn bus_numbers(address: &str) -> Option<[u32; 4]> {
    let (place, function) = address.split_once('.').unwrap_or((address, "0"));
    let mut parts: Vec<&str> = place.split(':').collect();
    if parts.len() == 2 {
        parts.insert(0, "0");
    }
    parts.push(function);
    let numbers = parts.iter().map(|part| u32::from_str_radix(part, 16).ok());
    numbers.collect::<Option<Vec<u32>>>()?.try_into().ok()
}

/// The device at an address on the bus.
pub(crate) fn device_at(address: &str) -> Outcome<i32> {
    let numbers = bus_numbers(address);
    if numbers.is_some() && numbers == bus_numbers(BUS_ADDRESS) {
        Ok(0)
    } else {
        Err(Status::INVALID_DEVICE)
    }
}

/// Checks the number of a device; there is one.
pub(crate) fn check_device(device: i32) -> Outcome<()> {
    if device == 0 {
        Ok(())
    } else {
        Err(Status::INVALID_DEVICE)
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetCount(count: Out<'_, i32>) -> Status {
    call("cuDeviceGetCount", |_| set(count, 1))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGet(device: Out<'_, i32>, ordinal: i32) -> Status {
    call("cuDeviceGet", |_| {
        check_device(ordinal)?;
        set(device, 0)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetName(name: *mut c_char, len: i32, device: i32) -> Status {
    call("cuDeviceGetName", |_| {
        check_device(device)?;
        set_text(name, usize::try_from(len).unwrap_or(0), NAME)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceTotalMem_v2(bytes: Out<'_, usize>, device: i32) -> Status {
    call("cuDeviceTotalMem_v2", |driver| {
        check_device(device)?;
        set(bytes, driver.memory.total as usize)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetUuid(uuid: Out<'_, Uuid>, device: i32) -> Status {
    call("cuDeviceGetUuid", |_| {
        check_device(device)?;
        set(uuid, Uuid(UUID))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetUuid_v2(uuid: Out<'_, Uuid>, device: i32) -> Status {
    cuDeviceGetUuid(uuid, device)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetAttribute(value: Out<'_, i32>, number: u32, device: i32) -> Status {
    call("cuDeviceGetAttribute", |driver| {
        check_device(device)?;
        set(value, attribute(driver, number)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceComputeCapability(
    major: Out<'_, i32>,
    minor: Out<'_, i32>,
    device: i32,
) -> Status {
    call("cuDeviceComputeCapability", |driver| {
        check_device(device)?;
        let capability = driver.config.capability;
        set(major, capability.major as i32)?;
        set(minor, capability.minor as i32)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetPCIBusId(address: *mut c_char, len: i32, device: i32) -> Status {
    call("cuDeviceGetPCIBusId", |_| {
        check_device(device)?;
        set_text(address, usize::try_from(len).unwrap_or(0), BUS_ADDRESS)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetByPCIBusId(device: Out<'_, i32>, address: *const c_char) -> Status {
    call("cuDeviceGetByPCIBusId", |_| {
        set(device, device_at(text(address)?)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceCanAccessPeer(can: Out<'_, i32>, device: i32, peer: i32) -> Status {
    call("cuDeviceCanAccessPeer", |_| {
        check_device(device)?;
        check_device(peer)?;
        set(can, 0)
    })
}

/// The state of the primary context.
#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxGetState(
    device: i32,
    flags: Out<'_, u32>,
    is_active: Out<'_, i32>,
) -> Status {
    call("cuDevicePrimaryCtxGetState", |driver| {
        check_device(device)?;
        let context = driver
            .primary
            .and_then(|handle| driver.contexts.get(handle).ok());
        set_if_wanted(flags, context.map_or(0, |context| context.flags));
        set_if_wanted(
            is_active,
            context.is_some_and(|context| context.holders > 0).into(),
        );
        Ok(())
    })
}

/// An attribute of the connection between two devices, which must differ: there is one device.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetP2PAttribute(
    value: Out<'_, i32>,
    number: u32,
    device: i32,
    peer: i32,
) -> Status {
    call("cuDeviceGetP2PAttribute", |_| {
        check_device(device)?;
        check_device(peer)?;
        value.ok_or(Status::INVALID_VALUE)?;
        Err(if (1..=6).contains(&number) {
            Status::INVALID_DEVICE
        } else {
            Status::INVALID_VALUE
        })
    })
}
