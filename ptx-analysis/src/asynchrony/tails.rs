//! Loops that copy without waiting, and the last iterations of pipelines.
//!
//! A loop that keeps `n` groups pending waits for all but the latest `n` groups. In an iteration that commits no new group, the group that is read
//! next is one of the latest `n`, and the wait does not wait for it:
//!
//! ```text
//! iteration      1  2  3  4  5      (n = 1: wait_group 1 before each read)
//! commits        b  c  d  -  -      (group a was committed before the loop)
//! reads group    a  b  c  d         d is the latest group: it is not awaited
//! ```

use alloc::vec::Vec;

use super::events::{Event, Events, Kind};
use super::mechanism::Mechanism;
use super::place::Overlap;
use super::{Certainty, Rule, Violation};
use crate::function_dataflow::FunctionDataflow;
use crate::graph::LoopId;

/// The maximum number of waits, and of loops, that are examined.
const MOST: usize = 16;

/// Adds the reads after waits that do not wait for enough in some iterations, and the accesses in loops that copy and do not wait.
pub(super) fn check(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    violations: &mut Vec<Violation>,
) {
    let waits = events.all().filter_map(|event| match event.kind {
        Kind::Wait(Mechanism::Copies, Some(groups)) if groups > 0 => Some((event, groups)),
        _ => None,
    });
    for (wait, groups) in waits.take(MOST) {
        let Some(inner) = analysis.loops().innermost(wait.block) else {
            continue;
        };
        if !wait.conditional && commits_on_some_paths(events, analysis, inner, wait, groups) {
            violations.extend(first_read(events, analysis, inner, wait));
        }
    }
    check_loops_without_waits(events, analysis, violations);
    check_products_without_waits(events, analysis, violations);
}

/// Adds the first copy in each loop that commits products of a warpgroup, never waits for them, and copies to the variable that contains their matrices.
fn check_products_without_waits(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    violations: &mut Vec<Violation>,
) {
    let loops = analysis.loops();
    let mut seen: Vec<LoopId> = Vec::new();
    let operations = || events.operations.iter();
    for product in operations().filter(|o| o.mechanism == Mechanism::Warpgroup) {
        let Some(inner) = loops.innermost(product.block) else {
            continue;
        };
        if seen.len() >= MOST || seen.contains(&inner) {
            continue;
        }
        seen.push(inner);
        let mut events_of_loop = events
            .all()
            .filter(|event| loops.contains(inner, event.block));
        let has_commit = events_of_loop
            .clone()
            .any(|event| matches!(event.kind, Kind::Commit(Mechanism::Warpgroup)));
        let has_wait = events_of_loop
            .any(|event| matches!(event.kind, Kind::Wait(Mechanism::Warpgroup, _) | Kind::Call));
        if !has_commit || has_wait {
            continue;
        }
        let copy = operations().find(|copy| {
            let destination = copy.destination.and_then(|place| place.root);
            matches!(copy.mechanism, Mechanism::Copies | Mechanism::Mbarrier)
                && loops.contains(inner, copy.block)
                && destination.is_some()
                && product
                    .matrices
                    .iter()
                    .any(|matrix| matrix.root == destination)
        });
        violations.extend(copy.map(|copy| Violation {
            inst: copy.inst,
            rule: Rule::ReadNotFinished,
            certainty: Certainty::Possible,
            cause: Some(product.inst),
        }));
    }
}

