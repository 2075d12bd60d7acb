//! The control-flow graph of a function.
//!
//! A block is a sequence of statements that is entered at its start and left at its end: it begins at a label or after an
//! instruction that may transfer control. Calls do not end a block unless they never return. Unreachable code has blocks, too.
//!
//! A jump through a table has an edge for each label of the table. If the targets are unknown (a statement that was not
//! recognized, a missing table), every label of the function is a target, and control can leave the function.
//!
//! Many jumps that share large tables, or many unknown jumps in a function with many labels, would have a quadratic number of
//! edges. If there are more than a few edges per statement, such jumps lead to *dispatch blocks*, which have no statements: one for each
//! shared table, and one for all unknown jumps. A dispatch block changes neither reachability nor dominance.
//!
//! Cost: linear in statements and edges.

mod build;

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::facts::FunctionFacts;
use ptx_ir::{Body, EntityId, InstId, LabelId, Statement, StmtId};

use crate::graph::{Csr, Graph, Node};

crate::ids::ids! {
    /// The id of a block of a [`Cfg`].
    BlockId;
    /// The id of an edge of a [`Cfg`].
    EdgeId;
}

impl Node for BlockId {
    fn from_u32(number: u32) -> Self {
        Self(number)
    }
    fn as_u32(self) -> u32 {
        self.0
    }
}

/// The reason why control may follow an edge.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum EdgeKind {
    /// To the next statement.
    Next,
    /// A jump to a label.
    Jump,
    /// A jump through the entry of a table with this number.
    Table(u32),
    /// A jump whose targets are unknown.
    Unknown,
}

/// An edge between two blocks.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Edge {
    /// The block that control leaves.
    pub from: BlockId,
    /// The block that control enters.
    pub to: BlockId,
    /// The reason why control may follow the edge.
    pub kind: EdgeKind,
    /// The value that the guard of the last instruction of `from` must have; `None` if there is no guard.
    pub when: Option<bool>,
}

/// A block of a [`Cfg`].
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub struct Block {
    /// The first statement.
    pub first: StmtId,
    /// The statement after the last one.
    pub end: StmtId,
    /// The label at the start.
    pub label: Option<LabelId>,
    /// Control can leave the function from the end of the block.
    pub exits: bool,
    /// Control may return from the end of the block to the caller, which reads the results. It does not where a thread ends.
    pub returns: bool,
    /// The end of the block was not recognized.
    pub unknown: bool,
    /// It is a dispatch block, without statements.
    pub is_dispatch: bool,
}

impl Block {
    /// The instructions of the block with their statements, in the order of the text. `body` is the body of the function.
    #[must_use]
    pub fn insts<'b>(
        &self,
        body: &'b Body,
    ) -> impl DoubleEndedIterator<Item = (StmtId, InstId)> + use<'b> {
        body.range(self.first, self.end)
            .filter_map(|(stmt, statement)| match statement {
                Statement::Inst(inst) => Some((stmt, inst)),
                _ => None,
            })
    }
}

/// The control-flow graph of a function. Its entry is [`Cfg::ENTRY`].
#[derive(Clone, Debug)]
pub struct Cfg {
    blocks: Vec<Block>,
    /// The edges, ordered by their sources.
    edges: Vec<Edge>,
    /// The first edge of each block, and after the last block the number of edges.
    starts: Vec<u32>,
    /// The edges into each block.
    in_edges: Csr<EdgeId>,
    /// The position of each edge among the edges into its target.
    positions: Vec<u32>,
    successors: Csr<BlockId>,
    predecessors: Csr<BlockId>,
    labels: Vec<Option<BlockId>>,
    /// The block of each statement, if edits changed their order; else empty.
    of_statements: Vec<Option<BlockId>>,
}

impl Cfg {
    /// The entry of every function.
    pub const ENTRY: BlockId = BlockId(0);

    /// Builds the graph of a function.
    ///
    /// ```
    /// use ptx_dataflow::cfg::Cfg;
    /// use ptx_ir::facts::ModuleFacts;
    /// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { .reg .pred p; L: @p bra L; ret; }").module;
    /// let facts = ModuleFacts::new(&module);
    /// let facts = facts.function(module.function("k").unwrap()).unwrap();
    /// let cfg = Cfg::new(facts);
    /// let header = cfg.of_label(facts.body().labels().ids().next().unwrap()).unwrap();
    /// // The loop and the block after it.
    /// assert_eq!((cfg.len(), cfg.successors(header).len()), (2, 2));
    /// assert!(cfg.successors(header).contains(&header));
    /// ```
    #[doc(hidden)]
    #[must_use]
    pub fn new(facts: FunctionFacts<'_>) -> Self {
        crate::builds::record("control flow", facts);
        let parts = build::build(facts);
        let count = parts.blocks.len();
        let edges = (0u32..).zip(&parts.edges);
        let in_edges = Csr::new(count, edges.map(|(id, e)| (e.to.0, EdgeId(id))));
        let successors = parts.edges.iter().map(|e| (e.from.0, e.to));
        let predecessors = parts.edges.iter().map(|e| (e.to.0, e.from));
        Self {
            positions: positions(&in_edges, parts.edges.len()),
            in_edges,
            successors: Csr::new(count, successors),
            predecessors: Csr::new(count, predecessors),
            of_statements: of_statements(facts.body(), &parts.blocks),
            blocks: parts.blocks,
            edges: parts.edges,
            starts: parts.starts,
            labels: parts.labels,
        }
    }

