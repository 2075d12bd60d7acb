//! Reads of textures: the texels of a lookup with their weights, and the value that they give.

use super::address::{self, Neighbors, WHOLE};
use super::cube::{self, OnFace};
use super::description::{
    AddressMode, ArrayDescription, Coordinates, CubeEdges, FilterMode, Sampler, TextureDescription,
};
use super::format::border_values;

/// The place of a texel in an array.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct TexelAddress {
    pub(crate) level: u32,
    /// The layer; of cubes, six times the layer plus the face.
    pub(crate) image: u32,
    /// The texel in x, y and z.
    pub(crate) position: [u32; 3],
    pub(crate) sample: u32,
}

/// The texels of a texture.
pub(crate) trait Texels {
    type Error;

    /// The bits of a texel; `None` if it is not resident in memory.
    fn texel(&mut self, address: TexelAddress) -> Result<Option<u128>, Self::Error>;
}

/// The level of detail of a lookup.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Detail {
    Base,
    Level(f32),
    /// The level follows from the changes of the coordinates in two directions of the screen.
    Gradients([[f32; 3]; 2]),
}

/// A lookup with floating-point coordinates.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Lookup {
    pub(crate) detail: Detail,
    /// The index of the layer.
    pub(crate) layer: u32,
    pub(crate) coordinates: [f32; 3],
    /// The offsets in texels that are added to the coordinates.
    pub(crate) offsets: [i32; 3],
    /// The depth that texels are compared with.
    pub(crate) reference: Option<f32>,
}

/// A lookup of one texel by its numbers.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Position {
    pub(crate) level: i64,
    pub(crate) layer: u32,
    pub(crate) numbers: [i64; 3],
    pub(crate) sample: u32,
}

/// The values of the four channels of a read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sampled {
    /// The bits of integers extended to 32 bits, or of binary32 numbers.
    pub(crate) values: [u32; 4],
    /// Whether all texels are in memory. Otherwise the values are zero.
    pub(crate) is_resident: bool,
}

impl Sampled {
    const ABSENT: Self = Self {
        values: [0; 4],
        is_resident: false,
    };

    const fn resident(values: [u32; 4]) -> Self {
        Self {
            values,
            is_resident: true,
        }
    }
}

/// A texel with its weight in a sum; the border for `None`.
#[derive(Copy, Clone, PartialEq, Debug)]
struct Weighted {
    texel: Option<TexelAddress>,
    weight: f64,
}

/// A texture as lookups see it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct View<'t> {
    pub(crate) array: &'t ArrayDescription,
    pub(crate) texture: &'t TextureDescription,
    /// The sampler of the texture, or a separate one.
    pub(crate) sampler: &'t Sampler,
}

