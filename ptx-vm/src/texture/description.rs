//! Descriptions of arrays, samplers and textures, as a program of the host gives them.

use core::fmt;

use super::format::TexelFormat;

/// The size of an array in texels.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Extent {
    /// A row of texels, or several layers of a row.
    Line {
        /// The texels of a row.
        width: u32,
    },
    /// An image, or several layers of an image.
    Image {
        /// The texels of a row.
        width: u32,
        /// The number of rows.
        height: u32,
    },
    /// A stack of images.
    Volume {
        /// The texels of a row.
        width: u32,
        /// The rows of an image.
        height: u32,
        /// The number of images.
        depth: u32,
    },
    /// Six square images, the faces of a cube: in the directions +x, -x, +y, -y, +z and -z.
    Cube {
        /// The texels of an edge.
        edge: u32,
    },
}

impl Extent {
    /// The texels in x, y and z; 1 in a dimension that does not exist.
    pub(crate) const fn size(self) -> [u32; 3] {
        match self {
            Self::Line { width } => [width, 1, 1],
            Self::Image { width, height } => [width, height, 1],
            Self::Volume {
                width,
                height,
                depth,
            } => [width, height, depth],
            Self::Cube { edge } => [edge, edge, 1],
        }
    }

    /// The number of coordinates of a texel in a layer or a face.
    pub(crate) const fn dimensions(self) -> usize {
        match self {
            Self::Line { .. } => 1,
            Self::Image { .. } | Self::Cube { .. } => 2,
            Self::Volume { .. } => 3,
        }
    }

    pub(crate) const fn is_cube(self) -> bool {
        matches!(self, Self::Cube { .. })
    }
}

/// The description of an array.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ArrayDescription {
    /// The size of the base level of a layer.
    pub extent: Extent,
    /// The format of the texels.
    pub format: TexelFormat,
    /// The number of layers; `None` if the array has none. Of cubes, the number of cubes.
    pub layers: Option<u32>,
    /// The number of levels of detail; 1 without a mipmap. Level `i` has `max(1, size >> i)` texels in each dimension.
    pub levels: u32,
    /// The number of samples of a texel; 1 for ordinary arrays.
    pub samples: u32,
}

impl ArrayDescription {
    /// An array without layers, with one level and one sample for each texel.
    #[must_use]
    pub const fn new(extent: Extent, format: TexelFormat) -> Self {
        Self {
            extent,
            format,
            layers: None,
            levels: 1,
            samples: 1,
        }
    }

    /// Sets the number of layers.
    #[must_use]
    pub const fn layers(mut self, layers: u32) -> Self {
        self.layers = Some(layers);
        self
    }

    /// Sets the number of levels of detail.
    #[must_use]
    pub const fn levels(mut self, levels: u32) -> Self {
        self.levels = levels;
        self
    }

    /// Sets the number of samples of a texel.
    #[must_use]
    pub const fn samples(mut self, samples: u32) -> Self {
        self.samples = samples;
        self
    }

    /// The bytes of a level without padding, or 0 for levels that the array does not have: the texels of a row follow each other, then rows, images, faces
    /// and layers. The samples of a texel follow each other.
    #[must_use]
    pub fn level_bytes(&self, level: u32) -> u64 {
        if level >= self.levels {
            return 0;
        }
        let texels = self.level_size(level).map(u64::from);
        let texels = texels.iter().product::<u64>() * u64::from(self.images());
        texels
            .saturating_mul(self.samples.into())
            .saturating_mul(self.format.bytes().into())
    }

    /// The texels of a level in x, y and z.
    pub(crate) fn level_size(&self, level: u32) -> [u32; 3] {
        let size = self.extent.size();
        size.map(|texels| texels.checked_shr(level).unwrap_or(0).max(1))
    }

    /// The number of layers, of cubes the number of their faces.
    pub(crate) const fn images(&self) -> u32 {
        let layers = match self.layers {
            Some(layers) => layers,
            None => 1,
        };
        if self.extent.is_cube() {
            layers.saturating_mul(6)
        } else {
            layers
        }
    }

