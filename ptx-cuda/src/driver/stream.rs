//! Streams.

use crate::call::{call, enqueue, in_context, on_device, wait};
use crate::caller::{Out, given, set, set_if_wanted};
use crate::handles::Raw;
use crate::state::{AllocationKind, Driver, Operation, Stream};
use crate::status::{Outcome, Status};

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
        if flags & !Stream::NON_BLOCKING != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let handle = driver.create_stream(flags, priority.clamp(-5, 0))?;
        set(stream, handle)
    })
}

/// The result of a function about a stream: the context is that of the stream; for default streams, the current one.
fn of_stream(name: &str, stream: Raw, function: impl FnOnce(&mut Driver) -> Outcome<()>) -> Status {
    call(name, |driver| {
        driver.check_stream(stream)?;
        driver.in_context_of(stream, |driver| {
            driver.check_context()?;
            function(driver)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(stream: Raw) -> Status {
    on_device("cuStreamDestroy_v2", |driver| driver.destroy_stream(stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy(stream: Raw) -> Status {
    cuStreamDestroy_v2(stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(stream: Raw) -> Status {
    wait("cuStreamSynchronize", |driver| {
        driver.check_stream(stream)?;
        driver.check_not_captured(stream)?;
        driver.in_context_of(stream, |driver| {
            let is_done = driver.has_no_work(stream) || driver.check_fault().is_err();
            if is_done {
                driver.end_wait()?;
            }
            Ok(is_done)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamQuery(stream: Raw) -> Status {
    of_stream("cuStreamQuery", stream, |driver| {
        driver.check_not_captured(stream)?;
        if driver.has_no_work(stream) {
            driver.flush_output();
            Ok(())
        } else {
            Err(Status::NOT_READY)
        }
    })
}

/// The flag of records and waits that become nodes of a graph while a stream is captured.
pub(super) const EXTERNAL: u32 = 1;

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamWaitEvent(stream: Raw, event: Raw, flags: u32) -> Status {
    enqueue("cuStreamWaitEvent", stream, |driver| {
        driver.events.get(event)?;
        match flags {
            0 => Ok(Operation::Wait(event)),
            EXTERNAL => Ok(Operation::WaitExternal(event)),
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetCtx(stream: Raw, context: Out<'_, Raw>) -> Status {
    of_stream("cuStreamGetCtx", stream, |driver| {
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
    of_stream("cuStreamGetDevice", stream, |_| set(device, 0))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetFlags(stream: Raw, flags: Out<'_, u32>) -> Status {
    of_stream("cuStreamGetFlags", stream, |driver| {
        let value = driver.streams.get(stream).map_or(0, |stream| stream.flags);
        set(flags, value)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetPriority(stream: Raw, priority: Out<'_, i32>) -> Status {
    of_stream("cuStreamGetPriority", stream, |driver| {
        set(priority, priority_of(driver, stream))
    })
}

fn priority_of(driver: &Driver, stream: Raw) -> i32 {
    let stream = driver.streams.get(stream);
    stream.map_or(0, |stream| stream.priority)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetId(stream: Raw, number: Out<'_, u64>) -> Status {
    of_stream("cuStreamGetId", stream, |driver| {
        let created = driver.streams.get(stream);
        set(
            number,
            created.map_or(stream as u64, |stream| stream.number),
        )
    })
}

/// Memory is always accessible where it is: the stream to which it is attached has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamAttachMemAsync(
    stream: Raw,
    address: u64,
    bytes: usize,
    flags: u32,
) -> Status {
    const SINGLE_STREAM: u32 = 4;
    enqueue("cuStreamAttachMemAsync", stream, |driver| {
        let to_default = flags == SINGLE_STREAM && driver.streams.get(stream).is_err();
        if !matches!(flags, 1 | 2 | SINGLE_STREAM) || to_default {
            return Err(Status::INVALID_VALUE);
        }
        let allocation = driver.memory.find(address);
        let (start, allocation) = allocation.ok_or(Status::INVALID_VALUE)?;
        let is_whole = start == address && (bytes == 0 || bytes as u64 == allocation.bytes);
        if allocation.kind != AllocationKind::Managed || !is_whole {
            return Err(Status::INVALID_VALUE);
        }
        Ok(Operation::Empty)
    })
}

/// The numbers of attributes of streams.
mod attribute {
    pub(super) const ACCESS_POLICY: u32 = 1;
    pub(super) const SYNCHRONIZATION: u32 = 3;
    pub(super) const PRIORITY: u32 = 8;
    pub(super) const DOMAIN_MAP: u32 = 9;
    pub(super) const DOMAIN: u32 = 10;
    pub(super) const ALL: [u32; 5] = [ACCESS_POLICY, SYNCHRONIZATION, PRIORITY, DOMAIN_MAP, DOMAIN];
}

/// The value of an attribute of a stream, as words.
fn stream_attribute(driver: &Driver, stream: Raw, number: u32) -> Outcome<[u32; 16]> {
    driver.check_stream(stream)?;
    if !attribute::ALL.contains(&number) {
        return Err(Status::INVALID_VALUE);
    }
    let mut value = [0; 16];
    match number {
        attribute::SYNCHRONIZATION => value[0] = 1,
        // The domain of remote accesses has number 1.
        attribute::DOMAIN_MAP => value[0] = 0x100,
        attribute::PRIORITY => value[0] = priority_of(driver, stream) as u32,
        _ => {}
    }
    let set = driver.stream_attributes.get(&(stream, number));
    Ok(set.copied().unwrap_or(value))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetAttribute(
    stream: Raw,
    number: u32,
    value: Out<'_, [u32; 16]>,
) -> Status {
    on_device("cuStreamGetAttribute", |driver| {
        set(value, stream_attribute(driver, stream, number)?)
    })
}

/// Attributes can be read again, and have no other effect.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSetAttribute(
    stream: Raw,
    number: u32,
    value: Option<&[u32; 16]>,
) -> Status {
    on_device("cuStreamSetAttribute", |driver| {
        stream_attribute(driver, stream, number)?;
        let value = *given(value)?;
        match driver.streams.get_mut(stream) {
            Ok(stream) if number == attribute::PRIORITY => {
                stream.priority = (value[0] as i32).clamp(-5, 0);
            }
            _ => {
                driver.stream_attributes.insert((stream, number), value);
            }
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamCopyAttributes(target: Raw, source: Raw) -> Status {
    on_device("cuStreamCopyAttributes", |driver| {
        driver.check_stream(target)?;
        for number in attribute::ALL {
            let value = stream_attribute(driver, source, number)?;
            driver.stream_attributes.insert((target, number), value);
        }
        let priority = priority_of(driver, source);
        if let Ok(stream) = driver.streams.get_mut(target) {
            stream.priority = priority;
            driver
                .stream_attributes
                .remove(&(target, attribute::PRIORITY));
        }
        Ok(())
    })
}
