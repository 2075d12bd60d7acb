//! Memory and events of other processes.

use super::call::same_as_driver;
use crate::abi::{IpcEventHandle, IpcMemoryHandle};
use crate::caller::Out;
use crate::driver::ipc;
use crate::handles::Raw;
use crate::status::Status;

same_as_driver! {
    pub extern "C" fn cudaIpcGetMemHandle(
        handle: Out<'_, IpcMemoryHandle>,
        address: u64,
    ) -> Status => ipc::cuIpcGetMemHandle;

    pub extern "C" fn cudaIpcOpenMemHandle(
        address: Out<'_, u64>,
        handle: IpcMemoryHandle,
        flags: u32,
    ) -> Status => ipc::cuIpcOpenMemHandle_v2;

    pub extern "C" fn cudaIpcCloseMemHandle(address: u64) -> Status => ipc::cuIpcCloseMemHandle;

    pub extern "C" fn cudaIpcGetEventHandle(
        handle: Out<'_, IpcEventHandle>,
        event: Raw,
    ) -> Status => ipc::cuIpcGetEventHandle;

    pub extern "C" fn cudaIpcOpenEventHandle(
        event: Out<'_, Raw>,
        handle: IpcEventHandle,
    ) -> Status => ipc::cuIpcOpenEventHandle;
}
