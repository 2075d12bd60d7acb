//! The selected part of an operand: a component of a vector (`.x`, `.r`), or bytes and half-words of a video
//! operand (`.b2`, `.h10`, `.b3210`).

use core::fmt;

/// The selected part of a vector register, a special register or a video operand.
///
/// Manual 5.4.2 (`.x .y .z .w`, `.r .g .b .a`), 9.7.18 (`.b0`, `.h10`, `.b3210` …).
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Selector(u16);

impl Selector {
    const BYTES: u16 = 1 << 15;
    const HALVES: u16 = 1 << 14;

    /// Reads a selector without its dot: `x`, `r`, `b0`, `b7531`, `h1`, `h32`.
    #[must_use]
    pub fn from_text(text: &[u8]) -> Option<Self> {
        match text {
            [c] => b"xyzwrgba"
                .iter()
                .position(|k| k == c)
                .map(|i| Self(i as u16)),
            [b'b', digits @ ..] => Self::digits(digits, b'7', 4).map(|d| Self(Self::BYTES | d)),
            [b'h', digits @ ..] => Self::digits(digits, b'3', 2).map(|d| Self(Self::HALVES | d)),
            _ => None,
        }
    }

    /// Packs up to four digits of three bits with their number above them.
    fn digits(digits: &[u8], most: u8, count: usize) -> Option<u16> {
        if digits.is_empty()
            || digits.len() > count
            || digits.iter().any(|d| !(b'0'..=most).contains(d))
        {
            return None;
        }
        // Four digits need 12 bits; their number, 1 to 4, is in the two bits above.
        let packed = digits.iter().fold(0u16, |v, d| v << 3 | (d - b'0') as u16);
        Some(packed | ((digits.len() - 1) as u16) << 12)
    }

    /// The selected element of a vector, for `.x .y .z .w` and `.r .g .b .a`: 0 to 3.
    #[must_use]
    pub const fn element(self) -> Option<u8> {
        if self.0 & (Self::BYTES | Self::HALVES) == 0 {
            Some(self.0 as u8 & 3)
        } else {
            None
        }
    }

    /// The selector as a number, to store it.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The selector with the number that [`bits`](Self::bits) returned.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Whether half-words are selected.
    #[must_use]
    pub const fn is_half(self) -> bool {
        self.0 & (Self::BYTES | Self::HALVES) == Self::HALVES
    }

    /// The selected bytes or half-words, in their order in the text; bytes from 4 on are in a second
    /// register, as are half-words from 2 on. Empty if an element of a vector is selected.
    #[must_use]
    pub fn lanes(self) -> impl ExactSizeIterator<Item = u8> {
        let count = match self.element() {
            Some(_) => 0,
            None => (self.0 >> 12 & 3) + 1,
        };
        (0..count as u8)
            .rev()
            .map(move |i| (self.0 >> (3 * i) & 7) as u8)
    }

    /// Calls `put` with each byte of the spelling, without the dot.
    pub fn write(self, mut put: impl FnMut(u8)) {
        if self.element().is_some() {
            put(b"xyzwrgba"[self.0 as usize & 7]);
            return;
        }
        put(if self.is_half() { b'h' } else { b'b' });
        for lane in self.lanes() {
            put(b'0' + lane);
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0; 5];
        let mut len = 0;
        self.write(|byte| {
            if let Some(place) = text.get_mut(len) {
                *place = byte;
                len += 1;
            }
        });
        let text = text.get(..len).unwrap_or(&[]);
        f.write_str(core::str::from_utf8(text).unwrap_or(""))
    }
}
