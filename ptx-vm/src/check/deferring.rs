//! Loads whose results may not matter: `initcheck` reports uninitialized results where they are needed.

use std::collections::HashSet;

use ptx_ir::StmtId;
use ptx_isa::{Action, StateSpace};

use super::unset::{Finder, state_space};

/// The loads whose results are reported where they are needed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum DeferringLoads {
    /// Those of local memory, tensor memory, and of generic addresses.
    WithoutShared,
    All,
}

impl Finder<'_> {
    /// The loads whose results may not matter: an uninitialized result is reported where it is needed.
    pub(super) fn deferring_loads(
        &self,
        loads: DeferringLoads,
    ) -> impl Iterator<Item = StmtId> + '_ {
        let statements = self.facts.body().statements();
        statements
            .map(|(id, _)| id)
            .filter(move |id| self.defers(*id, loads))
    }

    fn defers(&self, stmt: StmtId, loads: DeferringLoads) -> bool {
        let Some(inst) = self.inst(stmt) else {
            return false;
        };
        let facts = self.facts.inst(inst);
        if facts.action() == Some(Action::TensorLoad) {
            return true;
        }
        let mut accesses = facts.memory();
        let (Some(access), None) = (accesses.next(), accesses.next()) else {
            return false;
        };
        if access.access != ptx_isa::Access::Read {
            return false;
        }
        let is_needed = self.is_needed.get(stmt.as_u32() as usize) == Some(&true);
        match state_space(&access) {
            Some(StateSpace::Local) => is_needed,
            Some(StateSpace::Shared) => {
                loads == DeferringLoads::All && is_needed && !self.is_passed_to_parameter(stmt)
            }
            Some(_) => false,
            // Code that is not optimized contains loads whose results are never read.
            None => is_needed || self.uses_of_results(stmt).next().is_none(),
        }
    }

    /// Whether results of a statement, or values that are computed from them, are stored to a parameter, where they are not followed.
    fn is_passed_to_parameter(&self, stmt: StmtId) -> bool {
        let mut worklist = vec![stmt];
        let mut seen = HashSet::from([stmt]);
        while let Some(stmt) = worklist.pop() {
            for id in self.uses_of_results(stmt) {
                let Some(&(user, variable)) = self.uses.get(id.as_u32() as usize) else {
                    continue;
                };
                if !seen.insert(user) {
                    continue;
                }
                if self.passes_on(user, variable) && !self.is_stored_by(user, variable) {
                    return true;
                }
                if self.only_computes(user) || self.exchanges(user) {
                    worklist.push(user);
                }
            }
        }
        false
    }
}
