//! Nodes of graphs: how they are added, and their parameters.

use super::graph::edges_to;
use super::graph_parameters::{
    allocation_parameters, any_operation, any_parameters, bodies_of, conditional_kind,
    copy_operation, copy_parameters, fill_operation, fill_parameters, host_operation,
    host_parameters, kernel_node, kernel_operation, kernel_parameters, memory_operation,
    memory_parameters, part, replacing, set_part,
};
use crate::abi::graph::{
    AllocationNode, ChildNode, ConditionalNode, EdgeData, FillNode, HostNode, KernelNode,
    KernelNodeV1, MemoryNode, NodeParameters, node_type,
};
use crate::abi::{Copy3d, launch_attribute};
use crate::call::{call, in_context};
use crate::caller::{Out, given, set};
use crate::handles::Raw;
use crate::state::{Driver, Operation, Work};
use crate::status::{Outcome, Status};

/// The nodes that a new node follows, as functions without edges describe them.
#[derive(Copy, Clone)]
pub(crate) struct Before {
    pub(crate) nodes: *const Raw,
    pub(crate) edges: *const EdgeData,
    pub(crate) count: usize,
}

impl Before {
    pub(crate) const fn new(nodes: *const Raw, count: usize) -> Self {
        Self {
            nodes,
            edges: std::ptr::null(),
            count,
        }
    }
}

/// Adds a node, and returns it to the program. Before it is added, everything is checked that can fail.
fn add(
    driver: &mut Driver,
    node: Out<'_, Raw>,
    graph: Raw,
    before: Before,
    work: Work,
) -> Outcome<Raw> {
    let dependencies = edges_to(before.nodes, before.edges, before.count)?;
    let node = node.ok_or(Status::INVALID_VALUE)?;
    let handle = driver.add_node(graph, &dependencies, work)?;
    node.write(handle);
    Ok(handle)
}

/// The result of a function that adds a node with an operation.
pub(crate) fn add_operation(
    name: &str,
    node: Out<'_, Raw>,
    graph: Raw,
    before: Before,
    operation: impl FnOnce(&mut Driver) -> Outcome<Operation>,
) -> Status {
    in_context(name, |driver| {
        let work = Work::Operation(operation(driver)?);
        add(driver, node, graph, before, work).map(|_| ())
    })
}

/// Adds a node with a graph: with `source` itself, or with a copy.
fn add_child(
    driver: &mut Driver,
    node: Out<'_, Raw>,
    graph: Raw,
    before: Before,
    source: Raw,
    moves: bool,
) -> Outcome<()> {
    driver.graphs.get(graph)?;
    if source == graph {
        return Err(Status::INVALID_VALUE);
    }
    let child = if moves {
        if driver.graphs.get(source)?.owner.is_some() {
            return Err(Status::INVALID_VALUE);
        }
        source
    } else {
        driver.clone_graph(source, None)?
    };
    match add(driver, node, graph, before, Work::Child(child)) {
        Ok(handle) => {
            driver.graphs.get_mut(child)?.owner = Some(handle);
            Ok(())
        }
        Err(status) => {
            if !moves {
                driver.destroy_graph(child)?;
            }
            Err(status)
        }
    }
}

/// Adds a node that allocates memory, and returns the address.
fn add_allocation(
    driver: &mut Driver,
    node: Out<'_, Raw>,
    graph: Raw,
    before: Before,
    bytes: usize,
) -> Outcome<u64> {
    driver.graphs.get(graph)?;
    let bytes = bytes as u64;
    let address = driver.reserve_graph_memory(bytes)?;
    let work = Work::Allocate { address, bytes };
    match add(driver, node, graph, before, work) {
        Ok(_) => Ok(address),
        Err(status) => {
            driver.release_graph_memory(address);
            Err(status)
        }
    }
}

/// Adds a conditional node with graphs without nodes, and returns the address of their array.
fn add_conditional(
    driver: &mut Driver,
    node: Out<'_, Raw>,
    graph: Raw,
    before: Before,
    conditional: &ConditionalNode,
) -> Outcome<usize> {
    let kind = conditional_kind(conditional)?;
    driver.graph_free(conditional.handle)?;
    let work = Work::Conditional {
        condition: conditional.handle,
        kind,
        bodies: Vec::new(),
    };
    let handle = add(driver, node, graph, before, work)?;
    let graphs = (0..conditional.size).map(|_| driver.create_graph(Some(handle)));
    let graphs: Vec<Raw> = graphs.collect();
    if let Work::Conditional { bodies, .. } = &mut driver.nodes.get_mut(handle)?.work {
        *bodies = graphs;
    }
    bodies_of(driver, handle)
}

