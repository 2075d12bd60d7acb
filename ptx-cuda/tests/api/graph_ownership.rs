//! Nodes that own memory or graphs, and objects of the program that graphs own.

use ptx_cuda::abi::graph::*;
use ptx_cuda::driver::graph::*;
use ptx_cuda::driver::graph_exec::*;
use ptx_cuda::driver::graph_node::*;
use ptx_cuda::driver::graph_node_parameters::*;
use ptx_cuda::driver::memory::cuMemFree_v2;
use ptx_cuda::driver::module::{cuModuleGetFunction, cuModuleLoadData};
use ptx_cuda::driver::user_object::*;
use ptx_cuda::handles::Raw;
use ptx_cuda::status::Status;

use crate::graphs::{
    add_any, add_fill_node, add_host_node, add_kernel, add_kernel_node, any, calls, copy, fill,
    graph, instantiate, kernel_parameters, launch, note,
};
use crate::session::{Session, argument, result, succeeds};

#[test]
fn graphs_allocate_memory() {
    let session = Session::new();
    let kernel = add_kernel(&session);
    let target = session.buffer(&[0u32]);
    let build = |frees: bool| {
        let graph = graph();
        let mut parameters = AllocationNode {
            pool: PoolProperties {
                allocation_type: 1,
                handle_types: 0,
                location: MemoryLocation { kind: 1, number: 0 },
                security: 0,
                limit_bytes: 0,
                usage: 0,
                reserved: [0; 54],
            },
            access: 0,
            access_count: 0,
            bytes: 4096,
            address: 0,
        };
        let mut node = result(|node| {
            cuGraphAddMemAllocNode(node, graph, std::ptr::null(), 0, Some(&mut parameters))
        })
        .unwrap();
        let address = parameters.address;
        let read = result(|p| cuGraphMemAllocNodeGetParams(node, p)).unwrap();
        assert_eq!((read.address, read.bytes), (address, 4096));
        node = add_fill_node(graph, &[node], &fill(address, 30, 1));
        node = add_kernel_node(graph, &[node], kernel, address, 3);
        let copy = copy(target, address, 4);
        node = result(|n| cuGraphAddMemcpyNode(n, graph, &node, 1, Some(&copy), 0)).unwrap();
        if frees {
            result(|n| cuGraphAddMemFreeNode(n, graph, &node, 1, address)).unwrap();
        }
        (graph, address)
    };
    let used = || result(|value| cuDeviceGetGraphMemAttribute(0, 0, value)).unwrap();
    let (graph, _) = build(true);
    let exec = instantiate(graph);
    for _ in 0..3 {
        launch(exec);
        assert_eq!(session.numbers(target, 1), [33]);
        assert_eq!(used(), 0);
    }
    assert_eq!(
        result(|copy| cuGraphClone(copy, graph)),
        Err(Status::NOT_SUPPORTED)
    );
    // Memory that the graph does not free has to be freed before the next launch.
    let (graph, address) = build(false);
    let exec = instantiate(graph);
    launch(exec);
    assert_eq!(used(), 4096);
    assert_eq!(session.numbers(address, 1), [33]);
    assert_eq!(cuGraphLaunch(exec, 0), Status::INVALID_VALUE);
    succeeds(cuMemFree_v2(address));
    assert_eq!(cuMemFree_v2(address), Status::INVALID_VALUE);
    launch(exec);
    // The memory lives longer than the graph.
    succeeds(cuGraphExecDestroy(exec));
    let automatic = result(|exec| cuGraphInstantiateWithFlags(exec, graph, 1)).unwrap();
    launch(automatic);
    launch(automatic);
    succeeds(cuGraphExecDestroy(automatic));
    succeeds(cuGraphDestroy(graph));
    assert_eq!(session.numbers(address, 1), [33]);
    succeeds(cuMemFree_v2(address));
    assert_eq!(used(), 0);
    assert_eq!(cuMemFree_v2(address), Status::INVALID_VALUE);
}

/// A kernel that counts a number in memory down, and sets the value of a conditional node to it.
fn countdown_kernel() -> Raw {
    let text = c".version 8.0\n.target sm_80\n.address_size 64\n.extern .func cudaGraphSetConditional(.param .b64 a, .param .b32 b);\n\
        .visible .entry countdown(.param .u64 data, .param .u64 handle)\n{\n.reg .b32 %r<3>;\n.reg .b64 %rd<3>;\n\
        ld.param.u64 %rd1, [data];\nld.param.u64 %rd2, [handle];\nld.global.u32 %r1, [%rd1];\nsub.u32 %r2, %r1, 1;\nst.global.u32 [%rd1], %r2;\n{\n\
        .param .b64 a;\nst.param.b64 [a], %rd2;\n.param .b32 b;\nst.param.b32 [b], %r2;\ncall.uni cudaGraphSetConditional, (a, b);\n}\nret;\n}\n";
    let module = result(|module| cuModuleLoadData(module, text.as_ptr().cast())).unwrap();
    result(|kernel| cuModuleGetFunction(kernel, module, c"countdown".as_ptr())).unwrap()
}

