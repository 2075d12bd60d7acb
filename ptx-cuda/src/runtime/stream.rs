//! Streams.

use super::call::{enqueue, in_context, prepared, same_as_driver};
use crate::caller::Out;
use crate::driver::stream as d;
use crate::handles::Raw;
use crate::state::{HostFunction, Operation};
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamCreate(stream: Out<'_, Raw>) -> Status {
    cudaStreamCreateWithPriority(stream, 0, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamCreateWithFlags(stream: Out<'_, Raw>, flags: u32) -> Status {
    cudaStreamCreateWithPriority(stream, flags, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamCreateWithPriority(
    stream: Out<'_, Raw>,
    flags: u32,
    priority: i32,
) -> Status {
    in_context("cudaStreamCreateWithPriority", |driver| {
        let stream = stream.ok_or(Status::INVALID_VALUE)?;
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        stream.write(driver.create_stream(flags, priority.clamp(-5, 0))?);
        Ok(())
    })
}

same_as_driver! {
    pub extern "C" fn cudaStreamDestroy(stream: Raw) -> Status => d::cuStreamDestroy_v2;

    pub extern "C" fn cudaStreamSynchronize(stream: Raw) -> Status => d::cuStreamSynchronize;

    pub extern "C" fn cudaStreamQuery(stream: Raw) -> Status => d::cuStreamQuery;

    pub extern "C" fn cudaStreamWaitEvent(
        stream: Raw,
        event: Raw,
        flags: u32,
    ) -> Status => d::cuStreamWaitEvent;
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamAddCallback(
    stream: Raw,
    callback: Option<extern "C" fn(Raw, u32, usize)>,
    data: usize,
    flags: u32,
) -> Status {
    enqueue("cudaStreamAddCallback", stream, |_| {
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let callback = callback.ok_or(Status::INVALID_VALUE)?;
        Ok(Operation::Host(HostFunction::WithStatus(callback, data)))
    })
}

/// Managed memory is always where it is needed.
#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamAttachMemAsync(
    stream: Raw,
    address: usize,
    bytes: usize,
    flags: u32,
) -> Status {
    prepared("cudaStreamAttachMemAsync", || {
        d::cuStreamAttachMemAsync(stream, address as u64, bytes, flags)
    })
}

same_as_driver! {
    pub extern "C" fn cudaStreamGetDevice(
        stream: Raw,
        device: Out<'_, i32>,
    ) -> Status => d::cuStreamGetDevice;

    pub extern "C" fn cudaStreamGetFlags(
        stream: Raw,
        flags: Out<'_, u32>,
    ) -> Status => d::cuStreamGetFlags;

    pub extern "C" fn cudaStreamGetPriority(
        stream: Raw,
        priority: Out<'_, i32>,
    ) -> Status => d::cuStreamGetPriority;

    pub extern "C" fn cudaStreamGetId(
        stream: Raw,
        number: Out<'_, u64>,
    ) -> Status => d::cuStreamGetId;

    pub extern "C" fn cudaStreamSetAttribute(
        stream: Raw,
        number: u32,
        value: Option<&[u32; 16]>,
    ) -> Status => d::cuStreamSetAttribute;

    pub extern "C" fn cudaStreamGetAttribute(
        stream: Raw,
        number: u32,
        value: Out<'_, [u32; 16]>,
    ) -> Status => d::cuStreamGetAttribute;

    pub extern "C" fn cudaStreamCopyAttributes(
        to: Raw,
        from: Raw,
    ) -> Status => d::cuStreamCopyAttributes;
}
