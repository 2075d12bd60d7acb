//! Operands of instructions, initializers and directives, eight bytes each.
//!
//! Parts that do not fit are in the side tables of an [`OperandPool`], one per body and one for
//! the module level.

use ptx_isa::{Selector, SpecialReg};

use crate::constant::ConstValue;
use crate::cow_vec::CowVec;
use crate::entity::PrimaryMap;
use crate::{AddrId, EntityId, ImmId, LabelId, ListId, NameId, OperandRef, RegId, SymbolId, VarId};

/// One operand.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Operand {
    /// A register of the body.
    Reg(RegId),
    /// A special register such as `%tid`; a component (`%tid.x`) is a [`Operand::Component`] of it.
    Special(SpecialReg),
    /// An integer in plain decimal spelling that fits 32 bits.
    Small(i32),
    /// Any other immediate: its spelling and its value.
    Imm(ImmId),
    /// A variable or function of the module.
    Symbol(SymbolId),
    /// A parameter or a variable declared inside the function.
    Var(VarId),
    /// A label of the body.
    Label(LabelId),
    /// An undeclared name.
    Name(NameId),
    /// `[a]`, `[a+4]`, `a+4`, `a[4]`.
    Address(AddrId),
    /// `[a, b, {c, d}]`: several parts in one bracket.
    Bracket(ListId),
    /// `{a, b, c}`; nested only in initializers.
    Vector(ListId),
    /// `(a, b)`: results or arguments of a call.
    List(ListId),
    /// `p|q`: two operands, at this place of the pool and the next.
    Pair(OperandRef),
    /// `!p`.
    Not(OperandRef),
    /// `-a` of something that is not a number.
    Neg(OperandRef),
    /// `V.x`, `%tid.x`, `a.b0`: a component of the operand at this place of the pool.
    Component(Selector, OperandRef),
    /// `_`: the result is dropped.
    Sink,
    /// `generic(x)` in an initializer.
    Generic(OperandRef),
    /// `0xFF00(x)` in an initializer: the mask at this place of the pool, the operand at the next.
    Masked(OperandRef),
    /// `a - b` of two labels in a debug section: two operands, here and at the next place.
    Difference(OperandRef),
    /// A dotted name in a debug section (`.debug_abbrev`), its dot included.
    Section(NameId),
    /// A string of a directive, its quotes included.
    Str(NameId),
    /// `name = value` in an initializer of an opaque type: the operands here and at the next place.
    Field(OperandRef),
    /// `N<5>` in a table of labels, for `N0` to `N4`: the name at this place, the count at the next.
    Range(OperandRef),
    /// An absent optional part.
    Absent,
}

impl Operand {
    /// The variable or function of the module, if it is one.
    #[must_use]
    pub const fn symbol(self) -> Option<SymbolId> {
        match self {
            Self::Symbol(id) => Some(id),
            _ => None,
        }
    }
}

const _: () = assert!(size_of::<Operand>() == 8);
const _: () = assert!(size_of::<Address>() == 20);
const _: () = assert!(size_of::<Immediate>() == 16);

/// The notation of an address expression.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AddressForm {
    /// `[base]`, `[base+offset]`.
    Bracketed,
    /// `[base].unified`.
    Unified,
    /// `base+offset` without brackets, as `mov` and initializers take it.
    Bare,
    /// `base[offset]`.
    Indexed,
}

/// A base with an offset.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Address {
    /// A register, a variable, or an immediate.
    pub base: Operand,
    /// A [`Operand::Small`] or [`Operand::Imm`], as written after the `+`; [`Operand::Absent`]
    /// where there is none. In `var[r+4]` it is itself a [`AddressForm::Bare`] address.
    pub offset: Operand,
    /// The notation.
    pub form: AddressForm,
}

impl Address {
    /// The offset in bytes; `None` if it is not constant, or an index other than 0, which counts elements.
    #[must_use]
    pub fn byte_offset(&self, pool: &OperandPool) -> Option<i64> {
        let offset = match self.offset {
            Operand::Absent => 0,
            other => pool.integer(other)?,
        };
        (self.form != AddressForm::Indexed || offset == 0).then_some(offset)
    }
}

/// An immediate other than a small decimal integer.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Immediate {
    /// The spelling: a literal or a constant expression, without whitespace between its tokens.
    pub text: NameId,
    /// The value.
    pub value: ConstValue,
}

