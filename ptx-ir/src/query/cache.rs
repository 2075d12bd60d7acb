//! One answer for each mnemonic and shape.

use hashbrown::HashMap;

use super::ShapeKey;
use crate::SigId;

/// Remembers an answer for every mnemonic and shape of a module. Does not allocate before the first answer.
#[derive(Clone, Debug)]
pub(super) struct ShapeCache<A> {
    short: HashMap<(u128, SigId), A>,
    long: HashMap<(ShapeKey, SigId), A>,
}

impl<A: Copy> ShapeCache<A> {
    pub(super) fn new() -> Self {
        Self {
            short: HashMap::new(),
            long: HashMap::new(),
        }
    }

    #[inline]
    pub(super) fn get(&self, sig: SigId, key: &ShapeKey) -> Option<A> {
        match key.short() {
            Some(short) => self.short.get(&(short, sig)).copied(),
            None => self.get_long(sig, key),
        }
    }

    #[cold]
    fn get_long(&self, sig: SigId, key: &ShapeKey) -> Option<A> {
        self.long.get(&(key.clone(), sig)).copied()
    }

    pub(super) fn insert(&mut self, sig: SigId, key: &ShapeKey, answer: A) {
        match key.short() {
            Some(short) => self.short.insert((short, sig), answer),
            None => self.long.insert((key.clone(), sig), answer),
        };
    }
}
