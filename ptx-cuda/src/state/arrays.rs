//! Arrays and mipmapped arrays.

use ptx_vm::{ArrayDescription, Extent, TextureError};

use super::attributes::attribute;
use super::{Driver, formats};
use crate::abi::arrays::{ArrayDescriptor, array_flag};
use crate::handles::{Kind, Raw};
use crate::status::{Outcome, Status};

/// An array: all of an array of the machine, or a level of it.
#[derive(Clone, Debug)]
pub(crate) struct CudaArray {
    pub(crate) array: ptx_vm::Array,
    /// The array of the machine with all levels.
    pub(crate) description: ArrayDescription,
    /// The level of the array of the machine.
    pub(crate) level: u32,
    /// The sizes of the level, and the properties with which the program created the array.
    pub(crate) descriptor: ArrayDescriptor,
    /// The mipmapped array that owns it.
    mipmap: Option<Raw>,
    /// The context that owns it.
    context: Raw,
}

impl Kind for CudaArray {
    const NUMBER: usize = 20;
}

/// A mipmapped array.
#[derive(Clone, Debug)]
pub(crate) struct Mipmap {
    pub(crate) array: ptx_vm::Array,
    pub(crate) description: ArrayDescription,
    /// The sizes of level 0, and the properties with which the program created it.
    pub(crate) descriptor: ArrayDescriptor,
    /// The arrays of levels that the program asked for.
    levels: Vec<Option<Raw>>,
    /// The context that owns it.
    context: Raw,
}

impl Kind for Mipmap {
    const NUMBER: usize = 21;
}

/// The alignment of the memory of arrays in bytes, and that of linear memory that textures read.
pub(crate) const ARRAY_ALIGNMENT: usize = 512;

/// The result of a function for an error of the machine, whose reason is printed.
pub(crate) fn refused(error: &TextureError) -> Status {
    eprintln!("ptxkit: {error}");
    Status::INVALID_VALUE
}

impl CudaArray {
    /// The bytes of a row.
    pub(crate) fn row_bytes(&self) -> u64 {
        self.descriptor.width as u64 * self.element_bytes()
    }

    /// The bytes of an element.
    pub(crate) fn element_bytes(&self) -> u64 {
        self.description.format.bytes().into()
    }

    /// The numbers of rows of a layer, and of layers, faces or images. At least 1 each.
    pub(crate) fn rows(&self) -> [u64; 2] {
        [self.descriptor.height, self.descriptor.depth].map(|size| size.max(1) as u64)
    }
}

impl Driver {
    /// Creates an array.
    pub(crate) fn create_array(&mut self, descriptor: &ArrayDescriptor) -> Outcome<Raw> {
        let context = self.current_context()?;
        let description = self.describe_array(descriptor, 1)?;
        let array = self.allocate_array(&description)?;
        Ok(self.arrays.insert(CudaArray {
            array,
            description,
            level: 0,
            descriptor: *descriptor,
            mipmap: None,
            context,
        }))
    }

    /// The bytes of an element of an array.
    pub(crate) fn array_element_bytes(&self, array: Raw) -> Outcome<usize> {
        Ok(self.arrays.get(array)?.element_bytes() as usize)
    }

    /// Creates a mipmapped array. The number of levels is limited to those that the size has.
    pub(crate) fn create_mipmap(
        &mut self,
        descriptor: &ArrayDescriptor,
        levels: u32,
    ) -> Outcome<Raw> {
        let context = self.current_context()?;
        let is_layered = descriptor.flags & (array_flag::LAYERED | array_flag::CUBEMAP) != 0;
        let depth = if is_layered { 0 } else { descriptor.depth };
        let longest = descriptor.width.max(descriptor.height).max(depth);
        let most = 1 + longest.checked_ilog2().unwrap_or(0);
        let description = self.describe_array(descriptor, levels.clamp(1, most))?;
        let array = self.allocate_array(&description)?;
        Ok(self.mipmaps.insert(Mipmap {
            array,
            description,
            descriptor: *descriptor,
            levels: vec![None; description.levels as usize],
            context,
        }))
    }

