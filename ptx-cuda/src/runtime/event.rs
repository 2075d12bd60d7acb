//! Events. The functions are those of the driver API.

use super::call::same_as_driver;
use crate::caller::Out;
use crate::driver::event as d;
use crate::handles::Raw;
use crate::status::Status;

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventCreate(event: Out<'_, Raw>) -> Status {
    cudaEventCreateWithFlags(event, 0)
}

same_as_driver! {
    pub extern "C" fn cudaEventCreateWithFlags(
        event: Out<'_, Raw>,
        flags: u32,
    ) -> Status => d::cuEventCreate;

    pub extern "C" fn cudaEventDestroy(event: Raw) -> Status => d::cuEventDestroy_v2;

    pub extern "C" fn cudaEventRecord(event: Raw, stream: Raw) -> Status => d::cuEventRecord;

    pub extern "C" fn cudaEventRecordWithFlags(
        event: Raw,
        stream: Raw,
        flags: u32,
    ) -> Status => d::cuEventRecordWithFlags;

    pub extern "C" fn cudaEventQuery(event: Raw) -> Status => d::cuEventQuery;

    pub extern "C" fn cudaEventSynchronize(event: Raw) -> Status => d::cuEventSynchronize;

    pub extern "C" fn cudaEventElapsedTime(
        milliseconds: Out<'_, f32>,
        start: Raw,
        end: Raw,
    ) -> Status => d::cuEventElapsedTime;
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaEventElapsedTime_v2(
    milliseconds: Out<'_, f32>,
    start: Raw,
    end: Raw,
) -> Status {
    cudaEventElapsedTime(milliseconds, start, end)
}
