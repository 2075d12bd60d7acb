//! Matrices in shared memory: where their elements are, as matrix descriptors state it.
//!
//! PTX ISA manual 9.7.15.5.1.6 to 9.7.15.5.1.11, and 9.7.16.3 for descriptors of the fifth generation. A matrix consists of *units* of 16 bytes with
//! consecutive elements of a *line*: a row or column along its major dimension. Units of eight lines make a core matrix. The canonical layouts of the PTX ISA manual
//! place the units; afterwards their addresses are swizzled. This file does not know the size of elements: a unit of elements of `bits` bits has
//! `128 / bits` of them, the first one in the lowest bits.

use super::swizzle::Swizzle;

/// The dimension along which elements are consecutive in shared memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Major {
    /// The dimension over which products are summed: lines are rows of the first or columns of the second factor.
    K,
    /// The other dimension: there is a line for each product of a sum. Transposed matrices have this layout.
    Mn,
}

/// The leading dimension of a descriptor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum LeadingDimension {
    /// A distance in bytes.
    Offset(u64),
    /// The address of the unit that follows the last one of a line of 128 bytes. Only with [`Major::K`] and a swizzle of 128 bytes.
    Address(u64),
}

/// A matrix in the shared memory of a CTA, as a descriptor states it. Addresses are offsets in that memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct SharedMatrix {
    /// The address of the first unit before swizzling, a multiple of 16.
    pub start: u64,
    /// The distance or the address of the leading dimension.
    pub leading: LeadingDimension,
    /// The distance of the stride dimension in bytes.
    pub stride: u64,
    /// The number of lines of 128 bytes by which the pattern of the swizzle starts after a place where it would repeat: 0 to 7.
    pub base_offset: u64,
    /// The permutation of the addresses.
    pub swizzle: Swizzle,
}

/// The bytes of a unit.
pub const UNIT: u64 = 16;
/// The bytes of the longest row of a swizzled core matrix, and of a line of the pattern.
const LINE: u64 = 128;

/// The bytes that a field of 14 bits of a descriptor denotes.
#[must_use]
pub const fn descriptor_bytes(descriptor: u64, lowest_bit: u32) -> u64 {
    (descriptor >> lowest_bit & 0x3fff) << 4
}

impl SharedMatrix {
    /// Decodes a matrix descriptor of the instructions of warpgroups (9.7.15.5.1.11):
    ///
    /// ```text
    ///  63 62 | 61…52 | 51…49       | 48…46 | 45…32  | 31 30 | 29…16   | 15 14 | 13…0
    ///  swizzle       | base offset |       | stride |       | leading |       | start     in units of 16 bytes
    /// ```
    ///
    /// Other bits have no effect.
    #[must_use]
    pub const fn of_warpgroup(descriptor: u64) -> Self {
        Self {
            start: descriptor_bytes(descriptor, 0),
            leading: LeadingDimension::Offset(descriptor_bytes(descriptor, 16)),
            stride: descriptor_bytes(descriptor, 32),
            base_offset: descriptor >> 49 & 7,
            swizzle: match descriptor >> 62 {
                0 => Swizzle::None,
                1 => Swizzle::Bytes128,
                2 => Swizzle::Bytes64,
                _ => Swizzle::Bytes32,
            },
        }
    }

    /// The address of a unit of a line. The result is not limited to the size of shared memory.
    #[must_use]
    pub const fn unit_address(&self, major: Major, line: u64, unit: u64) -> u64 {
        self.swizzled(match major {
            Major::K => self.k_major(line, unit),
            Major::Mn => self.mn_major(line, unit),
        })
    }

    /// The address of a unit before swizzling, if the rows are consecutive that are multiplied with each other.
    const fn k_major(&self, line: u64, unit: u64) -> u64 {
        let eight_lines = line / 8 * self.stride;
        match (self.row_bytes(), self.leading) {
            (None, LeadingDimension::Offset(leading)) => {
                self.start + line % 8 * UNIT + eight_lines + unit * leading
            }
            (None, LeadingDimension::Address(_)) => self.start + line % 8 * UNIT + eight_lines,
            (Some(row_bytes), leading) => {
                let lines = line % 8 * row_bytes + eight_lines;
                let first = self.start % LINE;
                match leading {
                    LeadingDimension::Address(address) if first + unit * UNIT >= LINE => {
                        address + lines + (first + unit * UNIT - LINE)
                    }
                    _ => self.start + lines + unit * UNIT,
                }
            }
        }
    }

