//! The lattice of values that may be addresses.

use ptx_isa::StateSpace;

use super::Pointer;
use crate::dataflow::JoinSemiLattice;
use crate::memory_access::Provenance;

/// An address.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Origin {
    pub(super) object: Option<Provenance>,
    pub(super) space: Option<StateSpace>,
    /// Whether it is a generic address. Addresses of global memory are generic.
    pub(super) is_generic: bool,
    /// Whether it is certainly an address. A 64-bit parameter may be an integer.
    pub(super) is_certain: bool,
    /// The offset from the start of the object.
    pub(super) offset: Option<i64>,
}

/// The abstract value: an element of a lattice in which `join` goes up.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Known {
    /// Not written so far, or undefined.
    Nothing,
    /// A constant.
    Constant(i64),
    /// A number, not an address.
    Number,
    /// An address.
    Address(Origin),
    /// An address or a number.
    Any,
    /// It may be the difference of addresses, or computed from addresses in another way.
    Unknown,
}

impl JoinSemiLattice for Known {
    fn join(&mut self, other: &Self) -> bool {
        let joined = Self::join(*self, *other);
        core::mem::replace(self, joined) != joined
    }
}

impl Origin {
    pub(super) const fn pointer(self) -> Pointer {
        Pointer {
            object: self.object,
            space: self.space,
            is_generic: self.is_generic,
            offset: self.offset,
        }
    }

    /// The join of both; `None` if only one of them is generic.
    fn join(self, other: Self) -> Option<Self> {
        let object = self.object.filter(|o| other.object == Some(*o));
        (self.is_generic == other.is_generic).then_some(Self {
            object,
            space: self.space.filter(|s| other.space == Some(*s)),
            is_generic: self.is_generic,
            is_certain: self.is_certain && other.is_certain,
            offset: self
                .offset
                .filter(|o| object.is_some() && other.offset == Some(*o)),
        })
    }

    /// Whether 32 bits tell it apart from others: it is in a state space, or a generic address of memory of less than 4 GiB.
    fn is_of_window(self) -> bool {
        let window = self.space.is_some_and(|s| s != StateSpace::Global);
        !self.is_generic || window
    }

    fn moved(self, by: Option<i64>) -> Self {
        let moved = self.offset.zip(by).and_then(|(a, b)| a.checked_add(b));
        Self {
            offset: moved,
            ..self
        }
    }
}

impl Known {
    /// The object that it certainly is an address in.
    pub(super) fn object(self) -> Option<Provenance> {
        match self {
            Self::Address(origin) => origin.object,
            _ => None,
        }
    }

    /// The join of both.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, known) | (known, Self::Nothing) => known,
            (a, b) if a == b => a,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Address(a), Self::Address(b)) => a.join(b).map_or(Self::Any, Self::Address),
            // The null address is of no object. It is a valid address where addresses are not generic.
            (Self::Address(a), Self::Constant(0)) | (Self::Constant(0), Self::Address(a))
                if a.is_generic =>
            {
                Self::Address(Origin { offset: None, ..a })
            }
            (Self::Constant(_) | Self::Number, Self::Constant(_) | Self::Number) => Self::Number,
            _ => Self::Any,
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Constant(_) | Self::Number)
    }

    const fn constant(self) -> Option<i64> {
        match self {
            Self::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The sum of both. An address and a number are an address in the same object.
    pub(super) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Nothing, _) | (_, Self::Nothing) => Self::Nothing,
            (Self::Constant(a), Self::Constant(b)) => Self::Constant(a.wrapping_add(b)),
            (a, b) if a.is_number() && b.is_number() => Self::Number,
            (Self::Address(a), Self::Address(b)) => match (a.is_certain, b.is_certain) {
                (true, true) => Self::Unknown,
                (true, false) => Self::Address(a.moved(None)),
                (false, true) => Self::Address(b.moved(None)),
                (false, false) => Self::Any,
            },
            (Self::Address(a), b) | (b, Self::Address(a)) if a.is_certain || b.is_number() => {
                Self::Address(a.moved(b.constant()))
            }
            _ => Self::Any,
        }
    }

    /// The difference of both.
    pub(super) fn minus(self, other: Self) -> Self {
        match other {
            Self::Constant(b) => self.plus(Self::Constant(b.wrapping_neg())),
            Self::Number => self.plus(other),
            Self::Nothing => Self::Nothing,
            _ => Self::Unknown,
        }
    }

    /// A part, a multiple or another function of it, which is not an address.
    pub(super) fn computed(self) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::Unknown => Self::Unknown,
            Self::Address(origin) if origin.is_certain => Self::Unknown,
            _ => Self::Number,
        }
    }

    /// A function of both that is not an address.
    pub(super) fn computed_with(self, other: Self) -> Self {
        match (self.computed(), other.computed()) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Nothing, _) | (_, Self::Nothing) => Self::Nothing,
            _ => Self::Number,
        }
    }

    /// The bitwise and with a mask keeps an address that it aligns.
    pub(super) fn masked(self, other: Self) -> Self {
        match (self, other) {
            (known, Self::Constant(mask)) | (Self::Constant(mask), known) if mask < 0 => {
                match known {
                    Self::Address(origin) => Self::Address(Origin {
                        offset: None,
                        ..origin
                    }),
                    Self::Constant(value) => Self::Constant(value & mask),
                    other => other,
                }
            }
            (known, Self::Constant(0..0x1_0000)) | (Self::Constant(0..0x1_0000), known) => {
                known.computed()
            }
            (a, b) if a.is_number() && b.is_number() => Self::Number,
            (Self::Any, b) | (b, Self::Any) if b.is_number() || b == Self::Any => Self::Any,
            (a, b) => a.computed_with(b),
        }
    }

    /// Bits of a number in an address change it as a sum does.
    pub(super) fn with_bits(self, other: Self) -> Self {
        match self.plus(other) {
            Self::Constant(_) => Self::Number,
            Self::Address(origin) => Self::Address(Origin {
                offset: None,
                ..origin
            }),
            other => other,
        }
    }

    /// As many of the lowest bits as a type has.
    pub(super) fn truncated(self, bits: u16, width: u16) -> Self {
        match self {
            _ if bits >= width => self,
            Self::Address(origin) if bits >= 32 && origin.is_of_window() => self,
            Self::Any if bits >= 32 => self,
            Self::Constant(_) => Self::Number,
            other => other.computed(),
        }
    }
}
