//! The arrays, textures, samplers and surfaces of a device, and the variables that are bound to them.

use core::ops::Range;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ptx_ir::Module;

use super::declared::{DeclaredProperties, opaque_variables};
use super::description::{ArrayDescription, Sampler, TexelBox, TextureDescription, TextureError};
use super::part::ArrayPart;
use super::sample::TexelAddress;
use crate::program::Variables;
use ptx_isa::ScalarType;

/// The handle of the first object. No memory has such an address.
const FIRST_HANDLE: u64 = 0x7400_0000_0000;
/// The difference between the handles of consecutive objects.
const HANDLE_STRIDE: u64 = 16;
/// The maximum number of objects and of arrays, as in a context of the driver.
const MAX_OBJECTS: usize = 1 << 20;
/// The number of destroyed objects whose handles are not used again, so that their later uses are found.
const MOST_DESTROYED: usize = 1 << 12;
/// The maximum number of parts of an array that are not resident.
const MAX_ABSENT_PARTS: usize = 256;
/// Rows begin at multiples of these bytes, so that accesses of up to 16 bytes to a surface are aligned in memory.
const ROW_ALIGN: u64 = 16;

/// The types of variables for textures, samplers and surfaces.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum OpaqueKind {
    Texture,
    Sampler,
    Surface,
}

impl OpaqueKind {
    pub(crate) const fn of(ty: ScalarType) -> Option<Self> {
        match ty {
            ScalarType::Texref => Some(Self::Texture),
            ScalarType::Samplerref => Some(Self::Sampler),
            ScalarType::Surfref => Some(Self::Surface),
            _ => None,
        }
    }

    /// The words for an object of the kind in a message.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Texture => "a texture",
            Self::Sampler => "a sampler",
            Self::Surface => "a surface",
        }
    }
}

/// The memory of an array or of a part of one, or linear memory that is read as a texture.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ArrayData {
    /// The levels and layers that accesses see.
    pub(crate) description: ArrayDescription,
    /// The array in memory, of which `description` may be a part.
    layout: ArrayDescription,
    /// The level of the array in memory that is level 0.
    first_level: u32,
    /// The layer or face of the array in memory that is the first one.
    first_image: u32,
    /// The address in global memory.
    address: u64,
    /// The number of bytes from a row of the base level to the next one, if it is not the default.
    pitch: Option<u64>,
    /// It is linear memory of the program, without the layout of an array.
    pub(crate) is_linear: bool,
    /// The parts whose texels are not in memory.
    absent: Vec<TexelBox>,
}

impl ArrayData {
    pub(crate) const fn new(description: ArrayDescription, address: u64) -> Self {
        Self {
            description,
            layout: description,
            first_level: 0,
            first_image: 0,
            address,
            pitch: None,
            is_linear: false,
            absent: Vec::new(),
        }
    }

    /// Linear memory of the program, with a distance between rows.
    pub(crate) fn linear(description: ArrayDescription, address: u64, pitch: Option<u64>) -> Self {
        Self {
            pitch,
            is_linear: true,
            ..Self::new(description, address)
        }
    }

    /// A part of the array.
    pub(crate) fn part(&self, part: &ArrayPart) -> Result<Self, TextureError> {
        let description = part.describe(&self.description)?;
        let images_of_layer = if description.extent.is_cube() { 6 } else { 1 };
        let first_level = part.levels.start;
        let first_image = images_of_layer * part.layers.as_ref().map_or(0, |layers| layers.start);
        let absent = self.absent.iter().filter_map(|absent| {
            let level = absent.level.checked_sub(first_level)?;
            let layer = match absent.layer {
                Some(layer) => Some(layer.checked_sub(first_image)?),
                None => None,
            };
            Some(TexelBox {
                level,
                layer,
                ..*absent
            })
        });
        Ok(Self {
            description,
            first_level: self.first_level + first_level,
            first_image: self.first_image + first_image,
            absent: absent.collect(),
            ..self.clone()
        })
    }

