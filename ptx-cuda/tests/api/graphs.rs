//! Graphs that programs build.

use std::ffi::{CStr, c_void};
use std::sync::Mutex;

use ptx_cuda::abi::graph::*;
use ptx_cuda::abi::{Copy3d, Place3d};
use ptx_cuda::driver::event::*;
use ptx_cuda::driver::graph::*;
use ptx_cuda::driver::graph_exec::*;
use ptx_cuda::driver::graph_node::*;
use ptx_cuda::driver::graph_node_parameters::*;
use ptx_cuda::handles::Raw;
use ptx_cuda::status::Status;

use crate::session::{Session, argument, result, succeeds};

/// The numbers with which functions of graphs were called.
static CALLS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

pub(crate) extern "C" fn note(number: usize) {
    CALLS.lock().unwrap().push(number);
}

/// The calls since the last time.
pub(crate) fn calls() -> Vec<usize> {
    std::mem::take(&mut CALLS.lock().unwrap())
}

/// Adds a parameter to a number.
const ADD: &str = ".reg .b32 %r<4>;\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [data];\nld.param.u32 %r1, [value];\nld.global.u32 %r2, [%rd1];\n\
     add.u32 %r3, %r1, %r2;\nst.global.u32 [%rd1], %r3;";
const ADD_PARAMETERS: &str = ".param .u64 data, .param .u32 value";

pub(crate) fn add_kernel(session: &Session) -> Raw {
    session.kernel("add", ADD_PARAMETERS, ADD)
}

pub(crate) fn graph() -> Raw {
    result(|graph| cuGraphCreate(graph, 0)).unwrap()
}

pub(crate) fn instantiate(graph: Raw) -> Raw {
    result(|exec| cuGraphInstantiateWithFlags(exec, graph, 0)).unwrap()
}

/// The parameters of a node with one block of one thread.
pub(crate) fn kernel_parameters(kernel: Raw, arguments: &[*const c_void]) -> KernelNode {
    KernelNode {
        first: KernelNodeV1 {
            function: kernel,
            grid: [1; 3],
            block: [1; 3],
            shared_bytes: 0,
            arguments: arguments.as_ptr().expose_provenance(),
            extra: 0,
        },
        kernel: 0,
        context: 0,
    }
}

pub(crate) fn add_kernel_node(
    graph: Raw,
    before: &[Raw],
    kernel: Raw,
    data: u64,
    value: u32,
) -> Raw {
    let arguments = [argument(&data), argument(&value)];
    let parameters = kernel_parameters(kernel, &arguments);
    let (nodes, count) = (before.as_ptr(), before.len());
    result(|node| cuGraphAddKernelNode_v2(node, graph, nodes, count, Some(&parameters))).unwrap()
}

fn host(number: usize) -> HostNode {
    HostNode {
        function: Some(note),
        data: number,
    }
}

pub(crate) fn add_host_node(graph: Raw, before: &[Raw], number: usize) -> Raw {
    let (nodes, count) = (before.as_ptr(), before.len());
    result(|node| cuGraphAddHostNode(node, graph, nodes, count, Some(&host(number)))).unwrap()
}

pub(crate) fn fill(address: u64, value: u32, count: usize) -> FillNode {
    FillNode {
        address,
        pitch: 0,
        value,
        value_bytes: 4,
        width: count,
        height: 1,
    }
}

pub(crate) fn add_fill_node(graph: Raw, before: &[Raw], parameters: &FillNode) -> Raw {
    let (nodes, count) = (before.as_ptr(), before.len());
    result(|node| cuGraphAddMemsetNode(node, graph, nodes, count, Some(parameters), 0)).unwrap()
}

/// A copy of bytes that follow each other.
pub(crate) fn copy(to: u64, from: u64, bytes: usize) -> Copy3d {
    let place = |device| Place3d {
        x_bytes: 0,
        y: 0,
        z: 0,
        level: 0,
        memory_type: 2,
        host: 0,
        device,
        array: 0,
        reserved: 0,
        pitch: 0,
        height: 0,
    };
    Copy3d {
        from: place(from),
        to: place(to),
        width_bytes: bytes,
        height: 1,
        depth: 1,
    }
}

