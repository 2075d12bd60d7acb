//! The selected part of an operand: a component of a vector (`.x`, `.r`), or bytes and half-words of a video
//! operand (`.b2`, `.h10`, `.b3210`).

use core::fmt;
use core::str::FromStr;

use crate::UnknownKeyword;

/// A component of a vector register or a special register. Manual 5.4.2.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Component {
    /// `.x`
    X,
    /// `.y`
    Y,
    /// `.z`
    Z,
    /// `.w`
    W,
    /// `.r`, which is `.x`
    R,
    /// `.g`, which is `.y`
    G,
    /// `.b`, which is `.z`
    B,
    /// `.a`, which is `.w`
    A,
}

impl Component {
    const ALL: [(Self, u8); 8] = [
        (Self::X, b'x'),
        (Self::Y, b'y'),
        (Self::Z, b'z'),
        (Self::W, b'w'),
        (Self::R, b'r'),
        (Self::G, b'g'),
        (Self::B, b'b'),
        (Self::A, b'a'),
    ];

    /// The components of a vector with this many, at most four, in order: `.x`, `.y`, …
    pub fn of_vector(length: u8) -> impl Iterator<Item = Self> {
        Self::ALL
            .into_iter()
            .take(length.min(4).into())
            .map(|(component, _)| component)
    }

    /// The index of the component in the vector: 0 to 3.
    #[must_use]
    pub const fn index(self) -> u8 {
        self as u8 & 3
    }

    fn letter(self) -> u8 {
        Self::ALL
            .get(self as usize)
            .map_or(b'x', |(_, letter)| *letter)
    }
}

/// The bytes or half-words that a selector names, in the order of the text: one to four digits of at most 7.
///
/// Bits 0 to 11 hold the digits, three bits each, the last digit lowest. Bits 12 and 13 hold the number of digits minus one.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct SelectedParts([u8; 2]);

impl SelectedParts {
    /// Reads digits up to `highest`, one to `most` of them.
    fn from_digits(digits: &[u8], highest: u8, most: usize) -> Option<Self> {
        if digits.is_empty()
            || digits.len() > most
            || digits.iter().any(|d| !(b'0'..=highest).contains(d))
        {
            return None;
        }
        let packed = digits.iter().fold(0u16, |v, d| v << 3 | (d - b'0') as u16);
        Some(Self::from_bits(packed | ((digits.len() - 1) as u16) << 12))
    }

    const fn bits(self) -> u16 {
        u16::from_le_bytes(self.0)
    }

    const fn from_bits(bits: u16) -> Self {
        Self(bits.to_le_bytes())
    }

    /// The numbers of the parts. Bytes from 4 on and half-words from 2 on are in a second register.
    #[must_use]
    pub fn iter(self) -> impl ExactSizeIterator<Item = u8> {
        let bits = self.bits();
        let count = (bits >> 12 & 3) as u8 + 1;
        (0..count).rev().map(move |i| (bits >> (3 * i) & 7) as u8)
    }
}

impl fmt::Debug for SelectedParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The selected part of a vector register, a special register or a video operand.
///
/// Manual 5.4.2 (`.x .y .z .w`, `.r .g .b .a`), 9.7.18 (`.b0`, `.h10`, `.b3210` …).
///
/// ```
/// use ptx_isa::{Component, Selector};
/// assert_eq!("y".parse(), Ok(Selector::Component(Component::Y)));
/// let Ok(Selector::Bytes(parts)) = "b31".parse() else { panic!() };
/// assert!(parts.iter().eq([3, 1]));
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Selector {
    /// A component of a vector.
    Component(Component),
    /// Bytes of a video operand.
    Bytes(SelectedParts),
    /// Half-words of a video operand.
    Halves(SelectedParts),
}

/// The bit of the number of a selector of bytes.
const BYTES: u16 = 1 << 15;
/// The bit of the number of a selector of half-words.
const HALVES: u16 = 1 << 14;

impl Selector {
    /// Reads a selector without its dot: `x`, `r`, `b0`, `b7531`, `h1`, `h32`. [`str::parse`] does the same for text.
    #[doc(hidden)]
    #[must_use]
    pub fn from_text(text: &[u8]) -> Option<Self> {
        match text {
            [letter] => Component::ALL
                .into_iter()
                .find(|(_, spelling)| spelling == letter)
                .map(|(component, _)| Self::Component(component)),
            [b'b', digits @ ..] => SelectedParts::from_digits(digits, b'7', 4).map(Self::Bytes),
            [b'h', digits @ ..] => SelectedParts::from_digits(digits, b'3', 2).map(Self::Halves),
            _ => None,
        }
    }

    /// The index of the selected component of a vector, 0 to 3; `None` for bytes and half-words.
    #[must_use]
    pub const fn element(self) -> Option<u8> {
        match self {
            Self::Component(component) => Some(component.index()),
            _ => None,
        }
    }

    /// The selector as a number, to store it.
    #[doc(hidden)]
    #[must_use]
    pub const fn bits(self) -> u16 {
        match self {
            Self::Component(component) => component as u16,
            Self::Bytes(parts) => BYTES | parts.bits(),
            Self::Halves(parts) => HALVES | parts.bits(),
        }
    }

    /// The selector with the number that [`bits`](Self::bits) returned.
    #[doc(hidden)]
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        if bits & BYTES != 0 {
            Self::Bytes(SelectedParts::from_bits(bits & !BYTES))
        } else if bits & HALVES != 0 {
            Self::Halves(SelectedParts::from_bits(bits & !HALVES))
        } else {
            Self::Component(Component::ALL[bits as usize & 7].0)
        }
    }

    /// Returns whether half-words are selected.
    #[doc(hidden)]
    #[must_use]
    pub const fn is_half(self) -> bool {
        matches!(self, Self::Halves(_))
    }

    /// The numbers of the selected bytes or half-words; `None` if a component of a vector is selected.
    #[must_use]
    pub const fn parts(self) -> Option<SelectedParts> {
        match self {
            Self::Component(_) => None,
            Self::Bytes(parts) | Self::Halves(parts) => Some(parts),
        }
    }

    /// Calls `put` with each byte of the spelling, without the dot.
    #[doc(hidden)]
    pub fn write(self, mut put: impl FnMut(u8)) {
        let parts = match self {
            Self::Component(component) => {
                put(component.letter());
                return;
            }
            Self::Bytes(parts) => {
                put(b'b');
                parts
            }
            Self::Halves(parts) => {
                put(b'h');
                parts
            }
        };
        for part in parts.iter() {
            put(b'0' + part);
        }
    }
}

impl From<Component> for Selector {
    fn from(component: Component) -> Self {
        Self::Component(component)
    }
}

/// Parses the text without the dot.
impl FromStr for Selector {
    type Err = UnknownKeyword;

    fn from_str(text: &str) -> Result<Self, UnknownKeyword> {
        Self::from_text(text.as_bytes()).ok_or(UnknownKeyword)
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
