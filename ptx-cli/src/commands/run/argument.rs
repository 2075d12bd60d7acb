//! The arguments of kernels as they are written on the command line.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use ptx_isa::ScalarType;

use super::npy::Layout;
use super::random::Random;
use super::structure::{POINTER, Structure};
use super::tensor_map::{MAP_ALIGNMENT, MAP_BYTES, MapArgument};
use super::texture::ObjectArgument;
use ptx_report::clean;
use ptx_report::scalars;

/// An argument.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// A number, whose type is that of the parameter.
    Number(String),
    /// Values of a type.
    Values(ScalarType, Vec<u8>),
    /// The bytes of a struct.
    Bytes(Vec<u8>),
    /// The address of a buffer.
    Buffer(Buffer),
    /// The address of a buffer of a script, by its name, and an offset that is added.
    Named(String, u64),
    /// A struct.
    Structure(Structure),
    /// The map of a tensor in a buffer.
    TensorMap(MapArgument),
    /// The handle of a texture, a sampler or a surface.
    Object(Box<ObjectArgument>),
}

/// A buffer in global memory.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(super) content: Content,
    /// The file that the buffer is written to at the end.
    pub(super) output: Option<PathBuf>,
}

/// The initial content of a buffer.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// The content of a file.
    File(PathBuf),
    /// An array of zeros.
    Array(Layout),
    /// Zero bytes, which a kernel may read.
    Zeros(Size),
    /// Zero bytes, which a kernel has to write before it reads them.
    Unwritten(Size),
    /// Random elements of an array.
    Random(Random),
    /// Multimem addresses of several buffers; each is [`Argument::Buffer`] or [`Argument::Named`].
    Multimem(Vec<Argument>),
    /// Multimem addresses of several buffers, by their numbers and the offsets in them.
    Members(Vec<(usize, u64)>),
}

/// The size of zeroed memory.
#[derive(Clone, Debug)]
pub(super) struct Size {
    pub(super) bytes: u64,
    /// The layout, if the size is that of an array.
    pub(super) layout: Option<Layout>,
}

impl Content {
    /// The layout of the elements, if it is known without a file.
    pub(super) const fn layout(&self) -> Option<&Layout> {
        match self {
            Self::File(_) => None,
            Self::Array(layout) => Some(layout),
            Self::Zeros(size) | Self::Unwritten(size) => size.layout.as_ref(),
            Self::Random(random) => Some(&random.layout),
            Self::Multimem(_) | Self::Members(_) => None,
        }
    }
}

const FORMS: &str = "expected a number, `TYPE:VALUE` such as `s32:5`, `bytes:HEX`, `struct:{FIELDS}`, `in:FILE.npy`, `out:FILE.npy:TYPE[SHAPE]`, `inout:FILE.npy:FILE.npy`, `zero:BYTES`, `random:TYPE[SHAPE]`, `scratch:BYTES`, `multimem:BUFFER,BUFFER`, `tensormap:BUFFER:TYPE[SHAPE]:box=SIZES`, `texture:ARRAY`, `sampler:FIELDS` or `surface:ARRAY`";
const BUFFERS: &str = "expected `in:FILE.npy`, `out:FILE.npy:TYPE[SHAPE]`, `inout:FILE.npy:FILE.npy`, `zero:BYTES`, `random:TYPE[SHAPE]`, `scratch:BYTES` or `multimem:BUFFER,BUFFER`";

impl Argument {
    /// Makes the names of files relative to a directory.
    pub(super) fn in_folder(self, folder: &Path) -> Self {
        match self {
            Self::Buffer(buffer) => Self::Buffer(buffer.in_folder(folder)),
            Self::Structure(mut structure) => {
                // Its fields are not structs.
                for (_, field) in &mut structure.fields {
                    *field = field.clone().in_folder(folder);
                }
                Self::Structure(structure)
            }
            Self::TensorMap(argument) => Self::TensorMap(MapArgument {
                buffer: Box::new(argument.buffer.in_folder(folder)),
                ..argument
            }),
            Self::Object(object) => Self::Object(Box::new(object.in_folder(folder))),
            argument => argument,
        }
    }

