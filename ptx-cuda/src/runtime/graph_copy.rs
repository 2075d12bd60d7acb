//! Nodes of graphs that copy memory.

use super::call::prepared;
use super::copy::{kind, operation};
use super::copy3d::{copy_of, parameters_of};
use super::symbol::Part;
use super::types::Copy3dParameters;
use crate::call::call;
use crate::caller::{Out, given, set};
use crate::driver::graph_node::{Predecessors, add_operation};
use crate::driver::graph_node_parameters::replace;
use crate::handles::Raw;
use crate::state::{Copy, Driver, Operation, Work};
use crate::status::{Outcome, Status};

/// A copy of bytes that follow each other.
pub(super) fn copy_1d(
    driver: &Driver,
    [to, from]: [usize; 2],
    bytes: usize,
    direction: u32,
) -> Outcome<Operation> {
    let copy = Copy::linear(from as u64, to as u64, bytes as u64);
    operation(driver, copy, direction)
}

/// A copy to a part of a variable.
pub(super) fn to_symbol(
    driver: &mut Driver,
    to: Part,
    from: usize,
    direction: u32,
) -> Outcome<Operation> {
    if matches!(direction, kind::HOST_TO_HOST | kind::DEVICE_TO_HOST) {
        return Err(Status::INVALID_MEMCPY_DIRECTION);
    }
    let address = to.address(driver)? as usize;
    copy_1d(driver, [address, from], to.bytes, direction)
}

/// A copy from a part of a variable.
pub(super) fn from_symbol(
    driver: &mut Driver,
    to: usize,
    from: Part,
    direction: u32,
) -> Outcome<Operation> {
    if matches!(direction, kind::HOST_TO_HOST | kind::HOST_TO_DEVICE) {
        return Err(Status::INVALID_MEMCPY_DIRECTION);
    }
    let address = from.address(driver)? as usize;
    copy_1d(driver, [to, address], from.bytes, direction)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphAddMemcpyNode(
    node: Out<'_, Raw>,
    graph: Raw,
    nodes: *const Raw,
    count: usize,
    parameters: Option<&Copy3dParameters>,
) -> Status {
    let name = "cudaGraphAddMemcpyNode";
    let predecessors = Predecessors::new(nodes, count);
    prepared(name, || {
        add_operation(name, node, graph, predecessors, |driver| {
            let parameters = given(parameters)?;
            operation(driver, copy_of(driver, parameters)?, parameters.kind)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphAddMemcpyNode1D(
    node: Out<'_, Raw>,
    graph: Raw,
    nodes: *const Raw,
    count: usize,
    to: usize,
    from: usize,
    bytes: usize,
    direction: u32,
) -> Status {
    let name = "cudaGraphAddMemcpyNode1D";
    let predecessors = Predecessors::new(nodes, count);
    prepared(name, || {
        add_operation(name, node, graph, predecessors, |driver| {
            copy_1d(driver, [to, from], bytes, direction)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphAddMemcpyNodeToSymbol(
    node: Out<'_, Raw>,
    graph: Raw,
    nodes: *const Raw,
    count: usize,
    symbol: usize,
    from: usize,
    bytes: usize,
    offset: usize,
    direction: u32,
) -> Status {
    let name = "cudaGraphAddMemcpyNodeToSymbol";
    let predecessors = Predecessors::new(nodes, count);
    let to = Part {
        symbol,
        offset,
        bytes,
    };
    prepared(name, || {
        add_operation(name, node, graph, predecessors, |driver| {
            to_symbol(driver, to, from, direction)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphAddMemcpyNodeFromSymbol(
    node: Out<'_, Raw>,
    graph: Raw,
    nodes: *const Raw,
    count: usize,
    to: usize,
    symbol: usize,
    bytes: usize,
    offset: usize,
    direction: u32,
) -> Status {
    let name = "cudaGraphAddMemcpyNodeFromSymbol";
    let predecessors = Predecessors::new(nodes, count);
    let from = Part {
        symbol,
        offset,
        bytes,
    };
    prepared(name, || {
        add_operation(name, node, graph, predecessors, |driver| {
            from_symbol(driver, to, from, direction)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphMemcpyNodeGetParams(
    node: Raw,
    parameters: Out<'_, Copy3dParameters>,
) -> Status {
    let name = "cudaGraphMemcpyNodeGetParams";
    prepared(name, || {
        call(name, |driver| match &driver.nodes.get(node)?.work {
            Work::Operation(Operation::Copy(copy)) => set(parameters, parameters_of(driver, copy)?),
            _ => Err(Status::INVALID_VALUE),
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphMemcpyNodeSetParams(
    node: Raw,
    parameters: Option<&Copy3dParameters>,
) -> Status {
    let name = "cudaGraphMemcpyNodeSetParams";
    prepared(name, || {
        replace(name, node, |driver| {
            let parameters = given(parameters)?;
            operation(driver, copy_of(driver, parameters)?, parameters.kind)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphMemcpyNodeSetParams1D(
    node: Raw,
    to: usize,
    from: usize,
    bytes: usize,
    direction: u32,
) -> Status {
    let name = "cudaGraphMemcpyNodeSetParams1D";
    prepared(name, || {
        replace(name, node, |driver| {
            copy_1d(driver, [to, from], bytes, direction)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphMemcpyNodeSetParamsToSymbol(
    node: Raw,
    symbol: usize,
    from: usize,
    bytes: usize,
    offset: usize,
    direction: u32,
) -> Status {
    let name = "cudaGraphMemcpyNodeSetParamsToSymbol";
    let to = Part {
        symbol,
        offset,
        bytes,
    };
    prepared(name, || {
        replace(name, node, |driver| to_symbol(driver, to, from, direction))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGraphMemcpyNodeSetParamsFromSymbol(
    node: Raw,
    to: usize,
    symbol: usize,
    bytes: usize,
    offset: usize,
    direction: u32,
) -> Status {
    let name = "cudaGraphMemcpyNodeSetParamsFromSymbol";
    let from = Part {
        symbol,
        offset,
        bytes,
    };
    prepared(name, || {
        replace(name, node, |driver| {
            from_symbol(driver, to, from, direction)
        })
    })
}
