//! Access to other devices: there is one device.

use super::call::without_context;
use crate::caller::{Out, set};
use crate::driver::device::check_device;
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceCanAccessPeer(can: Out<'_, i32>, device: i32, peer: i32) -> Status {
    without_context("cudaDeviceCanAccessPeer", |_| {
        check_device(device)?;
        check_device(peer)?;
        set(can, 0)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceEnablePeerAccess(peer: i32, flags: u32) -> Status {
    without_context("cudaDeviceEnablePeerAccess", |_| {
        check_device(peer)?;
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        // A device is not a peer of itself.
        Err(Status::INVALID_DEVICE)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceDisablePeerAccess(peer: i32) -> Status {
    without_context("cudaDeviceDisablePeerAccess", |_| {
        check_device(peer)?;
        Err(Status::PEER_ACCESS_NOT_ENABLED)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaDeviceGetP2PAttribute(
    value: Out<'_, i32>,
    number: u32,
    device: i32,
    peer: i32,
) -> Status {
    without_context("cudaDeviceGetP2PAttribute", |_| {
        check_device(device)?;
        check_device(peer)?;
        if device == peer {
            return Err(Status::INVALID_DEVICE);
        }
        if number > 8 {
            return Err(Status::INVALID_VALUE);
        }
        set(value, 0)
    })
}
