//! The structures of arrays, textures and surfaces.

/// `CUDA_ARRAY_DESCRIPTOR`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct ImageDescriptor {
    pub width: usize,
    pub height: usize,
    pub format: u32,
    pub channels: u32,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct ArrayDescriptor {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub format: u32,
    pub channels: u32,
    pub flags: u32,
}

/// The flags of arrays, which are the same in both APIs.
pub mod array_flag {
    pub const LAYERED: u32 = 1;
    pub const SURFACE: u32 = 2;
    pub const CUBEMAP: u32 = 4;
    pub const GATHER: u32 = 8;
    pub const COLOR_ATTACHMENT: u32 = 0x20;
    /// All flags that have a meaning, also those that are not supported.
    pub const ALL: u32 = 0x1ff;
}

/// `CUDA_ARRAY_MEMORY_REQUIREMENTS`, and `cudaArrayMemoryRequirements`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct ArrayMemory {
    pub bytes: usize,
    pub alignment: usize,
    pub reserved: [u32; 4],
}

/// The kinds of resources of textures and surfaces: `CUresourcetype` and `cudaResourceType`.
pub mod resource_type {
    pub const ARRAY: u32 = 0;
    pub const MIPMAP: u32 = 1;
    pub const LINEAR: u32 = 2;
    pub const PITCH: u32 = 3;
}

/// `CUDA_RESOURCE_DESC` and `cudaResourceDesc`, whose unions differ.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct ResourceDescriptor {
    pub resource_type: u32,
    /// The union, as little-endian words.
    pub words: [u64; 16],
    pub flags: u32,
}

/// `CUDA_TEXTURE_DESC`.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
#[repr(C)]
pub struct TextureDescriptor {
    pub address_modes: [u32; 3],
    pub filter: u32,
    pub flags: u32,
    pub max_anisotropy: u32,
    pub level_filter: u32,
    pub level_bias: f32,
    pub min_level: f32,
    pub max_level: f32,
    pub border_color: [f32; 4],
    pub reserved: [i32; 12],
}

/// The flags of textures and texture references.
pub mod texture_flag {
    pub const READ_AS_INTEGER: u32 = 1;
    pub const NORMALIZED_COORDINATES: u32 = 2;
    pub const SRGB: u32 = 0x10;
    pub const DISABLE_TRILINEAR_OPTIMIZATION: u32 = 0x20;
    pub const SEAMLESS_CUBEMAP: u32 = 0x40;
}

/// `CUDA_RESOURCE_VIEW_DESC` and `cudaResourceViewDesc`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct ResourceView {
    pub format: u32,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub first_level: u32,
    pub last_level: u32,
    pub first_layer: u32,
    pub last_layer: u32,
    pub reserved: [u32; 16],
}

/// `cudaChannelFormatDesc`: the bits of four channels and their kind.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct ChannelFormat {
    pub bits: [i32; 4],
    pub kind: u32,
}

/// `cudaTextureDesc`.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
#[repr(C)]
pub struct RuntimeTextureDescriptor {
    pub address_modes: [u32; 3],
    pub filter: u32,
    pub read_mode: u32,
    pub srgb: i32,
    pub border_color: [f32; 4],
    pub normalized_coordinates: i32,
    pub max_anisotropy: u32,
    pub level_filter: u32,
    pub level_bias: f32,
    pub min_level: f32,
    pub max_level: f32,
    pub disable_trilinear_optimization: i32,
    pub seamless_cubemap: i32,
}

/// `CUmemcpyAttributes`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct CopyAttributes {
    pub source_order: u32,
    pub source_location: [u32; 2],
    pub target_location: [u32; 2],
    pub flags: u32,
}

/// The kinds of operands of copies in batches: `CUmemcpy3DOperandType`.
pub mod operand_type {
    pub const POINTER: u32 = 1;
    pub const ARRAY: u32 = 2;
}

/// `CUmemcpy3DOperand`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct BatchOperand {
    pub operand_type: u32,
    /// The union: the address, the length of rows and the height of layers; or the array and the position in it.
    pub words: [u64; 4],
}

/// `CUDA_MEMCPY3D_BATCH_OP`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct BatchCopy {
    pub from: BatchOperand,
    pub to: BatchOperand,
    pub extent: [usize; 3],
    pub source_order: u32,
    pub flags: u32,
}
