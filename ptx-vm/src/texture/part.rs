//! Parts of arrays that textures read.

use core::ops::Range;

use super::description::{ArrayDescription, TextureError};
use super::format::TexelFormat;

/// A part of an array that a texture reads: levels of detail and layers, in a format of the same size.
///
/// ```
/// use ptx_vm::ArrayPart;
///
/// // Level 2 as a texture with one level.
/// let part = ArrayPart::levels(2..3);
/// // Layers 1 and 2 as layers 0 and 1.
/// let part = ArrayPart::levels(0..1).layers(1..3);
/// # let _ = part;
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ArrayPart {
    /// The levels of detail. The first one is level 0 of the part.
    pub levels: Range<u32>,
    /// The layers, of cubes the numbers of cubes; `None` for all. The first one is layer 0 of the part.
    pub layers: Option<Range<u32>>,
    /// The format of the texels; `None` for that of the array.
    pub format: Option<TexelFormat>,
}

impl ArrayPart {
    /// All layers of some levels.
    #[must_use]
    pub const fn levels(levels: Range<u32>) -> Self {
        Self {
            levels,
            layers: None,
            format: None,
        }
    }

    /// Sets the layers.
    #[must_use]
    pub fn layers(mut self, layers: Range<u32>) -> Self {
        self.layers = Some(layers);
        self
    }

    /// Sets the format.
    #[must_use]
    pub const fn format(mut self, format: TexelFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// The description of the part as an array.
    pub(crate) fn describe(
        &self,
        array: &ArrayDescription,
    ) -> Result<ArrayDescription, TextureError> {
        let within = |name: &str, range: &Range<u32>, count: u32| {
            if range.start < range.end && range.end <= count {
                return Ok(());
            }
            Err(TextureError::new(format!(
                "expected a range of {name} in 0..{count}, found {range:?}"
            )))
        };
        within("levels", &self.levels, array.levels)?;
        let layers = match (&self.layers, array.layers) {
            (Some(range), Some(count)) => {
                within("layers", range, count)?;
                Some(range.end - range.start)
            }
            (Some(_), None) => return Err(TextureError::new("the array has no layers")),
            (None, layers) => layers,
        };
        let format = self.format.unwrap_or(array.format);
        if format.bytes() != array.format.bytes() || !matches!(format.channels, 1 | 2 | 4) {
            return Err(TextureError::new(format!(
                "expected a format of {} bytes with 1, 2 or 4 channels, found {format:?}",
                array.format.bytes()
            )));
        }
        Ok(ArrayDescription {
            format,
            layers,
            levels: self.levels.end - self.levels.start,
            ..array.level(self.levels.start)
        })
    }
}
