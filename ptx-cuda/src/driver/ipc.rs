//! Memory of other processes. Events of other processes are not implemented.

use crate::abi::IpcMemoryHandle;
use crate::call::in_context;
use crate::caller::{Out, set};
use crate::state::shared_memory::SharedMemory;
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cuIpcGetMemHandle(handle: Out<'_, IpcMemoryHandle>, address: u64) -> Status {
    in_context("cuIpcGetMemHandle", |driver| {
        set(handle, IpcMemoryHandle(driver.share(address)?.to_bytes()))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuIpcOpenMemHandle_v2(
    address: Out<'_, u64>,
    handle: IpcMemoryHandle,
    _flags: u32,
) -> Status {
    in_context("cuIpcOpenMemHandle_v2", |driver| {
        let shared = SharedMemory::from_bytes(&handle.0).ok_or(Status::INVALID_VALUE)?;
        set(address, driver.open_shared(shared)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuIpcOpenMemHandle(
    address: Out<'_, u64>,
    handle: IpcMemoryHandle,
    flags: u32,
) -> Status {
    cuIpcOpenMemHandle_v2(address, handle, flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuIpcCloseMemHandle(address: u64) -> Status {
    in_context("cuIpcCloseMemHandle", |driver| driver.close_shared(address))
}