#[test]
fn kernels_set_the_values_of_conditional_nodes() {
    let session = Session::new();
    let kernel = countdown_kernel();
    let data = session.buffer(&[4u32]);
    let graph = graph();
    let handle = result(|h| cuGraphConditionalHandleCreate(h, graph, 0, 1, 1)).unwrap();
    let bodies = add_conditional(graph, &[], handle, 1, 1);
    let first = add_host_node(bodies[0], &[], 5);
    let arguments = [argument(&data), argument(&handle)];
    let parameters = kernel_parameters(kernel, &arguments);
    result(|n| cuGraphAddKernelNode_v2(n, bodies[0], &first, 1, Some(&parameters))).unwrap();
    launch(instantiate(graph));
    assert_eq!(calls(), [5; 4]);
    assert_eq!(session.numbers(data, 1), [0]);
}

/// Adds a conditional node, and returns its graphs.
fn add_conditional(graph: Raw, before: &[Raw], handle: u64, kind: u32, size: u32) -> Vec<Raw> {
    let words = [handle, u64::from(kind) | u64::from(size) << 32];
    let mut parameters = any(node_type::CONDITIONAL, &words);
    add_any(graph, before, &mut parameters).unwrap();
    let graphs = parameters.words[2] as usize;
    // SAFETY: the driver has set the address of an array of the graphs.
    let graphs = unsafe {
        std::slice::from_raw_parts(std::ptr::with_exposed_provenance(graphs), size as usize)
    };
    graphs.to_vec()
}

#[test]
fn conditional_nodes_perform_graphs_as_values_decide() {
    let session = Session::new();
    let kernel = add_kernel(&session);
    let handle_of = |graph, default| {
        result(|handle| cuGraphConditionalHandleCreate(handle, graph, 0, default, 1)).unwrap()
    };
    // If, with and without the second graph.
    for (default, expected) in [(1, 10), (0, 11)] {
        let graph = graph();
        let bodies = add_conditional(graph, &[], handle_of(graph, default), 0, 2);
        add_host_node(bodies[0], &[], 10);
        add_host_node(bodies[1], &[], 11);
        launch(instantiate(graph));
        assert_eq!(calls(), [expected]);
    }
    // While a kernel counts down; the value is set again at each launch.
    let graph_of_loop = graph();
    let handle = handle_of(graph_of_loop, 3);
    let bodies = add_conditional(graph_of_loop, &[], handle, 1, 1);
    let first = add_host_node(bodies[0], &[], 20);
    add_kernel_node(bodies[0], &[first], kernel, handle, u32::MAX);
    let exec = instantiate(graph_of_loop);
    for _ in 0..2 {
        launch(exec);
        assert_eq!(calls(), [20; 3]);
    }
    // Switch, with a value without a graph.
    for value in 0..4 {
        let graph = graph();
        let bodies = add_conditional(graph, &[], handle_of(graph, value), 2, 3);
        for (index, body) in bodies.iter().enumerate() {
            add_host_node(*body, &[], 30 + index);
        }
        launch(instantiate(graph));
        let expected = (value < 3).then_some(30 + value as usize);
        assert_eq!(calls(), Vec::from_iter(expected));
    }
    let graph = graph();
    let words = [4096, 1 << 32];
    assert!(add_any(graph, &[], &mut any(node_type::CONDITIONAL, &words)).is_err());
}

#[test]
fn user_objects_are_destroyed_with_the_last_reference() {
    let _session = Session::new();
    let create = |number, references| {
        result(|object| cuUserObjectCreate(object, number, Some(note), references, 1)).unwrap()
    };
    let object = create(1, 2);
    succeeds(cuUserObjectRelease(object, 1));
    assert!(calls().is_empty());
    succeeds(cuUserObjectRetain(object, 1));
    succeeds(cuUserObjectRelease(object, 2));
    assert_eq!(calls(), [1]);
    assert_eq!(cuUserObjectRelease(object, 1), Status::INVALID_VALUE);
    // A graph, its copy and an executable graph have references.
    let object = create(2, 1);
    let graph = graph();
    succeeds(cuGraphRetainUserObject(graph, object, 1, 1));
    let copy = result(|copy| cuGraphClone(copy, graph)).unwrap();
    let exec = instantiate(graph);
    succeeds(cuGraphDestroy(graph));
    succeeds(cuGraphDestroy(copy));
    assert!(calls().is_empty());
    succeeds(cuGraphExecDestroy(exec));
    assert_eq!(calls(), [2]);
}
