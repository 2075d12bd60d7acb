//! The parameters of nodes of graphs: from the structures of the program to operations, and back.

use super::copy::copy_3d;
use super::launch::{Arguments, launch_operation};
use super::stream_memory;
use crate::abi::graph::{
    AllocationNode, ChildNode, ConditionalNode, CopyNode, FillNode, HostNode, KernelNode,
    KernelNodeV1, MemoryLocation, MemoryNode, NodeParameters, PoolProperties, node_type,
};
use crate::abi::{Copy3d, Place3d, memory_type};
use crate::caller;
use crate::handles::Raw;
use crate::state::{
    ConditionalKind, Copy, Driver, Fill, HostFunction, KernelLaunch, Operation, Place, Region, Work,
};
use crate::status::{Outcome, Status};

/// The number of the type of a node.
pub(crate) fn node_type_of(work: &Work) -> Outcome<u32> {
    Ok(match work {
        Work::Operation(operation) => match operation {
            Operation::Empty => node_type::EMPTY,
            Operation::Launch(_) => node_type::KERNEL,
            Operation::Copy(_) => node_type::COPY,
            Operation::Fill(_) => node_type::FILL,
            Operation::Host(_) => node_type::HOST,
            Operation::Record(_) | Operation::RecordExternal(_) => node_type::RECORD_EVENT,
            Operation::Wait(_) | Operation::WaitExternal(_) => node_type::WAIT_EVENT,
            Operation::Free(_) => node_type::FREE,
            Operation::Memory(_) => node_type::MEMORY_OPERATIONS,
            Operation::Graph(_) | Operation::Nothing => return Err(Status::NOT_SUPPORTED),
        },
        Work::Child(_) => node_type::CHILD,
        Work::Allocate { .. } => node_type::ALLOCATION,
        Work::Conditional { .. } => node_type::CONDITIONAL,
    })
}

/// The launch of a kernel.
pub(crate) fn kernel_operation(driver: &Driver, node: &KernelNode) -> Outcome<Operation> {
    let first = &node.first;
    let kernel = if first.function == 0 {
        node.kernel
    } else {
        first.function
    };
    let arguments = Arguments {
        pointers: first.arguments as *const _,
        extra: first.extra as *const _,
    };
    let launch = KernelLaunch {
        kernel,
        grid: first.grid,
        block: first.block,
        cluster: [1; 3],
        shared: first.shared_bytes,
        cooperative: false,
        arguments: arguments.bytes(driver, kernel)?,
    };
    launch_operation(driver, launch)
}

/// The structure with the fields that the first version does not have.
pub(crate) const fn kernel_node(first: KernelNodeV1) -> KernelNode {
    KernelNode {
        first,
        kernel: 0,
        context: 0,
    }
}

/// The parameters of a node with a kernel. The arguments are valid until the node changes.
pub(crate) fn kernel_parameters(driver: &mut Driver, node: Raw) -> Outcome<KernelNode> {
    let context = driver.current_context().unwrap_or(0);
    let node = driver.nodes.get_mut(node)?;
    let Work::Operation(Operation::Launch(launch)) = &node.work else {
        return Err(Status::INVALID_VALUE);
    };
    let arguments = launch.arguments.iter();
    let addresses = arguments.map(|argument| argument.as_ptr().expose_provenance());
    node.shared_words = addresses.collect();
    let pointers = if node.shared_words.is_empty() {
        0
    } else {
        node.shared_words.as_ptr().expose_provenance()
    };
    let first = KernelNodeV1 {
        function: launch.kernel,
        grid: launch.grid,
        block: launch.block,
        shared_bytes: launch.shared,
        arguments: pointers,
        extra: 0,
    };
    Ok(KernelNode {
        first,
        kernel: 0,
        context,
    })
}

/// The operation that replaces another one in a node: a kernel keeps the attributes of the one before.
pub(crate) fn replacing(old: &Operation, mut new: Operation) -> Operation {
    if let (Operation::Launch(old), Operation::Launch(new)) = (old, &mut new) {
        new.cluster = old.cluster;
        new.cooperative = old.cooperative;
    }
    new
}

/// The copy that a structure describes.
pub(crate) fn copy_operation(driver: &Driver, copy: Option<&Copy3d>) -> Outcome<Operation> {
    let copy = copy_3d(copy)?;
    driver.check_copy(&copy)?;
    Ok(Operation::Copy(copy))
}

