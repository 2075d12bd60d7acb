//! Declared ranges such as `%r<100>`. Each range is one entry, which is found by its prefix.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use ptx_ir::{NameId, RegDeclId, SymbolId, VarId};

/// The kind of the members of a range.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum RangeKind {
    Reg(RegDeclId),
    /// The first variable of the range, which has its name, space and scope.
    Var(VarId),
    Symbol(SymbolId),
}

/// A range of names in an open scope.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    /// The [`prefix_key`] of the name.
    key: u64,
    /// The name before the number.
    pub(crate) name: NameId,
    pub(crate) kind: RangeKind,
    pub(crate) count: u32,
    /// The depth of the scope.
    pub(crate) depth: u32,
    /// The id of each mentioned number, + 1; 0 for other numbers.
    ids: Vec<u32>,
    /// The ids of numbers that are too large for `ids`.
    sparse: BTreeMap<u32, u32>,
    /// Whether a plain name may be spelled like a member, and has to be looked up first.
    pub(crate) ambiguous: bool,
    /// The range with the same key in an outer scope, + 1.
    outer: u32,
    /// The nearest range in an outer scope with the same key and more members, + 1.
    larger: u32,
    /// A range that several steps along `larger` lead to, + 1. With jumps, a search takes a logarithmic number of steps.
    jump: u32,
    /// The number of steps along `larger` that lead out of the outermost range.
    steps: u32,
}

/// Smaller numbers are in the table `ids`. Larger ones are in the table only if it is at least half as long.
const DENSE: u32 = 1 << 12;

/// The ranges of the open scopes.
#[derive(Default)]
pub(crate) struct Ranges {
    /// All ranges. Those of inner scopes come last.
    ranges: Vec<Range>,
    /// The innermost range with each key, + 1.
    by_key: BTreeMap<u64, u32>,
    /// A direct-mapped cache by the hash of the key: a range, + 1, whose key has to be compared.
    hints: [u16; 32],
    /// Empty tables of closed ranges, for reuse.
    spare: Vec<Vec<u32>>,
    /// The number of open ranges with a prefix that is too long for an exact key.
    long_prefixes: u32,
}

/// Prefixes up to this length have an exact key.
pub(crate) const EXACT_KEY_LEN: usize = 7;

/// The prefix of a range as one word. A prefix of at most seven bytes is in the low bytes, and its length in the top byte. The
/// key of a longer prefix is a hash with 0xFF in the top byte.
#[inline(always)]
pub(crate) fn prefix_key(src: &[u8], start: usize, len: usize) -> u64 {
    if len > EXACT_KEY_LEN {
        return long_key(&src[start..start + len]);
    }
    let word = match src.get(start..).and_then(|s| s.first_chunk::<8>()) {
        Some(chunk) => u64::from_le_bytes(*chunk) & ((1 << (8 * len)) - 1),
        None => src[start..start + len]
            .iter()
            .rev()
            .fold(0, |word, &b| word << 8 | b as u64),
    };
    word | (len as u64) << 56
}

