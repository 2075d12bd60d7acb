//! Graphs: creation, edges, what they contain, and user objects. The functions are those of the driver API.
//!
//! Some functions of CUDA 13 have the name of a function of CUDA 12 that has no parameter for edges.

use std::ffi::c_char;
use std::ptr::{null, null_mut};

use super::call::{prepared, same_as_driver};
use super::version::{Major, major};
use crate::abi::graph::EdgeData;
use crate::caller::Out;
use crate::driver::graph as g;
use crate::driver::user_object as u;
use crate::handles::Raw;
use crate::status::Status;

same_as_driver! {
    pub extern "C" fn cudaGraphCreate(
        graph: Out<'_, Raw>,
        flags: u32,
    ) -> Status => g::cuGraphCreate;

    pub extern "C" fn cudaGraphDestroy(graph: Raw) -> Status => g::cuGraphDestroy;

    pub extern "C" fn cudaGraphClone(copy: Out<'_, Raw>, graph: Raw) -> Status => g::cuGraphClone;

    pub extern "C" fn cudaGraphNodeFindInClone(
        copy: Out<'_, Raw>,
        node: Raw,
        graph: Raw,
    ) -> Status => g::cuGraphNodeFindInClone;

    pub extern "C" fn cudaGraphNodeGetType(
        node: Raw,
        kind: Out<'_, u32>,
    ) -> Status => g::cuGraphNodeGetType;

    pub extern "C" fn cudaGraphNodeGetContainingGraph(
        node: Raw,
        graph: Out<'_, Raw>,
    ) -> Status => g::cuGraphNodeGetContainingGraph;

    pub extern "C" fn cudaGraphNodeGetLocalId(
        node: Raw,
        number: Out<'_, u32>,
    ) -> Status => g::cuGraphNodeGetLocalId;

    pub extern "C" fn cudaGraphNodeGetToolsId(
        node: Raw,
        number: Out<'_, u64>,
    ) -> Status => g::cuGraphNodeGetToolsId;

    pub extern "C" fn cudaGraphGetId(graph: Raw, number: Out<'_, u32>) -> Status => g::cuGraphGetId;

    pub extern "C" fn cudaGraphGetNodes(
        graph: Raw,
        nodes: *mut Raw,
        count: *mut usize,
    ) -> Status => g::cuGraphGetNodes;

    pub extern "C" fn cudaGraphGetRootNodes(
        graph: Raw,
        nodes: *mut Raw,
        count: *mut usize,
    ) -> Status => g::cuGraphGetRootNodes;

    pub extern "C" fn cudaGraphGetEdges_v2(
        graph: Raw,
        from: *mut Raw,
        to: *mut Raw,
        edges: *mut EdgeData,
        count: *mut usize,
    ) -> Status => g::cuGraphGetEdges_v2;

    pub extern "C" fn cudaGraphNodeGetDependencies_v2(
        node: Raw,
        nodes: *mut Raw,
        edges: *mut EdgeData,
        count: *mut usize,
    ) -> Status => g::cuGraphNodeGetDependencies_v2;

    pub extern "C" fn cudaGraphNodeGetDependentNodes_v2(
        node: Raw,
        nodes: *mut Raw,
        edges: *mut EdgeData,
        count: *mut usize,
    ) -> Status => g::cuGraphNodeGetDependentNodes_v2;

    pub extern "C" fn cudaGraphAddDependencies_v2(
        graph: Raw,
        from: *const Raw,
        to: *const Raw,
        edges: *const EdgeData,
        count: usize,
    ) -> Status => g::cuGraphAddDependencies_v2;

    pub extern "C" fn cudaGraphRemoveDependencies_v2(
        graph: Raw,
        from: *const Raw,
        to: *const Raw,
        edges: *const EdgeData,
        count: usize,
    ) -> Status => g::cuGraphRemoveDependencies_v2;

    pub extern "C" fn cudaGraphDestroyNode(node: Raw) -> Status => g::cuGraphDestroyNode;

    pub extern "C" fn cudaGraphChildGraphNodeGetGraph(
        node: Raw,
        graph: Out<'_, Raw>,
    ) -> Status => g::cuGraphChildGraphNodeGetGraph;

    pub extern "C" fn cudaGraphDebugDotPrint(
        graph: Raw,
        path: *const c_char,
        flags: u32,
    ) -> Status => g::cuGraphDebugDotPrint;

    pub extern "C" fn cudaUserObjectCreate(
        object: Out<'_, Raw>,
        data: usize,
        destructor: Option<extern "C" fn(usize)>,
        references: u32,
        flags: u32,
    ) -> Status => u::cuUserObjectCreate;

    pub extern "C" fn cudaUserObjectRetain(
        object: Raw,
        count: u32,
    ) -> Status => u::cuUserObjectRetain;

    pub extern "C" fn cudaUserObjectRelease(
        object: Raw,
        count: u32,
    ) -> Status => u::cuUserObjectRelease;

    pub extern "C" fn cudaGraphRetainUserObject(
        graph: Raw,
        object: Raw,
        count: u32,
        flags: u32,
    ) -> Status => u::cuGraphRetainUserObject;

    pub extern "C" fn cudaGraphReleaseUserObject(
        graph: Raw,
        object: Raw,
        count: u32,
    ) -> Status => u::cuGraphReleaseUserObject;
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphConditionalHandleCreate(
    handle: Out<'_, u64>,
    graph: Raw,
    default: u32,
    flags: u32,
) -> Status {
    prepared("cudaGraphConditionalHandleCreate", || {
        g::cuGraphConditionalHandleCreate(handle, graph, 0, default, flags)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphConditionalHandleCreate_v2(
    handle: Out<'_, u64>,
    graph: Raw,
    _context: Raw,
    default: u32,
    flags: u32,
) -> Status {
    cudaGraphConditionalHandleCreate(handle, graph, default, flags)
}

/// In CUDA 12, the fourth parameter is the count.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphGetEdges(
    graph: Raw,
    from: *mut Raw,
    to: *mut Raw,
    edges: *mut EdgeData,
    count: *mut usize,
) -> Status {
    match major() {
        Major::Twelve => cudaGraphGetEdges_v2(graph, from, to, null_mut(), edges.cast()),
        Major::Thirteen => cudaGraphGetEdges_v2(graph, from, to, edges, count),
    }
}

/// In CUDA 12, the third parameter is the count.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphNodeGetDependencies(
    node: Raw,
    nodes: *mut Raw,
    edges: *mut EdgeData,
    count: *mut usize,
) -> Status {
    match major() {
        Major::Twelve => cudaGraphNodeGetDependencies_v2(node, nodes, null_mut(), edges.cast()),
        Major::Thirteen => cudaGraphNodeGetDependencies_v2(node, nodes, edges, count),
    }
}

/// In CUDA 12, the third parameter is the count.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphNodeGetDependentNodes(
    node: Raw,
    nodes: *mut Raw,
    edges: *mut EdgeData,
    count: *mut usize,
) -> Status {
    match major() {
        Major::Twelve => cudaGraphNodeGetDependentNodes_v2(node, nodes, null_mut(), edges.cast()),
        Major::Thirteen => cudaGraphNodeGetDependentNodes_v2(node, nodes, edges, count),
    }
}

/// In CUDA 12, the fourth parameter is the count.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphAddDependencies(
    graph: Raw,
    from: *const Raw,
    to: *const Raw,
    edges: *const EdgeData,
    count: usize,
) -> Status {
    match major() {
        Major::Twelve => cudaGraphAddDependencies_v2(graph, from, to, null(), edges.addr()),
        Major::Thirteen => cudaGraphAddDependencies_v2(graph, from, to, edges, count),
    }
}

/// In CUDA 12, the fourth parameter is the count.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphRemoveDependencies(
    graph: Raw,
    from: *const Raw,
    to: *const Raw,
    edges: *const EdgeData,
    count: usize,
) -> Status {
    match major() {
        Major::Twelve => cudaGraphRemoveDependencies_v2(graph, from, to, null(), edges.addr()),
        Major::Thirteen => cudaGraphRemoveDependencies_v2(graph, from, to, edges, count),
    }
}
