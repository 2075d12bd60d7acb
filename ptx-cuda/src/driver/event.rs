//! Events.

use crate::call::{enqueue, in_context};
use crate::caller::{Out, set};
use crate::handles::Raw;
use crate::state::{Event, Operation};
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cuEventCreate(event: Out<'_, Raw>, flags: u32) -> Status {
    in_context("cuEventCreate", |driver| {
        let context = driver.current_context()?;
        let handle = driver.events.insert(Event {
            flags,
            recorded: None,
            context,
        });
        set(event, handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: Raw) -> Status {
    in_context("cuEventDestroy_v2", |driver| {
        driver.events.remove(event).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: Raw, stream: Raw) -> Status {
    enqueue("cuEventRecord", stream, |driver| {
        driver.events.get(event)?;
        Ok(Operation::Record(event))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecordWithFlags(event: Raw, stream: Raw, _flags: u32) -> Status {
    cuEventRecord(event, stream)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(event: Raw) -> Status {
    in_context("cuEventQuery", |driver| {
        driver.events.get(event).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(event: Raw) -> Status {
    in_context("cuEventSynchronize", |driver| {
        driver.events.get(event)?;
        driver.synchronize()
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventElapsedTime(milliseconds: Out<'_, f32>, start: Raw, end: Raw) -> Status {
    in_context("cuEventElapsedTime", |driver| {
        set(milliseconds, driver.elapsed(start, end)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventElapsedTime_v2(
    milliseconds: Out<'_, f32>,
    start: Raw,
    end: Raw,
) -> Status {
    cuEventElapsedTime(milliseconds, start, end)
}