#[inline(never)]
fn long_key(prefix: &[u8]) -> u64 {
    let chunks = prefix.chunks_exact(8);
    let remainder = chunks.remainder();
    let last_word = remainder
        .iter()
        .fold(remainder.len() as u64, |word, &b| word << 8 | b as u64);
    let hash = chunks
        .map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap_or_default()))
        .chain([last_word])
        .fold(0u64, |hash, word| {
            (hash.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
    hash | 0xFF << 56
}

const fn is_long(key: u64) -> bool {
    key >> 56 == 0xFF
}

#[inline(always)]
fn slot(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 59) as usize
}

impl Ranges {
    pub(crate) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Declares a range in the scope at `depth`.
    pub(crate) fn declare(
        &mut self,
        key: u64,
        name: NameId,
        kind: RangeKind,
        count: u32,
        depth: u32,
        ambiguous: bool,
    ) {
        let ids = self.spare.pop().unwrap_or_default();
        let number = self.ranges.len() as u32 + 1;
        let outer = self.by_key.insert(key, number).unwrap_or(0);
        let larger = self.first_larger(outer, count);
        let (jump, steps) = self.jump_over(larger);
        self.ranges.push(Range {
            key,
            name,
            kind,
            count,
            depth,
            ids,
            sparse: BTreeMap::new(),
            ambiguous,
            outer,
            larger,
            jump,
            steps,
        });
        self.long_prefixes += u32::from(is_long(key));
        self.hints[slot(key)] = self.ranges.len().min(u16::MAX as usize) as u16;
    }

    /// Removes the ranges declared since there were `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        if self.ranges.len() <= len {
            return;
        }
        while self.ranges.len() > len {
            let Some(mut range) = self.ranges.pop() else {
                break;
            };
            self.long_prefixes -= u32::from(is_long(range.key));
            self.by_key.insert(range.key, range.outer);
            range.ids.clear();
            self.spare.push(range.ids);
        }
        self.hints = [0; 32];
    }

    /// Marks the ranges with this key, since a plain name is spelled like a member of them.
    pub(crate) fn mark_ambiguous(&mut self, key: u64) {
        let mut next = self.by_key.get(&key).copied().unwrap_or(0);
        while let Some(range) = self.ranges.get_mut((next as usize).wrapping_sub(1)) {
            if range.ambiguous {
                break;
            }
            range.ambiguous = true;
            next = range.outer;
        }
    }

    /// Whether a range with a long prefix is open.
    #[inline(always)]
    pub(crate) fn has_long_prefixes(&self) -> bool {
        self.long_prefixes > 0
    }

    /// The innermost range with this key, if it is in the cache.
    #[inline(always)]
    pub(crate) fn find_recent(&self, key: u64) -> Option<usize> {
        let index = (self.hints[slot(key)] as usize).wrapping_sub(1);
        (self.ranges.get(index)?.key == key).then_some(index)
    }

    /// The innermost range with this key. The caller has to compare a long prefix as well.
    #[inline(always)]
    pub(crate) fn find(&mut self, key: u64) -> Option<usize> {
        match self.find_recent(key) {
            Some(index) => Some(index),
            None => self.search(key),
        }
    }

    #[inline(never)]
    fn search(&mut self, key: u64) -> Option<usize> {
        let index = (*self.by_key.get(&key)? as usize).checked_sub(1)?;
        self.hints[slot(key)] = (index + 1).min(u16::MAX as usize) as u16;
        Some(index)
    }

    /// The ranges with the key of range `index` that have a member with this number, from that range outward.
    pub(crate) fn with_member(
        &self,
        index: usize,
        number: u32,
    ) -> impl Iterator<Item = usize> + '_ {
        let first = self.first_larger(index as u32 + 1, number);
        core::iter::successors((first as usize).checked_sub(1), |&i| {
            (self.ranges.get(i)?.larger as usize).checked_sub(1)
        })
    }

    /// The range whose index + 1 is `position`; none for 0.
    fn at_position(&self, position: u32) -> Option<&Range> {
        self.ranges.get((position as usize).wrapping_sub(1))
    }

    /// The first range with more than `count` members on the way along `larger` from `position` on, + 1, or 0. The cost is
    /// logarithmic in the number of ranges.
    fn first_larger(&self, mut position: u32, count: u32) -> u32 {
        while let Some(range) = self.at_position(position).filter(|r| r.count <= count) {
            let jump = self.at_position(range.jump);
            position = if jump.is_some_and(|r| r.count <= count) {
                range.jump
            } else {
                range.larger
            };
        }
        position
    }

    /// The fields `jump` and `steps` of a new range whose next larger one is `larger`. The jump is a step to `larger`, or skips
    /// the jump of `larger` and the jump after that if both have the same length, as in a skew-binary skip list.
    fn jump_over(&self, larger: u32) -> (u32, u32) {
        let jump_and_steps = |position: u32| {
            let range = self.at_position(position);
            range.map_or((0, 0), |range| (range.jump, range.steps))
        };
        let (first_jump, steps) = jump_and_steps(larger);
        let (second_jump, steps_after_first) = jump_and_steps(first_jump);
        let (_, steps_after_second) = jump_and_steps(second_jump);
        let have_same_length = steps - steps_after_first == steps_after_first - steps_after_second;
        let jump = if have_same_length {
            second_jump
        } else {
            larger
        };
        (jump, steps + 1)
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> &Range {
        &self.ranges[index]
    }

    /// The kind of a range and the id of its member `number`. `create` creates the member at its first mention.
    #[inline(always)]
    pub(crate) fn member(
        &mut self,
        index: usize,
        number: u32,
        create: impl FnOnce(RangeKind) -> u32,
    ) -> (RangeKind, u32) {
        let range = &mut self.ranges[index];
        if let Some(&id) = range.ids.get(number as usize)
            && id != 0
        {
            return (range.kind, id - 1);
        }
        Self::new_member(range, number, create)
    }

    #[inline(never)]
    fn new_member(
        range: &mut Range,
        number: u32,
        create: impl FnOnce(RangeKind) -> u32,
    ) -> (RangeKind, u32) {
        if let Some(&id) = range.sparse.get(&number) {
            return (range.kind, id);
        }
        let is_dense = number < DENSE || (number as usize) < range.ids.len() * 2;
        let id = create(range.kind);
        if is_dense {
            if number as usize >= range.ids.len() {
                let len = (number as usize + 1).next_power_of_two();
                let min_len = range.count.min(64) as usize;
                range.ids.resize(len.max(min_len), 0);
            }
            range.ids[number as usize] = id + 1;
        } else {
            range.sparse.insert(number, id);
        }
        (range.kind, id)
    }
}