/// The structure for one end of a copy.
fn place_parameters(driver: &Driver, place: Place) -> Place3d {
    let mut parameters = Place3d {
        x_bytes: 0,
        y: 0,
        z: 0,
        level: 0,
        memory_type: memory_type::HOST,
        host: 0,
        device: 0,
        array: 0,
        reserved: 0,
        pitch: 0,
        height: 0,
    };
    match place {
        Place::Address {
            address,
            row,
            layer,
            ..
        } => {
            if driver.memory.arena.contains(address) {
                parameters.memory_type = memory_type::DEVICE;
                parameters.device = address;
            } else {
                parameters.host = address as usize;
            }
            parameters.pitch = row as usize;
            parameters.height = layer.checked_div(row).unwrap_or(0) as usize;
        }
        Place::Array {
            array, position, ..
        } => {
            parameters.memory_type = memory_type::ARRAY;
            parameters.array = array;
            parameters.x_bytes = position[0] as usize;
            parameters.y = position[1] as usize;
            parameters.z = position[2] as usize;
        }
        Place::ArrayBytes { array, offset } => {
            parameters.memory_type = memory_type::ARRAY;
            parameters.array = array;
            parameters.x_bytes = offset as usize;
        }
    }
    parameters
}

/// The structure that describes a copy. Offsets are part of addresses.
pub(crate) fn copy_parameters(driver: &Driver, work: &Work) -> Outcome<Copy3d> {
    let Work::Operation(Operation::Copy(Copy {
        from,
        to,
        region:
            Region {
                bytes,
                rows,
                layers,
                ..
            },
        ..
    })) = *work
    else {
        return Err(Status::INVALID_VALUE);
    };
    Ok(Copy3d {
        from: place_parameters(driver, from),
        to: place_parameters(driver, to),
        width_bytes: bytes as usize,
        height: rows as usize,
        depth: layers as usize,
    })
}

/// The fill that a structure describes.
pub(crate) fn fill_operation(driver: &Driver, node: &FillNode) -> Outcome<Operation> {
    if !matches!(node.value_bytes, 1 | 2 | 4) {
        return Err(Status::INVALID_VALUE);
    }
    let fill = Fill {
        address: node.address,
        pitch: node.pitch as u64,
        value: node.value,
        width: node.value_bytes.into(),
        values: node.width as u64,
        rows: node.height as u64,
    };
    driver.check_fill(&fill)?;
    Ok(Operation::Fill(fill))
}

