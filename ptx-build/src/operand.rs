//! Operands of instructions.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::{Add, Neg, Not, Sub};

use ptx_ir::{AddressForm, Selector};
use ptx_isa::SpecialReg;

use crate::handle::{CodeLabel, Func, Reg, Variable};
use crate::operand_count::{AnyCount, Count};
use crate::writer::{Group, Writer};

/// A value that can be an operand: a number, [`Reg`], [`Variable`], [`CodeLabel`], [`Func`], [`SpecialReg`], an [`AddressExpr`], an array (a
/// vector), and any [`OperandExpr`].
///
/// Sealed: a type of your own becomes an operand by conversion to an [`OperandExpr`].
pub trait IntoOperand: Sized + sealed::Operand {
    #[doc(hidden)]
    fn write(self, w: &mut Writer<'_>);
}

/// Values that can be the operands of one instruction: an operand, a tuple, a slice of [`OperandExpr`]s.
///
/// Sealed, like [`IntoOperand`].
pub trait IntoOperands: Sized + sealed::Operands {
    #[doc(hidden)]
    type Count;

    #[doc(hidden)]
    fn write_all(self, w: &mut Writer<'_>);
}

mod sealed {
    pub trait Operand {}
    pub trait Operands {}
}

/// `_`: a result that is dropped.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Discard;

/// A base with an offset: `[a+16]`.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct AddressExpr {
    base: Base,
    offset: Option<i64>,
    form: AddressForm,
}

#[derive(Copy, Clone, PartialEq, Debug)]
enum Base {
    Reg(Reg),
    Variable(Variable),
    Number(i64),
}

impl AddressExpr {
    /// The address without brackets, as moves and initializers take it: `a+16`.
    #[must_use]
    pub const fn bare(mut self) -> Self {
        self.form = AddressForm::Bare;
        self
    }

    /// `[a+16].unified`
    #[must_use]
    pub const fn unified(mut self) -> Self {
        self.form = AddressForm::Unified;
        self
    }
}

impl From<Reg> for AddressExpr {
    fn from(reg: Reg) -> Self {
        address(Base::Reg(reg), None)
    }
}

impl From<Variable> for AddressExpr {
    fn from(var: Variable) -> Self {
        address(Base::Variable(var), None)
    }
}

/// An address that is a number: `[16]`.
impl From<i64> for AddressExpr {
    fn from(number: i64) -> Self {
        address(Base::Number(number), None)
    }
}

const fn address(base: Base, offset: Option<i64>) -> AddressExpr {
    AddressExpr {
        base,
        offset,
        form: AddressForm::Bracketed,
    }
}

/// `[a]`: the memory at a register or variable. An address with an offset is also written `a + 16`.
pub fn at(base: impl Into<AddressExpr>) -> AddressExpr {
    base.into()
}

macro_rules! offsets {
    ($($name:ident)*) => {
        $(impl Add<i64> for $name {
            type Output = AddressExpr;
            fn add(self, offset: i64) -> AddressExpr {
                address(Base::$name(self), Some(offset))
            }
        }
        impl Sub<i64> for $name {
            type Output = AddressExpr;
            fn sub(self, offset: i64) -> AddressExpr {
                address(Base::$name(self), Some(offset.wrapping_neg()))
            }
        })*
    };
}
offsets!(Reg Variable);

impl Not for Reg {
    type Output = OperandExpr;
    /// `!p`
    fn not(self) -> OperandExpr {
        OperandExpr::Not(Box::new(OperandExpr::Reg(self)))
    }
}

impl Neg for Reg {
    type Output = OperandExpr;
    /// `-a`
    fn neg(self) -> OperandExpr {
        OperandExpr::Neg(Box::new(OperandExpr::Reg(self)))
    }
}

/// Any operand as a value.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum OperandExpr {
    /// A register.
    Reg(Reg),
    /// A special register.
    Special(SpecialReg),
    /// An integer.
    Int(i64),
    /// An integer without a sign.
    Unsigned(u64),
    /// Single precision, written as its bits.
    F32(f32),
    /// Double precision, written as its bits.
    F64(f64),
    /// A constant in its own spelling: `0x10`, `1.5`, `4*8`.
    Constant(String),
    /// A variable or parameter.
    Variable(Variable),
    /// A function.
    Func(Func),
    /// A label.
    Label(CodeLabel),
    /// A base, an offset where there is one, and how both are written.
    Address(Box<OperandExpr>, Option<Box<OperandExpr>>, AddressForm),
    /// `[a, b, {c, d}]`
    Bracket(Vec<OperandExpr>),
    /// `{a, b}`
    Vector(Vec<OperandExpr>),
    /// `(a, b)`
    List(Vec<OperandExpr>),
    /// `p|q`
    Pair(Box<OperandExpr>, Box<OperandExpr>),
    /// `!p`
    Not(Box<OperandExpr>),
    /// `-a`
    Neg(Box<OperandExpr>),
    /// `v.x`, `%tid.x`, `a.b0`
    Component(Box<OperandExpr>, Selector),
    /// `_`
    Sink,
}

