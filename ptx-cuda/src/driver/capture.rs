//! Captures of streams.

use super::graph::edges_to;
use crate::abi::graph::EdgeData;
use crate::call::call;
use crate::caller::{self, Out, set, set_if_wanted};
use crate::handles::Raw;
use crate::state::{CaptureMode, exchange_mode};
use crate::status::{Outcome, Status};

/// The states of streams.
mod state {
    pub(super) const NONE: u32 = 0;
    pub(super) const ACTIVE: u32 = 1;
    pub(super) const INVALIDATED: u32 = 2;
}

fn mode(number: u32) -> Outcome<CaptureMode> {
    match number {
        0 => Ok(CaptureMode::Global),
        1 => Ok(CaptureMode::ThreadLocal),
        2 => Ok(CaptureMode::Relaxed),
        _ => Err(Status::INVALID_VALUE),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamBeginCapture_v2(stream: Raw, capture_mode: u32) -> Status {
    call("cuStreamBeginCapture_v2", |driver| {
        driver.check_stream(stream)?;
        driver.begin_capture(stream, mode(capture_mode)?, None)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamBeginCapture(stream: Raw) -> Status {
    cuStreamBeginCapture_v2(stream, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamBeginCaptureToGraph(
    stream: Raw,
    graph: Raw,
    dependencies: *const Raw,
    edges: *const EdgeData,
    count: usize,
    capture_mode: u32,
) -> Status {
    call("cuStreamBeginCaptureToGraph", |driver| {
        driver.check_stream(stream)?;
        let dependencies = edges_to(dependencies, edges, count)?;
        let target = Some((graph, dependencies));
        driver.begin_capture(stream, mode(capture_mode)?, target)
    })
}

/// Without a graph after an error.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamEndCapture(stream: Raw, graph: Out<'_, Raw>) -> Status {
    call("cuStreamEndCapture", |driver| {
        driver.check_stream(stream)?;
        let result = driver.end_capture(stream);
        set_if_wanted(graph, *result.as_ref().unwrap_or(&0));
        result.map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamIsCapturing(stream: Raw, status: Out<'_, u32>) -> Status {
    cuStreamGetCaptureInfo_v3(stream, status, None, None, None, None, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetCaptureInfo(
    stream: Raw,
    status: Out<'_, u32>,
    number: Out<'_, u64>,
) -> Status {
    cuStreamGetCaptureInfo_v3(stream, status, number, None, None, None, None)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetCaptureInfo_v2(
    stream: Raw,
    status: Out<'_, u32>,
    number: Out<'_, u64>,
    graph: Out<'_, Raw>,
    dependencies: Out<'_, *const Raw>,
    count: Out<'_, usize>,
) -> Status {
    cuStreamGetCaptureInfo_v3(stream, status, number, graph, dependencies, None, count)
}

/// The arrays are valid until the stream is used again.
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamGetCaptureInfo_v3(
    stream: Raw,
    status: Out<'_, u32>,
    number: Out<'_, u64>,
    graph: Out<'_, Raw>,
    dependencies: Out<'_, *const Raw>,
    edges: Out<'_, *const EdgeData>,
    count: Out<'_, usize>,
) -> Status {
    call("cuStreamGetCaptureInfo_v3", |driver| {
        driver.check_stream(stream)?;
        match driver.capture_of(stream)? {
            None => set(status, state::NONE),
            Some((capture, _)) if capture.is_invalidated => set(status, state::INVALIDATED),
            Some((capture, captured)) => {
                set(status, state::ACTIVE)?;
                set_if_wanted(number, capture.number);
                set_if_wanted(graph, capture.graph);
                set_if_wanted(dependencies, captured.dependencies.as_ptr());
                set_if_wanted(edges, captured.edges.as_ptr().cast());
                set_if_wanted(count, captured.dependencies.len());
                Ok(())
            }
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamUpdateCaptureDependencies_v2(
    stream: Raw,
    dependencies: *const Raw,
    edges: *const EdgeData,
    count: usize,
    flags: u32,
) -> Status {
    call("cuStreamUpdateCaptureDependencies_v2", |driver| {
        driver.check_stream(stream)?;
        if flags > 1 {
            return Err(Status::INVALID_VALUE);
        }
        let dependencies = edges_to(dependencies, edges, count)?;
        driver.update_capture(stream, dependencies, flags == 1)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamUpdateCaptureDependencies(
    stream: Raw,
    dependencies: *const Raw,
    count: usize,
    flags: u32,
) -> Status {
    cuStreamUpdateCaptureDependencies_v2(stream, dependencies, std::ptr::null(), count, flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuThreadExchangeStreamCaptureMode(capture_mode: *mut u32) -> Status {
    call("cuThreadExchangeStreamCaptureMode", |_| {
        let new = mode(caller::read(capture_mode)?)?;
        let old = exchange_mode(new) as u32;
        let place = caller::slice_mut(capture_mode, 1)?;
        if let [place] = place {
            place.write(old);
        }
        Ok(())
    })
}

/// The place of a result at an address, unless it is null.
fn place<'a, T>(address: usize) -> Out<'a, T> {
    let places = caller::slice_mut(address as *mut T, 1);
    places.ok().and_then(<[_]>::first_mut)
}

/// Writes what is known about the capture of a stream to the addresses of the graph, the nodes, the edges and the count, which may be null.
pub(crate) fn capture_info_at(
    stream: Raw,
    status: Out<'_, u32>,
    number: Out<'_, u64>,
    [graph, nodes, edges, count]: [usize; 4],
) -> Status {
    let (graph, nodes) = (place(graph), place(nodes));
    let (edges, count) = (place(edges), place(count));
    cuStreamGetCaptureInfo_v3(stream, status, number, graph, nodes, edges, count)
}
