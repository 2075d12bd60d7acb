//! Textures and surfaces.

use ptx_vm::{
    AddressMode, ArrayDescription, ArrayPart, ColorEncoding, Coordinates, CubeEdges, FilterMode,
    ReadMode, Sampler, TexelFormat, TextureDescription,
};

use super::arrays::{ARRAY_ALIGNMENT, CudaArray, refused};
use super::attributes::attribute;
use super::{Driver, formats};
use crate::abi::arrays::{ResourceView, TextureDescriptor, array_flag, texture_flag};
use crate::handles::Raw;
use crate::status::{Outcome, Status};

/// Memory that a texture or a surface accesses.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Resource {
    Array(Raw),
    Mipmap(Raw),
    /// Texels that follow each other.
    Linear {
        address: u64,
        format: u32,
        channels: u32,
        bytes: u64,
    },
    /// Rows of texels that begin `pitch` bytes after each other.
    Rows {
        address: u64,
        format: u32,
        channels: u32,
        width: u64,
        height: u64,
        pitch: u64,
    },
}

/// A texture, as the program described it. Its handle is that of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Texture {
    pub(crate) resource: Resource,
    pub(crate) descriptor: TextureDescriptor,
    pub(crate) view: Option<ResourceView>,
    /// The context that owns it.
    context: Raw,
}

/// A surface. Its handle is that of the machine.
#[derive(Clone, Debug)]
pub(crate) struct Surface {
    pub(crate) array: Raw,
    /// The context that owns it.
    context: Raw,
}

/// The numbers of attributes of the device.
mod limit {
    pub(super) const PITCH_ALIGNMENT: u32 = 51;
    pub(super) const LINEAR_WIDTH: u32 = 69;
    pub(super) const PITCH_WIDTH: u32 = 70;
    pub(super) const PITCH_HEIGHT: u32 = 71;
    pub(super) const PITCH: u32 = 72;
}

const ALL_FLAGS: u32 = texture_flag::READ_AS_INTEGER
    | texture_flag::NORMALIZED_COORDINATES
    | texture_flag::SRGB
    | texture_flag::DISABLE_TRILINEAR_OPTIMIZATION
    | texture_flag::SEAMLESS_CUBEMAP;

impl Driver {
    /// Creates a texture.
    pub(crate) fn create_texture(
        &mut self,
        resource: Resource,
        descriptor: &TextureDescriptor,
        view: Option<&ResourceView>,
    ) -> Outcome<u64> {
        let context = self.current_context()?;
        let handle = self.create_machine_texture(resource, descriptor, view)?;
        self.textures.insert(
            handle,
            Texture {
                resource,
                descriptor: *descriptor,
                view: view.copied(),
                context,
            },
        );
        Ok(handle)
    }

    /// Destroys a texture.
    pub(crate) fn destroy_texture(&mut self, handle: u64) -> Outcome<()> {
        self.textures.remove(&handle).ok_or(Status::INVALID_VALUE)?;
        let destroyed = self.device.destroy_texture(handle);
        destroyed.map_err(|error| refused(&error))
    }

    /// The texture of a handle.
    pub(crate) fn texture(&self, handle: u64) -> Outcome<&Texture> {
        self.textures.get(&handle).ok_or(Status::INVALID_VALUE)
    }

    /// Creates a surface of an array that was created for surfaces.
    pub(crate) fn create_surface(&mut self, handle: Raw) -> Outcome<u64> {
        let context = self.current_context()?;
        let array = self.arrays.get(handle)?;
        if array.descriptor.flags & array_flag::SURFACE == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let surface = self.device.create_surface(array.array, array.level);
        let surface = surface.map_err(|error| refused(&error))?;
        self.surfaces.insert(
            surface,
            Surface {
                array: handle,
                context,
            },
        );
        Ok(surface)
    }

    /// Destroys a surface.
    pub(crate) fn destroy_surface(&mut self, handle: u64) -> Outcome<()> {
        self.surfaces.remove(&handle).ok_or(Status::INVALID_VALUE)?;
        let destroyed = self.device.destroy_surface(handle);
        destroyed.map_err(|error| refused(&error))
    }

    /// The surface of a handle.
    pub(crate) fn surface(&self, handle: u64) -> Outcome<&Surface> {
        self.surfaces.get(&handle).ok_or(Status::INVALID_VALUE)
    }

    /// Destroys the textures and surfaces that a context owns.
    pub(crate) fn destroy_textures_of(&mut self, context: Raw) {
        let textures = self.textures.iter().filter(|(_, t)| t.context == context);
        let textures: Vec<u64> = textures.map(|(handle, _)| *handle).collect();
        for texture in textures {
            let _ = self.destroy_texture(texture);
        }
        let surfaces = self.surfaces.iter().filter(|(_, s)| s.context == context);
        let surfaces: Vec<u64> = surfaces.map(|(handle, _)| *handle).collect();
        for surface in surfaces {
            let _ = self.destroy_surface(surface);
        }
    }

