//! The formats of texels: how their bytes become values, and values their bytes.

use rustc_apfloat::ieee::{Half, Single};
use rustc_apfloat::{Float, FloatConvert};

use super::description::{ColorEncoding, ReadMode};

/// The type of the channels of a texel.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ChannelType {
    /// Unsigned integers of 8 bits.
    U8,
    /// Signed integers of 8 bits.
    S8,
    /// Unsigned integers of 16 bits.
    U16,
    /// Signed integers of 16 bits.
    S16,
    /// Unsigned integers of 32 bits.
    U32,
    /// Signed integers of 32 bits.
    S32,
    /// Floating-point numbers of 16 bits.
    F16,
    /// Floating-point numbers of 32 bits.
    F32,
    /// Unsigned integers of 8 bits that represent numbers from 0 to 1 in all reads and in stores with conversion.
    Unorm8,
    /// Signed integers of 8 bits that represent numbers from -1 to 1 in all reads and in stores with conversion.
    Snorm8,
    /// Unsigned integers of 16 bits that represent numbers from 0 to 1 in all reads and in stores with conversion.
    Unorm16,
    /// Signed integers of 16 bits that represent numbers from -1 to 1 in all reads and in stores with conversion.
    Snorm16,
}

/// The interpretation of the bits of a channel.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Kind {
    Unsigned,
    Signed,
    Float,
    /// A fraction of the largest integer.
    UnsignedFraction,
    /// A fraction of the largest integer; the smallest integer is -1 too.
    SignedFraction,
}

impl ChannelType {
    /// The number of bits of a channel.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::U8 | Self::S8 | Self::Unorm8 | Self::Snorm8 => 8,
            Self::U16 | Self::S16 | Self::F16 | Self::Unorm16 | Self::Snorm16 => 16,
            Self::U32 | Self::S32 | Self::F32 => 32,
        }
    }

    const fn kind(self) -> Kind {
        match self {
            Self::U8 | Self::U16 | Self::U32 => Kind::Unsigned,
            Self::S8 | Self::S16 | Self::S32 => Kind::Signed,
            Self::F16 | Self::F32 => Kind::Float,
            Self::Unorm8 | Self::Unorm16 => Kind::UnsignedFraction,
            Self::Snorm8 | Self::Snorm16 => Kind::SignedFraction,
        }
    }

    /// Whether reads return floating-point numbers whatever the read mode.
    pub(crate) const fn is_float(self) -> bool {
        !matches!(self.kind(), Kind::Unsigned | Kind::Signed)
    }

    /// Whether integers are read as signed ones.
    pub(crate) const fn is_signed(self) -> bool {
        matches!(self.kind(), Kind::Signed)
    }
}

/// The format of a texel: 1, 2 or 4 channels of a type.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct TexelFormat {
    /// The type of all channels.
    pub channel: ChannelType,
    /// The number of channels: 1, 2 or 4.
    pub channels: u32,
}

impl TexelFormat {
    /// A format with 1, 2 or 4 channels of a type. Arrays with another number of channels are refused.
    #[must_use]
    pub const fn new(channel: ChannelType, channels: u32) -> Self {
        Self { channel, channels }
    }

    /// The number of bytes of a texel.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self.channel.bits() / 8 * self.channels
    }

    /// Whether reads in a mode return floating-point numbers.
    pub(crate) fn reads_float(self, mode: ReadMode) -> bool {
        self.channel.is_float() || mode == ReadMode::NormalizedFloat
    }

    /// The bits of a channel of a texel, at the low end.
    const fn channel_bits(self, texel: u128, channel: u32) -> u32 {
        let bits = self.channel.bits();
        (texel >> (channel * bits)) as u32 & (u32::MAX >> (32 - bits))
    }

    /// The values of the channels of a texel: the bits of integers extended to 32 bits, or of binary32 numbers. Channels that the format lacks are zero.
    pub(crate) fn decode(self, texel: u128, mode: ReadMode, encoding: ColorEncoding) -> [u32; 4] {
        core::array::from_fn(|channel| {
            if channel as u32 >= self.channels {
                return 0;
            }
            let bits = self.channel_bits(texel, channel as u32);
            let kind = match (self.channel.kind(), mode) {
                (Kind::Unsigned, ReadMode::NormalizedFloat) => Kind::UnsignedFraction,
                (Kind::Signed, ReadMode::NormalizedFloat) => Kind::SignedFraction,
                (kind, _) => kind,
            };
            // The fourth channel is never a color.
            let is_color = encoding == ColorEncoding::Srgb && channel < 3;
            decode_channel(kind, self.channel.bits(), bits, is_color)
        })
    }

    /// The texel with the values of a formatted store: binary32 numbers or integers of 32 bits, as the format has. Integers beyond the range of the format
    /// become the nearest ones.
    pub(crate) fn encode(self, values: [u32; 4]) -> u128 {
        let bits = self.channel.bits();
        let channels = (0..self.channels).zip(values);
        channels.fold(0, |texel, (channel, value)| {
            let encoded = encode_channel(self.channel.kind(), bits, value);
            texel | u128::from(encoded & (u32::MAX >> (32 - bits))) << (channel * bits)
        })
    }
}

