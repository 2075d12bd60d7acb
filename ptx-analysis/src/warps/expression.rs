//! Evaluates the expressions of the tables ([`ptx_isa::internals::Computation`]) for the lanes of a warp.

use alloc::vec::Vec;
use core::cmp::Ordering;

use ptx_dataflow::internals::{Condition, Conditions};
use ptx_ir::Signature;
use ptx_isa::internals::{Expr, SlotAssignment};
use ptx_isa::{ExprFunction as Function, Form, Modifier, ScalarType, TypeKind};

use super::bitwise::{AND, OR, XOR, bitwise};
use super::division::{division, likely_division};
use super::masks::Masks;
use super::number::{Number, ones, zip};
use super::rows::Rows;
use crate::values::AffineSymbolId;

/// The value of an expression.
#[derive(Copy, Clone, Debug)]
pub(super) enum Term {
    Number(Number),
    Rows(Rows),
    Masks(Masks),
}

impl Term {
    pub(super) const fn number(self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(number),
            Self::Rows(_) | Self::Masks(_) => None,
        }
    }

    pub(super) const fn masks(self) -> Option<Masks> {
        match self {
            Self::Masks(masks) => Some(masks),
            Self::Number(_) | Self::Rows(_) => None,
        }
    }
}

/// An instruction whose results are evaluated.
pub(super) struct Scope<'a> {
    pub(super) form: &'static Form,
    pub(super) slots: &'a SlotAssignment,
    pub(super) signature: Signature<'a>,
    /// The operands by their indices in the form, read with their types; `None` if nothing is known.
    pub(super) operands: &'a [Option<Term>],
    /// The operands that are multiples of a symbol, which is the same in all lanes, with the factors.
    pub(super) symbols: &'a [Option<(AffineSymbolId, i64)>],
    /// The values of the assignments before this one.
    pub(super) assigned: Vec<Option<Term>>,
}

/// A condition that modifiers and types may decide.
#[derive(Copy, Clone)]
struct Decided(Option<Masks>);

impl Condition for Decided {
    const UNKNOWN: Self = Self(None);

    fn known(holds: bool) -> Self {
        Self(Some(Masks::known(if holds { u32::MAX } else { 0 })))
    }

    fn holds(self) -> Option<bool> {
        match self.0?.single()? {
            0 => Some(false),
            u32::MAX => Some(true),
            _ => None,
        }
    }

    fn inverted(self) -> Self {
        Self(self.0.map(Masks::negated))
    }
}

