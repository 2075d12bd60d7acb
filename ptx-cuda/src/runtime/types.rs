//! The structures of the runtime API, as its documentation declares them.

/// `dim3`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

impl Dim3 {
    /// The sizes in the three dimensions.
    pub const fn sizes(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

/// `cudaPitchedPtr`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct PitchedPointer {
    pub pointer: usize,
    pub pitch: usize,
    pub width: usize,
    pub height: usize,
}

/// `cudaPos`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Position {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

/// `cudaExtent`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Extent {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// `cudaMemcpy3DParms`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Copy3dParameters {
    pub from_array: usize,
    pub from_position: Position,
    pub from: PitchedPointer,
    pub to_array: usize,
    pub to_position: Position,
    pub to: PitchedPointer,
    pub extent: Extent,
    pub kind: u32,
}

/// `cudaMemcpy3DPeerParms`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Copy3dPeerParameters {
    pub from_array: usize,
    pub from_position: Position,
    pub from: PitchedPointer,
    pub from_device: i32,
    pub to_array: usize,
    pub to_position: Position,
    pub to: PitchedPointer,
    pub to_device: i32,
    pub extent: Extent,
}

/// `cudaPointerAttributes`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct PointerAttributes {
    pub memory_type: u32,
    pub device: i32,
    pub device_pointer: usize,
    pub host_pointer: usize,
    /// CUDA 13 only.
    pub reserved: [i64; 8],
}

/// `cudaFuncAttributes`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct FunctionAttributes {
    pub shared_bytes: usize,
    pub constant_bytes: usize,
    pub local_bytes: usize,
    pub max_threads_per_block: i32,
    pub registers: i32,
    pub ptx_version: i32,
    pub binary_version: i32,
    pub caches_as_marked: i32,
    pub max_dynamic_shared_bytes: i32,
    pub preferred_shared_carveout: i32,
    pub requires_cluster: i32,
    pub required_cluster: [i32; 3],
    pub cluster_scheduling_policy: i32,
    pub allows_non_portable_clusters: i32,
    pub reserved: [i32; 16],
}

/// `cudaLaunchConfig_t`.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct LaunchConfig {
    pub grid: Dim3,
    pub block: Dim3,
    pub shared_bytes: usize,
    pub stream: usize,
    pub attributes: *const crate::abi::LaunchAttribute,
    pub attribute_count: u32,
}
