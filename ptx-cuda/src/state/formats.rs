//! The formats of texels: their numbers in both APIs, and the formats of the machine.

use ptx_vm::{ChannelType, TexelFormat};

use crate::abi::arrays::ChannelFormat;
use crate::status::{Outcome, Status};

/// The formats with 1, 2 or 4 channels, by their numbers: `CUarray_format`.
const FORMATS: [(u32, ChannelType); 8] = [
    (0x01, ChannelType::U8),
    (0x02, ChannelType::U16),
    (0x03, ChannelType::U32),
    (0x08, ChannelType::S8),
    (0x09, ChannelType::S16),
    (0x0a, ChannelType::S32),
    (0x10, ChannelType::F16),
    (0x20, ChannelType::F32),
];

/// The number of the first format of normalized integers. Those with 1, 2 and 4 channels follow each other, then the next type.
const FIRST_NORMALIZED: u32 = 0xc0;
const NORMALIZED: [ChannelType; 4] = [
    ChannelType::Unorm8,
    ChannelType::Unorm16,
    ChannelType::Snorm8,
    ChannelType::Snorm16,
];
/// The numbers of channels, in the order of numbers of formats.
const CHANNELS: [u32; 3] = [1, 2, 4];

/// Whether a number is that of a format that the machine lacks: compressed blocks, several planes, and packed colors.
const fn is_unsupported(number: u32) -> bool {
    matches!(number, 0x50..=0x5e | 0x91..=0xb5)
}

/// An entry of a list of types that each have 1, 2 and 4 channels.
fn entry(types: &[ChannelType], index: u32) -> Option<TexelFormat> {
    let channel = types.get(index as usize / CHANNELS.len())?;
    Some(TexelFormat::new(
        *channel,
        CHANNELS[index as usize % CHANNELS.len()],
    ))
}

/// The format with a number and a number of channels.
pub(crate) fn texel_format(number: u32, channels: u32) -> Outcome<TexelFormat> {
    if let Some((_, channel)) = FORMATS.iter().find(|(listed, _)| *listed == number) {
        return if CHANNELS.contains(&channels) {
            Ok(TexelFormat::new(*channel, channels))
        } else {
            Err(Status::INVALID_VALUE)
        };
    }
    let index = number.wrapping_sub(FIRST_NORMALIZED);
    match entry(&NORMALIZED, index) {
        Some(format) if format.channels == channels => Ok(format),
        None if is_unsupported(number) => Err(Status::NOT_SUPPORTED),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// Whether reads return integers, unless they are read as fractions.
pub(crate) const fn is_integer(format: TexelFormat) -> bool {
    use ChannelType as C;
    matches!(
        format.channel,
        C::U8 | C::S8 | C::U16 | C::S16 | C::U32 | C::S32
    )
}

/// The format of a view of a resource: `CUresourceViewFormat`. `None` is the format of the resource.
pub(crate) fn view_format(number: u32) -> Outcome<Option<TexelFormat>> {
    const TYPES: [ChannelType; 8] = [
        ChannelType::U8,
        ChannelType::S8,
        ChannelType::U16,
        ChannelType::S16,
        ChannelType::U32,
        ChannelType::S32,
        ChannelType::F16,
        ChannelType::F32,
    ];
    const LAST_COMPRESSED: u32 = 0x22;
    match number.checked_sub(1) {
        None => Ok(None),
        Some(index) => match entry(&TYPES, index) {
            Some(format) => Ok(Some(format)),
            None if number <= LAST_COMPRESSED => Err(Status::NOT_SUPPORTED),
            None => Err(Status::INVALID_VALUE),
        },
    }
}

/// The kinds of channels: `cudaChannelFormatKind`.
mod kind {
    pub(super) const SIGNED: u32 = 0;
    pub(super) const UNSIGNED: u32 = 1;
    pub(super) const FLOAT: u32 = 2;
    pub(super) const NONE: u32 = 3;
    pub(super) const FIRST_NORMALIZED: u32 = 5;
    pub(super) const LAST: u32 = 31;
}

/// The number and the number of channels of a format of the runtime API.
pub(crate) fn of_channels(format: &ChannelFormat) -> Outcome<(u32, u32)> {
    let invalid = Status::INVALID_CHANNEL_DESCRIPTOR;
    let used = format.bits.iter().take_while(|bits| **bits != 0);
    let channels = used.count();
    let bits = format.bits[0];
    if format.bits[..channels].iter().any(|other| *other != bits)
        || format.bits[channels..].iter().any(|other| *other != 0)
    {
        return Err(invalid);
    }
    let index = format.kind.wrapping_sub(kind::FIRST_NORMALIZED);
    if let Some(normalized) = entry(&NORMALIZED, index) {
        let matches = normalized.channels as usize == channels
            && i32::try_from(normalized.channel.bits()) == Ok(bits);
        return if matches {
            Ok((FIRST_NORMALIZED + index, normalized.channels))
        } else {
            Err(invalid)
        };
    }
    let number = match (format.kind, bits) {
        (kind::UNSIGNED, 8) => 0x01,
        (kind::UNSIGNED, 16) => 0x02,
        (kind::UNSIGNED, 32) => 0x03,
        (kind::SIGNED, 8) => 0x08,
        (kind::SIGNED, 16) => 0x09,
        (kind::SIGNED, 32) => 0x0a,
        (kind::FLOAT, 16) => 0x10,
        (kind::FLOAT, 32) => 0x20,
        (kind::SIGNED | kind::UNSIGNED | kind::FLOAT | kind::NONE, _) => return Err(invalid),
        (4..=kind::LAST, _) => return Err(Status::NOT_SUPPORTED),
        _ => return Err(invalid),
    };
    if !CHANNELS.contains(&(channels as u32)) {
        return Err(invalid);
    }
    Ok((number, channels as u32))
}

/// The format of the runtime API of a supported format.
pub(crate) fn to_channels(number: u32, channels: u32) -> Outcome<ChannelFormat> {
    let format = texel_format(number, channels)?;
    let mut bits = [0; 4];
    bits[..channels as usize].fill(format.channel.bits() as i32);
    let kind = match format.channel {
        ChannelType::U8 | ChannelType::U16 | ChannelType::U32 => kind::UNSIGNED,
        ChannelType::S8 | ChannelType::S16 | ChannelType::S32 => kind::SIGNED,
        ChannelType::F16 | ChannelType::F32 => kind::FLOAT,
        _ => kind::FIRST_NORMALIZED + (number - FIRST_NORMALIZED),
    };
    Ok(ChannelFormat { bits, kind })
}