    /// Checks the limits of the driver, which also bound the number of bytes.
    pub(crate) fn check(&self) -> Result<(), TextureError> {
        let size = self.extent.size();
        let largest = match self.extent {
            Extent::Volume { .. } => 1 << 14,
            _ => 1 << 17,
        };
        let refuse = |what: String| Err(TextureError::new(what));
        if size.iter().any(|&texels| texels == 0 || texels > largest) {
            return refuse(format!(
                "expected 1 to {largest} texels in each dimension, found {size:?}"
            ));
        }
        if !matches!(self.format.channels, 1 | 2 | 4) {
            return refuse(format!(
                "expected 1, 2 or 4 channels, found {}",
                self.format.channels
            ));
        }
        if self
            .layers
            .is_some_and(|layers| layers == 0 || layers > 2048)
        {
            return refuse(format!(
                "expected 1 to 2048 layers, found {}",
                self.layers.unwrap_or(0)
            ));
        }
        if self.layers.is_some() && matches!(self.extent, Extent::Volume { .. }) {
            return refuse("an array with three dimensions has no layers".into());
        }
        let levels = 1 + size.iter().max().unwrap_or(&1).ilog2();
        if self.levels == 0 || self.levels > levels {
            return refuse(format!(
                "expected 1 to {levels} levels for this size, found {}",
                self.levels
            ));
        }
        let has_samples = self.samples > 1;
        let is_plain_image = matches!(self.extent, Extent::Image { .. }) && self.levels == 1;
        if !matches!(self.samples, 1 | 2 | 4 | 8 | 16) || has_samples && !is_plain_image {
            return refuse(format!(
                "expected 1, 2, 4, 8 or 16 samples, and several only in an image with one level, found {}",
                self.samples
            ));
        }
        Ok(())
    }
}

/// An array of a machine.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Array(pub(crate) usize);

/// A part of a level of an array.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct TexelBox {
    /// The level of detail.
    pub level: u32,
    /// The layer or face; `None` for all.
    pub layer: Option<u32>,
    /// The first texel in x, y and z.
    pub start: [u32; 3],
    /// The number of texels in x, y and z.
    pub size: [u32; 3],
}

/// The treatment of coordinates outside of a texture, in one dimension.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum AddressMode {
    /// The texture is repeated.
    Wrap,
    /// The texture is repeated, and every second copy is reversed.
    Mirror,
    /// Coordinates are limited to the texture, whose outermost half texels are mixed with the border by linear filtering.
    ClampOgl,
    /// The outermost texels continue.
    #[default]
    ClampToEdge,
    /// Texels outside of the texture have the color of the border.
    ClampToBorder,
}

/// The way in which texels, or levels of detail, become the value of a read.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum FilterMode {
    /// The nearest texel or level is read.
    #[default]
    Nearest,
    /// The neighbors are mixed.
    Linear,
}

/// The unit of floating-point coordinates.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Coordinates {
    /// A texel.
    #[default]
    Texels,
    /// The size of the texture.
    Normalized,
}

/// The values that reads of integers return.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum ReadMode {
    /// The integers.
    #[default]
    ElementType,
    /// Floating-point numbers from 0 to 1 for unsigned integers, and from -1 to 1 for signed ones.
    NormalizedFloat,
}

/// The meaning of the colors of a texture with channels of 8 bits that are read as numbers from 0 to 1.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum ColorEncoding {
    /// The numbers are intensities.
    #[default]
    Linear,
    /// The first three channels are colors of sRGB, which reads convert to intensities.
    Srgb,
}

/// The neighbors of the texels at the edges of a face of a cube.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum CubeEdges {
    /// Those that the address modes give in the face.
    #[default]
    Separate,
    /// Texels of the adjacent faces.
    Seamless,
}

/// The comparison of a read with a depth `f`.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Comparison {
    /// It never passes.
    Never,
    /// `f < texel`
    Less,
    /// `f == texel`
    Equal,
    /// `f <= texel`
    #[default]
    LessEqual,
    /// `f > texel`
    Greater,
    /// `f != texel`
    NotEqual,
    /// `f >= texel`
    GreaterEqual,
    /// It always passes.
    Always,
}

impl Comparison {
    pub(crate) fn passes(self, reference: f32, texel: f32) -> bool {
        match self {
            Self::Never => false,
            Self::Less => reference < texel,
            Self::Equal => reference == texel,
            Self::LessEqual => reference <= texel,
            Self::Greater => reference > texel,
            Self::NotEqual => reference != texel,
            Self::GreaterEqual => reference >= texel,
            Self::Always => true,
        }
    }
}

