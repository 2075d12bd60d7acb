//! Text with its statements, and blocks of it.

use alloc::vec::Vec;

use ptx_ir::{StmtId, StmtSpan};

use crate::text::Text;

/// Text and the statements in it. The body has their spans, counted from the start of this text.
#[derive(Default, Debug)]
pub(crate) struct Chunk {
    pub(crate) text: Text,
    /// The statements in order, as ranges of successive ids.
    pub(crate) statements: Vec<(u32, u32)>,
    /// What was cut off before the text, from where the spans still count.
    pub(crate) cut: u32,
}

impl Chunk {
    #[inline]
    pub(super) fn push(&mut self, stmt: StmtId) {
        let id = stmt.as_u32();
        match self.statements.last_mut() {
            Some((_, end)) if *end == id => *end += 1,
            _ => self.statements.push((id, id + 1)),
        }
    }

    /// How many statements begin before a place.
    fn before(&self, spans: &[StmtSpan], at: usize) -> (usize, u32) {
        let starts_before = |id: u32| {
            let span = spans.get(id as usize);
            span.is_some_and(|s| (s.span().start as usize) < at)
        };
        let whole = (self.statements).partition_point(|(_, end)| starts_before(end - 1));
        let (first, end) = self.statements.get(whole).copied().unwrap_or_default();
        // The range with the place has few statements after it.
        let kept = (first..end).rev().find(|id| starts_before(*id));
        (whole, kept.map_or(first, |id| id + 1))
    }

    /// Removes what begins at or after a place.
    pub(super) fn truncate(&mut self, len: usize, spans: &[StmtSpan]) {
        if len < self.text.len() {
            drop(self.split_off(len, spans));
        }
    }

    /// Cuts off what begins at or after a place.
    pub(super) fn split_off(&mut self, at: usize, spans: &[StmtSpan]) -> Self {
        let (whole, middle) = self.before(spans, at);
        let mut statements = self.statements.split_off(whole);
        if let Some(range) = statements.first_mut()
            && range.0 < middle
        {
            self.statements.push((range.0, middle));
            range.0 = middle;
        }
        statements.retain(|(first, end)| first < end);
        Self {
            text: self.text.split_off(at),
            statements,
            cut: at as u32,
        }
    }

    /// The statements in order.
    pub(super) fn ids(&self) -> impl Iterator<Item = StmtId> + '_ {
        let ranges = self.statements.iter();
        ranges.flat_map(|(first, end)| (*first..*end).map(StmtId::new))
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
