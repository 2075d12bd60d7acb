//! The order of statements after edits: the order of their ids, with what was placed elsewhere noted beside it.
//!
//! Every statement has a *key*, and the order is that of the keys. A statement as it was read has a key that follows from
//! its id and is stored nowhere; only what an edit placed has an entry. An edit therefore costs the logarithm of the
//! number of edits, whatever the size of the body, and nothing is renumbered.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::entity::EntityId;

/// How far apart the keys of two statements are that were read one behind the other.
const ROOM: u64 = 1 << 32;

/// The distance at which a statement is placed behind another one, where there is room.
const STEP: u64 = 1 << 16;

/// The order of the statements of a body, or of the items of a module.
#[derive(Clone, Debug)]
pub(crate) struct Layout<K> {
    /// How many were read, and stand in the order of their ids unless they were placed.
    read: u32,
    /// The keys of those that were placed.
    keys: BTreeMap<u32, u64>,
    /// The same by their keys.
    placed: BTreeMap<u64, u32>,
    id: PhantomData<K>,
}

impl<K: EntityId> Layout<K> {
    pub(crate) const fn new(read: u32) -> Self {
        Self {
            read,
            keys: BTreeMap::new(),
            placed: BTreeMap::new(),
            id: PhantomData,
        }
    }

    /// Whether a statement was read, and not made by an edit.
    pub(crate) fn was_read(&self, id: K) -> bool {
        (id.index() as u64) < u64::from(self.read)
    }

    /// Whether a statement stands where an edit placed it.
    pub(crate) fn is_placed(&self, id: K) -> bool {
        self.keys.contains_key(&(id.index() as u32))
    }

    /// Behind which one a statement stands that an edit placed, to put it back there; `None` where it was read.
    pub(crate) fn spot(&self, id: K) -> Option<Option<K>> {
        self.is_placed(id).then(|| self.prev_before(self.key(id)))
    }

    /// Puts a statement back to its [spot](Self::spot). Others may have other keys by now, but stand in the same order.
    pub(crate) fn restore(&mut self, id: K, spot: Option<Option<K>>) {
        match spot {
            Some(before) => self.insert_after(id, before),
            None => self.forget(id),
        }
    }

    /// Whether the order is that of the ids.
    pub(crate) fn is_plain(&self) -> bool {
        self.keys.is_empty()
    }

    /// The order is that of the keys. 0 lies before the first.
    pub(crate) fn key(&self, id: K) -> u64 {
        let index = id.index() as u32;
        let placed = self.keys.get(&index).copied();
        placed.unwrap_or((u64::from(index) + 1).saturating_mul(ROOM))
    }

    /// The first one whose key is larger.
    pub(crate) fn next_after(&self, key: u64) -> Option<K> {
        let placed = self.placed.range(key.saturating_add(1)..).next();
        let mut index = (key / ROOM) as u32;
        while self.keys.contains_key(&index) {
            index += 1;
        }
        let in_place = (index < self.read).then_some(index);
        let at = |i: u32| (u64::from(i) + 1) * ROOM;
        let index = match (in_place, placed) {
            (Some(i), Some((&k, &p))) => Some(if k < at(i) { p } else { i }),
            (Some(i), None) => Some(i),
            (None, Some((_, &p))) => Some(p),
            (None, None) => None,
        };
        index.map(|i| K::from_index(i as usize))
    }

    /// The last one whose key is smaller.
    pub(crate) fn prev_before(&self, key: u64) -> Option<K> {
        let placed = self.placed.range(..key).next_back();
        // The key of index `i` is `(i + 1) * ROOM`.
        let mut end = (key.saturating_sub(1) / ROOM).min(u64::from(self.read)) as u32;
        while end > 0 && self.keys.contains_key(&(end - 1)) {
            end -= 1;
        }
        let in_place = end.checked_sub(1);
        let at = |i: u32| (u64::from(i) + 1) * ROOM;
        let index = match (in_place, placed) {
            (Some(i), Some((&k, &p))) => Some(if k > at(i) { p } else { i }),
            (Some(i), None) => Some(i),
            (None, Some((_, &p))) => Some(p),
            (None, None) => None,
        };
        index.map(|i| K::from_index(i as usize))
    }

    /// The last of the statements from `id` on that stand in the order of their ids and where they were read.
    pub(crate) fn unchanged_run(&self, id: K) -> u32 {
        let index = id.index() as u32;
        let next = self.placed.range(self.key(id)..).next();
        let before = next.map_or(self.read, |(&k, _)| (k / ROOM) as u32);
        let moved = self.keys.range(index..self.read.max(index)).next();
        before
            .min(moved.map_or(self.read, |(&i, _)| i))
            .max(index + 1)
            - 1
    }