    /// The size and the alignment of a field of a struct in bytes; `None` if they are those of a parameter.
    pub(super) fn size_and_align(&self) -> Option<(usize, usize)> {
        match self {
            Self::Number(_) => None,
            Self::Values(ty, bytes) => Some((bytes.len(), usize::from(ty.bits() / 8).max(1))),
            Self::Bytes(bytes) => Some((bytes.len(), 1)),
            Self::Buffer(_) | Self::Named(..) => Some((POINTER, POINTER)),
            Self::Structure(structure) => Some((structure.size(), 1)),
            Self::TensorMap(_) => Some((MAP_BYTES, MAP_ALIGNMENT)),
            Self::Object(_) => Some((POINTER, POINTER)),
        }
    }
}

impl FromStr for Argument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((kind, value)) = text.split_once(':') else {
            return if is_number(text) {
                Ok(Self::Number(text.to_owned()))
            } else if text.ends_with(".npy") {
                let text = clean(text);
                Err(format!("did you mean `in:{text}`? {FORMS}"))
            } else {
                Err(FORMS.to_owned())
            };
        };
        if let Some(buffer) = Buffer::parse(kind, value)? {
            return Ok(Self::Buffer(buffer));
        }
        if let Some(object) = ObjectArgument::parse(kind, value) {
            return Ok(Self::Object(Box::new(object?)));
        }
        match kind {
            "bytes" => Ok(Self::Bytes(hex(value)?)),
            "buffer" => named_buffer(value),
            "struct" => Structure::parse(value).map(Self::Structure),
            "tensormap" => Ok(Self::TensorMap(value.parse()?)),
            _ => {
                let ty = scalars::scalar_type(kind).map_err(|why| format!("{why}; {FORMS}"))?;
                Ok(Self::Values(ty, scalars::bytes(ty, value)?))
            }
        }
    }
}

impl FromStr for Buffer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, value) = text.split_once(':').ok_or(BUFFERS)?;
        Self::parse(kind, value)?.ok_or_else(|| BUFFERS.to_owned())
    }
}

impl Buffer {
    /// Makes the names of files relative to a directory.
    pub(super) fn in_folder(self, folder: &Path) -> Self {
        let content = match self.content {
            Content::File(path) => Content::File(folder.join(path)),
            Content::Multimem(members) => {
                // Its members are not multimem addresses.
                let members = members.into_iter();
                Content::Multimem(members.map(|member| member.in_folder(folder)).collect())
            }
            content => content,
        };
        Self {
            content,
            output: self.output.map(|path| folder.join(path)),
        }
    }

    /// Parses a buffer of a kind; `None` if there is no such kind of buffers.
    fn parse(kind: &str, value: &str) -> Result<Option<Self>, String> {
        let (content, output) = match kind {
            "in" => (Content::File(file(value)?), None),
            "out" => {
                let (path, array) = value
                    .rsplit_once(':')
                    .filter(|(path, _)| !path.is_empty())
                    .ok_or("expected `out:FILE.npy:TYPE[SHAPE]`, such as `out:c.npy:f32[256]`")?;
                (Content::Array(layout(array)?), Some(file(path)?))
            }
            "inout" => {
                // Names may have colons.
                let end = value
                    .find(".npy:")
                    .map(|start| start + 4)
                    .or(value.rfind(':'));
                let (input, output) = end
                    .and_then(|end| Some((value.get(..end)?, value.get(end + 1..)?)))
                    .ok_or("expected `inout:FILE.npy:FILE.npy`")?;
                (Content::File(file(input)?), Some(file(output)?))
            }
            "zero" => (Content::Zeros(Size::parse(value)?), None),
            "random" => (Content::Random(Random::parse(value)?), None),
            "scratch" => (Content::Unwritten(Size::parse(value)?), None),
            "multimem" => (Content::Multimem(members(value)?), None),
            _ => return Ok(None),
        };
        Ok(Some(Self { content, output }))
    }
}

/// Whether a text is a number of some type: an integer, hexadecimal digits, or a number with a fraction, an infinity or `nan`.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let hexadecimal = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit()),
        None => text.parse::<f64>().is_ok(),
    }
}