impl View<'_> {
    /// The value of a lookup.
    pub(crate) fn sample<T: Texels>(
        &self,
        lookup: &Lookup,
        texels: &mut T,
    ) -> Result<Sampled, T::Error> {
        let mut selected = Vec::new();
        for (level, level_weight) in self.levels(lookup) {
            let level_texels = self.level_texels(lookup, level);
            selected.extend(level_texels.into_iter().map(|texel| Weighted {
                weight: texel.weight * level_weight,
                ..texel
            }));
        }
        if let [only] = selected[..] {
            let value = self.value(only.texel, lookup.reference, texels)?;
            return Ok(value.map_or(Sampled::ABSENT, Sampled::resident));
        }
        // A sum of binary32 numbers with weights of few bits; only its rounding to binary32 matters.
        let mut sums = [0.0; 4];
        for Weighted { texel, weight } in selected {
            let Some(value) = self.value(texel, lookup.reference, texels)? else {
                return Ok(Sampled::ABSENT);
            };
            for (sum, bits) in sums.iter_mut().zip(value) {
                *sum += weight * f64::from(f32::from_bits(bits));
            }
        }
        Ok(Sampled::resident(sums.map(|sum| (sum as f32).to_bits())))
    }

    /// A channel of the four texels that bilinear filtering would mix: counterclockwise from the lower left, where y points down.
    pub(crate) fn gather<T: Texels>(
        &self,
        lookup: &Lookup,
        channel: usize,
        texels: &mut T,
    ) -> Result<Sampled, T::Error> {
        let level = self.levels(lookup)[0].0;
        let mut gathered = [0; 4];
        for (index, corner) in [[0, 1], [1, 1], [1, 0], [0, 0]].into_iter().enumerate() {
            let places = self.corner(lookup, level, corner);
            // Only the corner of a cube has several places. Their mean is that of a filter.
            let mut sum = 0.0;
            for Weighted { texel, weight } in &places {
                let Some(value) = self.value(*texel, lookup.reference, texels)? else {
                    return Ok(Sampled::ABSENT);
                };
                let bits = value[channel % 4];
                gathered[index] = bits;
                sum += weight * f64::from(f32::from_bits(bits));
            }
            if places.len() > 1 {
                gathered[index] = (sum as f32).to_bits();
            }
        }
        Ok(Sampled::resident(gathered))
    }

    /// The texel at a position, or zero outside of the array.
    pub(crate) fn fetch<T: Texels>(
        &self,
        position: &Position,
        texels: &mut T,
    ) -> Result<Sampled, T::Error> {
        let outside = Ok(Sampled::resident([0; 4]));
        let levels = i64::from(self.array.levels);
        if !(0..levels).contains(&position.level)
            || position.layer >= self.array.images()
            || position.sample >= self.array.samples
        {
            return outside;
        }
        let level = position.level as u32;
        let size = self.array.level_size(level);
        let mut inside = [0; 3];
        for dimension in 0..3 {
            let number = position.numbers[dimension];
            if !(0..i64::from(size[dimension])).contains(&number) {
                return outside;
            }
            inside[dimension] = number as u32;
        }
        let texel = TexelAddress {
            level,
            image: position.layer,
            position: inside,
            sample: position.sample,
        };
        let value = self.value(Some(texel), None, texels)?;
        Ok(value.map_or(Sampled::ABSENT, Sampled::resident))
    }

    /// The value of a texel, compared with a depth if there is one; `None` if it is not resident.
    fn value<T: Texels>(
        &self,
        texel: Option<TexelAddress>,
        reference: Option<f32>,
        texels: &mut T,
    ) -> Result<Option<[u32; 4]>, T::Error> {
        let format = self.array.format;
        let mode = self.texture.read_mode;
        let values = match texel {
            Some(address) => match texels.texel(address)? {
                Some(bits) => format.decode(bits, mode, self.texture.encoding),
                None => return Ok(None),
            },
            None => border_values(self.sampler.border_color, format, mode),
        };
        let Some(reference) = reference else {
            return Ok(Some(values));
        };
        let comparison = self.sampler.comparison;
        Ok(Some(core::array::from_fn(|channel| {
            let depth = f32::from_bits(values[channel]);
            let passes = channel < format.channels as usize && comparison.passes(reference, depth);
            f32::to_bits(if passes { 1.0 } else { 0.0 })
        })))
    }

    /// The levels of a lookup with their weights.
    fn levels(&self, lookup: &Lookup) -> Vec<(u32, f64)> {
        let sampler = self.sampler;
        let detail = match lookup.detail {
            Detail::Base => 0.0,
            Detail::Level(level) => level + sampler.level_bias,
            Detail::Gradients(gradients) => {
                self.detail_of_gradients(lookup, gradients) + sampler.level_bias
            }
        };
        let last = (self.array.levels - 1) as f32;
        let [smallest, largest] = sampler.level_range;
        // What is not a number is level 0.
        let detail = detail.max(smallest).min(largest).max(0.0).min(last);
        let detail = f64::from(detail);
        match sampler.level_filter {
            FilterMode::Nearest => vec![(libm::floor(detail + 0.5) as u32, 1.0)],
            FilterMode::Linear => {
                let fixed = libm::floor(detail * 256.0 + 0.5) as u32;
                let (level, weight) = (fixed >> 8, f64::from(fixed & 255) / 256.0);
                if weight == 0.0 {
                    vec![(level, 1.0)]
                } else {
                    vec![(level, 1.0 - weight), (level + 1, weight)]
                }
            }
        }
    }

    /// The binary logarithm of the length of the longer gradient in texels of the base level.
    fn detail_of_gradients(&self, lookup: &Lookup, gradients: [[f32; 3]; 2]) -> f32 {
        let lengths = gradients.map(|gradient| {
            let rates = if self.array.extent.is_cube() {
                let [s, t] = cube::project_gradient(lookup.coordinates, gradient);
                [s, t, 0.0]
            } else {
                gradient.map(f64::from)
            };
            let dimensions = self.array.extent.dimensions();
            let squares = (0..dimensions).map(|dimension| {
                let texels = rates[dimension] * self.unit(0, dimension);
                texels * texels
            });
            squares.sum::<f64>()
        });
        (libm::log2(lengths[0].max(lengths[1])) / 2.0) as f32
    }

    /// The texels of a unit of coordinates.
    fn unit(&self, level: u32, dimension: usize) -> f64 {
        if self.array.extent.is_cube() || self.sampler.coordinates == Coordinates::Normalized {
            self.array.level_size(level)[dimension].into()
        } else {
            1.0
        }
    }

    /// The coordinates of a lookup in texels of a level, and the image.
    fn coordinates(&self, lookup: &Lookup, level: u32) -> ([f64; 3], u32) {
        let layers = self.array.layers.unwrap_or(1);
        let layer = lookup.layer.min(layers - 1);
        let in_texels = |coordinate: f64, dimension: usize| {
            coordinate * self.unit(level, dimension) + f64::from(lookup.offsets[dimension])
        };
        if self.array.extent.is_cube() {
            let OnFace { face, coordinates } = cube::project(lookup.coordinates);
            let [x, y] = coordinates;
            let position = [in_texels(x, 0), in_texels(y, 1), 0.0];
            return (position, 6 * layer + face);
        }
        let position = core::array::from_fn(|dimension| {
            in_texels(lookup.coordinates[dimension].into(), dimension)
        });
        (position, layer)
    }

    const fn has_seamless_edges(&self) -> bool {
        self.array.extent.is_cube() && matches!(self.sampler.cube_edges, CubeEdges::Seamless)
    }

    /// The texels of a level that a lookup selects, with weights other than 0.
    fn level_texels(&self, lookup: &Lookup, level: u32) -> Vec<Weighted> {
        let (position, image) = self.coordinates(lookup, level);
        let size = self.array.level_size(level);
        let dimensions = self.array.extent.dimensions();
        if self.has_seamless_edges() && self.sampler.filter == FilterMode::Linear {
            return self.seamless_texels(position, image, level);
        }
        let axes: [Neighbors; 3] = core::array::from_fn(|dimension| {
            if dimension < dimensions {
                address::neighbors(
                    position[dimension],
                    size[dimension],
                    self.sampler.effective_mode(dimension),
                    self.sampler.filter,
                )
            } else {
                Neighbors {
                    texels: [(Some(0), WHOLE), (Some(0), 0)],
                }
            }
        });
        let mut selected = Vec::new();
        for corner in 0..8usize {
            let parts: [(Option<u32>, u32); 3] =
                core::array::from_fn(|dimension| axes[dimension].texels[corner >> dimension & 1]);
            let weight = parts.iter().map(|part| part.1).product::<u32>();
            if weight == 0 {
                continue;
            }
            let [x, y, z] = parts.map(|part| part.0);
            let texel = match (x, y, z) {
                (Some(x), Some(y), Some(z)) => Some(TexelAddress {
                    level,
                    image,
                    position: [x, y, z],
                    sample: 0,
                }),
                _ => None,
            };
            let whole = f64::from(WHOLE * WHOLE * WHOLE);
            selected.push(Weighted {
                texel,
                weight: f64::from(weight) / whole,
            });
        }
        selected
    }

    /// The texels that bilinear filtering selects in a cube, also in the adjacent faces.
    fn seamless_texels(&self, position: [f64; 3], image: u32, level: u32) -> Vec<Weighted> {
        let size = self.array.level_size(level)[0];
        let axes = [0, 1].map(|dimension| address::split_in_face(position[dimension], size));
        let mut selected = Vec::new();
        for corner in 0..4usize {
            let parts = [axes[0][corner & 1], axes[1][corner >> 1]];
            let weight = f64::from(parts[0].1) * f64::from(parts[1].1) / f64::from(WHOLE * WHOLE);
            if weight > 0.0 {
                let numbers = parts.map(|part| part.0);
                selected.extend(seamless_texel(level, image, numbers, size, weight));
            }
        }
        selected
    }

    /// One of the four texels that bilinear filtering would select: the lower or the upper neighbor in x and y.
    fn corner(&self, lookup: &Lookup, level: u32, corner: [i64; 2]) -> Vec<Weighted> {
        let (position, image) = self.coordinates(lookup, level);
        let size = self.array.level_size(level);
        let numbers = [0, 1].map(|dimension| {
            let mode = self.sampler.effective_mode(dimension);
            let folded = address::folded(position[dimension], size[dimension], mode);
            address::first_neighbor(folded) + corner[dimension]
        });
        if self.has_seamless_edges() {
            return seamless_texel(level, image, numbers, size[0], 1.0);
        }
        let [x, y] = [0, 1].map(|dimension| {
            let mode: AddressMode = self.sampler.effective_mode(dimension);
            address::texel(numbers[dimension], size[dimension], mode)
        });
        let texel = x.zip(y).map(|(x, y)| TexelAddress {
            level,
            image,
            position: [x, y, 0],
            sample: 0,
        });
        vec![Weighted { texel, weight: 1.0 }]
    }
}

/// The texel of a face or of the adjacent one. The texel beyond a corner of the cube is the mean of the three texels at that corner.
fn seamless_texel(
    level: u32,
    image: u32,
    numbers: [i64; 2],
    size: u32,
    weight: f64,
) -> Vec<Weighted> {
    let (layer, face) = (image / 6, image % 6);
    let weighted = |(face, [x, y]): (u32, [u32; 2]), weight| Weighted {
        texel: Some(TexelAddress {
            level,
            image: 6 * layer + face,
            position: [x, y, 0],
            sample: 0,
        }),
        weight,
    };
    if let Some(place) = cube::across_edge(face, numbers, size) {
        return vec![weighted(place, weight)];
    }
    let last = i64::from(size) - 1;
    let [x, y] = numbers.map(|number| number.clamp(0, last));
    let around = [[x, y], [numbers[0], y], [x, numbers[1]]];
    let places = around
        .into_iter()
        .filter_map(|numbers| cube::across_edge(face, numbers, size));
    places.map(|place| weighted(place, weight / 3.0)).collect()
}
