//! Units of 16 bytes of memory with packed elements of 4 or 6 bits, which matrix instructions expand to bytes.

/// The arrangement of the elements of a unit.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum UnitFormat {
    Plain,
    /// 16 elements of 6 bits and 4 unused bytes. An element is in the lower bits of its byte.
    Sixes,
    /// 16 elements of 4 bits and 8 unused bytes. An element is in the middle of its byte.
    Fours,
    /// 16 signed integers of 4 bits and 8 unused bytes.
    SignedFours,
}

impl UnitFormat {
    /// The unit with a byte for each element.
    pub(crate) fn expand(self, unit: u128) -> u128 {
        if self == Self::Plain {
            return unit;
        }
        (0..16).fold(0, |bytes, index| {
            bytes | (self.element(unit, index) & 0xff) << (8 * index)
        })
    }

    /// The bytes of the unit that have elements.
    pub(crate) const fn used_bytes(self) -> u8 {
        match self {
            Self::Plain => 16,
            Self::Sixes => 12,
            Self::Fours | Self::SignedFours => 8,
        }
    }

    /// The byte of an element.
    const fn element(self, unit: u128, index: usize) -> u128 {
        match self {
            Self::Plain => unit >> (8 * index) & 0xff,
            Self::Sixes => unit >> (6 * index) & 0x3f,
            Self::Fours => (unit >> (4 * index) & 0xf) << 2,
            Self::SignedFours => {
                let code = unit >> (4 * index) & 0xf;
                code | ((code >> 3) * 0xf0)
            }
        }
    }
}
