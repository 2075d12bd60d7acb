//! Registers that are loaded under a condition, such as that an index is inside an array, and used under another one.
//!
//! Programs that are correct often test the same thing again in another way: as an unsigned number, with another sum for the index, or by a flag
//! that was set together with the load. Such uses are not reported; neither are exchanges between lanes, whose results the other lanes need not
//! use. What every thread that loads the register uses afterwards is reported.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::OnceCell;

use ptx_analysis::ssa::{Ssa, ValueId};
use ptx_ir::facts::Facts;
use ptx_ir::{InstId, StmtId};
use ptx_semantics::internals::is_copy;

use crate::context::{FunctionContext, Reached};

/// The maximum number of post-dominators that are examined.
const MAX_POST_DOMINATORS: usize = 64;
/// The maximum number of copies that are followed.
const MAX_COPIES: usize = 4;
/// The maximum number of uses of a copy that are examined.
const MAX_USES: usize = 8;

/// The loads of a function, and the uses of copies.
pub(super) struct GuardedLoads<'a> {
    cx: &'a FunctionContext<'a>,
    ssa: &'a Ssa,
    /// The statements that use the results of copies, once they are needed.
    uses_of_copies: OnceCell<BTreeMap<ValueId, Vec<StmtId>>>,
}

impl<'a> GuardedLoads<'a> {
    pub(super) fn new(cx: &'a FunctionContext<'a>, ssa: &'a Ssa) -> Self {
        Self {
            cx,
            ssa,
            uses_of_copies: OnceCell::new(),
        }
    }

    /// Whether a register that a load writes on other paths is only used where another condition holds.
    pub(super) fn explains(&self, read: &Reached<'_>, written: Option<StmtId>) -> bool {
        let loads = |stmt: &StmtId| {
            let facts = self.cx.inst_at(*stmt);
            facts.is_some_and(|f| f.memory().any(|access| access.reads() && !access.writes()))
        };
        let load = written.filter(loads);
        load.is_some_and(|load| self.is_conditional(read.stmt, load, MAX_COPIES))
    }

    fn is_conditional(&self, stmt: StmtId, load: StmtId, copies: usize) -> bool {
        let Some(facts) = self.cx.inst_at(stmt) else {
            return false;
        };
        if facts.member_mask().is_some()
            || facts.guard().is_some()
            || !self.always_follows(stmt, load)
        {
            return true;
        }
        let mut results = self.ssa.defs(stmt);
        match (results.next(), results.next(), copies.checked_sub(1)) {
            (Some(value), None, Some(copies)) => self.uses_of_copy(value).is_some_and(|uses| {
                uses.len() <= MAX_USES
                    && uses
                        .iter()
                        .all(|stmt| self.is_conditional(*stmt, load, copies))
            }),
            _ => false,
        }
    }

    /// The statements that use a value; `None` if it is not the result of a copy.
    fn uses_of_copy(&self, value: ValueId) -> Option<&[StmtId]> {
        let uses_of_copies = self.uses_of_copies.get_or_init(|| {
            let mut uses: BTreeMap<ValueId, Vec<StmtId>> = self
                .cx
                .instructions()
                .filter(|inst| is_copy_of_register(self.cx, inst.inst, &inst.facts))
                .flat_map(|inst| self.ssa.defs(inst.stmt))
                .map(|value| (value, Vec::new()))
                .collect();
            for read in self.ssa.all_uses() {
                if let Some(uses) = uses.get_mut(&read.value) {
                    uses.push(read.stmt);
                }
            }
            uses
        });
        uses_of_copies.get(&value).map(Vec::as_slice)
    }

    /// Whether each thread that executes `first` executes `second` afterwards.
    fn always_follows(&self, second: StmtId, first: StmtId) -> bool {
        let block = |stmt| self.cx.cfg().of_statement(stmt);
        let (Some(target), mut post_dominator) = (block(second), block(first)) else {
            return false;
        };
        for _ in 0..MAX_POST_DOMINATORS {
            match post_dominator {
                Some(block) if block == target => return true,
                Some(block) => post_dominator = self.cx.analysis().ipdom(block),
                None => return false,
            }
        }
        true
    }
}

/// Whether an instruction copies one register to another one.
fn is_copy_of_register(cx: &FunctionContext<'_>, inst: InstId, facts: &Facts<'_>) -> bool {
    let signature = cx.body().inst(inst).map(|i| cx.module().signature(i.sig));
    let opcode = signature.and_then(|s| s.opcode());
    let reads = facts.registers().filter(|m| m.usage.reads());
    opcode.is_some_and(is_copy) && reads.take(2).count() == 1 && facts.guard().is_none()
}
