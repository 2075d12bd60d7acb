//! The rules that the fields of a tensor map follow: those of the functions of the CUDA driver that encode maps, and manual 9.7.9.25.5.1.

use super::element::{TensorElement, TensorFill, TensorInterleave};
use super::map::{Column, MAX_RANK, Mode, TensorMap, TensorMapError};
use crate::memory::Swizzle;

type Checked = Result<(), TensorMapError>;

/// An error that names the field, what was found, and what was expected, unless a condition holds.
fn require(
    condition: bool,
    field: impl Into<String>,
    found: impl core::fmt::Display,
    expected: impl Into<String>,
) -> Checked {
    if condition {
        Ok(())
    } else {
        Err(TensorMapError::new(field, found, expected))
    }
}

impl TensorMap {
    /// Checks all fields.
    pub(super) fn check(&self) -> Checked {
        self.check_rank()?;
        self.check_tensor()?;
        match &self.mode {
            Mode::Tile(box_dims) => self.check_box(box_dims)?,
            Mode::Im2col(column) => self.check_column(column, self.rank() - 2)?,
            Mode::Wide(column) => {
                self.check_column(column, 1)?;
                self.check_wide()?;
            }
        }
        self.check_row()?;
        self.check_layout()
    }

    fn check_rank(&self) -> Checked {
        let rank = self.rank();
        require(
            (1..=MAX_RANK).contains(&rank),
            "the number of dimensions",
            rank,
            "1 to 5",
        )?;
        let needs_images =
            self.interleave != TensorInterleave::None || !matches!(self.mode, Mode::Tile(_));
        require(
            rank >= 3 || !needs_images,
            "the number of dimensions",
            rank,
            "3 to 5 in im2col modes and interleaved layouts",
        )?;
        let count = |name: &str, found: usize, expected: usize| {
            require(
                found == expected,
                format!("the number of {name}"),
                found,
                expected.to_string(),
            )
        };
        count("strides", self.strides.len(), rank - 1)?;
        count("traversal strides", self.steps.len(), rank)?;
        if let Mode::Tile(box_dims) = &self.mode {
            count("sizes of the box", box_dims.len(), rank)?;
        }
        Ok(())
    }

    /// Checks the fields that describe memory.
    fn check_tensor(&self) -> Checked {
        let align = if self.interleave == TensorInterleave::Bytes32 || self.element.is_padded() {
            32
        } else {
            16
        };
        let multiple = format!("a multiple of {align}");
        require(
            self.address.is_multiple_of(align),
            "global_address",
            format!("{:#x}", self.address),
            multiple.clone(),
        )?;
        for (index, &dim) in self.dims.iter().enumerate() {
            require(
                (1..=1 << 32).contains(&dim),
                format!("global_dim[{index}]"),
                dim,
                "1 to 2^32",
            )?;
        }
        let multiple_of_dim = match self.element {
            TensorElement::B4x16P64 | TensorElement::B6x16P32 => 128,
            TensorElement::B4x16 => 2,
            _ => 1,
        };
        require(
            self.dims[0].is_multiple_of(multiple_of_dim),
            "global_dim[0]",
            self.dims[0],
            format!("a multiple of {multiple_of_dim} for {}", self.element),
        )?;
        for (index, &stride) in self.strides.iter().enumerate() {
            require(
                stride.is_multiple_of(align) && stride < 1 << 40,
                format!("global_stride[{index}]"),
                stride,
                format!("{multiple} less than 2^40"),
            )?;
        }
        for (index, &step) in self.steps.iter().enumerate() {
            // Without an interleaved layout, the first one is ignored.
            let is_used = index > 0 || self.interleave != TensorInterleave::None;
            require(
                !is_used || (1..=8).contains(&step),
                format!("element_stride[{index}]"),
                step,
                "1 to 8",
            )?;
        }
        Ok(())
    }

    fn check_box(&self, box_dims: &[u32]) -> Checked {
        for (index, &size) in box_dims.iter().enumerate() {
            require(
                (1..=256).contains(&size),
                format!("box_dim[{index}]"),
                size,
                "1 to 256",
            )?;
        }
        Ok(())
    }

