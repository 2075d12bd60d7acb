//! What one comparison of integers says about another one of the same integers.

use super::number::{Order, Truth};
use super::{Affine, Interval, Symbol, Values};
use crate::ssa::ValueId;

impl Values {
    /// Whether a predicate is true or false where another one has a value, if both compare the same integers, or one integer with constants.
    #[must_use]
    pub fn implied(&self, (known, holds): (ValueId, bool), other: ValueId) -> Option<bool> {
        if known == other {
            return Some(holds);
        }
        let known = self.comparison(known, holds)?;
        known.implies(self.comparison(other, true)?)
    }

    /// The value that a predicate compares with a constant, and whether the predicate is true where that value is one of two integers.
    #[must_use]
    pub fn truth_for(
        &self,
        predicate: ValueId,
        integers: [i64; 2],
    ) -> Option<(ValueId, [bool; 2])> {
        let comparison = self.comparison(predicate, true)?;
        let constant = comparison.ranges[1].single()?;
        let value = match self.symbol(comparison.a.as_symbol()?)? {
            Symbol::Value { value, .. } => value,
            _ => return None,
        };
        let all = Interval::of_bits(comparison.bits, comparison.signed);
        let truth = |integer: i64| {
            let integer = i128::from(integer);
            let decided =
                (comparison.order).decided(Interval::only(integer), Interval::only(constant));
            decided.filter(|_| all.contains(integer))
        };
        let [a, b] = integers;
        Some((value, [truth(a)?, truth(b)?]))
    }

    /// The comparison that is true where a predicate has a value, a constant last.
    fn comparison(&self, predicate: ValueId, holds: bool) -> Option<ComparisonView<'_>> {
        let Truth::Compare(index, inverted) = self.entries.get(predicate)?.truth else {
            return None;
        };
        let comparison = self.comparisons.get(index as usize)?;
        let [first, second] = &comparison.ranges;
        let view = ComparisonView {
            order: if inverted == holds {
                comparison.order.inverted()
            } else {
                comparison.order
            },
            bits: comparison.bits,
            signed: comparison.signed,
            a: &comparison.a,
            b: &comparison.b,
            ranges: [first, second],
        };
        Some(if first.single().is_some() && second.single().is_none() {
            view.swapped()
        } else {
            view
        })
    }
}

/// A comparison, borrowed from [`Values`]: copies of the affine forms cost more than most questions about them.
#[derive(Copy, Clone)]
struct ComparisonView<'v> {
    order: Order,
    bits: u16,
    signed: bool,
    /// Both operands, modulo the number of bits.
    a: &'v Affine,
    b: &'v Affine,
    /// The integers that the operands can be, by the type.
    ranges: [&'v Interval; 2],
}

impl ComparisonView<'_> {
    const fn swapped(self) -> Self {
        let [a, b] = self.ranges;
        Self {
            order: self.order.swapped(),
            a: self.b,
            b: self.a,
            ranges: [b, a],
            ..self
        }
    }

    /// Returns whether another comparison is true, or false, wherever this one is true.
    fn implies(self, other: Self) -> Option<bool> {
        if self.bits != other.bits {
            return None;
        }
        if self.a == other.b && self.b == other.a {
            return self.implies_for_same_operands(other.swapped());
        }
        if self.a != other.a {
            return None;
        }
        if self.b == other.b {
            return self.implies_for_same_operands(other);
        }
        if self.signed != other.signed {
            return None;
        }
        let integers = self.integers()?;
        let constant = other.ranges[1].single()?;
        other.order.decided(integers, Interval::only(constant))
    }

    /// [`implies`](Self::implies) for two comparisons of the same operands in the same order.
    fn implies_for_same_operands(self, other: Self) -> Option<bool> {
        let (cases, other_cases) = (self.order.cases(), other.order.cases());
        let is_equality = |order| matches!(order, Order::Equal | Order::NotEqual);
        // Equal integers are equal as signed and as unsigned ones.
        let depends_on_sign = !is_equality(self.order) && !is_equality(other.order);
        if depends_on_sign && self.signed != other.signed {
            None
        } else if cases & !other_cases == 0 {
            Some(true)
        } else if cases & other_cases == 0 {
            Some(false)
        } else {
            None
        }
    }

    /// The integers for which it is true, if it compares with a constant and they are an interval.
    fn integers(self) -> Option<Interval> {
        let constant = self.ranges[1].single()?;
        let Interval { min, max } = *self.ranges[0];
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

impl Order {
    /// For which of less, equal and greater it is true, one bit for each.
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
}
