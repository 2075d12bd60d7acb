//! Resolves the uses that see a value from another block, by a walk over the dominator tree that keeps the current value of each variable.

use alloc::vec::Vec;

use ptx_ir::{BudgetExhausted, EntityId as _};

use super::local::{BlockStart, ExposedKind, ExposedUse, LastDef, LocalValues};
use super::phi_placement::PlacedPhi;
use super::{Ssa, Value, ValueId};
use crate::cfg::{BlockId, Cfg};
use crate::graph::{Csr, Dominators};
use crate::live_sets::LiveSets;
use crate::meter::Meter;
use crate::reg_lanes::VariableId;

/// The state of the walk.
struct Renamer<'a> {
    cfg: &'a Cfg,
    live: &'a LiveSets,
    exposed: &'a [ExposedUse],
    last_defs: &'a [LastDef],
    /// The first entries of each block in `exposed` and `last_defs`.
    starts: &'a [BlockStart],
    /// The current value of each variable.
    current: Vec<ValueId>,
    /// The values to restore when the walk leaves a block.
    undo: Vec<(VariableId, ValueId)>,
    ssa: Ssa,
}

/// Creates the values of the phis, and resolves upward-exposed uses.
pub(super) fn rename(
    cfg: &Cfg,
    dominators: &Dominators<BlockId>,
    local: LocalValues,
    live: &LiveSets,
    placed: &[PlacedPhi],
    meter: &mut Meter<'_>,
) -> Result<Ssa, BudgetExhausted> {
    let mut values = local.values;
    let mut current = vec![Ssa::UNKNOWN; local.bound as usize];
    for variable in live.sets.iter(live.live_in(Cfg::ENTRY.as_u32())) {
        if let Some(value) = current.get_mut(variable as usize) {
            *value = ValueId(values.len() as u32);
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
        positions: local.positions,
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
        last_defs: &local.last_defs,
        starts: &local.starts,
        current,
        undo: Vec::new(),
        ssa,
    };
    renamer.walk(dominators, meter)?;
    Ok(renamer.ssa)
}

/// The arguments of the phis before the walk, and the first one of each phi. They are unknown, but for the values where the function begins.
fn unknown_args(cfg: &Cfg, placed: &[PlacedPhi], at_entry: &[ValueId]) -> (Vec<ValueId>, Vec<u32>) {
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
    /// Visits the blocks, each after its immediate dominator.
    fn walk(
        &mut self,
        dominators: &Dominators<BlockId>,
        meter: &mut Meter<'_>,
    ) -> Result<(), BudgetExhausted> {
        let children = dominators.children();
        // A block, the number of its children that were visited, and the length of `undo` before it.
        let mut stack: Vec<(BlockId, usize, usize)> = vec![(Cfg::ENTRY, 0, 0)];
        self.block(Cfg::ENTRY);
        while let Some((block, visited_children, undo_len)) = stack.last_mut() {
            if let Some(&child) = children.row(block.as_u32()).get(*visited_children) {
                *visited_children += 1;
                stack.push((child, 0, self.undo.len()));
                meter.count(1)?;
                self.block(child);
                continue;
            }
            for (variable, value) in self.undo.drain(*undo_len..).rev() {
                if let Some(current) = self.current.get_mut(variable.index()) {
                    *current = value;
                }
            }
            stack.pop();
        }
        Ok(())
    }

    /// Resolves the uses in a block, and sets the arguments of the phis of its successors.
    fn block(&mut self, block: BlockId) {
        for index in 0..self.ssa.phis.row(block.as_u32()).len() {
            if let Some((phi, variable)) = self.phi(block, index) {
                self.set(variable, phi);
            }
        }
        let (exposed, last_defs) = self.rows(block);
        for exposed in exposed {
            self.resolve(exposed);
        }
        for last in last_defs {
            self.set(last.variable, last.value);
        }
        let cfg = self.cfg;
        for (id, edge) in cfg.out_edges(block) {
            let position = cfg.in_position(id).unwrap_or(0);
            for index in 0..self.ssa.phis.row(edge.to.as_u32()).len() {
                self.set_argument(edge.to, index, position);
            }
        }
    }

    /// The value and the variable of a phi of a block.
    fn phi(&self, block: BlockId, index: usize) -> Option<(ValueId, VariableId)> {
        let phi = ValueId(*self.ssa.phis.row(block.as_u32()).get(index)?);
        Some((phi, self.ssa.variable(phi)?))
    }

    /// Sets the argument of a phi for the edge at a position.
    fn set_argument(&mut self, block: BlockId, index: usize, position: usize) {
        let Some((phi, variable)) = self.phi(block, index) else {
            return;
        };
        let number = phi.0.saturating_sub(self.ssa.first_phi);
        let start = self.ssa.arg_starts.get(number as usize).copied();
        let value = self.current(variable);
        if let Some(arg) = self
            .ssa
            .args
            .get_mut(start.unwrap_or(0) as usize + position)
        {
            *arg = value;
        }
    }

    /// The upward-exposed uses and the last definitions of a block.
    fn rows(&self, block: BlockId) -> (&'a [ExposedUse], &'a [LastDef]) {
        let end = BlockStart {
            exposed: self.exposed.len() as u32,
            last_defs: self.last_defs.len() as u32,
        };
        let start = self.starts.get(block.index()).copied().unwrap_or(end);
        let next = self.starts.get(block.index() + 1).copied().unwrap_or(end);
        let exposed = start.exposed as usize..next.exposed as usize;
        let last_defs = start.last_defs as usize..next.last_defs as usize;
        (
            self.exposed.get(exposed).unwrap_or_default(),
            self.last_defs.get(last_defs).unwrap_or_default(),
        )
    }

    fn current(&self, variable: VariableId) -> ValueId {
        self.current
            .get(variable.index())
            .copied()
            .unwrap_or(Ssa::UNKNOWN)
    }

    /// Sets the current value of a variable until the walk leaves the block.
    fn set(&mut self, variable: VariableId, value: ValueId) {
        if let Some(current) = self.current.get_mut(variable.index()) {
            let old = core::mem::replace(current, value);
            self.undo.push((variable, old));
        }
    }

    /// Sets the value of an upward-exposed use to the current one.
    fn resolve(&mut self, exposed: &ExposedUse) {
        let value = self.current(exposed.variable);
        match exposed.kind {
            ExposedKind::ThroughMerge => {}
            ExposedKind::Use(number) => {
                if let Some(read) = self.ssa.uses.get_mut(number as usize) {
                    read.value = value;
                }
            }
            ExposedKind::Returned(number) => {
                if let Some(result) = self.ssa.returned.get_mut(number as usize) {
                    result.value = value;
                }
            }
            ExposedKind::OldValue(merge) => {
                if self.live.is_live_in(exposed.block, exposed.variable)
                    && let Some(Value::Def { old, .. }) = self.ssa.values.get_mut(merge.0 as usize)
                {
                    *old = Some(value);
                }
            }
        }
    }
}