    /// The bytes of the texels of a row of a level.
    pub(crate) fn row_bytes(&self, level: u32) -> u64 {
        row_bytes(&self.description, level)
    }

    /// The bytes from a row of a level of the array in memory to the next one.
    fn row_stride(&self, level: u32) -> u64 {
        let stride = row_bytes(&self.layout, level).next_multiple_of(ROW_ALIGN);
        self.pitch.unwrap_or(stride)
    }

    /// The bytes of a level of the array in memory, with the padding of its rows.
    fn padded_level_bytes(&self, level: u32) -> u64 {
        let [_, height, depth] = self.layout.level_size(level).map(u64::from);
        self.row_stride(level) * height * depth * u64::from(self.layout.images())
    }

    /// The address and the number of bytes of the array in memory.
    pub(crate) fn memory(&self) -> (u64, u64) {
        (self.address, self.bytes())
    }

    /// The number of bytes of all levels of the array in memory.
    pub(crate) fn bytes(&self) -> u64 {
        let levels = 0..self.layout.levels;
        levels.map(|level| self.padded_level_bytes(level)).sum()
    }

    /// The address of the first byte of a row of a level, by the number of its image, and its z and y.
    pub(crate) fn row(&self, level: u32, image: u32, [y, z]: [u32; 2]) -> u64 {
        let level = self.first_level + level;
        let image = u64::from(self.first_image) + u64::from(image);
        let [_, height, depth] = self.layout.level_size(level).map(u64::from);
        let start: u64 = (0..level).map(|l| self.padded_level_bytes(l)).sum();
        let slice = image * depth + u64::from(z);
        let row = slice * height + u64::from(y);
        self.address + start + row * self.row_stride(level)
    }

    /// The address of a texel.
    pub(crate) fn texel(&self, texel: TexelAddress) -> u64 {
        let [x, y, z] = texel.position;
        let samples = u64::from(self.description.samples);
        let number = u64::from(x) * samples + u64::from(texel.sample);
        self.row(texel.level, texel.image, [y, z])
            + number * u64::from(self.description.format.bytes())
    }

    /// Whether a texel is in memory. Linear in the number of absent parts.
    pub(crate) fn is_resident(&self, texel: &TexelAddress) -> bool {
        !self.absent.iter().any(|part| {
            part.level == texel.level
                && part.layer.is_none_or(|layer| layer == texel.image)
                && (0..3).all(|dimension| {
                    texel.position[dimension]
                        .checked_sub(part.start[dimension])
                        .is_some_and(|offset| offset < part.size[dimension])
                })
        })
    }

    pub(crate) fn add_absent(&mut self, part: TexelBox) -> Result<(), TextureError> {
        if self.absent.len() >= MAX_ABSENT_PARTS {
            return Err(TextureError::new(format!(
                "an array has at most {MAX_ABSENT_PARTS} parts that are not resident"
            )));
        }
        self.absent.push(part);
        Ok(())
    }
}

/// The bytes of the texels of a row of a level.
fn row_bytes(description: &ArrayDescription, level: u32) -> u64 {
    let [width, ..] = description.level_size(level).map(u64::from);
    width * u64::from(description.samples) * u64::from(description.format.bytes())
}

impl ArrayDescription {
    /// The bytes of device memory that an array takes. Its rows begin at multiples of 16 bytes.
    ///
    /// # Errors
    ///
    /// If the sizes are beyond the limits of the driver.
    pub fn memory_bytes(&self) -> Result<u64, TextureError> {
        self.check()?;
        Ok(ArrayData::new(*self, 0).bytes())
    }
}

/// A texture: an array and how it is read.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TextureObject {
    pub(crate) array: Arc<ArrayData>,
    pub(crate) description: TextureDescription,
}

/// A surface: a level of an array.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SurfaceObject {
    pub(crate) array: Arc<ArrayData>,
    pub(crate) level: u32,
}

/// An object that a handle denotes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum OpaqueObject {
    Texture(TextureObject),
    Sampler(Sampler),
    Surface(SurfaceObject),
}