    /// The array of a level of a mipmapped array.
    pub(crate) fn level_of_mipmap(&mut self, handle: Raw, level: u32) -> Outcome<Raw> {
        let mipmap = self.mipmaps.get_mut(handle)?;
        let place = mipmap.levels.get_mut(level as usize);
        let place = place.ok_or(Status::INVALID_VALUE)?;
        if let Some(array) = *place {
            return Ok(array);
        }
        let base = mipmap.descriptor;
        let at_level = |size: usize| if size == 0 { 0 } else { (size >> level).max(1) };
        let is_layered = base.flags & (array_flag::LAYERED | array_flag::CUBEMAP) != 0;
        let depth = if is_layered {
            base.depth
        } else {
            at_level(base.depth)
        };
        let array = self.arrays.insert(CudaArray {
            array: mipmap.array,
            description: mipmap.description,
            level,
            descriptor: ArrayDescriptor {
                width: at_level(base.width),
                height: at_level(base.height),
                depth,
                ..base
            },
            mipmap: Some(handle),
            context: mipmap.context,
        });
        *place = Some(array);
        Ok(array)
    }

    /// Destroys an array that is not a level of a mipmapped array.
    pub(crate) fn destroy_array(&mut self, handle: Raw) -> Outcome<()> {
        if self.arrays.get(handle)?.mipmap.is_some() {
            return Err(Status::INVALID_HANDLE);
        }
        let array = self.arrays.remove(handle)?;
        self.release_array(array.array)
    }

    /// Destroys a mipmapped array, and the arrays of its levels.
    pub(crate) fn destroy_mipmap(&mut self, handle: Raw) -> Outcome<()> {
        let mipmap = self.mipmaps.remove(handle)?;
        for level in mipmap.levels.into_iter().flatten() {
            let _ = self.arrays.remove(level);
        }
        self.release_array(mipmap.array)
    }

    /// Destroys the arrays that a context owns.
    pub(crate) fn destroy_arrays_of(&mut self, context: Raw) {
        let arrays = self.arrays.iter();
        let arrays = arrays.filter(|(_, array)| array.context == context && array.mipmap.is_none());
        let arrays: Vec<Raw> = arrays.map(|(handle, _)| handle).collect();
        for array in arrays {
            let _ = self.destroy_array(array);
        }
        let mipmaps = self.mipmaps.iter();
        let mipmaps = mipmaps.filter(|(_, mipmap)| mipmap.context == context);
        let mipmaps: Vec<Raw> = mipmaps.map(|(handle, _)| handle).collect();
        for mipmap in mipmaps {
            let _ = self.destroy_mipmap(mipmap);
        }
    }

    /// The address on the device of a row of an array: the number of the row in its layer, and the number of the layer, face or image.
    pub(crate) fn array_row(&self, array: &CudaArray, row: u64, layer: u64) -> Outcome<u64> {
        let invalid = Status::INVALID_VALUE;
        let [row, layer] = [row, layer].map(u32::try_from);
        let (row, layer) = (row.map_err(|_| invalid)?, layer.map_err(|_| invalid)?);
        let (image, z) = match array.description.extent {
            Extent::Volume { .. } => (0, layer),
            _ => (layer, 0),
        };
        self.device
            .array_row(array.array, array.level, image, [row, z])
            .ok_or(invalid)
    }

    fn allocate_array(&mut self, description: &ArrayDescription) -> Outcome<ptx_vm::Array> {
        let bytes = description
            .memory_bytes()
            .map_err(|error| refused(&error))?;
        if bytes > self.memory.total - self.memory.used {
            return Err(Status::OUT_OF_MEMORY);
        }
        let array = self.device.create_array(description);
        let array = array.map_err(|_| Status::OUT_OF_MEMORY)?;
        self.memory.used += bytes;
        Ok(array)
    }

    fn release_array(&mut self, array: ptx_vm::Array) -> Outcome<()> {
        let memory = self.device.array_memory(array);
        let (address, bytes) = memory.map_err(|error| refused(&error))?;
        let destroyed = self.device.destroy_array(array);
        destroyed.map_err(|_| Status::INVALID_HANDLE)?;
        self.memory.used -= bytes;
        self.memory.arena.release(address, bytes);
        Ok(())
    }

