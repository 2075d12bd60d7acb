//! Which blocks get a phi for which variable: those in the iterated dominance frontier of its writes where it is live.
//!
//! A frontier is not followed beyond a block where the variable is dead: from there on the variable is written again
//! before it is read.

use alloc::vec::Vec;

use ptx_ir::EntityId as _;

use super::TooManyPhis;
use super::local::Local;
use crate::cfg::{BlockId, Cfg};
use crate::graph::{Csr, Dominators, Frontiers, IteratedFrontiers};
use crate::live_sets::{Effects, LiveSets};
use crate::reg_lanes::VariableId;

/// A phi to be made.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Placed {
    pub(super) variable: VariableId,
    pub(super) block: BlockId,
}

/// Where variables are live. What a conditional write leaves unchanged is not counted as read by it.
pub(super) fn live_sets(cfg: &Cfg, local: &Local) -> LiveSets {
    let read = local.exposed.iter().filter(|e| e.slot.reads());
    let killed = local.lasts.iter().filter(|l| l.ends);
    let rows = cfg.len();
    let effects = Effects {
        uses: &Csr::new(rows, read.map(|e| (e.block, e.variable))),
        kills: &Csr::new(rows, killed.map(|l| (l.block, l.variable))),
        at_end: &Csr::new(rows, core::iter::empty()),
        bound: local.bound,
    };
    LiveSets::new(cfg, &effects)
}

/// The phis, by variable and then by block.
pub(super) fn place(
    cfg: &Cfg,
    dominators: &Dominators<BlockId>,
    local: &Local,
    live: &LiveSets,
    limit: u64,
) -> Result<Vec<Placed>, TooManyPhis> {
    let variables = local.bound as usize;
    let mut is_read = vec![false; variables];
    for exposed in local.exposed.iter().filter(|e| e.slot.reads()) {
        if let Some(read) = is_read.get_mut(exposed.variable.index()) {
            *read = true;
        }
    }
    let writes = Csr::new(
        variables,
        local
            .lasts
            .iter()
            .map(|last| (last.variable.as_u32(), BlockId::new(last.block)))
            .filter(|&(_, block)| dominators.is_reachable(block)),
    );
    let frontiers = Frontiers::new(cfg, dominators);
    let mut iterated = IteratedFrontiers::new(&frontiers);
    let mut placed = Vec::new();
    let mut cost = 0u64;
    for (number, _) in (0u32..).zip(&is_read).filter(|&(_, &read)| read) {
        let variable = VariableId::new(number);
        let blocks = iterated.of(writes.row(number), |block| {
            let needed = live.is_live_in(block.as_u32(), variable);
            cost += 1;
            if needed {
                cost += cfg.predecessors(block).len() as u64;
            }
            needed && cost <= limit
        });
        if cost > limit {
            return Err(TooManyPhis { limit });
        }
        placed.extend(blocks.into_iter().map(|block| Placed { variable, block }));
    }
    Ok(placed)
}