/// Adds the first access in each loop that starts copies and never waits for them: a read of a destination, or a write to a source.
fn check_loops_without_waits(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    violations: &mut Vec<Violation>,
) {
    let loops = analysis.loops();
    let mut seen: Vec<(LoopId, Mechanism)> = Vec::new();
    for copy in &events.operations {
        let (place, rule) = match copy.mechanism {
            Mechanism::Copies => (copy.destination, Rule::CopyNotAwaited),
            Mechanism::Bulk => (copy.source, Rule::SourceNotAwaited),
            _ => continue,
        };
        let Some((inner, place)) = loops.innermost(copy.block).zip(place) else {
            continue;
        };
        let key = (inner, copy.mechanism);
        if seen.len() >= MOST || seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let events_of_loop = || {
            events
                .all()
                .filter(|event| loops.contains(inner, event.block))
        };
        let commits = events_of_loop().any(
            |event| matches!(event.kind, Kind::Commit(mechanism) if mechanism == copy.mechanism),
        );
        let waits = events_of_loop().any(|event| match event.kind {
            Kind::Wait(mechanism, _) => mechanism == copy.mechanism,
            Kind::Report(..) | Kind::Call => true,
            _ => false,
        });
        if !commits || waits {
            continue;
        }
        let access = events_of_loop().find(|event| match &event.kind {
            Kind::Memory(access) => {
                let conflicts = match copy.mechanism {
                    Mechanism::Bulk => access.writes,
                    _ => access.reads,
                };
                conflicts
                    && !access.asynchronous
                    && access.place.root.is_some()
                    && access.place.root == place.root
                    && access.place.overlap(place) != Overlap::Never
            }
            _ => false,
        });
        violations.extend(access.map(|access| Violation {
            inst: access.inst,
            rule,
            certainty: Certainty::Possible,
            cause: Some(copy.inst),
        }));
    }
}

/// Whether some iterations of the innermost loop of a wait commit a group and others may not, and no stricter wait is in the loop. The wait leaves
/// `groups` groups pending.
fn commits_on_some_paths(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    inner: LoopId,
    wait: &Event,
    groups: u32,
) -> bool {
    let (loops, dominators) = (analysis.loops(), analysis.dominators());
    let events_of_loop = || {
        events
            .all()
            .filter(|event| loops.innermost(event.block) == Some(inner))
    };
    let has_stricter_wait = events_of_loop().any(|event| match event.kind {
        Kind::Wait(Mechanism::Copies, pending) => pending.is_none_or(|pending| pending < groups),
        _ => false,
    });
    let header = loops.get(inner).map(|l| l.header());
    let is_in_each_iteration = |commit: &Event| {
        let dominates_latches = header.is_some_and(|header| {
            analysis
                .cfg()
                .predecessors(header)
                .iter()
                .filter(|latch| dominators.dominates(header, **latch))
                .all(|latch| dominators.dominates(commit.block, *latch))
        });
        !commit.conditional && (dominators.dominates(commit.block, wait.block) || dominates_latches)
    };
    let mut commits = events_of_loop()
        .filter(|event| matches!(event.kind, Kind::Commit(Mechanism::Copies)))
        .peekable();
    !has_stricter_wait
        && commits.peek().is_some()
        && commits.all(|commit| !is_in_each_iteration(commit))
}

/// The first read after a wait, in its loop, of a variable into which a copy writes.
fn first_read(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    inner: LoopId,
    wait: &Event,
) -> Option<Violation> {
    let dominators = analysis.dominators();
    let body = analysis.loops().body(inner);
    let mut later_events = events.all().filter(|event| {
        body.contains(&event.block)
            && dominators.dominates(wait.block, event.block)
            && (event.block != wait.block || events.order(event.inst) > events.order(wait.inst))
    });
    later_events.find_map(|event| {
        let Kind::Memory(access) = &event.kind else {
            return None;
        };
        if !access.reads || access.asynchronous {
            return None;
        }
        let root = access.place.root?;
        let copy = events.operations.iter().find(|operation| {
            let destination = operation.destination.and_then(|place| place.root);
            operation.mechanism == Mechanism::Copies && destination == Some(root)
        })?;
        Some(Violation {
            inst: event.inst,
            rule: Rule::CopyNotAwaited,
            certainty: Certainty::Possible,
            cause: Some(copy.inst),
        })
    })
}