    /// Places a statement behind another one, or before the first; it may have stood elsewhere.
    pub(crate) fn insert_after(&mut self, id: K, before: Option<K>) {
        self.forget(id);
        let mut low = before.map_or(0, |b| self.key(b));
        let mut high = self.bound(low);
        if high - low < 2 {
            self.renumber(low);
            low = before.map_or(0, |b| self.key(b));
            high = self.bound(low);
        }
        let key = low + STEP.min((high - low) / 2);
        let index = id.index() as u32;
        self.keys.insert(index, key);
        self.placed.insert(key, index);
    }

    /// The key that the next one behind `key` has; what was read and stands elsewhere keeps its room.
    fn bound(&self, key: u64) -> u64 {
        let natural = (key / ROOM + 1) * ROOM;
        let placed = self.placed.range(key + 1..natural).next();
        placed.map_or(natural, |(&k, _)| k)
    }

    fn forget(&mut self, id: K) {
        let index = id.index() as u32;
        if let Some(key) = self.keys.remove(&index) {
            self.placed.remove(&key);
        }
    }

    /// Gives those placed in the same gap as `key` keys that are equally far apart.
    #[cold]
    fn renumber(&mut self, key: u64) {
        let first = key / ROOM * ROOM;
        let all: Vec<(u64, u32)> = self
            .placed
            .range(first + 1..first + ROOM)
            .map(|(&k, &i)| (k, i))
            .collect();
        let step = (ROOM / (all.len() as u64 + 2)).max(1);
        for (k, _) in &all {
            self.placed.remove(k);
        }
        for ((_, i), n) in all.into_iter().zip(1..) {
            let key = first + n * step;
            self.keys.insert(i, key);
            self.placed.insert(key, i);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StmtId;

    fn order(layout: &Layout<StmtId>) -> Vec<u32> {
        let mut key = 0;
        let mut all = Vec::new();
        while let Some(id) = layout.next_after(key) {
            key = layout.key(id);
            all.push(id.as_u32());
        }
        all
    }

    /// Against a plain vector, by definition.
    #[test]
    fn it_is_a_list() {
        let mut layout = Layout::<StmtId>::new(20);
        let mut list: Vec<u32> = (0..20).collect();
        let mut state = 1u64;
        let mut random = |below: usize| {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for round in 0..3000u32 {
            let fresh = 20 + round;
            let id = if random(3) > 0 {
                fresh
            } else {
                list[random(list.len())]
            };
            // There and back.
            if let Some(&other) = list.get(random(list.len() * 2)).filter(|o| **o != id)
                && list.contains(&id)
            {
                let spot = layout.spot(StmtId::new(id));
                layout.insert_after(StmtId::new(id), Some(StmtId::new(other)));
                layout.restore(StmtId::new(id), spot);
            }
            list.retain(|&i| i != id);
            // Often at one place, so that the room there runs out.
            let at = if random(2) == 0 {
                7.min(list.len())
            } else {
                random(list.len() + 1)
            };
            let before = at.checked_sub(1).map(|i| StmtId::new(list[i]));
            layout.insert_after(StmtId::new(id), before);
            list.insert(at, id);
        }
        assert_eq!(order(&layout), list);
        let mut backward = Vec::new();
        let mut key = u64::MAX;
        while let Some(id) = layout.prev_before(key) {
            key = layout.key(id);
            backward.push(id.as_u32());
        }
        backward.reverse();
        assert_eq!(backward, list);
        for pair in list.windows(2) {
            let [a, b] = [pair[0], pair[1]].map(|i| layout.key(StmtId::new(i)));
            assert!(a < b);
        }
        // Runs: the same as walking step by step.
        let mut at = 0;
        while at < list.len() {
            let id = StmtId::new(list[at]);
            let mut end = at;
            if layout.was_read(id) && !layout.is_placed(id) {
                while list.get(end + 1) == Some(&(list[end] + 1))
                    && layout.was_read(StmtId::new(list[end + 1]))
                    && !layout.is_placed(StmtId::new(list[end + 1]))
                {
                    end += 1;
                }
                assert_eq!(layout.unchanged_run(id), list[end]);
            }
            at = end + 1;
        }
    }

    #[test]
    fn a_place_never_runs_out_of_room() {
        let mut layout = Layout::<StmtId>::new(2);
        for id in 2..3000 {
            layout.insert_after(StmtId::new(id), Some(StmtId::new(0)));
        }
        let mut want: Vec<u32> = (2..3000).rev().collect();
        want.insert(0, 0);
        want.push(1);
        assert_eq!(order(&layout), want);
    }
}
