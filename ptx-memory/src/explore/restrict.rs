//! The part of an execution that must exist for a write.

use crate::execution::{AsynchronousOperation, AsynchronousWait, Execution, ReadsFrom};
use crate::explore::Node;
use crate::explore::state::{PendingRead, State};
use crate::program::Program;
use crate::relation::EventSet;

/// The events of a node and those that a write of a later state depends on; the pending read returns the write. If this execution is inconsistent,
/// the read never returns the write as long as the choices before the node are the same.
pub(super) fn with_write<P: Program>(
    node: &Node<P>,
    later: &State<P>,
    pending: &PendingRead,
    write: u32,
) -> Execution {
    let earlier = &node.state.execution;
    let mut kept: EventSet = (0..earlier.len()).collect();
    kept.insert(write as usize);
    if let Some(prefix) = later.prefixes.get(write as usize) {
        kept.extend(prefix);
    }
    add_predecessors(later, &mut kept);
    let mut numbers = vec![u32::MAX; later.execution.len()];
    let mut result = Execution {
        threads: later.execution.threads.clone(),
        ..Execution::default()
    };
    for (number, event) in later.execution.events.iter().enumerate() {
        if kept.contains(number) {
            if let Some(slot) = numbers.get_mut(number) {
                *slot = result.events.len() as u32;
            }
            result.events.push(*event);
        }
    }
    let number = |event: u32| {
        numbers
            .get(event as usize)
            .copied()
            .filter(|number| *number != u32::MAX)
    };
    for event in &mut result.events {
        event.partner = event.partner.and_then(number);
    }
    let is_chosen = |index: usize, source: &ReadsFrom| {
        source.read != pending.read
            && (index < earlier.reads_from.len() || is_needed(later, write, source))
    };
    for (index, source) in later.execution.reads_from.iter().enumerate() {
        if !is_chosen(index, source) {
            continue;
        }
        if let (Some(read), Some(write)) = (number(source.read), number(source.write)) {
            result.reads_from.push(ReadsFrom {
                read,
                write,
                ..*source
            });
        }
    }
    if let (Some(read), Some(write)) = (number(pending.read), number(write)) {
        result.reads_from.push(ReadsFrom {
            read,
            write,
            address: pending.address,
            bytes: pending.bytes,
        });
    }
    for &(first, second) in &later.execution.synchronization {
        if let (Some(first), Some(second)) = (number(first), number(second)) {
            result.synchronization.push((first, second));
        }
    }
    for operation in &later.execution.asynchronous {
        if let Some(start) = number(operation.start) {
            result.asynchronous.push(AsynchronousOperation {
                start,
                ..operation.clone()
            });
        }
    }
    for wait in &later.execution.waits {
        if let Some(event) = number(wait.event) {
            result.waits.push(AsynchronousWait {
                event,
                ..wait.clone()
            });
        }
    }
    result
}

/// Whether the write depends on what a read returns.
fn is_needed<P: Program>(later: &State<P>, write: u32, source: &ReadsFrom) -> bool {
    later
        .prefixes
        .get(write as usize)
        .is_some_and(|prefix| prefix.contains(source.read as usize))
}

/// Adds the events before others of the same thread that depend on no other read.
fn add_predecessors<P: Program>(later: &State<P>, kept: &mut EventSet) {
    let mut ends = vec![0; later.execution.threads.len()];
    for number in kept.iter().skip(1) {
        if let Some(event) = later.execution.event(number)
            && let Some(end) = ends.get_mut(event.thread as usize)
        {
            *end = event.position.max(*end);
        }
    }
    for (number, event) in later.execution.events.iter().enumerate().skip(1) {
        let is_before = ends
            .get(event.thread as usize)
            .is_some_and(|end| event.position < *end);
        // The write of an atomic operation depends on its read, which only kept reads are.
        if is_before
            && !kept.contains(number)
            && later
                .prefixes
                .get(number)
                .is_some_and(|prefix| prefix.iter().all(|event| kept.contains(event)))
        {
            kept.insert(number);
        }
    }
}
