//! The order of statements after edits: that of their ids, except for those that an edit placed.
//!
//! Every statement has a *key*, and the order is that of the keys. The key of a parsed statement follows from its id and
//! is not stored; only a statement that an edit placed has an entry. The cost of an edit is therefore logarithmic in the
//! number of edits and does not depend on the size of the body.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::entity::EntityId;

/// The distance between the keys of successive parsed statements.
const SPACING: u64 = 1 << 32;

/// The distance at which a statement is placed after another one, if the next key is far enough.
const STEP: u64 = 1 << 16;

/// The position of a statement or an item.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash)]
pub enum Position<K> {
    /// The position at which it was parsed.
    AsParsed,
    /// Placed before all others.
    First,
    /// Placed after this one.
    After(K),
}

/// The order of the statements of a body, or of the items of a module.
#[derive(Clone, Debug)]
pub(crate) struct StatementOrder<K> {
    /// The number of parsed statements; their order is that of their ids unless they were placed.
    read: u32,
    /// The keys of those that were placed.
    keys: BTreeMap<u32, u64>,
    /// The placed statements by their keys.
    placed: BTreeMap<u64, u32>,
    /// The runs of successive parsed statements that were placed elsewhere: from the first of each to its end.
    moved: BTreeMap<u32, u32>,
    id: PhantomData<K>,
}

impl<K: EntityId> StatementOrder<K> {
    pub(crate) const fn new(read: u32) -> Self {
        Self {
            read,
            keys: BTreeMap::new(),
            placed: BTreeMap::new(),
            moved: BTreeMap::new(),
            id: PhantomData,
        }
    }

    /// Whether a statement was parsed, not created by an edit.
    pub(crate) fn was_read(&self, id: K) -> bool {
        (id.index() as u64) < u64::from(self.read)
    }

    /// Whether an edit placed a statement.
    pub(crate) fn is_placed(&self, id: K) -> bool {
        self.keys.contains_key(&(id.index() as u32))
    }

    /// The position of a statement, for [`restore`](Self::restore).
    pub(crate) fn position(&self, id: K) -> Position<K> {
        if !self.is_placed(id) {
            return Position::AsParsed;
        }
        match self.prev_before(self.key(id)) {
            Some(previous) => Position::After(previous),
            None => Position::First,
        }
    }

    /// Puts a statement back to its [position](Self::position). Keys may have changed since then, the order may not.
    pub(crate) fn restore(&mut self, id: K, position: Position<K>) {
        match position {
            Position::AsParsed => self.forget(id),
            Position::First => self.insert_after(id, None),
            Position::After(previous) => self.insert_after(id, Some(previous)),
        }
    }

    /// Whether the order is that of the ids.
    pub(crate) fn is_plain(&self) -> bool {
        self.keys.is_empty()
    }

    /// The key of a statement; all keys are greater than 0.
    pub(crate) fn key(&self, id: K) -> u64 {
        let index = id.index() as u32;
        self.keys
            .get(&index)
            .copied()
            .unwrap_or_else(|| parsed_key(index))
    }

    /// The first statement with a greater key.
    pub(crate) fn next_after(&self, key: u64) -> Option<K> {
        // The key of index `i` is `(i + 1) * SPACING`.
        let candidate = (key / SPACING) as u32;
        let index = self.moved_run(candidate).map_or(candidate, |(_, end)| end);
        let unmoved = (index < self.read).then_some((parsed_key(index), index));
        let placed = self
            .placed
            .range(key.saturating_add(1)..)
            .next()
            .map(|(&key, &index)| (key, index));
        let (_, index) = unmoved.into_iter().chain(placed).min()?;
        Some(K::from_index(index as usize))
    }

    /// The last statement with a smaller key.
    pub(crate) fn prev_before(&self, key: u64) -> Option<K> {
        // The key of index `i` is `(i + 1) * SPACING`.
        let end = (key.saturating_sub(1) / SPACING).min(u64::from(self.read)) as u32;
        let run = end.checked_sub(1).and_then(|last| self.moved_run(last));
        let unmoved_end = run.map_or(end, |(start, _)| start);
        let unmoved = unmoved_end
            .checked_sub(1)
            .map(|index| (parsed_key(index), index));
        let placed = self
            .placed
            .range(..key)
            .next_back()
            .map(|(&key, &index)| (key, index));
        let (_, index) = unmoved.into_iter().chain(placed).max()?;
        Some(K::from_index(index as usize))
    }

