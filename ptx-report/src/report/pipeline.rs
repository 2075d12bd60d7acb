//! Asynchronous operations in text order: copies, matrix operations, groups, waits and barriers, with the operations in flight.
//!
//! Groups are counted in text order: first the code before a loop, then the body of the loop until the groups at its start
//! are the same as in the previous iteration, as in a loop that keeps a number of stages in flight.

use std::collections::BTreeMap;

use ptx_analysis::graph::LoopId;
use ptx_ir::facts::Facts;
use ptx_ir::{InstId, StmtId};
use ptx_isa::{AsyncPhase, Completion};
use serde::Serialize;

use super::context::FunctionContext;
use crate::labels::Labeled;

/// The number of times that the body of a loop is followed until its groups are the same as before.
const MAX_ITERATIONS: usize = 16;

/// The asynchronous operations of a loop, or those outside of loops.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Pipeline {
    /// The id of the header of the loop; `None` for operations outside of loops.
    pub header: Option<u32>,
    /// The steps in text order; inner loops have their own.
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

/// The operations in flight of each kind of completion.
type Groups = BTreeMap<Labeled<Completion>, InFlight>;

/// An instruction of a pipeline.
struct Event<'a> {
    stmt: StmtId,
    inst: InstId,
    kind: StepKind,
    completion: Option<Completion>,
    /// The effects on asynchronous operations.
    phases: &'a [(Completion, AsyncPhase)],
    /// The groups that a wait leaves in flight.
    leaves: Option<u64>,
}

/// The pipelines of a function.
pub(super) fn pipelines(function: &FunctionContext<'_>) -> Vec<Pipeline> {
    let (cfg, loops) = (function.analysis.cfg(), function.analysis.loops());
    let body = function.facts.body();
    let mut by_loop: BTreeMap<Option<LoopId>, Vec<Event<'_>>> = BTreeMap::new();
    for (id, block) in cfg.blocks() {
        let innermost = loops.innermost(id);
        for (stmt, inst) in block.insts(body) {
            if let Some(event) = Event::new(function, stmt, inst) {
                by_loop.entry(innermost).or_default().push(event);
            }
        }
    }
    by_loop.retain(|_, events| events.iter().any(|e| e.completion.is_some()));
    let outside_loops = by_loop.get(&None).map_or(&[][..], Vec::as_slice);
    let prefixes = prefix_groups(outside_loops);
    by_loop
        .iter()
        .map(|(id, events)| {
            let info = id.and_then(|id| loops.get(id));
            let groups = info.and_then(|info| {
                let first = cfg.block(info.header())?.first;
                let count = outside_loops.partition_point(|e| body.precedes(e.stmt, first));
                Some(iteration_groups(prefixes.get(count)?.clone(), events))
            });
            Pipeline {
                header: info.map(|i| i.header().as_u32()),
                steps: steps(function, events, groups.unwrap_or_default()),
            }
        })
        .collect()
}

/// The operations in flight before each event and after the last one.
fn prefix_groups(events: &[Event<'_>]) -> Vec<Groups> {
    let mut groups = Groups::new();
    let mut prefixes = vec![groups.clone()];
    for event in events {
        event.apply(&mut groups);
        prefixes.push(groups.clone());
    }
    prefixes
}

/// The operations in flight at the start of a later iteration of a loop that is entered with `groups`.
fn iteration_groups(mut groups: Groups, events: &[Event<'_>]) -> Groups {
    for _ in 0..MAX_ITERATIONS {
        let start = groups.clone();
        for event in events {
            event.apply(&mut groups);
        }
        if groups == start {
            break;
        }
    }
    groups
}

fn steps(function: &FunctionContext<'_>, events: &[Event<'_>], mut groups: Groups) -> Vec<Step> {
    events
        .iter()
        .map(|event| {
            event.apply(&mut groups);
            Step {
                line: function.line(event.stmt),
                source: function.source(event.stmt),
                kind: event.kind,
                completion: event.completion.map(Labeled),
                mnemonic: function.mnemonic(event.inst),
                leaves: event.leaves,
                in_flight: groups
                    .values()
                    .filter(|g| g.groups + g.open > 0)
                    .copied()
                    .collect(),
            }
        })
        .collect()
}

impl<'a> Event<'a> {
    /// Classifies an instruction; `None` if pipelines do not contain it.
    fn new(function: &FunctionContext<'a>, stmt: StmtId, inst: InstId) -> Option<Self> {
        let facts = function.facts.inst(inst);
        let phases = facts.asynchronous();
        let (completion, phase) = phases
            .iter()
            .max_by_key(|(_, phase)| priority(*phase))
            .copied()
            .unzip();
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
        let leaves = match phase {
            Some(AsyncPhase::Wait) => remaining_groups(function, facts),
            _ => None,
        };
        Some(Self {
            stmt,
            inst,
            kind,
            completion,
            phases,
            leaves,
        })
    }

    /// Applies the effects of the instruction to the operations in flight.
    fn apply(&self, groups: &mut Groups) {
        for &(completion, phase) in self.phases {
            if !has_groups(completion) {
                continue;
            }
            let completion = Labeled(completion);
            let in_flight = groups.entry(completion).or_insert(InFlight {
                completion,
                groups: 0,
                open: 0,
            });
            match phase {
                AsyncPhase::Start => in_flight.open += 1,
                AsyncPhase::Commit => {
                    in_flight.groups += 1;
                    in_flight.open = 0;
                }
                AsyncPhase::Wait => match self.leaves {
                    Some(remaining) => in_flight.groups = in_flight.groups.min(remaining),
                    None => (in_flight.groups, in_flight.open) = (0, 0),
                },
                _ => {}
            }
        }
    }
}

/// The priority of a phase: an instruction with several phases is listed under the one with the highest priority.
fn priority(phase: AsyncPhase) -> u8 {
    match phase {
        AsyncPhase::Start => 2,
        AsyncPhase::Wait => 1,
        _ => 0,
    }
}

/// The number of groups that a wait leaves in flight: its first integer operand.
fn remaining_groups(function: &FunctionContext<'_>, facts: Facts<'_>) -> Option<u64> {
    let pool = function.facts.body().pool();
    let mut numbers = facts
        .parts()
        .filter_map(|(operand, _)| pool.integer(operand));
    u64::try_from(numbers.next()?).ok()
}

/// Whether operations are awaited by groups.
fn has_groups(completion: Completion) -> bool {
    matches!(
        completion,
        Completion::CpAsync | Completion::Bulk | Completion::Wgmma
    )
}
