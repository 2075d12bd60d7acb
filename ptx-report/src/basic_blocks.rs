//! Basic blocks for output, without the dispatch blocks that branch tables add to the control-flow graph.

use std::cell::RefCell;

use ptx_analysis::cfg::{Block, BlockId};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::reg_lanes::VariableId;
use ptx_ir::{Body, EntityId as _, LineIndex, Module, Span, Statement, StmtId};

use crate::live_lists::{list_entries, live_lists_fit};

/// The basic blocks of a function.
#[derive(Debug)]
pub struct BasicBlocks<'a> {
    module: &'a Module,
    body: &'a Body,
    analysis: &'a FunctionAnalysis<'a>,
    /// The dispatch blocks, and for each one the dispatch block that control may enter from it.
    dispatches: Vec<(BlockId, Option<BlockId>)>,
    has_live_lists: bool,
    has_dispatch_successors: bool,
    /// For each block the last list that it was added to, and the number of that list.
    seen: RefCell<(Vec<u32>, u32)>,
}

impl<'a> BasicBlocks<'a> {
    /// The blocks of an analyzed function.
    #[must_use]
    pub fn new(analysis: &'a FunctionAnalysis<'a>) -> Self {
        let (module, body) = (analysis.module(), analysis.body());
        let cfg = analysis.cfg();
        let statements = body.statement_table().len();
        let is_dispatch = |id: &BlockId| cfg.block(*id).is_some_and(|b| b.is_dispatch);
        let dispatches = cfg.blocks().filter(|(_, b)| b.is_dispatch).map(|(id, _)| {
            // Only that of all labels is entered from others.
            (id, cfg.successors(id).iter().copied().find(is_dispatch))
        });
        let dispatches: Vec<_> = dispatches.collect();
        let edges = dispatches.iter().map(|(id, _)| {
            let (into, out) = (cfg.predecessors(*id).len(), cfg.successors(*id).len());
            (into as u64).saturating_mul(out as u64)
        });
        Self {
            module,
            body,
            has_live_lists: live_lists_fit(analysis, statements),
            has_dispatch_successors: edges.fold(0, u64::saturating_add) <= list_entries(statements),
            dispatches,
            analysis,
            seen: RefCell::new((vec![0; cfg.len()], 0)),
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
        let blocks = self.analysis.cfg().blocks();
        blocks.filter(|(_, block)| !block.is_dispatch)
    }

    fn is_dispatch(&self, id: BlockId) -> bool {
        self.analysis.cfg().block(id).is_some_and(|b| b.is_dispatch)
    }

    /// The dispatch blocks that control may go through after a block, each once.
    fn dispatch_after(&self, id: BlockId) -> Vec<BlockId> {
        let mut found: Vec<BlockId> = Vec::new();
        for to in self.analysis.cfg().successors(id) {
            let entered = self.dispatches.binary_search_by_key(to, |(id, _)| *id);
            let entered = entered.ok().and_then(|index| self.dispatches.get(index));
            let Some(&(first, then)) = entered else {
                continue;
            };
            for block in std::iter::once(first).chain(then) {
                if !found.contains(&block) {
                    found.push(block);
                }
            }
        }
        found
    }

    /// The label at the start of a block.
    #[must_use]
    pub fn label(&self, block: &Block) -> Option<&'a str> {
        let label = self.body.labels().get(block.label?)?;
        Some(self.module.name(label.name))
    }

    /// The lines of the first and of the last statement that does something.
    #[must_use]
    pub fn lines(&self, block: &Block, lines: &LineIndex) -> (u32, u32) {
        let counts = |(stmt, statement): (StmtId, Statement)| match statement {
            Statement::Inst(_) | Statement::Opaque(_) => Some(stmt),
            // The label of a table is not a position in the code.
            Statement::Label(label) => self.analysis.cfg().of_label(label).map(|_| stmt),
            _ => None,
        };
        let statements = || self.body.range(block.first, block.end);
        let base = self.body.base();
        let span = |stmt: Option<StmtId>| match stmt {
            Some(stmt) => self.body.source_span(stmt),
            None => Span::new(base, base + 1),
        };
        let first = span(statements().find_map(counts)).start;
        let last = span(statements().rev().find_map(counts)).end;
        let line = |offset| lines.position(offset).line;
        (line(first), line(last.saturating_sub(1)))
    }

    /// Calls `each` once for each successor; returns whether there are few enough for an output.
    pub fn successors(&self, id: BlockId, each: &mut dyn FnMut(u32)) -> bool {
        let cfg = self.analysis.cfg();
        let is_entered = |&b: &BlockId| self.is_dispatch(b);
        if !self.has_dispatch_successors && cfg.successors(id).iter().any(is_entered) {
            return false;
        }
        let (seen, list) = &mut *self.seen.borrow_mut();
        *list += 1;
        let mut work = vec![id];
        while let Some(from) = work.pop() {
            for &to in cfg.successors(from) {
                let last = seen.get_mut(to.index());
                if last.is_none_or(|last| std::mem::replace(last, *list) == *list) {
                    continue;
                }
                if self.is_dispatch(to) {
                    work.push(to);
                } else {
                    each(to.as_u32());
                }
            }
        }
        true
    }

    /// Whether control may leave the function at the end of a block.
    #[must_use]
    pub fn exits(&self, id: BlockId) -> bool {
        let through = self.dispatch_after(id);
        let mut all = std::iter::once(id).chain(through);
        let cfg = self.analysis.cfg();
        all.any(|b| cfg.block(b).is_some_and(|b| b.exits))
    }

    /// The immediate dominator.
    #[must_use]
    pub fn idom(&self, id: BlockId) -> Option<BlockId> {
        self.above(id, |analysis, block| analysis.idom(block))
    }

    /// The immediate post-dominator on paths that leave the function; `None` for unreachable blocks.
    #[must_use]
    pub fn ipdom(&self, id: BlockId) -> Option<BlockId> {
        let found = self.above(id, |analysis, block| analysis.ipdom(block));
        found.filter(|_| self.analysis.is_reachable(id))
    }

    fn above(
        &self,
        id: BlockId,
        of: impl Fn(&FunctionAnalysis<'_>, BlockId) -> Option<BlockId>,
    ) -> Option<BlockId> {
        let mut at = of(self.analysis, id);
        while let Some(dispatch) = at.filter(|&b| self.is_dispatch(b)) {
            at = of(self.analysis, dispatch);
        }
        at
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
        let mut all = std::iter::once(id).chain(self.dispatch_after(id));
        let returned = all.find_map(|b| Some(summary.returned(b)).filter(|r| !r.is_empty()));
        returned.unwrap_or_default()
    }
}
