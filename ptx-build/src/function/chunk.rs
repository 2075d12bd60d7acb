//! Text with its statements, and blocks of it.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{Span, StmtSpan};

use crate::draft::Order;

/// Text and the statements in it.
#[derive(Default, Debug)]
pub(crate) struct Chunk {
    pub(crate) text: String,
    /// The statements, with their places in the text.
    pub(crate) order: Order,
}

impl Chunk {
    /// Takes back what begins at or after a place.
    pub(super) fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        while (self.order.last()).is_some_and(|(_, s)| s.span().start as usize >= len) {
            self.order.pop();
        }
    }
}

impl Chunk {
    /// Cuts off what begins at or after a place.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let text = self.text.split_off(at);
        let first = (self.order).partition_point(|(_, s)| (s.span().start as usize) < at);
        let mut order = self.order.split_off(first);
        for (_, s) in &mut order {
            let (span, at) = (s.span(), at as u32);
            *s = StmtSpan::new(Span::new(span.start - at, span.end - at), s.has_comments());
        }
        Self { text, order }
    }
}

/// A block and its statements. Those of the current block are in [`Body::out`] instead.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) label: u32,
    pub(super) chunk: Chunk,
}

/// The blocks of a function, in the order of the finished text.
#[derive(Default, Debug)]
pub(crate) struct Blocks {
    /// The statements before the first label; empty while the entry is the current block.
    pub(super) entry: Chunk,
    /// How much of the entry there was when the first block was created.
    pub(super) entry_start: usize,
    /// Declarations made since then: they precede all uses.
    pub(super) declarations: Chunk,
    pub(super) blocks: Vec<Block>,
    /// The current block; `None` for the entry.
    pub(super) current: Option<usize>,
}

impl Blocks {
    /// Whether the function is built in the order of its text.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}
