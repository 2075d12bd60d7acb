//! Memory of other processes.

use super::call::in_context;
use crate::abi::IpcMemoryHandle;
use crate::caller::{Out, set};
use crate::state::shared_memory::SharedMemory;
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cudaIpcGetMemHandle(handle: Out<'_, IpcMemoryHandle>, address: u64) -> Status {
    in_context("cudaIpcGetMemHandle", |driver| {
        set(handle, IpcMemoryHandle(driver.share(address)?.to_bytes()))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaIpcOpenMemHandle(
    address: Out<'_, u64>,
    handle: IpcMemoryHandle,
    _flags: u32,
) -> Status {
    in_context("cudaIpcOpenMemHandle", |driver| {
        let shared = SharedMemory::from_bytes(&handle.0).ok_or(Status::INVALID_VALUE)?;
        set(address, driver.open_shared(shared)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaIpcCloseMemHandle(address: u64) -> Status {
    in_context("cudaIpcCloseMemHandle", |driver| {
        driver.close_shared(address)
    })
}
