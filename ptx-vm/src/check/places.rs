//! The locations of a memory, and the accesses to each of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::accesses::{Access, Accesses};
use crate::account::{Account, Held, Purpose};

/// The bytes that a place has.
pub(super) const PLACE: u64 = 4;

/// Places of a page.
const PAGE: u64 = 1 << 10;

/// Bytes of an access that is remembered, in lists that double.
const RECORD: u64 = 2 * size_of::<Access>() as u64;

/// The least number of accesses that are remembered before those that no place has are forgotten.
const MANY: usize = 1 << 16;

/// The places of a memory, by page from their first use on.
#[derive(Debug)]
pub(super) struct Places {
    pages: Vec<Box<[Accesses]>>,
    /// The indices of pages.
    indices: HashMap<u64, usize>,
    /// The number and the index of the page that was used last.
    last: (u64, usize),
    pub(super) records: Records,
    /// The number of accesses that are remembered before unused ones are forgotten.
    many: usize,
    /// The memory that earlier accesses besides the last ones use.
    pub(super) more: u64,
    held: Held,
}

impl Places {
    /// No accesses; the account is that of the memory of the host.
    pub(super) fn new(account: &Arc<Account>) -> Self {
        Self {
            pages: Vec::new(),
            indices: HashMap::new(),
            last: (u64::MAX, 0),
            records: Records::default(),
            many: MANY,
            more: 0,
            held: Held::new(Arc::clone(account)),
        }
    }

    /// Counts the memory in use, and bytes of something else.
    pub(super) fn count(&mut self, others: u64) {
        let pages = self.pages.len() as u64 * PAGE * size_of::<Accesses>() as u64;
        let records = self.records.len() as u64 * RECORD;
        let bytes = pages + records + self.more + others;
        self.held.set(bytes, Purpose::Checkers);
    }

    /// The accesses to the place that a byte belongs to, and all that are remembered.
    #[inline]
    pub(super) fn at(&mut self, address: u64) -> (&mut Accesses, &Records, &mut u64) {
        let (page, place) = (address / PLACE / PAGE, address / PLACE % PAGE);
        if page != self.last.0 {
            self.last = (page, self.page(page));
        }
        let accesses = &mut self.pages[self.last.1][place as usize];
        (accesses, &self.records, &mut self.more)
    }

    /// The index of a page.
    fn page(&mut self, number: u64) -> usize {
        let next = self.pages.len();
        let index = *self.indices.entry(number).or_insert(next);
        if index == next {
            self.pages
                .push(vec![Accesses::default(); PAGE as usize].into());
        }
        index
    }

    /// The number of a new access.
    pub(super) fn number(&mut self, access: Access) -> Number {
        // What this costs depends on the number of places.
        let many = self.many.max(self.pages.len() * PAGE as usize);
        if self.records.len() >= many || self.records.is_full() {
            self.forget_unused();
        }
        self.records.number(access)
    }

    /// Forgets all accesses.
    pub(super) fn forget(&mut self) {
        self.records.forget();
    }

    /// Forgets accesses that no place has any more. The others get new numbers.
    fn forget_unused(&mut self) {
        let mut kept = Records::default();
        let mut numbers = HashMap::new();
        for accesses in self.pages.iter_mut().flatten() {
            for entry in accesses.all() {
                let Some(access) = self.records.get(entry.number) else {
                    entry.number = Number::NONE;
                    continue;
                };
                let number = numbers.entry(entry.number);
                entry.number = *number.or_insert_with(|| kept.number(*access));
            }
        }
        self.many = MANY.max(2 * kept.len());
        self.records = kept;
    }
}

/// The number of an access; its lowest bit says whether it writes.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct Number(u32);

/// The number of the last accesses that are found again.
const RECENT: usize = 1024;

/// The greatest index of an access.
const LAST: usize = (u32::MAX >> 1) as usize;

/// Accesses, by number.
#[derive(Clone, Debug)]
pub(super) struct Records {
    all: Vec<Access>,
    /// The index of the first one in `all`; those before it were forgotten.
    first: u32,
    /// The last accesses, at places that depend on the warp and the instruction.
    recent: Box<[Number]>,
}

impl Number {
    /// No access.
    pub(super) const NONE: Self = Self(0);

    /// Whether the access writes.
    #[inline]
    pub(super) const fn writes(self) -> bool {
        self.0 & 1 != 0
    }

    const fn index(self) -> u32 {
        self.0 >> 1
    }
}

impl Default for Records {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            first: 1,
            recent: vec![Number::NONE; RECENT].into(),
        }
    }
}

impl Records {
    /// The number of an access, which is often that of an earlier one that is equal.
    pub(super) fn number(&mut self, access: Access) -> Number {
        let key =
            access.site.wrapping_mul(5) ^ u32::from(access.first) ^ u32::from(access.bytes) << 5;
        let slot = key as usize % RECENT;
        let recent = self.recent[slot];
        if self.get(recent) == Some(&access) {
            return recent;
        }
        let index = self.first + self.all.len() as u32;
        self.all.push(access);
        self.recent[slot] = Number(index << 1 | u32::from(access.kind.writes()));
        self.recent[slot]
    }

    /// An access that was not forgotten.
    #[inline]
    pub(super) fn get(&self, number: Number) -> Option<&Access> {
        let index = number.index().wrapping_sub(self.first);
        self.all.get(index as usize)
    }

    /// Whether an access, or that there is one, was forgotten.
    #[inline]
    pub(super) const fn has_forgotten(&self, number: Number) -> bool {
        number.index() < self.first
    }

    /// The number of accesses that are remembered.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there may be no numbers for as many accesses again.
    pub(super) fn is_full(&self) -> bool {
        self.first as usize + self.all.len() >= LAST / 2
    }

    /// Forgets all accesses.
    pub(super) fn forget(&mut self) {
        self.first += self.all.len() as u32;
        self.all.clear();
    }
}
