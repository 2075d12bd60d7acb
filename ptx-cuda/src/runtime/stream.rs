//! Streams.

use super::call::{enqueue, in_context};
use crate::caller::{self, Out, set};
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

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamDestroy(stream: Raw) -> Status {
    in_context("cudaStreamDestroy", |driver| {
        driver.flush_output();
        driver.streams.remove(stream).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamSynchronize(stream: Raw) -> Status {
    in_context("cudaStreamSynchronize", |driver| {
        driver.check_stream(stream)?;
        driver.synchronize()
    })
}

/// Operations are performed when they are appended: every stream is complete.
#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamQuery(stream: Raw) -> Status {
    in_context("cudaStreamQuery", |driver| {
        driver.check_stream(stream)?;
        driver.flush_output();
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamWaitEvent(stream: Raw, event: Raw, flags: u32) -> Status {
    enqueue("cudaStreamWaitEvent", stream, |driver| {
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        driver.events.get(event)?;
        Ok(Operation::Wait(event))
    })
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
    _bytes: usize,
    flags: u32,
) -> Status {
    enqueue("cudaStreamAttachMemAsync", stream, |driver| {
        if !matches!(flags, 1 | 2 | 4) || driver.memory.find(address as u64).is_none() {
            return Err(Status::INVALID_VALUE);
        }
        Ok(Operation::Empty)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamGetDevice(stream: Raw, device: Out<'_, i32>) -> Status {
    in_context("cudaStreamGetDevice", |driver| {
        driver.check_stream(stream)?;
        set(device, 0)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamGetFlags(stream: Raw, flags: Out<'_, u32>) -> Status {
    in_context("cudaStreamGetFlags", |driver| {
        driver.check_stream(stream)?;
        let stream = driver.streams.get(stream);
        set(flags, stream.map_or(0, |stream| stream.flags))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamGetPriority(stream: Raw, priority: Out<'_, i32>) -> Status {
    in_context("cudaStreamGetPriority", |driver| {
        driver.check_stream(stream)?;
        let stream = driver.streams.get(stream);
        set(priority, stream.map_or(0, |stream| stream.priority))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamGetId(stream: Raw, number: Out<'_, u64>) -> Status {
    in_context("cudaStreamGetId", |driver| {
        driver.check_stream(stream)?;
        let object = driver.streams.get(stream);
        set(number, object.map_or(stream as u64, |stream| stream.number))
    })
}

/// The bytes of the value of an attribute of streams.
const ATTRIBUTE_BYTES: usize = 64;
/// The attributes of streams: the policy of caches, the policy of synchronization, the priority, and the domains of memory.
const ATTRIBUTES: [u32; 5] = [1, 3, 8, 9, 10];

/// Attributes of streams have no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamSetAttribute(stream: Raw, number: u32, value: usize) -> Status {
    in_context("cudaStreamSetAttribute", |driver| {
        driver.check_stream(stream)?;
        if value == 0 || !ATTRIBUTES.contains(&number) {
            return Err(Status::INVALID_VALUE);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamGetAttribute(stream: Raw, number: u32, value: *mut u8) -> Status {
    in_context("cudaStreamGetAttribute", |driver| {
        driver.check_stream(stream)?;
        if !ATTRIBUTES.contains(&number) {
            return Err(Status::INVALID_VALUE);
        }
        for place in caller::slice_mut(value, ATTRIBUTE_BYTES)? {
            place.write(0);
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamCopyAttributes(to: Raw, from: Raw) -> Status {
    in_context("cudaStreamCopyAttributes", |driver| {
        driver.check_stream(to)?;
        driver.check_stream(from)
    })
}
