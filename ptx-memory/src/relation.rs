//! Sets of events and relations between events, as bits.

/// A set of events of an execution.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct EventSet {
    words: Vec<u64>,
}

impl EventSet {
    /// The empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event.
    pub fn insert(&mut self, event: usize) {
        let word = event / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        if let Some(slot) = self.words.get_mut(word) {
            *slot |= 1 << (event % 64);
        }
    }

    /// Whether the set contains an event.
    #[must_use]
    pub fn contains(&self, event: usize) -> bool {
        self.words
            .get(event / 64)
            .is_some_and(|word| word >> (event % 64) & 1 == 1)
    }

    /// Adds all events of another set.
    pub fn extend(&mut self, other: &Self) {
        if other.words.len() > self.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (slot, word) in self.words.iter_mut().zip(&other.words) {
            *slot |= word;
        }
    }

    /// Whether the set has no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The events in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        bits(&self.words)
    }
}

impl FromIterator<usize> for EventSet {
    fn from_iter<I: IntoIterator<Item = usize>>(events: I) -> Self {
        let mut set = Self::new();
        for event in events {
            set.insert(event);
        }
        set
    }
}

/// The numbers of the bits that are set.
fn bits(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(index, &word)| {
        let mut remaining = word;
        std::iter::from_fn(move || {
            let bit = (remaining != 0).then(|| remaining.trailing_zeros() as usize)?;
            remaining &= remaining - 1;
            Some(index * 64 + bit)
        })
    })
}

/// A binary relation between the events of an execution, with a row of bits for each event.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Relation {
    events: usize,
    words: usize,
    bits: Vec<u64>,
}

impl Relation {
    /// The empty relation between this number of events.
    #[must_use]
    pub fn new(events: usize) -> Self {
        let words = events.div_ceil(64);
        Self {
            events,
            words,
            bits: vec![0; events * words],
        }
    }

    /// The number of events.
    #[must_use]
    pub fn events(&self) -> usize {
        self.events
    }

    /// Relates the first event to the second one. Returns whether they were unrelated.
    pub fn insert(&mut self, first: usize, second: usize) -> bool {
        debug_assert!(first < self.events && second < self.events);
        let bit = 1 << (second % 64);
        match self.bits.get_mut(first * self.words + second / 64) {
            Some(word) if *word & bit == 0 => {
                *word |= bit;
                true
            }
            _ => false,
        }
    }

    /// Whether the first event is related to the second one.
    #[must_use]
    pub fn contains(&self, first: usize, second: usize) -> bool {
        second < self.events
            && self
                .bits
                .get(first * self.words + second / 64)
                .is_some_and(|word| word >> (second % 64) & 1 == 1)
    }

    /// The events that the first event is related to.
    pub fn successors(&self, first: usize) -> impl Iterator<Item = usize> + '_ {
        bits(self.row(first))
    }

    /// All pairs in ascending order.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.events).flat_map(|first| self.successors(first).map(move |second| (first, second)))
    }

    fn row(&self, first: usize) -> &[u64] {
        self.bits
            .get(first * self.words..(first + 1) * self.words)
            .unwrap_or(&[])
    }

    /// Adds all pairs of another relation between as many events.
    pub fn extend(&mut self, other: &Self) {
        debug_assert_eq!(self.events, other.events);
        for (word, more) in self.bits.iter_mut().zip(&other.bits) {
            *word |= more;
        }
    }

    /// The union of both relations.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut result = self.clone();
        result.extend(other);
        result
    }

    /// The pairs that satisfy a condition.
    #[must_use]
    pub fn filtered(&self, mut keep: impl FnMut(usize, usize) -> bool) -> Self {
        let mut result = Self::new(self.events);
        for (first, second) in self.pairs() {
            if keep(first, second) {
                result.insert(first, second);
            }
        }
        result
    }

    /// The composition: the pairs (a, c) for which there is a b with (a, b) in this relation and (b, c) in the other one.
    #[must_use]
    pub fn then(&self, other: &Self) -> Self {
        let mut result = Self::new(self.events);
        for first in 0..self.events {
            for middle in self.successors(first) {
                result.add_row(first, other.row(middle));
            }
        }
        result
    }

    /// The inverse relation.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let mut result = Self::new(self.events);
        for (first, second) in self.pairs() {
            result.insert(second, first);
        }
        result
    }

    fn add_row(&mut self, first: usize, more: &[u64]) {
        let words = self.words;
        if let Some(row) = self.bits.get_mut(first * words..(first + 1) * words) {
            for (word, more) in row.iter_mut().zip(more) {
                *word |= more;
            }
        }
    }

    /// Adds the pairs that make the relation transitive. Cubic in the number of events, divided by 64.
    pub fn close(&mut self) {
        let words = self.words;
        let mut row = vec![0; words];
        for middle in 0..self.events {
            row.copy_from_slice(self.row(middle));
            if row.iter().all(|word| *word == 0) {
                continue;
            }
            for first in 0..self.events {
                if self.contains(first, middle) {
                    self.add_row(first, &row);
                }
            }
        }
    }

    /// The transitive closure.
    #[must_use]
    pub fn closed(&self) -> Self {
        let mut result = self.clone();
        result.close();
        result
    }

    /// An event that is related to itself.
    #[must_use]
    pub fn reflexive_event(&self) -> Option<usize> {
        (0..self.events).find(|&event| self.contains(event, event))
    }

    /// Whether no event is related to itself.
    #[must_use]
    pub fn is_irreflexive(&self) -> bool {
        self.reflexive_event().is_none()
    }

    /// Whether no pair is also in the other relation.
    #[must_use]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.bits.iter().zip(&other.bits).all(|(a, b)| a & b == 0)
    }

    /// Whether the relation has no pairs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|word| *word == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closure_finds_paths() {
        let mut relation = Relation::new(70);
        relation.insert(0, 69);
        relation.insert(69, 3);
        relation.insert(3, 5);
        relation.close();
        assert!(relation.contains(0, 5) && relation.contains(69, 5) && !relation.contains(5, 0));
        assert!(relation.is_irreflexive());
        relation.insert(5, 0);
        assert_eq!(relation.closed().reflexive_event(), Some(0));
    }

    #[test]
    fn composition_and_inverse() {
        let mut first = Relation::new(4);
        first.insert(0, 1);
        let mut second = Relation::new(4);
        second.insert(1, 3);
        let composed = first.then(&second);
        assert_eq!(composed.pairs().collect::<Vec<_>>(), [(0, 3)]);
        assert_eq!(composed.inverse().pairs().collect::<Vec<_>>(), [(3, 0)]);
    }

    #[test]
    fn sets_grow() {
        let mut set: EventSet = [1, 130].into_iter().collect();
        set.extend(&[64].into_iter().collect());
        assert_eq!(set.iter().collect::<Vec<_>>(), [1, 64, 130]);
        assert!(!set.contains(129) && !set.contains(1000));
    }
}