    /// Creates a texture of the machine.
    pub(super) fn create_machine_texture(
        &mut self,
        resource: Resource,
        descriptor: &TextureDescriptor,
        view: Option<&ResourceView>,
    ) -> Outcome<u64> {
        if let Resource::Array(_) | Resource::Mipmap(_) = resource {
            return self.create_array_texture(resource, descriptor, view);
        }
        if view.is_some() {
            return Err(Status::INVALID_VALUE);
        }
        let created = match resource {
            Resource::Linear {
                address,
                format,
                channels,
                bytes,
            } => {
                let format = formats::texel_format(format, channels)?;
                let texels = bytes / u64::from(format.bytes());
                let address = self.check_linear(address, bytes)?;
                if !(1..=self.largest(limit::LINEAR_WIDTH)?).contains(&texels) {
                    return Err(Status::INVALID_VALUE);
                }
                // Such textures are not filtered, and have no address modes.
                let plain = TextureDescriptor {
                    flags: descriptor.flags & texture_flag::READ_AS_INTEGER,
                    ..TextureDescriptor::default()
                };
                let description = describe(&plain, format)?;
                self.device
                    .create_linear_texture(address, texels, format, &description)
            }
            Resource::Rows {
                address,
                format,
                channels,
                width,
                height,
                pitch,
            } => {
                let format = formats::texel_format(format, channels)?;
                let size = self.check_rows_size(width, height, pitch)?;
                let row_bytes = width * u64::from(format.bytes());
                if pitch < row_bytes {
                    return Err(Status::INVALID_VALUE);
                }
                let bytes = (height - 1) * pitch + row_bytes;
                let address = self.check_linear(address, bytes)?;
                let description = describe(descriptor, format)?;
                self.device
                    .create_pitch_texture(address, size, pitch, format, &description)
            }
            Resource::Array(_) | Resource::Mipmap(_) => return Err(Status::INVALID_VALUE),
        };
        created.map_err(|error| refused(&error))
    }

    fn create_array_texture(
        &mut self,
        resource: Resource,
        descriptor: &TextureDescriptor,
        view: Option<&ResourceView>,
    ) -> Outcome<u64> {
        let is_normalized = descriptor.flags & texture_flag::NORMALIZED_COORDINATES != 0;
        let mut array = match resource {
            Resource::Mipmap(handle) => {
                if !is_normalized {
                    return Err(Status::INVALID_VALUE);
                }
                let mipmap = self.mipmaps.get(handle)?;
                Source {
                    array: mipmap.array,
                    description: mipmap.description,
                    part: ArrayPart::levels(0..mipmap.description.levels),
                }
            }
            Resource::Array(handle) => Source::level(self.arrays.get(handle)?),
            _ => return Err(Status::INVALID_VALUE),
        };
        if let Some(view) = view {
            array.restrict(view)?;
        }
        let format = array.part.format.unwrap_or(array.description.format);
        let is_cube = matches!(array.description.extent, ptx_vm::Extent::Cube { .. });
        if descriptor.flags & texture_flag::SEAMLESS_CUBEMAP != 0 && !is_cube {
            return Err(Status::INVALID_VALUE);
        }
        let description = describe(descriptor, format)?;
        let created = self
            .device
            .create_texture_of_part(array.array, &array.part, &description);
        created.map_err(|error| refused(&error))
    }

    /// The address on the device of linear memory for a texture, which must be aligned and within one allocation.
    fn check_linear(&self, address: u64, bytes: u64) -> Outcome<u64> {
        let address = self.device_address(address)?;
        if bytes == 0 || !address.is_multiple_of(ARRAY_ALIGNMENT as u64) {
            return Err(Status::INVALID_VALUE);
        }
        self.memory.check(address, bytes)?;
        Ok(address)
    }

    fn largest(&self, number: u32) -> Outcome<u64> {
        Ok(u64::try_from(attribute(self, number)?).unwrap_or(0))
    }

    /// Checks the size of an image in linear memory, and the distance between its rows.
    fn check_rows_size(&self, width: u64, height: u64, pitch: u64) -> Outcome<[u32; 2]> {
        let alignment = self.largest(limit::PITCH_ALIGNMENT)?;
        let is_within = (1..=self.largest(limit::PITCH_WIDTH)?).contains(&width)
            && (1..=self.largest(limit::PITCH_HEIGHT)?).contains(&height)
            && pitch <= self.largest(limit::PITCH)?
            && pitch.is_multiple_of(alignment);
        if is_within {
            Ok([width as u32, height as u32])
        } else {
            Err(Status::INVALID_VALUE)
        }
    }
}

