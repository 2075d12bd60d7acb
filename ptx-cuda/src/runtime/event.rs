//! Events.

use super::call::{enqueue, in_context};
use crate::caller::{Out, set};
use crate::handles::Raw;
use crate::state::Operation;
use crate::status::Status;

/// The flags of events that exist.
const FLAGS: u32 = 0b111;
/// The flag of events of other processes, which need the flag of events without times.
const INTERPROCESS: u32 = 4;
const WITHOUT_TIMES: u32 = 2;

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventCreate(event: Out<'_, Raw>) -> Status {
    cudaEventCreateWithFlags(event, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventCreateWithFlags(event: Out<'_, Raw>, flags: u32) -> Status {
    in_context("cudaEventCreateWithFlags", |driver| {
        let has_bad_flags =
            flags & !FLAGS != 0 || (flags & INTERPROCESS != 0 && flags & WITHOUT_TIMES == 0);
        if has_bad_flags {
            return Err(Status::INVALID_VALUE);
        }
        let event = event.ok_or(Status::INVALID_VALUE)?;
        event.write(driver.create_event(flags)?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventDestroy(event: Raw) -> Status {
    in_context("cudaEventDestroy", |driver| {
        driver.events.remove(event).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventRecord(event: Raw, stream: Raw) -> Status {
    enqueue("cudaEventRecord", stream, |driver| {
        driver.events.get(event)?;
        Ok(Operation::Record(event))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventRecordWithFlags(event: Raw, stream: Raw, flags: u32) -> Status {
    enqueue("cudaEventRecordWithFlags", stream, |driver| {
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        driver.events.get(event)?;
        Ok(Operation::Record(event))
    })
}

/// Operations are performed when they are appended: every event is complete.
#[unsafe(no_mangle)]
pub extern "C" fn cudaEventQuery(event: Raw) -> Status {
    in_context("cudaEventQuery", |driver| {
        driver.events.get(event).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventSynchronize(event: Raw) -> Status {
    in_context("cudaEventSynchronize", |driver| {
        driver.events.get(event)?;
        driver.synchronize()
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventElapsedTime(milliseconds: Out<'_, f32>, start: Raw, end: Raw) -> Status {
    in_context("cudaEventElapsedTime", |driver| {
        set(milliseconds, driver.elapsed(start, end)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventElapsedTime_v2(
    milliseconds: Out<'_, f32>,
    start: Raw,
    end: Raw,
) -> Status {
    cudaEventElapsedTime(milliseconds, start, end)
}
