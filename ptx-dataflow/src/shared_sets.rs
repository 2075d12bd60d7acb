//! Persistent sets of small numbers, which share equal parts.
//!
//! A [`SharedSets`] stores many sets; a [`SetId`] is one of them. A set is a binary trie whose leaves are 64-bit words. Nodes never
//! change: `union` and `update` reuse every subtree that they do not change. A set that differs
//! from another one in `k` numbers therefore takes `O(k log n)` memory, and operations on two such sets take
//! `O(k log n)` time.
//!
//! ```text
//!        node            set with the words w0, w1, w2 and w3
//!       /    \
//!    node    node        a second set that differs in w3 has a new root, a new
//!    /  \    /  \        node above w2 and w3, and a new w3; it shares the rest
//!   w0  w1  w2  w3
//! ```

use alloc::vec::Vec;

/// A set in a [`SharedSets`]. Equal ids are equal sets; different ids may be equal sets too.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct SetId(u32);

impl SetId {
    /// The empty set.
    pub(crate) const EMPTY: Self = Self(0);
}

/// A change of one word of a set: first bits are removed, then bits are added.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct WordUpdate {
    /// The index of the word, which has the numbers `64 * word` to `64 * word + 63`.
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
    /// Creates a store for sets of the numbers `0..bound`.
    pub(crate) fn new(bound: u32) -> Self {
        let words = bound.div_ceil(64).max(1);
        Self {
            words: vec![0],
            nodes: vec![[0, 0]],
            height: words.next_power_of_two().trailing_zeros(),
        }
    }

    /// Returns whether `item` is in `set`.
    pub(crate) fn contains(&self, set: SetId, item: u32) -> bool {
        let word = item / 64;
        if word >> self.height != 0 {
            return false;
        }
        let mut subtree = set.0;
        for level in (0..self.height).rev() {
            subtree = self.children(subtree)[(word >> level & 1) as usize];
        }
        self.word(subtree) >> (item % 64) & 1 == 1
    }

    /// The union of two sets; `a` itself if `b` is a subset of it.
    pub(crate) fn union(&mut self, a: SetId, b: SetId) -> SetId {
        SetId(self.union_subtrees(a.0, b.0, self.height))
    }

    fn union_subtrees(&mut self, a: u32, b: u32, height: u32) -> u32 {
        if a == b || b == 0 {
            return a;
        }
        if a == 0 {
            return b;
        }
        if height == 0 {
            let (a_word, b_word) = (self.word(a), self.word(b));
            return match a_word | b_word {
                union if union == a_word => a,
                union if union == b_word => b,
                union => push(&mut self.words, union),
            };
        }
        let (a_children, b_children) = (self.children(a), self.children(b));
        let left = self.union_subtrees(a_children[0], b_children[0], height - 1);
        let right = self.union_subtrees(a_children[1], b_children[1], height - 1);
        match [left, right] {
            union if union == a_children => a,
            union if union == b_children => b,
            union => push(&mut self.nodes, union),
        }
    }

    /// Returns `set` with some words changed; `set` itself if nothing changes. `updates` are in ascending order of words, each
    /// word at most once.
    pub(crate) fn update(&mut self, set: SetId, updates: &[WordUpdate]) -> SetId {
        SetId(self.update_subtree(set.0, updates, self.height, 0))
    }

    /// Updates the subtree `subtree`, whose first word has the index `first_word`.
    fn update_subtree(
        &mut self,
        subtree: u32,
        updates: &[WordUpdate],
        height: u32,
        first_word: u32,
    ) -> u32 {
        let Some(update) = updates.first() else {
            return subtree;
        };
        if height == 0 {
            let old = self.word(subtree);
            return match old & !update.remove | update.add {
                0 => 0,
                new if new == old => subtree,
                new => push(&mut self.words, new),
            };
        }
        let middle = first_word + (1 << (height - 1));
        let (low, high) = updates.split_at(updates.partition_point(|u| u.word < middle));
        let old = self.children(subtree);
        let left = self.update_subtree(old[0], low, height - 1, first_word);
        let right = self.update_subtree(old[1], high, height - 1, middle);
        match [left, right] {
            [0, 0] => 0,
            new if new == old => subtree,
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
            id: set.0,
            height: self.height,
            first_word: 0,
        });
        Iter {
            sets: self,
            pending,
            bits: Bits::default(),
        }
    }

    /// The numbers in `set`, without the subtrees that were visited before.
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

    fn children(&self, node: u32) -> [u32; 2] {
        self.nodes.get(node as usize).copied().unwrap_or([0, 0])
    }

    fn word(&self, leaf: u32) -> u64 {
        self.words.get(leaf as usize).copied().unwrap_or(0)
    }
}

/// Appends an item and returns its index.
fn push<T>(list: &mut Vec<T>, item: T) -> u32 {
    list.push(item);
    (list.len() - 1) as u32
}

/// The maximum height of a trie: the indices of words have 26 bits.
const MAX_HEIGHT: usize = 26;

