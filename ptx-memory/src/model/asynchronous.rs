//! Asynchronous operations.

use crate::execution::Execution;
use crate::relation::Relation;

/// From the starts of asynchronous operations to their events (8.9.1.1): the operations are ordered after prior instructions of the thread. What
/// follows them is not: the completion of an operation is ordered with respect to the events of the same operation only.
pub(super) fn starts(execution: &Execution) -> Relation {
    let mut result = Relation::new(execution.len());
    for operation in &execution.asynchronous {
        for event in events_of(execution, operation.thread) {
            result.insert(operation.start as usize, event);
        }
    }
    result
}

/// Pairs that synchronize by asynchronous operations: the events of an operation precede those of the operations that follow, and the ends of waits.
pub(super) fn completions(execution: &Execution, result: &mut Relation) {
    for operation in &execution.asynchronous {
        if operation.is_cumulative {
            for event in events_of(execution, operation.thread) {
                result.insert(operation.start as usize, event);
            }
        }
        for &earlier in &operation.follows {
            for first in events_of(execution, earlier) {
                for second in events_of(execution, operation.thread) {
                    result.insert(first, second);
                }
            }
        }
    }
    for wait in &execution.waits {
        for &operation in &wait.operations {
            // The reads of an operation come before its writes.
            let is_awaited = |event: &usize| {
                !wait.is_for_reads
                    || execution
                        .event(*event)
                        .is_some_and(|event| !event.is_write())
            };
            for event in events_of(execution, operation).take_while(is_awaited) {
                result.insert(event, wait.event as usize);
            }
        }
    }
}

/// The events of a thread in program order.
fn events_of(execution: &Execution, thread: u32) -> impl Iterator<Item = usize> {
    let mut events: Vec<usize> = (1..execution.len())
        .filter(|&number| {
            execution
                .event(number)
                .is_some_and(|event| event.thread == thread)
        })
        .collect();
    events.sort_unstable_by_key(|&number| execution.event(number).map(|event| event.position));
    events.into_iter()
}
