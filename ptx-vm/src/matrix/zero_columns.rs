//! Zero-column mask descriptors (PTX ISA manual 9.7.16.4.3): the columns of the second factor that count as zero.

/// A descriptor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct ZeroColumns {
    bits: u64,
}

impl ZeroColumns {
    pub(crate) const fn new(bits: u64) -> Self {
        Self { bits }
    }

    const fn byte(self, lowest_bit: u32) -> usize {
        (self.bits >> lowest_bit & 0xff) as usize
    }

    /// The number of columns by which the columns of the second factor that are used start later.
    pub(crate) const fn shift(self) -> usize {
        (self.bits >> 56 & 0x3f) as usize
    }

    /// Whether a column of a sub-mask counts as zero. Spans of zeros and of ones alternate, and the first few bits are skipped. As in the examples of the
    /// PTX ISA manual, skip spans are those of ones.
    const fn is_zero_in(self, sub_mask: usize, column: usize) -> bool {
        if self.bits >> 39 & 1 == 0 {
            return false;
        }
        let ones = self.byte(40) + 1;
        let zeros = self.byte(48) + 1;
        let begins_with_ones = self.bits >> (32 + sub_mask) & 1 == 1;
        let position = (column + self.byte(8 * sub_mask as u32)) % (ones + zeros);
        if begins_with_ones {
            position < ones
        } else {
            position >= zeros
        }
    }

    /// Whether a column counts as zero in a product with a number of rows and of columns. Products of fewer rows have more sub-masks.
    pub(crate) const fn is_zero(self, rows: usize, columns: usize, column: usize) -> bool {
        let sub_masks = match rows {
            32 => 4,
            64 => 2,
            _ => 1,
        };
        let width = columns / sub_masks;
        self.is_zero_in(column / width, column % width)
    }
}

#[cfg(test)]
mod tests {
    use super::ZeroColumns;

    /// A descriptor from its fields in the order of the examples of the PTX ISA manual.
    fn descriptor(
        starts: [u64; 4],
        first_spans: [u64; 4],
        non_zero: u64,
        skip: u64,
        used: u64,
        shift: u64,
    ) -> ZeroColumns {
        let mut bits = non_zero << 39 | skip << 40 | used << 48 | shift << 56;
        for index in 0..4 {
            bits |= starts[3 - index] << (8 * index) | first_spans[3 - index] << (32 + index);
        }
        ZeroColumns::new(bits)
    }

    /// The bits of a sub-mask, the lowest one last.
    fn bits(columns: ZeroColumns, rows: usize, sub_mask: usize, count: usize) -> String {
        let width = 128 / (128 / rows);
        (0..count)
            .rev()
            .map(|c| columns.is_zero(rows, 128, sub_mask * width + c))
            .map(|zero| if zero { '1' } else { '0' })
            .collect()
    }

    #[test]
    fn masks_are_those_of_the_examples() {
        let none = descriptor([0; 4], [0; 4], 0, 4, 3, 0);
        assert_eq!(bits(none, 128, 0, 20), "0".repeat(20));
        let one = descriptor([0; 4], [0; 4], 1, 2, 3, 0);
        assert_eq!(bits(one, 128, 0, 14), "11100001110000");
        let two = descriptor([0; 4], [0, 0, 0, 1], 1, 2, 3, 0);
        assert_eq!(bits(two, 64, 0, 17), "11100001110000111");
        assert_eq!(bits(two, 64, 1, 18), "000011100001110000");
        let four = descriptor([1, 2, 1, 0], [0, 0, 1, 1], 1, 2, 3, 2);
        assert_eq!(bits(four, 32, 0, 14), "00001110000111");
        assert_eq!(bits(four, 32, 1, 13), "0000111000011");
        assert_eq!(bits(four, 32, 2, 12), "111000011100");
        assert_eq!(bits(four, 32, 3, 13), "1110000111000");
        assert_eq!(four.shift(), 2);
    }
}
