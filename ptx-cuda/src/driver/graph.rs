//! Graphs: creation, edges, and what they contain.

use std::ffi::c_char;
use std::fmt::Write as _;
use std::fs;

use super::graph_parameters::node_type_of;
use crate::abi::graph::{EdgeData, node_type};
use crate::call::{call, on_device, releasing};
use crate::caller::{self, Out, set, text};
use crate::handles::Raw;
use crate::state::{Driver, Edge, Work};
use crate::status::{Outcome, Status};

/// The nodes that an array of the program names, with the edges of another array, which may be null.
pub(super) fn edges_to(
    nodes: *const Raw,
    edges: *const EdgeData,
    count: usize,
) -> Outcome<Vec<(Raw, Edge)>> {
    let nodes = caller::slice(nodes, count)?;
    let edges = if edges.is_null() {
        &[]
    } else {
        caller::slice(edges, count)?
    };
    let all = nodes.iter().enumerate().map(|(index, node)| {
        let edge = edges.get(index).copied().unwrap_or_default();
        let is_known = edge.kind <= 1 && edge.from_port <= 2 && edge.to_port == 0;
        if is_known && edge.reserved == [0; 5] {
            Ok((*node, edge))
        } else {
            Err(Status::INVALID_VALUE)
        }
    });
    all.collect()
}

/// Writes values to an array of the program, which may be null, and `none` to the elements after them.
fn fill<T: Copy>(
    array: *mut T,
    capacity: usize,
    values: impl Iterator<Item = T>,
    none: T,
) -> Outcome<()> {
    if array.is_null() {
        return Ok(());
    }
    let values = values.chain(std::iter::repeat(none));
    for (place, value) in caller::slice_mut(array, capacity)?.iter_mut().zip(values) {
        place.write(value);
    }
    Ok(())
}

fn set_count(count: *mut usize, value: usize) -> Outcome<()> {
    match caller::slice_mut(count, 1)? {
        [place] => place.write(value),
        _ => return Err(Status::INVALID_VALUE),
    };
    Ok(())
}

/// Writes a list to an array of the program. If the array is null, only the length is written to `count`, which is else the length of the array.
fn set_list(array: *mut Raw, count: *mut usize, list: &[Raw]) -> Outcome<()> {
    if array.is_null() {
        return set_count(count, list.len());
    }
    let capacity = caller::read(count)?;
    fill(array, capacity, list.iter().copied(), 0)?;
    set_count(count, capacity.min(list.len()))
}

