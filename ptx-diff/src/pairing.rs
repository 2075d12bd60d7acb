//! A one-to-one relation between the registers, labels and variables of two functions.

use alloc::vec::Vec;

use crate::code::Code;
use crate::token::{Kind, LOCAL_KINDS, Local, Token, mix};

/// The pairs of registers, labels and variables, by kind and id.
#[derive(Default)]
pub(crate) struct Pairing {
    /// For each id of the left function, the id of its partner plus one; 0 without a partner.
    left: [Vec<u32>; LOCAL_KINDS],
    /// For each id of the right function, the id of its partner plus one; 0 without a partner.
    right: [Vec<u32>; LOCAL_KINDS],
}

fn slot(ids: &mut Vec<u32>, id: u32) -> Option<&mut u32> {
    let index = id as usize;
    if index >= ids.len() {
        ids.resize((index + 1).next_power_of_two(), 0);
    }
    ids.get_mut(index)
}

impl Pairing {
    /// Pairs two ids of a kind. Returns `false` if one of them has another partner.
    pub(crate) fn pair(&mut self, kind: usize, left_id: u32, right_id: u32) -> bool {
        let (Some(left), Some(right)) = (self.left.get_mut(kind), self.right.get_mut(kind)) else {
            return false;
        };
        let (Some(left), Some(right)) = (slot(left, left_id), slot(right, right_id)) else {
            return false;
        };
        if (*left, *right) == (0, 0) {
            (*left, *right) = (right_id + 1, left_id + 1);
        }
        (*left, *right) == (right_id + 1, left_id + 1)
    }

    /// Pairs the registers, labels or variables of two tokens. Returns whether the tokens are equal then.
    pub(crate) fn pair_tokens(&mut self, a: Token, b: Token) -> bool {
        a.shape() == b.shape()
            && match (a.local(), b.local()) {
                (Some(a), Some(b)) => self.pair(a.kind, a.id, b.id),
                _ => true,
            }
    }

    /// The partner of an id of the left function.
    pub(crate) fn right(&self, kind: usize, left_id: u32) -> Option<u32> {
        self.left.get(kind)?.get(left_id as usize)?.checked_sub(1)
    }

    /// The partner of an id of the right function.
    pub(crate) fn left(&self, kind: usize, right_id: u32) -> Option<u32> {
        self.right.get(kind)?.get(right_id as usize)?.checked_sub(1)
    }

    /// All pairs of a kind, in the order of the left function.
    pub(crate) fn pairs(&self, kind: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        let partners = self.left.get(kind).map_or(&[][..], |ids| ids);
        (0..)
            .zip(partners)
            .filter_map(|(left, right)| Some((left, right.checked_sub(1)?)))
    }

    /// Whether two statements are equal.
    pub(crate) fn equal(&self, a: &[Token], b: &[Token]) -> bool {
        a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| {
                a.shape() == b.shape()
                    && match (a.local(), b.local()) {
                        (Some(a), Some(b)) => self.right(a.kind, a.id) == Some(b.id),
                        _ => true,
                    }
            })
    }

    /// The relation that makes all of the code of two functions equal; `None` if there is none.
    pub(crate) fn of_equal_code(a: &Code, b: &Code) -> Option<Self> {
        let mut pairing = Self::default();
        let has_equal_shapes = a.entries.len() == b.entries.len()
            && a.entries
                .iter()
                .zip(&b.entries)
                .all(|(a, b)| a.shape == b.shape);
        let (left, right) = (a.all_tokens(), b.all_tokens());
        let is_equal = has_equal_shapes
            && left.len() == right.len()
            && left
                .iter()
                .zip(right)
                .all(|(a, b)| pairing.pair_tokens(*a, *b));
        is_equal.then_some(pairing)
    }

    /// The relation that agrees with the most mentions in aligned statements. The pairs of the first alignment have precedence over those of the
    /// second one.
    pub(crate) fn of_most_mentions(a: &Code, b: &Code, alignments: [&[(u32, u32)]; 2]) -> Self {
        let mut pairing = Self::default();
        let (left_order, right_order) = (MentionOrder::new(a), MentionOrder::new(b));
        for alignment in alignments {
            let mut votes: Vec<(Local, Local)> = Vec::new();
            for &(i, j) in alignment {
                let tokens = a.tokens(i as usize).iter().zip(b.tokens(j as usize));
                votes.extend(tokens.filter_map(|(a, b)| a.local().zip(b.local())));
            }
            votes.sort_unstable();
            let mut counts: Vec<(usize, Local, Local)> = votes
                .chunk_by(|p, q| p == q)
                .filter_map(|equal| {
                    let (left, right) = *equal.first()?;
                    Some((equal.len(), left, right))
                })
                .collect();
            // Ids are not in the order of the text in an edited function.
            let rank = |left: Local, right: Local| {
                (left.kind, left_order.rank(left), right_order.rank(right))
            };
            counts.sort_by(|p, q| {
                q.0.cmp(&p.0)
                    .then_with(|| rank(p.1, p.2).cmp(&rank(q.1, q.2)))
            });
            for (_, left, right) in counts {
                pairing.pair(left.kind, left.id, right.id);
            }
        }
        pairing
    }

    /// Hashes of the statements of both functions. Equal statements have equal hashes.
    pub(crate) fn keys(&self, a: &Code, b: &Code) -> (Vec<u64>, Vec<u64>) {
        let left = statement_hashes(a, |local| match self.right(local.kind, local.id) {
            Some(_) => (Kind::Paired, local.id),
            None => (Kind::Unpaired, local.id << 1),
        });
        let right = statement_hashes(b, |local| match self.left(local.kind, local.id) {
            Some(left_id) => (Kind::Paired, left_id),
            None => (Kind::Unpaired, local.id << 1 | 1),
        });
        (left, right)
    }
}

/// The order in which the code of a function mentions its registers, labels and variables.
struct MentionOrder {
    /// For each kind and id, the number of the first mention; 0 without mentions.
    ranks: [Vec<u32>; LOCAL_KINDS],
}

impl MentionOrder {
    fn new(code: &Code) -> Self {
        let mut ranks: [Vec<u32>; LOCAL_KINDS] = Default::default();
        let mut count = 0;
        for local in code.all_tokens().iter().filter_map(|token| token.local()) {
            if let Some(rank) = ranks
                .get_mut(local.kind)
                .and_then(|ids| slot(ids, local.id))
                && *rank == 0
            {
                count += 1;
                *rank = count;
            }
        }
        Self { ranks }
    }

    fn rank(&self, local: Local) -> u32 {
        self.ranks
            .get(local.kind)
            .and_then(|ids| ids.get(local.id as usize))
            .copied()
            .unwrap_or(0)
    }
}

/// Hashes of the statements of a function, with the ids of registers, labels and variables replaced by `rename`.
fn statement_hashes(code: &Code, rename: impl Fn(Local) -> (Kind, u32)) -> Vec<u64> {
    (0..code.entries.len())
        .map(|entry| {
            code.tokens(entry)
                .iter()
                .fold(0, |hash, token| match token.local() {
                    Some(local) => {
                        let (kind, number) = rename(local);
                        mix(
                            mix(hash, token.shape()),
                            token.with_number(kind, number).bits(),
                        )
                    }
                    None => mix(hash, token.bits()),
                })
        })
        .collect()
}