impl OpaqueObject {
    pub(crate) const fn kind(&self) -> OpaqueKind {
        match self {
            Self::Texture(_) => OpaqueKind::Texture,
            Self::Sampler(_) => OpaqueKind::Sampler,
            Self::Surface(_) => OpaqueKind::Surface,
        }
    }
}

/// A variable for a texture, a sampler or a surface.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct OpaqueVariable {
    pub(crate) name: Box<str>,
    pub(crate) kind: OpaqueKind,
    pub(crate) declared: DeclaredProperties,
    /// The object that the variable is bound to.
    pub(crate) object: Option<OpaqueObject>,
}

/// Numbered objects. The number of a destroyed object is used again after those of many others that were destroyed later.
#[derive(Clone, Debug)]
struct Slots<T> {
    all: Vec<Option<T>>,
    /// The numbers of destroyed objects, the one that was destroyed first at the front.
    destroyed: VecDeque<usize>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            destroyed: VecDeque::new(),
        }
    }
}

impl<T> Slots<T> {
    /// Adds an object and returns its number; `None` beyond the maximum number.
    fn add(&mut self, object: T) -> Option<usize> {
        let is_full = self.all.len() >= MAX_OBJECTS;
        if is_full || self.destroyed.len() > MOST_DESTROYED {
            let number = self.destroyed.pop_front()?;
            *self.all.get_mut(number)? = Some(object);
            return Some(number);
        }
        self.all.push(Some(object));
        Some(self.all.len() - 1)
    }

    fn get(&self, number: usize) -> Option<&T> {
        self.all.get(number)?.as_ref()
    }

    fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.all.get_mut(number)?.as_mut()
    }

    /// Removes an object.
    fn destroy(&mut self, number: usize) -> Option<T> {
        let object = self.all.get_mut(number)?.take()?;
        self.destroyed.push_back(number);
        Some(object)
    }

    /// Whether an object had the number and was destroyed.
    fn is_destroyed(&self, number: usize) -> bool {
        self.all.get(number).is_some_and(Option::is_none)
    }

    fn live_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.iter_mut().flatten()
    }
}

/// The arrays, textures, samplers and surfaces.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextureStore {
    arrays: Slots<Arc<ArrayData>>,
    objects: Slots<OpaqueObject>,
    /// The variables of loaded modules, by their addresses.
    variables: HashMap<u64, OpaqueVariable>,
}

