//! Arrays in files of NumPy's format `.npy`.

use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use npyz::{DType, Endianness, NpyHeader, Order, TypeChar, TypeStr, WriteOptions, WriterBuilder};
use ptx_isa::{ScalarType, TypeKind};

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

/// Reads a file; its elements in the order of the file, each with its lowest byte first.
pub(super) fn read(path: &Path) -> io::Result<(Layout, Vec<u8>)> {
    let mut file = BufReader::new(fs::File::open(path)?);
    let header = NpyHeader::from_reader(&mut file)?;
    let layout = Layout {
        ty: header.dtype(),
        shape: header.shape().to_vec(),
        order: header.order(),
    };
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    if layout.ty.uses_pickled_array() {
        return Err(invalid("it has Python objects, not numbers".to_owned()));
    }
    let wanted = layout.bytes().map_err(invalid)?;
    let mut bytes = Vec::new();
    file.take(wanted).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != wanted {
        let found = bytes.len();
        return Err(invalid(format!("it has {found} of {wanted} bytes")));
    }
    let layout = little_endian(layout, &mut bytes).map_err(invalid)?;
    Ok((layout, bytes))
}

/// Reverses the bytes of elements whose highest byte comes first.
fn little_endian(layout: Layout, bytes: &mut [u8]) -> Result<Layout, String> {
    let DType::Plain(ty) = &layout.ty else {
        return match layout.ty.descr().contains('>') {
            true => Err("it has records with the highest byte of a number first".to_owned()),
            false => Ok(layout),
        };
    };
    if ty.endianness() != Endianness::Big {
        return Ok(layout);
    }
    let each = match ty.type_char() {
        // Characters of four bytes, and pairs of numbers.
        TypeChar::UnicodeStr => 4,
        TypeChar::Complex => ty.size_field() as usize / 2,
        _ => ty.size_field() as usize,
    };
    for number in bytes.chunks_exact_mut(each.max(1)) {
        number.reverse();
    }
    let text = ty.to_string().replacen('>', "<", 1);
    let ty: TypeStr = text.parse().map_err(|e| format!("{text}: {e}"))?;
    Ok(Layout {
        ty: DType::Plain(ty),
        ..layout
    })
}

/// Writes a file.
pub(super) fn write(path: &Path, layout: &Layout, bytes: &[u8]) -> io::Result<()> {
    let mut file = BufWriter::new(fs::File::create(path)?);
    WriteOptions::new_header_only()
        .dtype(layout.ty.clone())
        .shape(&layout.shape)
        .order(layout.order)
        .writer(&mut file)
        .write_header_only()?;
    file.write_all(bytes)?;
    file.flush()
}
