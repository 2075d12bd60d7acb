//! Tables that share their storage: many small ones, one allocation.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::{Deref, DerefMut};

/// A vector, or a part of a vector of which other tables have other parts. The first change of a table with a shared vector copies
/// its part, so that no other table changes.
pub struct CowVec<V>(Rows<V>);

enum Rows<V> {
    /// The rows before `first` belong to tables that were cut off.
    Own { rows: Vec<V>, first: u32 },
    Shared {
        rows: Arc<[V]>,
        first: u32,
        len: u32,
    },
}

/// A table with more values gets a separate allocation.
const LONG: usize = 1 << 12;

impl<V> CowVec<V> {
    /// An empty table; does not allocate.
    pub const fn new() -> Self {
        Self::own(Vec::new())
    }

    const fn own(rows: Vec<V>) -> Self {
        Self(Rows::Own { rows, first: 0 })
    }

    /// The value at `index`, if there is one.
    #[inline]
    pub(crate) fn at(&self, index: usize) -> Option<&V> {
        match &self.0 {
            Rows::Own { rows, first } => rows.get(*first as usize + index),
            Rows::Shared { len, .. } if index >= *len as usize => None,
            Rows::Shared { rows, first, .. } => rows.get(*first as usize + index),
        }
    }

    /// The number of values.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Rows::Own { rows, first } => rows.len() - *first as usize,
            Rows::Shared { len, .. } => *len as usize,
        }
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all values; a vector keeps its capacity.
    pub fn clear(&mut self) {
        match &mut self.0 {
            Rows::Own { rows, first } => rows.truncate(*first as usize),
            Rows::Shared { .. } => *self = Self::new(),
        }
    }
}

impl<V: Clone> CowVec<V> {
    /// Adds a value and returns its index.
    ///
    /// Large tables grow by a quarter, so that a huge function does not cost twice its size.
    #[inline]
    pub fn push(&mut self, value: V) -> usize {
        match &mut self.0 {
            Rows::Own { rows, first } if rows.len() < rows.capacity() => {
                let index = rows.len() - *first as usize;
                rows.push(value);
                index
            }
            _ => self.push_slow(value),
        }
    }

    #[cold]
    #[inline(never)]
    fn push_slow(&mut self, value: V) -> usize {
        let index = self.len();
        self.unshare();
        if let Rows::Own { rows, .. } = &mut self.0 {
            push(rows, value);
        }
        index
    }

    /// Removes the last value.
    pub(crate) fn pop(&mut self) -> Option<V> {
        if self.is_empty() {
            return None;
        }
        self.unshare();
        match &mut self.0 {
            Rows::Own { rows, .. } => rows.pop(),
            Rows::Shared { .. } => None,
        }
    }

    /// Adds values and returns the index of the first.
    #[inline]
    pub(crate) fn append(&mut self, values: &[V]) -> usize {
        match &mut self.0 {
            Rows::Own { rows, first } if rows.capacity() - rows.len() >= values.len() => {
                let index = rows.len() - *first as usize;
                // Most lists have two to four values, for which a copy costs less than a call.
                for value in values {
                    rows.push(value.clone());
                }
                index
            }
            _ => self.append_slow(values),
        }
    }

    #[cold]
    #[inline(never)]
    fn append_slow(&mut self, values: &[V]) -> usize {
        let index = self.len();
        self.extend(values.iter().cloned());
        index
    }

    #[inline]
    fn unshare(&mut self) {
        if let Rows::Shared { .. } = self.0 {
            self.copy_rows();
        }
    }

    #[cold]
    #[inline(never)]
    fn copy_rows(&mut self) {
        *self = self.clone_rows();
    }

    fn clone_rows(&self) -> Self {
        Self::own(self.to_vec())
    }

    /// Reserves capacity for `len` more values.
    pub(crate) fn reserve(&mut self, len: usize) {
        if let Rows::Own { rows, .. } = &mut self.0 {
            rows.reserve_exact(len);
        }
    }
}

