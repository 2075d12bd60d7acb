//! Arrays in files of NumPy's format `.npy`.

use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use anyhow::bail;
use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, TypeStr, WriteOptions, WriterBuilder};
use ptx_isa::{ScalarType, TypeKind};

use crate::replace::NewFile;

/// What a file says of its elements.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Layout {
    ty: DType,
    shape: Vec<u64>,
    order: Order,
}

impl Layout {
    /// An array of elements of a type. Types that NumPy lacks are unsigned integers of their size.
    pub(super) fn new(ty: ScalarType, shape: Vec<u64>) -> Result<Self, String> {
        let bytes = ty.bits() / 8;
        let kind = match (ty.kind(), ty) {
            (_, ScalarType::F16 | ScalarType::F32 | ScalarType::F64) => 'f',
            (TypeKind::Signed, _) => 'i',
            (_, ScalarType::B128) => 'V',
            _ => 'u',
        };
        let order = if bytes == 1 || kind == 'V' { '|' } else { '<' };
        let text = format!("{order}{kind}{bytes}");
        let ty: TypeStr = text.parse().map_err(|e| format!("{text}: {e}"))?;
        let layout = Self {
            ty: DType::Plain(ty),
            shape,
            order: Order::C,
        };
        layout.bytes()?;
        Ok(layout)
    }

    /// Bytes of all elements.
    pub(super) fn bytes(&self) -> Result<u64, String> {
        let each = self.ty.num_bytes().ok_or("its elements have no size")? as u64;
        let mut all = self.shape.iter();
        let all = all.try_fold(each, |all, n| all.checked_mul(*n));
        all.ok_or_else(|| "the array is too large".to_owned())
    }

    /// `<f4`
    pub(super) fn type_text(&self) -> String {
        let text = self.ty.descr();
        text.trim_matches('\'').to_owned()
    }

    pub(super) fn shape(&self) -> &[u64] {
        &self.shape
    }
}

/// The most bytes that are copied at a time.
const CHUNK: usize = 1 << 20;

/// A file that is read.
pub(super) struct Reader {
    pub(super) layout: Layout,
    /// The bytes of numbers whose highest byte comes first; 1 if the lowest one does.
    number: usize,
    file: BufReader<fs::File>,
}

impl Reader {
    /// Reads what a file says of its elements.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::new(fs::File::open(path)?);
        let header = header(&mut file)?;
        let layout = Layout {
            ty: header.dtype(),
            shape: header.shape().to_vec(),
            order: header.order(),
        };
        if layout.ty.uses_pickled_array() {
            return Err(invalid(
                "the array contains Python objects, not numbers".to_owned(),
            ));
        }
        layout.bytes().map_err(invalid)?;
        let (layout, number) = little_endian(layout).map_err(invalid)?;
        Ok(Self {
            layout,
            number,
            file,
        })
    }

    /// Gives the elements in the order of the file, each with its lowest byte first, in parts with their offsets.
    pub(super) fn copy(
        mut self,
        mut to: impl FnMut(u64, &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let wanted = self.layout.bytes().map_err(invalid)?;
        let size = CHUNK / self.number * self.number;
        let mut chunk = Vec::new();
        let mut done = 0;
        while done < wanted {
            chunk.clear();
            let most = (size as u64).min(wanted - done);
            self.file.by_ref().take(most).read_to_end(&mut chunk)?;
            let found = chunk.len() as u64;
            if found < most {
                let found = done + found;
                bail!(invalid(format!("the file has {found} of {wanted} bytes")));
            }
            if self.number > 1 {
                chunk
                    .chunks_exact_mut(self.number)
                    .for_each(<[u8]>::reverse);
            }
            to(done, &chunk)?;
            done += found;
        }
        Ok(())
    }
}

