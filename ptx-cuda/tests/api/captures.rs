//! Captures of streams.

use ptx_cuda::driver::capture::*;
use ptx_cuda::driver::context::{cuCtxSetCurrent, cuCtxSynchronize};
use ptx_cuda::driver::copy::{cuMemcpyDtoDAsync_v2, cuMemcpyHtoD_v2};
use ptx_cuda::driver::event::*;
use ptx_cuda::driver::fill::cuMemsetD32Async;
use ptx_cuda::driver::graph::*;
use ptx_cuda::driver::graph_exec::*;
use ptx_cuda::driver::launch::*;
use ptx_cuda::driver::memory::{cuMemAlloc_v2, cuMemFreeAsync};
use ptx_cuda::driver::pool::cuMemAllocAsync;
use ptx_cuda::driver::stream::*;
use ptx_cuda::handles::Raw;
use ptx_cuda::status::Status;

use crate::graphs::{add_kernel, calls, instantiate, note};
use crate::session::{Session, argument, result, succeeds};

const GLOBAL: u32 = 0;
const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;

fn stream(flags: u32) -> Raw {
    result(|stream| cuStreamCreate(stream, flags)).unwrap()
}

fn event() -> Raw {
    result(|event| cuEventCreate(event, 0)).unwrap()
}

fn begin(stream: Raw) {
    succeeds(cuStreamBeginCapture_v2(stream, RELAXED));
}

fn end(stream: Raw) -> Result<Raw, Status> {
    result(|graph| cuStreamEndCapture(stream, graph))
}

fn add(kernel: Raw, data: u64, value: u32, stream: Raw) -> Status {
    let arguments = [argument(&data), argument(&value)];
    let pointers = arguments.as_ptr();
    cuLaunchKernel(
        kernel,
        1,
        1,
        1,
        1,
        1,
        1,
        0,
        stream,
        pointers,
        std::ptr::null(),
    )
}

fn state(stream: Raw) -> Result<u32, Status> {
    result(|state| cuStreamIsCapturing(stream, state))
}

fn node_count(graph: Raw) -> usize {
    let mut count = 0;
    succeeds(cuGraphGetNodes(graph, std::ptr::null_mut(), &mut count));
    count
}

#[test]
fn a_captured_stream_becomes_a_graph() {
    let session = Session::new();
    let kernel = add_kernel(&session);
    let (data, target) = (session.buffer(&[1u32]), session.buffer(&[0u32]));
    let stream = stream(0);
    begin(stream);
    assert_eq!(state(stream), Ok(1));
    // The arguments are those of the time of the capture.
    succeeds(add(kernel, data, 5, stream));
    succeeds(cuMemcpyDtoDAsync_v2(target, data, 4, stream));
    succeeds(cuMemsetD32Async(data, 7, 1, stream));
    succeeds(cuLaunchHostFunc(stream, Some(note), 1));
    let graph = end(stream).unwrap();
    assert_eq!(state(stream), Ok(0));
    assert_eq!(node_count(graph), 4);
    // Nothing was performed.
    assert_eq!(session.numbers(data, 1), [1]);
    assert!(calls().is_empty());
    let exec = instantiate(graph);
    succeeds(cuGraphLaunch(exec, stream));
    assert_eq!(session.numbers(target, 1), [6]);
    succeeds(cuGraphLaunch(exec, stream));
    assert_eq!(session.numbers(target, 1), [12]);
    assert_eq!(calls(), [1, 1]);
}