/// The operation on a table and its counterpart: see [`Body::cut`](crate::Body::cut) and
/// [`Body::share`](crate::Body::share).
#[derive(Copy, Clone)]
pub(crate) enum ShareOp {
    /// Splits the values off the other table, which continues after them.
    Cut,
    /// Empties the other table.
    Clear,
    /// Shares everything split off the other table, which keeps its capacity.
    Seal,
    /// As [`Seal`](Self::Seal), at the end: the other table is not used any more.
    Finish,
    /// Attaches the part that was split off to the other table, which contains it.
    Share,
}

impl<V: Clone> CowVec<V> {
    pub(crate) fn step(&mut self, other: &mut Self, step: ShareOp) {
        match step {
            ShareOp::Cut if other.is_empty() => {}
            ShareOp::Cut => *self = other.split_off(),
            ShareOp::Clear => other.clear(),
            ShareOp::Seal => *self = other.freeze(),
            ShareOp::Finish => *self = core::mem::take(other).finish(),
            ShareOp::Share => self.share(other),
        }
    }

    fn split_off(&mut self) -> Self {
        let len = self.len();
        match &mut self.0 {
            Rows::Own { rows, first } if len > LONG => {
                // The new table takes the allocation with the few rows of earlier tables, which are cheaper to copy.
                let mut earlier_rows = Vec::with_capacity(*first as usize + LONG);
                earlier_rows.extend_from_slice(&rows[..*first as usize]);
                let mut rows = core::mem::replace(rows, earlier_rows);
                rows.shrink_to_fit();
                Self(Rows::Own {
                    rows,
                    first: *first,
                })
            }
            Rows::Own { rows, first } => Self(Rows::Shared {
                rows: Arc::default(),
                first: core::mem::replace(first, rows.len() as u32),
                len: len as u32,
            }),
            Rows::Shared { .. } => core::mem::take(self),
        }
    }

    fn freeze(&mut self) -> Self {
        match &mut self.0 {
            Rows::Own { rows, first } if *first > 0 => {
                *first = 0;
                let shared_rows = Arc::from(rows.as_slice());
                rows.clear();
                Self::shared(shared_rows)
            }
            _ => Self::new(),
        }
    }

    fn finish(self) -> Self {
        match self.0 {
            Rows::Own { rows, first } if first > 0 => Self::shared(Arc::from(rows)),
            _ => Self::new(),
        }
    }

    fn shared(rows: Arc<[V]>) -> Self {
        let len = rows.len() as u32;
        Self(Rows::Shared {
            rows,
            first: 0,
            len,
        })
    }

    fn share(&mut self, storage: &Self) {
        if let Rows::Shared { rows, .. } = &mut self.0
            && let Rows::Shared { rows: all_rows, .. } = &storage.0
            && rows.is_empty()
        {
            *rows = all_rows.clone();
        }
    }
}

/// `Vec::push` with a gentler growth: small at first, by a quarter in the end.
#[inline]
pub(crate) fn push<V>(rows: &mut Vec<V>, value: V) {
    if rows.len() == rows.capacity() {
        grow(rows);
    }
    rows.push(value);
}

/// Tables with fewer bytes double in size.
const DOUBLING: usize = 1 << 17;

/// Small tables take powers of two bytes, so that a table that grows can take the memory that another one has freed.
#[cold]
fn grow<V>(rows: &mut Vec<V>) {
    let size = size_of::<V>().max(1);
    let (len, bytes) = (rows.len(), rows.len() * size);
    let capacity = if bytes < DOUBLING {
        (2 * bytes).next_power_of_two().max(256) / size
    } else {
        len + len / 4
    };
    rows.reserve_exact(capacity.saturating_sub(len).max(1));
}

impl<V> Deref for CowVec<V> {
    type Target = [V];
    #[inline]
    fn deref(&self) -> &[V] {
        let rows = match &self.0 {
            Rows::Own { rows, first } => rows.get(*first as usize..),
            Rows::Shared { rows, first, len } => {
                let first = *first as usize;
                rows.get(first..first + *len as usize)
            }
        };
        rows.unwrap_or_default()
    }
}

impl<V: Clone> DerefMut for CowVec<V> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [V] {
        self.unshare();
        let rows = match &mut self.0 {
            Rows::Own { rows, first } => rows.get_mut(*first as usize..),
            Rows::Shared { .. } => None,
        };
        rows.unwrap_or_default()
    }
}

