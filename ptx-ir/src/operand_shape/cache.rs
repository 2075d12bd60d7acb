//! What was worked out for a mnemonic and a shape.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::ShapeKey;
use crate::SigId;

/// Remembers a value for every mnemonic and shape of a module.
///
/// Short keys stand in a table that may forget where too many fall on one place, so that no text makes it slow; a
/// value that is not found is worked out again.
#[derive(Clone, Debug)]
pub struct ShapeCache<V> {
    short: Vec<Option<(u128, SigId, V)>>,
    used: usize,
    long: BTreeMap<(SigId, ShapeKey), V>,
}

/// How many places a key may stand at.
const WINDOW: usize = 4;

impl<V: Copy> ShapeCache<V> {
    /// An empty cache; does not allocate.
    pub const fn new() -> Self {
        Self {
            short: Vec::new(),
            used: 0,
            long: BTreeMap::new(),
        }
    }

    #[inline]
    fn place(&self, key: u128, sig: SigId) -> usize {
        const K: u64 = 0x9E37_79B9_7F4A_7C15;
        let low = (key as u64 ^ u64::from(sig.as_u32())).wrapping_mul(K);
        let hash = (low.rotate_left(29) ^ (key >> 64) as u64).wrapping_mul(K);
        (hash >> 32) as usize & self.short.len().wrapping_sub(1)
    }

    /// The value of a mnemonic and a shape, if it is known.
    #[inline]
    pub fn get(&self, sig: SigId, key: &ShapeKey) -> Option<V> {
        if !key.rest.is_empty() {
            return self.get_long(sig, key);
        }
        let place = self.place(key.packed, sig);
        let window = self.short.get(place..)?;
        window.iter().take(WINDOW).find_map(|entry| match entry {
            Some((k, s, v)) if *k == key.packed && *s == sig => Some(*v),
            _ => None,
        })
    }

    #[cold]
    fn get_long(&self, sig: SigId, key: &ShapeKey) -> Option<V> {
        self.long.get(&(sig, key.clone())).copied()
    }

    /// Remembers a value.
    pub fn insert(&mut self, sig: SigId, key: &ShapeKey, value: V) {
        if !key.rest.is_empty() {
            self.long.insert((sig, key.clone()), value);
            return;
        }
        if (self.used + 1) * 2 > self.short.len() {
            self.grow();
        }
        self.used += 1;
        self.put((key.packed, sig, value));
    }

    fn put(&mut self, entry: (u128, SigId, V)) {
        let place = self.place(entry.0, entry.1);
        let Some(window) = self.short.get_mut(place..) else {
            return;
        };
        let free = window.iter().take(WINDOW).position(|e| e.is_none());
        if let Some(slot) = window.get_mut(free.unwrap_or(0)) {
            *slot = Some(entry);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let size = (self.short.len() * 2).max(256);
        let old = core::mem::replace(&mut self.short, alloc::vec![None; size]);
        for entry in old.into_iter().flatten() {
            self.put(entry);
        }
    }
}

impl<V: Copy> Default for ShapeCache<V> {
    fn default() -> Self {
        Self::new()
    }
}
