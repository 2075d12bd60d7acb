//! The types of the C interface, as the documentation of the API declares them.

pub mod arrays;
pub mod graph;

/// `CUuuid`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Uuid(pub [u8; 16]);

/// `CUipcMemHandle` and `cudaIpcMemHandle_t`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct IpcMemoryHandle(pub [u8; 64]);

/// `CUmemPoolPtrExportData` and `cudaMemPoolPtrExportData`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct ExportedPointer(pub [u8; 64]);

/// `CUipcEventHandle` and `cudaIpcEventHandle_t`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct IpcEventHandle(pub [u8; 64]);

/// The kinds of memory of a copy: `CUmemorytype`.
pub mod memory_type {
    /// The host.
    pub const HOST: u32 = 1;
    /// The device.
    pub const DEVICE: u32 = 2;
    /// An array.
    pub const ARRAY: u32 = 3;
    /// Any address.
    pub const UNIFIED: u32 = 4;
}

/// The kinds of places of memory: `CUmemLocationType` and `cudaMemLocationType`.
pub mod location {
    pub const DEVICE: u32 = 1;
    pub const HOST: u32 = 2;
    pub const HOST_NUMA: u32 = 3;
    /// The node of the current thread. It is the last kind.
    pub const HOST_NUMA_CURRENT: u32 = 4;
}

/// One end of a copy in `CUDA_MEMCPY2D`.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct Place2d {
    pub x_bytes: usize,
    pub y: usize,
    pub memory_type: u32,
    pub host: usize,
    pub device: u64,
    pub array: usize,
    pub pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct Copy2d {
    pub from: Place2d,
    pub to: Place2d,
    pub width_bytes: usize,
    pub height: usize,
}

/// One end of a copy in `CUDA_MEMCPY3D`.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct Place3d {
    pub x_bytes: usize,
    pub y: usize,
    pub z: usize,
    pub level: usize,
    pub memory_type: u32,
    pub host: usize,
    pub device: u64,
    pub array: usize,
    pub reserved: usize,
    pub pitch: usize,
    pub height: usize,
}

/// `CUDA_MEMCPY3D`, and `CUDA_MEMCPY3D_PEER`, where `reserved` is a context.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct Copy3d {
    pub from: Place3d,
    pub to: Place3d,
    pub width_bytes: usize,
    pub height: usize,
    pub depth: usize,
}

/// `CUlaunchAttribute`: the number of an attribute, and its value, whose type depends on the number.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct LaunchAttribute {
    pub number: u32,
    pub padding: u32,
    /// The 64 bytes of the value, as words.
    pub value: [u32; 16],
}

/// The numbers of attributes of launches: `CUlaunchAttributeID`.
pub mod launch_attribute {
    pub const COOPERATIVE: u32 = 2;
    pub const CLUSTER_DIMENSION: u32 = 4;
    pub const PROGRAMMATIC_STREAM_SERIALIZATION: u32 = 6;
    pub const PROGRAMMATIC_EVENT: u32 = 7;
}

/// `CUlaunchConfig`.
#[derive(Copy, Clone, Debug)]
#[repr(C)]
pub struct LaunchConfig {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
    pub stream: usize,
    pub attributes: *const LaunchAttribute,
    pub attribute_count: u32,
}