pub(crate) fn launch(exec: Raw) {
    succeeds(cuGraphLaunch(exec, 0));
}

/// The list that a function writes to an array.
fn list(function: impl Fn(*mut Raw, *mut usize) -> Status) -> Vec<Raw> {
    let mut count = 0;
    succeeds(function(std::ptr::null_mut(), &mut count));
    // One more than needed: the rest becomes 0.
    let mut values = vec![1; count + 1];
    let mut capacity = values.len();
    succeeds(function(values.as_mut_ptr(), &mut capacity));
    assert_eq!((capacity, values.pop()), (count, Some(0)));
    values
}

#[test]
fn nodes_are_performed_in_the_order_of_edges() {
    let session = Session::new();
    let kernel = add_kernel(&session);
    let (data, target) = (session.buffer(&[0u32; 2]), session.buffer(&[0u32; 2]));
    let graph = graph();
    let first = add_fill_node(graph, &[], &fill(data, 5, 2));
    let second = add_kernel_node(graph, &[first], kernel, data, 7);
    let copy = copy(target, data, 8);
    let third = result(|node| cuGraphAddMemcpyNode(node, graph, &second, 1, Some(&copy), 0));
    let third = third.unwrap();
    let last = add_host_node(graph, &[third], 1);
    let exec = instantiate(graph);
    for _ in 0..2 {
        launch(exec);
        assert_eq!(session.numbers(target, 2), [12, 5]);
    }
    assert_eq!(calls(), [1, 1]);

    assert_eq!(
        list(|nodes, count| cuGraphGetNodes(graph, nodes, count)),
        [first, second, third, last]
    );
    assert_eq!(
        list(|nodes, count| cuGraphGetRootNodes(graph, nodes, count)),
        [first]
    );
    assert_eq!(
        list(|nodes, count| cuGraphNodeGetDependencies(third, nodes, count)),
        [second]
    );
    assert_eq!(
        list(|nodes, count| cuGraphNodeGetDependentNodes(third, nodes, count)),
        [last]
    );
    let kinds = [first, second, third, last]
        .map(|node| result(|kind| cuGraphNodeGetType(node, kind)).unwrap());
    assert_eq!(kinds, [2, 0, 1, 3]);
    assert_eq!(
        result(|graph| cuGraphNodeGetContainingGraph(first, graph)),
        Ok(graph)
    );
    let [mut from, mut to, mut count] = [[0; 3], [0; 3], [3, 0, 0]];
    succeeds(cuGraphGetEdges(
        graph,
        from.as_mut_ptr(),
        to.as_mut_ptr(),
        count.as_mut_ptr(),
    ));
    assert_eq!(
        (from, to, count[0]),
        ([first, second, third], [second, third, last], 3)
    );
    // A graph is not needed after it was made executable.
    succeeds(cuGraphDestroy(graph));
    launch(exec);
    assert_eq!(calls(), [1]);
    succeeds(cuGraphExecDestroy(exec));
    assert_eq!(cuGraphLaunch(exec, 0), Status::INVALID_VALUE);
}

/// The next of a sequence of numbers without a pattern.
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
    (*state >> 33) as usize
}

