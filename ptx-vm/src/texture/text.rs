//! Descriptions of textures in text: the names of formats and properties, and arrays described by the shape of their elements.

use core::str::FromStr;

use super::declared::{ADDRESS_MODES, FILTER_MODES};
use super::description::{
    AddressMode, ArrayDescription, ColorEncoding, Comparison, Coordinates, CubeEdges, Extent,
    FilterMode, ReadMode, Sampler, TextureDescription, TextureError,
};
use super::format::{ChannelType, TexelFormat};

const CHANNELS: [(&str, ChannelType); 12] = [
    ("u8", ChannelType::U8),
    ("s8", ChannelType::S8),
    ("u16", ChannelType::U16),
    ("s16", ChannelType::S16),
    ("u32", ChannelType::U32),
    ("s32", ChannelType::S32),
    ("f16", ChannelType::F16),
    ("f32", ChannelType::F32),
    ("unorm8", ChannelType::Unorm8),
    ("snorm8", ChannelType::Snorm8),
    ("unorm16", ChannelType::Unorm16),
    ("snorm16", ChannelType::Snorm16),
];

const COORDINATES: [(&str, Coordinates); 2] = [
    ("texels", Coordinates::Texels),
    ("normalized", Coordinates::Normalized),
];

const READ_MODES: [(&str, ReadMode); 2] = [
    ("element", ReadMode::ElementType),
    ("normalized", ReadMode::NormalizedFloat),
];

const ENCODINGS: [(&str, ColorEncoding); 2] = [
    ("linear", ColorEncoding::Linear),
    ("srgb", ColorEncoding::Srgb),
];

const CUBE_EDGES: [(&str, CubeEdges); 2] = [
    ("separate", CubeEdges::Separate),
    ("seamless", CubeEdges::Seamless),
];

const COMPARISONS: [(&str, Comparison); 8] = [
    ("never", Comparison::Never),
    ("less", Comparison::Less),
    ("equal", Comparison::Equal),
    ("less_equal", Comparison::LessEqual),
    ("greater", Comparison::Greater),
    ("not_equal", Comparison::NotEqual),
    ("greater_equal", Comparison::GreaterEqual),
    ("always", Comparison::Always),
];

/// The properties of samplers.
const SAMPLER_PROPERTIES: &str = "`address`, `filter`, `level_filter`, `coordinates`, `border`, `bias`, `range`, `compare` or `edges`";

/// The sizes in the shape of an array of a geometry.
///
/// ```text
/// shape: [layers] [6] [depth] [height] width [samples] [channels]
/// ```
struct ShapeOrder {
    /// The modifier of instructions that access such arrays.
    name: &'static str,
    has_layers: bool,
    is_cube: bool,
    dimensions: usize,
    has_samples: bool,
}

const SHAPES: [ShapeOrder; 9] = [
    ShapeOrder::new("1d", 1),
    ShapeOrder::new("2d", 2),
    ShapeOrder::new("3d", 3),
    ShapeOrder::new("a1d", 1).layers(),
    ShapeOrder::new("a2d", 2).layers(),
    ShapeOrder::new("cube", 2).cube(),
    ShapeOrder::new("acube", 2).cube().layers(),
    ShapeOrder::new("2dms", 2).samples(),
    ShapeOrder::new("a2dms", 2).samples().layers(),
];

impl ShapeOrder {
    const fn new(name: &'static str, dimensions: usize) -> Self {
        Self {
            name,
            has_layers: false,
            is_cube: false,
            dimensions,
            has_samples: false,
        }
    }

    const fn layers(mut self) -> Self {
        self.has_layers = true;
        self
    }

    const fn cube(mut self) -> Self {
        self.is_cube = true;
        self
    }

    const fn samples(mut self) -> Self {
        self.has_samples = true;
        self
    }

    /// The shape of a geometry.
    fn named(geometry: &str) -> Result<&'static Self, TextureError> {
        let order = SHAPES.iter().find(|order| order.name == geometry);
        order.ok_or_else(|| {
            let names = SHAPES.map(|order| order.name);
            TextureError::new(format!(
                "expected a geometry such as `{}`, found `{geometry}`",
                names.join("`, `")
            ))
        })
    }

    /// The names of the sizes, without the number of channels.
    fn sizes(&self) -> Vec<&'static str> {
        let all = [
            ("layers", self.has_layers),
            ("6", self.is_cube),
            ("depth", self.dimensions == 3),
            ("height", self.dimensions >= 2),
            ("width", true),
            ("samples", self.has_samples),
        ];
        let present = all.into_iter().filter(|(_, is_present)| *is_present);
        present.map(|(name, _)| name).collect()
    }
}