/// Adds a node of any type. The parameters get the address of memory that a node allocates, and the graphs of a conditional node.
pub(crate) fn add_any(
    driver: &mut Driver,
    node: Out<'_, Raw>,
    graph: Raw,
    before: Before,
    parameters: &mut NodeParameters,
    operation: impl FnOnce(&mut Driver, &NodeParameters) -> Outcome<Operation>,
) -> Outcome<()> {
    match parameters.kind {
        node_type::CHILD => {
            let child: ChildNode = part(parameters)?;
            let moves = match child.ownership {
                0 => false,
                1 => true,
                _ => return Err(Status::INVALID_VALUE),
            };
            add_child(driver, node, graph, before, child.graph, moves)
        }
        node_type::ALLOCATION => {
            let mut allocation: AllocationNode = part(parameters)?;
            let bytes = allocation.bytes;
            allocation.address = add_allocation(driver, node, graph, before, bytes)?;
            set_part(parameters, allocation);
            Ok(())
        }
        node_type::CONDITIONAL => {
            let mut conditional: ConditionalNode = part(parameters)?;
            conditional.graphs = add_conditional(driver, node, graph, before, &conditional)?;
            set_part(parameters, conditional);
            Ok(())
        }
        _ => {
            let work = Work::Operation(operation(driver, parameters)?);
            add(driver, node, graph, before, work).map(|_| ())
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddNode_v2(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    edges: *const EdgeData,
    count: usize,
    parameters: Option<&mut NodeParameters>,
) -> Status {
    in_context("cuGraphAddNode_v2", |driver| {
        let before = Before {
            nodes: dependencies,
            edges,
            count,
        };
        let parameters = parameters.ok_or(Status::INVALID_VALUE)?;
        add_any(driver, node, graph, before, parameters, |driver, given| {
            any_operation(driver, given)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    parameters: Option<&mut NodeParameters>,
) -> Status {
    let edges = std::ptr::null();
    cuGraphAddNode_v2(node, graph, dependencies, edges, count, parameters)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddKernelNode_v2(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    parameters: Option<&KernelNode>,
) -> Status {
    let before = Before::new(dependencies, count);
    add_operation("cuGraphAddKernelNode_v2", node, graph, before, |driver| {
        kernel_operation(driver, given(parameters)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddKernelNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    parameters: Option<&KernelNodeV1>,
) -> Status {
    let parameters = parameters.map(|first| kernel_node(*first));
    cuGraphAddKernelNode_v2(node, graph, dependencies, count, parameters.as_ref())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddMemcpyNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    copy: Option<&Copy3d>,
    _context: Raw,
) -> Status {
    let before = Before::new(dependencies, count);
    add_operation("cuGraphAddMemcpyNode", node, graph, before, |driver| {
        copy_operation(driver, copy)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddMemsetNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    fill: Option<&FillNode>,
    _context: Raw,
) -> Status {
    let before = Before::new(dependencies, count);
    add_operation("cuGraphAddMemsetNode", node, graph, before, |driver| {
        fill_operation(driver, given(fill)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddHostNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    host: Option<&HostNode>,
) -> Status {
    let before = Before::new(dependencies, count);
    add_operation("cuGraphAddHostNode", node, graph, before, |_| {
        host_operation(given(host)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddEmptyNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
) -> Status {
    let before = Before::new(dependencies, count);
    add_operation("cuGraphAddEmptyNode", node, graph, before, |_| {
        Ok(Operation::Empty)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddChildGraphNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    child: Raw,
) -> Status {
    in_context("cuGraphAddChildGraphNode", |driver| {
        let before = Before::new(dependencies, count);
        add_child(driver, node, graph, before, child, false)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddEventRecordNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    event: Raw,
) -> Status {
    let before = Before::new(dependencies, count);
    add_operation("cuGraphAddEventRecordNode", node, graph, before, |driver| {
        driver.events.get(event)?;
        Ok(Operation::Record(event))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddEventWaitNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    event: Raw,
) -> Status {
    let before = Before::new(dependencies, count);
    add_operation("cuGraphAddEventWaitNode", node, graph, before, |driver| {
        driver.events.get(event)?;
        Ok(Operation::Wait(event))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddBatchMemOpNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    parameters: Option<&MemoryNode>,
) -> Status {
    let before = Before::new(dependencies, count);
    add_operation("cuGraphAddBatchMemOpNode", node, graph, before, |driver| {
        memory_operation(driver, given(parameters)?)
    })
}

/// The address is that of each launch.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddMemAllocNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    parameters: Option<&mut AllocationNode>,
) -> Status {
    in_context("cuGraphAddMemAllocNode", |driver| {
        let before = Before::new(dependencies, count);
        let parameters = parameters.ok_or(Status::INVALID_VALUE)?;
        parameters.address = add_allocation(driver, node, graph, before, parameters.bytes)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddMemFreeNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    address: u64,
) -> Status {
    let before = Before::new(dependencies, count);
    add_operation("cuGraphAddMemFreeNode", node, graph, before, |driver| {
        driver.graph_free(address)
    })
}

/// The result of a function that reads the parameters of a node.
fn get<T>(
    name: &str,
    node: Raw,
    result: Out<'_, T>,
    parameters: impl FnOnce(&Driver, &Work) -> Outcome<T>,
) -> Status {
    call(name, |driver| {
        let work = &driver.nodes.get(node)?.work;
        set(result, parameters(driver, work)?)
    })
}

/// The result of a function that replaces the operation of a node.
pub(crate) fn replace(
    name: &str,
    node: Raw,
    operation: impl FnOnce(&mut Driver) -> Outcome<Operation>,
) -> Status {
    in_context(name, |driver| {
        let mut new = operation(driver)?;
        if let Work::Operation(old) = &driver.nodes.get(node)?.work {
            new = replacing(old, new);
        }
        driver.set_work(node, Work::Operation(new))
    })
}

/// The arguments are valid until the node changes.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphKernelNodeGetParams_v2(
    node: Raw,
    parameters: Out<'_, KernelNode>,
) -> Status {
    call("cuGraphKernelNodeGetParams_v2", |driver| {
        set(parameters, kernel_parameters(driver, node)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphKernelNodeGetParams(
    node: Raw,
    parameters: Out<'_, KernelNodeV1>,
) -> Status {
    call("cuGraphKernelNodeGetParams", |driver| {
        set(parameters, kernel_parameters(driver, node)?.first)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphKernelNodeSetParams_v2(
    node: Raw,
    parameters: Option<&KernelNode>,
) -> Status {
    replace("cuGraphKernelNodeSetParams_v2", node, |driver| {
        kernel_operation(driver, given(parameters)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphKernelNodeSetParams(
    node: Raw,
    parameters: Option<&KernelNodeV1>,
) -> Status {
    let parameters = parameters.map(|first| kernel_node(*first));
    cuGraphKernelNodeSetParams_v2(node, parameters.as_ref())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphMemcpyNodeGetParams(node: Raw, copy: Out<'_, Copy3d>) -> Status {
    get("cuGraphMemcpyNodeGetParams", node, copy, copy_parameters)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphMemcpyNodeSetParams(node: Raw, copy: Option<&Copy3d>) -> Status {
    replace("cuGraphMemcpyNodeSetParams", node, |driver| {
        copy_operation(driver, copy)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphMemsetNodeGetParams(node: Raw, fill: Out<'_, FillNode>) -> Status {
    get("cuGraphMemsetNodeGetParams", node, fill, |_, work| {
        fill_parameters(work)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphMemsetNodeSetParams(node: Raw, fill: Option<&FillNode>) -> Status {
    replace("cuGraphMemsetNodeSetParams", node, |driver| {
        fill_operation(driver, given(fill)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphHostNodeGetParams(node: Raw, host: Out<'_, HostNode>) -> Status {
    get("cuGraphHostNodeGetParams", node, host, |_, work| {
        host_parameters(work)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphHostNodeSetParams(node: Raw, host: Option<&HostNode>) -> Status {
    replace("cuGraphHostNodeSetParams", node, |_| {
        host_operation(given(host)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphEventRecordNodeGetEvent(node: Raw, event: Out<'_, Raw>) -> Status {
    get(
        "cuGraphEventRecordNodeGetEvent",
        node,
        event,
        |_, work| match work {
            Work::Operation(Operation::Record(event)) => Ok(*event),
            _ => Err(Status::INVALID_VALUE),
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphEventRecordNodeSetEvent(node: Raw, event: Raw) -> Status {
    replace("cuGraphEventRecordNodeSetEvent", node, |driver| {
        driver.events.get(event)?;
        Ok(Operation::Record(event))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphEventWaitNodeGetEvent(node: Raw, event: Out<'_, Raw>) -> Status {
    get(
        "cuGraphEventWaitNodeGetEvent",
        node,
        event,
        |_, work| match work {
            Work::Operation(Operation::Wait(event)) => Ok(*event),
            _ => Err(Status::INVALID_VALUE),
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphEventWaitNodeSetEvent(node: Raw, event: Raw) -> Status {
    replace("cuGraphEventWaitNodeSetEvent", node, |driver| {
        driver.events.get(event)?;
        Ok(Operation::Wait(event))
    })
}

/// The operations are valid until the node changes.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphBatchMemOpNodeGetParams(
    node: Raw,
    parameters: Out<'_, MemoryNode>,
) -> Status {
    call("cuGraphBatchMemOpNodeGetParams", |driver| {
        set(parameters, memory_parameters(driver, node)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphBatchMemOpNodeSetParams(
    node: Raw,
    parameters: Option<&MemoryNode>,
) -> Status {
    replace("cuGraphBatchMemOpNodeSetParams", node, |driver| {
        memory_operation(driver, given(parameters)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphMemAllocNodeGetParams(
    node: Raw,
    parameters: Out<'_, AllocationNode>,
) -> Status {
    get(
        "cuGraphMemAllocNodeGetParams",
        node,
        parameters,
        |_, work| allocation_parameters(work),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphMemFreeNodeGetParams(node: Raw, address: Out<'_, u64>) -> Status {
    get(
        "cuGraphMemFreeNodeGetParams",
        node,
        address,
        |_, work| match work {
            Work::Operation(Operation::Free(address)) => Ok(*address),
            _ => Err(Status::INVALID_VALUE),
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphNodeSetParams(
    node: Raw,
    parameters: Option<&mut NodeParameters>,
) -> Status {
    let parameters = parameters.map(|parameters| *parameters);
    replace("cuGraphNodeSetParams", node, |driver| {
        any_operation(driver, given(parameters.as_ref())?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphNodeGetParams(node: Raw, parameters: Out<'_, NodeParameters>) -> Status {
    call("cuGraphNodeGetParams", |driver| {
        set(parameters, any_parameters(driver, node)?)
    })
}

/// The attributes of launches that nodes can have.
const ATTRIBUTES: [u32; 10] = [1, 2, 4, 5, 8, 9, 10, 11, 13, 14];

/// The value of an attribute of a node with a kernel, as words.
fn node_attribute(driver: &Driver, node: Raw, number: u32) -> Outcome<[u32; 16]> {
    let node = driver.nodes.get(node)?;
    let Work::Operation(Operation::Launch(launch)) = &node.work else {
        return Err(Status::INVALID_VALUE);
    };
    if !ATTRIBUTES.contains(&number) {
        return Err(Status::INVALID_VALUE);
    }
    let mut value = node.attributes.get(&number).copied().unwrap_or([0; 16]);
    match number {
        launch_attribute::COOPERATIVE => value[0] = launch.cooperative.into(),
        launch_attribute::CLUSTER_DIMENSION => value[..3].copy_from_slice(&launch.cluster),
        _ => {}
    }
    Ok(value)
}

fn set_node_attribute(
    driver: &mut Driver,
    node: Raw,
    number: u32,
    value: [u32; 16],
) -> Outcome<()> {
    node_attribute(driver, node, number)?;
    let node = driver.nodes.get_mut(node)?;
    if let Work::Operation(Operation::Launch(launch)) = &mut node.work {
        match number {
            launch_attribute::COOPERATIVE => launch.cooperative = value[0] != 0,
            launch_attribute::CLUSTER_DIMENSION => launch.cluster.copy_from_slice(&value[..3]),
            _ => {
                node.attributes.insert(number, value);
            }
        }
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphKernelNodeGetAttribute(
    node: Raw,
    number: u32,
    value: Out<'_, [u32; 16]>,
) -> Status {
    call("cuGraphKernelNodeGetAttribute", |driver| {
        set(value, node_attribute(driver, node, number)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphKernelNodeSetAttribute(
    node: Raw,
    number: u32,
    value: Option<&[u32; 16]>,
) -> Status {
    call("cuGraphKernelNodeSetAttribute", |driver| {
        set_node_attribute(driver, node, number, *given(value)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphKernelNodeCopyAttributes(target: Raw, source: Raw) -> Status {
    call("cuGraphKernelNodeCopyAttributes", |driver| {
        for number in ATTRIBUTES {
            let value = node_attribute(driver, source, number)?;
            set_node_attribute(driver, target, number, value)?;
        }
        Ok(())
    })
}