/// The largest integer of a signed or unsigned channel.
const fn largest(kind: Kind, bits: u32) -> u32 {
    match kind {
        Kind::Signed | Kind::SignedFraction => u32::MAX >> (33 - bits),
        _ => u32::MAX >> (32 - bits),
    }
}

fn decode_channel(kind: Kind, bits: u32, value: u32, is_color: bool) -> u32 {
    let unused = 32 - bits;
    let signed = (value << unused).cast_signed() >> unused;
    let largest = f64::from(largest(kind, bits));
    match kind {
        Kind::Unsigned => value,
        Kind::Signed => signed.cast_unsigned(),
        Kind::Float if bits == 16 => half_to_single(value as u16),
        Kind::Float => value,
        Kind::UnsignedFraction if is_color && bits == 8 => {
            (linear_color(f64::from(value) / largest) as f32).to_bits()
        }
        Kind::UnsignedFraction => ((f64::from(value) / largest) as f32).to_bits(),
        Kind::SignedFraction => ((f64::from(signed) / largest).max(-1.0) as f32).to_bits(),
    }
}

fn encode_channel(kind: Kind, bits: u32, value: u32) -> u32 {
    let number = f64::from(f32::from_bits(value));
    let limit = largest(kind, bits);
    match kind {
        Kind::Unsigned => value.min(limit),
        Kind::Signed => {
            let high = limit.cast_signed();
            value.cast_signed().clamp(-high - 1, high).cast_unsigned()
        }
        Kind::Float if bits == 16 => single_to_half(value).into(),
        Kind::Float => value,
        // The conversion of a NaN gives 0.
        Kind::UnsignedFraction => libm::rint(number.clamp(0.0, 1.0) * f64::from(limit)) as u32,
        Kind::SignedFraction => {
            let scaled = libm::rint(number.clamp(-1.0, 1.0) * f64::from(limit));
            (scaled as i32).cast_unsigned()
        }
    }
}

/// The intensity of a color of sRGB.
fn linear_color(color: f64) -> f64 {
    if color <= 0.04045 {
        color / 12.92
    } else {
        libm::pow((color + 0.055) / 1.055, 2.4)
    }
}

/// The binary32 number equal to a binary16 number.
fn half_to_single(bits: u16) -> u32 {
    let converted: Single = Half::from_bits(bits.into()).convert(&mut false).value;
    converted.to_bits() as u32
}

/// The nearest binary16 number to a binary32 number.
pub(crate) fn single_to_half(bits: u32) -> u16 {
    let converted: Half = Single::from_bits(bits.into()).convert(&mut false).value;
    converted.to_bits() as u16
}

/// The color of the border as the values of reads: of formats with integers, the nearest ones.
pub(crate) fn border_values(color: [f32; 4], format: TexelFormat, mode: ReadMode) -> [u32; 4] {
    core::array::from_fn(|channel| {
        let number = color[channel];
        if channel as u32 >= format.channels {
            0
        } else if format.reads_float(mode) {
            number.to_bits()
        } else if format.channel.is_signed() {
            (libm::rint(number.into()) as i32).cast_unsigned()
        } else {
            libm::rint(number.into()) as u32
        }
    })
}
