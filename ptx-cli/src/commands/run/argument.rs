//! Arguments of kernels, as they are written on the command line.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use ptx_isa::ScalarType;

use super::npy::Layout;
use super::random::Random;
use ptx_report::clean;
use ptx_report::scalars;

/// An argument.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// Values of a type.
    Values(ScalarType, Vec<u8>),
    /// The bytes of a struct.
    Bytes(Vec<u8>),
    /// The address of a buffer.
    Buffer(Buffer),
    /// The address of a buffer of a script, by its name, and what is added to it.
    Named(String, u64),
}

/// A buffer in global memory.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(super) content: Content,
    /// The file that it is written to in the end.
    pub(super) output: Option<PathBuf>,
}

/// What a buffer has at first.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// That of a file.
    File(PathBuf),
    /// Zeros, which are elements of an array.
    Array(Layout),
    /// This many zeros, which a kernel may read.
    Zeros(u64),
    /// This many bytes, which a kernel has to write before it reads them. They are zero, too.
    Unwritten(u64),
    /// Random elements of an array.
    Random(Random),
}

const FORMS: &str = "expected `TYPE:VALUE` such as `s32:5`, `bytes:HEX`, `in:FILE.npy`, `out:FILE.npy:TYPE[SHAPE]`, `inout:FILE.npy:FILE.npy`, `zero:BYTES`, `random:TYPE[SHAPE]` or `scratch:BYTES`";
const BUFFERS: &str = "expected `in:FILE.npy`, `out:FILE.npy:TYPE[SHAPE]`, `inout:FILE.npy:FILE.npy`, `zero:BYTES`, `random:TYPE[SHAPE]` or `scratch:BYTES`";

impl Argument {
    /// The same with names of files that are relative to a directory.
    pub(super) fn in_folder(self, folder: &Path) -> Self {
        match self {
            Self::Buffer(buffer) => Self::Buffer(buffer.in_folder(folder)),
            other => other,
        }
    }
}

impl FromStr for Argument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').ok_or(FORMS)?;
        if let Some(buffer) = Buffer::parse(kind, rest)? {
            return Ok(Self::Buffer(buffer));
        }
        match kind {
            "bytes" => Ok(Self::Bytes(hex(rest)?)),
            "buffer" => named(rest),
            _ => {
                let ty = scalars::scalar_type(kind).map_err(|why| format!("{why}; {FORMS}"))?;
                Ok(Self::Values(ty, scalars::bytes(ty, rest)?))
            }
        }
    }
}

impl FromStr for Buffer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = text.split_once(':').ok_or(BUFFERS)?;
        Self::parse(kind, rest)?.ok_or_else(|| BUFFERS.to_owned())
    }
}

impl Buffer {
    /// The same with names of files that are relative to a directory.
    pub(super) fn in_folder(self, folder: &Path) -> Self {
        let content = match self.content {
            Content::File(path) => Content::File(folder.join(path)),
            other => other,
        };
        Self {
            content,
            output: self.output.map(|path| folder.join(path)),
        }
    }

    /// A buffer of a kind; `None` for another kind.
    fn parse(kind: &str, rest: &str) -> Result<Option<Self>, String> {
        let (content, output) = match kind {
            "in" => (Content::File(file(rest)?), None),
            "out" => {
                let parts = rest.rsplit_once(':').filter(|(path, _)| !path.is_empty());
                let (path, array) = parts
                    .ok_or("expected `out:FILE.npy:TYPE[SHAPE]`, such as `out:c.npy:f32[256]`")?;
                (Content::Array(layout(array)?), Some(file(path)?))
            }
            "inout" => {
                // Names may have colons.
                let end = rest.find(".npy:").map(|at| at + 4).or(rest.rfind(':'));
                let parts = end.and_then(|at| Some((rest.get(..at)?, rest.get(at + 1..)?)));
                let (from, to) = parts.ok_or("expected `inout:FILE.npy:FILE.npy`")?;
                (Content::File(file(from)?), Some(file(to)?))
            }
            "zero" => (Content::Zeros(bytes(rest)?), None),
            "random" => (Content::Random(Random::parse(rest)?), None),
            "scratch" => (Content::Unwritten(bytes(rest)?), None),
            _ => return Ok(None),
        };
        Ok(Some(Self { content, output }))
    }
}

fn file(path: &str) -> Result<PathBuf, String> {
    match path {
        "" => Err("expected the name of a file".to_owned()),
        path => Ok(path.into()),
    }
}

/// `64K` or `f32[1024,8]`
fn bytes(text: &str) -> Result<u64, String> {
    match text.contains('[') {
        true => layout(text)?.bytes(),
        false => size(text),
    }
}

fn layout(text: &str) -> Result<Layout, String> {
    Ok(array(text)?.1)
}

/// `f32[1024,8]`
pub(super) fn array(text: &str) -> Result<(ScalarType, Layout), String> {
    let wrong = || {
        let text = clean(text);
        format!("expected a type and a shape such as `f32[1024,8]`, found `{text}`")
    };
    let (ty, shape) = text.split_once('[').ok_or_else(wrong)?;
    let shape = shape.strip_suffix(']').ok_or_else(wrong)?;
    let sizes = shape.split(',').map(|n| n.trim().parse().ok());
    let shape: Option<Vec<u64>> = match shape.trim() {
        "" => Some(Vec::new()),
        _ => sizes.collect(),
    };
    let ty = scalars::scalar_type(ty)?;
    Ok((ty, Layout::new(ty, shape.ok_or_else(wrong)?)?))
}

/// A number of bytes: decimal digits, or hexadecimal ones after `0x`; `K`, `M` and `G` are powers of 1024.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let units = [('K', 10), ('M', 20), ('G', 30)];
    let unit = units.into_iter().find_map(|(unit, bits)| {
        Some((text.strip_suffix([unit, unit.to_ascii_lowercase()])?, bits))
    });
    let (digits, bits) = unit.unwrap_or((text, 0));
    let number = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    };
    let number = number.filter(|_| !digits.contains('+'));
    number
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

/// `x` or `x+256`
fn named(text: &str) -> Result<Argument, String> {
    match text.rsplit_once('+') {
        Some((name, offset)) => Ok(Argument::Named(name.to_owned(), size(offset)?)),
        None => Ok(Argument::Named(text.to_owned(), 0)),
    }
}
