//! Arrays in files of NumPy's format `.npy`.

use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use anyhow::bail;
use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, TypeStr, WriteOptions, WriterBuilder};
use ptx_isa::{ScalarType, TypeKind};

use crate::replace::NewFile;

/// The type, the shape and the order of the elements of a file.
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

    /// The number of bytes of all elements.
    pub(super) fn bytes(&self) -> Result<u64, String> {
        let element = self.ty.num_bytes().ok_or("its elements have no size")? as u64;
        self.shape
            .iter()
            .try_fold(element, |bytes, n| bytes.checked_mul(*n))
            .ok_or_else(|| "the array is too large".to_owned())
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

/// The largest number of bytes that are copied at a time.
const CHUNK: usize = 1 << 20;

/// A file that is read.
pub(super) struct Reader {
    pub(super) layout: Layout,
    /// The size of big-endian numbers in bytes; 1 for little-endian numbers.
    swapped_bytes: usize,
    file: BufReader<fs::File>,
}

impl Reader {
    /// Opens a file and reads its header.
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
        let (layout, swapped_bytes) = little_endian(layout).map_err(invalid)?;
        Ok(Self {
            layout,
            swapped_bytes,
            file,
        })
    }

    /// Passes the elements in the order of the file to `write`, as little-endian numbers, in parts with their offsets.
    pub(super) fn copy(
        mut self,
        mut write: impl FnMut(u64, &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let total = self.layout.bytes().map_err(invalid)?;
        let chunk_bytes = CHUNK / self.swapped_bytes * self.swapped_bytes;
        let mut chunk = Vec::new();
        let mut offset = 0;
        while offset < total {
            chunk.clear();
            let expected = (chunk_bytes as u64).min(total - offset);
            self.file.by_ref().take(expected).read_to_end(&mut chunk)?;
            let end = offset + chunk.len() as u64;
            if end < offset + expected {
                bail!(invalid(format!("the file has {end} of {total} bytes")));
            }
            if self.swapped_bytes > 1 {
                for number in chunk.chunks_exact_mut(self.swapped_bytes) {
                    number.reverse();
                }
            }
            write(offset, &chunk)?;
            offset = end;
        }
        Ok(())
    }
}

/// Reads the header of a file. The number of elements must fit 64 bits, because the library multiplies the dimensions without a check.
fn header(file: &mut impl Read) -> io::Result<NpyHeader> {
    let mut text = Vec::new();
    file.by_ref().take(8).read_to_end(&mut text)?;
    // The size of the length of the header depends on the version of the format.
    let length_bytes = match text.get(6) {
        Some(1) => 2,
        _ => 4,
    };
    let start = text.len();
    file.by_ref().take(length_bytes).read_to_end(&mut text)?;
    let length = text[start..]
        .iter()
        .rev()
        .fold(0, |length, &byte| length << 8 | u64::from(byte));
    file.by_ref().take(length).read_to_end(&mut text)?;
    let element_count = shape_text(&text)
        .split(|b| !b.is_ascii_digit())
        .filter(|digits| digits.iter().any(|&digit| digit != b'0'))
        .map(|digits| str::from_utf8(digits).ok()?.parse::<u64>().ok())
        .try_fold(1u64, |count, dimension| count.checked_mul(dimension?));
    if element_count.is_none() {
        return Err(invalid("the array is too large".to_owned()));
    }
    NpyHeader::from_reader(&mut text.as_slice())
}

/// The text in parentheses after the name of the shape.
fn shape_text(header: &[u8]) -> &[u8] {
    let key = b"shape";
    let start = header.windows(key.len()).position(|text| text == key);
    let text = start.map_or(&[][..], |start| &header[start..]);
    text.split(|&b| b == b')').next().unwrap_or_default()
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// The little-endian layout with the same elements, and the size of the numbers whose bytes have to be reversed, or 1.
fn little_endian(layout: Layout) -> Result<(Layout, usize), String> {
    let DType::Plain(ty) = &layout.ty else {
        return if layout.ty.descr().contains('>') {
            Err("big-endian records are not supported".to_owned())
        } else {
            Ok((layout, 1))
        };
    };
    if ty.endianness() != Endianness::Big {
        return Ok((layout, 1));
    }
    let number_bytes = match ty.type_char() {
        // Characters of four bytes, and pairs of numbers.
        TypeChar::UnicodeStr => 4,
        TypeChar::Complex => ty.size_field() as usize / 2,
        _ => ty.size_field() as usize,
    };
    let text = ty.to_string().replacen('>', "<", 1);
    let ty: TypeStr = text.parse().map_err(|e| format!("{text}: {e}"))?;
    let ty = DType::Plain(ty);
    Ok((Layout { ty, ..layout }, number_bytes.clamp(1, CHUNK)))
}

/// Writes a file. `read` returns the bytes at an offset, given their number.
pub(super) fn write(
    path: &Path,
    layout: &Layout,
    mut read: impl FnMut(u64, usize) -> anyhow::Result<Vec<u8>>,
) -> anyhow::Result<()> {
    let bytes = layout.bytes().map_err(anyhow::Error::msg)?;
    let mut file = BufWriter::new(NewFile::replace(path)?);
    WriteOptions::new_header_only()
        .dtype(layout.ty.clone())
        .shape(&layout.shape)
        .order(layout.order)
        .writer(&mut file)
        .write_header_only()?;
    let mut offset = 0;
    while offset < bytes {
        let count = (bytes - offset).min(CHUNK as u64);
        file.write_all(&read(offset, count as usize)?)?;
        offset += count;
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
        let failed = write(&path, &layout, |offset, count| match offset {
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
