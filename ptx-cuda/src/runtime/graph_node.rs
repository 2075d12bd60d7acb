//! Nodes of graphs. The functions are those of the driver API, but for kernels, which are functions of the program here, and copies.

use super::call::{prepared, same_as_driver};
use super::copy::operation;
use super::copy3d::{copy_of, parameters_of};
use super::function::kernel_of;
use super::types::Copy3dParameters;
use super::version::{Major, major};
use crate::abi::graph::{
    AllocationNode, EdgeData, FillNode, HostNode, KernelNodeV1, NodeParameters, node_type,
};
use crate::call::call;
use crate::caller::{self, Out, given, set};
use crate::driver::graph_node::{self, Predecessors, add_any, add_operation};
use crate::driver::graph_node_parameters::{self, replace};
use crate::driver::graph_parameters::{
    any_operation, any_parameters, kernel_node, kernel_operation, part, set_part,
};
use crate::handles::Raw;
use crate::state::{Driver, Operation, Work};
use crate::status::{Outcome, Status};

/// The launch of a function of the program.
pub(super) fn kernel(driver: &mut Driver, parameters: &KernelNodeV1) -> Outcome<Operation> {
    let function = kernel_of(driver, parameters.function)?;
    let first = KernelNodeV1 {
        function,
        ..*parameters
    };
    kernel_operation(driver, &kernel_node(first))
}

/// `cudaKernelNodeParamsV2`.
#[derive(std::marker::Copy, Clone)]
#[repr(C)]
struct AnyKernel {
    first: KernelNodeV1,
    context: usize,
    function_kind: u32,
}

/// `cudaMemcpyNodeParams`.
#[derive(std::marker::Copy, Clone)]
#[repr(C)]
struct AnyCopy {
    flags: i32,
    reserved: i32,
    context: usize,
    copy: Copy3dParameters,
}

/// The operation that the parameters of a node of any type describe.
pub(super) fn operation_of(driver: &mut Driver, parameters: &NodeParameters) -> Outcome<Operation> {
    match parameters.kind {
        node_type::KERNEL => kernel(driver, &part::<AnyKernel>(parameters)?.first),
        node_type::COPY => {
            let copy = part::<AnyCopy>(parameters)?.copy;
            operation(driver, copy_of(driver, &copy)?, copy.kind)
        }
        node_type::MEMORY_OPERATIONS => Err(Status::INVALID_VALUE),
        _ => any_operation(driver, parameters),
    }
}

