//! The parameters and attributes of the nodes of graphs, and how they are replaced.

use super::graph_parameters::{
    allocation_parameters, any_operation, any_parameters, copy_operation, copy_parameters,
    fill_operation, fill_parameters, host_operation, host_parameters, kernel_node,
    kernel_operation, kernel_parameters, memory_operation, memory_parameters, replacing,
};
use crate::abi::graph::{
    AllocationNode, FillNode, HostNode, KernelNode, KernelNodeV1, MemoryNode, NodeParameters,
};
use crate::abi::{Copy3d, launch_attribute};
use crate::call::{call, in_context};
use crate::caller::{Out, given, set};
use crate::handles::Raw;
use crate::state::{Driver, Operation, Work};
use crate::status::{Outcome, Status};

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
