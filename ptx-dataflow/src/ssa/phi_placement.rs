//! Places phis: a variable has one in each block of the iterated dominance frontier of its writes where it is live.
//!
//! A frontier is not followed beyond a block where the variable is dead: from there on the variable is written again
//! before it is read.

use alloc::vec::Vec;

use ptx_ir::EntityId as _;

use super::local::LocalValues;
use crate::cfg::{BlockId, Cfg};
use crate::error::AnalysisError;
use crate::graph::{Csr, Dominators, Frontiers, IteratedFrontiers};
use crate::live_sets::{Effects, LiveSets};
use crate::meter::Meter;
use crate::reg_lanes::VariableId;

/// A phi of a variable at the start of a block.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct PlacedPhi {
    pub(super) variable: VariableId,
    pub(super) block: BlockId,
}

/// Computes the live variables of blocks. A conditional write does not read the old value.
pub(super) fn live_sets(cfg: &Cfg, local: &LocalValues) -> LiveSets {
    let uses = local.exposed.iter().filter(|exposed| exposed.kind.reads());
    let kills = local.last_defs.iter().filter(|def| def.is_unconditional);
    let effects = Effects {
        uses: &Csr::new(cfg.len(), uses.map(|e| (e.block, e.variable))),
        kills: &Csr::new(cfg.len(), kills.map(|def| (def.block, def.variable))),
        at_end: &Csr::new(cfg.len(), core::iter::empty()),
        bound: local.bound,
    };
    LiveSets::new(cfg, &effects)
}

/// Places the phis, in the order of variables and then of blocks.
///
/// # Errors
///
/// There are more phis and arguments of phis than `limit`, or the budget is exhausted.
pub(super) fn place(
    cfg: &Cfg,
    dominators: &Dominators<BlockId>,
    local: &LocalValues,
    live: &LiveSets,
    limit: u64,
    meter: &mut Meter<'_>,
) -> Result<Vec<PlacedPhi>, AnalysisError> {
    let variables = local.bound as usize;
    let mut is_read = vec![false; variables];
    for exposed in local.exposed.iter().filter(|e| e.kind.reads()) {
        if let Some(flag) = is_read.get_mut(exposed.variable.index()) {
            *flag = true;
        }
    }
    let writes = Csr::new(
        variables,
        local
            .last_defs
            .iter()
            .map(|def| (def.variable.as_u32(), BlockId::new(def.block)))
            .filter(|&(_, block)| dominators.is_reachable(block)),
    );
    let frontiers = Frontiers::new(cfg, dominators);
    let mut iterated = IteratedFrontiers::new(&frontiers);
    let mut placed = Vec::new();
    let mut cost = 0u64;
    for (number, _) in (0u32..).zip(&is_read).filter(|&(_, &read)| read) {
        let variable = VariableId::new(number);
        let cost_before = cost;
        let blocks = iterated.of(writes.row(number), |block| {
            let needed = live.is_live_in(block.as_u32(), variable);
            cost += 1;
            if needed {
                cost += cfg.predecessors(block).len() as u64;
            }
            needed && cost <= limit
        });
        if cost > limit {
            return Err(AnalysisError::TooManyPhis { limit });
        }
        meter.count((cost - cost_before) as usize)?;
        placed.extend(
            blocks
                .into_iter()
                .map(|block| PlacedPhi { variable, block }),
        );
    }
    Ok(placed)
}
