//! The locations of a memory, and the accesses to each of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::accesses::{Access, Accesses};
use crate::account::{Account, Held, Purpose};

/// The bytes of a location.
pub(super) const LOCATION_BYTES: u64 = 4;

/// The locations of a page.
const PAGE_LOCATIONS: u64 = 1 << 10;

/// The memory of a recorded access: lists double when they grow.
const RECORD_BYTES: u64 = 2 * size_of::<Access>() as u64;

/// The least number of records before those that no location refers to are forgotten.
const LEAST_RECORDS: usize = 1 << 16;

/// The locations of a memory. Pages exist from their first use on.
#[derive(Debug)]
pub(super) struct Locations {
    pages: Vec<Box<[Accesses]>>,
    /// The index in `pages` of each page, by its number.
    page_indices: HashMap<u64, usize>,
    /// The page that was used last.
    last_page: LastPage,
    pub(super) records: Records,
    /// The number of records before unused ones are forgotten.
    most_records: usize,
    /// The memory of the older accesses of all locations.
    pub(super) older_bytes: u64,
    held: Held,
}

/// A page by its number and its index.
#[derive(Copy, Clone, Debug)]
struct LastPage {
    number: u64,
    index: usize,
}

/// The accesses to a location, with the tables that recording them needs.
pub(super) struct LocationMut<'a> {
    pub(super) accesses: &'a mut Accesses,
    pub(super) records: &'a Records,
    /// The memory of the older accesses of all locations.
    pub(super) older_bytes: &'a mut u64,
}

impl Locations {
    /// Locations without accesses. The memory of the host is counted in `account`.
    pub(super) fn new(account: &Arc<Account>) -> Self {
        Self {
            pages: Vec::new(),
            page_indices: HashMap::new(),
            last_page: LastPage {
                number: u64::MAX,
                index: 0,
            },
            records: Records::default(),
            most_records: LEAST_RECORDS,
            older_bytes: 0,
            held: Held::new(Arc::clone(account)),
        }
    }

    /// Counts the memory in use, and `other_bytes` of the tables of the owner.
    pub(super) fn count(&mut self, other_bytes: u64) {
        let pages = self.pages.len() as u64 * PAGE_LOCATIONS * size_of::<Accesses>() as u64;
        let records = self.records.len() as u64 * RECORD_BYTES;
        let bytes = pages + records + self.older_bytes + other_bytes;
        self.held.set(bytes, Purpose::Checkers);
    }

    /// The location that contains a byte.
    #[inline]
    pub(super) fn location_mut(&mut self, address: u64) -> LocationMut<'_> {
        let number = address / LOCATION_BYTES;
        let (page, location) = (number / PAGE_LOCATIONS, number % PAGE_LOCATIONS);
        if page != self.last_page.number {
            self.last_page = LastPage {
                number: page,
                index: self.page_index(page),
            };
        }
        LocationMut {
            accesses: &mut self.pages[self.last_page.index][location as usize],
            records: &self.records,
            older_bytes: &mut self.older_bytes,
        }
    }

    /// The index of a page, which is created if it does not exist.
    fn page_index(&mut self, number: u64) -> usize {
        let next_index = self.pages.len();
        let index = *self.page_indices.entry(number).or_insert(next_index);
        if index == next_index {
            self.pages
                .push(vec![Accesses::default(); PAGE_LOCATIONS as usize].into());
        }
        index
    }

    /// Records an access and returns its number.
    pub(super) fn record(&mut self, access: Access) -> AccessNumber {
        // The cost of forgetting is linear in the locations.
        let locations = self.pages.len() * PAGE_LOCATIONS as usize;
        if self.records.len() >= self.most_records.max(locations) || self.records.is_full() {
            self.forget_unused();
        }
        self.records.record(access)
    }

    /// Forgets all accesses.
    pub(super) fn forget(&mut self) {
        self.records.forget();
    }

    /// Forgets records that no location refers to any more. The other records get new numbers.
    fn forget_unused(&mut self) {
        let mut used_records = Records::default();
        let mut new_numbers = HashMap::new();
        for accesses in self.pages.iter_mut().flatten() {
            for lane_access in accesses.all_mut() {
                let Some(access) = self.records.get(lane_access.number) else {
                    lane_access.number = AccessNumber::NONE;
                    continue;
                };
                lane_access.number = *new_numbers
                    .entry(lane_access.number)
                    .or_insert_with(|| used_records.record(*access));
            }
        }
        self.most_records = LEAST_RECORDS.max(2 * used_records.len());
        self.records = used_records;
    }
}

/// The number of a recorded access. Its lowest bit is set if the access writes; the other bits are its index.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct AccessNumber(u32);

/// The number of entries of the cache of recent accesses.
const RECENT: usize = 1024;

/// The greatest index of an access.
const MOST_INDEX: usize = (u32::MAX >> 1) as usize;

/// The recorded accesses of all locations of a memory.
#[derive(Clone, Debug)]
pub(super) struct Records {
    accesses: Vec<Access>,
    /// The index of the first access in `accesses`; accesses with lower indices were forgotten.
    first: u32,
    /// A cache of recent accesses, by a hash of their warp, instruction and bytes.
    recent: Box<[AccessNumber]>,
}

impl AccessNumber {
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
            accesses: Vec::new(),
            first: 1,
            recent: vec![AccessNumber::NONE; RECENT].into(),
        }
    }
}

impl Records {
    /// Records an access and returns its number, which is often that of an equal earlier access.
    pub(super) fn record(&mut self, access: Access) -> AccessNumber {
        let hash =
            access.site.wrapping_mul(5) ^ u32::from(access.first) ^ u32::from(access.bytes) << 5;
        let slot = hash as usize % RECENT;
        let recent = self.recent[slot];
        if self.get(recent) == Some(&access) {
            return recent;
        }
        let index = self.first + self.accesses.len() as u32;
        self.accesses.push(access);
        self.recent[slot] = AccessNumber(index << 1 | u32::from(access.kind.writes()));
        self.recent[slot]
    }

    /// An access that was not forgotten.
    #[inline]
    pub(super) fn get(&self, number: AccessNumber) -> Option<&Access> {
        let index = number.index().wrapping_sub(self.first);
        self.accesses.get(index as usize)
    }

    /// Whether an access was forgotten, or the number is that of no access.
    #[inline]
    pub(super) const fn has_forgotten(&self, number: AccessNumber) -> bool {
        number.index() < self.first
    }

    /// The number of accesses that are recorded.
    pub(super) fn len(&self) -> usize {
        self.accesses.len()
    }

    /// Whether less than half of all indices are left.
    pub(super) fn is_full(&self) -> bool {
        self.first as usize + self.accesses.len() >= MOST_INDEX / 2
    }

    /// Forgets all accesses.
    pub(super) fn forget(&mut self) {
        self.first += self.accesses.len() as u32;
        self.accesses.clear();
    }
}
