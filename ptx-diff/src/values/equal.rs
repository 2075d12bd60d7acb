//! The comparison of the terms of two functions.

use alloc::vec::Vec;

use hashbrown::HashSet;

use super::terms::{CARRY, Id, Term, Terms};
use crate::pairing::Pairing;
use crate::token::{REGISTER, Token};

/// The number of pairs of terms that are compared for each term of the functions.
const PAIRS_PER_TERM: usize = 16;

/// Whether two functions have the same effects with the same values.
pub(crate) fn are_equal(a: &mut Terms, b: &mut Terms) -> bool {
    Comparison::new(a, b, None)
        .and_then(Comparison::different_sequences)
        .is_some_and(|different| !different.contains(&true))
}

/// For each sequence of two functions, whether it differs if registers correspond as in `registers`; `None` if the functions do not have the same
/// sequences.
pub(super) fn different_sequences(
    a: &mut Terms,
    b: &mut Terms,
    registers: &Pairing,
) -> Option<Vec<bool>> {
    Comparison::new(a, b, Some(registers))?.different_sequences()
}

/// Two terms that have to be equal.
struct TermPair {
    left: Id,
    right: Id,
    /// The sequence that differs if the terms differ.
    sequence: u32,
}

/// Registers that have to be equal at the beginning of a sequence.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct Assumption {
    sequence: u32,
    left: u32,
    right: u32,
}

struct Comparison<'t> {
    left: &'t mut Terms,
    right: &'t mut Terms,
    /// The hashes of the terms of the left function.
    left_hashes: Vec<u64>,
    /// The hashes of the terms of the right function.
    right_hashes: Vec<u64>,
    /// The pairs that were on the worklist.
    visited: HashSet<(Id, Id)>,
    worklist: Vec<TermPair>,
    assumptions: HashSet<Assumption>,
    /// The variables that correspond, and the registers that have to be equal where the function begins: nothing has written
    /// them, so that a one-to-one relation makes them equal.
    names: Pairing,
    /// The registers that may correspond. `None` if all may: then the first difference ends the comparison.
    registers: Option<&'t Pairing>,
    /// For each sequence, whether a difference was found.
    different: Vec<bool>,
}

impl<'t> Comparison<'t> {
    /// `None` if the functions do not have the same sequences.
    fn new(
        left: &'t mut Terms,
        right: &'t mut Terms,
        registers: Option<&'t Pairing>,
    ) -> Option<Self> {
        let is_comparable = left.sequences.len() == right.sequences.len()
            && left.sequences.iter().zip(&right.sequences).all(|(a, b)| {
                a.predecessors == b.predecessors
                    && (a.effects.len() == b.effects.len() || registers.is_some())
            });
        is_comparable.then(|| Self {
            left_hashes: left.hashes(),
            right_hashes: right.hashes(),
            different: vec![false; left.sequences.len()],
            left,
            right,
            visited: HashSet::new(),
            worklist: Vec::new(),
            assumptions: HashSet::new(),
            names: Pairing::default(),
            registers,
        })
    }

    /// The sequences that differ, or at least one of them; `None` if there are too many pairs to compare.
    fn different_sequences(mut self) -> Option<Vec<bool>> {
        let sequences = self.left.sequences.iter().zip(&self.right.sequences);
        for ((index, different), (a, b)) in (0..).zip(&mut self.different).zip(sequences) {
            *different = a.effects.len() != b.effects.len();
            let effects = a.effects.iter().zip(&b.effects);
            self.worklist.extend(effects.map(|(a, b)| TermPair {
                left: *a,
                right: *b,
                sequence: index,
            }));
        }
        let max_pairs = (self.left.terms.len() + self.right.terms.len()) * PAIRS_PER_TERM;
        while let Some(pair) = self.worklist.pop() {
            if self.visited.insert((pair.left, pair.right)) && self.compare(&pair).is_none() {
                if let Some(different) = self.different.get_mut(pair.sequence as usize) {
                    *different = true;
                }
                if self.registers.is_none() {
                    break;
                }
            }
            if self.visited.len() > max_pairs {
                return None;
            }
        }
        Some(self.different)
    }

    /// Compares two terms without their parts, which are added to the worklist.
    fn compare(&mut self, pair: &TermPair) -> Option<()> {
        let left = self.left.terms.get(pair.left as usize)?;
        let right = self.right.terms.get(pair.right as usize)?;
        match (left, right) {
            (
                Term::Register {
                    sequence,
                    register,
                    shape,
                },
                Term::Register {
                    sequence: right_sequence,
                    register: right_register,
                    shape: right_shape,
                },
            ) => {
                if sequence != right_sequence || shape != right_shape {
                    return None;
                }
                let assumption = Assumption {
                    sequence: *sequence,
                    left: *register,
                    right: *right_register,
                };
                let shape = *shape;
                self.assume(assumption, shape)
            }
            (
                Term::Operation {
                    tokens,
                    parts,
                    commutes,
                },
                Term::Operation {
                    tokens: right_tokens,
                    parts: right_parts,
                    commutes: right_commutes,
                },
            ) => {
                let is_comparable = tokens.len() == right_tokens.len()
                    && parts.len() == right_parts.len()
                    && commutes == right_commutes;
                let mut token_pairs = tokens.iter().zip(right_tokens);
                let names = &mut self.names;
                if !is_comparable || !token_pairs.all(|(a, b)| names.pair_tokens(*a, *b)) {
                    return None;
                }
                let hash = |hashes: &[u64], id: Option<&Id>| {
                    id.and_then(|id| hashes.get(*id as usize)).copied()
                };
                let first = hash(&self.left_hashes, parts.first());
                let is_swapped = *commutes
                    && first != hash(&self.right_hashes, right_parts.first())
                    && first == hash(&self.right_hashes, right_parts.get(1));
                let mut right_parts = right_parts.clone();
                if is_swapped {
                    right_parts.swap(0, 1);
                }
                let part_pairs = parts.iter().zip(right_parts);
                self.worklist
                    .extend(part_pairs.map(|(left, right)| TermPair {
                        left: *left,
                        right,
                        sequence: pair.sequence,
                    }));
                Some(())
            }
            _ => None,
        }
    }

    /// Assumes that two registers are equal at the beginning of a sequence. They are if they are equal at the end of all its predecessors, which is
    /// added to the worklist.
    fn assume(&mut self, assumption: Assumption, shape: Token) -> Option<()> {
        let Assumption {
            sequence,
            left,
            right,
        } = assumption;
        if let Some(registers) = self.registers
            && left != CARRY
            && registers.right(REGISTER, left) != Some(right)
        {
            return None;
        }
        if !self.assumptions.insert(assumption) {
            return Some(());
        }
        let sequence = self.left.sequences.get(sequence as usize)?;
        let (predecessors, is_entry) = (sequence.predecessors.clone(), sequence.is_entry);
        let is_carry = left == CARRY && right == CARRY;
        if is_entry && !is_carry && !self.names.pair(REGISTER, left, right) {
            return None;
        }
        for sequence in predecessors {
            let left = self.left.value_at_end(sequence, left, shape);
            let right = self.right.value_at_end(sequence, right, shape);
            self.worklist.push(TermPair {
                left,
                right,
                sequence,
            });
        }
        Some(())
    }
}