/// Reads the header of a file. The number of elements must be one of 64 bits, because the library multiplies the dimensions without a check.
fn header(file: &mut impl Read) -> io::Result<NpyHeader> {
    let mut text = Vec::new();
    file.by_ref().take(8).read_to_end(&mut text)?;
    let size = match text.get(6) {
        Some(1) => 2,
        _ => 4,
    };
    let start = text.len();
    file.by_ref().take(size).read_to_end(&mut text)?;
    let size = text[start..].iter().rev();
    let size = size.fold(0, |all, &byte| all << 8 | u64::from(byte));
    file.by_ref().take(size).read_to_end(&mut text)?;
    let elements = shape_text(&text).split(|b| !b.is_ascii_digit());
    let elements = elements.filter(|digits| !digits.is_empty());
    let elements = elements.filter(|digits| digits.iter().any(|&d| d != b'0'));
    let count = elements.map(|digits| str::from_utf8(digits).ok()?.parse::<u64>().ok());
    let mut count = count.map(|n| n.unwrap_or(u64::MAX));
    if count.try_fold(1, u64::checked_mul).is_none() {
        return Err(invalid("the array is too large".to_owned()));
    }
    NpyHeader::from_reader(&mut text.as_slice())
}

/// What is in parentheses after the name of the shape.
fn shape_text(header: &[u8]) -> &[u8] {
    let name = b"shape";
    let at = header.windows(name.len()).position(|w| w == name);
    let rest = at.map_or(&[][..], |at| &header[at..]);
    rest.split(|&b| b == b')').next().unwrap_or_default()
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The same with the lowest byte of each number first, and the bytes of a number that have to be reversed; 1 if none have to.
fn little_endian(layout: Layout) -> Result<(Layout, usize), String> {
    let DType::Plain(ty) = &layout.ty else {
        return match layout.ty.descr().contains('>') {
            true => Err("big-endian records are not supported".to_owned()),
            false => Ok((layout, 1)),
        };
    };
    if ty.endianness() != Endianness::Big {
        return Ok((layout, 1));
    }
    let each = match ty.type_char() {
        // Characters of four bytes, and pairs of numbers.
        TypeChar::UnicodeStr => 4,
        TypeChar::Complex => ty.size_field() as usize / 2,
        _ => ty.size_field() as usize,
    };
    let text = ty.to_string().replacen('>', "<", 1);
    let ty: TypeStr = text.parse().map_err(|e| format!("{text}: {e}"))?;
    let ty = DType::Plain(ty);
    Ok((Layout { ty, ..layout }, each.clamp(1, CHUNK)))
}

/// Writes a file, whose bytes are given in parts of an offset and a number of bytes.
pub(super) fn write(
    path: &Path,
    layout: &Layout,
    mut from: impl FnMut(u64, usize) -> anyhow::Result<Vec<u8>>,
) -> anyhow::Result<()> {
    let bytes = layout.bytes().map_err(anyhow::Error::msg)?;
    let mut file = BufWriter::new(NewFile::replace(path)?);
    WriteOptions::new_header_only()
        .dtype(layout.ty.clone())
        .shape(&layout.shape)
        .order(layout.order)
        .writer(&mut file)
        .write_header_only()?;
    let mut done = 0;
    while done < bytes {
        let count = (bytes - done).min(CHUNK as u64);
        file.write_all(&from(done, count as usize)?)?;
        done += count;
    }
    file.into_inner()?.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_that_cannot_be_read_leaves_the_old_file() {
        let name = format!("ptxkit-npy-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, "old").unwrap();
        let layout = Layout::new(ScalarType::U8, vec![CHUNK as u64 * 2]).unwrap();
        let failed = write(&path, &layout, |at, count| match at {
            0 => Ok(vec![1; count]),
            _ => bail!("no memory"),
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        write(&path, &layout, |_, count| Ok(vec![1; count])).unwrap();
        assert!(fs::metadata(&path).unwrap().len() > CHUNK as u64 * 2);
        fs::remove_file(&path).unwrap();
    }
}
