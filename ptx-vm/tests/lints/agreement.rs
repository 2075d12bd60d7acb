//! Compares what lints found with what checkers reported in a run.

use std::collections::{BTreeSet, HashMap};

use ptx_analysis::calls::CallGraph;
use ptx_ir::facts::{Callees, ModuleFacts};
use ptx_ir::{Code, FuncId, Statement, SymbolKind};
use ptx_lint::{Certainty, Finding, Lint, LintOptions, lint};
use ptx_vm::{Report, StopReason};

use super::executed::{At, Executed};
use super::families;
use super::tally::Tally;

/// The lints that are compared, and `warp-mask`, which reports some of what `synccheck` says of barriers.
pub(crate) const LINTS: [Lint; 5] = [
    Lint::SharedRace,
    Lint::UninitializedRegister,
    Lint::BarrierDivergence,
    Lint::AsyncCopyWait,
    Lint::WarpMask,
];

/// What a lint says of an instruction.
#[derive(Debug)]
struct Claim {
    finding: Finding,
    at: At,
    /// Where the instructions begin that the finding is about.
    starts: BTreeSet<u32>,
    /// The other instruction that it names.
    other: Option<At>,
    /// The functions that it may reach, if it is a call.
    callees: Vec<FuncId>,
}

/// The claims about a module.
#[derive(Debug)]
pub(crate) struct Claims(Vec<Claim>);

/// A run of a kernel.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) name: &'a str,
    pub(crate) block: [u32; 3],
    pub(crate) reports: &'a [Report],
    pub(crate) executed: &'a HashMap<At, Executed>,
    pub(crate) stopped: Option<&'a StopReason>,
}

impl Claims {
    pub(crate) fn new(facts: &ModuleFacts<'_>) -> Self {
        let mut options = LintOptions::default();
        options.lints = LINTS.to_vec();
        let calls = CallGraph::new(facts);
        let claim = |finding: Finding| {
            let body = facts.module().body(finding.function)?;
            let Some(Statement::Inst(inst)) = body.statement(finding.stmt) else {
                return None;
            };
            let of = &finding.diagnostic;
            let starts = [of.span].into_iter().chain(of.repeats.iter().copied());
            Some(Claim {
                at: (finding.function, inst),
                starts: starts.map(|span| span.start).collect(),
                other: labeled(facts, &finding),
                callees: callees(facts, &calls, (finding.function, inst)),
                finding,
            })
        };
        Self(
            lint(facts, &options)
                .into_iter()
                .filter_map(claim)
                .collect(),
        )
    }

    /// Compares them with a run.
    pub(crate) fn compare(&self, facts: &ModuleFacts<'_>, run: &Run<'_>, tally: &mut Tally) {
        for claim in &self.0 {
            let is_compared = claim.finding.lint != Lint::WarpMask;
            if is_compared && claim.finding.certainty == Certainty::Definite {
                claim.confirm(facts, run, tally);
            }
        }
        for report in run.reports {
            let lints = lints(report);
            let Some(&first) = lints.first() else {
                continue;
            };
            if self.has(report) {
                tally.found(first);
                continue;
            }
            let at = report.at.span.map_or(0, |span| span.start);
            let shown = || format!("{}:{}: {}", run.name, line(facts, at), report.message);
            let family = families::of(facts, report, run.block);
            match family.or_else(|| self.consequence(run, report)) {
                Some(family) => tally.listed(first, family, &shown),
                None => tally.missed(first, &shown),
            }
        }
    }
}

impl Claims {
    /// Whether a lint finds what a checker reports.
    fn has(&self, report: &Report) -> bool {
        let lints = lints(report);
        let found = |claim: &Claim| lints.contains(&claim.finding.lint) && claim.is_about(report);
        self.0.iter().any(found)
    }

    /// What makes a report a consequence of something that lints find.
    fn consequence(&self, run: &Run<'_>, report: &Report) -> Option<&'static str> {
        let function = report.at.function;
        match report.code {
            Code::UnsetRegister => {
                let name = register(report)?;
                let is_register =
                    |claim: &Claim| claim.at.0 == function && claim.register() == Some(name);
                let reported = self.0.iter().any(is_register);
                reported.then_some("another read of the register is found")
            }
            _ => {
                let is_barrier = |claim: &Claim| {
                    let is_lint =
                        matches!(claim.finding.lint, Lint::BarrierDivergence | Lint::WarpMask);
                    is_lint && run.executed.contains_key(&claim.at)
                };
                let found = self.0.iter().any(is_barrier);
                found.then_some(
                    "another barrier is found, after which threads are not where they should be",
                )
            }
        }
    }
}

/// The register that a report is about.
fn register(report: &Report) -> Option<&str> {
    report
        .message
        .split('`')
        .nth(1)
        .filter(|_| report.code == Code::UnsetRegister)
}

/// The lints that find what a checker reports.
fn lints(report: &Report) -> &'static [Lint] {
    match report.code {
        Code::UnsetRegister => &[Lint::UninitializedRegister],
        Code::MissingThreads | Code::DivergentBarrier => &[Lint::BarrierDivergence, Lint::WarpMask],
        Code::RepeatedArrival => &[Lint::BarrierDivergence],
        Code::PendingCopy => &[Lint::AsyncCopyWait, Lint::SharedRace],
        Code::UnfencedProxy => &[Lint::ProxyFence],
        Code::DataRace if report.message.contains("in shared memory") => {
            &[Lint::SharedRace, Lint::AsyncCopyWait]
        }
        _ => &[],
    }
}

