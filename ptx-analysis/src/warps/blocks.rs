//! The lanes of a warp that execute a block.

use alloc::vec::Vec;

use ptx_ir::EntityId as _;
use ptx_isa::Uniformity;

use super::{Masks, WarpValues};
use crate::cfg::BlockId;

impl WarpValues<'_> {
    /// For each block of a kernel the sets of lanes that may execute it; `None` if they are unknown. Linear in the edges.
    pub(crate) fn executing_lanes(&self) -> Vec<Option<Masks>> {
        let cfg = self.function.cfg();
        let post = self.function.post_dominators();
        let dominators = self.function.dominators();
        let mut lanes: Vec<Option<Masks>> = vec![None; cfg.len()];
        for (position, &block) in self
            .function
            .reverse_post_order()
            .order()
            .iter()
            .enumerate()
        {
            let dominator = dominators.immediate(block);
            let masks = match dominator {
                // Functions may be called by some lanes only.
                _ if position == 0 => {
                    let is_kernel = self.values.is_kernel();
                    is_kernel.then_some(Masks::known(u32::MAX))
                }
                // The lanes that separate at the dominator meet again.
                Some(dominator) if post.dominates(block, dominator) => lanes[dominator.index()],
                _ => self.lanes_of_edges(block, &lanes),
            };
            lanes[block.index()] = masks.filter(|_| self.stays_together(block));
        }
        lanes
    }

    /// Returns whether the lanes of a warp leave the loops around a block together.
    fn stays_together(&self, block: BlockId) -> bool {
        let loops = self.function.loop_forest();
        let mut innermost = loops.innermost(block);
        while let Some(id) = innermost {
            if self.uniformity.exit(id) > Uniformity::Warp {
                return false;
            }
            innermost = loops.get(id).and_then(|info| info.parent());
        }
        true
    }

    /// The lanes that reach a block over one of its edges.
    fn lanes_of_edges(&self, block: BlockId, lanes: &[Option<Masks>]) -> Option<Masks> {
        let cfg = self.function.cfg();
        let order = self.function.reverse_post_order();
        let mut all: Option<Masks> = None;
        let mut count = 0;
        for (_, edge) in cfg.in_edges(block) {
            if order.position(edge.from) >= order.position(block) {
                continue;
            }
            count += 1;
            let reaching = lanes[edge.from.index()]?;
            let masks = match edge.when {
                None => reaching,
                Some(when) => {
                    let taking = match self.branch_masks(edge.from) {
                        Some(taking) if when => taking,
                        Some(taking) => taking.negated(),
                        None if self.uniformity.branch(edge.from) <= Uniformity::Warp => {
                            Masks::UNIFORM
                        }
                        None => return None,
                    };
                    reaching.combined(taking, |reaching, taking| reaching & taking)?
                }
            };
            let masks = masks.without_empty();
            all = Some(match all {
                None => masks,
                Some(all) => all.join(masks)?,
            });
        }
        all.filter(|_| count == 1 || self.uniformity.join(block) <= Uniformity::Warp)
    }

    /// The sets of lanes in which the register of the guard of the last instruction of a block may hold.
    fn branch_masks(&self, block: BlockId) -> Option<Masks> {
        let range = self.function.cfg().block(block)?;
        let (stmt, inst) = range.insts(self.facts.body()).next_back()?;
        let (place, _) = self.facts.inst(inst).guard_register()?;
        self.read(self.register(stmt, place)?, block)
            .term()?
            .masks()
    }
}
