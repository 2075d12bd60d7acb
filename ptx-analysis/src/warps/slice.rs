//! The values that others depend on.

use alloc::vec::Vec;

use ptx_ir::EntityId as _;

use super::{Entry, Fact, WarpValues};
use crate::ssa::{Ssa, Value, ValueId};

impl WarpValues<'_> {
    /// The values from which a value is computed.
    pub(super) fn dependencies(&self, id: ValueId) -> Vec<ValueId> {
        match self.ssa.value(id) {
            Value::Phi { .. } => self.ssa.args(id).to_vec(),
            Value::Def { stmt, old, .. } => {
                let reads = self.ssa.uses(stmt).iter().map(|read| read.value);
                reads
                    .chain(old.filter(|old| *old != Ssa::UNKNOWN))
                    .collect()
            }
            Value::Entry { .. } | Value::Unknown => Vec::new(),
        }
    }

    /// Fills the table with the values that some values depend on, in the order in which they are evaluated.
    pub(super) fn collect(&mut self, needed: impl Iterator<Item = ValueId>) {
        let mut is_needed = vec![false; self.ssa.len()];
        let mut worklist: Vec<ValueId> = needed.collect();
        while let Some(id) = worklist.pop() {
            let Some(slot @ false) = is_needed.get_mut(id.index()) else {
                continue;
            };
            *slot = true;
            if !self.is_loaded(id) {
                worklist.extend(self.dependencies(id));
            }
        }
        self.positions = vec![u32::MAX; self.ssa.len()];
        for &block in self.function.reverse_post_order().order() {
            for phi in self.ssa.phis(block) {
                self.add(phi, &is_needed);
            }
            let Some(range) = self.function.cfg().block(block) else {
                continue;
            };
            for (stmt, _) in self.facts.body().range(range.first, range.end) {
                for def in self.ssa.defs(stmt) {
                    self.add(def, &is_needed);
                }
            }
        }
    }

    fn add(&mut self, id: ValueId, is_needed: &[bool]) {
        if is_needed.get(id.index()) != Some(&true) {
            return;
        }
        self.positions[id.index()] = self.table.len() as u32;
        self.table.push(Entry {
            id,
            fact: Fact::New,
            changed: 0,
            evaluated: 0,
        });
    }

    /// Returns whether a value is loaded from memory, and does not follow from the registers that the instruction reads.
    fn is_loaded(&self, id: ValueId) -> bool {
        let Value::Def {
            stmt, old: None, ..
        } = self.ssa.value(id)
        else {
            return false;
        };
        let inst = self.instruction(stmt);
        inst.is_some_and(|inst| self.facts.inst(inst).memory().next().is_some())
    }
}