#[test]
fn random_graphs_keep_all_edges() {
    let _session = Session::new();
    let mut state = 1;
    for _ in 0..20 {
        let graph = graph();
        let count = 2 + next(&mut state) % 30;
        let nodes: Vec<Raw> = (0..count).map(|n| add_host_node(graph, &[], n)).collect();
        // The edges of a random order of the nodes.
        let mut ranks: Vec<usize> = (0..count).collect();
        for index in (1..count).rev() {
            ranks.swap(index, next(&mut state) % (index + 1));
        }
        let mut edges = std::collections::BTreeSet::new();
        for _ in 0..2 * count {
            let [a, b] = [next(&mut state) % count, next(&mut state) % count];
            if ranks[a] < ranks[b] && edges.insert((a, b)) {
                succeeds(cuGraphAddDependencies(graph, &nodes[a], &nodes[b], 1));
            }
        }
        let mut orders = Vec::new();
        for _ in 0..2 {
            launch(instantiate(graph));
            orders.push(calls());
        }
        assert_eq!(orders[0], orders[1]);
        let mut sorted = orders[0].clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..count));
        let place = |node| orders[0].iter().position(|n| *n == node);
        assert!(edges.iter().all(|(a, b)| place(*a) < place(*b)));
        // An edge back along a path makes a cycle, until it is removed.
        if let Some((a, b)) = edges.first() {
            succeeds(cuGraphAddDependencies(graph, &nodes[*b], &nodes[*a], 1));
            let mut parameters = InstantiateParameters {
                flags: 0,
                upload_stream: 0,
                error_node: 0,
                result: 0,
            };
            let exec =
                result(|exec| cuGraphInstantiateWithParams(exec, graph, Some(&mut parameters)));
            assert_eq!(exec, Err(Status::INVALID_VALUE));
            assert_eq!(parameters.result, 2);
            assert!(nodes.contains(&parameters.error_node));
            succeeds(cuGraphRemoveDependencies(graph, &nodes[*b], &nodes[*a], 1));
            launch(instantiate(graph));
            assert_eq!(calls(), orders[0]);
        }
    }
}

#[test]
fn graphs_are_copied_with_their_child_graphs() {
    let session = Session::new();
    let kernel = add_kernel(&session);
    let data = session.buffer(&[0u32]);
    let child = graph();
    let inner = add_kernel_node(child, &[], kernel, data, 1);
    let parent = graph();
    let node = result(|n| cuGraphAddChildGraphNode(n, parent, std::ptr::null(), 0, child)).unwrap();
    add_kernel_node(parent, &[node], kernel, data, 10);
    let copy = result(|copy| cuGraphClone(copy, parent)).unwrap();
    // A child graph is a copy: the original does not change it.
    add_kernel_node(child, &[inner], kernel, data, 100);
    succeeds(cuGraphDestroy(child));
    launch(instantiate(parent));
    assert_eq!(session.numbers(data, 1), [11]);
    let owned = result(|graph| cuGraphChildGraphNodeGetGraph(node, graph)).unwrap();
    assert_eq!(cuGraphDestroy(owned), Status::INVALID_VALUE);
    let nodes = list(|nodes, count| cuGraphGetNodes(owned, nodes, count));
    assert_eq!(nodes.len(), 1);
    // A change of the child graph is seen by the next executable graph, but not by the copy.
    let (value, arguments) = (2u32, |value| [argument(&data), value]);
    let arguments = arguments(argument(&value));
    let parameters = kernel_parameters(kernel, &arguments);
    succeeds(cuGraphKernelNodeSetParams_v2(nodes[0], Some(&parameters)));
    launch(instantiate(parent));
    assert_eq!(session.numbers(data, 1), [23]);
    launch(instantiate(copy));
    assert_eq!(session.numbers(data, 1), [34]);
    let found = result(|found| cuGraphNodeFindInClone(found, node, copy)).unwrap();
    let [original, own] =
        [node, found].map(|node| result(|kind| cuGraphNodeGetType(node, kind)).unwrap());
    assert_eq!((original, own), (4, 4));
    succeeds(cuGraphDestroy(parent));
    launch(instantiate(copy));
    assert_eq!(session.numbers(data, 1), [45]);
    assert_eq!(cuGraphDestroyNode(node), Status::INVALID_VALUE);
}