/// The value with a name.
fn named<T: Copy>(key: &str, names: &[(&str, T)], text: &str) -> Result<T, TextureError> {
    let text = text.trim();
    if let Some((_, value)) = names.iter().find(|(name, _)| *name == text) {
        return Ok(*value);
    }
    let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
    Err(TextureError::new(format!(
        "`{key}`: expected `{}`, found `{text}`",
        names.join("`, `")
    )))
}

/// As many numbers as an array has, separated by commas.
fn numbers<const N: usize>(key: &str, text: &str) -> Result<[f32; N], TextureError> {
    let parsed: Option<Vec<f32>> = text
        .split(',')
        .map(|number| number.trim().parse().ok())
        .collect();
    let parsed = parsed.and_then(|numbers| <[f32; N]>::try_from(numbers).ok());
    parsed.ok_or_else(|| {
        let count = match N {
            1 => "a number".to_owned(),
            _ => format!("{N} numbers separated by commas"),
        };
        TextureError::new(format!("`{key}`: expected {count}, found `{text}`"))
    })
}

/// The address modes of three dimensions: the last one that the text names continues.
fn address_modes(key: &str, text: &str) -> Result<[AddressMode; 3], TextureError> {
    let modes: Vec<AddressMode> = text
        .split(',')
        .map(|mode| named(key, &ADDRESS_MODES, mode))
        .collect::<Result<_, _>>()?;
    if modes.len() > 3 {
        return Err(TextureError::new(format!(
            "`{key}`: expected 1 to 3 modes, found {}",
            modes.len()
        )));
    }
    let last = modes.len().saturating_sub(1);
    Ok(core::array::from_fn(|dimension| {
        modes.get(dimension.min(last)).copied().unwrap_or_default()
    }))
}

impl FromStr for ChannelType {
    type Err = TextureError;

    /// The type with a name: `u8`, `s8`, `u16`, `s16`, `u32`, `s32`, `f16`, `f32`, `unorm8`, `snorm8`, `unorm16` or `snorm16`.
    fn from_str(text: &str) -> Result<Self, TextureError> {
        named("format", &CHANNELS, text)
    }
}

impl Sampler {
    /// Sets a property by its name.
    ///
    /// | name | value |
    /// |---|---|
    /// | `address` | modes of x, y and z, as PTX names them: `wrap`, `mirror`, `clamp_ogl`, `clamp_to_edge`, `clamp_to_border`; the last one continues |
    /// | `filter`, `level_filter` | `nearest` or `linear` |
    /// | `coordinates` | `texels` or `normalized` |
    /// | `border` | the four channels of the color of the border |
    /// | `bias` | what is added to the level of detail |
    /// | `range` | the smallest and the largest level of detail |
    /// | `compare` | `never`, `less`, `equal`, `less_equal`, `greater`, `not_equal`, `greater_equal` or `always` |
    /// | `edges` | of cubes, `separate` or `seamless` |
    ///
    /// ```
    /// use ptx_vm::{AddressMode, Sampler};
    ///
    /// let mut sampler = Sampler::default();
    /// sampler.set("address", "wrap,mirror")?;
    /// assert_eq!(sampler.address_modes, [AddressMode::Wrap, AddressMode::Mirror, AddressMode::Mirror]);
    /// assert!(sampler.set("filter", "cubic").is_err());
    /// # Ok::<(), ptx_vm::TextureError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such property or value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), TextureError> {
        match name {
            "address" => self.address_modes = address_modes(name, value)?,
            "filter" => self.filter = named(name, &FILTER_MODES, value)?,
            "level_filter" => self.level_filter = named(name, &FILTER_MODES, value)?,
            "coordinates" => self.coordinates = named(name, &COORDINATES, value)?,
            "border" => self.border_color = numbers(name, value)?,
            "bias" => [self.level_bias] = numbers(name, value)?,
            "range" => self.level_range = numbers(name, value)?,
            "compare" => self.comparison = named(name, &COMPARISONS, value)?,
            "edges" => self.cube_edges = named(name, &CUBE_EDGES, value)?,
            _ => {
                return Err(TextureError::new(format!(
                    "expected {SAMPLER_PROPERTIES}, found `{name}`"
                )));
            }
        }
        Ok(())
    }

    /// Whether texels or levels are mixed, with weights that the PTX ISA manual does not define exactly.
    #[must_use]
    pub fn is_linear(&self) -> bool {
        [self.filter, self.level_filter].contains(&FilterMode::Linear)
    }
}