/// Writes the ends of edges and the edges to arrays of the program, as [`set_list`] does. Fails if there is no array for edges that are not plain.
fn set_edges(
    [firsts, seconds]: [*mut Raw; 2],
    edges: *mut EdgeData,
    count: *mut usize,
    list: &[(Raw, Raw, Edge)],
) -> Outcome<()> {
    if firsts.is_null() && seconds.is_null() {
        return set_count(count, list.len());
    }
    let are_plain = list.iter().all(|(.., edge)| *edge == Edge::default());
    if edges.is_null() && !are_plain {
        return Err(Status::LOSSY_QUERY);
    }
    let capacity = caller::read(count)?;
    fill(firsts, capacity, list.iter().map(|edge| edge.0), 0)?;
    fill(seconds, capacity, list.iter().map(|edge| edge.1), 0)?;
    let none = Edge::default();
    fill(edges, capacity, list.iter().map(|edge| edge.2), none)?;
    set_count(count, capacity.min(list.len()))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphCreate(graph: Out<'_, Raw>, flags: u32) -> Status {
    call("cuGraphCreate", |driver| {
        if flags != 0 || graph.is_none() {
            return Err(Status::INVALID_VALUE);
        }
        set(graph, driver.create_graph(None))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphDestroy(graph: Raw) -> Status {
    releasing("cuGraphDestroy", |driver| driver.destroy_graph(graph))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphClone(copy: Out<'_, Raw>, graph: Raw) -> Status {
    call("cuGraphClone", |driver| {
        if copy.is_none() {
            return Err(Status::INVALID_VALUE);
        }
        set(copy, driver.clone_graph(graph, None)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphNodeFindInClone(copy: Out<'_, Raw>, node: Raw, graph: Raw) -> Status {
    call("cuGraphNodeFindInClone", |driver| {
        set(copy, driver.find_in_clone(node, graph)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphNodeGetType(node: Raw, kind: Out<'_, u32>) -> Status {
    call("cuGraphNodeGetType", |driver| {
        set(kind, node_type_of(&driver.nodes.get(node)?.work)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphNodeGetContainingGraph(node: Raw, graph: Out<'_, Raw>) -> Status {
    call("cuGraphNodeGetContainingGraph", |driver| {
        set(graph, driver.nodes.get(node)?.graph)
    })
}

/// The number of a node among all of the process.
const fn number_of_node(node: Raw) -> u32 {
    (node >> 4) as u32
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphNodeGetLocalId(node: Raw, number: Out<'_, u32>) -> Status {
    call("cuGraphNodeGetLocalId", |driver| {
        driver.nodes.get(node)?;
        set(number, number_of_node(node))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphNodeGetToolsId(node: Raw, number: Out<'_, u64>) -> Status {
    call("cuGraphNodeGetToolsId", |driver| {
        driver.nodes.get(node)?;
        set(number, number_of_node(node).into())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphGetId(graph: Raw, number: Out<'_, u32>) -> Status {
    call("cuGraphGetId", |driver| {
        set(number, driver.graphs.get(graph)?.number)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphGetNodes(graph: Raw, nodes: *mut Raw, count: *mut usize) -> Status {
    call("cuGraphGetNodes", |driver| {
        let list = &driver.graphs.get(graph)?.nodes;
        let list: Vec<Raw> = list.iter().copied().collect();
        set_list(nodes, count, &list)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphGetRootNodes(graph: Raw, nodes: *mut Raw, count: *mut usize) -> Status {
    call("cuGraphGetRootNodes", |driver| {
        let mut roots = Vec::new();
        for node in &driver.graphs.get(graph)?.nodes {
            if driver.nodes.get(*node)?.dependencies.is_empty() {
                roots.push(*node);
            }
        }
        set_list(nodes, count, &roots)
    })
}

/// All edges of a graph.
fn edges_of(driver: &Driver, graph: Raw) -> Outcome<Vec<(Raw, Raw, Edge)>> {
    let mut list = Vec::new();
    for node in &driver.graphs.get(graph)?.nodes {
        let dependencies = driver.nodes.get(*node)?.dependencies.iter();
        list.extend(dependencies.map(|(from, edge)| (*from, *node, *edge)));
    }
    Ok(list)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphGetEdges_v2(
    graph: Raw,
    from: *mut Raw,
    to: *mut Raw,
    edges: *mut EdgeData,
    count: *mut usize,
) -> Status {
    call("cuGraphGetEdges_v2", |driver| {
        set_edges([from, to], edges, count, &edges_of(driver, graph)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphGetEdges(
    graph: Raw,
    from: *mut Raw,
    to: *mut Raw,
    count: *mut usize,
) -> Status {
    cuGraphGetEdges_v2(graph, from, to, std::ptr::null_mut(), count)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphNodeGetDependencies_v2(
    node: Raw,
    dependencies: *mut Raw,
    edges: *mut EdgeData,
    count: *mut usize,
) -> Status {
    call("cuGraphNodeGetDependencies_v2", |driver| {
        let predecessors = driver.nodes.get(node)?.dependencies.iter();
        let list: Vec<_> = predecessors
            .map(|(from, edge)| (*from, node, *edge))
            .collect();
        let arrays = [dependencies, std::ptr::null_mut()];
        set_edges(arrays, edges, count, &list)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphNodeGetDependencies(
    node: Raw,
    dependencies: *mut Raw,
    count: *mut usize,
) -> Status {
    cuGraphNodeGetDependencies_v2(node, dependencies, std::ptr::null_mut(), count)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphNodeGetDependentNodes_v2(
    node: Raw,
    dependents: *mut Raw,
    edges: *mut EdgeData,
    count: *mut usize,
) -> Status {
    call("cuGraphNodeGetDependentNodes_v2", |driver| {
        let mut list = Vec::new();
        for after in &driver.nodes.get(node)?.dependents {
            let edge = driver.nodes.get(*after)?.dependencies.get(&node);
            list.push((*after, node, edge.copied().unwrap_or_default()));
        }
        let arrays = [dependents, std::ptr::null_mut()];
        set_edges(arrays, edges, count, &list)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphNodeGetDependentNodes(
    node: Raw,
    dependents: *mut Raw,
    count: *mut usize,
) -> Status {
    cuGraphNodeGetDependentNodes_v2(node, dependents, std::ptr::null_mut(), count)
}

/// The edges that arrays of the program describe.
fn given_edges(
    from: *const Raw,
    to: *const Raw,
    edges: *const EdgeData,
    count: usize,
) -> Outcome<Vec<(Raw, Raw, Edge)>> {
    let sources = edges_to(from, edges, count)?;
    let targets = caller::slice(to, count)?;
    let all = sources.into_iter().zip(targets);
    Ok(all.map(|((from, edge), to)| (from, *to, edge)).collect())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddDependencies_v2(
    graph: Raw,
    from: *const Raw,
    to: *const Raw,
    edges: *const EdgeData,
    count: usize,
) -> Status {
    call("cuGraphAddDependencies_v2", |driver| {
        driver.graphs.get(graph)?;
        driver.add_edges(graph, &given_edges(from, to, edges, count)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphAddDependencies(
    graph: Raw,
    from: *const Raw,
    to: *const Raw,
    count: usize,
) -> Status {
    cuGraphAddDependencies_v2(graph, from, to, std::ptr::null(), count)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphRemoveDependencies_v2(
    graph: Raw,
    from: *const Raw,
    to: *const Raw,
    edges: *const EdgeData,
    count: usize,
) -> Status {
    call("cuGraphRemoveDependencies_v2", |driver| {
        driver.graphs.get(graph)?;
        driver.remove_edges(graph, &given_edges(from, to, edges, count)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphRemoveDependencies(
    graph: Raw,
    from: *const Raw,
    to: *const Raw,
    count: usize,
) -> Status {
    cuGraphRemoveDependencies_v2(graph, from, to, std::ptr::null(), count)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphDestroyNode(node: Raw) -> Status {
    releasing("cuGraphDestroyNode", |driver| driver.destroy_node(node))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphChildGraphNodeGetGraph(node: Raw, graph: Out<'_, Raw>) -> Status {
    call("cuGraphChildGraphNodeGetGraph", |driver| {
        match driver.nodes.get(node)?.work {
            Work::Child(child) => set(graph, child),
            _ => Err(Status::INVALID_VALUE),
        }
    })
}

/// The handle is the address of the value, so that kernels can write it.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphConditionalHandleCreate(
    handle: Out<'_, u64>,
    graph: Raw,
    context: Raw,
    default: u32,
    flags: u32,
) -> Status {
    const ASSIGN_DEFAULT: u32 = 1;
    on_device("cuGraphConditionalHandleCreate", |driver| {
        if flags & !ASSIGN_DEFAULT != 0 || handle.is_none() {
            return Err(Status::INVALID_VALUE);
        }
        if context != 0 {
            driver.contexts.get(context)?;
        }
        let default = (flags == ASSIGN_DEFAULT).then_some(default);
        set(handle, driver.create_condition(graph, default)?)
    })
}

/// What the drawing of a graph shows of a node.
fn label(driver: &Driver, node: Raw) -> Outcome<String> {
    use crate::state::Operation;
    let work = &driver.nodes.get(node)?.work;
    let name = match node_type_of(work)? {
        node_type::KERNEL => "KERNEL",
        node_type::COPY => "MEMCPY",
        node_type::FILL => "MEMSET",
        node_type::HOST => "HOST",
        node_type::CHILD => "GRAPH",
        node_type::EMPTY => "EMPTY",
        node_type::WAIT_EVENT => "WAIT_EVENT",
        node_type::RECORD_EVENT => "EVENT_RECORD",
        node_type::ALLOCATION => "MEM_ALLOC",
        node_type::FREE => "MEM_FREE",
        node_type::MEMORY_OPERATIONS => "BATCH_MEM_OP",
        _ => "CONDITIONAL",
    };
    let kernel = match work {
        Work::Operation(Operation::Launch(launch)) => driver.kernels.get(launch.kernel).ok(),
        _ => None,
    };
    let number = number_of_node(node);
    Ok(match kernel {
        Some(kernel) => format!("{number} {name} {}", kernel.name),
        None => format!("{number} {name}"),
    })
}

/// The drawing shows the kinds of nodes and the names of kernels, for all flags.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphDebugDotPrint(graph: Raw, path: *const c_char, _flags: u32) -> Status {
    call("cuGraphDebugDotPrint", |driver| {
        let mut drawing = "digraph dot {\n".to_owned();
        let mut left = vec![graph];
        while let Some(graph) = left.pop() {
            let drawn = driver.graphs.get(graph)?;
            let number = drawn.number;
            let _ = writeln!(
                drawing,
                "subgraph cluster_{number} {{\nlabel=\"graph_{number}\"\nnode [shape=box]"
            );
            for node in &drawn.nodes {
                let name = number_of_node(*node);
                let _ = writeln!(drawing, "\"{name}\" [label=\"{}\"]", label(driver, *node)?);
                match &driver.nodes.get(*node)?.work {
                    Work::Child(child) => left.push(*child),
                    Work::Conditional { bodies, .. } => left.extend_from_slice(bodies),
                    Work::Operation(_) | Work::Allocate { .. } => {}
                }
            }
            for (from, to, _) in edges_of(driver, graph)? {
                let [from, to] = [from, to].map(number_of_node);
                let _ = writeln!(drawing, "\"{from}\" -> \"{to}\"");
            }
            drawing.push_str("}\n");
        }
        drawing.push_str("}\n");
        fs::write(text(path)?, drawing).map_err(|_| Status::OPERATING_SYSTEM)
    })
}
