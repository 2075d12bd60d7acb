//! Whether the terms of two functions are equal.

use alloc::vec::Vec;

use hashbrown::HashSet;

use super::terms::{CARRY, Id, Sequence, Term, Terms};
use crate::pairing::Pairing;
use crate::token::Token;

/// How many pairs of terms are compared for each term of the functions.
const MOST_PAIRS: usize = 16;

/// Whether two functions have the same effects with the same values.
pub(crate) fn equal(a: &mut Terms, b: &mut Terms) -> bool {
    let different = Comparison::new(a, b, None).and_then(Comparison::all);
    different.is_some_and(|all| !all.contains(&true))
}

/// For each sequence of two functions whether it does something else, if registers correspond as in `registers`; `None` if the
/// functions do not have the same sequences.
pub(super) fn different(a: &mut Terms, b: &mut Terms, registers: &Pairing) -> Option<Vec<bool>> {
    Comparison::new(a, b, Some(registers))?.all()
}

struct Comparison<'t> {
    left: &'t mut Terms,
    right: &'t mut Terms,
    hashes: (Vec<u64>, Vec<u64>),
    pairs: HashSet<(Id, Id)>,
    /// The pairs to compare, with their sequence.
    open: Vec<(Id, Id, u32)>,
    /// The registers that have to be equal at the beginning of a sequence.
    assumed: HashSet<(u32, u32, u32)>,
    /// The variables that correspond, and the registers that have to be equal where the function begins: nothing has written
    /// them, so that a one-to-one relation makes them equal.
    names: Pairing,
    /// The registers that may correspond; `None` for all. Then the first difference ends the comparison.
    registers: Option<&'t Pairing>,
    different: Vec<bool>,
}

impl<'t> Comparison<'t> {
    /// `None` if the functions do not have the same sequences.
    fn new(
        left: &'t mut Terms,
        right: &'t mut Terms,
        registers: Option<&'t Pairing>,
    ) -> Option<Self> {
        let mut both = left.sequences.iter().zip(&right.sequences);
        let effects =
            |a: &Sequence, b: &Sequence| a.effects.len() == b.effects.len() || registers.is_some();
        let same = left.sequences.len() == right.sequences.len()
            && both.all(|(a, b)| effects(a, b) && a.before == b.before);
        same.then(|| Self {
            hashes: (left.hashes(), right.hashes()),
            different: vec![false; left.sequences.len()],
            left,
            right,
            pairs: HashSet::new(),
            open: Vec::new(),
            assumed: HashSet::new(),
            names: Pairing::default(),
            registers,
        })
    }

    /// The sequences that differ, or at least one of them; `None` if there is too much to compare.
    fn all(mut self) -> Option<Vec<bool>> {
        let both = self.left.sequences.iter().zip(&self.right.sequences);
        for ((a, b), at) in both.zip(0..) {
            let effects = a.effects.iter().zip(&b.effects);
            self.open.extend(effects.map(|(a, b)| (*a, *b, at)));
            if let Some(different) = self.different.get_mut(at as usize) {
                *different = a.effects.len() != b.effects.len();
            }
        }
        let most = (self.left.terms.len() + self.right.terms.len()) * MOST_PAIRS;
        while let Some((a, b, sequence)) = self.open.pop() {
            if self.pairs.insert((a, b)) && self.pair(a, b, sequence).is_none() {
                if let Some(different) = self.different.get_mut(sequence as usize) {
                    *different = true;
                }
                if self.registers.is_none() {
                    break;
                }
            }
            if self.pairs.len() > most {
                return None;
            }
        }
        Some(self.different)
    }

    /// Compares two terms without their parts, which it adds to the open ones.
    fn pair(&mut self, a: Id, b: Id, now: u32) -> Option<()> {
        let terms = (
            self.left.terms.get(a as usize)?,
            self.right.terms.get(b as usize)?,
        );
        match terms {
            (
                Term::Register {
                    sequence,
                    register,
                    shape,
                },
                Term::Register {
                    sequence: of_other,
                    register: other,
                    shape: other_shape,
                },
            ) => {
                let same = sequence == of_other && shape == other_shape;
                let (sequence, registers, shape) = (*sequence, (*register, *other), *shape);
                same.then(|| self.assume(sequence, registers, shape))?
            }
            (
                Term::Operation {
                    tokens,
                    parts,
                    commutes,
                },
                Term::Operation {
                    tokens: other_tokens,
                    parts: others,
                    commutes: other_commutes,
                },
            ) => {
                let same = tokens.len() == other_tokens.len()
                    && parts.len() == others.len()
                    && commutes == other_commutes;
                let mut tokens = tokens.iter().zip(other_tokens);
                let names = &mut self.names;
                if !same || !tokens.all(|(a, b)| names.pair_tokens(*a, *b)) {
                    return None;
                }
                let hash = |hashes: &[u64], id: Option<&Id>| {
                    id.and_then(|id| hashes.get(*id as usize)).copied()
                };
                let crossed = *commutes
                    && hash(&self.hashes.0, parts.first()) != hash(&self.hashes.1, others.first())
                    && hash(&self.hashes.0, parts.first()) == hash(&self.hashes.1, others.get(1));
                let mut pairs: Vec<(Id, Id)> =
                    parts.iter().copied().zip(others.iter().copied()).collect();
                if let ([(_, x), (_, y), ..], true) = (&mut pairs[..], crossed) {
                    core::mem::swap(x, y);
                }
                self.open
                    .extend(pairs.into_iter().map(|(a, b)| (a, b, now)));
                Some(())
            }
            _ => None,
        }
    }

    /// Registers are equal at the beginning of a sequence if they are at the end of all before it.
    fn assume(&mut self, sequence: u32, (a, b): (u32, u32), shape: Token) -> Option<()> {
        let may_correspond = |of: &Pairing| a == CARRY || of.right(0, a) == Some(b);
        if !self.registers.is_none_or(may_correspond) {
            return None;
        }
        if !self.assumed.insert((sequence, a, b)) {
            return Some(());
        }
        let of = self.left.sequences.get(sequence as usize)?;
        let (before, is_entry) = (of.before.clone(), of.is_entry);
        if is_entry && !(a == CARRY && b == CARRY) && !self.names.pair(0, a, b) {
            return None;
        }
        for sequence in before {
            let x = self.left.at_end(sequence, a, shape);
            let y = self.right.at_end(sequence, b, shape);
            self.open.push((x, y, sequence));
        }
        Some(())
    }
}
