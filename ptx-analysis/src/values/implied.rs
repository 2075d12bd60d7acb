//! What one comparison of integers says about another one of the same integers.

use super::number::{Comparison, Order, Truth};
use super::{Interval, Symbol, Values};
use crate::ssa::ValueId;

impl Values {
    /// Whether a predicate is true or false where another one has a value, if both compare the same integers, or one integer with constants.
    #[must_use]
    pub fn implied(&self, (known, holds): (ValueId, bool), other: ValueId) -> Option<bool> {
        match known == other {
            true => Some(holds),
            false => self
                .comparison(known, holds)?
                .implies(&self.comparison(other, true)?),
        }
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
    fn comparison(&self, predicate: ValueId, holds: bool) -> Option<Comparison> {
        let Truth::Compare(index, inverted) = self.entries.get(predicate)?.truth else {
            return None;
        };
        let mut comparison = *self.comparisons.get(index as usize)?;
        if inverted == holds {
            comparison.order = comparison.order.inverted();
        }
        let [a, b] = comparison.ranges;
        Some(match a.single().is_some() && b.single().is_none() {
            true => comparison.swapped(),
            false => comparison,
        })
    }
}

impl Comparison {
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

    /// Whether another comparison is true or false where this one is true.
    fn implies(&self, other: &Self) -> Option<bool> {
        if self.bits != other.bits {
            return None;
        }
        if self.a == other.b && self.b == other.a {
            return self.implies_of_same(&other.swapped());
        }
        if self.a == other.a && self.b == other.b {
            return self.implies_of_same(other);
        }
        if self.a != other.a || self.signed != other.signed {
            return None;
        }
        let integers = self.integers()?;
        let constant = other.ranges[1].single()?;
        other.order.decided(integers, Interval::only(constant))
    }

    /// The same for two comparisons of the same integers.
    fn implies_of_same(&self, other: &Self) -> Option<bool> {
        let (own, others) = (self.order.cases(), other.order.cases());
        let equality = |order| matches!(order, Order::Equal | Order::NotEqual);
        // Equal integers are equal as signed and as unsigned ones.
        let is_of_sign = !equality(self.order) && !equality(other.order);
        match () {
            () if is_of_sign && self.signed != other.signed => None,
            () if own & !others == 0 => Some(true),
            () if own & others == 0 => Some(false),
            () => None,
        }
    }

    /// The integers for which it is true, if it compares with a constant and they are an interval.
    fn integers(&self) -> Option<Interval> {
        let constant = self.ranges[1].single()?;
        let Interval { min, max } = self.ranges[0];
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
