//! The interface of a device for arrays, textures, samplers and surfaces.

use std::sync::Arc;

use super::{Device, ModuleId};
use crate::error::RunError;
use crate::program::HANDLE;
use crate::texture::{
    Array, ArrayData, ArrayDescription, Coordinates, Extent, FilterMode, OpaqueKind, OpaqueObject,
    Sampler, SurfaceObject, TexelBox, TexelFormat, TextureDescription, TextureError, TextureObject,
};

/// The maximum number of texels of a texture in linear memory, as of the driver.
const MAX_LINEAR_TEXELS: u64 = 1 << 28;
/// Linear memory of a texture begins at a multiple of these bytes.
const LINEAR_ALIGN: u64 = 16;

impl Device<'_> {
    /// Creates an array, whose texels are zero. [`Checker::Initcheck`](crate::Checker::Initcheck) treats them as uninitialized.
    ///
    /// ```
    /// use ptx_vm::{ArrayDescription, ChannelType, Device, Extent, Sampler, TexelFormat, TextureDescription};
    ///
    /// let mut device = Device::new();
    /// let extent = Extent::Image { width: 4, height: 2 };
    /// let array = device.create_array(&ArrayDescription::new(extent, TexelFormat::new(ChannelType::U8, 1)))?;
    /// device.write_array(array, 0, &[1, 2, 3, 4, 5, 6, 7, 8])?;
    /// let texture = device.create_texture(array, &TextureDescription::new(Sampler::default()))?;
    /// let argument = texture.to_le_bytes();
    /// # let _ = argument;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the sizes are beyond the limits of the driver, or memory ends at 1 TiB.
    pub fn create_array(&mut self, description: &ArrayDescription) -> Result<Array, TextureError> {
        description.check()?;
        let bytes = ArrayData::new(*description, 0).bytes();
        let address = self.allocate(bytes);
        let address =
            address.ok_or_else(|| TextureError::new("the arrays need more than 1 TiB"))?;
        let array = ArrayData::new(*description, address);
        self.state.textures.add_array(array).map(Array)
    }

    /// Writes all texels of a level, in the order of [`ArrayDescription::level_bytes`].
    ///
    /// # Errors
    ///
    /// If the array has no such level, or the number of bytes is not that of the level.
    pub fn write_array(&mut self, array: Array, level: u32, bytes: &[u8]) -> Result<(), RunError> {
        let data = Arc::clone(self.state.textures.array(array.0).map_err(impossible)?);
        check_level_bytes(&data.description, level, bytes.len() as u64)?;
        let row_bytes = data.row_bytes(level) as usize;
        let rows = rows(&data, level).zip(bytes.chunks(row_bytes.max(1)));
        for (address, row) in rows {
            self.write(address, row)?;
        }
        Ok(())
    }

    /// Reads all texels of a level, in the order of [`ArrayDescription::level_bytes`].
    ///
    /// # Errors
    ///
    /// If the array has no such level.
    pub fn read_array(&self, array: Array, level: u32) -> Result<Vec<u8>, RunError> {
        let data = self.state.textures.array(array.0).map_err(impossible)?;
        let level_bytes = data.description.level_bytes(level);
        check_level_bytes(&data.description, level, level_bytes)?;
        let row_bytes = data.row_bytes(level) as usize;
        let mut bytes = Vec::new();
        for address in rows(data, level) {
            bytes.extend(self.read(address, row_bytes)?);
        }
        Ok(bytes)
    }

    /// Marks a level of an array as written by the host, so that [`Checker::Initcheck`](crate::Checker::Initcheck) does not report reads of it.
    ///
    /// # Errors
    ///
    /// If the array has no such level.
    pub fn set_array_written(&mut self, array: Array, level: u32) -> Result<(), RunError> {
        let data = Arc::clone(self.state.textures.array(array.0).map_err(impossible)?);
        let level_bytes = data.description.level_bytes(level);
        check_level_bytes(&data.description, level, level_bytes)?;
        let row_bytes = data.row_bytes(level);
        for address in rows(&data, level) {
            self.set_written(address, row_bytes);
        }
        Ok(())
    }

    /// Destroys an array and frees its memory. Textures and surfaces that access it remain; [`Checker::Memcheck`](crate::Checker::Memcheck) reports their accesses,
    /// until an allocation uses the memory again.
    ///
    /// # Errors
    ///
    /// If the array was destroyed before, or belongs to another device.
    pub fn destroy_array(&mut self, array: Array) -> Result<(), RunError> {
        let address = self.state.textures.destroy_array(array.0);
        self.free(address.map_err(impossible)?)
    }

    /// Removes a part of an array from memory, as of sparse arrays: reads of its texels give zero, and the predicate of the instruction is false.
    ///
    /// # Errors
    ///
    /// If too many parts are not resident.
    pub fn set_absent(&mut self, array: Array, part: TexelBox) -> Result<(), TextureError> {
        let mut data = ArrayData::clone(self.state.textures.array(array.0)?);
        data.add_absent(part)?;
        self.state.textures.replace_array(array.0, data);
        Ok(())
    }

    /// Creates a texture that reads an array, and returns its handle, which a kernel takes as an argument of 64 bits.
    ///
    /// # Errors
    ///
    /// If the format cannot be read like this, or a mipmap is read with coordinates in texels.
    pub fn create_texture(
        &mut self,
        array: Array,
        description: &TextureDescription,
    ) -> Result<u64, TextureError> {
        let array = Arc::clone(self.state.textures.array(array.0)?);
        self.add_texture(array, description)
    }

    /// Creates a texture that reads linear memory by integer coordinates (`tex1Dfetch` in CUDA), and returns its handle.
    ///
    /// # Errors
    ///
    /// If the address is not a multiple of 16, or the number of texels is beyond the limit of the driver.
    pub fn create_linear_texture(
        &mut self,
        address: u64,
        texels: u64,
        format: TexelFormat,
        description: &TextureDescription,
    ) -> Result<u64, TextureError> {
        if texels == 0 || texels > MAX_LINEAR_TEXELS {
            return Err(TextureError::new(format!(
                "expected 1 to {MAX_LINEAR_TEXELS} texels in linear memory, found {texels}"
            )));
        }
        let width = texels as u32;
        let array = ArrayDescription::new(Extent::Line { width }, format);
        self.add_linear(address, None, array, description)
    }

    /// Creates a texture that reads an image in linear memory, whose rows begin `pitch` bytes after each other, and returns its handle.
    ///
    /// # Errors
    ///
    /// If the address or the pitch is not a multiple of 16, the pitch is less than the bytes of a row, or the size is beyond the limits of the driver.
    pub fn create_pitch_texture(
        &mut self,
        address: u64,
        [width, height]: [u32; 2],
        pitch: u64,
        format: TexelFormat,
        description: &TextureDescription,
    ) -> Result<u64, TextureError> {
        let array = ArrayDescription::new(Extent::Image { width, height }, format);
        array.check()?;
        if pitch < u64::from(width) * u64::from(format.bytes())
            || !pitch.is_multiple_of(LINEAR_ALIGN)
        {
            return Err(TextureError::new(format!(
                "expected a pitch that is a multiple of {LINEAR_ALIGN} and not less than a row, found {pitch}"
            )));
        }
        self.add_linear(address, Some(pitch), array, description)
    }

    fn add_linear(
        &mut self,
        address: u64,
        pitch: Option<u64>,
        array: ArrayDescription,
        description: &TextureDescription,
    ) -> Result<u64, TextureError> {
        if !matches!(array.format.channels, 1 | 2 | 4) || !address.is_multiple_of(LINEAR_ALIGN) {
            return Err(TextureError::new(format!(
                "expected an address that is a multiple of {LINEAR_ALIGN} and 1, 2 or 4 channels, found {address:#x} and {}",
                array.format.channels
            )));
        }
        let array = Arc::new(ArrayData::linear(array, address, pitch));
        self.add_texture(array, description)
    }

    pub(super) fn add_texture(
        &mut self,
        array: Arc<ArrayData>,
        description: &TextureDescription,
    ) -> Result<u64, TextureError> {
        description.check(array.description.format)?;
        let sampler = &description.sampler;
        if array.description.levels > 1 && sampler.coordinates == Coordinates::Texels {
            return Err(TextureError::new(
                "a texture with several levels needs normalized coordinates, as their sizes differ",
            ));
        }
        if sampler.level_filter == FilterMode::Linear
            && !array.description.format.reads_float(description.read_mode)
        {
            return Err(TextureError::new(
                "linear filtering between levels needs reads of floating-point numbers, found integers",
            ));
        }
        let object = TextureObject {
            array,
            description: *description,
        };
        self.state
            .textures
            .add_object(OpaqueObject::Texture(object))
    }

    /// Destroys a texture. A kernel that uses the handle later ends with an error, also if a texture was created in the meantime: its handle is used again only
    /// after 4096 other objects were destroyed. Variables that are bound to the texture remain so.
    ///
    /// # Errors
    ///
    /// If the handle is not that of a texture, or the texture was destroyed before.
    pub fn destroy_texture(&mut self, handle: u64) -> Result<(), TextureError> {
        self.state
            .textures
            .destroy_object(handle, OpaqueKind::Texture)
    }

    /// Destroys a sampler: see [`destroy_texture`](Self::destroy_texture).
    ///
    /// # Errors
    ///
    /// If the handle is not that of a sampler, or the sampler was destroyed before.
    pub fn destroy_sampler(&mut self, handle: u64) -> Result<(), TextureError> {
        self.state
            .textures
            .destroy_object(handle, OpaqueKind::Sampler)
    }

    /// Destroys a surface, but not its array: see [`destroy_texture`](Self::destroy_texture).
    ///
    /// # Errors
    ///
    /// If the handle is not that of a surface, or the surface was destroyed before.
    pub fn destroy_surface(&mut self, handle: u64) -> Result<(), TextureError> {
        self.state
            .textures
            .destroy_object(handle, OpaqueKind::Surface)
    }

    /// Creates a sampler for modules with the target option `texmode_independent`, and returns its handle. Coordinates are normalized if both the sampler and
    /// the texture select it.
    ///
    /// # Errors
    ///
    /// If there are too many objects.
    pub fn create_sampler(&mut self, sampler: &Sampler) -> Result<u64, TextureError> {
        self.state
            .textures
            .add_object(OpaqueObject::Sampler(*sampler))
    }

    /// Creates a surface that accesses a level of an array, and returns its handle.
    ///
    /// # Errors
    ///
    /// If the array has no such level, or has several samples.
    pub fn create_surface(&mut self, array: Array, level: u32) -> Result<u64, TextureError> {
        let array = Arc::clone(self.state.textures.array(array.0)?);
        let levels = array.description.levels;
        if level >= levels {
            return Err(TextureError::new(format!(
                "expected a level below {levels}, found {level}"
            )));
        }
        if array.description.samples > 1 {
            return Err(TextureError::new(
                "an array with several samples has no surfaces",
            ));
        }
        let object = SurfaceObject { array, level };
        self.state
            .textures
            .add_object(OpaqueObject::Surface(object))
    }

    /// Binds a variable of a module of type `.texref`, `.samplerref` or `.surfref`, or an element of an array of them such as `images[2]`, to the object of a handle.
    ///
    /// # Errors
    ///
    /// If there is no such variable, or it is of another type.
    pub fn bind(&mut self, module: ModuleId, name: &str, handle: u64) -> Result<(), TextureError> {
        let address = self.opaque_address(module, name)?;
        self.state.textures.bind(address, handle)
    }

    /// The sampler that the initial value of a variable of type `.texref` or `.samplerref` declares; without one, the default.
    #[must_use]
    pub fn declared_sampler(&self, module: ModuleId, name: &str) -> Option<Sampler> {
        let address = self.opaque_address(module, name).ok()?;
        let variable = self.state.textures.variable(address)?;
        (variable.kind != OpaqueKind::Surface).then(|| variable.declared.sampler(variable.kind))
    }

    /// The address of a variable or of an element of an array.
    pub(super) fn opaque_address(&self, module: ModuleId, name: &str) -> Result<u64, TextureError> {
        let element = name.strip_suffix(']').and_then(|name| name.split_once('['));
        let (variable, index) = match element {
            Some((variable, index)) => (variable, index.parse::<u32>().ok()),
            None => (name, Some(0)),
        };
        let range = self.variable(module, variable);
        let address = range.zip(index).and_then(|((start, bytes), index)| {
            let offset = HANDLE * u64::from(index);
            (offset < bytes.max(1)).then_some(start + offset)
        });
        address.ok_or_else(|| TextureError::new(format!("the module has no variable `{name}`")))
    }
}

/// The addresses of the rows of a level.
fn rows(data: &ArrayData, level: u32) -> impl Iterator<Item = u64> {
    let [_, height, depth] = data.description.level_size(level);
    (0..data.description.images()).flat_map(move |image| {
        (0..depth).flat_map(move |z| (0..height).map(move |y| data.row(level, image, [y, z])))
    })
}

fn check_level_bytes(
    description: &ArrayDescription,
    level: u32,
    bytes: u64,
) -> Result<(), RunError> {
    let expected = description.level_bytes(level);
    if level >= description.levels {
        return Err(RunError::impossible(format!(
            "expected a level below {}, found {level}",
            description.levels
        )));
    }
    if bytes != expected {
        return Err(RunError::impossible(format!(
            "level {level} of the array has {expected} bytes, found {bytes}"
        )));
    }
    Ok(())
}

fn impossible(error: TextureError) -> RunError {
    RunError::impossible(error.to_string())
}