    /// The number of blocks, at least one. Includes dispatch blocks, which come last.
    #[allow(
        clippy::len_without_is_empty,
        reason = "a graph has at least one block"
    )]
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// All blocks with their ids.
    #[must_use]
    pub fn blocks(
        &self,
    ) -> impl ExactSizeIterator<Item = (BlockId, &Block)> + DoubleEndedIterator + Clone {
        self.blocks
            .iter()
            .enumerate()
            .map(|(index, block)| (BlockId::from_index(index), block))
    }

    /// A block; `None` if it is not one of this graph.
    #[must_use]
    pub fn block(&self, id: BlockId) -> Option<&Block> {
        self.blocks.get(id.index())
    }

    /// The targets of the edges out of a block, in the order of [`Cfg::out_edges`].
    #[must_use]
    pub fn successors(&self, id: BlockId) -> &[BlockId] {
        self.successors.row(id.0)
    }

    /// The sources of the edges into a block, in the order of [`Cfg::in_edges`].
    #[must_use]
    pub fn predecessors(&self, id: BlockId) -> &[BlockId] {
        self.predecessors.row(id.0)
    }

    /// All edges, in the order of their sources.
    #[must_use]
    pub fn edges(&self) -> impl ExactSizeIterator<Item = (EdgeId, &Edge)> + Clone {
        self.edges
            .iter()
            .enumerate()
            .map(|(index, edge)| (EdgeId::from_index(index), edge))
    }

    /// An edge; `None` if it is not one of this graph.
    #[must_use]
    pub fn edge(&self, id: EdgeId) -> Option<&Edge> {
        self.edges.get(id.index())
    }

    /// The edges out of a block.
    pub fn out_edges(&self, id: BlockId) -> impl ExactSizeIterator<Item = (EdgeId, &Edge)> + Clone {
        let range = self.out_range(id);
        let edges = self.edges.get(range.start as usize..range.end as usize);
        range.map(EdgeId).zip(edges.unwrap_or_default())
    }

    /// The edges into a block.
    #[must_use]
    pub fn in_edges(&self, id: BlockId) -> impl ExactSizeIterator<Item = (EdgeId, &Edge)> + Clone {
        self.in_edges
            .row(id.0)
            .iter()
            .map(|&id| (id, &self.edges[id.index()]))
    }

    /// The position of an edge among [`Cfg::in_edges`] of its target, which is the position of its argument in each phi.
    #[doc(hidden)]
    #[must_use]
    pub fn in_position(&self, id: EdgeId) -> Option<usize> {
        self.positions
            .get(id.index())
            .map(|&position| position as usize)
    }

    fn out_range(&self, id: BlockId) -> Range<u32> {
        let bound = |index: usize| self.starts.get(index).copied().unwrap_or(0);
        let start = bound(id.index());
        start..bound(id.index() + 1).max(start)
    }

    /// The block that a label begins; `None` for the label of a table, and for one inside of a block, to which nothing jumps.
    #[must_use]
    pub fn of_label(&self, label: LabelId) -> Option<BlockId> {
        *self.labels.get(label.index())?
    }

    /// The block that contains a statement.
    #[must_use]
    pub fn of_statement(&self, stmt: StmtId) -> Option<BlockId> {
        if !self.of_statements.is_empty() {
            return *self.of_statements.get(stmt.index())?;
        }
        let index = self
            .blocks
            .partition_point(|b| !b.is_dispatch && b.end.as_u32() <= stmt.as_u32());
        self.blocks.get(index).filter(|b| !b.is_dispatch)?;
        Some(BlockId::from_index(index))
    }
}

/// The position of each edge among the edges into its target.
fn positions(in_edges: &Csr<EdgeId>, edges: usize) -> Vec<u32> {
    let mut positions = vec![0; edges];
    for block in 0..in_edges.len() as u32 {
        for (position, edge) in (0..).zip(in_edges.row(block)) {
            if let Some(entry) = positions.get_mut(edge.index()) {
                *entry = position;
            }
        }
    }
    positions
}

/// The block of each statement of an edited body; empty if the order of the ids is that of the statements.
fn of_statements(body: &Body, blocks: &[Block]) -> Vec<Option<BlockId>> {
    if body.edits().is_none() {
        return Vec::new();
    }
    let mut statement_blocks = vec![None; body.statement_table().len()];
    for (index, block) in blocks.iter().enumerate().filter(|(_, b)| !b.is_dispatch) {
        for (stmt, _) in body.range(block.first, block.end) {
            if let Some(entry) = statement_blocks.get_mut(stmt.index()) {
                *entry = Some(BlockId::from_index(index));
            }
        }
    }
    statement_blocks
}

impl Graph for Cfg {
    type Node = BlockId;

    fn node_count(&self) -> u32 {
        self.blocks.len() as u32
    }
    fn entry(&self) -> BlockId {
        Self::ENTRY
    }
    fn successors(&self, node: BlockId) -> &[BlockId] {
        self.successors.row(node.0)
    }
    fn predecessors(&self, node: BlockId) -> &[BlockId] {
        self.predecessors.row(node.0)
    }
    fn exits(&self, node: BlockId) -> bool {
        self.blocks.get(node.index()).is_some_and(|b| b.exits)
    }
}
