//! The statements of a body, and the items of a module, in order.

use core::mem::{Discriminant, discriminant};
use core::ops::Range;

use crate::edit_log::Edits;
use crate::entity::{EntityId, PrimaryMap};
use crate::{Item, ItemId, Statement, StmtId};

/// Iterates over statements with their ids, in order.
pub(crate) type Statements<'b> = InOrder<'b, StmtId, Statement>;

/// Iterates over the items of a module with their ids, in order.
pub(crate) type Items<'m> = InOrder<'m, ItemId, Item>;

/// Iterates over records in an order that edits may have changed: see [`Statements`] and [`Items`].
pub(crate) struct InOrder<'m, K, V> {
    rows: &'m [V],
    order: Order<'m, K>,
    /// The variant of the placeholder for a removed statement, which is skipped; `None` if removed statements are included.
    removed: Option<Discriminant<V>>,
}

#[derive(Clone)]
enum Order<'m, K> {
    /// The order of the ids.
    Plain(Range<usize>),
    /// The order of the keys, between two of them.
    Placed(&'m Edits<K>, u64, u64),
}

impl<'m, K: EntityId, V> InOrder<'m, K, V> {
    #[inline]
    pub(crate) fn all(
        table: &'m PrimaryMap<K, V>,
        placed: Option<&'m Edits<K>>,
        removed: Option<V>,
    ) -> Self {
        let order = match placed {
            None => Order::Plain(0..table.len()),
            Some(edits) => Order::Placed(edits, 0, u64::MAX),
        };
        Self {
            rows: table.as_slice(),
            order,
            removed: removed.as_ref().map(discriminant),
        }
    }

    /// Restricts the iteration to `first` up to, not including, `end`; up to the last one if `end` is not in the table.
    #[inline]
    pub(crate) fn between(mut self, first: K, end: K) -> Self {
        match &mut self.order {
            Order::Plain(range) => *range = first.index()..end.index().min(range.end),
            Order::Placed(edits, low, high) => {
                *low = edits.key(first) - 1;
                if end.index() < self.rows.len() {
                    *high = edits.key(end);
                }
            }
        }
        self
    }
}

impl<K: EntityId, V: Copy> InOrder<'_, K, V> {
    /// The row of an id; `None` if it is a placeholder.
    #[inline]
    fn row(&self, id: K) -> Option<(K, V)> {
        let row = *self.rows.get(id.index())?;
        (Some(discriminant(&row)) != self.removed).then_some((id, row))
    }
}

/// The first statement between two keys. Its key becomes the first of them.
#[cold]
#[inline(never)]
fn above<K: EntityId>(edits: &Edits<K>, low: &mut u64, high: u64) -> Option<K> {
    let id = edits.next_after(*low)?;
    let key = edits.key(id);
    if key >= high {
        return None;
    }
    *low = key;
    Some(id)
}

/// The last statement between two keys. Its key becomes the second of them.
#[cold]
#[inline(never)]
fn below<K: EntityId>(edits: &Edits<K>, low: u64, high: &mut u64) -> Option<K> {
    let id = edits.prev_before(*high)?;
    let key = edits.key(id);
    if key <= low {
        return None;
    }
    *high = key;
    Some(id)
}

impl<K: EntityId, V: Copy> Iterator for InOrder<'_, K, V> {
    type Item = (K, V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let id = match &mut self.order {
                Order::Plain(range) => K::from_index(range.next()?),
                Order::Placed(edits, low, high) => above(edits, low, *high)?,
            };
            if let Some(row) = self.row(id) {
                return Some(row);
            }
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.order {
            Order::Plain(range) => (0, Some(range.len())),
            Order::Placed(..) => (0, None),
        }
    }
}

impl<K: EntityId, V: Copy> DoubleEndedIterator for InOrder<'_, K, V> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            let id = match &mut self.order {
                Order::Plain(range) => K::from_index(range.next_back()?),
                Order::Placed(edits, low, high) => below(edits, *low, high)?,
            };
            if let Some(row) = self.row(id) {
                return Some(row);
            }
        }
    }
}

impl<K: Copy, V: Copy> Clone for InOrder<'_, K, V> {
    fn clone(&self) -> Self {
        Self {
            rows: self.rows,
            order: self.order.clone(),
            removed: self.removed,
        }
    }
}