same_as_driver! {
    pub extern "C" fn cudaGraphAddHostNode(
        node: Out<'_, Raw>,
        graph: Raw,
        nodes: *const Raw,
        count: usize,
        host: Option<&HostNode>,
    ) -> Status => graph_node::cuGraphAddHostNode;

    pub extern "C" fn cudaGraphAddEmptyNode(
        node: Out<'_, Raw>,
        graph: Raw,
        nodes: *const Raw,
        count: usize,
    ) -> Status => graph_node::cuGraphAddEmptyNode;

    pub extern "C" fn cudaGraphAddChildGraphNode(
        node: Out<'_, Raw>,
        graph: Raw,
        nodes: *const Raw,
        count: usize,
        child: Raw,
    ) -> Status => graph_node::cuGraphAddChildGraphNode;

    pub extern "C" fn cudaGraphAddEventRecordNode(
        node: Out<'_, Raw>,
        graph: Raw,
        nodes: *const Raw,
        count: usize,
        event: Raw,
    ) -> Status => graph_node::cuGraphAddEventRecordNode;

    pub extern "C" fn cudaGraphAddEventWaitNode(
        node: Out<'_, Raw>,
        graph: Raw,
        nodes: *const Raw,
        count: usize,
        event: Raw,
    ) -> Status => graph_node::cuGraphAddEventWaitNode;

    pub extern "C" fn cudaGraphAddMemAllocNode(
        node: Out<'_, Raw>,
        graph: Raw,
        nodes: *const Raw,
        count: usize,
        parameters: Option<&mut AllocationNode>,
    ) -> Status => graph_node::cuGraphAddMemAllocNode;

    pub extern "C" fn cudaGraphAddMemFreeNode(
        node: Out<'_, Raw>,
        graph: Raw,
        nodes: *const Raw,
        count: usize,
        address: u64,
    ) -> Status => graph_node::cuGraphAddMemFreeNode;

    pub extern "C" fn cudaGraphMemsetNodeGetParams(
        node: Raw,
        fill: Out<'_, FillNode>,
    ) -> Status => graph_node_parameters::cuGraphMemsetNodeGetParams;

    pub extern "C" fn cudaGraphMemsetNodeSetParams(
        node: Raw,
        fill: Option<&FillNode>,
    ) -> Status => graph_node_parameters::cuGraphMemsetNodeSetParams;

    pub extern "C" fn cudaGraphHostNodeGetParams(
        node: Raw,
        host: Out<'_, HostNode>,
    ) -> Status => graph_node_parameters::cuGraphHostNodeGetParams;

    pub extern "C" fn cudaGraphHostNodeSetParams(
        node: Raw,
        host: Option<&HostNode>,
    ) -> Status => graph_node_parameters::cuGraphHostNodeSetParams;

    pub extern "C" fn cudaGraphEventRecordNodeGetEvent(
        node: Raw,
        event: Out<'_, Raw>,
    ) -> Status => graph_node_parameters::cuGraphEventRecordNodeGetEvent;

    pub extern "C" fn cudaGraphEventRecordNodeSetEvent(
        node: Raw,
        event: Raw,
    ) -> Status => graph_node_parameters::cuGraphEventRecordNodeSetEvent;

    pub extern "C" fn cudaGraphEventWaitNodeGetEvent(
        node: Raw,
        event: Out<'_, Raw>,
    ) -> Status => graph_node_parameters::cuGraphEventWaitNodeGetEvent;

    pub extern "C" fn cudaGraphEventWaitNodeSetEvent(
        node: Raw,
        event: Raw,
    ) -> Status => graph_node_parameters::cuGraphEventWaitNodeSetEvent;

    pub extern "C" fn cudaGraphMemAllocNodeGetParams(
        node: Raw,
        parameters: Out<'_, AllocationNode>,
    ) -> Status => graph_node_parameters::cuGraphMemAllocNodeGetParams;

    pub extern "C" fn cudaGraphMemFreeNodeGetParams(
        node: Raw,
        address: Out<'_, u64>,
    ) -> Status => graph_node_parameters::cuGraphMemFreeNodeGetParams;

    /// The function is the handle of the kernel, which functions accept instead of the function of the program.
    pub extern "C" fn cudaGraphKernelNodeGetParams(
        node: Raw,
        parameters: Out<'_, KernelNodeV1>,
    ) -> Status => graph_node_parameters::cuGraphKernelNodeGetParams;

    pub extern "C" fn cudaGraphKernelNodeGetAttribute(
        node: Raw,
        number: u32,
        value: Out<'_, [u32; 16]>,
    ) -> Status => graph_node_parameters::cuGraphKernelNodeGetAttribute;

    pub extern "C" fn cudaGraphKernelNodeSetAttribute(
        node: Raw,
        number: u32,
        value: Option<&[u32; 16]>,
    ) -> Status => graph_node_parameters::cuGraphKernelNodeSetAttribute;

    pub extern "C" fn cudaGraphKernelNodeCopyAttributes(
        target: Raw,
        source: Raw,
    ) -> Status => graph_node_parameters::cuGraphKernelNodeCopyAttributes;
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphAddMemsetNode(
    node: Out<'_, Raw>,
    graph: Raw,
    nodes: *const Raw,
    count: usize,
    fill: Option<&FillNode>,
) -> Status {
    prepared("cudaGraphAddMemsetNode", || {
        graph_node::cuGraphAddMemsetNode(node, graph, nodes, count, fill, 0)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphAddKernelNode(
    node: Out<'_, Raw>,
    graph: Raw,
    nodes: *const Raw,
    count: usize,
    parameters: Option<&KernelNodeV1>,
) -> Status {
    let name = "cudaGraphAddKernelNode";
    let predecessors = Predecessors::new(nodes, count);
    prepared(name, || {
        add_operation(name, node, graph, predecessors, |driver| {
            kernel(driver, given(parameters)?)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphKernelNodeSetParams(
    node: Raw,
    parameters: Option<&KernelNodeV1>,
) -> Status {
    let name = "cudaGraphKernelNodeSetParams";
    prepared(name, || {
        replace(name, node, |driver| kernel(driver, given(parameters)?))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphAddNode_v2(
    node: Out<'_, Raw>,
    graph: Raw,
    nodes: *const Raw,
    edges: *const EdgeData,
    count: usize,
    parameters: *mut NodeParameters,
) -> Status {
    let name = "cudaGraphAddNode_v2";
    let predecessors = Predecessors {
        nodes,
        edges,
        count,
    };
    prepared(name, || {
        call(name, |driver| {
            driver.check_context()?;
            let mut changed = caller::read(parameters)?;
            add_any(
                driver,
                node,
                graph,
                predecessors,
                &mut changed,
                operation_of,
            )?;
            if let [place] = caller::slice_mut(parameters, 1)? {
                place.write(changed);
            }
            Ok(())
        })
    })
}

/// In CUDA 12, the fourth parameter is the count, and the fifth one the parameters.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphAddNode(
    node: Out<'_, Raw>,
    graph: Raw,
    nodes: *const Raw,
    edges: *const EdgeData,
    count: usize,
    parameters: *mut NodeParameters,
) -> Status {
    match major() {
        Major::Twelve => {
            let (count, parameters) = (edges.addr(), count as *mut NodeParameters);
            cudaGraphAddNode_v2(node, graph, nodes, std::ptr::null(), count, parameters)
        }
        Major::Thirteen => cudaGraphAddNode_v2(node, graph, nodes, edges, count, parameters),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphNodeSetParams(
    node: Raw,
    parameters: Option<&mut NodeParameters>,
) -> Status {
    let name = "cudaGraphNodeSetParams";
    let parameters = parameters.map(|parameters| *parameters);
    prepared(name, || {
        replace(name, node, |driver| {
            operation_of(driver, given(parameters.as_ref())?)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphNodeGetParams(node: Raw, parameters: Out<'_, NodeParameters>) -> Status {
    let name = "cudaGraphNodeGetParams";
    prepared(name, || {
        call(name, |driver| {
            let mut node_parameters = any_parameters(driver, node)?;
            match &driver.nodes.get(node)?.work {
                Work::Operation(Operation::Launch(_)) => {
                    let kernel = AnyKernel {
                        first: part(&node_parameters)?,
                        context: 0,
                        // The function is the handle of a kernel.
                        function_kind: 2,
                    };
                    set_part(&mut node_parameters, kernel);
                }
                Work::Operation(Operation::Copy(copy)) => {
                    let copy = AnyCopy {
                        flags: 0,
                        reserved: 0,
                        context: 0,
                        copy: parameters_of(driver, copy)?,
                    };
                    set_part(&mut node_parameters, copy);
                }
                _ => {}
            }
            set(parameters, node_parameters)
        })
    })
}
