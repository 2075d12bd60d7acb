//! Executable graphs. The functions are those of the driver API, but for kernels, which are functions of the program here, and copies.

use super::call::{prepared, same_as_driver};
use super::copy3d::copy_of;
use super::graph_copy::{copy_1d, from_symbol, to_symbol};
use super::graph_node::{kernel, operation_of};
use super::symbol::Part;
use super::types::Copy3dParameters;
use crate::abi::graph::{
    ChildNode, FillNode, HostNode, InstantiateParameters, KernelNodeV1, NodeParameters,
    UpdateResult, node_type,
};
use crate::caller::{Out, given};
use crate::driver::graph_exec::{self as e, replace};
use crate::driver::graph_parameters::part;
use crate::handles::Raw;
use crate::status::Status;

same_as_driver! {
    pub extern "C" fn cudaGraphInstantiateWithFlags(
        exec: Out<'_, Raw>,
        graph: Raw,
        flags: u64,
    ) -> Status => e::cuGraphInstantiateWithFlags;

    pub extern "C" fn cudaGraphInstantiateWithParams(
        exec: Out<'_, Raw>,
        graph: Raw,
        parameters: Option<&mut InstantiateParameters>,
    ) -> Status => e::cuGraphInstantiateWithParams;

    pub extern "C" fn cudaGraphExecGetFlags(
        exec: Raw,
        flags: Out<'_, u64>,
    ) -> Status => e::cuGraphExecGetFlags;

    pub extern "C" fn cudaGraphExecGetId(
        exec: Raw,
        number: Out<'_, u32>,
    ) -> Status => e::cuGraphExecGetId;

    pub extern "C" fn cudaGraphExecDestroy(exec: Raw) -> Status => e::cuGraphExecDestroy;

    pub extern "C" fn cudaGraphLaunch(exec: Raw, stream: Raw) -> Status => e::cuGraphLaunch;

    pub extern "C" fn cudaGraphUpload(exec: Raw, stream: Raw) -> Status => e::cuGraphUpload;

    pub extern "C" fn cudaGraphExecUpdate(
        exec: Raw,
        graph: Raw,
        result: Option<&mut UpdateResult>,
    ) -> Status => e::cuGraphExecUpdate_v2;
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphExecMemsetNodeSetParams(
    exec: Raw,
    node: Raw,
    fill: Option<&FillNode>,
) -> Status {
    prepared("cudaGraphExecMemsetNodeSetParams", || {
        e::cuGraphExecMemsetNodeSetParams(exec, node, fill, 0)
    })
}

same_as_driver! {
    pub extern "C" fn cudaGraphExecHostNodeSetParams(
        exec: Raw,
        node: Raw,
        host: Option<&HostNode>,
    ) -> Status => e::cuGraphExecHostNodeSetParams;

    pub extern "C" fn cudaGraphExecChildGraphNodeSetParams(
        exec: Raw,
        node: Raw,
        graph: Raw,
    ) -> Status => e::cuGraphExecChildGraphNodeSetParams;

    pub extern "C" fn cudaGraphExecEventRecordNodeSetEvent(
        exec: Raw,
        node: Raw,
        event: Raw,
    ) -> Status => e::cuGraphExecEventRecordNodeSetEvent;

    pub extern "C" fn cudaGraphExecEventWaitNodeSetEvent(
        exec: Raw,
        node: Raw,
        event: Raw,
    ) -> Status => e::cuGraphExecEventWaitNodeSetEvent;

    pub extern "C" fn cudaGraphNodeSetEnabled(
        exec: Raw,
        node: Raw,
        is_enabled: u32,
    ) -> Status => e::cuGraphNodeSetEnabled;

    pub extern "C" fn cudaGraphNodeGetEnabled(
        exec: Raw,
        node: Raw,
        is_enabled: Out<'_, u32>,
    ) -> Status => e::cuGraphNodeGetEnabled;

    pub extern "C" fn cudaDeviceGetGraphMemAttribute(
        device: i32,
        attribute: u32,
        value: Out<'_, u64>,
    ) -> Status => e::cuDeviceGetGraphMemAttribute;

    pub extern "C" fn cudaDeviceSetGraphMemAttribute(
        device: i32,
        attribute: u32,
        value: Option<&u64>,
    ) -> Status => e::cuDeviceSetGraphMemAttribute;
}

/// Before CUDA 12, the function had other parameters.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphInstantiate(exec: Out<'_, Raw>, graph: Raw, flags: u64) -> Status {
    cudaGraphInstantiateWithFlags(exec, graph, flags)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphExecKernelNodeSetParams(
    exec: Raw,
    node: Raw,
    parameters: Option<&KernelNodeV1>,
) -> Status {
    let name = "cudaGraphExecKernelNodeSetParams";
    prepared(name, || {
        replace(name, exec, node, |driver| {
            kernel(driver, given(parameters)?)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphExecMemcpyNodeSetParams(
    exec: Raw,
    node: Raw,
    parameters: Option<&Copy3dParameters>,
) -> Status {
    let name = "cudaGraphExecMemcpyNodeSetParams";
    prepared(name, || {
        replace(name, exec, node, |driver| {
            let parameters = given(parameters)?;
            let copy = copy_of(driver, parameters)?;
            super::copy::operation(driver, copy, parameters.kind)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphExecMemcpyNodeSetParams1D(
    exec: Raw,
    node: Raw,
    to: usize,
    from: usize,
    bytes: usize,
    direction: u32,
) -> Status {
    let name = "cudaGraphExecMemcpyNodeSetParams1D";
    prepared(name, || {
        replace(name, exec, node, |driver| {
            copy_1d(driver, [to, from], bytes, direction)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphExecMemcpyNodeSetParamsToSymbol(
    exec: Raw,
    node: Raw,
    symbol: usize,
    from: usize,
    bytes: usize,
    offset: usize,
    direction: u32,
) -> Status {
    let name = "cudaGraphExecMemcpyNodeSetParamsToSymbol";
    let to = Part {
        symbol,
        offset,
        bytes,
    };
    prepared(name, || {
        replace(name, exec, node, |driver| {
            to_symbol(driver, to, from, direction)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(
    exec: Raw,
    node: Raw,
    to: usize,
    symbol: usize,
    bytes: usize,
    offset: usize,
    direction: u32,
) -> Status {
    let name = "cudaGraphExecMemcpyNodeSetParamsFromSymbol";
    let from = Part {
        symbol,
        offset,
        bytes,
    };
    prepared(name, || {
        replace(name, exec, node, |driver| {
            from_symbol(driver, to, from, direction)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphExecNodeSetParams(
    exec: Raw,
    node: Raw,
    parameters: Option<&mut NodeParameters>,
) -> Status {
    let name = "cudaGraphExecNodeSetParams";
    let parameters = parameters.map(|parameters| *parameters);
    prepared(name, || match parameters {
        Some(parameters) if parameters.kind == node_type::CHILD => {
            let graph = part::<ChildNode>(&parameters).map_or(0, |child| child.graph);
            e::cuGraphExecChildGraphNodeSetParams(exec, node, graph)
        }
        parameters => replace(name, exec, node, |driver| {
            operation_of(driver, given(parameters.as_ref())?)
        }),
    })
}
