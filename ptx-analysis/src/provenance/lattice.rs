//! The lattice of values that may be addresses.
//!
//! ```text
//!                  Unknown
//!                     │
//!              AddressOrNumber
//!              ╱             ╲
//!       Address               Number
//!   (object and space)           │
//!              ╲             Constant
//!               ╲            ╱
//!                  Undefined
//! ```
//!
//! The fields of an address become `None`, and `is_certain` becomes false, as different addresses are joined.

use ptx_ir::VarId;
use ptx_isa::StateSpace;

use super::Pointer;
use crate::dataflow::JoinSemiLattice;
use crate::memory_access::Provenance;
use crate::values::VariableRef;

/// An address.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Address {
    pub(super) object: Option<Provenance>,
    pub(super) space: Option<StateSpace>,
    /// It is a generic address. Addresses of global memory are generic.
    pub(super) is_generic: bool,
    /// It is certainly an address. A 64-bit parameter may be an integer.
    pub(super) is_certain: bool,
    /// The offset in bytes from the start of the object.
    pub(super) offset: Option<i64>,
}

/// An element of the lattice.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum AbstractValue {
    /// Not written so far, or undefined.
    Undefined,
    /// A constant.
    Constant(i64),
    /// A number, not an address.
    Number,
    /// An address.
    Address(Address),
    /// An address or a number.
    AddressOrNumber,
    /// It may be the difference of addresses, or computed from addresses in another way.
    Unknown,
}

impl JoinSemiLattice for AbstractValue {
    fn join(&mut self, other: &Self) -> bool {
        let joined = Self::join(*self, *other);
        core::mem::replace(self, joined) != joined
    }
}

impl Address {
    pub(super) const fn pointer(self) -> Pointer {
        Pointer {
            object: self.object,
            space: self.space,
            is_generic: self.is_generic,
            offset: self.offset,
        }
    }

    /// Returns whether the object or the state space is known.
    pub(super) const fn is_known(self) -> bool {
        self.object.is_some() || self.space.is_some()
    }

    /// The join of two addresses; `None` if only one of them is generic.
    fn join(self, other: Self) -> Option<Self> {
        let object = self.object.filter(|object| other.object == Some(*object));
        let offset = self.offset.filter(|offset| other.offset == Some(*offset));
        (self.is_generic == other.is_generic).then_some(Self {
            object,
            space: self.space.filter(|space| other.space == Some(*space)),
            is_generic: self.is_generic,
            is_certain: self.is_certain && other.is_certain,
            offset: offset.filter(|_| object.is_some()),
        })
    }

    /// Returns whether 32 bits distinguish it from others: it is in a state space, or a generic address of memory of less than 4 GiB.
    fn has_32_bits(self) -> bool {
        let is_window = self.space.is_some_and(|space| space != StateSpace::Global);
        !self.is_generic || is_window
    }

    /// The sum of the address and a number; `None` is an unknown number.
    fn moved(self, distance: Option<i64>) -> Self {
        let offset = self.offset.zip(distance);
        Self {
            offset: offset.and_then(|(offset, distance)| offset.checked_add(distance)),
            ..self
        }
    }
}

impl AbstractValue {
    /// The object that it certainly points into, if it is an address.
    pub(super) fn object(self) -> Option<Provenance> {
        match self {
            Self::Address(address) => address.object,
            _ => None,
        }
    }

    /// The variable of the function that it points into.
    pub(super) fn local_variable(self) -> Option<VarId> {
        match self.object() {
            Some(Provenance::Variable(VariableRef::Local(variable))) => Some(variable),
            _ => None,
        }
    }

    /// The offset of an address in its object.
    pub(super) fn offset(self) -> Option<i64> {
        match self {
            Self::Address(address) => address.offset,
            _ => None,
        }
    }

