//! Sets of small numbers that share the parts they have in common.
//!
//! All sets live in one [`SharedSets`]; a set is a [`SetId`]. A set is a binary trie whose leaves are 64-bit words, and
//! no operation changes a node: `union` and `update` reuse every subtree that they do not change. A set that differs
//! from another one in `k` numbers therefore takes `O(k log n)` memory, and operations on two such sets take
//! `O(k log n)` time.

use alloc::vec::Vec;

/// A set in a [`SharedSets`]. Equal ids are equal sets; different ids may be equal sets too.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct SetId(u32);

impl SetId {
    /// The empty set.
    pub(crate) const EMPTY: Self = Self(0);
}

/// What [`SharedSets::update`] does to one word of a set: first remove bits, then add bits.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct WordUpdate {
    /// The numbers `64 * word` to `64 * word + 63`.
    pub(crate) word: u32,
    pub(crate) remove: u64,
    pub(crate) add: u64,
}

/// The store of sets of numbers below a common bound.
#[derive(Clone, Debug)]
pub(crate) struct SharedSets {
    /// The words; number 0 is the empty word.
    words: Vec<u64>,
    /// The children of the nodes above the words; node 0 is the empty subtree of any height.
    nodes: Vec<[u32; 2]>,
    /// The number of levels of nodes above the words.
    height: u32,
}

impl SharedSets {
    /// A store for sets of the numbers `0..bound`.
    pub(crate) fn new(bound: u32) -> Self {
        let words = bound.div_ceil(64).max(1);
        Self {
            words: vec![0],
            nodes: vec![[0, 0]],
            height: words.next_power_of_two().trailing_zeros(),
        }
    }

    /// Whether `item` is in `set`.
    pub(crate) fn contains(&self, set: SetId, item: u32) -> bool {
        let word = item / 64;
        if word >> self.height != 0 {
            return false;
        }
        let mut at = set.0;
        for level in (0..self.height).rev() {
            at = self.children(at)[(word >> level & 1) as usize];
        }
        self.word(at) >> (item % 64) & 1 == 1
    }

    /// The numbers in both or in either; `a` itself if `b` adds nothing.
    pub(crate) fn union(&mut self, a: SetId, b: SetId) -> SetId {
        SetId(self.union_at(a.0, b.0, self.height))
    }

    fn union_at(&mut self, a: u32, b: u32, height: u32) -> u32 {
        if a == b || b == 0 {
            return a;
        }
        if a == 0 {
            return b;
        }
        if height == 0 {
            let (mine, theirs) = (self.word(a), self.word(b));
            return match mine | theirs {
                both if both == mine => a,
                both if both == theirs => b,
                both => push(&mut self.words, both),
            };
        }
        let (mine, theirs) = (self.children(a), self.children(b));
        let left = self.union_at(mine[0], theirs[0], height - 1);
        let right = self.union_at(mine[1], theirs[1], height - 1);
        match [left, right] {
            both if both == mine => a,
            both if both == theirs => b,
            both => push(&mut self.nodes, both),
        }
    }

    /// `set` with some words changed; `set` itself if nothing changes. `updates` are in ascending order of words, each
    /// word at most once.
    pub(crate) fn update(&mut self, set: SetId, updates: &[WordUpdate]) -> SetId {
        SetId(self.update_at(set.0, updates, self.height, 0))
    }

    fn update_at(&mut self, at: u32, updates: &[WordUpdate], height: u32, first: u32) -> u32 {
        let Some(update) = updates.first() else {
            return at;
        };
        if height == 0 {
            let old = self.word(at);
            return match old & !update.remove | update.add {
                0 => 0,
                new if new == old => at,
                new => push(&mut self.words, new),
            };
        }
        let middle = first + (1 << (height - 1));
        let (low, high) = updates.split_at(updates.partition_point(|u| u.word < middle));
        let old = self.children(at);
        let left = self.update_at(old[0], low, height - 1, first);
        let right = self.update_at(old[1], high, height - 1, middle);
        match [left, right] {
            [0, 0] => 0,
            new if new == old => at,
            new => push(&mut self.nodes, new),
        }
    }

