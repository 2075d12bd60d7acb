//! Memory and events of other processes.

use crate::abi::{IpcEventHandle, IpcMemoryHandle};
use crate::call::{in_context, on_device};
use crate::caller::{Out, set};
use crate::handles::Raw;
use crate::state::shared_memory::{Content, SharedMemory};
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cuIpcGetMemHandle(handle: Out<'_, IpcMemoryHandle>, address: u64) -> Status {
    in_context("cuIpcGetMemHandle", |driver| {
        let shared = driver.share(address)?;
        set(
            handle,
            IpcMemoryHandle(shared.to_bytes(Content::Allocation)),
        )
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuIpcOpenMemHandle_v2(
    address: Out<'_, u64>,
    handle: IpcMemoryHandle,
    _flags: u32,
) -> Status {
    in_context("cuIpcOpenMemHandle_v2", |driver| {
        let shared = SharedMemory::from_bytes(&handle.0, Content::Allocation);
        let shared = shared.ok_or(Status::INVALID_VALUE)?;
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

#[unsafe(no_mangle)]
pub extern "C" fn cuIpcGetEventHandle(handle: Out<'_, IpcEventHandle>, event: Raw) -> Status {
    on_device("cuIpcGetEventHandle", |driver| {
        let shared = driver.share_event(event)?;
        set(handle, IpcEventHandle(shared.to_bytes(Content::Event)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuIpcOpenEventHandle(event: Out<'_, Raw>, handle: IpcEventHandle) -> Status {
    in_context("cuIpcOpenEventHandle", |driver| {
        let shared = SharedMemory::from_bytes(&handle.0, Content::Event);
        let shared = shared.ok_or(Status::INVALID_VALUE)?;
        let event = event.ok_or(Status::INVALID_VALUE)?;
        event.write(driver.open_event(shared)?);
        Ok(())
    })
}