    /// The last statement of the sequence from `id` on that is where it was parsed.
    pub(crate) fn unchanged_run(&self, id: K) -> u32 {
        let index = id.index() as u32;
        // The sequence ends at the next statement that was placed into it, and at the next one that was moved out of it.
        let inserted = self.placed.range(self.key(id)..).next();
        let inserted_index = inserted.map_or(self.read, |(&key, _)| (key / SPACING) as u32);
        let moved = self.keys.range(index..self.read.max(index)).next();
        let moved_index = moved.map_or(self.read, |(&index, _)| index);
        inserted_index.min(moved_index).max(index + 1) - 1
    }

    /// Places a statement after another one, or before the first. It may have been placed or parsed before.
    pub(crate) fn insert_after(&mut self, id: K, previous: Option<K>) {
        self.forget(id);
        let mut low = previous.map_or(0, |p| self.key(p));
        let mut high = self.bound(low);
        if high - low < 2 {
            self.renumber(low);
            low = previous.map_or(0, |p| self.key(p));
            high = self.bound(low);
        }
        let key = low + STEP.min((high - low) / 2);
        let index = id.index() as u32;
        self.keys.insert(index, key);
        self.placed.insert(key, index);
        if self.was_read(id) {
            self.add_moved(index);
        }
    }

    /// The start and the end of the run of moved statements that contains a parsed one.
    fn moved_run(&self, index: u32) -> Option<(u32, u32)> {
        let (&start, &end) = self.moved.range(..=index).next_back()?;
        (index < end).then_some((start, end))
    }

    fn add_moved(&mut self, index: u32) {
        let end = self.moved.remove(&(index + 1)).unwrap_or(index + 1);
        let previous_run = index.checked_sub(1).and_then(|last| self.moved_run(last));
        let start = previous_run.map_or(index, |(start, _)| start);
        self.moved.insert(start, end);
    }

    fn remove_moved(&mut self, index: u32) {
        let Some((start, end)) = self.moved_run(index) else {
            return;
        };
        self.moved.remove(&start);
        if start < index {
            self.moved.insert(start, index);
        }
        if index + 1 < end {
            self.moved.insert(index + 1, end);
        }
    }

    /// The key that follows `key`; the key of a parsed statement that was moved is not used again.
    fn bound(&self, key: u64) -> u64 {
        let natural = (key / SPACING + 1) * SPACING;
        let placed = self.placed.range(key + 1..natural).next();
        placed.map_or(natural, |(&k, _)| k)
    }

    fn forget(&mut self, id: K) {
        let index = id.index() as u32;
        if let Some(key) = self.keys.remove(&index) {
            self.placed.remove(&key);
            self.remove_moved(index);
        }
    }

    /// Renumbers the statements placed around `key`, at equal distances: those of the smallest aligned range of keys that is
    /// sparse enough, so that `n` statements at one position cost `O(n log² n)`.
    #[cold]
    fn renumber(&mut self, key: u64) {
        /// The ratio by which the limit of filled keys grows for each doubling of a range.
        const FILL: f64 = 2.0 / 1.2;
        let (mut start, mut size, mut max_count) = (key, 1, 1.0);
        let mut statements: Vec<(u64, u32)>;
        loop {
            size *= 2;
            max_count *= FILL;
            start &= !(size - 1);
            // The key of the previous parsed statement is fixed.
            let first_key = start.max(key / SPACING * SPACING + 1);
            statements = self
                .placed
                .range(first_key..start + size)
                .map(|(&key, &index)| (key, index))
                .collect();
            let count = statements.len() as u64;
            let is_sparse = (count as f64) < max_count && 2 * (count + 1) <= size;
            if is_sparse || size == SPACING {
                break;
            }
        }
        let step = (size / (statements.len() as u64 + 1)).max(1);
        for (old_key, _) in &statements {
            self.placed.remove(old_key);
        }
        for ((_, index), position) in statements.into_iter().zip(1..) {
            let new_key = start + position * step;
            self.keys.insert(index, new_key);
            self.placed.insert(new_key, index);
        }
    }
}

