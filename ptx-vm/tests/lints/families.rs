//! Why lints do not find what checkers report: what a family has in common, so that a report of none is a mistake of one of them.

use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::memory_access::Access;
use ptx_analysis::source_lines::SourceLines;
use ptx_analysis::values::AffineSymbol;
use ptx_ir::facts::{Flow, MemoryAccess, ModuleFacts, Space};
use ptx_ir::{Code, FuncId, InstId, Operand, Statement};
use ptx_isa::{SpecialReg, StateSpace};
use ptx_vm::Report;

use super::executed::At;

/// The section of the PTX ISA manual about moves and conversions.
const MOVES: &str = "9.7.9.";

/// Why no lint finds what a checker reports in a launch with CTAs of a shape.
pub(crate) fn of(
    facts: &ModuleFacts<'_>,
    report: &Report,
    block: [u32; 3],
) -> Option<&'static str> {
    let at = (report.at.function, report.at.inst?);
    match report.code {
        Code::UnsetRegister => of_register(facts, at),
        Code::MissingThreads if has_count(facts, at) => Some("a barrier with a number of threads"),
        _ if has_other_dimensions(facts, block) => {
            Some("the CTA has other dimensions than the indices that the module reads")
        }
        Code::DataRace | Code::PendingCopy | Code::UnfencedProxy => {
            let (other, _) = report.other.as_ref()?;
            of_race(facts, at, (other.function, other.inst?))
        }
        _ => None,
    }
}

/// Why `initcheck` does not report a read of a register that was never written.
pub(crate) fn of_unset(facts: &ModuleFacts<'_>, (function, inst): At) -> Option<&'static str> {
    let of = facts.function(function)?.inst(inst);
    let is_private = |m: MemoryAccess| match m.space {
        Space::State(space) => m.writes() && space.base() != StateSpace::Global,
        _ => m.writes(),
    };
    if of.member_mask().is_some() {
        return Some("the value is only passed on to other lanes");
    }
    if of.memory().any(is_private) {
        return Some("the value is only stored where one CTA sees it");
    }
    let computes =
        of.flow() == Flow::Next && !of.has_side_effects() && of.memory().next().is_none();
    computes.then_some("the result is not needed in this run")
}

/// Whether a barrier states how many threads come to it.
fn has_count(facts: &ModuleFacts<'_>, (function, inst): At) -> bool {
    let of = facts.function(function);
    of.is_some_and(|of| of.inst(inst).operand(1).is_some())
}

/// Whether the indices that instructions read are not those of the dimensions of a CTA.
fn has_other_dimensions(facts: &ModuleFacts<'_>, block: [u32; 3]) -> bool {
    let mut read = [true, false, false];
    for (_, _, body) in facts.module().definitions() {
        for operand in body.insts().flat_map(|(id, _)| body.operands(id)) {
            if let Operand::Component(selector, at) = operand
                && matches!(body.pool().get(*at), Operand::Special(SpecialReg::Tid))
                && let Some(read) = selector
                    .element()
                    .and_then(|e| read.get_mut(usize::from(e)))
            {
                *read = true;
            }
        }
    }
    block
        .iter()
        .zip(read)
        .skip(1)
        .any(|(size, read)| (*size > 1) != read)
}

fn of_register(facts: &ModuleFacts<'_>, (function, inst): At) -> Option<&'static str> {
    let of = facts.function(function)?;
    let analysis = FunctionAnalysis::new(of);
    let mut statements = of.body().statements();
    let (stmt, _) = statements.find(|(_, s)| *s == Statement::Inst(inst))?;
    if !analysis.live_code().ok()?.contains(stmt) {
        return Some("nothing depends on the result");
    }
    let lines = SourceLines::new(facts.module());
    if lines.function(of.body()).is_inline_asm(stmt) {
        return Some("inline assembly, whose operands compilers leave undefined");
    }
    let function = of;
    let of = of.inst(inst);
    let reads = || of.registers().filter(|mention| mention.usage.reads());
    if of.memory().next().is_none() && of.section().starts_with(MOVES) && reads().count() > 1 {
        return Some("the register becomes a part of a larger value");
    }
    let is_loaded = |at: InstId| {
        let load = function.inst(at);
        let results = || load.registers().filter(|mention| mention.usage.writes());
        let reads_memory = load.memory().any(|m| m.reads() && !m.writes());
        reads_memory && reads().any(|read| results().any(|to| to.place == read.place))
    };
    let mut statements = function.body().statements();
    let loaded = statements.any(|(_, s)| matches!(s, Statement::Inst(at) if is_loaded(at)));
    loaded.then_some("the register is loaded where another condition holds")
}

fn of_race(
    facts: &ModuleFacts<'_>,
    (function, inst): (FuncId, InstId),
    (other_function, other): (FuncId, InstId),
) -> Option<&'static str> {
    if function != other_function {
        return Some("the accesses are in different functions");
    }
    let of = facts.function(function)?;
    let analysis = FunctionAnalysis::new(of);
    let (values, accesses) = (analysis.values().ok()?, analysis.accesses().ok()?);
    let is_known = |access: &Access| {
        let terms = access.address.as_ref().map(|address| address.terms());
        let known = |symbol| {
            matches!(
                values.symbol(symbol),
                Some(AffineSymbol::Special(..) | AffineSymbol::Variable(_))
            )
        };
        terms.is_some_and(|terms| terms.iter().all(|term| known(term.symbol)))
    };
    let provenance = |inst| {
        let mut all = accesses
            .all()
            .iter()
            .filter(move |access| access.inst == inst);
        all.next().and_then(|access| access.provenance)
    };
    if provenance(inst) != provenance(other) {
        return Some("the accesses are to different variables");
    }
    let block = |inst| {
        let mut statements = of.body().statements();
        let (stmt, _) = statements.find(|(_, s)| *s == Statement::Inst(inst))?;
        analysis.cfg().of_statement(stmt)
    };
    let (first, second) = (block(inst)?, block(other)?);
    if !leads(analysis.cfg(), first, second) && !leads(analysis.cfg(), second, first) {
        return Some("the accesses are on different ways from a branch");
    }
    if inst == other {
        return Some(
            "threads access one address in one instruction, with values or conditions that are not known",
        );
    }
    for inst in [inst, other] {
        let mut all = accesses.all().iter().filter(|access| access.inst == inst);
        if !all.all(is_known) {
            return Some("an address depends on a value that is only known when the kernel runs");
        }
    }
    None
}

/// Whether a path leads from one block to another.
fn leads(cfg: &Cfg, from: BlockId, to: BlockId) -> bool {
    let (mut seen, mut open) = (vec![from], vec![from]);
    while let Some(block) = open.pop() {
        if block == to {
            return true;
        }
        for next in cfg.successors(block) {
            if !seen.contains(next) {
                seen.push(*next);
                open.push(*next);
            }
        }
    }
    false
}