    /// The array of the machine for a descriptor. Fails if the flags, the format or the sizes are not valid.
    fn describe_array(
        &self,
        descriptor: &ArrayDescriptor,
        levels: u32,
    ) -> Outcome<ArrayDescription> {
        let flags = descriptor.flags;
        if flags & !array_flag::ALL != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let supported = array_flag::LAYERED
            | array_flag::SURFACE
            | array_flag::CUBEMAP
            | array_flag::GATHER
            | array_flag::COLOR_ATTACHMENT;
        if flags & !supported != 0 {
            return Err(Status::NOT_SUPPORTED);
        }
        let format = formats::texel_format(descriptor.format, descriptor.channels)?;
        let shape = Shape::new(descriptor)?;
        shape.check_limits(self, descriptor, levels > 1)?;
        let size = [descriptor.width, descriptor.height, descriptor.depth];
        // The limits are below 2^32.
        let [width, height, depth] = size.map(|size| size as u32);
        let (extent, layers) = match shape {
            Shape::Line => (Extent::Line { width }, None),
            Shape::Image => (Extent::Image { width, height }, None),
            Shape::Volume => (
                Extent::Volume {
                    width,
                    height,
                    depth,
                },
                None,
            ),
            Shape::Lines => (Extent::Line { width }, Some(depth)),
            Shape::Images => (Extent::Image { width, height }, Some(depth)),
            Shape::Cube => (Extent::Cube { edge: width }, None),
            Shape::Cubes => (Extent::Cube { edge: width }, Some(depth / 6)),
        };
        let mut description = ArrayDescription::new(extent, format).levels(levels);
        description.layers = layers;
        Ok(description)
    }
}

/// The shape of an array, which its sizes and flags give.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Shape {
    Line,
    Image,
    Volume,
    Lines,
    Images,
    Cube,
    Cubes,
}

impl Shape {
    fn new(descriptor: &ArrayDescriptor) -> Outcome<Self> {
        let &ArrayDescriptor {
            width,
            height,
            depth,
            flags,
            ..
        } = descriptor;
        let [is_layered, is_cube, is_gather] =
            [array_flag::LAYERED, array_flag::CUBEMAP, array_flag::GATHER]
                .map(|flag| flags & flag != 0);
        let shape = match (is_cube, is_layered) {
            (true, false) if height == width && depth == 6 => Self::Cube,
            (true, true) if height == width && depth > 0 && depth % 6 == 0 => Self::Cubes,
            (true, _) => return Err(Status::INVALID_VALUE),
            (false, true) if depth == 0 => return Err(Status::INVALID_VALUE),
            (false, true) if height == 0 => Self::Lines,
            (false, true) => Self::Images,
            (false, false) => match (height, depth) {
                (0, 0) => Self::Line,
                (_, 0) => Self::Image,
                (0, _) => return Err(Status::INVALID_VALUE),
                _ => Self::Volume,
            },
        };
        if is_gather && shape != Self::Image {
            return Err(Status::INVALID_VALUE);
        }
        Ok(shape)
    }

    /// The numbers of the attributes of the device with the largest sizes of textures and of surfaces, in the order of the sizes.
    const fn limits(self) -> (&'static [u32], &'static [u32]) {
        match self {
            Self::Line => (&[21], &[55]),
            Self::Image => (&[22, 23], &[56, 57]),
            Self::Volume => (&[24, 25, 26], &[58, 59, 60]),
            Self::Lines => (&[42, 43], &[61, 62]),
            Self::Images => (&[27, 28, 29], &[63, 64, 65]),
            Self::Cube => (&[52, 52], &[66, 66]),
            Self::Cubes => (&[53, 53, 54], &[67, 67, 68]),
        }
    }

    /// Checks the sizes against the limits of the device.
    fn check_limits(
        self,
        driver: &Driver,
        descriptor: &ArrayDescriptor,
        has_levels: bool,
    ) -> Outcome<()> {
        let sizes = match self {
            Self::Lines => vec![descriptor.width, descriptor.depth],
            _ => vec![descriptor.width, descriptor.height, descriptor.depth],
        };
        let (texture, surface) = self.limits();
        let mut limits = vec![texture];
        if descriptor.flags & array_flag::SURFACE != 0 {
            limits.push(surface);
        }
        if descriptor.flags & array_flag::GATHER != 0 {
            limits.push(&[45, 46]);
        }
        match self {
            Self::Line if has_levels => limits.push(&[77]),
            Self::Image if has_levels => limits.push(&[73, 74]),
            _ => {}
        }
        for limit in limits {
            for (size, number) in sizes.iter().zip(limit) {
                let most = usize::try_from(attribute(driver, *number)?).unwrap_or(0);
                if *size == 0 || *size > most {
                    return Err(Status::INVALID_VALUE);
                }
            }
        }
        Ok(())
    }
}
