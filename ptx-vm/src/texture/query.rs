//! The properties of textures, samplers and surfaces that instructions query.

use ptx_isa::Modifier;

use super::declared::{ADDRESS_MODES, ADDRESS_QUERIES, FILTER_MODES};
use super::description::{
    AddressMode, ArrayDescription, Coordinates, FilterMode, ReadMode, Sampler,
};
use super::format::ChannelType;
use super::store::{OpaqueObject, OpaqueVariable, Resolved};

/// Numbers of channel types in OpenCL. Manual 5.3.3.
const fn channel_number(channel: ChannelType, mode: ReadMode) -> u32 {
    let channel = match (mode, channel) {
        (ReadMode::NormalizedFloat, ChannelType::U8) => ChannelType::Unorm8,
        (ReadMode::NormalizedFloat, ChannelType::S8) => ChannelType::Snorm8,
        (ReadMode::NormalizedFloat, ChannelType::U16) => ChannelType::Unorm16,
        (ReadMode::NormalizedFloat, ChannelType::S16) => ChannelType::Snorm16,
        (_, channel) => channel,
    };
    match channel {
        ChannelType::Snorm8 => 0x10d0,
        ChannelType::Snorm16 => 0x10d1,
        ChannelType::Unorm8 => 0x10d2,
        ChannelType::Unorm16 => 0x10d3,
        ChannelType::S8 => 0x10d7,
        ChannelType::S16 => 0x10d8,
        ChannelType::S32 => 0x10d9,
        ChannelType::U8 => 0x10da,
        ChannelType::U16 => 0x10db,
        ChannelType::U32 => 0x10dc,
        ChannelType::F16 => 0x10dd,
        ChannelType::F32 => 0x10de,
    }
}

/// Numbers of channel orders in OpenCL: one, two or four channels. Manual 5.3.3.
const fn order_number(channels: u32) -> u32 {
    match channels {
        1 => 0x10b0,
        2 => 0x10b2,
        _ => 0x10b5,
    }
}

/// A property of an array at a level.
fn array_property(
    array: &ArrayDescription,
    mode: ReadMode,
    level: u32,
    query: Modifier,
) -> Option<u32> {
    let [width, height, depth] = array.level_size(level);
    // Numbers of parts are 0 where the array does not have such parts.
    let several = |count: u32| if count > 1 { count } else { 0 };
    Some(match query {
        Modifier::Width => width,
        Modifier::Height => height,
        Modifier::Depth => depth,
        Modifier::ChannelDataType => channel_number(array.format.channel, mode),
        Modifier::ChannelOrder => order_number(array.format.channels),
        Modifier::ArraySize => array.layers.unwrap_or(0),
        Modifier::NumMipmapLevels => several(array.levels),
        Modifier::NumSamples => several(array.samples),
        _ => return None,
    })
}

fn sampler_property(sampler: &Sampler, query: Modifier) -> Option<u32> {
    let address_number = |mode: AddressMode| ADDRESS_MODES.iter().position(|(_, m)| *m == mode);
    let filter_number = |mode: FilterMode| FILTER_MODES.iter().position(|(_, m)| *m == mode);
    if let Some(dimension) = ADDRESS_QUERIES.iter().position(|q| *q == query) {
        return address_number(sampler.address_modes[dimension]).map(|n| n as u32);
    }
    let is_normalized = sampler.coordinates == Coordinates::Normalized;
    Some(match query {
        Modifier::FilterMode => filter_number(sampler.filter)? as u32,
        Modifier::NormalizedCoords => is_normalized.into(),
        Modifier::ForceUnnormalizedCoords => (!is_normalized).into(),
        _ => return None,
    })
}

/// A property of an object; `None` if objects of its kind do not have it.
fn object_property(object: &OpaqueObject, level: u32, query: Modifier) -> Option<u32> {
    match object {
        OpaqueObject::Texture(texture) => {
            let description = &texture.description;
            array_property(
                &texture.array.description,
                description.read_mode,
                level,
                query,
            )
            .or_else(|| sampler_property(&description.sampler, query))
        }
        OpaqueObject::Sampler(sampler) => sampler_property(sampler, query),
        OpaqueObject::Surface(surface) => {
            if query == Modifier::MemoryLayout {
                return Some(surface.array.is_linear.into());
            }
            let array = &surface.array.description;
            array_property(array, ReadMode::ElementType, surface.level, query)
        }
    }
}

/// A property of a variable: of the object that it is bound to, or the declared one.
fn variable_property(variable: &OpaqueVariable, level: u32, query: Modifier) -> Option<u32> {
    match &variable.object {
        Some(object) => object_property(object, level, query),
        None => variable.declared.get(query).or_else(|| {
            let sampler = variable.declared.sampler(variable.kind);
            sampler_property(&sampler, query)
        }),
    }
}

/// A property of what an instruction names; `None` if it does not have it.
pub(crate) fn property(resolved: &Resolved<'_>, level: u32, query: Modifier) -> Option<u32> {
    match resolved {
        Resolved::Object(object) => object_property(object, level, query),
        Resolved::Variable(variable) => variable_property(variable, level, query),
    }
}

/// Whether a modifier selects a property.
pub(crate) fn is_query(modifier: Modifier) -> bool {
    modifier.class() == ptx_isa::ModifierClass::Query
}
