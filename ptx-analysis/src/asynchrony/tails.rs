//! Loops that copy and do not wait, and the last iterations of pipelines. A loop that always leaves some groups pending waits for too little in the iterations that commit no
//! new group: the oldest group that is pending is the youngest one then.

use alloc::vec::Vec;

use super::events::{Event, Events, Kind};
use super::mechanism::Mechanism;
use super::place::Overlap;
use super::{Certainty, Rule, Violation};
use crate::function_analysis::FunctionAnalysis;
use crate::graph::LoopId;

/// Waits beyond these are not looked at.
const MOST: usize = 16;

/// Adds the reads after waits of which some iterations commit nothing before.
pub(super) fn check(events: &Events, analysis: &FunctionAnalysis<'_>, found: &mut Vec<Violation>) {
    let waits = events.all().filter_map(|event| match event.kind {
        Kind::Wait(Mechanism::Copies, Some(groups)) if groups > 0 => Some((event, groups)),
        _ => None,
    });
    for (wait, groups) in waits.take(MOST) {
        let Some(inner) = analysis.loops().innermost(wait.block) else {
            continue;
        };
        if !wait.conditional && commits_on_some_paths(events, analysis, inner, wait, groups) {
            found.extend(first_read(events, analysis, inner, wait));
        }
    }
    never_awaited(events, analysis, found);
}

/// Adds the first accesses in loops that start copies and never wait for them: reads of what is copied, and writes to what is copied from.
fn never_awaited(events: &Events, analysis: &FunctionAnalysis<'_>, found: &mut Vec<Violation>) {
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
        let of_loop = || events.all().filter(|e| loops.contains(inner, e.block));
        let mut commits =
            of_loop().filter(|e| matches!(e.kind, Kind::Commit(m) if m == copy.mechanism));
        let waits = |e: &Event| match e.kind {
            Kind::Wait(mechanism, _) => mechanism == copy.mechanism,
            Kind::Report(..) | Kind::Call => true,
            _ => false,
        };
        if commits.next().is_none() || of_loop().any(waits) {
            continue;
        }
        let mut accesses = of_loop().filter(|e| match &e.kind {
            Kind::Memory(access) => {
                let does = match copy.mechanism {
                    Mechanism::Bulk => access.writes,
                    _ => access.reads,
                };
                does && !access.asynchronous
                    && access.place.root.is_some()
                    && access.place.root == place.root
                    && access.place.overlap(place) != Overlap::Never
            }
            _ => false,
        });
        found.extend(accesses.next().map(|access| Violation {
            inst: access.inst,
            rule,
            certainty: Certainty::Possible,
            cause: Some(copy.inst),
        }));
    }
}

fn is_in(analysis: &FunctionAnalysis<'_>, inner: LoopId, event: &Event) -> bool {
    analysis.loops().innermost(event.block) == Some(inner)
}

/// Whether there are commits in a loop, and none that each iteration executes.
fn commits_on_some_paths(
    events: &Events,
    analysis: &FunctionAnalysis<'_>,
    inner: LoopId,
    wait: &Event,
    groups: u32,
) -> bool {
    let dominators = analysis.dominators();
    let of_loop = || events.all().filter(|e| is_in(analysis, inner, e));
    let mut commits = of_loop().filter(|e| matches!(e.kind, Kind::Commit(Mechanism::Copies)));
    let mut stricter = of_loop().filter(|e| match e.kind {
        Kind::Wait(Mechanism::Copies, other) => other.is_none_or(|n| n < groups),
        _ => false,
    });
    let header = analysis.loops().get(inner).map(|l| l.header());
    let always = |e: &Event| {
        !e.conditional
            && (dominators.dominates(e.block, wait.block)
                || header.is_some_and(|h| {
                    let ends = analysis.cfg().predecessors(h).iter();
                    ends.filter(|end| dominators.dominates(h, **end))
                        .all(|end| dominators.dominates(e.block, *end))
                }))
    };
    let mut any = false;
    commits.all(|e| {
        any = true;
        !always(e)
    }) && any
        && stricter.next().is_none()
}

/// The first read in the loop, after the wait, of what is copied.
fn first_read(
    events: &Events,
    analysis: &FunctionAnalysis<'_>,
    inner: LoopId,
    wait: &Event,
) -> Option<Violation> {
    let dominators = analysis.dominators();
    let copies = |root: u32| {
        events.operations.iter().find(|o| {
            let to = o.destination.and_then(|d| d.root);
            o.mechanism == Mechanism::Copies && to == Some(root)
        })
    };
    let body = analysis.loops().body(inner);
    let mut reads = events.all().filter(|e| {
        body.contains(&e.block)
            && dominators.dominates(wait.block, e.block)
            && (e.block != wait.block || events.order(e.inst) > events.order(wait.inst))
    });
    reads.find_map(|event| match &event.kind {
        Kind::Memory(access) if access.reads && !access.asynchronous => {
            let operation = copies(access.place.root?)?;
            Some(Violation {
                inst: event.inst,
                rule: Rule::CopyNotAwaited,
                certainty: Certainty::Possible,
                cause: Some(operation.inst),
            })
        }
        _ => None,
    })
}
