//! The permutations of bytes in shared memory that tensor maps and matrix descriptors select, to spread the rows of a tile over the banks.

/// A swizzle mode with its atomicity. Memory is divided into lines of 128 bytes, and each line into chunks as large as the atomicity. The index of a
/// chunk in its line is combined with the index of the line by exclusive or; what does not fit in 128 bytes continues in the next line, whatever
/// the length of a row is.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Swizzle {
    /// Bytes stay where they are.
    #[default]
    None,
    /// Two chunks of 16 bytes change places.
    Bytes32,
    /// Four chunks of 16 bytes change places.
    Bytes64,
    /// Two chunks of 16 bytes change places, as with [`Self::Bytes32`]. The rows of a tile may have 96 bytes.
    Bytes96,
    /// Eight chunks of 16 bytes change places.
    Bytes128,
    /// Four chunks of 32 bytes change places.
    Bytes128Atom32,
    /// Four chunks of 32 bytes change places, and the halves of each 16 bytes do so in odd lines.
    Bytes128Atom32Flip8,
    /// Two chunks of 64 bytes change places.
    Bytes128Atom64,
}

/// Bits of an address that change, and how far above them the bits are that they are combined with:
///
/// ```text
///  bit  10 9 8 7 | 6 5 4 | 3 2 1 0
///           line | chunk | byte        address ^= (address >> distance) & changed
/// ```
#[derive(Copy, Clone)]
struct Exchange {
    changed: u64,
    distance: u32,
}

impl Exchange {
    const fn apply(self, address: u64) -> u64 {
        (address >> self.distance) & self.changed
    }
}

impl Swizzle {
    /// All modes.
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::Bytes32,
        Self::Bytes64,
        Self::Bytes96,
        Self::Bytes128,
        Self::Bytes128Atom32,
        Self::Bytes128Atom32Flip8,
        Self::Bytes128Atom64,
    ];

    /// Returns the address in shared memory of the byte that would be at `address` without swizzling. The result is in the same line of 128 bytes, and
    /// applying the function twice gives `address`. The index of the line is taken from the address, so tiles that do not start where the pattern
    /// starts have the base offset of the PTX ISA manual.
    #[must_use]
    pub const fn apply(self, address: u64) -> u64 {
        let exchange = self.exchange().apply(address);
        let flip = match self {
            Self::Bytes128Atom32Flip8 => Exchange {
                changed: 0x8,
                distance: 4,
            }
            .apply(address),
            _ => 0,
        };
        address ^ exchange ^ flip
    }

    const fn exchange(self) -> Exchange {
        match self {
            Self::None => Exchange {
                changed: 0,
                distance: 0,
            },
            Self::Bytes32 | Self::Bytes96 => Exchange {
                changed: 0x10,
                distance: 3,
            },
            Self::Bytes64 => Exchange {
                changed: 0x30,
                distance: 3,
            },
            Self::Bytes128 => Exchange {
                changed: 0x70,
                distance: 3,
            },
            Self::Bytes128Atom32 | Self::Bytes128Atom32Flip8 => Exchange {
                changed: 0x60,
                distance: 2,
            },
            Self::Bytes128Atom64 => Exchange {
                changed: 0x40,
                distance: 1,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Swizzle;

    /// The index of the chunk of 16 bytes of its line that is stored at each place, for the lines of a pattern, as the tables of the PTX ISA manual
    /// give them.
    fn table(swizzle: Swizzle) -> &'static [[u64; 8]] {
        match swizzle {
            Swizzle::None => &[[0, 1, 2, 3, 4, 5, 6, 7]],
            Swizzle::Bytes32 | Swizzle::Bytes96 => {
                &[[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 3, 2, 5, 4, 7, 6]]
            }
            Swizzle::Bytes64 => &[
                [0, 1, 2, 3, 4, 5, 6, 7],
                [1, 0, 3, 2, 5, 4, 7, 6],
                [2, 3, 0, 1, 6, 7, 4, 5],
                [3, 2, 1, 0, 7, 6, 5, 4],
            ],
            Swizzle::Bytes128 => &[
                [0, 1, 2, 3, 4, 5, 6, 7],
                [1, 0, 3, 2, 5, 4, 7, 6],
                [2, 3, 0, 1, 6, 7, 4, 5],
                [3, 2, 1, 0, 7, 6, 5, 4],
                [4, 5, 6, 7, 0, 1, 2, 3],
                [5, 4, 7, 6, 1, 0, 3, 2],
                [6, 7, 4, 5, 2, 3, 0, 1],
                [7, 6, 5, 4, 3, 2, 1, 0],
            ],
            Swizzle::Bytes128Atom32 | Swizzle::Bytes128Atom32Flip8 => &[
                [0, 1, 2, 3, 4, 5, 6, 7],
                [2, 3, 0, 1, 6, 7, 4, 5],
                [4, 5, 6, 7, 0, 1, 2, 3],
                [6, 7, 4, 5, 2, 3, 0, 1],
            ],
            Swizzle::Bytes128Atom64 => &[[0, 1, 2, 3, 4, 5, 6, 7], [4, 5, 6, 7, 0, 1, 2, 3]],
        }
    }

    #[test]
    fn chunks_are_where_the_tables_have_them() {
        for swizzle in Swizzle::ALL {
            let table = table(swizzle);
            for address in 0..4096 {
                let (line, chunk, byte) = (address / 128, address / 16 % 8, address % 16);
                let row = table[line as usize % table.len()];
                let place = row
                    .iter()
                    .position(|&stored| stored == chunk)
                    .expect("a permutation");
                let flips = swizzle == Swizzle::Bytes128Atom32Flip8 && line % 2 == 1;
                let byte = if flips { (byte + 8) % 16 } else { byte };
                assert_eq!(
                    swizzle.apply(address),
                    line * 128 + place as u64 * 16 + byte,
                    "{swizzle:?} {address}"
                );
                assert_eq!(
                    swizzle.apply(swizzle.apply(address)),
                    address,
                    "{swizzle:?} {address}"
                );
            }
        }
    }

    /// Rows of 96 bytes are stored without gaps, as in the figure of the PTX ISA manual. Its source has rows of 128 bytes, with chunks 6 and 7 unused.
    #[test]
    fn rows_of_96_bytes_are_dense() {
        let mut stored = [0; 24];
        for row in 0..4 {
            for chunk in 0..6 {
                let place = Swizzle::Bytes96.apply((row * 6 + chunk) * 16) / 16;
                stored[place as usize] = row * 8 + chunk;
            }
        }
        let figure = [
            [0, 1, 2, 3, 4, 5, 8, 9],
            [11, 10, 13, 12, 17, 16, 19, 18],
            [20, 21, 24, 25, 26, 27, 28, 29],
        ];
        assert_eq!(stored, figure.as_flattened());
    }
}