/// The key of a parsed statement that no edit placed.
const fn parsed_key(index: u32) -> u64 {
    (index as u64 + 1).saturating_mul(SPACING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StmtId;

    fn ids(order: &StatementOrder<StmtId>) -> Vec<u32> {
        let mut key = 0;
        let mut ids = Vec::new();
        while let Some(id) = order.next_after(key) {
            key = order.key(id);
            ids.push(id.as_u32());
        }
        ids
    }

    /// The order is that of a vector with the same operations.
    #[test]
    fn agrees_with_a_plain_list() {
        let mut order = StatementOrder::<StmtId>::new(20);
        let mut list: Vec<u32> = (0..20).collect();
        let mut rng = fastrand::Rng::with_seed(1);
        let mut random = |below: usize| rng.usize(..below);
        for round in 0..3000u32 {
            let fresh = 20 + round;
            let id = if random(3) > 0 {
                fresh
            } else {
                list[random(list.len())]
            };
            // A statement that is placed and restored does not change the order.
            if let Some(&other) = list.get(random(list.len() * 2)).filter(|o| **o != id)
                && list.contains(&id)
            {
                let position = order.position(StmtId::new(id));
                order.insert_after(StmtId::new(id), Some(StmtId::new(other)));
                order.restore(StmtId::new(id), position);
            }
            list.retain(|&i| i != id);
            // Often at one place, so that keys have to be renumbered.
            let index = if random(2) == 0 {
                7.min(list.len())
            } else {
                random(list.len() + 1)
            };
            let previous = index.checked_sub(1).map(|i| StmtId::new(list[i]));
            order.insert_after(StmtId::new(id), previous);
            list.insert(index, id);
        }
        assert_eq!(ids(&order), list);
        let mut backward = Vec::new();
        let mut key = u64::MAX;
        while let Some(id) = order.prev_before(key) {
            key = order.key(id);
            backward.push(id.as_u32());
        }
        backward.reverse();
        assert_eq!(backward, list);
        for pair in list.windows(2) {
            let [key, next_key] = [pair[0], pair[1]].map(|i| order.key(StmtId::new(i)));
            assert!(key < next_key);
        }
        // Unchanged runs are the same as those of a search step by step.
        let mut start = 0;
        while start < list.len() {
            let id = StmtId::new(list[start]);
            let mut end = start;
            if order.was_read(id) && !order.is_placed(id) {
                while list.get(end + 1) == Some(&(list[end] + 1))
                    && order.was_read(StmtId::new(list[end + 1]))
                    && !order.is_placed(StmtId::new(list[end + 1]))
                {
                    end += 1;
                }
                assert_eq!(order.unchanged_run(id), list[end]);
            }
            start = end + 1;
        }
    }

    /// Neither moving a statement nor stepping over it depends on how many were moved: this would take minutes.
    #[test]
    fn long_runs_of_moved_statements() {
        let count = 100_000;
        let mut order = StatementOrder::<StmtId>::new(count);
        for id in 1..count - 1 {
            order.insert_after(StmtId::new(id), Some(StmtId::new(count - 1)));
        }
        let mut expected: Vec<u32> = (1..count - 1).rev().collect();
        expected.splice(0..0, [0, count - 1]);
        assert_eq!(ids(&order), expected);
        assert_eq!(order.moved.len(), 1);
        let last = order.prev_before(order.key(StmtId::new(count - 1)));
        assert_eq!(last, Some(StmtId::new(0)));
    }

    #[test]
    fn many_statements_at_one_position() {
        let mut order = StatementOrder::<StmtId>::new(2);
        for id in 2..3000 {
            order.insert_after(StmtId::new(id), Some(StmtId::new(0)));
        }
        let mut expected: Vec<u32> = (2..3000).rev().collect();
        expected.insert(0, 0);
        expected.push(1);
        assert_eq!(ids(&order), expected);
    }
}