#[test]
fn parameters_of_nodes_can_be_read_and_changed() {
    let session = Session::new();
    let kernel = add_kernel(&session);
    let data = session.buffer(&[0u32; 4]);
    let graph = graph();
    let filled = add_fill_node(graph, &[], &fill(data, 1, 1));
    let added = add_kernel_node(graph, &[filled], kernel, data, 5);
    let exec = instantiate(graph);
    let mut parameters = result(|p| cuGraphKernelNodeGetParams_v2(added, p)).unwrap();
    assert_eq!(parameters.first.function, kernel);
    // SAFETY: the node has two parameters, of 8 and 4 bytes.
    let value = unsafe {
        let pointers = std::ptr::with_exposed_provenance::<usize>(parameters.first.arguments);
        let value = std::ptr::with_exposed_provenance::<u32>(pointers.add(1).read());
        value.read_unaligned()
    };
    assert_eq!(value, 5);
    let new = 50u32;
    let arguments = [argument(&data), argument(&new)];
    parameters.first.arguments = arguments.as_ptr().expose_provenance();
    // Of the executable graph only.
    succeeds(cuGraphExecKernelNodeSetParams_v2(
        exec,
        added,
        Some(&parameters),
    ));
    launch(exec);
    assert_eq!(session.numbers(data, 1), [51]);
    launch(instantiate(graph));
    assert_eq!(session.numbers(data, 1), [6]);
    // Of the graph.
    let read = result(|p| cuGraphMemsetNodeGetParams(filled, p)).unwrap();
    assert_eq!(read, fill(data, 1, 1));
    succeeds(cuGraphMemsetNodeSetParams(filled, Some(&fill(data, 7, 1))));
    launch(instantiate(graph));
    assert_eq!(session.numbers(data, 1), [12]);
    launch(exec);
    assert_eq!(session.numbers(data, 1), [51]);
    // Nodes that are disabled do nothing.
    succeeds(cuGraphNodeSetEnabled(exec, added, 0));
    assert_eq!(result(|e| cuGraphNodeGetEnabled(exec, added, e)), Ok(0));
    launch(exec);
    assert_eq!(session.numbers(data, 1), [1]);
    succeeds(cuGraphNodeSetEnabled(exec, added, 1));
    launch(exec);
    assert_eq!(session.numbers(data, 1), [51]);
    // Parameters of another kind, and of nodes that do not exist.
    assert_eq!(
        cuGraphHostNodeSetParams(filled, Some(&host(0))),
        Status::INVALID_VALUE
    );
    assert_eq!(
        cuGraphExecHostNodeSetParams(exec, filled, Some(&host(0))),
        Status::INVALID_VALUE
    );
    assert_eq!(
        cuGraphExecKernelNodeSetParams_v2(exec, graph, Some(&parameters)),
        Status::INVALID_VALUE
    );
    assert_eq!(
        result(|p| cuGraphMemsetNodeGetParams(added, p)),
        Err(Status::INVALID_VALUE)
    );
    // Attributes of kernels.
    let mut cooperative = [0; 16];
    cooperative[0] = 1;
    succeeds(cuGraphKernelNodeSetAttribute(added, 2, Some(&cooperative)));
    assert_eq!(
        result(|value| cuGraphKernelNodeGetAttribute(added, 2, value)),
        Ok(cooperative)
    );
    assert_eq!(
        cuGraphKernelNodeSetAttribute(filled, 2, Some(&cooperative)),
        Status::INVALID_VALUE
    );
}

/// A node of any type with the first words of its parameters.
pub(crate) fn any(kind: u32, words: &[u64]) -> NodeParameters {
    let mut parameters = NodeParameters {
        kind,
        reserved: [0; 3],
        words: [0; 29],
        last: 0,
    };
    parameters.words[..words.len()].copy_from_slice(words);
    parameters
}

pub(crate) fn add_any(
    graph: Raw,
    before: &[Raw],
    parameters: &mut NodeParameters,
) -> Result<Raw, Status> {
    let (nodes, count) = (before.as_ptr(), before.len());
    let edges = std::ptr::null();
    result(|node| cuGraphAddNode_v2(node, graph, nodes, edges, count, Some(parameters)))
}