    /// The least value above both.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Undefined, value) | (value, Self::Undefined) => value,
            (a, b) if a == b => a,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Address(a), Self::Address(b)) => {
                a.join(b).map_or(Self::AddressOrNumber, Self::Address)
            }
            // The null address belongs to no object. It is a valid address where addresses are not generic.
            (Self::Address(a), Self::Constant(0)) | (Self::Constant(0), Self::Address(a))
                if a.is_generic =>
            {
                Self::Address(Address { offset: None, ..a })
            }
            (a, b) if a.is_number() && b.is_number() => Self::Number,
            _ => Self::AddressOrNumber,
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

    /// The sum of two values. The sum of an address and a number is an address in the same object.
    pub(super) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Undefined, _) | (_, Self::Undefined) => Self::Undefined,
            (Self::Constant(a), Self::Constant(b)) => Self::Constant(a.wrapping_add(b)),
            (a, b) if a.is_number() && b.is_number() => Self::Number,
            (Self::Address(a), Self::Address(b)) => match (a.is_certain, b.is_certain) {
                (true, true) => Self::Unknown,
                (true, false) => Self::Address(a.moved(None)),
                (false, true) => Self::Address(b.moved(None)),
                (false, false) => Self::AddressOrNumber,
            },
            (Self::Address(a), b) | (b, Self::Address(a)) if a.is_certain || b.is_number() => {
                Self::Address(a.moved(b.constant()))
            }
            _ => Self::AddressOrNumber,
        }
    }

    /// The difference of two values.
    pub(super) fn minus(self, other: Self) -> Self {
        match other {
            Self::Constant(b) => self.plus(Self::Constant(b.wrapping_neg())),
            Self::Number => self.plus(other),
            Self::Undefined => Self::Undefined,
            _ => Self::Unknown,
        }
    }

    /// A part, a multiple or another function of the value, which is not an address.
    pub(super) fn computed(self) -> Self {
        match self {
            Self::Undefined => Self::Undefined,
            Self::Unknown => Self::Unknown,
            Self::Address(address) if address.is_certain => Self::Unknown,
            _ => Self::Number,
        }
    }

    /// A function of two values that is not an address.
    pub(super) fn computed_with(self, other: Self) -> Self {
        match (self.computed(), other.computed()) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Undefined, _) | (_, Self::Undefined) => Self::Undefined,
            _ => Self::Number,
        }
    }

    /// The bitwise and of two values. A mask that aligns an address keeps its object.
    pub(super) fn masked(self, other: Self) -> Self {
        match (self, other) {
            (value, Self::Constant(mask)) | (Self::Constant(mask), value) if mask < 0 => {
                match value {
                    Self::Address(address) => Self::Address(address.moved(None)),
                    Self::Constant(value) => Self::Constant(value & mask),
                    other => other,
                }
            }
            (value, Self::Constant(0..0x1_0000)) | (Self::Constant(0..0x1_0000), value) => {
                value.computed()
            }
            (a, b) if a.is_number() && b.is_number() => Self::Number,
            (Self::AddressOrNumber, b) | (b, Self::AddressOrNumber)
                if b.is_number() || b == Self::AddressOrNumber =>
            {
                Self::AddressOrNumber
            }
            (a, b) => a.computed_with(b),
        }
    }

    /// The bitwise or, or exclusive or, of two values: bits of a number change an address as a sum does.
    pub(super) fn with_bits(self, other: Self) -> Self {
        match self.plus(other) {
            Self::Constant(_) => Self::Number,
            Self::Address(address) => Self::Address(address.moved(None)),
            other => other,
        }
    }

    /// The `bits` lowest bits of a value of `width` bits.
    pub(super) fn truncated(self, bits: u16, width: u16) -> Self {
        match self {
            _ if bits >= width => self,
            Self::Address(address) if bits >= 32 && address.has_32_bits() => self,
            Self::AddressOrNumber if bits >= 32 => self,
            Self::Constant(_) => Self::Number,
            other => other.computed(),
        }
    }
}