#[test]
fn streams_join_and_leave_a_capture_by_events() {
    let session = Session::new();
    let kernel = add_kernel(&session);
    let data = session.buffer(&[0u32; 3]);
    let [first, second] = [stream(0), stream(1)];
    let [fork, join] = [event(), event()];
    begin(first);
    succeeds(add(kernel, data, 1, first));
    succeeds(cuEventRecord(fork, first));
    succeeds(cuStreamWaitEvent(second, fork, 0));
    assert_eq!(state(second), Ok(1));
    succeeds(add(kernel, data + 4, 2, second));
    succeeds(add(kernel, data + 8, 3, first));
    // Only the stream in which the capture began can end it.
    assert_eq!(end(second), Err(Status::STREAM_CAPTURE_UNMATCHED));
    succeeds(cuEventRecord(join, second));
    succeeds(cuStreamWaitEvent(first, join, 0));
    succeeds(cuLaunchHostFunc(first, Some(note), 1));
    let graph = end(first).unwrap();
    assert_eq!(state(second), Ok(0));
    let mut count = 0;
    let null = std::ptr::null_mut();
    succeeds(cuGraphGetEdges(graph, null, null, &mut count));
    assert_eq!((node_count(graph), count), (4, 4));
    succeeds(cuGraphLaunch(instantiate(graph), 0));
    assert_eq!(session.numbers(data, 3), [1, 2, 3]);
    assert_eq!(calls(), [1]);
    // The events belong to a capture that has ended.
    assert_eq!(cuEventQuery(join), Status::CAPTURED_EVENT);
    assert_eq!(cuStreamWaitEvent(first, join, 0), Status::CAPTURED_EVENT);
    succeeds(cuEventRecord(join, first));
    succeeds(cuEventQuery(join));

    // Without the way back, the capture fails.
    begin(first);
    succeeds(cuEventRecord(fork, first));
    succeeds(cuStreamWaitEvent(second, fork, 0));
    succeeds(add(kernel, data, 1, second));
    assert_eq!(end(first), Err(Status::STREAM_CAPTURE_UNJOINED));

    // A stream that was joined may be destroyed before the capture ends, but not one that was not.
    for joins in [true, false] {
        let destroyed = stream(1);
        begin(first);
        succeeds(cuEventRecord(fork, first));
        succeeds(cuStreamWaitEvent(destroyed, fork, 0));
        succeeds(add(kernel, data, 1, destroyed));
        if joins {
            succeeds(cuEventRecord(join, destroyed));
            succeeds(cuStreamWaitEvent(first, join, 0));
        }
        succeeds(cuStreamDestroy_v2(destroyed));
        let graph = end(first);
        let expected = if joins {
            Ok(1)
        } else {
            Err(Status::STREAM_CAPTURE_UNJOINED)
        };
        assert_eq!(graph.map(node_count), expected);
    }
    assert_eq!((state(first), state(second)), (Ok(0), Ok(0)));
    // A stream that did nothing need not be joined.
    begin(first);
    succeeds(add(kernel, data, 1, first));
    succeeds(cuEventRecord(fork, first));
    succeeds(cuStreamWaitEvent(second, fork, 0));
    end(first).unwrap();
}

#[test]
fn dependencies_on_work_outside_of_a_capture_are_errors() {
    let session = Session::new();
    let kernel = add_kernel(&session);
    let data = session.buffer(&[0u32]);
    let [first, second] = [stream(0), stream(1)];
    let outside = event();
    succeeds(cuEventRecord(outside, second));
    begin(first);
    assert_eq!(
        cuStreamWaitEvent(first, outside, 0),
        Status::STREAM_CAPTURE_ISOLATION
    );
    assert_eq!(state(first), Ok(2));
    assert_eq!(
        add(kernel, data, 1, first),
        Status::STREAM_CAPTURE_INVALIDATED
    );
    assert_eq!(end(first), Err(Status::STREAM_CAPTURE_INVALIDATED));
    // Two captures cannot be joined.
    begin(first);
    begin(second);
    let inside = event();
    succeeds(cuEventRecord(inside, first));
    assert_eq!(
        cuStreamWaitEvent(second, inside, 0),
        Status::STREAM_CAPTURE_MERGE
    );
    assert_eq!(end(first), Err(Status::STREAM_CAPTURE_INVALIDATED));
    assert_eq!(end(second), Err(Status::STREAM_CAPTURE_INVALIDATED));
    assert_eq!(end(second), Err(Status::ILLEGAL_STATE));
    // An event that each launch records and waits for.
    begin(first);
    succeeds(cuStreamWaitEvent(first, outside, 1));
    succeeds(cuEventRecordWithFlags(outside, first, 1));
    let graph = end(first).unwrap();
    assert_eq!(node_count(graph), 2);
    succeeds(cuGraphLaunch(instantiate(graph), first));
    succeeds(cuEventQuery(outside));
    assert_eq!(
        cuEventRecordWithFlags(outside, first, 2),
        Status::INVALID_VALUE
    );
}