/// The line of an offset in the source.
fn line(facts: &ModuleFacts<'_>, offset: u32) -> usize {
    let before = facts
        .module()
        .source()
        .get(..offset as usize)
        .unwrap_or_default();
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The instruction of the first label of a finding.
fn labeled(facts: &ModuleFacts<'_>, finding: &Finding) -> Option<At> {
    let label = finding.diagnostic.labels.first()?;
    let body = facts.module().body(finding.function)?;
    let mut statements = body.statements();
    let found = statements.find(|(stmt, _)| body.source_span(*stmt) == label.span);
    match found {
        Some((_, Statement::Inst(inst))) => Some((finding.function, inst)),
        _ => None,
    }
}

/// The functions that a call may reach.
fn callees(facts: &ModuleFacts<'_>, calls: &CallGraph, (function, inst): At) -> Vec<FuncId> {
    let of = facts.function(function);
    let Some(Callees::Function(symbol)) = of.and_then(|of| of.inst(inst).callees()) else {
        return Vec::new();
    };
    match facts
        .module()
        .symbols()
        .get(symbol)
        .map(|symbol| symbol.kind)
    {
        Some(SymbolKind::Function(callee)) => calls.reachable([callee]),
        _ => Vec::new(),
    }
}

/// Where the instruction of a report begins, and that on the other side.
fn places(report: &Report) -> (Option<u32>, Option<u32>) {
    let other = report.other.as_ref().and_then(|(at, _)| at.span);
    (report.at.span.map(|s| s.start), other.map(|s| s.start))
}

impl Claim {
    /// Whether a report is about its instruction, on either side.
    fn is_about(&self, report: &Report) -> bool {
        let (at, other) = places(report);
        let is_own = |start: Option<u32>| start.is_some_and(|s| self.starts.contains(&s));
        is_own(at) || is_own(other) || self.callees.contains(&report.at.function)
    }

    /// Whether it is about a variable that no instruction writes.
    fn is_of_variable(&self) -> bool {
        let message = &self.finding.diagnostic.message;
        message.contains("which no instruction writes")
    }

    /// The register that it is about.
    fn register(&self) -> Option<&str> {
        let is_unset = self.finding.lint == Lint::UninitializedRegister;
        self.finding
            .diagnostic
            .message
            .split('`')
            .nth(1)
            .filter(|_| is_unset)
    }

    /// Checks that a variable was not written where it was read. The checker of memory reports it where a result depends on it.
    fn confirm_variable(&self, run: &Run<'_>, tally: &mut Tally, shown: &dyn Fn() -> String) {
        let lint = self.finding.lint;
        let mut reports = run.reports.iter();
        if reports.any(|r| r.code == Code::UnwrittenMemory && self.is_about(r)) {
            tally.confirmed(lint, (self.finding.diagnostic.span.start, run.name));
        } else if run.stopped.is_some() {
            tally.stopped(lint);
        } else {
            tally.listed(lint, "nothing depends on the memory that is read", shown);
        }
    }

    /// Checks that something definite happened.
    fn confirm(&self, facts: &ModuleFacts<'_>, run: &Run<'_>, tally: &mut Tally) {
        let Some(executed) = run.executed.get(&self.at) else {
            return;
        };
        let lint = self.finding.lint;
        let others = self.other.and_then(|at| run.executed.get(&at));
        if lint == Lint::SharedRace && !executed.is_by_two(others.unwrap_or(executed)) {
            return;
        }
        // Each register is reported once.
        let is_same = |report: &Report| {
            self.register()
                .is_some_and(|name| register(report) == Some(name))
                && report.at.function == self.at.0
        };
        let reported = |report: &Report| {
            lints(report).contains(&lint) && (self.is_about(report) || is_same(report))
        };
        let is_reported = run.reports.iter().any(reported);
        let shown = || {
            let of = &self.finding.diagnostic;
            let line = line(facts, of.span.start);
            format!("{}:{line}: {}: {:?}", run.name, of.message, run.stopped)
        };
        let message = &self.finding.diagnostic.message;
        if lint == Lint::UninitializedRegister && message.contains("does not preserve it") {
            let family = "the machine keeps the carry flag in calls";
            return tally.listed(lint, family, &shown);
        }
        if lint == Lint::UninitializedRegister && self.is_of_variable() {
            return self.confirm_variable(run, tally, &shown);
        }
        if lint == Lint::UninitializedRegister && !executed.always_unset {
            return tally.wrong(lint, &|| {
                format!("(every register was written) {}", shown())
            });
        }
        let threads = run.block.iter().product();
        let is_partial = executed.is_by_some(threads);
        if is_reported {
            return tally.confirmed(lint, (self.finding.diagnostic.span.start, run.name));
        }
        if run
            .stopped
            .is_some_and(|reason| *reason != StopReason::Deadlock)
        {
            return tally.stopped(lint);
        }
        let unwritten = run
            .reports
            .iter()
            .filter(|r| r.code == Code::UnwrittenMemory);
        let family = match lint {
            Lint::UninitializedRegister => families::of_unset(facts, self.at),
            Lint::AsyncCopyWait if unwritten.into_iter().any(|r| self.is_about(r)) => {
                Some("no thread of the launch copies what is read")
            }
            // A report is about the first barrier that lanes come to, and names one other.
            Lint::BarrierDivergence => {
                let mut reports = run.reports.iter();
                match reports.any(|r| r.code == Code::DivergentBarrier) {
                    true => Some("the barrier is reported where other lanes of the warp wait"),
                    false => is_partial.then_some(
                        "the other lanes had ended, and the barrier does not wait for them",
                    ),
                }
            }
            _ => None,
        };
        match family {
            Some(family) => tally.listed(lint, family, &shown),
            None => tally.wrong(lint, &shown),
        }
    }
}
