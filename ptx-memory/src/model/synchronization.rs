//! Observation order, release and acquire patterns, and which operations synchronize.

use super::asynchronous;
use crate::event::{Event, EventKind, Order};
use crate::execution::Execution;
use crate::relation::Relation;

/// Observation order (8.9.2): from a write to a morally strong read that returns its value, possibly through atomic operations.
pub(super) fn observation(
    execution: &Execution,
    morally_strong: &Relation,
    reads_from: &Relation,
) -> Relation {
    let direct = reads_from.filtered(|write, read| morally_strong.contains(write, read));
    // From a write to the write of an atomic operation that reads it.
    let mut chain = Relation::new(execution.len());
    for (write, read) in direct.pairs() {
        if let Some(partner) = execution.event(read).and_then(|event| event.partner) {
            chain.insert(write, partner as usize);
        }
    }
    chain.close();
    let mut result = chain.then(&direct);
    result.extend(&direct);
    result
}

/// Whether an event is a fence for release and acquire patterns. A one-directional proxy fence is one.
fn is_pattern_fence(event: &Event) -> bool {
    match event.kind {
        EventKind::Fence => true,
        EventKind::ProxyFence { .. } => event.order != Order::Weak,
        _ => false,
    }
}

/// Release patterns (8.8): from the first operation of each to its write.
pub(super) fn release_patterns(execution: &Execution, program_order: &Relation) -> Relation {
    let mut result = Relation::new(execution.len());
    for (first, a) in execution.events.iter().enumerate() {
        let is_fence = is_pattern_fence(a) && a.order.releases();
        if a.releases() && a.is_write() {
            result.insert(first, first);
        } else if !is_fence {
            continue;
        }
        for second in program_order.successors(first) {
            let Some(b) = execution.event(second) else {
                continue;
            };
            let same = is_fence || a.location() == b.location();
            if same && b.is_write() && b.is_strong() {
                result.insert(first, second);
            }
        }
    }
    result
}

/// Acquire patterns (8.8): from the read of each to its last operation. The read of a reduction does not form one (8.11.1).
pub(super) fn acquire_patterns(execution: &Execution, program_order: &Relation) -> Relation {
    let mut result = Relation::new(execution.len());
    for (first, a) in execution.events.iter().enumerate() {
        if !a.is_read() || !a.is_strong() || a.is_reduction {
            continue;
        }
        if a.acquires() {
            result.insert(first, first);
        }
        for second in program_order.successors(first) {
            let Some(b) = execution.event(second) else {
                continue;
            };
            let is_fence = is_pattern_fence(b) && b.order.acquires();
            let is_acquire = b.is_read() && b.acquires() && a.location() == b.location();
            if is_fence || is_acquire {
                result.insert(first, second);
            }
        }
    }
    result
}

/// Memory synchronization (8.9.4), except that of `fence.sc`: a release pattern synchronizes with an acquire pattern that observes its write,
/// if the first and the last operation are morally strong. Barriers and asynchronous operations are part of the execution.
pub(super) fn synchronizes(
    execution: &Execution,
    program_order: &Relation,
    morally_strong: &Relation,
    observation: &Relation,
) -> Relation {
    let mut result = Relation::new(execution.len());
    if !observation.is_empty() {
        result = release_patterns(execution, program_order)
            .then(observation)
            .then(&acquire_patterns(execution, program_order))
            .filtered(|first, last| morally_strong.contains(first, last));
    }
    for &(first, second) in &execution.synchronization {
        result.insert(first as usize, second as usize);
    }
    asynchronous::completions(execution, &mut result);
    result
}