#[test]
fn nodes_of_any_type_are_added_by_one_function() {
    let session = Session::new();
    let data = session.buffer(&[3u32; 4]);
    let graph = graph();
    let event = result(|event| cuEventCreate(event, 0)).unwrap();
    let filled = [data, 0, 9 | 4 << 32, 2, 1];
    let filled = add_any(graph, &[], &mut any(node_type::FILL, &filled)).unwrap();
    let called = [note as *const () as usize as u64, 77];
    let called = add_any(graph, &[filled], &mut any(node_type::HOST, &called)).unwrap();
    let mut operations = [
        StreamMemoryOperation {
            words: [2, data + 8, 1000, 0, 0, 0],
        },
        StreamMemoryOperation {
            words: [8, 0b1110 << 32, data + 12, 5, 0, 0],
        },
    ];
    let list = operations.as_mut_ptr().expose_provenance() as u64;
    let memory = [0, 2, list, 0];
    let memory = any(node_type::MEMORY_OPERATIONS, &memory);
    let written = add_any(graph, &[called], &mut memory.clone()).unwrap();
    let recorded = any(node_type::RECORD_EVENT, &[event as u64]);
    let recorded = add_any(graph, &[written], &mut recorded.clone()).unwrap();
    let waited = any(node_type::WAIT_EVENT, &[event as u64]);
    let waited = add_any(graph, &[recorded], &mut waited.clone()).unwrap();
    add_any(graph, &[waited], &mut any(node_type::EMPTY, &[])).unwrap();
    assert_eq!(
        add_any(graph, &[], &mut any(99, &[])),
        Err(Status::NOT_SUPPORTED)
    );
    let exec = instantiate(graph);
    launch(exec);
    launch(exec);
    assert_eq!(session.numbers(data, 4), [9, 9, 1000, 13]);
    assert_eq!(calls(), [77, 77]);
    succeeds(cuEventQuery(event));
    let read = result(|p| cuGraphNodeGetParams(filled, p)).unwrap();
    assert_eq!((read.kind, read.words[0]), (node_type::FILL, data));
    let read = result(|p| cuGraphBatchMemOpNodeGetParams(written, p)).unwrap();
    assert_eq!(read.count, 2);
    // SAFETY: the node has two operations.
    let read = unsafe { std::slice::from_raw_parts(read.operations, 2) };
    assert_eq!(read, operations);
    assert_eq!(
        result(|e| cuGraphEventRecordNodeGetEvent(recorded, e)),
        Ok(event)
    );
    let mut changed = any(node_type::FILL, &[data, 0, 8 | 4 << 32, 2, 1]);
    succeeds(cuGraphExecNodeSetParams(exec, filled, Some(&mut changed)));
    launch(exec);
    assert_eq!(session.numbers(data, 4), [8, 8, 1000, 18]);
    assert_eq!(calls(), [77]);
}

#[test]
fn executable_graphs_take_the_parameters_of_graphs_with_the_same_nodes() {
    let session = Session::new();
    let kernel = add_kernel(&session);
    let data = session.buffer(&[0u32; 2]);
    let build = |value: u32, with_edge: bool, with_host: bool| {
        let graph = graph();
        let first = add_kernel_node(graph, &[], kernel, data, value);
        let before: &[Raw] = if with_edge { &[first] } else { &[] };
        let second = if with_host {
            add_host_node(graph, before, 3)
        } else {
            add_fill_node(graph, before, &fill(data + 4, value, 1))
        };
        (graph, second)
    };
    let exec = instantiate(build(1, true, false).0);
    launch(exec);
    let update = |graph| {
        let mut info = UpdateResult {
            result: 99,
            error_node: 1,
            error_from_node: 1,
        };
        let status = cuGraphExecUpdate_v2(exec, graph, Some(&mut info));
        (status, info.result, info.error_node)
    };
    assert_eq!(update(build(20, true, false).0), (Status::SUCCESS, 0, 0));
    launch(exec);
    assert_eq!(session.numbers(data, 2), [21, 20]);
    let failure = Status::GRAPH_EXEC_UPDATE_FAILURE;
    let (changed, node) = build(20, false, false);
    assert_eq!(update(changed), (failure, 2, node));
    let (changed, node) = build(20, true, true);
    assert_eq!(update(changed), (failure, 3, node));
    let (longer, _) = build(20, true, false);
    let node = add_host_node(longer, &[], 1);
    // The new node follows nothing, so that it is the second one.
    assert_eq!(update(longer).0, failure);
    assert_ne!(node, 0);
    launch(exec);
    assert_eq!(session.numbers(data, 2), [41, 20]);
}