macro_rules! into_value {
    ($($from:ty => $variant:ident $(as $to:ty)?;)*) => {
        $(impl From<$from> for OperandExpr {
            fn from(value: $from) -> Self {
                Self::$variant(value $(as $to)?)
            }
        })*
    };
}
into_value! {
    Reg => Reg; Variable => Variable; Func => Func; CodeLabel => Label; SpecialReg => Special;
    i32 => Int as i64; i64 => Int; u32 => Int as i64; u64 => Unsigned; f32 => F32; f64 => F64;
}

impl From<AddressExpr> for OperandExpr {
    fn from(a: AddressExpr) -> Self {
        let base = match a.base {
            Base::Reg(r) => Self::Reg(r),
            Base::Variable(v) => Self::Variable(v),
            Base::Number(n) => Self::Int(n),
        };
        Self::Address(
            Box::new(base),
            a.offset.map(|o| Box::new(Self::Int(o))),
            a.form,
        )
    }
}

impl From<Discard> for OperandExpr {
    fn from(_: Discard) -> Self {
        Self::Sink
    }
}

impl<T: Into<OperandExpr>, const N: usize> From<[T; N]> for OperandExpr {
    /// A vector.
    fn from(parts: [T; N]) -> Self {
        Self::Vector(parts.into_iter().map(Into::into).collect())
    }
}

/// `p|q`
pub fn pair(p: impl Into<OperandExpr>, q: impl Into<OperandExpr>) -> OperandExpr {
    OperandExpr::Pair(Box::new(p.into()), Box::new(q.into()))
}

/// `%tid.x`, `v.y`, `a.h10`: a [`Component`](ptx_isa::Component) of a vector, or a parsed [`Selector`].
pub fn select(base: impl Into<OperandExpr>, selector: impl Into<Selector>) -> OperandExpr {
    OperandExpr::Component(Box::new(base.into()), selector.into())
}

/// `[a, b, …]`: several parts in one bracket.
#[must_use]
pub fn bracket<const N: usize>(parts: [OperandExpr; N]) -> OperandExpr {
    OperandExpr::Bracket(Vec::from(parts))
}

/// The maximum nesting of vectors and brackets, which no legal operand reaches.
const DEPTH: usize = 6;

impl OperandExpr {
    fn put(&self, w: &mut Writer<'_>, depth: usize) {
        if depth > DEPTH {
            return w.too_deep();
        }
        match self {
            Self::Reg(r) => w.register(*r),
            Self::Special(s) => w.special(*s),
            Self::Int(n) => w.integer(*n),
            Self::Unsigned(n) => w.unsigned(*n),
            Self::F32(x) => w.single(*x),
            Self::F64(x) => w.double(*x),
            Self::Constant(text) => w.constant(text),
            Self::Variable(v) => w.variable(*v),
            Self::Func(f) => w.function(*f),
            Self::Label(l) => w.label(*l),
            Self::Address(base, offset, form) => {
                base.put(w, depth + 1);
                if let Some(offset) = offset {
                    offset.put(w, depth + 1);
                }
                w.close_address(*form, offset.is_some());
            }
            Self::Bracket(parts) => put_group(w, parts, Group::Bracket, depth),
            Self::Vector(parts) => put_group(w, parts, Group::Vector, depth),
            Self::List(parts) => put_group(w, parts, Group::List, depth),
            Self::Pair(p, q) => put_group(w, [&**p, &**q], Group::Pair, depth),
            Self::Not(o) => put_group(w, [&**o], Group::Not, depth),
            Self::Neg(o) => put_group(w, [&**o], Group::Neg, depth),
            Self::Component(o, selector) => {
                o.put(w, depth + 1);
                w.component(*selector);
            }
            Self::Sink => w.sink(),
        }
    }
}