/// A range of operands in a pool.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct OperandRange {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl OperandRange {
    /// No operands.
    pub const EMPTY: Self = Self { start: 0, len: 0 };

    /// The number of operands.
    #[must_use]
    pub const fn len(self) -> usize {
        self.len as usize
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// These operands of the pool that holds `operands`.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn of(self, operands: &[Operand]) -> &[Operand] {
        let start = self.start as usize;
        operands
            .get(start..start + self.len as usize)
            .unwrap_or_default()
    }

    /// The position of the `index`-th operand.
    #[doc(hidden)]
    #[must_use]
    pub const fn at(self, index: u32) -> OperandRef {
        OperandRef::new(self.start + index)
    }
}

/// Operands and their side tables.
#[derive(Clone, Default, Debug)]
pub struct OperandPool {
    pub(crate) operands: CowVec<Operand>,
    pub(crate) lists: PrimaryMap<ListId, OperandRange>,
    pub(crate) addresses: PrimaryMap<AddrId, Address>,
    pub(crate) immediates: PrimaryMap<ImmId, Immediate>,
}

impl OperandPool {
    /// The operand at `at`; [`Operand::Absent`] outside the pool.
    #[inline]
    #[must_use]
    pub fn get(&self, at: OperandRef) -> Operand {
        self.operands
            .at(at.index())
            .copied()
            .unwrap_or(Operand::Absent)
    }

    /// The operand at `at` and the next one.
    #[inline]
    #[must_use]
    pub fn pair(&self, at: OperandRef) -> (Operand, Operand) {
        (self.get(at), self.get(OperandRef::new(at.as_u32() + 1)))
    }

    /// The operands of `range`.
    #[inline]
    #[must_use]
    pub fn slice(&self, range: OperandRange) -> &[Operand] {
        range.of(&self.operands)
    }

    /// The elements of a list.
    #[inline]
    #[must_use]
    pub fn list(&self, id: ListId) -> &[Operand] {
        self.lists.get(id).map_or(&[], |&r| self.slice(r))
    }

    /// An address expression.
    #[inline]
    #[must_use]
    pub fn address(&self, id: AddrId) -> Option<&Address> {
        self.addresses.get(id)
    }

    /// An immediate.
    #[inline]
    #[must_use]
    pub fn immediate(&self, id: ImmId) -> Option<&Immediate> {
        self.immediates.get(id)
    }

    /// The value of an integer constant; `None` for everything else.
    #[must_use]
    pub fn integer(&self, operand: Operand) -> Option<i64> {
        match operand {
            Operand::Small(n) => Some(i64::from(n)),
            Operand::Imm(id) => self.immediate(id)?.value.as_int(),
            _ => None,
        }
    }

    /// Every operand in the pool, the parts of composed ones included.
    #[doc(hidden)]
    #[must_use]
    pub fn operands(&self) -> &[Operand] {
        &self.operands
    }

    /// Every address expression in the pool.
    #[doc(hidden)]
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        self.addresses.as_slice()
    }

    /// Adds operands and returns their range.
    #[doc(hidden)]
    #[inline]
    pub fn extend(&mut self, operands: &[Operand]) -> OperandRange {
        OperandRange {
            start: self.operands.append(operands) as u32,
            len: operands.len() as u32,
        }
    }

    /// Adds a list of operands.
    #[doc(hidden)]
    pub fn add_list(&mut self, operands: &[Operand]) -> ListId {
        let range = self.extend(operands);
        self.lists.push(range)
    }

    /// Adds an address expression.
    #[doc(hidden)]
    #[inline]
    pub fn add_address(&mut self, address: Address) -> AddrId {
        self.addresses.push(address)
    }

    /// Adds an immediate.
    #[doc(hidden)]
    pub fn add_immediate(&mut self, immediate: Immediate) -> ImmId {
        self.immediates.push(immediate)
    }

    /// Replaces the operand at `at`, if there is one.
    #[doc(hidden)]
    pub fn set(&mut self, at: OperandRef, operand: Operand) {
        if let Some(slot) = self.operands.get_mut(at.index()) {
            *slot = operand;
        }
    }

    /// Changes how an address is written.
    #[doc(hidden)]
    #[inline]
    pub fn set_form(&mut self, id: AddrId, form: AddressForm) {
        if let Some(address) = self.addresses.get_mut(id) {
            address.form = form;
        }
    }

    /// Replaces every operand, also those inside addresses.
    #[doc(hidden)]
    pub fn map_names(&mut self, mut replace: impl FnMut(Operand) -> Operand) {
        for o in self.operands.iter_mut() {
            *o = replace(*o);
        }
        for a in self.addresses.values_mut() {
            a.base = replace(a.base);
            a.offset = replace(a.offset);
        }
    }
}

crate::constructors::constructors! {
    /// An address; its offset may be [`Operand::Absent`].
    Address(base: Operand, offset: Operand, form: AddressForm) {}
    /// A constant with its spelling.
    Immediate(text: NameId, value: ConstValue) {}
}
