//! Reads of textures.

use ptx_isa::{Modifier, ScalarType};

use super::execution::{Control, Execution, Failed, Outcome};
use super::location::Location;
use super::opaque::{Geometry, invalid};
use crate::lanes::{Place, lanes};
use crate::program::Act;
use crate::texture::{
    ArrayData, Coordinates, Detail, FilterMode, Lookup, Position, Sampled, TexelAddress, Texels,
    View, single_to_half,
};

/// The indices of operands in the forms of reads: the results come first, then the texture, the sampler and the coordinates.
const RESIDENCE: usize = 1;
const TEXTURE: usize = 2;
const SAMPLER: usize = 3;
const COORDINATES: usize = 4;
const DETAIL: usize = 5;

/// The range of offsets. Manual 9.7.10.3.
const OFFSETS: core::ops::RangeInclusive<i32> = -8..=7;

/// The work of a read, as the number of bytes whose handling takes as long.
const LOOKUP: u64 = 1 << 8;

/// The form of a read.
struct Read {
    geometry: Geometry,
    /// The type of the results.
    result: ScalarType,
    has_integer_coordinates: bool,
    has_level: bool,
    has_gradients: bool,
    /// The channel of the texels that are gathered.
    gathered_channel: Option<usize>,
}

impl Read {
    fn of(act: &Act) -> Option<Self> {
        let mut types = act.modifiers.iter().filter_map(|m| m.scalar_type());
        let result = types.next()?;
        let channels = [Modifier::R, Modifier::G, Modifier::B, Modifier::A];
        let gathered_channel = channels.iter().position(|channel| act.has(*channel));
        Some(Self {
            geometry: Geometry::of(act)?,
            result,
            has_integer_coordinates: types.next() == Some(ScalarType::S32),
            has_level: act.has(Modifier::Level),
            has_gradients: act.has(Modifier::Grad),
            gathered_channel,
        })
    }

    /// The index of the operand with the offsets; the depth follows.
    fn offsets(&self) -> usize {
        DETAIL + usize::from(self.has_level) + 2 * usize::from(self.has_gradients)
    }
}

/// The operands of a read in a lane.
struct ReadOperands {
    layer: u32,
    sample: u32,
    /// The bits of the coordinates.
    coordinates: [u32; 3],
    offsets: [i32; 3],
    reference: Option<f32>,
    /// The bits of the level.
    level: Option<u32>,
    gradients: [[f32; 3]; 2],
}

/// The texels of an array, as a lane reads them.
struct ArrayTexels<'x, 'e> {
    execution: &'x Execution<'e>,
    array: &'x ArrayData,
    lane: usize,
}

impl Texels for ArrayTexels<'_, '_> {
    type Error = Failed;

    fn texel(&mut self, texel: TexelAddress) -> Result<Option<u128>, Failed> {
        if !self.array.is_resident(&texel) {
            return Ok(None);
        }
        let location = Location::Global(self.array.texel(texel));
        let bytes = self.array.description.format.bytes() as u8;
        self.execution.read(location, bytes, self.lane).map(Some)
    }
}