    /// The address of a unit before swizzling, if the other dimension is the consecutive one.
    const fn mn_major(&self, line: u64, unit: u64) -> u64 {
        let LeadingDimension::Offset(leading) = self.leading else {
            return self.start;
        };
        let Some(row_bytes) = self.row_bytes() else {
            return self.start + unit * self.stride + line % 8 * UNIT + line / 8 * leading;
        };
        let units = row_bytes / UNIT;
        let lines = match self.swizzle {
            Swizzle::Bytes128Atom32 => 4,
            _ => 8,
        };
        self.start
            + unit % units * UNIT
            + unit / units * leading
            + line % lines * row_bytes
            + line / lines * self.stride
    }

    /// The bytes of a row of a swizzled core matrix; `None` without swizzling, where each row has one unit.
    const fn row_bytes(&self) -> Option<u64> {
        match self.swizzle {
            Swizzle::None => None,
            Swizzle::Bytes32 => Some(32),
            Swizzle::Bytes64 => Some(64),
            _ => Some(LINE),
        }
    }

    /// An address after swizzling. The pattern belongs to addresses, not to matrices: a matrix may start in the middle of it.
    const fn swizzled(&self, address: u64) -> u64 {
        // Any number of whole patterns may be added; this one keeps the difference positive.
        let pattern = 8 * LINE;
        let shift = self.base_offset * LINE;
        self.swizzle.apply(address + pattern - shift) + shift - pattern
    }
}

#[cfg(test)]
mod tests {
    use super::super::swizzle::Swizzle;
    use super::{LeadingDimension, Major, SharedMatrix};
    use alloc::vec::Vec;

    /// A mode of a layout in the notation of the PTX ISA manual: parts of a coordinate, the first one fastest, with their size and stride.
    type Mode = [(u64, u64)];

    /// The size of the last part of a mode.
    const ANY: u64 = u64::MAX;

    fn offset(mut coordinate: u64, mode: &Mode) -> u64 {
        let mut sum = 0;
        for &(size, stride) in mode {
            sum += coordinate % size * stride;
            coordinate /= size;
        }
        sum
    }

    /// The offset of an element in elements, from the table of canonical layouts (9.7.15.5.1.10), before swizzling.
    fn canonical(matrix: SharedMatrix, major: Major, bits: u64, mn: u64, k: u64) -> u64 {
        let t = 128 / bits;
        let elements = |bytes: u64| bytes * 8 / bits;
        let LeadingDimension::Offset(leading) = matrix.leading else {
            panic!("a distance");
        };
        let (lbo, sbo) = (elements(leading), elements(matrix.stride));
        let s = match matrix.swizzle {
            Swizzle::None => 1,
            Swizzle::Bytes32 => 2,
            Swizzle::Bytes64 => 4,
            _ => 8,
        };
        match (major, matrix.swizzle) {
            (Major::Mn, Swizzle::None) => {
                offset(mn, &[(t, 1), (1, t), (ANY, sbo)]) + offset(k, &[(8, t), (ANY, lbo)])
            }
            (Major::Mn, _) => {
                offset(mn, &[(t, 1), (s, t), (ANY, lbo)]) + offset(k, &[(8, s * t), (ANY, sbo)])
            }
            (Major::K, Swizzle::None) => {
                offset(mn, &[(8, t), (ANY, sbo)]) + offset(k, &[(t, 1), (ANY, lbo)])
            }
            (Major::K, _) => offset(mn, &[(8, s * t), (ANY, sbo)]) + offset(k, &[(t, 1), (ANY, t)]),
        }
    }

    /// The index of the place of an element, in elements.
    fn place(matrix: SharedMatrix, major: Major, bits: u64, mn: u64, k: u64) -> u64 {
        let t = 128 / bits;
        let (line, element) = match major {
            Major::K => (mn, k),
            Major::Mn => (k, mn),
        };
        matrix.unit_address(major, line, element / t) * 8 / bits + element % t
    }

    fn descriptor(start: u64, leading: u64, stride: u64, base: u64, swizzle: u64) -> SharedMatrix {
        SharedMatrix::of_warpgroup(
            start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | swizzle << 62,
        )
    }

