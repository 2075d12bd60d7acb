//! Basic blocks for output, without the dispatch blocks that branch tables add to the control-flow graph, and limits on the length of lists.

use std::cell::RefCell;

use ptx_analysis::cfg::{Block, BlockId};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::reg_lanes::VariableId;
use ptx_ir::{Body, EntityId as _, LineIndex, Module, Statement, StmtId};

/// The number of entries that the lists of a function may have if they can be quadratic in its size.
const LIST_ENTRIES: u64 = 1 << 20;
/// The number of further entries for each statement. Real functions need less than 20.
const LIST_ENTRIES_PER_STATEMENT: u64 = 64;

/// The largest number of entries of lists that can be quadratic in the size of a function with this number of statements.
#[must_use]
pub fn list_entries(statements: usize) -> u64 {
    LIST_ENTRIES + LIST_ENTRIES_PER_STATEMENT * statements as u64
}

/// Whether the registers that are live at the ends of all blocks are few enough to be listed.
#[must_use]
pub fn live_lists_fit(analysis: &FunctionAnalysis<'_>, statements: usize) -> bool {
    analysis.liveness().total() <= list_entries(statements)
}

/// The basic blocks of a function.
#[derive(Debug)]
pub struct BasicBlocks<'a> {
    module: &'a Module,
    body: &'a Body,
    analysis: &'a FunctionAnalysis<'a>,
    dispatches: Vec<Dispatch>,
    has_live_lists: bool,
    has_dispatch_successors: bool,
    visited: RefCell<Visited>,
}

/// A dispatch block: the successor of all jumps through a branch table, or of jumps to any label.
#[derive(Copy, Clone, Debug)]
struct Dispatch {
    block: BlockId,
    /// The dispatch block that control may enter from this one.
    next: Option<BlockId>,
}

/// The blocks that are in a list of successors already.
#[derive(Debug)]
struct Visited {
    /// For each block, the number of the last list that it was added to.
    lists: Vec<u32>,
    /// The number of the current list.
    current: u32,
}

impl<'a> BasicBlocks<'a> {
    /// Finds the blocks of an analyzed function.
    #[must_use]
    pub fn new(analysis: &'a FunctionAnalysis<'a>) -> Self {
        let (module, body) = (analysis.module(), analysis.body());
        let cfg = analysis.cfg();
        let statements = body.statement_table().len();
        let dispatches: Vec<Dispatch> = cfg
            .blocks()
            .filter(|(_, block)| block.is_dispatch)
            .map(|(block, _)| Dispatch {
                block,
                // Only the block of all labels is entered from other dispatch blocks.
                next: cfg
                    .successors(block)
                    .iter()
                    .copied()
                    .find(|id| cfg.block(*id).is_some_and(|b| b.is_dispatch)),
            })
            .collect();
        let dispatch_edges = dispatches
            .iter()
            .map(|dispatch| {
                let predecessors = cfg.predecessors(dispatch.block).len() as u64;
                let successors = cfg.successors(dispatch.block).len() as u64;
                predecessors.saturating_mul(successors)
            })
            .fold(0, u64::saturating_add);
        Self {
            module,
            body,
            has_live_lists: live_lists_fit(analysis, statements),
            has_dispatch_successors: dispatch_edges <= list_entries(statements),
            dispatches,
            analysis,
            visited: RefCell::new(Visited {
                lists: vec![0; cfg.len()],
                current: 0,
            }),
        }
    }

    /// Whether the lists of live registers are short enough for an output.
    #[must_use]
    pub fn has_live_lists(&self) -> bool {
        self.has_live_lists
    }

    /// Whether the successors of jumps through shared tables are few enough for an output.
    #[must_use]
    pub fn has_dispatch_successors(&self) -> bool {
        self.has_dispatch_successors
    }