#[test]
fn functions_that_wait_are_errors_during_a_capture() {
    let session = Session::new();
    let kernel = add_kernel(&session);
    let data = session.buffer(&[0u32]);
    let blocking = stream(0);
    let inside = event();
    let value = [0u32];
    // The stream itself.
    let waits: [&dyn Fn() -> Status; 4] = [
        &|| cuStreamSynchronize(blocking),
        &|| cuStreamQuery(blocking),
        &|| cuStreamAddCallback(blocking, Some(callback), 0, 0),
        &|| cuStreamBeginCapture_v2(blocking, RELAXED),
    ];
    for (index, function) in waits.iter().enumerate() {
        begin(blocking);
        let expected = if index == 3 {
            Status::ILLEGAL_STATE
        } else {
            Status::STREAM_CAPTURE_UNSUPPORTED
        };
        assert_eq!(function(), expected);
        assert_eq!(end(blocking).is_err(), index < 3, "{index}");
    }
    // An event of the capture.
    begin(blocking);
    succeeds(cuEventRecord(inside, blocking));
    assert_eq!(cuEventSynchronize(inside), Status::CAPTURED_EVENT);
    assert_eq!(end(blocking), Err(Status::STREAM_CAPTURE_INVALIDATED));
    // The default stream waits for the captured stream, but not for one that does not block it.
    let implicit: [&dyn Fn() -> Status; 3] = [
        &|| add(kernel, data, 1, 0),
        &|| cuMemcpyHtoD_v2(data, value.as_ptr().addr(), 4),
        &|| cuStreamSynchronize(0),
    ];
    for function in implicit {
        begin(blocking);
        assert_eq!(function(), Status::STREAM_CAPTURE_IMPLICIT);
        assert_eq!(end(blocking), Err(Status::STREAM_CAPTURE_INVALIDATED));
        let free = stream(1);
        begin(free);
        succeeds(function());
        end(free).unwrap();
    }
    begin(blocking);
    assert_eq!(state(0), Err(Status::STREAM_CAPTURE_IMPLICIT));
    end(blocking).unwrap();
    assert_eq!(
        cuStreamBeginCapture_v2(0, RELAXED),
        Status::STREAM_CAPTURE_UNSUPPORTED
    );
    assert_eq!(cuStreamBeginCapture_v2(blocking, 3), Status::INVALID_VALUE);
}

extern "C" fn callback(_stream: Raw, _status: u32, _data: usize) {}

#[test]
fn modes_decide_what_threads_may_do() {
    let session = Session::new();
    let context = session.context;
    let stream = stream(1);
    let allocate = || result(|address| cuMemAlloc_v2(address, 4)).err();
    let in_other_thread = move |function: &(dyn Fn() -> Option<Status> + Sync)| {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                succeeds(cuCtxSetCurrent(context));
                function()
            });
            thread.join().unwrap()
        })
    };
    let unsupported = Some(Status::STREAM_CAPTURE_UNSUPPORTED);
    for (mode, own, other) in [
        (GLOBAL, unsupported, unsupported),
        (THREAD_LOCAL, unsupported, None),
        (RELAXED, None, None),
    ] {
        for is_other in [false, true] {
            succeeds(cuStreamBeginCapture_v2(stream, mode));
            let (found, expected) = if is_other {
                (in_other_thread(&allocate), other)
            } else {
                (allocate(), own)
            };
            assert_eq!(found, expected, "{mode} {is_other}");
            assert_eq!(end(stream).is_err(), expected.is_some());
        }
    }
    // A thread can allow itself more.
    let mut mode = RELAXED;
    succeeds(cuThreadExchangeStreamCaptureMode(&mut mode));
    assert_eq!(mode, GLOBAL);
    succeeds(cuStreamBeginCapture_v2(stream, GLOBAL));
    assert_eq!(allocate(), None);
    succeeds(cuThreadExchangeStreamCaptureMode(&mut mode));
    assert_eq!(mode, RELAXED);
    assert_eq!(cuCtxSynchronize(), Status::STREAM_CAPTURE_UNSUPPORTED);
    assert!(end(stream).is_err());
    mode = 3;
    assert_eq!(
        cuThreadExchangeStreamCaptureMode(&mut mode),
        Status::INVALID_VALUE
    );
    // Another thread can end the capture in the relaxed mode only.
    succeeds(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    let end_it = move || end(stream).err();
    assert_eq!(
        in_other_thread(&end_it),
        Some(Status::STREAM_CAPTURE_WRONG_THREAD)
    );
    end(stream).unwrap();
    begin(stream);
    assert_eq!(in_other_thread(&end_it), None);
}

