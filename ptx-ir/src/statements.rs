//! The statements of a body in order.

use core::ops::Range;

use crate::StmtId;
use crate::body::{Body, Statement};
use crate::edit::Edits;
use crate::entity::EntityId;

/// Iterates over statements with their ids, in order. Made by [`Body::statements`] and [`Body::range`].
#[derive(Clone, Debug)]
pub struct Statements<'b> {
    body: &'b Body,
    order: Order<'b>,
}

#[derive(Clone, Debug)]
enum Order<'b> {
    /// That of the ids.
    Plain(Range<usize>),
    /// That of the keys, between two of them.
    Placed(&'b Edits<StmtId>, u64, u64),
}

impl<'b> Statements<'b> {
    #[inline]
    pub(crate) fn all(body: &'b Body) -> Self {
        let order = match body.placed() {
            None => Order::Plain(0..body.statements.len()),
            Some(edits) => Order::Placed(edits, 0, u64::MAX),
        };
        Self { body, order }
    }

    #[inline]
    pub(crate) fn range(body: &'b Body, first: StmtId, end: StmtId) -> Self {
        let count = body.statements.len();
        let order = match body.placed() {
            None => Order::Plain(first.index()..end.index().min(count)),
            Some(edits) => {
                let end = if end.index() < count {
                    edits.key(end)
                } else {
                    u64::MAX
                };
                Order::Placed(edits, edits.key(first) - 1, end)
            }
        };
        Self { body, order }
    }

    #[inline]
    fn found(&self, id: StmtId) -> Option<(StmtId, Statement)> {
        let statement = *self.body.statements.get(id)?;
        (statement != Statement::Removed).then_some((id, statement))
    }
}

impl Iterator for Statements<'_> {
    type Item = (StmtId, Statement);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let id = match &mut self.order {
                Order::Plain(range) => StmtId::from_index(range.next()?),
                Order::Placed(edits, low, high) => {
                    let id = edits.above(*low)?;
                    let key = edits.key(id);
                    if key >= *high {
                        return None;
                    }
                    *low = key;
                    id
                }
            };
            if let Some(found) = self.found(id) {
                return Some(found);
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

impl DoubleEndedIterator for Statements<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            let id = match &mut self.order {
                Order::Plain(range) => StmtId::from_index(range.next_back()?),
                Order::Placed(edits, low, high) => {
                    let id = edits.below(*high)?;
                    let key = edits.key(id);
                    if key <= *low {
                        return None;
                    }
                    *high = key;
                    id
                }
            };
            if let Some(found) = self.found(id) {
                return Some(found);
            }
        }
    }
}