/// What an instruction finds at a handle or an address.
pub(crate) enum Resolved<'s> {
    Object(&'s OpaqueObject),
    Variable(&'s OpaqueVariable),
}

impl TextureStore {
    /// Adds the variables of a module for textures, samplers and surfaces.
    pub(crate) fn declare_module(&mut self, module: &Module, variables: &Variables) {
        self.variables
            .extend(opaque_variables(module, &variables.ranges));
    }

    /// Removes the variables of a range of addresses. Linear in the number of such variables of the device.
    pub(crate) fn remove_variables(&mut self, range: Range<u64>) {
        self.variables.retain(|address, _| !range.contains(address));
    }

    /// Adds an array and returns its number.
    pub(crate) fn add_array(&mut self, array: ArrayData) -> Result<usize, TextureError> {
        self.arrays
            .add(Arc::new(array))
            .ok_or_else(|| TextureError::new(format!("there are at most {MAX_OBJECTS} arrays")))
    }

    /// Removes an array and returns its address. Objects that use it remain.
    pub(crate) fn destroy_array(&mut self, number: usize) -> Result<u64, TextureError> {
        let address = self.array(number)?.address;
        self.arrays.destroy(number);
        Ok(address)
    }

    /// Replaces an array, also in the objects that use it. Linear in the number of objects.
    pub(crate) fn replace_array(&mut self, number: usize, array: ArrayData) {
        let Some(old) = self.arrays.get_mut(number) else {
            return;
        };
        let new = Arc::new(array);
        let old = core::mem::replace(old, Arc::clone(&new));
        let bound = self
            .variables
            .values_mut()
            .filter_map(|v| v.object.as_mut());
        for object in self.objects.live_mut().chain(bound) {
            match object {
                OpaqueObject::Texture(TextureObject { array, .. })
                | OpaqueObject::Surface(SurfaceObject { array, .. })
                    if Arc::ptr_eq(array, &old) =>
                {
                    *array = Arc::clone(&new);
                }
                _ => {}
            }
        }
    }

    pub(crate) fn array(&self, number: usize) -> Result<&Arc<ArrayData>, TextureError> {
        self.arrays.get(number).ok_or_else(|| {
            TextureError::new(if self.arrays.is_destroyed(number) {
                "the array was destroyed"
            } else {
                "the array belongs to another device"
            })
        })
    }

    /// Adds an object and returns its handle.
    pub(crate) fn add_object(&mut self, object: OpaqueObject) -> Result<u64, TextureError> {
        let number = self.objects.add(object).ok_or_else(|| {
            TextureError::new(format!(
                "there are at most {MAX_OBJECTS} textures, samplers and surfaces"
            ))
        })?;
        Ok(FIRST_HANDLE + HANDLE_STRIDE * number as u64)
    }

    /// Removes the object of a handle. Variables that are bound to it remain so.
    pub(crate) fn destroy_object(
        &mut self,
        handle: u64,
        kind: OpaqueKind,
    ) -> Result<(), TextureError> {
        let object = self.object(handle);
        let found = match object {
            Some(object) if object.kind() == kind => {
                if let Some(number) = number_of_handle(handle) {
                    self.objects.destroy(number);
                }
                return Ok(());
            }
            Some(object) => format!("{handle:#x}, that of {}", object.kind().name()),
            None => self.describe_unknown(handle),
        };
        let expected = kind.name();
        Err(TextureError::new(format!(
            "expected the handle of {expected}, found {found}"
        )))
    }

    /// A value that is not the handle of an object, for a message.
    pub(crate) fn describe_unknown(&self, handle: u64) -> String {
        let number = number_of_handle(handle);
        if number.is_some_and(|number| self.objects.is_destroyed(number)) {
            format!("{handle:#x}, whose object was destroyed")
        } else {
            format!("{handle:#x}")
        }
    }

    /// The object of a handle.
    fn object(&self, handle: u64) -> Option<&OpaqueObject> {
        self.objects.get(number_of_handle(handle)?)
    }

    /// The object or the variable that a value denotes.
    pub(crate) fn resolve(&self, value: u64) -> Option<Resolved<'_>> {
        if let Some(object) = self.object(value) {
            return Some(Resolved::Object(object));
        }
        self.variables.get(&value).map(Resolved::Variable)
    }

    pub(crate) fn variable(&self, address: u64) -> Option<&OpaqueVariable> {
        self.variables.get(&address)
    }

    /// Binds a variable to the object of a handle.
    pub(crate) fn bind(&mut self, address: u64, handle: u64) -> Result<(), TextureError> {
        let object = self.object(handle).cloned();
        let object = object.ok_or_else(|| {
            TextureError::new(format!(
                "expected the handle of a texture, a sampler or a surface, found {}",
                self.describe_unknown(handle)
            ))
        })?;
        let variable = self.variables.get_mut(&address).ok_or_else(|| {
            TextureError::new("expected a variable of type .texref, .samplerref or .surfref")
        })?;
        if variable.kind != object.kind() {
            return Err(TextureError::new(format!(
                "`{}` is a variable for {}, found {}",
                variable.name,
                variable.kind.name(),
                object.kind().name()
            )));
        }
        variable.object = Some(object);
        Ok(())
    }
}

/// The number of the object of a handle.
fn number_of_handle(handle: u64) -> Option<usize> {
    let offset = handle.checked_sub(FIRST_HANDLE)?;
    if !offset.is_multiple_of(HANDLE_STRIDE) {
        return None;
    }
    usize::try_from(offset / HANDLE_STRIDE).ok()
}
