//! Events.

use super::stream::EXTERNAL;
use crate::call::{enqueue, in_context, on_device, wait};
use crate::caller::{Out, set};
use crate::handles::Raw;
use crate::state::Operation;
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cuEventCreate(event: Out<'_, Raw>, flags: u32) -> Status {
    in_context("cuEventCreate", |driver| {
        let handle = driver.create_event(flags)?;
        set(event, handle)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy_v2(event: Raw) -> Status {
    on_device("cuEventDestroy_v2", |driver| driver.destroy_event(event))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventDestroy(event: Raw) -> Status {
    cuEventDestroy_v2(event)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: Raw, stream: Raw) -> Status {
    cuEventRecordWithFlags(event, stream, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecordWithFlags(event: Raw, stream: Raw, flags: u32) -> Status {
    enqueue("cuEventRecordWithFlags", stream, |driver| {
        driver.check_event_of_stream(event, stream)?;
        match flags {
            0 => Ok(Operation::Record(event)),
            EXTERNAL => Ok(Operation::RecordExternal(event)),
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(event: Raw) -> Status {
    on_device("cuEventQuery", |driver| {
        if driver.is_event_complete(event)? {
            Ok(())
        } else {
            Err(Status::NOT_READY)
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventSynchronize(event: Raw) -> Status {
    wait("cuEventSynchronize", |driver| {
        driver.is_event_complete(event)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventElapsedTime(milliseconds: Out<'_, f32>, start: Raw, end: Raw) -> Status {
    on_device("cuEventElapsedTime", |driver| {
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