/// The part of an array that a texture reads.
struct Source {
    array: ptx_vm::Array,
    description: ArrayDescription,
    part: ArrayPart,
}

impl Source {
    /// The level that an array is.
    fn level(array: &CudaArray) -> Self {
        Self {
            array: array.array,
            description: array.description,
            part: ArrayPart::levels(array.level..array.level + 1),
        }
    }

    /// Restricts the part to a view, whose levels and layers are relative to it.
    fn restrict(&mut self, view: &ResourceView) -> Outcome<()> {
        let invalid = Status::INVALID_VALUE;
        if let Some(format) = formats::view_format(view.format)? {
            if format.bytes() != self.description.format.bytes() {
                return Err(invalid);
            }
            self.part.format = Some(format);
        }
        let base = self.description.level(self.part.levels.start);
        let (size, images_of_layer) = match base.extent {
            ptx_vm::Extent::Line { width } => ([width, 0], 1),
            ptx_vm::Extent::Image { width, height }
            | ptx_vm::Extent::Volume { width, height, .. } => ([width, height], 1),
            ptx_vm::Extent::Cube { edge } => ([edge, edge], 6),
            _ => return Err(Status::NOT_SUPPORTED),
        };
        let depth = match (base.extent, base.layers) {
            (ptx_vm::Extent::Volume { depth, .. }, _) => depth,
            (_, Some(layers)) => layers * images_of_layer,
            (ptx_vm::Extent::Cube { .. }, None) => 6,
            _ => 0,
        };
        let expected = [size[0], size[1], depth].map(|size| size as usize);
        if [view.width, view.height, view.depth] != expected {
            return Err(invalid);
        }
        let levels = self.part.levels.end - self.part.levels.start;
        if view.first_level > view.last_level || view.last_level >= levels {
            return Err(invalid);
        }
        let first = self.part.levels.start;
        self.part.levels = first + view.first_level..first + view.last_level + 1;
        match base.layers {
            Some(layers) => {
                let is_whole = view.first_layer.is_multiple_of(images_of_layer)
                    && (u64::from(view.last_layer) + 1).is_multiple_of(images_of_layer.into());
                if !is_whole
                    || view.first_layer > view.last_layer
                    || view.last_layer >= layers * images_of_layer
                {
                    return Err(invalid);
                }
                let end = (view.last_layer + 1) / images_of_layer;
                self.part.layers = Some(view.first_layer / images_of_layer..end);
            }
            None if view.first_layer != 0 || view.last_layer != 0 => return Err(invalid),
            None => {}
        }
        Ok(())
    }
}

/// The texture of the machine for a descriptor.
pub(super) fn describe(
    descriptor: &TextureDescriptor,
    format: TexelFormat,
) -> Outcome<TextureDescription> {
    let invalid = Status::INVALID_VALUE;
    let has = |flag: u32| descriptor.flags & flag != 0;
    if has(!ALL_FLAGS) {
        return Err(invalid);
    }
    let filter = |number: u32| match number {
        0 => Ok(FilterMode::Nearest),
        1 => Ok(FilterMode::Linear),
        _ => Err(invalid),
    };
    let mut sampler = Sampler::default();
    for (mode, number) in sampler
        .address_modes
        .iter_mut()
        .zip(descriptor.address_modes)
    {
        *mode = match number {
            0 => AddressMode::Wrap,
            1 => AddressMode::ClampToEdge,
            2 => AddressMode::Mirror,
            3 => AddressMode::ClampToBorder,
            _ => return Err(invalid),
        };
    }
    sampler.filter = filter(descriptor.filter)?;
    sampler.level_filter = filter(descriptor.level_filter)?;
    if has(texture_flag::NORMALIZED_COORDINATES) {
        sampler.coordinates = Coordinates::Normalized;
    }
    if has(texture_flag::SEAMLESS_CUBEMAP) {
        sampler.address_modes = [AddressMode::ClampToEdge; 3];
        sampler.cube_edges = CubeEdges::Seamless;
    }
    sampler.border_color = descriptor.border_color;
    sampler.level_bias = descriptor.level_bias;
    sampler.level_range = [descriptor.min_level, descriptor.max_level];
    let mut description = TextureDescription::new(sampler);
    // Integers of 32 bits are never read as fractions.
    if !has(texture_flag::READ_AS_INTEGER) && format.channel.bits() < 32 {
        description.read_mode = ReadMode::NormalizedFloat;
    }
    if has(texture_flag::SRGB) {
        description.encoding = ColorEncoding::Srgb;
    }
    Ok(description)
}
