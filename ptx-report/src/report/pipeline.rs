//! Asynchronous operations in text order: copies, matrix operations, groups, waits and barriers, with the operations in flight.
//!
//! Groups are counted in text order: first the code before a loop, then the body of the loop until the groups at its start
//! are the same as in the previous iteration, as in a loop that keeps a number of stages in flight.

use std::collections::BTreeMap;

use ptx_analysis::graph::LoopId;
use ptx_ir::facts::Facts;
use ptx_ir::{InstId, Statement, StmtId};
use ptx_isa::{AsyncPhase, Completion};
use serde::Serialize;

use super::function::Of;
use crate::labels::Labeled;

/// How often the body of a loop is followed until its groups are the same as before.
const ROUNDS: usize = 16;

/// The asynchronous operations of a loop, or those outside of loops.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Pipeline {
    /// The id of the header of the loop; `None` for operations outside of loops.
    pub header: Option<u32>,
    /// In text order; inner loops have their own.
    pub steps: Vec<Step>,
}

/// An instruction of a pipeline.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Step {
    /// Its line in the file.
    pub line: u32,
    /// Its line in the original program: `a.cu:11`.
    pub source: Option<String>,
    /// The role of the instruction.
    pub kind: StepKind,
    /// The completion mechanism of its operations: `cp_async`, `bulk`, `mbarrier`, `wgmma` or `tcgen05`.
    pub completion: Option<Labeled<Completion>>,
    /// Opcode and modifiers.
    pub mnemonic: String,
    /// The groups that a wait leaves in flight.
    pub leaves: Option<u64>,
    /// The operations in flight after it, for operations with group completion.
    pub in_flight: Vec<InFlight>,
}

/// The role of an instruction in a pipeline.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepKind {
    /// It starts an asynchronous copy.
    Copy,
    /// It multiplies matrices.
    Product,
    /// It starts another asynchronous operation.
    Start,
    /// It commits operations to a group.
    Commit,
    /// It waits for operations.
    Wait,
    /// It is a barrier.
    Barrier,
    /// It is a fence.
    Fence,
}

impl StepKind {
    /// Its name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Product => "product",
            Self::Start => "start",
            Self::Commit => "commit",
            Self::Wait => "wait",
            Self::Barrier => "barrier",
            Self::Fence => "fence",
        }
    }
}

/// Operations in flight.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InFlight {
    /// The completion mechanism.
    pub completion: Labeled<Completion>,
    /// The number of committed groups that were not waited for.
    pub groups: u64,
    /// The number of operations that are not in a group yet.
    pub open: u64,
}

/// The groups of each kind of completion.
type Groups = BTreeMap<Labeled<Completion>, InFlight>;

/// An instruction, before anything is counted.
struct Event<'a> {
    stmt: StmtId,
    inst: InstId,
    kind: StepKind,
    completion: Option<Completion>,
    /// What it does to asynchronous operations.
    phases: &'a [(Completion, AsyncPhase)],
    leaves: Option<u64>,
}

/// The pipelines of a function.
pub(super) fn of(of: &Of<'_>) -> Vec<Pipeline> {
    let mut by_loop: BTreeMap<Option<LoopId>, Vec<Event<'_>>> = BTreeMap::new();
    for (id, block) in of.analysis.cfg().blocks() {
        let around = of.analysis.loops().innermost(id);
        for (stmt, statement) in of.facts.body().range(block.first, block.end) {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            if let Some(event) = event(of, stmt, inst) {
                by_loop.entry(around).or_default().push(event);
            }
        }
    }
    by_loop.retain(|_, events| events.iter().any(|e| e.completion.is_some()));
    let straight = by_loop.get(&None).map_or(&[][..], Vec::as_slice);
    let before = prefixes(straight);
    let found = by_loop.iter().map(|(id, events)| {
        let info = id.and_then(|id| of.analysis.loops().get(id));
        let groups = info.and_then(|info| {
            let first = of.analysis.cfg().block(info.header())?.first;
            let count = straight.partition_point(|e| of.facts.body().precedes(e.stmt, first));
            Some(at_start(before.get(count)?.clone(), events))
        });
        let groups = groups.unwrap_or_default();
        Pipeline {
            header: info.map(|i| i.header().as_u32()),
            steps: steps(of, events, groups),
        }
    });
    found.collect()
}

