//! The interface of a device for parts of arrays: textures that read them, and the memory of their rows.

use std::sync::Arc;

use super::{Device, ModuleId};
use crate::texture::{Array, ArrayPart, OpaqueKind, TextureDescription, TextureError};

impl Device<'_> {
    /// Creates a texture that reads a part of an array, and returns its handle. Texels that [`set_absent`](Self::set_absent) removes later remain in the texture.
    ///
    /// # Errors
    ///
    /// If the array has no such part, or its format cannot be read like this.
    pub fn create_texture_of_part(
        &mut self,
        array: Array,
        part: &ArrayPart,
        description: &TextureDescription,
    ) -> Result<u64, TextureError> {
        let part = self.state.textures.array(array.0)?.part(part)?;
        self.add_texture(Arc::new(part), description)
    }

    /// Returns the address and the number of bytes of the memory of an array.
    ///
    /// # Errors
    ///
    /// If the array belongs to another device.
    pub fn array_memory(&self, array: Array) -> Result<(u64, u64), TextureError> {
        Ok(self.state.textures.array(array.0)?.memory())
    }

    /// Returns the address of the first texel of a row of a level. The texels of a row follow each other, and there is padding between rows. `image` is the number of
    /// the layer or face; `None` is returned if the array has no such row.
    #[must_use]
    pub fn array_row(&self, array: Array, level: u32, image: u32, [y, z]: [u32; 2]) -> Option<u64> {
        let array = self.state.textures.array(array.0).ok()?;
        let description = &array.description;
        let [_, height, depth] = description.level_size(level);
        let exists =
            level < description.levels && image < description.images() && y < height && z < depth;
        exists.then(|| array.row(level, image, [y, z]))
    }

    /// Whether a module has a variable of type `.surfref` with a name.
    #[must_use]
    pub fn is_surface_variable(&self, module: ModuleId, name: &str) -> bool {
        let address = self.opaque_address(module, name);
        let variable = address.map(|address| self.state.textures.variable(address));
        matches!(variable, Ok(Some(variable)) if variable.kind == OpaqueKind::Surface)
    }
}
