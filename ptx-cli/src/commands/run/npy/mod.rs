//! Arrays in files of NumPy's format `.npy`.

mod header;

use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use anyhow::bail;
use ptx_isa::{ScalarType, TypeKind};

use crate::replace::NewFile;
use header::{ElementType, Header, Order, PlainType};

/// The type, the shape and the order of the elements of a file.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Layout {
    ty: ElementType,
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
        let layout = Self {
            ty: ElementType::Plain(PlainType::new(order, kind, bytes.into())),
            shape,
            order: Order::RowMajor,
        };
        layout.bytes()?;
        Ok(layout)
    }

    /// The number of bytes of all elements.
    pub(super) fn bytes(&self) -> Result<u64, String> {
        let element = self.ty.bytes().ok_or("an element is too large")?;
        self.shape
            .iter()
            .try_fold(element, |bytes, n| bytes.checked_mul(*n))
            .ok_or_else(|| "the array is too large".to_owned())
    }

    /// `<f4`
    pub(super) fn type_text(&self) -> String {
        self.ty.to_string()
    }

    /// The elements are in the order of C: the last dimension is the innermost one.
    pub(super) fn is_row_major(&self) -> bool {
        self.order == Order::RowMajor || self.shape.len() < 2
    }

    /// `s16`, `u8` or `f32`; `None` if the elements are not numbers.
    pub(super) fn element_name(&self) -> Option<String> {
        let ElementType::Plain(ty) = &self.ty else {
            return None;
        };
        let kind = match ty.kind {
            'i' => 's',
            'u' | 'f' => ty.kind,
            _ => return None,
        };
        Some(format!("{kind}{}", ty.size.checked_mul(8)?))
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
        let Header { ty, order, shape } = Header::read(&mut file)?;
        let layout = Layout { ty, shape, order };
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

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// The little-endian layout with the same elements, and the size of the numbers whose bytes have to be reversed, or 1.
fn little_endian(layout: Layout) -> Result<(Layout, usize), String> {
    let mut ty = match layout.ty {
        ElementType::Record {
            ref description, ..
        } if description.contains('>') => {
            return Err("big-endian records are not supported".to_owned());
        }
        ElementType::Plain(ty) if ty.byte_order == '>' => ty,
        _ => return Ok((layout, 1)),
    };
    ty.byte_order = '<';
    let number_bytes = match ty.kind {
        // Characters of four bytes, and pairs of numbers.
        'U' => 4,
        'c' => ty.size as usize / 2,
        'S' | 'a' | 'V' => 1,
        _ => ty.size as usize,
    };
    let ty = ElementType::Plain(ty);
    Ok((Layout { ty, ..layout }, number_bytes))
}

/// Writes a file. `read` returns the bytes at an offset, given their number.
pub(super) fn write(
    path: &Path,
    layout: &Layout,
    mut read: impl FnMut(u64, usize) -> anyhow::Result<Vec<u8>>,
) -> anyhow::Result<()> {
    let bytes = layout.bytes().map_err(anyhow::Error::msg)?;
    let mut file = BufWriter::new(NewFile::replace(path)?);
    let header = Header {
        ty: layout.ty.clone(),
        order: layout.order,
        shape: layout.shape.clone(),
    };
    file.write_all(&header.to_bytes())?;
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