#[test]
fn a_program_can_change_what_the_next_node_follows() {
    let session = Session::new();
    let stream = stream(0);
    let null = std::ptr::null();
    let graph = result(|graph| cuGraphCreate(graph, 0)).unwrap();
    let node = |before: &[Raw]| {
        use ptx_cuda::driver::graph_node::cuGraphAddEmptyNode;
        let (nodes, count) = (before.as_ptr(), before.len());
        result(|node| cuGraphAddEmptyNode(node, graph, nodes, count)).unwrap()
    };
    let first = node(&[]);
    succeeds(cuStreamBeginCaptureToGraph(
        stream, graph, &first, null, 1, RELAXED,
    ));
    let info = || {
        let mut found = [
            std::mem::MaybeUninit::zeroed(),
            std::mem::MaybeUninit::zeroed(),
        ];
        let [nodes, count] = &mut found;
        let mut dependencies = std::mem::MaybeUninit::zeroed();
        let state = result(|state| {
            cuStreamGetCaptureInfo_v2(
                stream,
                state,
                None,
                Some(nodes),
                Some(&mut dependencies),
                Some(count),
            )
        });
        // SAFETY: the function has written all results; the array has `count` elements.
        unsafe {
            let [nodes, count] = found.map(|value| value.assume_init());
            let list = std::slice::from_raw_parts(dependencies.assume_init(), count);
            (state, nodes, list.to_vec())
        }
    };
    assert_eq!(info(), (Ok(1), graph, vec![first]));
    succeeds(cuLaunchHostFunc(stream, Some(note), 1));
    let (.., called) = info();
    let second = node(&called);
    succeeds(cuStreamUpdateCaptureDependencies(stream, &second, 1, 0));
    assert_eq!(info().2, [called[0], second]);
    succeeds(cuStreamUpdateCaptureDependencies(stream, &second, 1, 1));
    assert_eq!(info().2, [second]);
    assert_eq!(
        cuStreamUpdateCaptureDependencies(stream, &graph, 1, 1),
        Status::INVALID_VALUE
    );
    succeeds(cuLaunchHostFunc(stream, Some(note), 2));
    assert_eq!(end(stream), Ok(graph));
    succeeds(cuGraphLaunch(instantiate(graph), 0));
    assert_eq!(calls(), [1, 2]);
    let _ = session;
}

#[test]
fn memory_and_graphs_in_captures_become_nodes() {
    let session = Session::new();
    let kernel = add_kernel(&session);
    let target = session.buffer(&[0u32]);
    let stream = stream(0);
    begin(stream);
    let address = result(|address| cuMemAllocAsync(address, 64, stream)).unwrap();
    succeeds(cuMemsetD32Async(address, 40, 1, stream));
    succeeds(add(kernel, address, 2, stream));
    succeeds(cuMemcpyDtoDAsync_v2(target, address, 4, stream));
    succeeds(cuMemFreeAsync(address, stream));
    let graph = end(stream).unwrap();
    assert_eq!(node_count(graph), 5);
    let exec = instantiate(graph);
    for _ in 0..2 {
        succeeds(cuGraphLaunch(exec, stream));
        assert_eq!(session.numbers(target, 1), [42]);
    }
    // A launch of a graph becomes a node with a child graph.
    begin(stream);
    succeeds(add(kernel, target, 1, stream));
    let inner = end(stream).unwrap();
    let inner = instantiate(inner);
    begin(stream);
    succeeds(cuGraphLaunch(inner, stream));
    succeeds(cuGraphLaunch(inner, stream));
    let outer = end(stream).unwrap();
    assert_eq!(node_count(outer), 2);
    succeeds(cuGraphExecDestroy(inner));
    succeeds(cuGraphLaunch(instantiate(outer), stream));
    assert_eq!(session.numbers(target, 1), [44]);
    // The capture ends with its stream.
    begin(stream);
    succeeds(cuStreamDestroy_v2(stream));
    assert!(end(stream).is_err());
    result(|address| cuMemAlloc_v2(address, 4)).unwrap();
}
