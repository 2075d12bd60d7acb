//! Which register, label or variable of one function is which of another: a one-to-one relation.

use alloc::vec::Vec;

use crate::code::Code;
use crate::token::{Kind, RENAMED, Token};

/// What is paired with what, by kind and id.
#[derive(Default)]
pub(crate) struct Pairing {
    /// For each id of the left function that of the right one, plus one; 0 for none.
    left: [Vec<u32>; RENAMED],
    right: [Vec<u32>; RENAMED],
}

fn slot(ids: &mut Vec<u32>, id: u32) -> Option<&mut u32> {
    let index = id as usize;
    if index >= ids.len() {
        ids.resize((index + 1).next_power_of_two(), 0);
    }
    ids.get_mut(index)
}

impl Pairing {
    /// Pairs two, unless one of them has another partner.
    pub(crate) fn pair(&mut self, kind: usize, a: u32, b: u32) -> bool {
        let (Some(left), Some(right)) = (self.left.get_mut(kind), self.right.get_mut(kind)) else {
            return false;
        };
        let (Some(left), Some(right)) = (slot(left, a), slot(right, b)) else {
            return false;
        };
        if (*left, *right) == (0, 0) {
            (*left, *right) = (b + 1, a + 1);
        }
        (*left, *right) == (b + 1, a + 1)
    }

    /// Whether two tokens are equal; pairs what is renamed.
    pub(crate) fn pair_tokens(&mut self, a: Token, b: Token) -> bool {
        a.shape() == b.shape()
            && match (a.renamed(), b.renamed()) {
                (Some((kind, a)), Some((_, b))) => self.pair(kind, a, b),
                _ => true,
            }
    }

    /// The partner of what the left function has.
    pub(crate) fn right(&self, kind: usize, a: u32) -> Option<u32> {
        let ids = self.left.get(kind)?;
        ids.get(a as usize)?.checked_sub(1)
    }

    /// The partner of what the right function has.
    pub(crate) fn left(&self, kind: usize, b: u32) -> Option<u32> {
        let ids = self.right.get(kind)?;
        ids.get(b as usize)?.checked_sub(1)
    }

    /// All pairs of a kind, in the order of the left function.
    pub(crate) fn pairs(&self, kind: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        let ids = self.left.get(kind).map_or(&[][..], |ids| ids);
        let all = (0..).zip(ids);
        all.filter_map(|(a, b)| Some((a, b.checked_sub(1)?)))
    }

    /// Whether two statements are equal.
    pub(crate) fn equal(&self, a: &[Token], b: &[Token]) -> bool {
        a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| {
                a.shape() == b.shape()
                    && match (a.renamed(), b.renamed()) {
                        (Some((kind, a)), Some((_, b))) => self.right(kind, a) == Some(b),
                        _ => true,
                    }
            })
    }

    /// Whether all of the code is equal with a one-to-one relation, which this becomes.
    pub(crate) fn whole(a: &Code, b: &Code) -> Option<Self> {
        let mut pairing = Self::default();
        let same_statements = a.entries.len() == b.entries.len()
            && a.entries
                .iter()
                .zip(&b.entries)
                .all(|(a, b)| a.shape == b.shape);
        let (x, y) = (a.all_tokens(), b.all_tokens());
        let equal = same_statements
            && x.len() == y.len()
            && x.iter().zip(y).all(|(a, b)| pairing.pair_tokens(*a, *b));
        equal.then_some(pairing)
    }

    /// The relation that most places of aligned statements agree with; those of the first list come before those of the second.
    pub(crate) fn of_most(a: &Code, b: &Code, aligned: [&[(u32, u32)]; 2]) -> Self {
        let mut pairing = Self::default();
        let (left_order, right_order) = (MentionOrder::new(a), MentionOrder::new(b));
        for aligned in aligned {
            let mut votes: Vec<(usize, u32, u32)> = Vec::new();
            for &(i, j) in aligned {
                let both = a.tokens(i as usize).iter().zip(b.tokens(j as usize));
                for (a, b) in both {
                    if let (Some((kind, a)), Some((_, b))) = (a.renamed(), b.renamed()) {
                        votes.push((kind, a, b));
                    }
                }
            }
            votes.sort_unstable();
            let same = votes.chunk_by(|a, b| a == b);
            let counts = same.filter_map(|all| Some((all.len(), *all.first()?)));
            let mut counts: Vec<_> = counts.collect();
            // Ids are not in the order of the text in an edited function.
            let rank = |&(kind, a, b): &(usize, u32, u32)| {
                (kind, left_order.rank(kind, a), right_order.rank(kind, b))
            };
            counts.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| rank(&a.1).cmp(&rank(&b.1))));
            for (_, (kind, a, b)) in counts {
                pairing.pair(kind, a, b);
            }
        }
        pairing
    }

    /// Hashes of statements of both functions that are equal for equal ones.
    pub(crate) fn keys(&self, a: &Code, b: &Code) -> (Vec<u64>, Vec<u64>) {
        let left = |kind: usize, id: u32| match self.right(kind, id) {
            Some(_) => (Kind::Paired, id),
            None => (Kind::Unpaired, id << 1),
        };
        let right = |kind: usize, id: u32| match self.left(kind, id) {
            Some(id) => (Kind::Paired, id),
            None => (Kind::Unpaired, id << 1 | 1),
        };
        (hashes(a, left), hashes(b, right))
    }
}

/// The order in which the code of a function mentions its registers, labels and variables.
struct MentionOrder {
    /// For each kind and id the number of the first mention.
    ranks: [Vec<u32>; RENAMED],
}

impl MentionOrder {
    fn new(code: &Code) -> Self {
        let mut ranks: [Vec<u32>; RENAMED] = Default::default();
        let mut next = 0;
        for (kind, id) in code.all_tokens().iter().filter_map(|token| token.renamed()) {
            // 0 until the first mention.
            if let Some(rank) = ranks.get_mut(kind).and_then(|ids| slot(ids, id))
                && *rank == 0
            {
                next += 1;
                *rank = next;
            }
        }
        Self { ranks }
    }

    fn rank(&self, kind: usize, id: u32) -> u32 {
        let ranks = self.ranks.get(kind);
        ranks
            .and_then(|ids| ids.get(id as usize))
            .copied()
            .unwrap_or(0)
    }
}

fn hashes(code: &Code, rename: impl Fn(usize, u32) -> (Kind, u32)) -> Vec<u64> {
    let entry = |i| {
        code.tokens(i).iter().fold(0, |hash, token| {
            let token = match token.renamed() {
                Some((kind, id)) => {
                    let (paired, id) = rename(kind, id);
                    let shape = crate::token::mix(hash, token.shape());
                    return crate::token::mix(shape, token.with_number(paired, id).bits());
                }
                None => token.bits(),
            };
            crate::token::mix(hash, token)
        })
    };
    (0..code.entries.len()).map(entry).collect()
}
