//! Joins of values where paths meet.

use ptx_isa::Uniformity;

use super::expression::{Term, joined};
use super::number::{from_lowest, ones};
use super::{Fact, MAX_PASSES, WarpValues};
use crate::cfg::BlockId;
use crate::ssa::ValueId;

impl WarpValues<'_> {
    /// The value of a phi. It includes the value of the pass before, so that values of loops only become less precise.
    pub(super) fn phi(&self, id: ValueId, block: BlockId, pass: u32) -> Fact {
        let Some(entry) = self.entry(id) else {
            return Fact::Unknown;
        };
        let old = &entry.fact;
        if *old == Fact::Unknown {
            return Fact::Unknown;
        }
        let is_together = self.uniformity.join(block) <= Uniformity::Warp;
        let mut result = old.clone();
        for &argument in self.ssa.args(id) {
            let fact = match self.entry(argument) {
                Some(entry) if entry.fact == Fact::New => continue,
                _ => self.read(argument, block),
            };
            result = match (&result, fact) {
                (Fact::New, fact) => fact.clone(),
                (result, fact) if result == fact && fact.is_known() => continue,
                (result, fact) if is_together => self.joined(id, result, fact),
                _ => Fact::Unknown,
            };
        }
        if result == Fact::Unknown && is_together && self.is_uniform_phi(id, block) {
            result = self.uniform(id, self.uniformity.join(block));
        }
        if pass == 0 || result == *old {
            result
        } else if pass < MAX_PASSES {
            self.widened(id, result)
        } else {
            Fact::Unknown
        }
    }

    /// Returns whether all arguments of a phi are the same in a warp.
    fn is_uniform_phi(&self, id: ValueId, block: BlockId) -> bool {
        self.ssa
            .args(id)
            .iter()
            .all(|argument| match self.entry(*argument) {
                Some(entry) if entry.fact == Fact::New => true,
                _ => match self.read(*argument, block) {
                    Fact::Number(number) => number.is_uniform() && number.inverted == 0,
                    Fact::Masks(masks) => masks.is_uniform(),
                    Fact::Rows(_) | Fact::New | Fact::Unknown => false,
                },
            })
    }

    fn joined(&self, id: ValueId, a: &Fact, b: &Fact) -> Fact {
        let term = match (a.term(), b.term()) {
            (Some(Term::Number(a)), Some(Term::Number(b))) => joined(&a, &b).map(Term::Number),
            (Some(Term::Masks(a)), Some(Term::Masks(b))) => a.join(b).map(Term::Masks),
            (Some(Term::Rows(a)), Some(Term::Rows(b))) => a.joined(b).map(Term::Rows),
            _ => None,
        };
        Fact::of(term, self.width(id))
    }

    /// The value of a phi that changed again: the unknown number may be any that the register can hold.
    fn widened(&self, id: ValueId, fact: Fact) -> Fact {
        let mut number = match fact {
            Fact::Number(number) => *number,
            Fact::Rows(rows) => return Fact::Rows(alloc::boxed::Box::new(rows.widened())),
            Fact::New | Fact::Masks(_) | Fact::Unknown => return fact,
        };
        let mut possible = ones(self.width(id));
        if number.offsets.iter().all(|offset| *offset == 0) {
            possible &= self.possible_bits(id);
        }
        number.base = from_lowest(number.base) & possible;
        Fact::Number(alloc::boxed::Box::new(number))
    }
}