impl TextureDescription {
    /// Sets a property of the texture by its name, or one of its sampler ([`Sampler::set`]).
    ///
    /// | name | value |
    /// |---|---|
    /// | `read` | `element` or `normalized`, for numbers from 0 to 1 or from -1 to 1 instead of integers |
    /// | `encoding` | `linear` or `srgb` |
    ///
    /// # Errors
    ///
    /// If there is no such property or value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), TextureError> {
        match name {
            "read" => self.read_mode = named(name, &READ_MODES, value)?,
            "encoding" => self.encoding = named(name, &ENCODINGS, value)?,
            _ => self.sampler.set(name, value).map_err(|error| {
                let text = error.to_string();
                TextureError::new(text.replacen(
                    "expected `address`",
                    "expected `read`, `encoding`, `address`",
                    1,
                ))
            })?,
        }
        Ok(())
    }
}

impl ArrayDescription {
    /// The description of an array with the elements of a multidimensional array, such as those of NumPy: the sizes from the outermost to the innermost
    /// one. `geometry` is the modifier of the instructions that access the array, without the dot.
    ///
    /// | geometry | shape |
    /// |---|---|
    /// | `1d`, `2d`, `3d` | width; height, width; depth, height, width |
    /// | `a1d`, `a2d` | the number of layers precedes |
    /// | `cube`, `acube` | 6, edge, edge; the number of cubes precedes |
    /// | `2dms`, `a2dms` | the number of samples follows |
    ///
    /// A further size at the end is the number of channels, without which there is one.
    ///
    /// ```
    /// use ptx_vm::{ArrayDescription, ChannelType, Extent};
    ///
    /// let array = ArrayDescription::with_shape("a2d", &[3, 16, 32, 4], ChannelType::Unorm8)?;
    /// assert_eq!(array.extent, Extent::Image { width: 32, height: 16 });
    /// assert_eq!((array.layers, array.format.channels), (Some(3), 4));
    /// # Ok::<(), ptx_vm::TextureError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such geometry, it has another number of sizes, or the driver refuses such an array.
    pub fn with_shape(
        geometry: &str,
        shape: &[u64],
        channel: ChannelType,
    ) -> Result<Self, TextureError> {
        let order = ShapeOrder::named(geometry)?;
        let names = order.sizes();
        let error = || {
            TextureError::new(format!(
                "expected the shape [{}] or [{0}, channels] for the geometry `{geometry}`, found {shape:?}",
                names.join(", ")
            ))
        };
        let sizes: Vec<u32> = shape
            .iter()
            .map(|size| u32::try_from(*size).map_err(|_| error()))
            .collect::<Result<_, _>>()?;
        let channels = match sizes.len().checked_sub(names.len()) {
            Some(0) => 1,
            Some(1) => sizes[names.len()],
            _ => return Err(error()),
        };
        let size = |name: &str| {
            let index = names.iter().position(|n| *n == name)?;
            sizes.get(index).copied()
        };
        let (width, height) = (size("width").unwrap_or(1), size("height").unwrap_or(1));
        if order.is_cube && (size("6") != Some(6) || width != height) {
            return Err(error());
        }
        let extent = match (order.is_cube, size("depth"), order.dimensions) {
            (true, ..) => Extent::Cube { edge: width },
            (_, Some(depth), _) => Extent::Volume {
                width,
                height,
                depth,
            },
            (_, None, 1) => Extent::Line { width },
            (_, None, _) => Extent::Image { width, height },
        };
        let mut description = Self::new(extent, TexelFormat::new(channel, channels));
        description.layers = size("layers");
        description.samples = size("samples").unwrap_or(1);
        description.check()?;
        Ok(description)
    }

    /// Checks that [`with_shape`](Self::with_shape) knows a geometry.
    ///
    /// # Errors
    ///
    /// If it does not, with the names of all geometries.
    pub fn check_geometry(geometry: &str) -> Result<(), TextureError> {
        ShapeOrder::named(geometry).map(|_| ())
    }

