//! Selects the sites of probes, and collects the facts about them before the first edit.

use alloc::vec::Vec;

use ptx_ir::facts::{
    Facts, Flow, FunctionFacts, MemoryAccess, ModuleFacts, RegAccess, RegisterComponent,
};
use ptx_ir::{EntityId, FuncId, GuardSense, Module, Operand, RegId, Span, Statement, StmtId};

use super::carry_flag::{self, Family};

/// Whether a probe runs before its instruction or after it.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Timing {
    /// Before the instruction, and after its labels and `.loc`.
    Before,
    /// After the instruction, before the next one.
    After,
}

/// An instruction that can be selected.
#[derive(Copy, Clone, Debug)]
#[non_exhaustive]
pub struct Candidate<'a> {
    /// The function of the instruction.
    pub function: FuncId,
    /// The statement of the instruction.
    pub statement: StmtId,
    /// The effects and the uses of operands of the instruction.
    pub facts: Facts<'a>,
}

/// A selected instruction, for its probe.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Site {
    /// The number of the site: they are counted from 0 in the order of the module.
    pub id: u32,
    /// The function of the instruction.
    pub function: FuncId,
    /// The instruction.
    pub statement: StmtId,
    /// Whether the probe runs before the instruction or after it.
    pub when: Timing,
    /// The memory accesses of the instruction.
    pub accesses: Vec<MemoryAccess>,
    /// The instruction in the source of the module.
    pub(super) span: Span,
    /// The guard of the instruction.
    pub(super) guard: Option<(RegId, GuardSense)>,
    /// The first result of the instruction, such as the old value of an atomic operation.
    pub(super) result: Option<Operand>,
    /// The registers that the instruction may overwrite before the probe runs; empty for a probe before it.
    pub(super) overwritten: Vec<RegisterComponent>,
    /// The family of the instruction that reads the carry flag later, if the flag is live at the probe.
    pub(super) carry: Option<Family>,
}

impl Site {
    /// The description of the site in a report.
    pub(super) const fn probed(&self) -> ProbedSite {
        ProbedSite {
            id: self.id,
            function: self.function,
            span: self.span,
            when: self.when,
        }
    }
}

/// An instruction that has a probe.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct ProbedSite {
    /// The number of the site: they are counted from 0 in the order of the module.
    pub id: u32,
    /// The function of the instruction.
    pub function: FuncId,
    /// The instruction in the source of the module; empty if an edit inserted it.
    pub span: Span,
    /// Whether the probe runs before the instruction or after it.
    pub when: Timing,
}

/// The reason why a selected instruction has no probe.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// Control does not continue after the instruction.
    NothingAfter,
    /// The guard of the instruction is not declared.
    Guard,
}

/// A selected instruction without a probe.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub struct Skipped {
    /// The function of the instruction.
    pub function: FuncId,
    /// The instruction in the source of the module; empty if an edit inserted it.
    pub span: Span,
    /// The reason.
    pub reason: Reason,
}

/// The sites of each function.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) functions: Vec<(FuncId, Vec<Site>)>,
    pub(super) skipped: Vec<Skipped>,
}

pub(super) fn plan(
    module: &Module,
    mut select: impl FnMut(&Candidate<'_>) -> Option<Timing>,
) -> Plan {
    let facts = ModuleFacts::new(module);
    let mut plan = Plan::default();
    let mut id = 0;
    for (function, _, body) in module.definitions() {
        let Some(function_facts) = facts.function(function) else {
            continue;
        };
        let mut sites = Vec::new();
        for (statement, record) in body.statements() {
            let Statement::Inst(inst) = record else {
                continue;
            };
            let candidate = Candidate {
                function,
                statement,
                facts: function_facts.inst(inst),
            };
            let Some(when) = select(&candidate) else {
                continue;
            };
            let span = body.source_span(statement);
            match site(&candidate, when, id, span) {
                Ok(site) => {
                    sites.push(site);
                    id += 1;
                }
                Err(reason) => plan.skipped.push(Skipped {
                    function,
                    span,
                    reason,
                }),
            }
        }
        if !sites.is_empty() {
            mark_carries(function_facts, &mut sites);
            plan.functions.push((function, sites));
        }
    }
    plan
}

fn site(candidate: &Candidate<'_>, when: Timing, id: u32, span: Span) -> Result<Site, Reason> {
    let facts = candidate.facts;
    let falls_through = match facts.flow() {
        Flow::Next => true,
        Flow::Call => !facts.never_returns(),
        _ => false,
    };
    if when == Timing::After && !falls_through {
        return Err(Reason::NothingAfter);
    }
    let guard = facts.guard_register();
    if guard.is_none() && facts.guard().is_some() {
        return Err(Reason::Guard);
    }
    let result = facts.parts().find(|(_, usage)| *usage == RegAccess::Write);
    Ok(Site {
        id,
        function: candidate.function,
        statement: candidate.statement,
        when,
        accesses: facts.memory().collect(),
        span,
        guard: guard.map(|(place, sense)| (place.register, sense)),
        result: result.map(|(operand, _)| operand),
        overwritten: match when {
            Timing::Before => Vec::new(),
            Timing::After => facts
                .registers()
                .filter(|usage| usage.usage != RegAccess::Read)
                .map(|usage| usage.place)
                .collect(),
        },
        carry: None,
    })
}

/// Marks the sites where the carry flag is live.
fn mark_carries(facts: FunctionFacts<'_>, sites: &mut [Site]) {
    let live = carry_flag::live(facts);
    if live.is_empty() {
        return;
    }
    for site in sites {
        let next_statement = match site.when {
            Timing::Before => Some(site.statement),
            Timing::After => facts.body().after(site.statement),
        };
        site.carry = next_statement.and_then(|stmt| *live.get(stmt.index())?);
    }
}
