//! Textures, samplers and surfaces: arrays and their formats, objects, and the values that reads return.

mod address;
mod cube;
mod declared;
mod description;
mod format;
mod part;
mod query;
mod sample;
mod store;
mod text;

pub use description::{
    AddressMode, Array, ArrayDescription, ColorEncoding, Comparison, Coordinates, CubeEdges,
    Extent, FilterMode, ReadMode, Sampler, TexelBox, TextureDescription, TextureError,
};
pub(crate) use format::single_to_half;
pub use format::{ChannelType, TexelFormat};
pub use part::ArrayPart;
pub(crate) use query::{is_query, property};
pub(crate) use sample::{Detail, Lookup, Position, Sampled, TexelAddress, Texels, View};
pub(crate) use store::{
    ArrayData, OpaqueKind, OpaqueObject, Resolved, SurfaceObject, TextureObject, TextureStore,
};