impl Scope<'_> {
    pub(super) fn operand_type(&self, at: usize) -> Option<ScalarType> {
        let operand = self.form.operands().get(at)?;
        operand.ty().scalar_type(self.slots, self.form)
    }

    pub(super) fn ty(&self, argument: Option<&Expr>) -> Option<ScalarType> {
        match argument? {
            Expr::Type(ty) => ty.scalar_type(self.slots, self.form),
            _ => None,
        }
    }

    /// The value of an expression; `None` if nothing is known of it.
    pub(super) fn value(&self, expr: &Expr) -> Option<Term> {
        match *expr {
            Expr::Operand(at) => *self.operands.get(usize::from(at))?,
            Expr::Assigned(at) => *self.assigned.get(usize::from(at))?,
            Expr::Integer(value) => Some(Term::Number(Number::constant(value.into()))),
            Expr::If([when, then, otherwise]) => self.choice(when, then, otherwise),
            Expr::Call(function, arguments) => match self.condition(expr) {
                Some(masks) => Some(Term::Masks(masks)),
                None => match self.function(function, arguments) {
                    Some(number) => Some(Term::Number(number)),
                    None => self.rows(function, arguments)?.term(),
                },
            },
            Expr::Has(_) | Expr::Filled(_) => self.condition(expr).map(Term::Masks),
            _ => None,
        }
    }

    pub(super) fn number(&self, expr: &Expr) -> Option<Number> {
        self.value(expr)?.number()
    }

    fn choice(&self, when: &Expr, then: &Expr, otherwise: &Expr) -> Option<Term> {
        let masks = self.masks(when);
        match (masks.and_then(|masks| masks.single()), then, otherwise) {
            (Some(u32::MAX), then, _) => return self.value(then),
            (Some(0), _, otherwise) => return self.value(otherwise),
            (_, Expr::Undefined, other) | (_, other, Expr::Undefined) => return self.value(other),
            _ => {}
        }
        selected(masks?, self.value(then)?, self.value(otherwise)?)
    }

    /// The lanes in which a condition holds.
    pub(super) fn masks(&self, expr: &Expr) -> Option<Masks> {
        let signature = self.signature;
        let conditions = Conditions {
            form: self.form,
            slots: self.slots,
            has: |modifier| signature.has(modifier),
        };
        let decided: Decided = conditions.evaluate(expr, &mut |expr| Decided(self.undecided(expr)));
        decided.0
    }

    /// The lanes in which a condition holds; `None` for an expression that is not a condition.
    fn condition(&self, expr: &Expr) -> Option<Masks> {
        let is_condition = match *expr {
            Expr::Has(_) | Expr::Filled(_) => true,
            Expr::Call(function, arguments) => match function {
                Function::Signed
                | Function::Floating
                | Function::Packed
                | Function::Compare
                | Function::Combine
                | Function::Equal
                | Function::NotEqual
                | Function::Less
                | Function::LessEqual
                | Function::Greater
                | Function::GreaterEqual => true,
                Function::And | Function::Or | Function::Xor | Function::Not => arguments
                    .first()
                    .is_some_and(|argument| self.is_predicate(argument)),
                _ => false,
            },
            _ => false,
        };
        if is_condition { self.masks(expr) } else { None }
    }

    /// Returns whether an argument is a predicate.
    fn is_predicate(&self, argument: &Expr) -> bool {
        match *argument {
            Expr::Operand(at) => self
                .operand_type(at.into())
                .is_some_and(|ty| ty.kind() == TypeKind::Predicate),
            Expr::Assigned(at) => matches!(
                self.assigned.get(usize::from(at)),
                Some(Some(Term::Masks(_)))
            ),
            _ => self.condition(argument).is_some(),
        }
    }

    /// The lanes in which a condition holds that modifiers and types do not decide.
    fn undecided(&self, expr: &Expr) -> Option<Masks> {
        match *expr {
            Expr::Operand(_) | Expr::Assigned(_) | Expr::If(_) => self.value(expr)?.masks(),
            Expr::Call(function, arguments) => self.comparison(function, arguments),
            _ => None,
        }
    }

    fn comparison(&self, function: Function, arguments: &[Expr]) -> Option<Masks> {
        let pair = |at: usize| Some((arguments.get(at)?, arguments.get(at + 1)?));
        let logical = |table: fn(u32, u32) -> u32| {
            let (a, b) = pair(0)?;
            self.masks(a)?.combined(self.masks(b)?, table)
        };
        let holds: fn(Ordering) -> bool = match function {
            Function::And => return logical(|a, b| a & b),
            Function::Or => return logical(|a, b| a | b),
            Function::Xor => return logical(|a, b| a ^ b),
            Function::Combine => {
                let (a, b) = pair(1)?;
                let (a, b) = (self.masks(a)?, self.masks(b)?);
                return match self.modifier(arguments.first()?)? {
                    Modifier::And => a.combined(b, |a, b| a & b),
                    Modifier::Or => a.combined(b, |a, b| a | b),
                    Modifier::Xor => a.combined(b, |a, b| a ^ b),
                    _ => None,
                };
            }
            Function::Compare => {
                let (order, is_unsigned) = order(self.modifier(arguments.first()?)?)?;
                let (a, b) = pair(1)?;
                let (mut a, mut b) = (self.number(a)?, self.number(b)?);
                if is_unsigned {
                    let bits = self.compared_bits(arguments)?;
                    (a, b) = (a.truncated(bits, false), b.truncated(bits, false));
                }
                return Masks::compared(&a, &b, order);
            }
            Function::Equal => Ordering::is_eq,
            Function::NotEqual => Ordering::is_ne,
            Function::Less => Ordering::is_lt,
            Function::LessEqual => Ordering::is_le,
            Function::Greater => Ordering::is_gt,
            Function::GreaterEqual => Ordering::is_ge,
            _ => return None,
        };
        let (a, b) = pair(0)?;
        Masks::compared(&self.number(a)?, &self.number(b)?, holds)
    }

    /// The number of bits of the operands of a comparison.
    fn compared_bits(&self, arguments: &[Expr]) -> Option<u32> {
        match *arguments.get(1)? {
            Expr::Operand(at) => Some(self.operand_type(at.into())?.bits().into()),
            _ => None,
        }
    }

    fn modifier(&self, argument: &Expr) -> Option<Modifier> {
        match *argument {
            Expr::Slot(slot) => self.slots.word(slot.into()),
            _ => None,
        }
    }

    fn function(&self, function: Function, arguments: &[Expr]) -> Option<Number> {
        let first = arguments.first();
        let argument = |at: usize| self.number(arguments.get(at)?);
        let constant = |at: usize| u32::try_from(argument(at)?.single()?).ok();
        match function {
            Function::Width => Some(Number::constant(element(self.ty(first)?).bits().into())),
            Function::Highest => {
                let ty = element(self.ty(first)?);
                let bits = u32::from(ty.bits()) - u32::from(is_signed(ty));
                Some(Number::constant(ones(bits) as i128))
            }
            Function::Add => argument(0)?.sum(argument(1)?),
            Function::Sub => argument(0)?.sum(argument(1)?.negated()?),
            Function::Negate => argument(0)?.negated(),
            Function::Not => bitwise(0b01, &[argument(0)?]),
            Function::Mul => argument(0)?.product(argument(1)?),
            Function::ShiftLeft => self.shifted(argument(0)?, argument(1)?, true),
            Function::ShiftRight => self.shifted(argument(0)?, argument(1)?, false),
            Function::And => masked(argument(0)?, argument(1)?),
            Function::Or => bitwise(OR, &[argument(0)?, argument(1)?]),
            Function::Xor => bitwise(XOR, &[argument(0)?, argument(1)?]),
            Function::Lookup => {
                let table = argument(0)?.single()?;
                let [a, b, c] = [argument(1)?, argument(2)?, argument(3)?];
                bitwise(table as u8, &[a, b, c])
            }
            Function::Byte => {
                let selector = constant(1)?;
                let at = 8 * (selector & 7);
                let byte = argument(0)?.shifted_right(at)?.truncated(8, false);
                if selector & 8 == 0 {
                    return Some(byte);
                }
                Some(
                    byte.truncated(8, true)
                        .shifted_right(7)?
                        .truncated(8, false),
                )
            }
            Function::Unsigned => {
                let bits = self.ty(first)?.bits();
                Some(argument(1)?.truncated(bits.into(), false))
            }
            Function::Field => {
                let is_signed = is_signed(element(self.ty(first)?));
                let (position, length) = (constant(2)?, constant(3)?);
                let shifted = argument(1)?.shifted_right(position)?;
                Some(shifted.truncated(length.min(128), is_signed))
            }
            Function::Convert => {
                let ty = element(self.ty(first)?);
                let number = argument(1)?;
                let kept = number.exact().truncated(ty.bits().into(), is_signed(ty));
                let is_same = kept == number || in_range(&number, ty.bits().into(), is_signed(ty));
                is_same.then_some(number)
            }
            Function::Ones => {
                let length = constant(0)?;
                Some(Number::constant(ones(length.min(127)) as i128))
            }
            Function::Min | Function::Max => {
                extremum(function == Function::Min, argument(0)?, argument(1)?)
            }
            Function::Abs => {
                let number = argument(0)?.exact();
                let is_positive = number.ranges()?.iter().all(|range| range.0 >= 0);
                if is_positive {
                    return Some(number);
                }
                let offsets = number.offsets.map(i128::wrapping_abs);
                number.is_known().then_some(Number { offsets, ..number })
            }
            Function::Div | Function::Rem => {
                division(function == Function::Rem, argument(0)?, argument(1)?)
            }
            _ => None,
        }
    }

    fn shifted(&self, number: Number, amount: Number, is_left: bool) -> Option<Number> {
        if let Some(by) = amount.single() {
            let by = u32::try_from(by).ok()?;
            let result = if is_left {
                Some(number.shifted_left(by))
            } else {
                number.shifted_right(by).or_else(|| {
                    let divisor = Number::constant(1i128.checked_shl(by.min(126))?);
                    let number = number.exact();
                    (number.inverted == 0).then(|| likely_division(false, number, divisor))?
                })
            };
            return result.map(|result| result.assuming(amount.assumed));
        }
        let amount = amount.exact();
        if number.is_known() && amount.is_known() {
            let number = number.exact();
            let shift = |a: i128, by: i128| match u32::try_from(by) {
                Ok(by) if is_left => a.checked_shl(by).unwrap_or(0),
                Ok(by) => a >> by.min(127),
                Err(_) => 0,
            };
            let offsets = zip(&number.offsets, &amount.offsets, shift);
            return Some(Number { offsets, ..number }.assuming(amount.assumed));
        }
        let assumed = number.assumed.and(amount.assumed);
        let is_uniform = number.is_uniform() && amount.is_uniform();
        is_uniform.then(|| Number::uniform(u128::MAX).assuming(assumed))
    }
}

