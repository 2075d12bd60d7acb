//! Comments of statements and items that are in no source.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;

use crate::entity::EntityId;

/// The place of a comment relative to its statement or item when it is printed.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum CommentPlace {
    /// On separate lines before it.
    Above,
    /// At the end of its last line.
    EndOfLine,
}

/// The comments of a body or a module that was built, by statement or item. Comments of a parsed module are in its source.
#[derive(Clone, Debug)]
pub struct Comments<K> {
    /// The comments in the order of their places.
    rows: Vec<Row>,
    key: PhantomData<fn() -> K>,
}

#[derive(Clone, Debug)]
struct Row {
    /// The index of the statement or item; `u32::MAX` for the end of the body or the module.
    index: u32,
    place: CommentPlace,
    text: Box<str>,
}

impl<K> Default for Comments<K> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            key: PhantomData,
        }
    }
}

impl<K: EntityId> Comments<K> {
    /// Whether there are no comments.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a comment with its delimiters, after those at the same place; `None` is the end of the body or the module. Comments
    /// are added in the order of their places.
    #[doc(hidden)]
    pub fn push(&mut self, id: Option<K>, place: CommentPlace, text: &str) {
        self.rows.push(Row {
            index: index(id),
            place,
            text: text.into(),
        });
    }

    /// The comments at a place, in order; `None` is the end of the body or the module. Logarithmic in the number of comments.
    pub fn at(&self, id: Option<K>, place: CommentPlace) -> impl Iterator<Item = &str> + '_ {
        let position = (index(id), place);
        let first = self.rows.partition_point(|r| (r.index, r.place) < position);
        self.rows
            .get(first..)
            .unwrap_or_default()
            .iter()
            .take_while(move |r| (r.index, r.place) == position)
            .map(|r| &*r.text)
    }

    /// All comments in order, with their statements or items; `None` is the end.
    pub fn iter(&self) -> impl Iterator<Item = (Option<K>, CommentPlace, &str)> + '_ {
        self.rows.iter().map(|r| {
            let id = (r.index != u32::MAX).then(|| K::from_index(r.index as usize));
            (id, r.place, &*r.text)
        })
    }
}

/// The index in a [`Row`].
fn index<K: EntityId>(id: Option<K>) -> u32 {
    id.map_or(u32::MAX, |id| id.index() as u32)
}