fn file(path: &str) -> Result<PathBuf, String> {
    match path {
        "" => Err("expected the name of a file".to_owned()),
        path => Ok(path.into()),
    }
}

impl Size {
    /// The size of `64K` or `f32[1024,8]`.
    fn parse(text: &str) -> Result<Self, String> {
        if text.contains('[') {
            let layout = layout(text)?;
            let bytes = layout.bytes()?;
            return Ok(Self {
                bytes,
                layout: Some(layout),
            });
        }
        let bytes = size(text)?;
        Ok(Self {
            bytes,
            layout: None,
        })
    }
}

fn layout(text: &str) -> Result<Layout, String> {
    let (_, layout) = array(text)?;
    Ok(layout)
}

/// The type and the layout of an array such as `f32[1024,8]`.
pub(super) fn array(text: &str) -> Result<(ScalarType, Layout), String> {
    let error = || {
        let text = clean(text);
        format!("expected a type and a shape such as `f32[1024,8]`, found `{text}`")
    };
    let (ty, shape) = text.split_once('[').ok_or_else(error)?;
    let shape = shape.strip_suffix(']').ok_or_else(error)?;
    let sizes: Option<Vec<u64>> = match shape.trim() {
        "" => Some(Vec::new()),
        _ => shape.split(',').map(|n| n.trim().parse().ok()).collect(),
    };
    let ty = scalars::scalar_type(ty)?;
    Ok((ty, Layout::new(ty, sizes.ok_or_else(error)?)?))
}

/// A number of bytes: decimal digits, or hexadecimal digits after `0x`. `K`, `M` and `G` are powers of 1024.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (digits, bits) = [('K', 10), ('M', 20), ('G', 30)]
        .into_iter()
        .find_map(|(unit, bits)| {
            Some((text.strip_suffix([unit, unit.to_ascii_lowercase()])?, bits))
        })
        .unwrap_or((text, 0));
    let number = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    };
    number
        .filter(|_| !digits.contains('+'))
        .and_then(|n: u64| n.checked_mul(1 << bits))
        .ok_or_else(|| {
            let text = clean(text);
            format!("expected a number of bytes such as 65536 or 64K, found `{text}`")
        })
}
/// The bytes of pairs of hexadecimal digits.
fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|c| c.to_digit(16).map(|d| d as u8))
        .collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => {
            Ok(digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect())
        }
        _ => Err("expected pairs of hexadecimal digits, such as `bytes:0011ff`".to_owned()),
    }
}

const MEMBERS: &str =
    "expected buffers of equal sizes such as `multimem:a,b` or `multimem:{zero:1K},{zero:1K}`";

/// The buffers in `a,b+256,{in:c.npy}`.
fn members(text: &str) -> Result<Vec<Argument>, String> {
    let mut members = Vec::new();
    let mut remaining = text.trim();
    while !remaining.is_empty() {
        let (member, rest) = if let Some(braced) = remaining.strip_prefix('{') {
            let (buffer, rest) = braced.split_once('}').ok_or(MEMBERS)?;
            let buffer: Buffer = buffer.parse()?;
            if matches!(buffer.content, Content::Multimem(_)) {
                return Err(MEMBERS.to_owned());
            }
            (Argument::Buffer(buffer), rest)
        } else {
            let end = remaining.find(',').unwrap_or(remaining.len());
            let (name, rest) = remaining.split_at(end);
            (named_buffer(name.trim())?, rest)
        };
        members.push(member);
        remaining = match rest.trim_start().strip_prefix(',') {
            Some(rest) => rest.trim_start(),
            None if rest.trim().is_empty() => "",
            None => return Err(MEMBERS.to_owned()),
        };
    }
    if members.is_empty() {
        return Err(MEMBERS.to_owned());
    }
    Ok(members)
}

/// The buffer with the name `x` in `x` or `x+256`.
fn named_buffer(text: &str) -> Result<Argument, String> {
    match text.rsplit_once('+') {
        Some((name, offset)) => Ok(Argument::Named(name.to_owned(), size(offset)?)),
        None => Ok(Argument::Named(text.to_owned(), 0)),
    }
}
