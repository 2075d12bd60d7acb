//! Operations on tensor memory that threads order by barriers without the fences that these need (9.7.16.6.4).

use alloc::vec::Vec;

use super::events::{Event, Events, Kind, Operation};
use super::flags::Flags;
use super::mechanism::Mechanism;
use super::place::Place;
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::cfg::Cfg;

/// Adds the operations that need a fence.
pub(super) fn check(events: &Events, cfg: &Cfg, found: &mut Vec<Violation>) {
    if events.operations.iter().any(is_tensor) {
        let reports = events.all().filter_map(|e| match &e.kind {
            Kind::Report(Mechanism::Tensor, place) => *place,
            _ => None,
        });
        let fences = Fences {
            events,
            reports: reports.collect(),
        };
        follow(&fences, events, cfg, found);
    }
}

fn is_tensor(operation: &Operation) -> bool {
    matches!(
        operation.mechanism,
        Mechanism::Tensor | Mechanism::TensorLoads | Mechanism::TensorStores
    )
}

struct Fences<'a> {
    events: &'a Events,
    /// The mbarrier objects to which operations are committed.
    reports: Vec<Place>,
}

/// An operation began, and no fence before a synchronization followed.
const UNORDERED: u32 = 0;
/// A synchronization followed such an operation.
const LOST: u32 = 1;
/// A synchronization followed an operation, and no fence after it.
const SYNCHRONIZED: u32 = 2;
/// An operation began on the path.
const BEGUN: u32 = 3;
/// A product was waited for, and no fence followed.
const COMPLETED: u32 = 4;

impl Protocol for Fences<'_> {
    type State = Flags;
    const EDGES: bool = true;

    fn start(&self) -> Flags {
        Flags::none(5)
    }

    fn apply(&self, event: &Event, state: &mut Flags) {
        match &event.kind {
            Kind::Start(number) if self.events.operation(*number).is_some_and(is_tensor) => {
                state.set(UNORDERED);
                state.set(BEGUN);
                // One violation for each missing fence.
                [LOST, SYNCHRONIZED, COMPLETED]
                    .into_iter()
                    .for_each(|flag| state.unset(flag));
            }
            Kind::Report(Mechanism::Tensor, _) | Kind::TensorFenceBefore => {
                state.unset(UNORDERED);
            }
            Kind::Barrier(_) => {
                transfer(state, UNORDERED, LOST);
                transfer(state, BEGUN, SYNCHRONIZED);
            }
            Kind::Phase(object, _) => {
                let mut reports = self.reports.iter();
                if reports.any(|place| place.may_be_same_address(*object)) {
                    state.set(COMPLETED);
                    state.unset(LOST);
                }
            }
            Kind::TensorFenceAfter => {
                [SYNCHRONIZED, COMPLETED]
                    .into_iter()
                    .for_each(|flag| state.unset(flag));
            }
            Kind::Call => *state = self.start(),
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &Flags, found: &mut Vec<Violation>) {
        let Kind::Start(number) = event.kind else {
            return;
        };
        let Some(operation) = self.events.operation(number).filter(|o| is_tensor(o)) else {
            return;
        };
        let reads = operation.mechanism != Mechanism::Tensor;
        let missing = state.on_some_path(LOST)
            || state.on_some_path(SYNCHRONIZED)
            || reads && state.on_some_path(COMPLETED);
        if missing {
            found.push(Violation {
                inst: event.inst,
                rule: Rule::TensorFence,
                certainty: Certainty::Possible,
                cause: None,
            });
        }
    }
}

/// Where one property holds, another one holds from now on.
fn transfer(state: &mut Flags, from: u32, to: u32) {
    match (state.on_all_paths(from), state.on_some_path(from)) {
        (true, _) => state.set(to),
        (_, true) => state.set_possible(to),
        _ => {}
    }
}