/// A subtree of a set.
#[derive(Copy, Clone, Default, Debug)]
struct Subtree {
    /// The index of the node, or of the word if `height` is 0.
    id: u32,
    height: u32,
    /// The index of its first word in the set.
    first_word: u32,
}

/// A stack of subtrees that are not visited yet; at most one of each height.
#[derive(Clone, Debug)]
struct Pending {
    subtrees: [Subtree; MAX_HEIGHT + 1],
    len: usize,
}

impl Pending {
    fn push(&mut self, subtree: Subtree) {
        if subtree.id != 0
            && let Some(slot) = self.subtrees.get_mut(self.len)
        {
            *slot = subtree;
            self.len += 1;
        }
    }

    /// The next word that is not empty. Subtrees for which `skip` returns `true` are left out.
    fn next_word(
        &mut self,
        sets: &SharedSets,
        mut skip: impl FnMut(Subtree) -> bool,
    ) -> Option<Bits> {
        loop {
            self.len = self.len.checked_sub(1)?;
            let subtree = *self.subtrees.get(self.len)?;
            if skip(subtree) {
                continue;
            }
            let Subtree {
                id,
                height,
                first_word,
            } = subtree;
            let Some(height) = height.checked_sub(1) else {
                return Some(Bits {
                    word: sets.word(id),
                    first: first_word * 64,
                });
            };
            let [left, right] = sets.children(id);
            self.push(Subtree {
                id: right,
                height,
                first_word: first_word + (1 << height),
            });
            self.push(Subtree {
                id: left,
                height,
                first_word,
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
            self.bits = self.pending.next_word(self.sets, |_| false)?;
        }
    }
}

/// The subtrees that were visited since the last [`Visited::clear`].
#[derive(Clone, Debug)]
pub(crate) struct Visited {
    round: u32,
    /// The last round in which each word and each node was visited.
    words: Vec<u32>,
    nodes: Vec<u32>,
}

impl Visited {
    /// Creates the marks of a store, which must not grow while they are used. Nothing is visited.
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
        marks
            .get_mut(subtree.id as usize)
            .is_some_and(|mark| core::mem::replace(mark, self.round) == self.round)
    }
}

/// The numbers in subtrees that were not visited before; see [`SharedSets::iter_unvisited`].
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
            self.iter.bits = self
                .iter
                .pending
                .next_word(self.iter.sets, |subtree| visited.mark(subtree))?;
        }
    }
}

/// The numbers in a word.
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
    let first_new = updates.len();
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
    let Some(new_updates) = updates.get_mut(first_new..) else {
        return;
    };
    new_updates.sort_unstable_by_key(|u| u.word);
    // Merges the updates of each word.
    let mut last = 0;
    for index in 1..new_updates.len() {
        let next = new_updates[index];
        if new_updates[last].word == next.word {
            new_updates[last].remove |= next.remove;
            new_updates[last].add |= next.add;
        } else {
            last += 1;
            new_updates[last] = next;
        }
    }
    let len = new_updates.len().min(last + 1);
    updates.truncate(first_new + len);
}

/// Counts the numbers of sets by class. The counts of a subtree are computed once, however many sets share it.
#[derive(Clone, Debug)]
pub(crate) struct Counts<'a, const N: usize> {
    sets: &'a SharedSets,
    /// The class of each number; 0 for numbers without an entry.
    classes: &'a [u8],
    /// The counts of each word and each node, once computed.
    words: Vec<Option<[u32; N]>>,
    nodes: Vec<Option<[u32; N]>>,
}

impl<'a, const N: usize> Counts<'a, N> {
    /// Counts the numbers of sets of a store. `classes` has the class of each number, below `N`.
    pub(crate) fn new(sets: &'a SharedSets, classes: &'a [u8]) -> Self {
        Self {
            sets,
            classes,
            words: vec![None; sets.words.len()],
            nodes: vec![None; sets.nodes.len()],
        }
    }

    /// The number of numbers of each class in `set`.
    pub(crate) fn of(&mut self, set: SetId) -> [u32; N] {
        self.of_subtree(set.0, self.sets.height, 0)
    }

    fn of_subtree(&mut self, subtree: u32, height: u32, first_word: u32) -> [u32; N] {
        if subtree == 0 {
            return [0; N];
        }
        let memo = match height {
            0 => self.words.get(subtree as usize),
            _ => self.nodes.get(subtree as usize),
        };
        if let Some(&Some(counts)) = memo {
            return counts;
        }
        let counts = match height {
            0 => self.of_word(self.sets.word(subtree), first_word * 64),
            _ => {
                let [left, right] = self.sets.children(subtree);
                let middle = first_word + (1 << (height - 1));
                let mut counts = self.of_subtree(left, height - 1, first_word);
                let right_counts = self.of_subtree(right, height - 1, middle);
                for (count, right_count) in counts.iter_mut().zip(right_counts) {
                    *count += right_count;
                }
                counts
            }
        };
        let memo = match height {
            0 => self.words.get_mut(subtree as usize),
            _ => self.nodes.get_mut(subtree as usize),
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
