//! Whether the terms of two functions are equal.

use alloc::vec::Vec;

use hashbrown::HashSet;

use super::terms::{CARRY, Id, Term, Terms};
use crate::pairing::Pairing;
use crate::token::Token;

/// How many pairs of terms are compared for each term of the functions.
const MOST_PAIRS: usize = 16;

/// Whether two functions have the same effects with the same values.
pub(crate) fn equal(mut a: Terms, mut b: Terms) -> bool {
    let same_sequences = a.sequences.len() == b.sequences.len()
        && a.sequences
            .iter()
            .zip(&b.sequences)
            .all(|(a, b)| a.effects.len() == b.effects.len() && a.before == b.before);
    if !same_sequences {
        return false;
    }
    let hashes = (a.hashes(), b.hashes());
    let mut comparison = Comparison {
        left: &mut a,
        right: &mut b,
        hashes,
        pairs: HashSet::new(),
        open: Vec::new(),
        assumed: HashSet::new(),
        names: Pairing::default(),
    };
    comparison.all().is_some()
}

struct Comparison<'t> {
    left: &'t mut Terms,
    right: &'t mut Terms,
    hashes: (Vec<u64>, Vec<u64>),
    pairs: HashSet<(Id, Id)>,
    /// The pairs to compare.
    open: Vec<(Id, Id)>,
    /// The registers that have to be equal at the beginning of a sequence.
    assumed: HashSet<(u32, u32, u32)>,
    /// The variables that correspond, and the registers that have to be equal where the function begins: nothing has written
    /// them, so that a one-to-one relation makes them equal.
    names: Pairing,
}

impl Comparison<'_> {
    fn all(&mut self) -> Option<()> {
        for (a, b) in self.left.sequences.iter().zip(&self.right.sequences) {
            self.open
                .extend(a.effects.iter().copied().zip(b.effects.iter().copied()));
        }
        let most = (self.left.terms.len() + self.right.terms.len()) * MOST_PAIRS;
        while let Some((a, b)) = self.open.pop() {
            if self.pairs.insert((a, b)) {
                self.pair(a, b)?;
            }
            if self.pairs.len() > most {
                return None;
            }
        }
        Some(())
    }

    /// Compares two terms without their parts, which it adds to the open ones.
    fn pair(&mut self, a: Id, b: Id) -> Option<()> {
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
                self.open.extend(pairs);
                Some(())
            }
            _ => None,
        }
    }

    /// Registers are equal at the beginning of a sequence if they are at the end of all before it.
    fn assume(&mut self, sequence: u32, (a, b): (u32, u32), shape: Token) -> Option<()> {
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
            self.open.push((x, y));
        }
        Some(())
    }
}