    #[test]
    fn elements_are_where_the_canonical_layouts_have_them() {
        let mut random = 1u64;
        let mut next = move |limit: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % limit
        };
        for _ in 0..200 {
            for swizzle in 0..4 {
                let matrix = descriptor(
                    next(256) * 1024,
                    next(0x4000) * 16,
                    next(0x4000) * 16,
                    0,
                    swizzle,
                );
                for (bits, major) in [1, 4, 8, 16, 32]
                    .into_iter()
                    .flat_map(|bits| [(bits, Major::K), (bits, Major::Mn)])
                {
                    let (mn, k) = (next(256), next(256));
                    let address = matrix.start * 8 + canonical(matrix, major, bits, mn, k) * bits;
                    let expected = matrix.swizzle.apply(address / 8) * 8 + address % 8;
                    assert_eq!(
                        place(matrix, major, bits, mn, k) * bits,
                        expected / bits * bits,
                        "{matrix:?} {major:?} {bits} {mn} {k}"
                    );
                }
            }
        }
    }

    /// Parts of the figures with examples of canonical layouts. Their leading and stride dimensions are given below them.
    #[test]
    fn elements_are_where_the_figures_have_them() {
        let bytes = |elements: u64, bits: u64| elements * bits / 8;
        // K-major, no swizzling, 32 bits: row 9.
        let matrix = descriptor(0, bytes(64, 32), bytes(32, 32), 0, 0);
        let row: Vec<u64> = (0..16).map(|k| place(matrix, Major::K, 32, 9, k)).collect();
        assert_eq!(
            row,
            [
                36, 37, 38, 39, 100, 101, 102, 103, 164, 165, 166, 167, 228, 229, 230, 231
            ]
        );
        // K-major, swizzling of 32 bytes, 32 bits: row 5. The second half of the figure is the next matrix.
        let matrix = descriptor(0, 16, bytes(64, 32), 0, 3);
        let row: Vec<u64> = (0..8).map(|k| place(matrix, Major::K, 32, 5, k)).collect();
        assert_eq!(row, [44, 45, 46, 47, 40, 41, 42, 43]);
        // MN-major, no swizzling, 16 bits: row 9.
        let matrix = descriptor(0, bytes(128, 16), bytes(64, 16), 0, 0);
        let row: Vec<u64> = (0..16)
            .map(|k| place(matrix, Major::Mn, 16, 9, k))
            .collect();
        assert_eq!(
            row,
            [
                65, 73, 81, 89, 97, 105, 113, 121, 193, 201, 209, 217, 225, 233, 241, 249
            ]
        );
        // MN-major, swizzling of 32 bytes, 16 bits: row 24.
        let matrix = descriptor(0, bytes(128, 16), bytes(256, 16), 0, 3);
        let row: Vec<u64> = (0..16)
            .map(|k| place(matrix, Major::Mn, 16, 24, k))
            .collect();
        assert_eq!(
            row,
            [
                136, 152, 168, 184, 192, 208, 224, 240, 392, 408, 424, 440, 448, 464, 480, 496
            ]
        );
        // K-major, swizzling of 128 bytes, 32 bits: row 6.
        let matrix = descriptor(0, 16, 1024, 0, 1);
        let row: Vec<u64> = (0..32)
            .step_by(4)
            .map(|k| place(matrix, Major::K, 32, 6, k))
            .collect();
        assert_eq!(row, [216, 220, 208, 212, 200, 204, 192, 196]);
    }

    #[test]
    fn a_pattern_starts_where_the_base_offset_says() {
        // A tile that starts 3 lines after a multiple of 1024 bytes and was swizzled as if it started there.
        let matrix = descriptor(4096 + 3 * 128, 16, 1024, 3, 1);
        let aligned = descriptor(4096, 16, 1024, 0, 1);
        for row in 0..64 {
            for unit in 0..2 {
                assert_eq!(
                    matrix.unit_address(Major::K, row, unit),
                    aligned.unit_address(Major::K, row, unit) + 3 * 128
                );
            }
        }
        // Without a base offset, the pattern is that of the addresses, wherever the matrix starts.
        let later = descriptor(4096 + 32, 16, 1024, 0, 1);
        assert_eq!(
            later.unit_address(Major::K, 5, 1),
            aligned.unit_address(Major::K, 5, 3)
        );
    }

    #[test]
    fn rows_continue_at_an_absolute_address() {
        let matrix = SharedMatrix {
            leading: LeadingDimension::Address(8192),
            ..descriptor(4096 + 96, 0, 1024, 0, 1)
        };
        let addresses: Vec<u64> = (0..3)
            .map(|u| matrix.unit_address(Major::K, 9, u))
            .collect();
        // Line 9 is the second one of its pattern, so that neighbors change places.
        assert_eq!(
            addresses,
            [
                4096 + 1024 + 128 + 112,
                4096 + 1024 + 128 + 96,
                8192 + 1024 + 128 + 16
            ]
        );
    }
}