/// The bitwise and. A mask of low bits only needs these.
fn masked(a: Number, b: Number) -> Option<Number> {
    for (number, mask) in [(a, b), (b, a)] {
        if let Some(mask) = mask.single()
            && mask >= 0
        {
            let length = 128 - (mask as u128).leading_zeros();
            let low = number.truncated(length, false);
            return bitwise(AND, &[low, Number::constant(mask)]);
        }
    }
    bitwise(AND, &[a, b])
}

fn in_range(number: &Number, bits: u32, is_signed: bool) -> bool {
    let (least, greatest) = if is_signed {
        (-1 << (bits - 1), ones(bits - 1) as i128)
    } else {
        (0, ones(bits) as i128)
    };
    number.ranges().is_some_and(|ranges| {
        let mut ranges = ranges.iter();
        ranges.all(|range| range.0 >= least && range.1 <= greatest)
    })
}

fn extremum(is_least: bool, a: Number, b: Number) -> Option<Number> {
    let (a, b) = (a.exact(), b.exact());
    let assumed = a.assumed.and(b.assumed);
    if a.is_known() && b.is_known() {
        let choose = if is_least { i128::min } else { i128::max };
        let offsets = zip(&a.offsets, &b.offsets, choose);
        return Some(Number::known(offsets).assuming(assumed));
    }
    if let (Some(x), Some(y)) = (a.ranges(), b.ranges()) {
        let is_below =
            |x: &[(i128, i128)], y: &[(i128, i128)]| x.iter().zip(y).all(|(x, y)| x.1 <= y.0);
        if is_below(&x, &y) {
            return Some(if is_least { a } else { b }.assuming(assumed));
        }
        if is_below(&y, &x) {
            return Some(if is_least { b } else { a }.assuming(assumed));
        }
    }
    if !a.is_uniform() || !b.is_uniform() {
        return None;
    }
    joined(&a, &b)
}