/// Adds a group of operands that is nested in `depth` others.
fn put_group<'o>(
    w: &mut Writer<'_>,
    parts: impl IntoIterator<Item = &'o OperandExpr>,
    group: Group,
    depth: usize,
) {
    let mark = w.open();
    for part in parts {
        part.put(w, depth + 1);
    }
    w.close(group, mark);
}

impl sealed::Operand for OperandExpr {}
impl sealed::Operand for &OperandExpr {}
impl sealed::Operand for Discard {}
impl sealed::Operand for AddressExpr {}
impl<T: IntoOperand, const N: usize> sealed::Operand for [T; N] {}
impl<T: IntoOperand> sealed::Operands for T {}
impl sealed::Operands for &[OperandExpr] {}
impl sealed::Operands for () {}

impl IntoOperand for OperandExpr {
    fn write(self, w: &mut Writer<'_>) {
        self.put(w, 0);
    }
}

impl IntoOperand for &OperandExpr {
    fn write(self, w: &mut Writer<'_>) {
        self.put(w, 0);
    }
}

macro_rules! direct {
    ($($ty:ty => $method:ident $(as $to:ty)?;)*) => {
        $(impl sealed::Operand for $ty {}
        impl IntoOperand for $ty {
            #[inline]
            fn write(self, w: &mut Writer<'_>) {
                w.$method(self $(as $to)?);
            }
        })*
    };
}
direct! {
    Reg => register; Variable => variable; Func => function; CodeLabel => label; SpecialReg => special;
    i32 => integer as i64; u32 => integer as i64; i64 => integer; u64 => unsigned; f32 => single; f64 => double;
}

impl IntoOperand for Discard {
    fn write(self, w: &mut Writer<'_>) {
        w.sink();
    }
}

impl IntoOperand for AddressExpr {
    #[inline]
    fn write(self, w: &mut Writer<'_>) {
        match self.base {
            Base::Reg(r) => w.register(r),
            Base::Variable(v) => w.variable(v),
            Base::Number(n) => w.integer(n),
        }
        if let Some(offset) = self.offset {
            w.integer(offset);
        }
        w.close_address(self.form, self.offset.is_some());
    }
}

impl<T: IntoOperand, const N: usize> IntoOperand for [T; N] {
    fn write(self, w: &mut Writer<'_>) {
        let mark = w.open();
        for part in self {
            part.write(w);
        }
        w.close(Group::Vector, mark);
    }
}

impl<T: IntoOperand> IntoOperands for T {
    type Count = Count<1>;

    #[inline]
    fn write_all(self, w: &mut Writer<'_>) {
        w.next();
        self.write(w);
    }
}

impl IntoOperands for &[OperandExpr] {
    type Count = AnyCount;

    fn write_all(self, w: &mut Writer<'_>) {
        for operand in self {
            w.next();
            operand.write(w);
        }
    }
}

impl IntoOperands for () {
    type Count = Count<0>;

    fn write_all(self, _: &mut Writer<'_>) {}
}

macro_rules! tuples {
    ($($count:literal ($($name:ident $at:tt),*))*) => {
        $(impl<$($name: IntoOperand),*> sealed::Operands for ($($name,)*) {}
        impl<$($name: IntoOperand),*> IntoOperands for ($($name,)*) {
            type Count = Count<$count>;

            #[inline]
            fn write_all(self, w: &mut Writer<'_>) {
                $(w.next(); self.$at.write(w);)*
            }
        })*
    };
}
tuples! {
    1 (A 0)
    2 (A 0, B 1)
    3 (A 0, B 1, C 2)
    4 (A 0, B 1, C 2, D 3)
    5 (A 0, B 1, C 2, D 3, E 4)
    6 (A 0, B 1, C 2, D 3, E 4, F 5)
    7 (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    8 (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
    9 (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8)
    10 (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9)
    11 (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10)
    12 (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
}
