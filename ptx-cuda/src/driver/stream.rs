//! Streams.

use crate::call::{enqueue, in_context};
use crate::caller::{Out, set, set_if_wanted};
use crate::handles::Raw;
use crate::state::Operation;
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamCreate(stream: Out<'_, Raw>, flags: u32) -> Status {
    cuStreamCreateWithPriority(stream, flags, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamCreateWithPriority(
    stream: Out<'_, Raw>,
    flags: u32,
    priority: i32,
) -> Status {
    in_context("cuStreamCreateWithPriority", |driver| {
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        let handle = driver.create_stream(flags, priority.clamp(-5, 0))?;
        set(stream, handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: Raw) -> Status {
    in_context("cuStreamDestroy_v2", |driver| {
        driver.streams.remove(stream).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(stream: Raw) -> Status {
    in_context("cuStreamSynchronize", |driver| {
        driver.check_stream(stream)?;
        driver.synchronize()
    })
}

/// All operations of a stream are always complete.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamQuery(stream: Raw) -> Status {
    in_context("cuStreamQuery", |driver| driver.check_stream(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(stream: Raw, event: Raw, _flags: u32) -> Status {
    enqueue("cuStreamWaitEvent", stream, |driver| {
        driver.events.get(event)?;
        Ok(Operation::Wait(event))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetCtx(stream: Raw, context: Out<'_, Raw>) -> Status {
    in_context("cuStreamGetCtx", |driver| {
        driver.check_stream(stream)?;
        let owner = driver.streams.get(stream).map(|stream| stream.context);
        set(context, owner.or_else(|_| driver.current_context())?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetCtx_v2(
    stream: Raw,
    context: Out<'_, Raw>,
    green_context: Out<'_, Raw>,
) -> Status {
    set_if_wanted(green_context, 0);
    cuStreamGetCtx(stream, context)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetDevice(stream: Raw, device: Out<'_, i32>) -> Status {
    in_context("cuStreamGetDevice", |driver| {
        driver.check_stream(stream)?;
        set(device, 0)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetFlags(stream: Raw, flags: Out<'_, u32>) -> Status {
    in_context("cuStreamGetFlags", |driver| {
        driver.check_stream(stream)?;
        set(
            flags,
            driver.streams.get(stream).map_or(0, |stream| stream.flags),
        )
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetPriority(stream: Raw, priority: Out<'_, i32>) -> Status {
    in_context("cuStreamGetPriority", |driver| {
        driver.check_stream(stream)?;
        set(
            priority,
            driver
                .streams
                .get(stream)
                .map_or(0, |stream| stream.priority),
        )
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetId(stream: Raw, number: Out<'_, u64>) -> Status {
    in_context("cuStreamGetId", |driver| {
        driver.check_stream(stream)?;
        set(
            number,
            driver
                .streams
                .get(stream)
                .map_or(stream as u64, |stream| stream.number),
        )
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamIsCapturing(stream: Raw, state: Out<'_, u32>) -> Status {
    in_context("cuStreamIsCapturing", |driver| {
        driver.check_stream(stream)?;
        set(state, 0)
    })
}
