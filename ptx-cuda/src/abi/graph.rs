//! The types of graphs and of operations of streams on memory.

use super::Copy3d;

/// `CUgraphEdgeData`.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
#[repr(C)]
pub struct EdgeData {
    pub from_port: u8,
    pub to_port: u8,
    pub kind: u8,
    pub reserved: [u8; 5],
}

/// `CUstreamBatchMemOpParams`, a union of structures, as words.
///
/// ```text
///             0             1               2        3
/// wait,       kind          address         value    flags
/// write
/// reduction   kind, flags   operation,type  address  value
/// barrier     kind, flags
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct StreamMemoryOperation {
    pub words: [u64; 6],
}

/// `CUDA_BATCH_MEM_OP_NODE_PARAMS`.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct MemoryNode {
    pub context: usize,
    pub count: u32,
    pub operations: *const StreamMemoryOperation,
    pub flags: u32,
}

/// `CUDA_KERNEL_NODE_PARAMS_v1`.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct KernelNodeV1 {
    pub function: usize,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub arguments: usize,
    pub extra: usize,
}

/// `CUDA_KERNEL_NODE_PARAMS_v2` and `_v3`.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct KernelNode {
    pub first: KernelNodeV1,
    pub kernel: usize,
    pub context: usize,
}

/// `CUDA_MEMSET_NODE_PARAMS_v1`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct FillNode {
    pub address: u64,
    pub pitch: usize,
    pub value: u32,
    pub value_bytes: u32,
    pub width: usize,
    pub height: usize,
}

/// `CUDA_HOST_NODE_PARAMS_v1`.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct HostNode {
    pub function: Option<extern "C" fn(usize)>,
    pub data: usize,
}

/// `CUDA_MEMCPY_NODE_PARAMS`.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct CopyNode {
    pub flags: i32,
    pub reserved: i32,
    pub context: usize,
    pub copy: Copy3d,
}

/// `CUmemLocation` and `cudaMemLocation`.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
#[repr(C)]
pub struct MemoryLocation {
    pub kind: u32,
    pub number: i32,
}

/// `CUmemAccessDesc` and `cudaMemAccessDesc`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct MemoryAccess {
    pub location: MemoryLocation,
    pub flags: u32,
}

/// `CUmemPoolProps` and `cudaMemPoolProps`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct PoolProperties {
    pub allocation_type: u32,
    pub handle_types: u32,
    pub location: MemoryLocation,
    pub security: usize,
    pub limit_bytes: usize,
    pub usage: u16,
    pub reserved: [u8; 54],
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS_v1` and `_v2`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct AllocationNode {
    pub pool: PoolProperties,
    pub access: usize,
    pub access_count: usize,
    pub bytes: usize,
    /// The address, which the driver sets.
    pub address: u64,
}

/// `CUDA_CHILD_GRAPH_NODE_PARAMS`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct ChildNode {
    pub graph: usize,
    pub ownership: i32,
}

/// `CUDA_CONDITIONAL_NODE_PARAMS`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct ConditionalNode {
    pub handle: u64,
    pub kind: u32,
    pub size: u32,
    /// The array of the graphs of the node, which the driver sets.
    pub graphs: usize,
    pub context: usize,
}

/// `CUgraphNodeParams`: the type of a node, and a union of structures, as words.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct NodeParameters {
    pub kind: u32,
    pub reserved: [i32; 3],
    pub words: [u64; 29],
    pub last: i64,
}

/// `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct InstantiateParameters {
    pub flags: u64,
    pub upload_stream: usize,
    pub error_node: usize,
    pub result: u32,
}

/// `CUgraphExecUpdateResultInfo`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct UpdateResult {
    pub result: u32,
    pub error_node: usize,
    pub error_from_node: usize,
}

/// The numbers of types of nodes.
pub mod node_type {
    pub const KERNEL: u32 = 0;
    pub const COPY: u32 = 1;
    pub const FILL: u32 = 2;
    pub const HOST: u32 = 3;
    pub const CHILD: u32 = 4;
    pub const EMPTY: u32 = 5;
    pub const WAIT_EVENT: u32 = 6;
    pub const RECORD_EVENT: u32 = 7;
    pub const ALLOCATION: u32 = 10;
    pub const FREE: u32 = 11;
    pub const MEMORY_OPERATIONS: u32 = 12;
    pub const CONDITIONAL: u32 = 13;
}

const _: () = {
    assert!(size_of::<NodeParameters>() == 256);
    assert!(size_of::<PoolProperties>() == 88);
    assert!(size_of::<AllocationNode>() == 120);
    assert!(size_of::<KernelNode>() == 72);
    assert!(size_of::<CopyNode>() == 216);
    assert!(size_of::<FillNode>() == 40);
    assert!(size_of::<ConditionalNode>() == 32);
    assert!(size_of::<StreamMemoryOperation>() == 48);
    assert!(size_of::<MemoryNode>() == 32);
};
