//! Comparisons of integers, and implications between comparisons of the same integers.

use alloc::vec::Vec;
use core::cmp::Ordering;

use super::number::Truth;
use super::{Affine, AffineSymbol, Interval, Term, Values};
use crate::ssa::ValueId;

/// An order of two integers.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Order {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Order {
    /// The order that holds where this one does not.
    pub(super) const fn inverted(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterEqual,
            Self::LessEqual => Self::Greater,
            Self::Greater => Self::LessEqual,
            Self::GreaterEqual => Self::Less,
        }
    }

    /// The order of the same integers after swapping them.
    pub(super) const fn swapped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            other => other,
        }
    }

    /// Returns whether it holds for all integers of two intervals, or for none.
    pub(super) fn decided(self, a: Interval, b: Interval) -> Option<bool> {
        let less = |a: Interval, b: Interval| a.max < b.min;
        match self {
            Self::Less if less(a, b) => Some(true),
            Self::Less if b.max <= a.min => Some(false),
            Self::Equal if less(a, b) || less(b, a) => Some(false),
            Self::Equal if a.single().is_some() && a == b => Some(true),
            Self::Less | Self::Equal => None,
            Self::Greater => Self::Less.decided(b, a),
            Self::NotEqual | Self::GreaterEqual => self.inverted().decided(a, b).map(|d| !d),
            Self::LessEqual => Self::Less.decided(b, a).map(|d| !d),
        }
    }

    /// The cases less, equal and greater for which it is true, one bit for each.
    const fn cases(self) -> u8 {
        match self {
            Self::Less => 1,
            Self::Equal => 2,
            Self::LessEqual => 3,
            Self::Greater => 4,
            Self::NotEqual => 5,
            Self::GreaterEqual => 6,
        }
    }

    /// Returns whether `other` is true or false for all integers for which this order is true.
    const fn implies(self, other: Self) -> Option<bool> {
        if self.cases() & !other.cases() == 0 {
            Some(true)
        } else if self.cases() & other.cases() == 0 {
            Some(false)
        } else {
            None
        }
    }

    const fn depends_on_sign(self) -> bool {
        !matches!(self, Self::Equal | Self::NotEqual)
    }
}

/// A comparison of two integers of a type. If only one of them is a constant, it is `b`.
#[derive(Copy, Clone, Debug)]
pub(super) struct Comparison {
    pub(super) order: Order,
    pub(super) bits: u16,
    pub(super) signed: bool,
    /// Both integers, modulo the number of bits.
    pub(super) a: Affine,
    pub(super) b: Affine,
    /// The intervals of the integers by the type.
    pub(super) ranges: [Interval; 2],
}

impl Comparison {
    pub(super) const fn swapped(self) -> Self {
        let [a, b] = self.ranges;
        Self {
            order: self.order.swapped(),
            a: self.b,
            b: self.a,
            ranges: [b, a],
            ..self
        }
    }

    /// An equal comparison whose second integer is the constant, if one of both is.
    pub(super) fn with_constant_last(self) -> Self {
        let [a, b] = self.ranges;
        if a.single().is_some() && b.single().is_none() {
            self.swapped()
        } else {
            self
        }
    }
}

/// The comparisons of the predicates of a function.
#[derive(Clone, Debug)]
pub(super) struct Comparisons {
    comparisons: Vec<Comparison>,
    /// Numbers for both integers of each comparison: equal forms have equal numbers.
    operands: Vec<[u32; 2]>,
}

/// A comparison, or its inverse.
#[derive(Copy, Clone)]
struct ComparisonView<'v> {
    order: Order,
    comparison: &'v Comparison,
    operands: [u32; 2],
}

impl Comparisons {
    /// Numbers the integers of the comparisons. Cost: n log n.
    pub(super) fn new(comparisons: Vec<Comparison>) -> Self {
        let mut forms: Vec<(&Affine, usize, usize)> = comparisons
            .iter()
            .enumerate()
            .flat_map(|(index, comparison)| [(&comparison.a, index, 0), (&comparison.b, index, 1)])
            .collect();
        forms.sort_unstable_by(|(a, ..), (b, ..)| order_of_forms(a, b));
        let mut operands = vec![[0; 2]; comparisons.len()];
        let mut number = 0;
        let mut previous: Option<&Affine> = None;
        for (form, index, side) in forms {
            number += u32::from(previous.replace(form).is_some_and(|p| p != form));
            operands[index][side] = number;
        }
        Self {
            comparisons,
            operands,
        }
    }

    fn get(&self, index: u32) -> Option<&Comparison> {
        self.comparisons.get(index as usize)
    }
}

/// Any order of forms in which only equal forms are equal.
fn order_of_forms(a: &Affine, b: &Affine) -> Ordering {
    let key = |form: &Affine| (form.constant(), form.terms().len());
    key(a).cmp(&key(b)).then_with(|| {
        let parts = |term: &Term| (term.symbol, term.factor);
        let (a, b) = (a.terms().iter(), b.terms().iter());
        a.map(parts).cmp(b.map(parts))
    })
}