/// One of two values in each lane.
pub(super) fn selected(masks: Masks, then: Term, otherwise: Term) -> Option<Term> {
    match (then, otherwise) {
        (Term::Number(a), Term::Number(b)) => {
            let mut result: Option<Number> = None;
            for &set in masks.sets() {
                let chosen = chosen(set, &a, &b)?;
                result = Some(match result {
                    None => chosen,
                    Some(result) => joined(&result, &chosen)?,
                });
            }
            Some(Term::Number(result?.assuming(masks.assumed)))
        }
        (Term::Rows(a), Term::Rows(b)) if masks.is_uniform() => {
            Some(Term::Rows(if a == b { a } else { a.joined(b)? }))
        }
        (Term::Masks(a), Term::Masks(b)) => {
            let chosen = masks.combined(a, |mask, a| mask & a)?;
            let other = masks.combined(b, |mask, b| !mask & b)?;
            // The sets of both parts belong to the same choice; a mix of them is possible only in this approximation.
            chosen.combined(other, |a, b| a | b).map(Term::Masks)
        }
        _ => None,
    }
}

/// The integers of two numbers in a set of lanes and in the others.
fn chosen(set: u32, a: &Number, b: &Number) -> Option<Number> {
    let assumed = a.assumed.and(b.assumed);
    let bits = a.bits.min(b.bits);
    match set {
        u32::MAX => return Some(a.assuming(assumed)),
        0 => return Some(b.assuming(assumed)),
        _ => {}
    }
    if !a.is_known() || !b.is_known() {
        return (a == b).then_some(*a).filter(Number::is_known);
    }
    let offsets = core::array::from_fn(|lane| {
        if set >> lane & 1 == 1 {
            a.offsets[lane]
        } else {
            b.offsets[lane]
        }
    });
    Some(Number {
        bits,
        ..Number::known(offsets).assuming(assumed)
    })
}

