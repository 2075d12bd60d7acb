//! Registers that are loaded under a condition, such as that an index is inside an array, and used under another one.
//!
//! Programs that are correct often test the same thing again in another way: as an unsigned number, with another sum for the index, or by a flag
//! that was set together with the load. Such uses are not reported; neither are exchanges between lanes, whose results the other lanes need not
//! use. What every thread that loads the register uses afterwards is reported.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::ssa::{Ssa, ValueId};
use ptx_ir::facts::Facts;
use ptx_ir::{InstId, StmtId};
use ptx_semantics::fold::is_copy;

use crate::context::{FunctionContext, Reached};

/// Post-dominators that are looked at.
const STEPS: usize = 64;
/// Copies that are followed.
const COPIES: usize = 4;
/// Uses of a copy that are looked at.
const MOST_USES: usize = 8;

/// The loads of a function, and the uses of copies.
pub(super) struct GuardedLoads<'a> {
    cx: &'a FunctionContext<'a>,
    ssa: &'a Ssa,
    /// The statements that use the results of copies.
    uses: BTreeMap<ValueId, Vec<StmtId>>,
}

impl<'a> GuardedLoads<'a> {
    pub(super) fn new(cx: &'a FunctionContext<'a>, ssa: &'a Ssa) -> Self {
        let copies = cx
            .instructions()
            .filter(|at| is_copy_of(cx, at.inst, &at.facts));
        let values = copies.flat_map(|at| ssa.defs(at.stmt));
        let mut uses: BTreeMap<ValueId, Vec<StmtId>> =
            values.map(|value| (value, Vec::new())).collect();
        if !uses.is_empty() {
            for read in ssa.all_uses() {
                if let Some(of) = uses.get_mut(&read.value) {
                    of.push(read.stmt);
                }
            }
        }
        Self { cx, ssa, uses }
    }

    /// Whether a register that a load writes on other paths is only used where another condition holds.
    pub(super) fn explains(&self, read: &Reached<'_>, written: Option<StmtId>) -> bool {
        let loads = |stmt: &StmtId| {
            let facts = self.cx.inst_at(*stmt);
            facts.is_some_and(|f| f.memory().any(|access| access.reads() && !access.writes()))
        };
        let Some(load) = written.filter(loads) else {
            return false;
        };
        self.is_conditional(read.stmt, load, COPIES)
    }

    fn is_conditional(&self, stmt: StmtId, load: StmtId, copies: usize) -> bool {
        let Some(facts) = self.cx.inst_at(stmt) else {
            return false;
        };
        if facts.lanes().is_some() || facts.guard().is_some() || !self.always_follows(stmt, load) {
            return true;
        }
        let mut results = self.ssa.defs(stmt);
        match (results.next(), results.next(), copies.checked_sub(1)) {
            (Some(value), None, Some(copies)) => self.uses.get(&value).is_some_and(|uses| {
                uses.len() <= MOST_USES && {
                    let mut uses = uses.iter();
                    uses.all(|stmt| self.is_conditional(*stmt, load, copies))
                }
            }),
            _ => false,
        }
    }

    /// Whether each thread that executes a statement executes another one afterwards.
    fn always_follows(&self, after: StmtId, before: StmtId) -> bool {
        let block = |stmt| self.cx.cfg().of_statement(stmt);
        let (Some(to), mut at) = (block(after), block(before)) else {
            return false;
        };
        for _ in 0..STEPS {
            match at {
                Some(block) if block == to => return true,
                Some(block) => at = self.cx.analysis().ipdom(block),
                None => return false,
            }
        }
        true
    }
}

/// Whether an instruction copies one register to another one.
fn is_copy_of(cx: &FunctionContext<'_>, inst: InstId, facts: &Facts<'_>) -> bool {
    let signature = cx.body().inst(inst).map(|i| cx.module().signature(i.sig));
    let opcode = signature.and_then(|s| s.opcode());
    let mut reads = facts.registers().filter(|m| m.usage.reads());
    opcode.is_some_and(is_copy)
        && reads.next().is_some()
        && reads.next().is_none()
        && facts.guard().is_none()
}