    /// The numbers in `set`, ascending.
    pub(crate) fn iter(&self, set: SetId) -> Iter<'_> {
        let mut pending = Pending {
            subtrees: [Subtree::default(); MAX_HEIGHT + 1],
            len: 0,
        };
        pending.push(Subtree {
            at: set.0,
            height: self.height,
            word: 0,
        });
        Iter {
            sets: self,
            pending,
            bits: Bits::default(),
        }
    }

    /// The numbers in `set` but for those in subtrees that were visited before, which are skipped.
    pub(crate) fn iter_unvisited<'a>(
        &'a self,
        set: SetId,
        visited: &'a mut Visited,
    ) -> IterUnvisited<'a> {
        IterUnvisited {
            iter: self.iter(set),
            visited,
        }
    }

    fn children(&self, at: u32) -> [u32; 2] {
        self.nodes.get(at as usize).copied().unwrap_or([0, 0])
    }

    fn word(&self, at: u32) -> u64 {
        self.words.get(at as usize).copied().unwrap_or(0)
    }
}

fn push<T>(list: &mut Vec<T>, item: T) -> u32 {
    list.push(item);
    (list.len() - 1) as u32
}

/// Words have 26-bit numbers.
const MAX_HEIGHT: usize = 26;

/// A subtree and the number of its first word.
#[derive(Copy, Clone, Default, Debug)]
struct Subtree {
    at: u32,
    height: u32,
    word: u32,
}

/// Subtrees still to be visited, the next one last; at most one of each height.
#[derive(Clone, Debug)]
struct Pending {
    subtrees: [Subtree; MAX_HEIGHT + 1],
    len: usize,
}

impl Pending {
    fn push(&mut self, subtree: Subtree) {
        if subtree.at != 0
            && let Some(slot) = self.subtrees.get_mut(self.len)
        {
            *slot = subtree;
            self.len += 1;
        }
    }

    /// The next word that is not empty and the number of its first bit. Subtrees for which `skip` holds are left out.
    fn next_word(
        &mut self,
        sets: &SharedSets,
        mut skip: impl FnMut(Subtree) -> bool,
    ) -> Option<(u64, u32)> {
        loop {
            self.len = self.len.checked_sub(1)?;
            let subtree = *self.subtrees.get(self.len)?;
            if skip(subtree) {
                continue;
            }
            let Subtree { at, height, word } = subtree;
            let Some(height) = height.checked_sub(1) else {
                return Some((sets.word(at), word * 64));
            };
            let [left, right] = sets.children(at);
            let middle = word + (1 << height);
            self.push(Subtree {
                at: right,
                height,
                word: middle,
            });
            self.push(Subtree {
                at: left,
                height,
                word,
            });
        }
    }
}

/// The numbers in a set, ascending; see [`SharedSets::iter`].
#[derive(Clone, Debug)]
pub(crate) struct Iter<'a> {
    sets: &'a SharedSets,
    pending: Pending,
    bits: Bits,
}

impl Iterator for Iter<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(item) = self.bits.next() {
                return Some(item);
            }
            let (word, first) = self.pending.next_word(self.sets, |_| false)?;
            self.bits = Bits { word, first };
        }
    }
}

/// The subtrees that were visited since the last [`Visited::clear`].
#[derive(Clone, Debug)]
pub(crate) struct Visited {
    round: u32,
    words: Vec<u32>,
    nodes: Vec<u32>,
}

impl Visited {
    /// Nothing is visited. The store must not grow while this is used.
    pub(crate) fn new(sets: &SharedSets) -> Self {
        Self {
            round: 1,
            words: vec![0; sets.words.len()],
            nodes: vec![0; sets.nodes.len()],
        }
    }

    /// Forgets all visits.
    pub(crate) fn clear(&mut self) {
        self.round += 1;
    }

    /// Marks a subtree; returns whether it was marked before.
    fn mark(&mut self, subtree: Subtree) -> bool {
        let marks = match subtree.height {
            0 => &mut self.words,
            _ => &mut self.nodes,
        };
        let mark = marks.get_mut(subtree.at as usize);
        mark.is_some_and(|mark| core::mem::replace(mark, self.round) == self.round)
    }
}

/// The numbers in subtrees not visited before; see [`SharedSets::iter_unvisited`].
pub(crate) struct IterUnvisited<'a> {
    iter: Iter<'a>,
    visited: &'a mut Visited,
}

