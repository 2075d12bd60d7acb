//! The operations that may not be complete, and the groups that they are in.
//!
//! An execution of an operation moves through these states. On different paths it may be in different ones, so a set of states is kept, as a mask.
//!
//! ```text
//!             commit               commit                       commit
//!   OPEN ───────────────▶ group 0 ─────────▶ group 1 ── ... ──▶ oldest group ─┐
//!    │                      │                   │                    ▲        │
//!    │ report               │ report            │ report             └────────┘
//!    ▼                      ▼                   ▼
//!   REPORTED (to an mbarrier object)
//!
//!   a wait, or a phase of the object: every state that it covers ──▶ DONE
//! ```

use alloc::vec::Vec;

use super::mechanism::Mechanism;
use crate::dataflow::JoinSemiLattice;

/// The state of an execution that is complete, or that did not start.
const DONE: u32 = 1;
/// The state of an execution that started and is in no group.
const OPEN: u32 = 2;
/// The state of an execution that is reported to an mbarrier object when it is complete.
const REPORTED: u32 = 4;
/// The states of executions in a group: the lowest bit denotes the youngest group, and each later commit moves an execution to the next bit.
const AGES: u32 = !(DONE | OPEN | REPORTED);
/// The position of the bit of the youngest group.
const AGE_SHIFT: u32 = 3;
/// The state of executions in the oldest group that is distinguished, and in all groups before it.
const OLDEST: u32 = 1 << 31;

/// The maximum number of operations in a set; other_operations are not followed.
const MAX_OPERATIONS: usize = 256;

/// An operation that is pending on some path.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Pending {
    /// The number of the operation.
    pub(super) operation: u32,
    pub(super) mechanism: Mechanism,
    /// The states of its last execution.
    last: u32,
    /// The states of all earlier executions.
    earlier: u32,
}

impl Pending {
    /// Returns whether its last execution is pending on all paths.
    pub(super) fn on_all_paths(self) -> bool {
        self.last & DONE == 0
    }

    fn is_pending(self) -> bool {
        self.last != DONE || self.earlier & !DONE != 0
    }

    /// Replaces the states of all executions.
    fn change(&mut self, next_states: impl Fn(u32) -> u32) {
        self.last = next_states(self.last);
        self.earlier = next_states(self.earlier);
    }

    /// Completes the executions that are in one of some states.
    fn complete(&mut self, completed: u32) {
        self.change(|states| {
            if states & completed == 0 {
                states
            } else {
                states & !completed | DONE
            }
        });
    }
}

/// The states after open operations were committed as a group.
fn committed(states: u32) -> u32 {
    let ages = states & AGES;
    let older = ages << 1 | ages & OLDEST;
    let youngest = u32::from(states & OPEN != 0) << AGE_SHIFT;
    states & (DONE | REPORTED) | older | youngest
}

/// The states after all operations before were reported to an mbarrier object.
fn reported(states: u32) -> u32 {
    if states & (OPEN | AGES) == 0 {
        states
    } else {
        states & !(OPEN | AGES) | REPORTED
    }
}

/// The operations that are pending on some path, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingSet {
    operations: Vec<Pending>,
}

impl PendingSet {
    pub(super) fn iter(&self) -> impl Iterator<Item = Pending> + '_ {
        self.operations.iter().copied()
    }

    pub(super) fn clear(&mut self) {
        self.operations.clear();
    }

    /// An operation is executed.
    pub(super) fn start(&mut self, operation: u32, mechanism: Mechanism) {
        let position = self
            .operations
            .binary_search_by_key(&operation, |pending| pending.operation);
        match position {
            // An earlier execution may still be pending.
            Ok(index) => {
                if let Some(pending) = self.operations.get_mut(index) {
                    pending.earlier |= pending.last & !DONE;
                    pending.last = OPEN;
                }
            }
            Err(index) if self.operations.len() < MAX_OPERATIONS => self.operations.insert(
                index,
                Pending {
                    operation,
                    mechanism,
                    last: OPEN,
                    earlier: 0,
                },
            ),
            Err(_) => {}
        }
    }

    /// The operations of a mechanism are committed as a group.
    pub(super) fn commit(&mut self, mechanism: Mechanism) {
        self.change(mechanism, committed);
    }

    /// The operations of a mechanism are reported to an mbarrier object.
    pub(super) fn report(&mut self, mechanism: Mechanism) {
        self.change(mechanism, reported);
    }

    fn change(&mut self, mechanism: Mechanism, next_states: impl Fn(u32) -> u32) {
        for pending in &mut self.operations {
            if pending.mechanism == mechanism {
                pending.change(&next_states);
            }
        }
    }

    /// A thread waits for the operations of a mechanism, except for a number of the latest groups. Calls `complete` for operations of which an execution
    /// completes.
    pub(super) fn wait(
        &mut self,
        mechanism: Mechanism,
        groups: Option<u32>,
        complete: impl FnMut(u32),
    ) {
        let completed = match groups {
            None => !DONE,
            Some(groups) => REPORTED | AGES.checked_shl(groups).unwrap_or(0) & AGES,
        };
        self.finish(
            |pending| {
                if pending.mechanism == mechanism {
                    completed
                } else {
                    0
                }
            },
            complete,
        );
    }

    /// A phase of an mbarrier object completes, and so do the operations that report to it.
    pub(super) fn phase(
        &mut self,
        reports_to_object: impl Fn(Pending) -> bool,
        complete: impl FnMut(u32),
    ) {
        self.finish(
            |pending| {
                if !reports_to_object(pending) {
                    0
                } else if pending.mechanism == Mechanism::Mbarrier {
                    !DONE
                } else {
                    REPORTED
                }
            },
            complete,
        );
    }

    /// Completes the loads from tensor memory for which `is_read` returns `true`: a read of their registers waits for the value.
    pub(super) fn read(&mut self, is_read: impl Fn(u32) -> bool) {
        self.finish(
            |pending| {
                let is_load = pending.mechanism == Mechanism::TensorLoads;
                if is_load && is_read(pending.operation) {
                    !DONE
                } else {
                    0
                }
            },
            |_| {},
        );
    }

    /// Completes the executions of each operation that are in one of the states that `completed` returns.
    fn finish(&mut self, completed: impl Fn(Pending) -> u32, mut complete: impl FnMut(u32)) {
        for pending in &mut self.operations {
            let completed = completed(*pending);
            if (pending.last | pending.earlier) & completed != 0 {
                complete(pending.operation);
            }
            pending.complete(completed);
        }
        self.operations.retain(|pending| pending.is_pending());
    }
}

impl JoinSemiLattice for PendingSet {
    fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        let mut add_states = |pending: &mut Pending, last: u32, earlier: u32| {
            changed |= last & !pending.last != 0 || earlier & !pending.earlier != 0;
            pending.last |= last;
            pending.earlier |= earlier;
        };
        let mut other_operations = other.operations.iter().peekable();
        let mut missing = Vec::new();
        for pending in &mut self.operations {
            while let Some(other) =
                other_operations.next_if(|other| other.operation < pending.operation)
            {
                missing.push(*other);
            }
            match other_operations.next_if(|other| other.operation == pending.operation) {
                Some(other) => add_states(pending, other.last, other.earlier),
                None => add_states(pending, DONE, 0),
            }
        }
        missing.extend(other_operations);
        for mut pending in missing {
            pending.last |= DONE;
            if self.operations.len() < MAX_OPERATIONS {
                self.operations.push(pending);
                changed = true;
            }
        }
        self.operations
            .sort_unstable_by_key(|pending| pending.operation);
        changed
    }
}
