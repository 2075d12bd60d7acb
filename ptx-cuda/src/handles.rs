//! Handles of objects: numbers that are never used again, so that a function recognizes handles of objects that were destroyed, and of other kinds.

use std::collections::HashMap;
use std::marker::PhantomData;

use crate::status::{Outcome, Status};

/// A handle as programs see it: a pointer to an unknown structure. 0 means none.
pub type Raw = usize;

/// Handles are at addresses that programs cannot access, so that reading through one fails at once.
const BASE: usize = 0x7f00_0000_0000_0000;

/// The kind of an object, which is part of its handles.
pub(crate) trait Kind {
    /// The number of the kind, from 1 to 255.
    const NUMBER: usize;
    /// The result of functions that are called with a handle that is not one of the kind.
    const UNKNOWN: Status = Status::INVALID_HANDLE;
}

/// The objects of a kind, by their handles.
#[derive(Debug)]
pub(crate) struct Table<T> {
    objects: HashMap<Raw, T>,
    created: usize,
    kind: PhantomData<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            objects: HashMap::new(),
            created: 0,
            kind: PhantomData,
        }
    }
}

impl<T: Kind> Table<T> {
    /// Adds an object, and returns its handle.
    pub(crate) fn insert(&mut self, object: T) -> Raw {
        self.created += 1;
        let handle = BASE + (T::NUMBER << 44) + 16 * self.created;
        self.objects.insert(handle, object);
        handle
    }

    /// The object of a handle.
    pub(crate) fn get(&self, handle: Raw) -> Outcome<&T> {
        self.objects.get(&handle).ok_or(T::UNKNOWN)
    }

    /// The object of a handle, to change it.
    pub(crate) fn get_mut(&mut self, handle: Raw) -> Outcome<&mut T> {
        self.objects.get_mut(&handle).ok_or(T::UNKNOWN)
    }

    /// Removes the object of a handle.
    pub(crate) fn remove(&mut self, handle: Raw) -> Outcome<T> {
        self.objects.remove(&handle).ok_or(T::UNKNOWN)
    }

    /// The number of objects that were created.
    pub(crate) const fn created(&self) -> usize {
        self.created
    }

    /// The objects and their handles, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Raw, &T)> {
        self.objects
            .iter()
            .map(|(handle, object)| (*handle, object))
    }
}
