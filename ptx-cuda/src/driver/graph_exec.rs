//! Executable graphs.

use std::ffi::c_char;

use super::graph_parameters::{
    any_operation, copy_operation, fill_operation, host_operation, kernel_node, kernel_operation,
    memory_operation, part, replacing,
};
use crate::abi::Copy3d;
use crate::abi::graph::{
    ChildNode, FillNode, HostNode, InstantiateParameters, KernelNode, KernelNodeV1, MemoryNode,
    NodeParameters, UpdateResult, node_type,
};
use crate::call::{call, enqueue, in_context, on_device, releasing};
use crate::caller::{self, Out, given, set, set_if_wanted};
use crate::handles::Raw;
use crate::state::{Driver, GraphFault, Operation, UpdateFaultKind, Work};
use crate::status::{Outcome, Status};

/// The node because of which a graph cannot become executable, and the result of the function.
fn fault(fault: GraphFault) -> (Raw, Status) {
    match fault {
        GraphFault::Cycle(node) => (node, Status::INVALID_VALUE),
        GraphFault::Other(status) => (0, status),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphInstantiateWithFlags(
    exec: Out<'_, Raw>,
    graph: Raw,
    flags: u64,
) -> Status {
    in_context("cuGraphInstantiateWithFlags", |driver| {
        let exec = exec.ok_or(Status::INVALID_VALUE)?;
        exec.write(0);
        let result = driver.instantiate(graph, flags);
        exec.write(result.map_err(|error| fault(error).1)?);
        Ok(())
    })
}

/// The message of an error is empty.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphInstantiate(
    exec: Out<'_, Raw>,
    graph: Raw,
    error_node: Out<'_, Raw>,
    log: *mut c_char,
    log_bytes: usize,
) -> Status {
    on_device("cuGraphInstantiate", |driver| {
        let exec = exec.ok_or(Status::INVALID_VALUE)?;
        if !log.is_null() && log_bytes > 0 {
            caller::set_text(log, log_bytes, "")?;
        }
        match driver.instantiate(graph, 0) {
            Ok(handle) => {
                exec.write(handle);
                set_if_wanted(error_node, 0);
                Ok(())
            }
            Err(error) => {
                let (node, status) = fault(error);
                set_if_wanted(error_node, node);
                Err(status)
            }
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphInstantiate_v2(
    exec: Out<'_, Raw>,
    graph: Raw,
    error_node: Out<'_, Raw>,
    log: *mut c_char,
    log_bytes: usize,
) -> Status {
    cuGraphInstantiate(exec, graph, error_node, log, log_bytes)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphInstantiateWithParams(
    exec: Out<'_, Raw>,
    graph: Raw,
    parameters: Option<&mut InstantiateParameters>,
) -> Status {
    const ERROR: u32 = 1;
    const INVALID_STRUCTURE: u32 = 2;
    const NOT_SUPPORTED: u32 = 3;
    on_device("cuGraphInstantiateWithParams", |driver| {
        let exec = exec.ok_or(Status::INVALID_VALUE)?;
        let parameters = parameters.ok_or(Status::INVALID_VALUE)?;
        driver.check_stream(parameters.upload_stream)?;
        match driver.instantiate(graph, parameters.flags) {
            Ok(handle) => {
                exec.write(handle);
                parameters.error_node = 0;
                parameters.result = 0;
                Ok(())
            }
            Err(error) => {
                let (node, status) = fault(error);
                parameters.error_node = node;
                parameters.result = match error {
                    GraphFault::Cycle(_) => INVALID_STRUCTURE,
                    GraphFault::Other(Status::NOT_SUPPORTED) => NOT_SUPPORTED,
                    GraphFault::Other(_) => ERROR,
                };
                Err(status)
            }
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecGetFlags(exec: Raw, flags: Out<'_, u64>) -> Status {
    call("cuGraphExecGetFlags", |driver| {
        set(flags, driver.graph_execs.get(exec)?.flags)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecGetId(exec: Raw, number: Out<'_, u32>) -> Status {
    call("cuGraphExecGetId", |driver| {
        set(number, driver.graph_execs.get(exec)?.number)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecDestroy(exec: Raw) -> Status {
    releasing("cuGraphExecDestroy", |driver| driver.destroy_exec(exec))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphLaunch(exec: Raw, stream: Raw) -> Status {
    enqueue("cuGraphLaunch", stream, |driver| {
        driver.graph_execs.get(exec)?;
        Ok(Operation::Graph(exec))
    })
}

/// Graphs are always ready to be launched.
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphUpload(exec: Raw, stream: Raw) -> Status {
    on_device("cuGraphUpload", |driver| {
        driver.check_stream(stream)?;
        driver.graph_execs.get(exec).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecUpdate_v2(
    exec: Raw,
    graph: Raw,
    result: Option<&mut UpdateResult>,
) -> Status {
    on_device("cuGraphExecUpdate_v2", |driver| {
        let fault = driver.update_exec(exec, graph)?;
        let result = result.ok_or(Status::INVALID_VALUE)?;
        let Some(fault) = fault else {
            *result = UpdateResult {
                result: 0,
                error_node: 0,
                error_from_node: 0,
            };
            return Ok(());
        };
        *result = UpdateResult {
            result: match fault.kind {
                UpdateFaultKind::Error => 1,
                UpdateFaultKind::TopologyChanged => 2,
                UpdateFaultKind::NodeTypeChanged => 3,
                UpdateFaultKind::ParametersChanged => 5,
                UpdateFaultKind::NotSupported => 6,
            },
            error_node: fault.node,
            error_from_node: fault.from_node,
        };
        Err(Status::GRAPH_EXEC_UPDATE_FAILURE)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecUpdate(
    exec: Raw,
    graph: Raw,
    error_node: Out<'_, Raw>,
    result: Out<'_, u32>,
) -> Status {
    let mut update = UpdateResult {
        result: 1,
        error_node: 0,
        error_from_node: 0,
    };
    let status = cuGraphExecUpdate_v2(exec, graph, Some(&mut update));
    set_if_wanted(error_node, update.error_node);
    set_if_wanted(result, update.result);
    status
}

/// The result of a function that replaces the operation of a node of an executable graph.
pub(crate) fn replace(
    name: &str,
    exec: Raw,
    node: Raw,
    operation: impl FnOnce(&mut Driver) -> Outcome<Operation>,
) -> Status {
    in_context(name, |driver| {
        driver.graph_execs.get(exec)?;
        let mut new = operation(driver)?;
        // A kernel keeps the attributes of the node, if the node still exists.
        if let Ok(node) = driver.nodes.get(node)
            && let Work::Operation(old) = &node.work
        {
            new = replacing(old, new);
        }
        driver.set_exec_operation(exec, node, new)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecKernelNodeSetParams_v2(
    exec: Raw,
    node: Raw,
    parameters: Option<&KernelNode>,
) -> Status {
    replace("cuGraphExecKernelNodeSetParams_v2", exec, node, |driver| {
        kernel_operation(driver, given(parameters)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecKernelNodeSetParams(
    exec: Raw,
    node: Raw,
    parameters: Option<&KernelNodeV1>,
) -> Status {
    let parameters = parameters.map(|first| kernel_node(*first));
    cuGraphExecKernelNodeSetParams_v2(exec, node, parameters.as_ref())
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecMemcpyNodeSetParams(
    exec: Raw,
    node: Raw,
    copy: Option<&Copy3d>,
    _context: Raw,
) -> Status {
    replace("cuGraphExecMemcpyNodeSetParams", exec, node, |driver| {
        copy_operation(driver, copy)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecMemsetNodeSetParams(
    exec: Raw,
    node: Raw,
    fill: Option<&FillNode>,
    _context: Raw,
) -> Status {
    replace("cuGraphExecMemsetNodeSetParams", exec, node, |driver| {
        fill_operation(driver, given(fill)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecHostNodeSetParams(
    exec: Raw,
    node: Raw,
    host: Option<&HostNode>,
) -> Status {
    replace("cuGraphExecHostNodeSetParams", exec, node, |_| {
        host_operation(given(host)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecChildGraphNodeSetParams(exec: Raw, node: Raw, graph: Raw) -> Status {
    on_device("cuGraphExecChildGraphNodeSetParams", |driver| {
        driver.set_exec_child(exec, node, graph)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecEventRecordNodeSetEvent(exec: Raw, node: Raw, event: Raw) -> Status {
    replace("cuGraphExecEventRecordNodeSetEvent", exec, node, |driver| {
        driver.events.get(event)?;
        Ok(Operation::Record(event))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecEventWaitNodeSetEvent(exec: Raw, node: Raw, event: Raw) -> Status {
    replace("cuGraphExecEventWaitNodeSetEvent", exec, node, |driver| {
        driver.events.get(event)?;
        Ok(Operation::Wait(event))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecBatchMemOpNodeSetParams(
    exec: Raw,
    node: Raw,
    parameters: Option<&MemoryNode>,
) -> Status {
    replace("cuGraphExecBatchMemOpNodeSetParams", exec, node, |driver| {
        memory_operation(driver, given(parameters)?)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecNodeSetParams(
    exec: Raw,
    node: Raw,
    parameters: Option<&mut NodeParameters>,
) -> Status {
    let parameters = parameters.map(|parameters| *parameters);
    match parameters {
        Some(parameters) if parameters.kind == node_type::CHILD => {
            let graph = part::<ChildNode>(&parameters).map_or(0, |child| child.graph);
            cuGraphExecChildGraphNodeSetParams(exec, node, graph)
        }
        parameters => replace("cuGraphExecNodeSetParams", exec, node, |driver| {
            any_operation(driver, given(parameters.as_ref())?)
        }),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphNodeSetEnabled(exec: Raw, node: Raw, is_enabled: u32) -> Status {
    call("cuGraphNodeSetEnabled", |driver| {
        driver.set_enabled(exec, node, is_enabled != 0)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGraphNodeGetEnabled(exec: Raw, node: Raw, is_enabled: Out<'_, u32>) -> Status {
    call("cuGraphNodeGetEnabled", |driver| {
        set(is_enabled, driver.is_enabled(exec, node)?.into())
    })
}

/// The numbers of attributes of the memory of graphs: what is used now and at most, and what is reserved.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetGraphMemAttribute(
    device: i32,
    attribute: u32,
    value: Out<'_, u64>,
) -> Status {
    call("cuDeviceGetGraphMemAttribute", |driver| {
        super::device::check_device(device)?;
        let usage = driver.graph_memory_use;
        let bytes = match attribute {
            0 => usage.used,
            1 => usage.used_most,
            2 => usage.reserved,
            3 => usage.reserved_most,
            _ => return Err(Status::INVALID_VALUE),
        };
        set(value, bytes)
    })
}

/// The greatest values can be set to the present ones.
#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceSetGraphMemAttribute(
    device: i32,
    attribute: u32,
    value: Option<&u64>,
) -> Status {
    call("cuDeviceSetGraphMemAttribute", |driver| {
        super::device::check_device(device)?;
        let usage = &mut driver.graph_memory_use;
        match (attribute, *given(value)?) {
            (1, 0) => usage.used_most = usage.used,
            (3, 0) => usage.reserved_most = usage.reserved,
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    })
}