/// The description of a sampler.
#[derive(Copy, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Sampler {
    /// The treatment of coordinates outside of the texture in x, y and z.
    pub address_modes: [AddressMode; 3],
    /// The filter within a level.
    pub filter: FilterMode,
    /// The filter between levels.
    pub level_filter: FilterMode,
    /// The unit of coordinates. With [`Coordinates::Texels`], [`AddressMode::Wrap`] and [`AddressMode::Mirror`] are replaced by
    /// [`AddressMode::ClampToEdge`].
    pub coordinates: Coordinates,
    /// The color of the border.
    pub border_color: [f32; 4],
    /// What is added to the level of detail of reads that give one.
    pub level_bias: f32,
    /// The smallest and the largest level of detail of reads.
    pub level_range: [f32; 2],
    /// The comparison of reads with a depth.
    pub comparison: Comparison,
    /// The neighbors at the edges of cubes.
    pub cube_edges: CubeEdges,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            address_modes: Default::default(),
            filter: FilterMode::Nearest,
            level_filter: FilterMode::Nearest,
            coordinates: Coordinates::Texels,
            border_color: [0.0; 4],
            level_bias: 0.0,
            level_range: [0.0, 16.0],
            comparison: Comparison::LessEqual,
            cube_edges: CubeEdges::Separate,
        }
    }
}

impl Sampler {
    /// Sets the address mode of all dimensions.
    #[must_use]
    pub const fn address_mode(mut self, mode: AddressMode) -> Self {
        self.address_modes = [mode; 3];
        self
    }

    /// Sets the filter within a level.
    #[must_use]
    pub const fn filter(mut self, filter: FilterMode) -> Self {
        self.filter = filter;
        self
    }

    /// Selects coordinates whose unit is the size of the texture.
    #[must_use]
    pub const fn normalized(mut self) -> Self {
        self.coordinates = Coordinates::Normalized;
        self
    }

    /// The address mode of a dimension for the coordinates of the sampler.
    pub(crate) const fn effective_mode(&self, dimension: usize) -> AddressMode {
        match (self.address_modes[dimension], self.coordinates) {
            (AddressMode::Wrap | AddressMode::Mirror, Coordinates::Texels) => {
                AddressMode::ClampToEdge
            }
            (mode, _) => mode,
        }
    }
}

/// The description of a texture: how the texels of an array or of linear memory are read.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct TextureDescription {
    /// The sampler. A module with `texmode_independent` uses separate samplers instead.
    pub sampler: Sampler,
    /// The values that reads of integers return.
    pub read_mode: ReadMode,
    /// The meaning of colors.
    pub encoding: ColorEncoding,
}

impl TextureDescription {
    /// A texture with a sampler, whose reads return elements.
    #[must_use]
    pub const fn new(sampler: Sampler) -> Self {
        Self {
            sampler,
            read_mode: ReadMode::ElementType,
            encoding: ColorEncoding::Linear,
        }
    }

    /// Selects reads of integers as floating-point numbers.
    #[must_use]
    pub const fn normalized_float(mut self) -> Self {
        self.read_mode = ReadMode::NormalizedFloat;
        self
    }

    /// Checks that a format can be read like this.
    pub(crate) fn check(&self, format: TexelFormat) -> Result<(), TextureError> {
        let is_normalized = self.read_mode == ReadMode::NormalizedFloat;
        if is_normalized && !format.channel.is_float() && format.channel.bits() == 32 {
            return Err(TextureError::new(
                "integers of 32 bits cannot be read as normalized numbers: expected 8 or 16 bits",
            ));
        }
        if self.sampler.filter == FilterMode::Linear && !format.reads_float(self.read_mode) {
            return Err(TextureError::new(
                "linear filtering needs reads of floating-point numbers: expected such channels or normalized reads, found integers",
            ));
        }
        if self.encoding == ColorEncoding::Srgb
            && !(format.channel.bits() == 8 && format.reads_float(self.read_mode))
        {
            return Err(TextureError::new(
                "colors of sRGB need channels of 8 bits that are read as normalized numbers",
            ));
        }
        Ok(())
    }
}

/// The reason why an array, a texture, a sampler or a surface cannot be created or bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextureError {
    reason: String,
}

impl TextureError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

impl fmt::Display for TextureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl core::error::Error for TextureError {}