impl Iterator for IterUnvisited<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(item) = self.iter.bits.next() {
                return Some(item);
            }
            let visited = &mut *self.visited;
            let next = self
                .iter
                .pending
                .next_word(self.iter.sets, |s| visited.mark(s));
            let (word, first) = next?;
            self.iter.bits = Bits { word, first };
        }
    }
}

/// The numbers of the bits of a word.
#[derive(Copy, Clone, Default, Debug)]
struct Bits {
    word: u64,
    /// The number of the lowest bit.
    first: u32,
}

impl Iterator for Bits {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let bit = (self.word != 0).then(|| self.word.trailing_zeros())?;
        self.word &= self.word - 1;
        Some(self.first + bit)
    }
}

/// Appends the updates that remove some numbers and then add others, in ascending order of words.
pub(crate) fn push_updates(
    updates: &mut Vec<WordUpdate>,
    add: impl Iterator<Item = u32>,
    remove: impl Iterator<Item = u32>,
) {
    let first = updates.len();
    let bit = |item: u32| 1 << (item % 64);
    updates.extend(remove.map(|item| WordUpdate {
        word: item / 64,
        remove: bit(item),
        add: 0,
    }));
    updates.extend(add.map(|item| WordUpdate {
        word: item / 64,
        remove: 0,
        add: bit(item),
    }));
    let Some(mine) = updates.get_mut(first..) else {
        return;
    };
    mine.sort_unstable_by_key(|u| u.word);
    // One update for each word.
    let mut last = 0;
    for at in 1..mine.len() {
        let next = mine[at];
        if mine[last].word == next.word {
            mine[last].remove |= next.remove;
            mine[last].add |= next.add;
        } else {
            last += 1;
            mine[last] = next;
        }
    }
    let len = mine.len().min(last + 1);
    updates.truncate(first + len);
}

/// Counts the numbers of sets by class. The counts of a subtree are computed once, however many sets share it.
#[derive(Clone, Debug)]
pub(crate) struct Counts<'a, const N: usize> {
    sets: &'a SharedSets,
    /// The class of each number; 0 for those not listed.
    classes: &'a [u8],
    words: Vec<Option<[u32; N]>>,
    nodes: Vec<Option<[u32; N]>>,
}

impl<'a, const N: usize> Counts<'a, N> {
    /// `classes` holds the class of each number, below `N`.
    pub(crate) fn new(sets: &'a SharedSets, classes: &'a [u8]) -> Self {
        Self {
            sets,
            classes,
            words: vec![None; sets.words.len()],
            nodes: vec![None; sets.nodes.len()],
        }
    }

    /// How many numbers of each class are in `set`.
    pub(crate) fn of(&mut self, set: SetId) -> [u32; N] {
        self.of_subtree(set.0, self.sets.height, 0)
    }

    fn of_subtree(&mut self, at: u32, height: u32, word: u32) -> [u32; N] {
        if at == 0 {
            return [0; N];
        }
        let known = match height {
            0 => self.words.get(at as usize),
            _ => self.nodes.get(at as usize),
        };
        if let Some(&Some(counts)) = known {
            return counts;
        }
        let counts = match height {
            0 => self.of_word(self.sets.word(at), word * 64),
            _ => {
                let [left, right] = self.sets.children(at);
                let middle = word + (1 << (height - 1));
                let mut counts = self.of_subtree(left, height - 1, word);
                let others = self.of_subtree(right, height - 1, middle);
                counts.iter_mut().zip(others).for_each(|(a, b)| *a += b);
                counts
            }
        };
        let memo = match height {
            0 => self.words.get_mut(at as usize),
            _ => self.nodes.get_mut(at as usize),
        };
        if let Some(memo) = memo {
            *memo = Some(counts);
        }
        counts
    }

    fn of_word(&self, word: u64, first: u32) -> [u32; N] {
        let mut counts = [0; N];
        for item in (Bits { word, first }) {
            let class = self.classes.get(item as usize).copied().unwrap_or(0);
            if let Some(count) = counts.get_mut(usize::from(class)) {
                *count += 1;
            }
        }
        counts
    }
}
