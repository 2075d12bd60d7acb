//! Captures of streams. The functions are those of the driver API.

use std::ptr::null;

use super::call::{prepared, same_as_driver};
use super::version::{Major, major};
use crate::abi::graph::EdgeData;
use crate::caller::Out;
use crate::driver::capture as c;
use crate::handles::Raw;
use crate::status::Status;

same_as_driver! {
    pub extern "C" fn cudaStreamBeginCapture(
        stream: Raw,
        mode: u32,
    ) -> Status => c::cuStreamBeginCapture_v2;

    pub extern "C" fn cudaStreamBeginCaptureToGraph(
        stream: Raw,
        graph: Raw,
        nodes: *const Raw,
        edges: *const EdgeData,
        count: usize,
        mode: u32,
    ) -> Status => c::cuStreamBeginCaptureToGraph;

    pub extern "C" fn cudaStreamEndCapture(
        stream: Raw,
        graph: Out<'_, Raw>,
    ) -> Status => c::cuStreamEndCapture;

    pub extern "C" fn cudaStreamIsCapturing(
        stream: Raw,
        state: Out<'_, u32>,
    ) -> Status => c::cuStreamIsCapturing;

    pub extern "C" fn cudaStreamGetCaptureInfo_v2(
        stream: Raw,
        state: Out<'_, u32>,
        number: Out<'_, u64>,
        graph: Out<'_, Raw>,
        nodes: Out<'_, *const Raw>,
        count: Out<'_, usize>,
    ) -> Status => c::cuStreamGetCaptureInfo_v2;

    pub extern "C" fn cudaStreamGetCaptureInfo_v3(
        stream: Raw,
        state: Out<'_, u32>,
        number: Out<'_, u64>,
        graph: Out<'_, Raw>,
        nodes: Out<'_, *const Raw>,
        edges: Out<'_, *const EdgeData>,
        count: Out<'_, usize>,
    ) -> Status => c::cuStreamGetCaptureInfo_v3;

    pub extern "C" fn cudaStreamUpdateCaptureDependencies_v2(
        stream: Raw,
        nodes: *const Raw,
        edges: *const EdgeData,
        count: usize,
        flags: u32,
    ) -> Status => c::cuStreamUpdateCaptureDependencies_v2;

    pub extern "C" fn cudaThreadExchangeStreamCaptureMode(
        mode: *mut u32,
    ) -> Status => c::cuThreadExchangeStreamCaptureMode;
}

/// In CUDA 12, the function has the first three parameters only: programs for CUDA 12 use the second version.
#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamGetCaptureInfo(
    stream: Raw,
    state: Out<'_, u32>,
    number: Out<'_, u64>,
    graph: usize,
    nodes: usize,
    edges: usize,
    count: usize,
) -> Status {
    prepared("cudaStreamGetCaptureInfo", || match major() {
        Major::Twelve => c::cuStreamGetCaptureInfo(stream, state, number),
        Major::Thirteen => c::capture_info_at(stream, state, number, [graph, nodes, edges, count]),
    })
}

/// In CUDA 12, the third parameter is the count, and the fourth one the flags.
#[unsafe(no_mangle)]
pub extern "C" fn cudaStreamUpdateCaptureDependencies(
    stream: Raw,
    nodes: *const Raw,
    edges: *const EdgeData,
    count: usize,
    flags: u32,
) -> Status {
    match major() {
        Major::Twelve => {
            let (count, flags) = (edges.addr(), count as u32);
            cudaStreamUpdateCaptureDependencies_v2(stream, nodes, null(), count, flags)
        }
        Major::Thirteen => {
            cudaStreamUpdateCaptureDependencies_v2(stream, nodes, edges, count, flags)
        }
    }
}