/// The structure that describes a fill.
pub(crate) fn fill_parameters(work: &Work) -> Outcome<FillNode> {
    match work {
        Work::Operation(Operation::Fill(fill)) => Ok(FillNode {
            address: fill.address,
            pitch: fill.pitch as usize,
            value: fill.value,
            value_bytes: fill.width as u32,
            width: fill.values as usize,
            height: fill.rows as usize,
        }),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The call that a structure describes.
pub(crate) fn host_operation(node: &HostNode) -> Outcome<Operation> {
    let function = node.function.ok_or(Status::INVALID_VALUE)?;
    Ok(Operation::Host(HostFunction::Plain(function, node.data)))
}

/// The structure that describes a call.
pub(crate) fn host_parameters(work: &Work) -> Outcome<HostNode> {
    match work {
        Work::Operation(Operation::Host(HostFunction::Plain(function, data))) => Ok(HostNode {
            function: Some(*function),
            data: *data,
        }),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The operations on memory that a structure describes.
pub(crate) fn memory_operation(driver: &Driver, node: &MemoryNode) -> Outcome<Operation> {
    let list = stream_memory::operations(driver, node.count, node.operations, node.flags)?;
    Ok(Operation::Memory(list))
}

/// The structure that describes operations on memory, which is valid until the node changes.
pub(crate) fn memory_parameters(driver: &mut Driver, node: Raw) -> Outcome<MemoryNode> {
    let context = driver.current_context().unwrap_or(0);
    let node = driver.nodes.get_mut(node)?;
    let Work::Operation(Operation::Memory(list)) = &node.work else {
        return Err(Status::INVALID_VALUE);
    };
    let words = list.iter().flat_map(|operation| {
        let description = stream_memory::description(operation);
        description.words.map(|word| word as usize)
    });
    let count = list.len() as u32;
    node.shared_words = words.collect();
    Ok(MemoryNode {
        context,
        count,
        operations: node.shared_words.as_ptr().cast(),
        flags: 0,
    })
}

/// The structure that describes a node that allocates memory.
pub(crate) fn allocation_parameters(work: &Work) -> Outcome<AllocationNode> {
    match work {
        Work::Allocate { address, bytes } => Ok(AllocationNode {
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
            bytes: *bytes as usize,
            address: *address,
        }),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The kind of a conditional node.
pub(crate) fn conditional_kind(node: &ConditionalNode) -> Outcome<ConditionalKind> {
    const LIMIT: u32 = 1 << 16;
    match (node.kind, node.size) {
        (0, 1 | 2) => Ok(ConditionalKind::If),
        (1, 1) => Ok(ConditionalKind::While),
        (2, 1..=LIMIT) => Ok(ConditionalKind::Switch),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The structure of a type in the parameters of a node of any type.
pub(crate) fn part<T: std::marker::Copy>(parameters: &NodeParameters) -> Outcome<T> {
    const { assert!(size_of::<T>() <= size_of::<[u64; 29]>()) };
    caller::read(parameters.words.as_ptr().cast())
}

/// Writes the structure of a type to the parameters of a node of any type.
pub(crate) fn set_part<T: std::marker::Copy>(parameters: &mut NodeParameters, part: T) {
    const { assert!(size_of::<T>() <= size_of::<[u64; 29]>()) };
    let from = (&raw const part).expose_provenance();
    let to = parameters.words.as_mut_ptr().expose_provenance();
    caller::copy(from, to, size_of::<T>());
}

/// The operation that the parameters of a node of any type describe; not that of nodes with graphs or allocations.
pub(crate) fn any_operation(driver: &Driver, parameters: &NodeParameters) -> Outcome<Operation> {
    let event = |word: u64| {
        let event = word as Raw;
        driver.events.get(event).map(|_| event)
    };
    match parameters.kind {
        node_type::KERNEL => kernel_operation(driver, &part(parameters)?),
        node_type::COPY => copy_operation(driver, Some(&part::<CopyNode>(parameters)?.copy)),
        node_type::FILL => fill_operation(driver, &part(parameters)?),
        node_type::HOST => host_operation(&part(parameters)?),
        node_type::EMPTY => Ok(Operation::Empty),
        node_type::WAIT_EVENT => Ok(Operation::Wait(event(parameters.words[0])?)),
        node_type::RECORD_EVENT => Ok(Operation::Record(event(parameters.words[0])?)),
        node_type::FREE => driver.graph_free(parameters.words[0]),
        node_type::MEMORY_OPERATIONS => memory_operation(driver, &part(parameters)?),
        node_type::CHILD | node_type::ALLOCATION | node_type::CONDITIONAL => {
            Err(Status::INVALID_VALUE)
        }
        _ => Err(Status::NOT_SUPPORTED),
    }
}

/// The parameters of a node of any type.
pub(crate) fn any_parameters(driver: &mut Driver, node: Raw) -> Outcome<NodeParameters> {
    let work = driver.nodes.get(node)?.work.clone();
    let mut parameters = NodeParameters {
        kind: node_type_of(&work)?,
        reserved: [0; 3],
        words: [0; 29],
        last: 0,
    };
    match &work {
        Work::Operation(operation) => match operation {
            Operation::Launch(_) => {
                let kernel = kernel_parameters(driver, node)?;
                set_part(&mut parameters, kernel);
            }
            Operation::Copy(_) => {
                let copy = CopyNode {
                    flags: 0,
                    reserved: 0,
                    context: driver.current_context().unwrap_or(0),
                    copy: copy_parameters(driver, &work)?,
                };
                set_part(&mut parameters, copy);
            }
            Operation::Fill(_) => set_part(&mut parameters, fill_parameters(&work)?),
            Operation::Host(_) => set_part(&mut parameters, host_parameters(&work)?),
            Operation::Record(event) | Operation::Wait(event) => {
                parameters.words[0] = *event as u64;
            }
            Operation::Free(address) => parameters.words[0] = *address,
            Operation::Memory(_) => {
                let list = memory_parameters(driver, node)?;
                set_part(&mut parameters, list);
            }
            _ => {}
        },
        Work::Child(graph) => {
            let child = ChildNode {
                graph: *graph,
                ownership: 0,
            };
            set_part(&mut parameters, child);
        }
        Work::Allocate { .. } => set_part(&mut parameters, allocation_parameters(&work)?),
        Work::Conditional {
            condition,
            kind,
            bodies,
        } => {
            let conditional = ConditionalNode {
                handle: *condition,
                kind: *kind as u32,
                size: bodies.len() as u32,
                graphs: bodies_of(driver, node)?,
                context: 0,
            };
            set_part(&mut parameters, conditional);
        }
    }
    Ok(parameters)
}

/// The address of the array of graphs of a conditional node, which lives as long as the node.
pub(crate) fn bodies_of(driver: &Driver, node: Raw) -> Outcome<usize> {
    match &driver.nodes.get(node)?.work {
        Work::Conditional { bodies, .. } => Ok(bodies.as_ptr().expose_provenance()),
        _ => Err(Status::INVALID_VALUE),
    }
}