impl<V: Clone> Clone for CowVec<V> {
    fn clone(&self) -> Self {
        match &self.0 {
            Rows::Own { .. } => self.clone_rows(),
            Rows::Shared { rows, first, len } => Self(Rows::Shared {
                rows: rows.clone(),
                first: *first,
                len: *len,
            }),
        }
    }
}

impl<V> Default for CowVec<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: fmt::Debug> fmt::Debug for CowVec<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<V: PartialEq> PartialEq for CowVec<V> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<V: Eq> Eq for CowVec<V> {}

impl<V: Clone> Extend<V> for CowVec<V> {
    fn extend<I: IntoIterator<Item = V>>(&mut self, values: I) {
        for value in values {
            self.push(value);
        }
    }
}

impl<'t, V> IntoIterator for &'t CowVec<V> {
    type Item = &'t V;
    type IntoIter = core::slice::Iter<'t, V>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables that were cut off one storage, and the values that each has to contain.
    #[derive(Default)]
    struct Model {
        storage: CowVec<u32>,
        /// The values after the last cut.
        current: Vec<u32>,
        tables: Vec<(CowVec<u32>, Vec<u32>)>,
        /// The number of tables that have their values.
        attached: usize,
    }

    impl Model {
        fn push(&mut self, value: u32) {
            assert_eq!(self.storage.push(value), self.current.len());
            self.current.push(value);
        }

        fn append(&mut self, values: &[u32]) {
            assert_eq!(self.storage.append(values), self.current.len());
            self.current.extend_from_slice(values);
        }

        fn clear(&mut self) {
            CowVec::new().step(&mut self.storage, ShareOp::Clear);
            self.current.clear();
        }

        fn cut(&mut self) {
            let mut table = CowVec::new();
            table.step(&mut self.storage, ShareOp::Cut);
            self.tables
                .push((table, core::mem::take(&mut self.current)));
        }

        /// Attaches the values of all tables that were cut off since the last call.
        fn share(&mut self, step: ShareOp) {
            self.clear();
            let mut shared = CowVec::new();
            shared.step(&mut self.storage, step);
            for (table, _) in self.tables.iter_mut().skip(self.attached) {
                table.step(&mut shared, ShareOp::Share);
            }
            self.attached = self.tables.len();
        }

        fn check(&self) {
            assert_eq!(*self.storage, *self.current);
            for (table, values) in self.tables.iter().take(self.attached) {
                assert_eq!(**table, **values);
                assert_eq!(table.len(), values.len());
                assert_eq!(table.at(0), values.first());
                assert_eq!(table.at(values.len()), None);
            }
        }
    }

    fn change(table: &mut CowVec<u32>, values: &mut Vec<u32>, random: &mut fastrand::Rng) {
        match random.u32(..5) {
            0 => {
                table.push(7);
                values.push(7);
            }
            1 => {
                table.append(&[8, 9]);
                values.extend([8, 9]);
            }
            2 => {
                table.clear();
                values.clear();
            }
            3 => {
                table.iter_mut().for_each(|value| *value += 1);
                values.iter_mut().for_each(|value| *value += 1);
            }
            _ => {
                let copy = table.clone();
                table.push(1);
                values.push(1);
                assert_eq!(copy.len() + 1, table.len());
            }
        }
    }

    #[test]
    fn tables_agree_with_vectors() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut model = Model::default();
            for value in 0..random.u32(1..400) {
                match random.u32(..20) {
                    0 => model.clear(),
                    1..4 => model.cut(),
                    4 => model.share(ShareOp::Seal),
                    5 => model.append(&[value; 3]),
                    // A table that is longer than those that share an allocation.
                    6 if seed % 50 == 0 => model.append(&vec![value; LONG + 1]),
                    _ => model.push(value),
                }
                if random.bool()
                    && let Some(index) = model.attached.checked_sub(1)
                {
                    let (table, values) = &mut model.tables[random.usize(..=index)];
                    change(table, values, &mut random);
                }
                model.check();
            }
            model.share(ShareOp::Finish);
            model.check();
        }
    }
}