impl Values {
    /// Whether the predicate `other` is true or false where `predicate` has the value `holds`, if both compare the same integers, or one integer with
    /// constants.
    #[doc(hidden)]
    #[must_use]
    pub fn implied(&self, (predicate, holds): (ValueId, bool), other: ValueId) -> Option<bool> {
        if predicate == other {
            return Some(holds);
        }
        let comparison = self.comparison(predicate, holds)?;
        comparison.implies(self.comparison(other, true)?)
    }

    /// The value that a predicate compares with a constant, and whether the predicate is true where that value is one of two integers.
    #[doc(hidden)]
    #[must_use]
    pub fn truth_for(
        &self,
        predicate: ValueId,
        integers: [i64; 2],
    ) -> Option<(ValueId, [bool; 2])> {
        let ComparisonView {
            order, comparison, ..
        } = self.comparison(predicate, true)?;
        let constant = comparison.ranges[1].single()?;
        let value = match self.symbol(comparison.a.as_symbol()?)? {
            AffineSymbol::Value { value, .. } => value,
            _ => return None,
        };
        let all = Interval::of_bits(comparison.bits, comparison.signed);
        let truth = |integer: i64| {
            let integer = i128::from(integer);
            order
                .decided(Interval::only(integer), Interval::only(constant))
                .filter(|_| all.contains(integer))
        };
        let [a, b] = integers;
        Some((value, [truth(a)?, truth(b)?]))
    }

    /// Numbers for the two integers that a predicate compares: equal integers have equal numbers. [`implied`](Self::implied) is `None` for different
    /// predicates unless they have the same first number, or one has the numbers of the other in the reverse order.
    #[doc(hidden)]
    #[must_use]
    pub fn compared_numbers(&self, predicate: ValueId) -> Option<[u32; 2]> {
        let Truth::Compare(index, _) = self.entries.get(predicate)?.truth else {
            return None;
        };
        self.comparisons.operands.get(index as usize).copied()
    }

    /// The integers that the comparison of a predicate compares.
    #[doc(hidden)]
    #[must_use]
    pub fn compared(&self, value: ValueId) -> Option<[&Affine; 2]> {
        let Truth::Compare(index, _) = self.entries.get(value)?.truth else {
            return None;
        };
        let comparison = self.comparisons.get(index)?;
        Some([&comparison.a, &comparison.b])
    }

    /// The comparison that is true where a predicate has a value.
    fn comparison(&self, predicate: ValueId, holds: bool) -> Option<ComparisonView<'_>> {
        let Truth::Compare(index, inverted) = self.entries.get(predicate)?.truth else {
            return None;
        };
        let comparison = self.comparisons.get(index)?;
        Some(ComparisonView {
            order: if inverted == holds {
                comparison.order.inverted()
            } else {
                comparison.order
            },
            comparison,
            operands: *self.comparisons.operands.get(index as usize)?,
        })
    }
}

impl ComparisonView<'_> {
    /// Returns whether another comparison is true, or false, wherever this one is true.
    fn implies(self, other: Self) -> Option<bool> {
        let [a, b] = self.operands;
        let [other_a, other_b] = other.operands;
        let are_swapped = a == other_b && b == other_a;
        if !are_swapped && a != other_a || self.comparison.bits != other.comparison.bits {
            return None;
        }
        let have_same_sign = self.comparison.signed == other.comparison.signed;
        if are_swapped || b == other_b {
            // Equal integers are equal as signed and as unsigned ones.
            let depends_on_sign = self.order.depends_on_sign() && other.order.depends_on_sign();
            if depends_on_sign && !have_same_sign {
                return None;
            }
            return self.order.implies(if are_swapped {
                other.order.swapped()
            } else {
                other.order
            });
        }
        if !have_same_sign {
            return None;
        }
        let constant = other.comparison.ranges[1].single()?;
        other
            .order
            .decided(self.integers()?, Interval::only(constant))
    }

    /// The integers for which it is true, if it compares with a constant and they are an interval.
    fn integers(self) -> Option<Interval> {
        let constant = self.comparison.ranges[1].single()?;
        let Interval { min, max } = self.comparison.ranges[0];
        let (min, max) = match self.order {
            Order::Equal => (constant, constant),
            Order::NotEqual if constant == min => (constant.checked_add(1)?, max),
            Order::NotEqual if constant == max => (min, constant.checked_sub(1)?),
            Order::NotEqual => return None,
            Order::Less => (min, constant.checked_sub(1)?.min(max)),
            Order::LessEqual => (min, constant.min(max)),
            Order::Greater => (constant.checked_add(1)?.max(min), max),
            Order::GreaterEqual => (constant.max(min), max),
        };
        (min <= max).then_some(Interval { min, max })
    }
}
