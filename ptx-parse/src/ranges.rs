//! Declared ranges such as `%r<100>`: one entry each, found by prefix and number.

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

#[derive(Clone, Debug)]
pub(crate) struct Range {
    key: u64,
    /// The name before the number.
    pub(crate) name: NameId,
    pub(crate) kind: RangeKind,
    pub(crate) count: u32,
    pub(crate) depth: u32,
    /// The id given to each number mentioned, + 1.
    ids: Vec<u32>,
    /// Ids of numbers too large for `ids`.
    sparse: BTreeMap<u32, u32>,
    /// Whether a plain name may be spelled like a member, and has to be looked up first.
    pub(crate) ambiguous: bool,
    /// The range with the same key in an outer scope, + 1.
    outer: u32,
    /// The nearest of them with more members, + 1; and a more distant one that such steps lead to, + 1.
    larger: u32,
    jump: u32,
    /// The number of such steps outward, this range included.
    steps: u32,
}

/// Numbers below this index a table; larger ones do so only where the table is half full.
const DENSE: u32 = 1 << 12;

/// The ranges of the open scopes.
#[derive(Default)]
pub(crate) struct Ranges {
    /// The ranges of inner scopes come last.
    all: Vec<Range>,
    /// By key: the innermost range, + 1.
    by_key: BTreeMap<u64, u32>,
    /// By hash of the key: a range, + 1. A hint, checked against the range.
    hints: [u16; 32],
    /// Tables of closed ranges, for reuse.
    spare: Vec<Vec<u32>>,
    /// The number of open ranges with a prefix that is too long for an exact key.
    long: u32,
}

/// Prefixes up to this length have an exact key.
pub(crate) const EXACT_KEY_LEN: usize = 7;

/// The prefix of a range as one word: its bytes if there are at most seven, else a hash. The length
/// is in the top byte.
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
    let step = |h: u64, word: u64| (h.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let words = prefix.chunks_exact(8);
    let rest = words.remainder();
    let words = words.map(|w| u64::from_le_bytes(w.try_into().unwrap_or_default()));
    let rest = rest
        .iter()
        .fold(rest.len() as u64, |w, &b| w << 8 | b as u64);
    words.chain([rest]).fold(0, step) | 0xFF << 56
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
        self.all.len()
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
        let index = self.all.len() as u32 + 1;
        let outer = self.by_key.insert(key, index).unwrap_or(0);
        let larger = self.first_with(outer, count);
        let (jump, steps) = self.jump_over(larger);
        self.all.push(Range {
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
        self.long += u32::from(is_long(key));
        self.hints[slot(key)] = self.all.len().min(u16::MAX as usize) as u16;
    }

    /// Removes the ranges declared since there were `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        if self.all.len() <= len {
            return;
        }
        while self.all.len() > len {
            let Some(mut range) = self.all.pop() else {
                break;
            };
            self.long -= u32::from(is_long(range.key));
            self.by_key.insert(range.key, range.outer);
            range.ids.clear();
            self.spare.push(range.ids);
        }
        self.hints = [0; 32];
    }

    /// A plain name is spelled like a member of the ranges with this key.
    pub(crate) fn mark_ambiguous(&mut self, key: u64) {
        let mut next = self.by_key.get(&key).copied().unwrap_or(0);
        while let Some(range) = self.all.get_mut((next as usize).wrapping_sub(1)) {
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
        self.long > 0
    }

    /// The innermost range with this short key, if it is the last one found in its slot.
    #[inline(always)]
    pub(crate) fn find_recent(&self, key: u64) -> Option<usize> {
        let index = (self.hints[slot(key)] as usize).wrapping_sub(1);
        (self.all.get(index)?.key == key).then_some(index)
    }

    /// The innermost range with this key. A long prefix has to be compared as well.
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

    /// The ranges with the key of range `index`, from it outward, that have a member with this number.
    pub(crate) fn with_member(
        &self,
        index: usize,
        number: u32,
    ) -> impl Iterator<Item = usize> + '_ {
        let first = self.first_with(index as u32 + 1, number);
        let first = (first as usize).checked_sub(1);
        core::iter::successors(first, |&i| {
            (self.all.get(i)?.larger as usize).checked_sub(1)
        })
    }

    /// The range at `at`, + 1, or 0.
    fn numbered(&self, at: u32) -> Option<&Range> {
        self.all.get((at as usize).wrapping_sub(1))
    }

    /// The first range from `at` on, by steps to larger ones, with more than `number` members; logarithmic.
    fn first_with(&self, mut at: u32, number: u32) -> u32 {
        while let Some(range) = self.numbered(at).filter(|r| r.count <= number) {
            let jump = self.numbered(range.jump);
            at = if jump.is_some_and(|r| r.count <= number) {
                range.jump
            } else {
                range.larger
            };
        }
        at
    }

    /// The jump of a range whose next larger one is at `larger`: twice as far as that of `larger`, where its jump and the
    /// next one are of the same length. And the number of its steps.
    fn jump_over(&self, larger: u32) -> (u32, u32) {
        let of = |at: u32| self.numbered(at).map_or((0, 0), |r| (r.jump, r.steps));
        let (first, steps) = of(larger);
        let (second, after_first) = of(first);
        let (_, after_second) = of(second);
        let same = steps - after_first == after_first - after_second;
        (if same { second } else { larger }, steps + 1)
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> &Range {
        &self.all[index]
    }

    /// The id of a member of a range; `make` gives one at its first mention.
    #[inline(always)]
    pub(crate) fn member(
        &mut self,
        index: usize,
        number: u32,
        make: impl FnOnce(RangeKind) -> u32,
    ) -> (RangeKind, u32) {
        let range = &mut self.all[index];
        if let Some(&id) = range.ids.get(number as usize)
            && id != 0
        {
            return (range.kind, id - 1);
        }
        Self::new_member(range, number, make)
    }

    #[inline(never)]
    fn new_member(
        range: &mut Range,
        number: u32,
        make: impl FnOnce(RangeKind) -> u32,
    ) -> (RangeKind, u32) {
        if let Some(&id) = range.sparse.get(&number) {
            return (range.kind, id);
        }
        let is_dense = number < DENSE || (number as usize) < range.ids.len() * 2;
        let id = make(range.kind);
        if is_dense {
            if number as usize >= range.ids.len() {
                let len = (number as usize + 1).next_power_of_two();
                let len = len.max(range.count.min(64) as usize);
                range.ids.resize(len, 0);
            }
            range.ids[number as usize] = id + 1;
        } else {
            range.sparse.insert(number, id);
        }
        (range.kind, id)
    }
}