#[test]
fn graphs_can_be_drawn() {
    let session = Session::new();
    let kernel = add_kernel(&session);
    let data = session.buffer(&[0u32]);
    let graph = graph();
    let first = add_kernel_node(graph, &[], kernel, data, 1);
    add_host_node(graph, &[first], 1);
    let path = std::env::temp_dir().join(format!("ptxkit-graph-{}.dot", std::process::id()));
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    succeeds(cuGraphDebugDotPrint(graph, name.as_ptr(), 0));
    let drawing = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    assert!(drawing.contains("KERNEL add") && drawing.contains("->"));
    let missing: &CStr = c"/nowhere/graph.dot";
    assert!(cuGraphDebugDotPrint(graph, missing.as_ptr(), 0) != Status::SUCCESS);
}

#[test]
fn wrong_handles_and_null_pointers_are_errors() {
    let _session = Session::new();
    let invalid = Status::INVALID_VALUE;
    let graph = graph();
    let node = add_host_node(graph, &[], 1);
    assert_eq!(cuGraphCreate(None, 0), invalid);
    assert_eq!(result(|graph| cuGraphCreate(graph, 1)), Err(invalid));
    for wrong in [0, 1, node, usize::MAX] {
        assert_eq!(cuGraphDestroy(wrong), invalid);
        assert_eq!(result(|copy| cuGraphClone(copy, wrong)), Err(invalid));
        assert_eq!(
            result(|exec| cuGraphInstantiateWithFlags(exec, wrong, 0)),
            Err(invalid)
        );
        assert_eq!(cuGraphLaunch(wrong, 0), invalid);
        let mut count = 0;
        assert_eq!(
            cuGraphGetNodes(wrong, std::ptr::null_mut(), &mut count),
            invalid
        );
    }
    for wrong in [0, 1, graph, usize::MAX] {
        assert_eq!(cuGraphDestroyNode(wrong), invalid);
        assert_eq!(result(|kind| cuGraphNodeGetType(wrong, kind)), Err(invalid));
        assert_eq!(
            result(|n| cuGraphAddEmptyNode(n, graph, &wrong, 1)),
            Err(invalid)
        );
        assert_eq!(cuGraphAddDependencies(graph, &wrong, &node, 1), invalid);
    }
    assert_eq!(cuGraphAddDependencies(graph, &node, &node, 1), invalid);
    let null = std::ptr::null();
    assert_eq!(
        result(|n| cuGraphAddEmptyNode(n, graph, null, 1)),
        Err(invalid)
    );
    assert_eq!(
        result(|n| cuGraphAddEmptyNode(n, graph, null, usize::MAX)),
        Err(invalid)
    );
    assert_eq!(cuGraphAddEmptyNode(None, graph, null, 0), invalid);
    assert_eq!(
        result(|n| cuGraphAddKernelNode_v2(n, graph, null, 0, None)),
        Err(invalid)
    );
    assert_eq!(
        result(|n| cuGraphAddMemFreeNode(n, graph, null, 0, 4096)),
        Err(invalid)
    );
    assert_eq!(
        cuGraphGetNodes(graph, std::ptr::null_mut(), std::ptr::null_mut()),
        invalid
    );
    assert_eq!(
        result(|exec| cuGraphInstantiateWithFlags(exec, graph, 16)),
        Err(invalid)
    );
}
