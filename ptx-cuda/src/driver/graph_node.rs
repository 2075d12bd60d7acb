//! Nodes of graphs: how they are added.

use super::graph::edges_to;
use super::graph_parameters::{
    any_operation, bodies_of, conditional_kind, copy_operation, fill_operation, host_operation,
    kernel_node, kernel_operation, memory_operation, part, set_part,
};
use crate::abi::Copy3d;
use crate::abi::graph::{
    AllocationNode, ChildNode, ConditionalNode, EdgeData, FillNode, HostNode, KernelNode,
    KernelNodeV1, MemoryNode, NodeParameters, node_type,
};
use crate::call::{in_context, on_device};
use crate::caller::{Out, given};
use crate::handles::Raw;
use crate::state::{Driver, Operation, Work};
use crate::status::{Outcome, Status};

/// The nodes that a new node follows, as functions without edges describe them.
#[derive(Copy, Clone)]
pub(crate) struct Predecessors {
    pub(crate) nodes: *const Raw,
    pub(crate) edges: *const EdgeData,
    pub(crate) count: usize,
}

impl Predecessors {
    pub(crate) const fn new(nodes: *const Raw, count: usize) -> Self {
        Self {
            nodes,
            edges: std::ptr::null(),
            count,
        }
    }
}

/// Adds a node, and returns it to the program. Predecessors it is added, everything is checked that can fail.
fn add(
    driver: &mut Driver,
    node: Out<'_, Raw>,
    graph: Raw,
    predecessors: Predecessors,
    work: Work,
) -> Outcome<Raw> {
    let dependencies = edges_to(predecessors.nodes, predecessors.edges, predecessors.count)?;
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
    predecessors: Predecessors,
    operation: impl FnOnce(&mut Driver) -> Outcome<Operation>,
) -> Status {
    in_context(name, |driver| {
        let work = Work::Operation(operation(driver)?);
        add(driver, node, graph, predecessors, work).map(|_| ())
    })
}

/// Adds a node with a graph: with `source` itself, or with a copy.
fn add_child(
    driver: &mut Driver,
    node: Out<'_, Raw>,
    graph: Raw,
    predecessors: Predecessors,
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
    match add(driver, node, graph, predecessors, Work::Child(child)) {
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
    predecessors: Predecessors,
    bytes: usize,
) -> Outcome<u64> {
    driver.graphs.get(graph)?;
    let bytes = bytes as u64;
    let address = driver.reserve_graph_memory(bytes)?;
    let work = Work::Allocate { address, bytes };
    match add(driver, node, graph, predecessors, work) {
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
    predecessors: Predecessors,
    conditional: &ConditionalNode,
) -> Outcome<usize> {
    let kind = conditional_kind(conditional)?;
    driver.graph_free(conditional.handle)?;
    let work = Work::Conditional {
        condition: conditional.handle,
        kind,
        bodies: Vec::new(),
    };
    let handle = add(driver, node, graph, predecessors, work)?;
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
    predecessors: Predecessors,
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
            add_child(driver, node, graph, predecessors, child.graph, moves)
        }
        node_type::ALLOCATION => {
            let mut allocation: AllocationNode = part(parameters)?;
            let bytes = allocation.bytes;
            allocation.address = add_allocation(driver, node, graph, predecessors, bytes)?;
            set_part(parameters, allocation);
            Ok(())
        }
        node_type::CONDITIONAL => {
            let mut conditional: ConditionalNode = part(parameters)?;
            conditional.graphs = add_conditional(driver, node, graph, predecessors, &conditional)?;
            set_part(parameters, conditional);
            Ok(())
        }
        _ => {
            let work = Work::Operation(operation(driver, parameters)?);
            add(driver, node, graph, predecessors, work).map(|_| ())
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
        let predecessors = Predecessors {
            nodes: dependencies,
            edges,
            count,
        };
        let parameters = parameters.ok_or(Status::INVALID_VALUE)?;
        add_any(
            driver,
            node,
            graph,
            predecessors,
            parameters,
            |driver, given| any_operation(driver, given),
        )
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
    let predecessors = Predecessors::new(dependencies, count);
    add_operation(
        "cuGraphAddKernelNode_v2",
        node,
        graph,
        predecessors,
        |driver| kernel_operation(driver, given(parameters)?),
    )
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
    let predecessors = Predecessors::new(dependencies, count);
    add_operation(
        "cuGraphAddMemcpyNode",
        node,
        graph,
        predecessors,
        |driver| copy_operation(driver, copy),
    )
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
    let predecessors = Predecessors::new(dependencies, count);
    add_operation(
        "cuGraphAddMemsetNode",
        node,
        graph,
        predecessors,
        |driver| fill_operation(driver, given(fill)?),
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddHostNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    host: Option<&HostNode>,
) -> Status {
    let predecessors = Predecessors::new(dependencies, count);
    add_operation("cuGraphAddHostNode", node, graph, predecessors, |_| {
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
    let predecessors = Predecessors::new(dependencies, count);
    add_operation("cuGraphAddEmptyNode", node, graph, predecessors, |_| {
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
    on_device("cuGraphAddChildGraphNode", |driver| {
        let predecessors = Predecessors::new(dependencies, count);
        add_child(driver, node, graph, predecessors, child, false)
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
    let predecessors = Predecessors::new(dependencies, count);
    add_operation(
        "cuGraphAddEventRecordNode",
        node,
        graph,
        predecessors,
        |driver| {
            driver.events.get(event)?;
            Ok(Operation::Record(event))
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddEventWaitNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    event: Raw,
) -> Status {
    let predecessors = Predecessors::new(dependencies, count);
    add_operation(
        "cuGraphAddEventWaitNode",
        node,
        graph,
        predecessors,
        |driver| {
            driver.events.get(event)?;
            Ok(Operation::Wait(event))
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddBatchMemOpNode(
    node: Out<'_, Raw>,
    graph: Raw,
    dependencies: *const Raw,
    count: usize,
    parameters: Option<&MemoryNode>,
) -> Status {
    let predecessors = Predecessors::new(dependencies, count);
    add_operation(
        "cuGraphAddBatchMemOpNode",
        node,
        graph,
        predecessors,
        |driver| memory_operation(driver, given(parameters)?),
    )
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
    on_device("cuGraphAddMemAllocNode", |driver| {
        let predecessors = Predecessors::new(dependencies, count);
        let parameters = parameters.ok_or(Status::INVALID_VALUE)?;
        parameters.address = add_allocation(driver, node, graph, predecessors, parameters.bytes)?;
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
    let predecessors = Predecessors::new(dependencies, count);
    add_operation(
        "cuGraphAddMemFreeNode",
        node,
        graph,
        predecessors,
        |driver| driver.graph_free(address),
    )
}
