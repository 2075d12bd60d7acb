//! The accesses that places in memory remember: each one once, by number.

use super::access::Access;

/// The number of an access; its lowest bit says whether it writes.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct Number(u32);

/// How many of the last accesses are found again.
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
        let at = number.index().wrapping_sub(self.first);
        self.all.get(at as usize)
    }

    /// Whether an access, or that there is one, was forgotten.
    #[inline]
    pub(super) const fn has_forgotten(&self, number: Number) -> bool {
        number.index() < self.first
    }

    /// How many accesses are remembered.
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
