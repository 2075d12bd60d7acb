//! Graphs, captures and occupancy by the functions of the runtime API.

use ptx_cuda::abi::graph::*;
use ptx_cuda::runtime::capture::*;
use ptx_cuda::runtime::event::*;
use ptx_cuda::runtime::graph::*;
use ptx_cuda::runtime::graph_copy::*;
use ptx_cuda::runtime::graph_exec::*;
use ptx_cuda::runtime::graph_node::*;
use ptx_cuda::runtime::occupancy::*;
use ptx_cuda::runtime::stream::*;
use ptx_cuda::status::Status;

use crate::graphs::{add_kernel, calls, note};
use crate::session::{Session, argument, result, succeeds};

/// The direction of a copy that follows from the addresses.
const DEFAULT: u32 = 4;

#[test]
fn a_graph_is_built_changed_and_launched() {
    let session = Session::new();
    // Functions accept the handle of a kernel instead of a function of the program.
    let kernel = add_kernel(&session);
    let [data, target] = [session.buffer(&[1u32; 4]), session.buffer(&[0u32; 4])];
    let graph = result(|graph| cudaGraphCreate(graph, 0)).unwrap();
    let null = std::ptr::null();
    let value = 6u32;
    let arguments = [argument(&data), argument(&value)];
    let mut parameters = KernelNodeV1 {
        function: kernel,
        grid: [1; 3],
        block: [1; 3],
        shared_bytes: 0,
        arguments: arguments.as_ptr().expose_provenance(),
        extra: 0,
    };
    let first =
        result(|node| cudaGraphAddKernelNode(node, graph, null, 0, Some(&parameters))).unwrap();
    let [to, from] = [target as usize, data as usize];
    let second =
        result(|node| cudaGraphAddMemcpyNode1D(node, graph, &first, 1, to, from, 16, DEFAULT))
            .unwrap();
    let host = HostNode {
        function: Some(note),
        data: 9,
    };
    result(|node| cudaGraphAddHostNode(node, graph, &second, 1, Some(&host))).unwrap();
    let exec = result(|exec| cudaGraphInstantiate(exec, graph, 0)).unwrap();
    succeeds(cudaGraphLaunch(exec, 0));
    assert_eq!(session.numbers(target, 4), [7, 1, 1, 1]);
    assert_eq!(calls(), [9]);
    // The parameters of a copy can be read, changed and set.
    let mut copy = result(|copy| cudaGraphMemcpyNodeGetParams(second, copy)).unwrap();
    assert_eq!((copy.to.pointer, copy.from.pointer), (to, from));
    assert_eq!((copy.extent.width, copy.extent.height), (16, 1));
    copy.to.pointer += 4;
    copy.extent.width = 4;
    succeeds(cudaGraphExecMemcpyNodeSetParams(exec, second, Some(&copy)));
    let larger = 100u32;
    let arguments = [argument(&data), argument(&larger)];
    parameters.arguments = arguments.as_ptr().expose_provenance();
    succeeds(cudaGraphExecKernelNodeSetParams(
        exec,
        first,
        Some(&parameters),
    ));
    succeeds(cudaGraphLaunch(exec, 0));
    assert_eq!(session.numbers(target, 4), [7, 107, 1, 1]);
    assert_eq!(calls(), [9]);
    // Nodes of any type.
    let mut any = result(|any| cudaGraphNodeGetParams(second, any)).unwrap();
    assert_eq!(any.kind, node_type::COPY);
    succeeds(cudaGraphNodeSetParams(second, Some(&mut any)));
    let mut any = result(|any| cudaGraphNodeGetParams(first, any)).unwrap();
    let again = result(|node| cudaGraphAddNode(node, graph, null, null.cast(), 0, &mut any));
    assert_eq!(
        result(|kind| cudaGraphNodeGetType(again.unwrap(), kind)),
        Ok(node_type::KERNEL)
    );
    let mut count = 0;
    let none = std::ptr::null_mut();
    succeeds(cudaGraphGetEdges(
        graph,
        none,
        none,
        none.cast(),
        &mut count,
    ));
    assert_eq!(count, 2);
    assert_eq!(
        result(|n| cudaGraphAddMemcpyNode1D(n, graph, null, 0, to, from, 4, 7)),
        Err(Status::INVALID_MEMCPY_DIRECTION)
    );
    parameters.function = 12345;
    assert_eq!(
        result(|n| cudaGraphAddKernelNode(n, graph, null, 0, Some(&parameters))),
        Err(Status::INVALID_DEVICE_FUNCTION)
    );
    succeeds(cudaGraphExecDestroy(exec));
    succeeds(cudaGraphDestroy(graph));
    let occupancy =
        result(|blocks| cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, 256, 0));
    assert_eq!(occupancy, Ok(8));
}

#[test]
fn streams_are_captured() {
    let _session = Session::new();
    let [first, second] =
        [(); 2].map(|()| result(|stream| cudaStreamCreateWithFlags(stream, 1)).unwrap());
    let event = result(|event| cudaEventCreate(event)).unwrap();
    succeeds(cudaStreamBeginCapture(first, 0));
    succeeds(cudaEventRecord(event, first));
    succeeds(cudaStreamWaitEvent(second, event, 0));
    assert_eq!(result(|state| cudaStreamIsCapturing(second, state)), Ok(1));
    let mut graph = 0usize;
    let place = std::ptr::from_mut(&mut graph).expose_provenance();
    let state = result(|state| cudaStreamGetCaptureInfo(first, state, None, place, 0, 0, 0));
    assert_eq!(state, Ok(1));
    assert_eq!(
        cudaStreamSynchronize(second),
        Status::STREAM_CAPTURE_UNSUPPORTED
    );
    assert_eq!(
        result(|graph| cudaStreamEndCapture(first, graph)),
        Err(Status::STREAM_CAPTURE_INVALIDATED)
    );
    assert_eq!(cudaGraphDestroy(graph), Status::INVALID_VALUE);
    succeeds(cudaEventRecord(event, first));
    succeeds(cudaEventSynchronize(event));
    succeeds(cudaStreamQuery(first));
}
