//! The items that a sparse analysis evaluates, in order, and the readers of each value.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::{Body, EntityId as _, Statement, StmtId};

use crate::cfg::{BlockId, Cfg};
use crate::graph::{Csr, ReversePostOrder};
use crate::ssa::{Ssa, Value, ValueId};

/// A part of a function that a sweep evaluates.
#[doc(hidden)]
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A phi.
    Phi(ValueId),
    /// An instruction, or a statement that was not recognized.
    Statement(StmtId),
    /// The end of a block.
    BlockEnd(BlockId),
}

/// The number that denotes no item.
pub(super) const NO_ITEM: u32 = u32::MAX;

/// The items of a function in reverse postorder, and for each value the items that read it. Linear in the SSA form.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct SsaGraph {
    /// For each reachable block its phis, its statements and its end.
    pub(super) items: Vec<Item>,
    /// The block of each item.
    pub(super) blocks: Vec<BlockId>,
    /// The items of each block; empty for unreachable blocks.
    block_items: Vec<Range<u32>>,
    /// The item of each statement, or [`NO_ITEM`].
    pub(super) statement_items: Vec<u32>,
    /// The items that read each value.
    pub(super) readers: Csr,
}

impl SsaGraph {
    /// Creates the graph of an SSA form of a function.
    pub(crate) fn new(
        body: &Body,
        cfg: &Cfg,
        order: &ReversePostOrder<BlockId>,
        ssa: &Ssa,
    ) -> Self {
        let mut items = Vec::new();
        let mut blocks = Vec::new();
        let mut block_items = vec![0..0; cfg.len()];
        let mut statement_items = vec![NO_ITEM; body.statement_table().len()];
        // The items that read values, by the number of the value.
        let mut reads: Vec<(u32, u32)> = Vec::with_capacity(ssa.all_uses().len());
        for &block in order.order() {
            let first = items.len() as u32;
            for phi in ssa.phis(block) {
                let item = items.len() as u32;
                items.push(Item::Phi(phi));
                reads.extend(ssa.args(phi).iter().map(|arg| (arg.as_u32(), item)));
            }
            let range = cfg.block(block).map(|b| body.range(b.first, b.end));
            for (stmt, statement) in range.into_iter().flatten() {
                if !matches!(statement, Statement::Inst(_) | Statement::Opaque(_)) {
                    continue;
                }
                let item = items.len() as u32;
                items.push(Item::Statement(stmt));
                statement_items[stmt.index()] = item;
                reads.extend(ssa.uses(stmt).iter().map(|u| (u.value.as_u32(), item)));
                for def in ssa.defs(stmt) {
                    if let Value::Def { old: Some(old), .. } = ssa.value(def) {
                        reads.push((old.as_u32(), item));
                    }
                }
            }
            items.push(Item::BlockEnd(block));
            blocks.resize(items.len(), block);
            block_items[block.index()] = first..items.len() as u32;
        }
        Self {
            items,
            blocks,
            block_items,
            statement_items,
            readers: Csr::new(ssa.len(), reads.iter().copied()),
        }
    }

    /// The block of an instruction, if the entry of the function reaches it.
    #[must_use]
    pub fn block(&self, stmt: StmtId) -> Option<BlockId> {
        let item = *self.statement_items.get(stmt.index())?;
        self.blocks.get(item as usize).copied()
    }

    /// The items of a block in their order.
    #[doc(hidden)]
    #[must_use]
    pub fn block_items(&self, block: BlockId) -> &[Item] {
        let range = self.item_range(block);
        self.items
            .get(range.start as usize..range.end as usize)
            .unwrap_or_default()
    }

    pub(super) fn item_range(&self, block: BlockId) -> Range<u32> {
        self.block_items.get(block.index()).cloned().unwrap_or(0..0)
    }
}
