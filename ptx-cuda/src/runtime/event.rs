//! Events. The functions are those of the driver API.

use super::call::prepared;
use crate::caller::Out;
use crate::driver::event as d;
use crate::handles::Raw;
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventCreate(event: Out<'_, Raw>) -> Status {
    cudaEventCreateWithFlags(event, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventCreateWithFlags(event: Out<'_, Raw>, flags: u32) -> Status {
    prepared("cudaEventCreateWithFlags", || {
        d::cuEventCreate(event, flags)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventDestroy(event: Raw) -> Status {
    prepared("cudaEventDestroy", || d::cuEventDestroy_v2(event))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventRecord(event: Raw, stream: Raw) -> Status {
    prepared("cudaEventRecord", || d::cuEventRecord(event, stream))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventRecordWithFlags(event: Raw, stream: Raw, flags: u32) -> Status {
    prepared("cudaEventRecordWithFlags", || {
        d::cuEventRecordWithFlags(event, stream, flags)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventQuery(event: Raw) -> Status {
    prepared("cudaEventQuery", || d::cuEventQuery(event))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventSynchronize(event: Raw) -> Status {
    prepared("cudaEventSynchronize", || d::cuEventSynchronize(event))
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventElapsedTime(milliseconds: Out<'_, f32>, start: Raw, end: Raw) -> Status {
    prepared("cudaEventElapsedTime", || {
        d::cuEventElapsedTime(milliseconds, start, end)
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
