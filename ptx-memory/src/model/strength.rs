//! Program order and morally strong operations.

use super::Version;
use crate::event::{Event, EventKind};
use crate::execution::Execution;
use crate::relation::Relation;

/// Program order (8.9.1): a total order of the operations of each thread. The events of an asynchronous operation are those of a separate thread.
pub(super) fn program_order(execution: &Execution) -> Relation {
    let mut result = Relation::new(execution.len());
    for (first, a) in execution.events.iter().enumerate().skip(1) {
        for (second, b) in execution.events.iter().enumerate().skip(1) {
            if a.thread == b.thread && a.position < b.position {
                result.insert(first, second);
            }
        }
    }
    result
}

/// The pairs of program order that access overlapping bytes by the same address and proxy (8.10.5).
pub(super) fn program_order_of_location(
    execution: &Execution,
    program_order: &Relation,
) -> Relation {
    program_order.filtered(|first, second| {
        let (Some(a), Some(b)) = (execution.event(first), execution.event(second)) else {
            return false;
        };
        matches!((a.location(), b.location()), (Some(x), Some(y)) if x.overlaps(y))
            && a.proxy == b.proxy
    })
}

/// Morally strong operations (8.7): pairs of different operations that are related in program order, or are both strong with scopes that
/// include each other; by the same proxy; and that overlap completely, if both are memory operations.
pub(super) fn morally_strong(execution: &Execution, version: Version) -> Relation {
    let mut result = Relation::new(execution.len());
    for (first, a) in execution.events.iter().enumerate().skip(1) {
        for (second, b) in execution.events.iter().enumerate().skip(first + 1) {
            if are_morally_strong(execution, a, b, version) {
                result.insert(first, second);
                result.insert(second, first);
            }
        }
    }
    result
}

fn are_morally_strong(execution: &Execution, a: &Event, b: &Event, version: Version) -> bool {
    let related = a.thread == b.thread
        || (a.is_strong() && b.is_strong() && {
            let (one, other) = (execution.place(a), execution.place(b));
            a.scope.includes(one, other) && b.scope.includes(other, one)
        });
    let same_proxy = version == Version::Ptx60 || a.proxy == b.proxy;
    let same_location = match (a.location(), b.location()) {
        (Some(x), Some(y)) => x.overlaps_completely(y),
        _ => true,
    };
    related && same_proxy && same_location && a.kind != EventKind::Initial
}
