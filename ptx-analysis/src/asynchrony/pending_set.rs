//! The operations that may not be complete, and which groups they are in.

use alloc::vec::Vec;

use super::mechanism::Mechanism;
use crate::dataflow::JoinSemiLattice;

/// What an operation may be, on some path each: complete or not started,
const DONE: u32 = 1;
/// in no group,
const OPEN: u32 = 2;
/// to be reported to an mbarrier object, or
const REPORTED: u32 = 4;
/// in the group before this many later ones.
const AGES: u32 = !(DONE | OPEN | REPORTED);
const AGE_SHIFT: u32 = 3;
const OLDEST: u32 = 1 << 31;

/// Operations beyond these are not followed.
const MOST: usize = 256;

/// An operation that is pending on some path.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Pending {
    pub(super) operation: u32,
    pub(super) mechanism: Mechanism,
    /// What its last execution may be, and what those before may be.
    last: u32,
    earlier: u32,
}

impl Pending {
    /// Whether it is pending on all paths.
    pub(super) fn on_all_paths(self) -> bool {
        self.last & DONE == 0
    }

    fn is_pending(self) -> bool {
        self.last != DONE || self.earlier & !DONE != 0
    }

    fn change(&mut self, states: impl Fn(u32) -> u32) {
        self.last = states(self.last);
        self.earlier = states(self.earlier);
    }

    /// Completes what is in one of the states.
    fn complete(&mut self, states: u32) {
        self.change(|old| match old & states {
            0 => old,
            _ => old & !states | DONE,
        });
    }
}

fn committed(states: u32) -> u32 {
    let ages = states & AGES;
    let older = ages << 1 | ages & OLDEST;
    let youngest = u32::from(states & OPEN != 0) << AGE_SHIFT;
    states & (DONE | REPORTED) | older | youngest
}

fn reported(states: u32) -> u32 {
    match states & (OPEN | AGES) {
        0 => states,
        _ => states & !(OPEN | AGES) | REPORTED,
    }
}

/// The operations that are pending on some path, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingSet(Vec<Pending>);

impl PendingSet {
    pub(super) fn iter(&self) -> impl Iterator<Item = Pending> + '_ {
        self.0.iter().copied()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn start(&mut self, operation: u32, mechanism: Mechanism) {
        match self.0.binary_search_by_key(&operation, |p| p.operation) {
            // An earlier execution may still be pending.
            Ok(at) => {
                if let Some(pending) = self.0.get_mut(at) {
                    pending.earlier |= pending.last & !DONE;
                    pending.last = OPEN;
                }
            }
            Err(at) if self.0.len() < MOST => self.0.insert(
                at,
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

    fn of(&mut self, mechanism: Mechanism) -> impl Iterator<Item = &mut Pending> {
        self.0.iter_mut().filter(move |p| p.mechanism == mechanism)
    }

    pub(super) fn commit(&mut self, mechanism: Mechanism) {
        self.of(mechanism).for_each(|p| p.change(committed));
    }

    pub(super) fn report(&mut self, mechanism: Mechanism) {
        self.of(mechanism).for_each(|p| p.change(reported));
    }

    /// Waits, except for a number of the latest groups. Calls `complete` for operations of which something completed.
    pub(super) fn wait(
        &mut self,
        mechanism: Mechanism,
        groups: Option<u32>,
        complete: impl FnMut(u32),
    ) {
        let states = match groups {
            None => !DONE,
            Some(groups) => REPORTED | AGES.checked_shl(groups).unwrap_or(0) & AGES,
        };
        self.finish(
            |p| if p.mechanism == mechanism { states } else { 0 },
            complete,
        );
    }

    /// A phase of an mbarrier object is complete: so are the operations that report to it.
    pub(super) fn phase(&mut self, reports: impl Fn(Pending) -> bool, complete: impl FnMut(u32)) {
        let states = |p: Pending| match (reports(p), p.mechanism) {
            (false, _) => 0,
            (true, Mechanism::Mbarrier) => !DONE,
            (true, _) => REPORTED,
        };
        self.finish(states, complete);
    }

    /// Completes the loads from tensor memory of which a register was read: the read waits for the value.
    pub(super) fn read(&mut self, is_read: impl Fn(u32) -> bool) {
        let states = |p: Pending| match p.mechanism {
            Mechanism::TensorLoads if is_read(p.operation) => !DONE,
            _ => 0,
        };
        self.finish(states, |_| {});
    }

    fn finish(&mut self, states: impl Fn(Pending) -> u32, mut complete: impl FnMut(u32)) {
        for pending in &mut self.0 {
            let states = states(*pending);
            if (pending.last | pending.earlier) & states != 0 {
                complete(pending.operation);
            }
            pending.complete(states);
        }
        self.0.retain(|pending| pending.is_pending());
    }
}

impl JoinSemiLattice for PendingSet {
    fn join(&mut self, other: &Self) -> bool {
        let mut changed = false;
        let mut add = |pending: &mut Pending, last: u32, earlier: u32| {
            changed |= last & !pending.last != 0 || earlier & !pending.earlier != 0;
            pending.last |= last;
            pending.earlier |= earlier;
        };
        let mut theirs = other.0.iter().peekable();
        let mut only_theirs = Vec::new();
        for ours in &mut self.0 {
            while let Some(p) = theirs.next_if(|p| p.operation < ours.operation) {
                only_theirs.push(*p);
            }
            match theirs.next_if(|p| p.operation == ours.operation) {
                Some(p) => add(ours, p.last, p.earlier),
                None => add(ours, DONE, 0),
            }
        }
        only_theirs.extend(theirs);
        for mut pending in only_theirs {
            pending.last |= DONE;
            if self.0.len() < MOST {
                self.0.push(pending);
                changed = true;
            }
        }
        self.0.sort_unstable_by_key(|p| p.operation);
        changed
    }
}