/// What is in flight before each of these events, and after the last one.
fn prefixes(events: &[Event<'_>]) -> Vec<Groups> {
    let mut groups = Groups::new();
    let mut found = vec![groups.clone()];
    for event in events {
        apply(event, &mut groups);
        found.push(groups.clone());
    }
    found
}

/// What is in flight where a loop begins, after some of its iterations.
fn at_start(mut groups: Groups, events: &[Event<'_>]) -> Groups {
    for _ in 0..ROUNDS {
        let start = groups.clone();
        events.iter().for_each(|e| apply(e, &mut groups));
        if groups == start {
            break;
        }
    }
    groups
}

fn steps(of: &Of<'_>, events: &[Event<'_>], mut groups: Groups) -> Vec<Step> {
    let step = |event: &Event<'_>| {
        apply(event, &mut groups);
        let flying = groups.values().filter(|g| g.groups + g.open > 0);
        Step {
            line: of.line(event.stmt),
            source: of.source(event.stmt),
            kind: event.kind,
            completion: event.completion.map(Labeled),
            mnemonic: of
                .signature(event.inst)
                .map_or(String::new(), |s| s.text().to_owned()),
            leaves: event.leaves,
            in_flight: flying.copied().collect(),
        }
    };
    events.iter().map(step).collect()
}

fn event<'a>(of: &Of<'a>, stmt: StmtId, inst: InstId) -> Option<Event<'a>> {
    let facts = of.facts.inst(inst);
    let phases = facts.asynchronous();
    let step = phases.iter().max_by_key(|(_, phase)| order(*phase));
    let (completion, phase) = step.copied().unzip();
    let kind = match phase {
        Some(AsyncPhase::Start) if facts.is_matrix_multiply() => StepKind::Product,
        Some(AsyncPhase::Start) if facts.memory().any(|m| m.writes() && !m.is_mbarrier) => {
            StepKind::Copy
        }
        Some(AsyncPhase::Start) => StepKind::Start,
        Some(AsyncPhase::Commit) => StepKind::Commit,
        Some(AsyncPhase::Wait) => StepKind::Wait,
        _ if facts.is_matrix_multiply() => StepKind::Product,
        _ if facts.is_barrier() => StepKind::Barrier,
        _ if facts.is_fence() => StepKind::Fence,
        _ => return None,
    };
    let waits = phase == Some(AsyncPhase::Wait);
    Some(Event {
        stmt,
        inst,
        kind,
        completion,
        phases,
        leaves: if waits { groups_left(of, facts) } else { None },
    })
}

/// The phase that names an instruction with several.
fn order(phase: AsyncPhase) -> u8 {
    match phase {
        AsyncPhase::Start => 2,
        AsyncPhase::Wait => 1,
        _ => 0,
    }
}

/// The groups that a wait leaves in flight.
fn groups_left(of: &Of<'_>, facts: Facts<'_>) -> Option<u64> {
    let pool = of.facts.body().pool();
    let mut numbers = facts.parts().filter_map(|(o, _)| pool.integer(o));
    u64::try_from(numbers.next()?).ok()
}

/// Whether operations are awaited by groups.
fn has_groups(completion: Completion) -> bool {
    matches!(
        completion,
        Completion::CpAsync | Completion::Bulk | Completion::Wgmma
    )
}

fn apply(event: &Event<'_>, groups: &mut Groups) {
    for &(completion, phase) in event.phases {
        if !has_groups(completion) {
            continue;
        }
        let completion = Labeled(completion);
        let flying = groups.entry(completion).or_insert(InFlight {
            completion,
            groups: 0,
            open: 0,
        });
        match phase {
            AsyncPhase::Start => flying.open += 1,
            AsyncPhase::Commit => {
                flying.groups += 1;
                flying.open = 0;
            }
            AsyncPhase::Wait => match event.leaves {
                Some(left) => flying.groups = flying.groups.min(left),
                None => (flying.groups, flying.open) = (0, 0),
            },
            _ => {}
        }
    }
}