    fn check_column(&self, column: &Column, corner_dims: usize) -> Checked {
        let limit: i32 = match (&self.mode, self.rank()) {
            (Mode::Im2col(_), 4) => 1 << 7,
            (Mode::Im2col(_), 5) => 1 << 4,
            _ => 1 << 15,
        };
        for (name, corner) in [("lower", &column.lower), ("upper", &column.upper)] {
            require(
                corner.len() == corner_dims,
                format!("the number of offsets of the {name} corner"),
                corner.len(),
                corner_dims.to_string(),
            )?;
            for (index, &offset) in corner.iter().enumerate() {
                require(
                    (-limit..limit).contains(&offset),
                    format!("the offset of the {name} corner in dimension {}", index + 1),
                    offset,
                    format!("{} to {}", -limit, limit - 1),
                )?;
            }
        }
        for (index, (&lower, &upper)) in column.lower.iter().zip(&column.upper).enumerate() {
            let last = self.dims[index + 1] as i64 - 1 + i64::from(upper);
            require(
                i64::from(lower) <= last,
                format!("the box in dimension {}", index + 1),
                format!("from {lower} to {last}"),
                "at least one pixel",
            )?;
        }
        require(
            (1..=256).contains(&column.channels),
            "the number of channels per pixel",
            column.channels,
            "1 to 256",
        )?;
        require(
            (1..=1024).contains(&column.pixels)
                || matches!(self.mode, Mode::Wide(_)) && column.pixels == 0,
            "the number of pixels per column",
            column.pixels,
            "1 to 1024",
        )
    }

    fn check_wide(&self) -> Checked {
        require(
            self.interleave == TensorInterleave::None,
            "interleave_layout",
            format!("{:?}", self.interleave),
            "no interleave in the modes im2col::w and im2col::w::128",
        )?;
        require(
            matches!(
                self.swizzle,
                Swizzle::Bytes64 | Swizzle::Bytes96 | Swizzle::Bytes128 | Swizzle::Bytes128Atom32
            ),
            "swizzle_mode",
            format!("{:?}", self.swizzle),
            "64, 96 or 128 bytes, with an atomicity of 16 or 32 bytes, in the modes im2col::w and im2col::w::128",
        )
    }

    /// Checks the elements that are accessed in dimension 0.
    fn check_row(&self) -> Checked {
        let name = match self.mode {
            Mode::Tile(_) => "box_dim[0]",
            Mode::Im2col(_) | Mode::Wide(_) => "the number of channels per pixel",
        };
        let elements = self.row_elements();
        let bits = elements * self.element.bits();
        let slice_bytes = self.interleave.slice_bytes();
        if self.element.is_padded() {
            return require(
                elements == 128,
                name,
                elements,
                format!("128 for {}", self.element),
            );
        }
        let (multiple, reason) = match slice_bytes {
            0 => (16, "bytes"),
            bytes => (bytes, "bytes, whole slices of the interleaved layout"),
        };
        require(
            bits.is_multiple_of(8 * multiple),
            name,
            format!("{elements} elements of {}", self.element),
            format!("a multiple of {multiple} {reason}"),
        )?;
        let span = match self.swizzle {
            Swizzle::None => return Ok(()),
            Swizzle::Bytes32 => 32,
            Swizzle::Bytes64 => 64,
            Swizzle::Bytes96 => 96,
            _ => 128,
        };
        require(
            slice_bytes != 0 || bits <= 8 * span,
            name,
            format!("{} bytes", bits / 8),
            format!("at most {span} bytes with this swizzle mode"),
        )
    }

    /// Checks which swizzles, interleaved layouts and fills may be combined with each other and with the type.
    fn check_layout(&self) -> Checked {
        let is_interleaved = self.interleave != TensorInterleave::None;
        let swizzle = format!("{:?}", self.swizzle);
        require(
            self.interleave != TensorInterleave::Bytes32 || self.swizzle == Swizzle::Bytes32,
            "swizzle_mode",
            &swizzle,
            "32 bytes with an interleaved layout of 32 bytes",
        )?;
        require(
            !is_interleaved || self.swizzle != Swizzle::Bytes96,
            "swizzle_mode",
            &swizzle,
            "another one with an interleaved layout",
        )?;
        require(
            !is_interleaved || !self.element.is_packed(),
            "interleave_layout",
            format!("{:?}", self.interleave),
            format!("no interleave for {}", self.element),
        )?;
        require(
            !self.element.is_padded()
                || matches!(
                    self.swizzle,
                    Swizzle::None
                        | Swizzle::Bytes128
                        | Swizzle::Bytes128Atom32
                        | Swizzle::Bytes128Atom64
                ),
            "swizzle_mode",
            &swizzle,
            format!("none, or 128 bytes without flip, for {}", self.element),
        )?;
        require(
            self.fill == TensorFill::Zeros || self.element.is_float(),
            "fill_mode",
            "NaN",
            format!("zeros for {}", self.element),
        )
    }
}