/// Either of two integers; which one it is, is the same in all lanes.
pub(super) fn joined(a: &Number, b: &Number) -> Option<Number> {
    let assumed = a.assumed.and(b.assumed);
    let bits = a.bits.min(b.bits);
    if a.inverted | b.inverted == 0 {
        let difference = a.offsets[0].wrapping_sub(b.offsets[0]);
        let is_same = a
            .offsets
            .iter()
            .zip(&b.offsets)
            .all(|(a, b)| a.wrapping_sub(*b) == difference);
        if is_same {
            return Some(Number {
                base: a.base | join_bits(b.base, difference),
                offsets: a.offsets,
                inverted: 0,
                bits,
                assumed,
            });
        }
    }
    let (a, b) = (a.without_carries()?, b.without_carries()?);
    let difference = a.offsets[0] ^ b.offsets[0];
    let is_same = a
        .offsets
        .iter()
        .zip(&b.offsets)
        .all(|(a, b)| a ^ b == difference);
    if !is_same {
        return None;
    }
    let unknown = a.unknown() | b.unknown() | difference as u128;
    let number = Number {
        offsets: a.offsets,
        base: 0,
        inverted: unknown,
        bits,
        assumed,
    };
    Some(number.simplified())
}

/// The bits that may be one in the difference of an integer with these bits and a known number.
fn join_bits(base: u128, difference: i128) -> u128 {
    use super::number::{from_lowest, sum_bits};
    match difference {
        0 => base,
        1.. => from_lowest(base | difference as u128),
        _ => sum_bits(base, difference.unsigned_abs()),
    }
}

pub(super) fn element(ty: ScalarType) -> ScalarType {
    ty.element().unwrap_or(ty)
}

fn is_signed(ty: ScalarType) -> bool {
    element(ty).kind() == TypeKind::Signed
}

/// Whether an order of two numbers is the one of a comparison.
type IsOrder = fn(Ordering) -> bool;

/// The order that a modifier states, and whether it is one of unsigned integers.
fn order(modifier: Modifier) -> Option<(IsOrder, bool)> {
    Some(match modifier {
        Modifier::Eq => (Ordering::is_eq, false),
        Modifier::Ne => (Ordering::is_ne, false),
        Modifier::Lt => (Ordering::is_lt, false),
        Modifier::Le => (Ordering::is_le, false),
        Modifier::Gt => (Ordering::is_gt, false),
        Modifier::Ge => (Ordering::is_ge, false),
        Modifier::Lo => (Ordering::is_lt, true),
        Modifier::Ls => (Ordering::is_le, true),
        Modifier::Hi => (Ordering::is_gt, true),
        Modifier::Hs => (Ordering::is_ge, true),
        _ => return None,
    })
}