impl Execution<'_> {
    /// Reads a texture.
    pub(super) fn read_texture(&mut self, act: &Act) -> Outcome {
        let first = self.first();
        let read = Read::of(act).ok_or_else(|| invalid("unknown geometry".into(), first))?;
        for lane in lanes(self.active) {
            let sampled = self.sampled(act, &read, lane)?;
            self.write_values(act, &read, lane, sampled);
        }
        let counted = self.warp.work(LOOKUP, self.grid);
        counted.map_err(|reason| (reason, first))?;
        Ok(Control::Next)
    }

    /// The values that a lane reads.
    fn sampled(&self, act: &Act, read: &Read, lane: usize) -> Result<(Sampled, bool), Failed> {
        let missing = || invalid("missing operand".into(), lane);
        let address = act.address(TEXTURE).ok_or_else(missing)?;
        let texture = self.texture(address, lane)?;
        let description = &texture.description;
        read.geometry.check(&texture.array, lane)?;
        let separate = match act.address(SAMPLER) {
            Some(address) => Some(self.sampler(address, lane)?),
            None => None,
        };
        let mut sampler = separate.unwrap_or(description.sampler);
        if separate.is_some() && description.sampler.coordinates == Coordinates::Texels {
            sampler.coordinates = Coordinates::Texels;
        }
        let view = View {
            array: &texture.array.description,
            texture: description,
            sampler: &sampler,
        };
        let operands = self.texture_operands(act, read, lane)?;
        let mut texels = ArrayTexels {
            execution: self,
            array: &texture.array,
            lane,
        };
        let is_float = view.array.format.reads_float(description.read_mode);
        // Integer coordinates without a separate sampler are numbers of texels, as are those of textures with several samples.
        let is_sampled = !read.has_integer_coordinates
            || (separate.is_some() || read.has_gradients) && !read.geometry.has_samples;
        if !is_sampled {
            let position = operands.position();
            return Ok((view.fetch(&position, &mut texels)?, is_float));
        }
        if texture.array.is_linear && view.array.extent.dimensions() == 1 {
            let message = "linear memory is read with integer coordinates, without a sampler";
            return Err(invalid(message.into(), lane));
        }
        let is_filtered = [sampler.filter, sampler.level_filter].contains(&FilterMode::Linear);
        if !is_float
            && (is_filtered && read.gathered_channel.is_none() || operands.reference.is_some())
        {
            let message = "linear filtering and comparisons need a texture of floating-point numbers, found integers";
            return Err(invalid(message.into(), lane));
        }
        let lookup = operands.lookup(read);
        let sampled = match read.gathered_channel {
            Some(channel) => view.gather(&lookup, channel, &mut texels)?,
            None => view.sample(&lookup, &mut texels)?,
        };
        // The results of comparisons are numbers.
        Ok((sampled, is_float))
    }

    /// The operands of a lane.
    fn texture_operands(
        &self,
        act: &Act,
        read: &Read,
        lane: usize,
    ) -> Result<ReadOperands, Failed> {
        let word = |place: &Place| self.get(*place, lane) as u32;
        let words = |index: usize| act.all_places(index).iter().map(word);
        let mut vector = words(COORDINATES);
        let sample = if read.geometry.has_samples {
            vector.next()
        } else {
            None
        };
        let layer = if read.geometry.has_layers {
            vector.next()
        } else {
            None
        };
        let mut operands = ReadOperands {
            layer: layer.unwrap_or(0),
            sample: sample.unwrap_or(0),
            coordinates: [0; 3],
            offsets: [0; 3],
            reference: None,
            level: None,
            gradients: [[0.0; 3]; 2],
        };
        let count = read.geometry.coordinates;
        for (coordinate, bits) in operands.coordinates[..count].iter_mut().zip(vector) {
            *coordinate = bits;
        }
        let offsets = read.offsets();
        for (offset, bits) in operands.offsets[..count].iter_mut().zip(words(offsets)) {
            *offset = bits.cast_signed();
            if !OFFSETS.contains(offset) {
                let message = format!("expected an offset from -8 to 7, found {offset}");
                return Err(invalid(message, lane));
            }
        }
        operands.reference = words(offsets + 1).next().map(f32::from_bits);
        if read.has_level {
            operands.level = words(DETAIL).next();
        }
        if read.has_gradients {
            for (index, gradient) in operands.gradients.iter_mut().enumerate() {
                for (rate, bits) in gradient.iter_mut().zip(words(DETAIL + index)) {
                    *rate = f32::from_bits(bits);
                }
            }
        }
        Ok(operands)
    }

    /// Writes the values that a lane has read.
    fn write_values(
        &mut self,
        act: &Act,
        read: &Read,
        lane: usize,
        (sampled, is_float): (Sampled, bool),
    ) {
        if let Some(predicate) = act.place(RESIDENCE) {
            self.set(predicate, lane, sampled.is_resident.into());
        }
        let half = |bits: u32| {
            if is_float {
                single_to_half(bits)
            } else {
                bits as u16
            }
        };
        let values = sampled.values;
        let results = match read.result {
            ScalarType::F16 => values.map(|bits| half(bits).into()),
            ScalarType::F16x2 => {
                let pair = |low, high| u32::from(half(low)) | u32::from(half(high)) << 16;
                [pair(values[0], values[1]), pair(values[2], values[3]), 0, 0]
            }
            _ => values,
        };
        for (place, bits) in act.all_places(0).iter().zip(results) {
            self.set(*place, lane, bits.into());
        }
    }
}

impl ReadOperands {
    /// The texel that integer coordinates select.
    fn position(&self) -> Position {
        let level = self.level.unwrap_or(0).cast_signed();
        Position {
            level: level.into(),
            layer: self.layer,
            numbers: core::array::from_fn(|dimension| {
                let coordinate = i64::from(self.coordinates[dimension].cast_signed());
                coordinate + i64::from(self.offsets[dimension])
            }),
            sample: self.sample,
        }
    }

    /// The lookup with a sampler, for which integer coordinates are converted.
    fn lookup(&self, read: &Read) -> Lookup {
        let number = |bits: u32| {
            if read.has_integer_coordinates {
                bits.cast_signed() as f32
            } else {
                f32::from_bits(bits)
            }
        };
        let detail = match self.level {
            Some(level) => Detail::Level(number(level)),
            None if read.has_gradients => Detail::Gradients(self.gradients),
            None => Detail::Base,
        };
        Lookup {
            detail,
            layer: self.layer,
            coordinates: self.coordinates.map(number),
            offsets: self.offsets,
            reference: self.reference,
        }
    }
}
