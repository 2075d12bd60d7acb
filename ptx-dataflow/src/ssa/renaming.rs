//! Which value each read sees: a walk over the dominator tree that keeps the current value of each variable.

use alloc::vec::Vec;

use ptx_ir::EntityId as _;

use super::local::{Exposed, Last, Local, Slot};
use super::phi_placement::Placed;
use super::{Ssa, Value, ValueId};
use crate::cfg::{BlockId, Cfg};
use crate::graph::{Csr, Dominators};
use crate::live_sets::LiveSets;
use crate::reg_lanes::VariableId;

struct Renamer<'a> {
    cfg: &'a Cfg,
    live: &'a LiveSets,
    exposed: &'a [Exposed],
    lasts: &'a [Last],
    /// Where the parts of `exposed` and `lasts` that belong to each block start.
    starts: &'a [(u32, u32)],
    /// The current value of each variable, and what to restore on the way back up.
    current: Vec<ValueId>,
    undo: Vec<(VariableId, ValueId)>,
    ssa: Ssa,
}

/// Makes the values of the phis and resolves everything that reads at the start of a block.
pub(super) fn rename(
    cfg: &Cfg,
    dominators: &Dominators<BlockId>,
    local: Local,
    live: &LiveSets,
    placed: &[Placed],
) -> Ssa {
    let mut values = local.values;
    let mut current = vec![Ssa::UNKNOWN; local.bound as usize];
    for variable in live.sets.iter(live.live_in(Cfg::ENTRY.as_u32())) {
        if let Some(slot) = current.get_mut(variable as usize) {
            *slot = ValueId(values.len() as u32);
        }
        values.push(Value::Entry {
            variable: VariableId::new(variable),
        });
    }
    let first_phi = values.len() as u32;
    values.extend(placed.iter().map(|p| Value::Phi {
        block: p.block,
        variable: p.variable,
    }));
    let phis = placed.iter().map(|p| p.block.as_u32()).zip(first_phi..);
    let (args, arg_starts) = unknown_args(cfg, placed, &current);
    let ssa = Ssa {
        stamp: local.stamp,
        values,
        uses: local.uses,
        returned: local.returned,
        use_starts: local.use_starts,
        def_starts: local.def_starts,
        places: local.places,
        phis: Csr::new(cfg.len(), phis),
        args,
        arg_starts,
        first_phi,
        carry: local.carry,
    };
    let mut renamer = Renamer {
        cfg,
        live,
        exposed: &local.exposed,
        lasts: &local.lasts,
        starts: &local.starts,
        current,
        undo: Vec::new(),
        ssa,
    };
    renamer.walk(dominators);
    renamer.ssa
}

/// The arguments of the phis before the walk: unknown but for what there was when the function began; and where those of
/// each phi start.
fn unknown_args(cfg: &Cfg, placed: &[Placed], at_entry: &[ValueId]) -> (Vec<ValueId>, Vec<u32>) {
    let mut args = Vec::new();
    let mut starts = vec![0];
    for phi in placed {
        let edges = cfg.in_edges(phi.block).len();
        args.resize(args.len() + edges, Ssa::UNKNOWN);
        if phi.block == Cfg::ENTRY {
            args.extend(at_entry.get(phi.variable.index()));
        }
        starts.push(args.len() as u32);
    }
    (args, starts)
}

impl<'a> Renamer<'a> {
    fn walk(&mut self, dominators: &Dominators<BlockId>) {
        let children = dominators.children();
        // A block, how many of its children are done, and how much to undo after it.
        let mut stack: Vec<(BlockId, usize, usize)> = vec![(Cfg::ENTRY, 0, 0)];
        self.block(Cfg::ENTRY);
        while let Some((block, done, undo)) = stack.last_mut() {
            if let Some(&child) = children.row(block.as_u32()).get(*done) {
                *done += 1;
                stack.push((child, 0, self.undo.len()));
                self.block(child);
                continue;
            }
            for (variable, value) in self.undo.drain(*undo..).rev() {
                if let Some(slot) = self.current.get_mut(variable.index()) {
                    *slot = value;
                }
            }
            stack.pop();
        }
    }

    fn block(&mut self, block: BlockId) {
        for i in 0..self.ssa.phis.row(block.as_u32()).len() {
            if let Some((phi, variable)) = self.phi(block, i) {
                self.set(variable, phi);
            }
        }
        let (exposed, lasts) = self.rows(block);
        for exposed in exposed {
            self.resolve(exposed);
        }
        for last in lasts {
            self.set(last.variable, last.value);
        }
        let cfg = self.cfg;
        for (id, edge) in cfg.out_edges(block) {
            let position = cfg.in_position(id).unwrap_or(0);
            for i in 0..self.ssa.phis.row(edge.to.as_u32()).len() {
                self.arrive(edge.to, i, position);
            }
        }
    }

    /// The value and the variable of a phi of a block.
    fn phi(&self, block: BlockId, index: usize) -> Option<(ValueId, VariableId)> {
        let phi = ValueId(*self.ssa.phis.row(block.as_u32()).get(index)?);
        Some((phi, self.ssa.variable(phi)?))
    }

    /// Sets the argument of a phi that an edge brings.
    fn arrive(&mut self, block: BlockId, index: usize, position: usize) {
        let Some((phi, variable)) = self.phi(block, index) else {
            return;
        };
        let number = phi.0.saturating_sub(self.ssa.first_phi);
        let start = self.ssa.arg_starts.get(number as usize).copied();
        let at = start.unwrap_or(0) as usize + position;
        let value = self.current(variable);
        if let Some(arg) = self.ssa.args.get_mut(at) {
            *arg = value;
        }
    }

    fn rows(&self, block: BlockId) -> (&'a [Exposed], &'a [Last]) {
        let index = block.as_u32() as usize;
        let end = (self.exposed.len() as u32, self.lasts.len() as u32);
        let from = self.starts.get(index).copied().unwrap_or(end);
        let to = self.starts.get(index + 1).copied().unwrap_or(end);
        let exposed = self.exposed.get(from.0 as usize..to.0 as usize);
        let lasts = self.lasts.get(from.1 as usize..to.1 as usize);
        (exposed.unwrap_or_default(), lasts.unwrap_or_default())
    }

    fn current(&self, variable: VariableId) -> ValueId {
        let value = self.current.get(variable.index()).copied();
        value.unwrap_or(Ssa::UNKNOWN)
    }

    fn set(&mut self, variable: VariableId, value: ValueId) {
        if let Some(slot) = self.current.get_mut(variable.index()) {
            self.undo.push((variable, core::mem::replace(slot, value)));
        }
    }

    /// Gives what reads at the start of a block the current value.
    fn resolve(&mut self, exposed: &Exposed) {
        let value = self.current(exposed.variable);
        match exposed.slot {
            Slot::Through => {}
            Slot::Use(number) => {
                if let Some(read) = self.ssa.uses.get_mut(number as usize) {
                    read.value = value;
                }
            }
            Slot::Returned(number) => {
                if let Some(result) = self.ssa.returned.get_mut(number as usize) {
                    result.value = value;
                }
            }
            Slot::Old(merge) => {
                if self.live.is_live_in(exposed.block, exposed.variable)
                    && let Some(Value::Def { old, .. }) = self.ssa.values.get_mut(merge.0 as usize)
                {
                    *old = Some(value);
                }
            }
        }
    }
}