    /// The description of a level as a separate array, without further levels.
    #[must_use]
    pub fn level(&self, level: u32) -> Self {
        let [width, height, depth] = self.level_size(level);
        let extent = match self.extent {
            Extent::Line { .. } => Extent::Line { width },
            Extent::Image { .. } => Extent::Image { width, height },
            Extent::Volume { .. } => Extent::Volume {
                width,
                height,
                depth,
            },
            Extent::Cube { .. } => Extent::Cube { edge: width },
        };
        Self {
            extent,
            levels: 1,
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_have_names() {
        let mut texture = TextureDescription::default();
        for (name, value) in [
            ("address", "wrap, mirror,clamp_to_border"),
            ("filter", "linear"),
            ("level_filter", "linear"),
            ("coordinates", "normalized"),
            ("border", "1, 0.5, -2, 0"),
            ("bias", "0.25"),
            ("range", "1,3"),
            ("compare", "not_equal"),
            ("edges", "seamless"),
            ("read", "normalized"),
            ("encoding", "srgb"),
        ] {
            texture.set(name, value).unwrap();
        }
        let sampler = Sampler {
            address_modes: [
                AddressMode::Wrap,
                AddressMode::Mirror,
                AddressMode::ClampToBorder,
            ],
            filter: FilterMode::Linear,
            level_filter: FilterMode::Linear,
            coordinates: Coordinates::Normalized,
            border_color: [1.0, 0.5, -2.0, 0.0],
            level_bias: 0.25,
            level_range: [1.0, 3.0],
            comparison: Comparison::NotEqual,
            cube_edges: CubeEdges::Seamless,
        };
        let expected = TextureDescription {
            sampler,
            read_mode: ReadMode::NormalizedFloat,
            encoding: ColorEncoding::Srgb,
        };
        assert_eq!(texture, expected);
        assert!(sampler.is_linear() && !Sampler::default().is_linear());
        for (name, value, message) in [
            ("address", "repeat", "`address`: expected `wrap`, `mirror`"),
            (
                "address",
                "wrap,wrap,wrap,wrap",
                "expected 1 to 3 modes, found 4",
            ),
            (
                "border",
                "1,2,3",
                "expected 4 numbers separated by commas, found `1,2,3`",
            ),
            ("bias", "x", "`bias`: expected a number, found `x`"),
            ("compare", "lt", "found `lt`"),
            (
                "mode",
                "1",
                "expected `read`, `encoding`, `address`, `filter`",
            ),
        ] {
            let error = texture.set(name, value).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn shapes_describe_arrays() {
        let u8x = |channels| TexelFormat::new(ChannelType::U8, channels);
        let image = Extent::Image {
            width: 5,
            height: 4,
        };
        for (geometry, shape, expected) in [
            (
                "1d",
                &[5][..],
                ArrayDescription::new(Extent::Line { width: 5 }, u8x(1)),
            ),
            ("2d", &[4, 5, 2], ArrayDescription::new(image, u8x(2))),
            (
                "3d",
                &[3, 4, 5],
                ArrayDescription::new(
                    Extent::Volume {
                        width: 5,
                        height: 4,
                        depth: 3,
                    },
                    u8x(1),
                ),
            ),
            (
                "a1d",
                &[7, 5, 4],
                ArrayDescription::new(Extent::Line { width: 5 }, u8x(4)).layers(7),
            ),
            (
                "a2d",
                &[7, 4, 5],
                ArrayDescription::new(image, u8x(1)).layers(7),
            ),
            (
                "cube",
                &[6, 5, 5],
                ArrayDescription::new(Extent::Cube { edge: 5 }, u8x(1)),
            ),
            (
                "acube",
                &[2, 6, 5, 5],
                ArrayDescription::new(Extent::Cube { edge: 5 }, u8x(1)).layers(2),
            ),
            (
                "2dms",
                &[4, 5, 8],
                ArrayDescription::new(image, u8x(1)).samples(8),
            ),
            (
                "a2dms",
                &[2, 4, 5, 8, 4],
                ArrayDescription::new(image, u8x(4)).samples(8).layers(2),
            ),
        ] {
            let found = ArrayDescription::with_shape(geometry, shape, ChannelType::U8);
            assert_eq!(found, Ok(expected), "{geometry}");
        }
        for (geometry, shape, message) in [
            ("4d", &[1][..], "found `4d`"),
            (
                "2d",
                &[4],
                "expected the shape [height, width] or [height, width, channels] for the geometry `2d`, found [4]",
            ),
            ("2d", &[4, 5, 3], "expected 1, 2 or 4 channels, found 3"),
            ("cube", &[6, 5, 4], "[6, height, width]"),
            ("cube", &[5, 5, 5], "[6, height, width]"),
            ("1d", &[1 << 40], "found [1099511627776]"),
            ("a2d", &[0, 4, 4], "expected 1 to 2048 layers"),
        ] {
            let error = ArrayDescription::with_shape(geometry, shape, ChannelType::U8).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
        }
    }
}