    /// The blocks in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = (BlockId, &'a Block)> + use<'a> {
        self.analysis
            .cfg()
            .blocks()
            .filter(|(_, block)| !block.is_dispatch)
    }

    fn is_dispatch(&self, id: BlockId) -> bool {
        self.analysis.cfg().block(id).is_some_and(|b| b.is_dispatch)
    }

    /// The dispatch blocks that control may go through after a block, each once.
    fn dispatches_after(&self, id: BlockId) -> Vec<BlockId> {
        let mut reached: Vec<BlockId> = Vec::new();
        for successor in self.analysis.cfg().successors(id) {
            let index = self
                .dispatches
                .binary_search_by_key(successor, |dispatch| dispatch.block);
            let Some(dispatch) = index.ok().and_then(|index| self.dispatches.get(index)) else {
                continue;
            };
            for block in std::iter::once(dispatch.block).chain(dispatch.next) {
                if !reached.contains(&block) {
                    reached.push(block);
                }
            }
        }
        reached
    }

    /// The label at the start of a block.
    #[must_use]
    pub fn label(&self, block: &Block) -> Option<&'a str> {
        let label = self.body.labels().get(block.label?)?;
        Some(self.module.name(label.name))
    }

    /// The lines of the first and the last statement that does something.
    #[must_use]
    pub fn lines(&self, block: &Block, lines: &LineIndex) -> (u32, u32) {
        let is_code = |(stmt, statement): (StmtId, Statement)| match statement {
            Statement::Inst(_) | Statement::Opaque(_) => Some(stmt),
            // The label of a table is not a position in the code.
            Statement::Label(label) => self.analysis.cfg().of_label(label).map(|_| stmt),
            _ => None,
        };
        let statements = self.body.range(block.first, block.end);
        let base = self.body.base();
        let (mut start, mut end) = (base, base + 1);
        if let Some(first) = statements.clone().find_map(is_code) {
            start = self.body.source_span(first).start;
        }
        if let Some(last) = statements.rev().find_map(is_code) {
            end = self.body.source_span(last).end;
        }
        let line = |offset| lines.position(offset).line;
        (line(start), line(end.saturating_sub(1)))
    }

    /// Calls `visit` once for each successor, and returns whether there are few enough for an output.
    pub fn successors(&self, id: BlockId, visit: &mut dyn FnMut(u32)) -> bool {
        let cfg = self.analysis.cfg();
        let mut successors = cfg.successors(id).iter();
        if !self.has_dispatch_successors && successors.any(|block| self.is_dispatch(*block)) {
            return false;
        }
        let Visited { lists, current } = &mut *self.visited.borrow_mut();
        *current += 1;
        let mut worklist = vec![id];
        while let Some(block) = worklist.pop() {
            for &successor in cfg.successors(block) {
                let list = lists.get_mut(successor.index());
                if list.is_none_or(|list| std::mem::replace(list, *current) == *current) {
                    continue;
                }
                if self.is_dispatch(successor) {
                    worklist.push(successor);
                } else {
                    visit(successor.as_u32());
                }
            }
        }
        true
    }

    /// Whether control may leave the function at the end of a block.
    #[must_use]
    pub fn exits(&self, id: BlockId) -> bool {
        let cfg = self.analysis.cfg();
        std::iter::once(id)
            .chain(self.dispatches_after(id))
            .any(|b| cfg.block(b).is_some_and(|b| b.exits))
    }

    /// The immediate dominator.
    #[must_use]
    pub fn idom(&self, id: BlockId) -> Option<BlockId> {
        self.skip_dispatches(id, |analysis, block| analysis.idom(block))
    }

    /// The immediate post-dominator on paths that leave the function; `None` for unreachable blocks.
    #[must_use]
    pub fn ipdom(&self, id: BlockId) -> Option<BlockId> {
        self.skip_dispatches(id, |analysis, block| analysis.ipdom(block))
            .filter(|_| self.analysis.is_reachable(id))
    }

    /// The nearest ancestor in a tree of dominators that is not a dispatch block.
    fn skip_dispatches(
        &self,
        id: BlockId,
        parent: impl Fn(&FunctionAnalysis<'_>, BlockId) -> Option<BlockId>,
    ) -> Option<BlockId> {
        let mut ancestor = parent(self.analysis, id);
        while let Some(dispatch) = ancestor.filter(|&b| self.is_dispatch(b)) {
            ancestor = parent(self.analysis, dispatch);
        }
        ancestor
    }

    /// The header of the innermost natural loop.
    #[must_use]
    pub fn loop_header(&self, id: BlockId) -> Option<BlockId> {
        let header = self.analysis.loops().header(id);
        header.filter(|&h| !self.is_dispatch(h))
    }

    /// The registers that hold the results of the function, if a block may return.
    #[must_use]
    pub fn returned(&self, id: BlockId) -> &'a [VariableId] {
        let summary = self.analysis.summary();
        std::iter::once(id)
            .chain(self.dispatches_after(id))
            .map(|b| summary.returned(b))
            .find(|registers| !registers.is_empty())
            .unwrap_or_default()
    }
}
