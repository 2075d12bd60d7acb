//! Tensor memory that is allocated and not freed, and allocations after the permit was given up (9.7.16.7).

use alloc::vec::Vec;

use super::events::{Event, Events, Kind};
use super::flags::Flags;
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::cfg::Cfg;

/// Adds allocations that break the protocol.
pub(super) fn check(events: &Events, cfg: &Cfg, found: &mut Vec<Violation>) {
    let mut kinds = events.all().iter().map(|e| &e.kind);
    let allocates = |k: &Kind| matches!(k, Kind::Allocate | Kind::Free | Kind::Relinquish);
    if events.is_kernel && kinds.any(allocates) {
        let never_frees = !events
            .all()
            .iter()
            .any(|e| matches!(e.kind, Kind::Free | Kind::Call));
        if never_frees {
            let allocations = events
                .all()
                .iter()
                .filter(|e| matches!(e.kind, Kind::Allocate));
            found
                .extend(allocations.map(|event| {
                    violation(event, Rule::TensorMemoryNotFreed, Certainty::Definite)
                }));
        }
        follow(&Allocations, events, cfg, found);
    }
}

fn violation(event: &Event, rule: Rule, certainty: Certainty) -> Violation {
    Violation {
        inst: event.inst,
        rule,
        certainty,
        cause: None,
    }
}

struct Allocations;

/// The thread allocated tensor memory.
const ALLOCATED: u32 = 0;
/// The permit to allocate was given up.
const RELINQUISHED: u32 = 1;

impl Protocol for Allocations {
    type State = Flags;

    fn start(&self) -> Flags {
        Flags::none(2)
    }

    fn apply(&self, event: &Event, state: &mut Flags) {
        match event.kind {
            Kind::Allocate => state.set(ALLOCATED),
            Kind::Relinquish => state.set(RELINQUISHED),
            Kind::Call => {
                state.set_possible(ALLOCATED);
            }
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &Flags, found: &mut Vec<Violation>) {
        match event.kind {
            Kind::Allocate => {
                let certainty = state.certainty(RELINQUISHED);
                let rule = Rule::AllocationAfterRelinquish;
                found.extend(certainty.map(|c| violation(event, rule, c)));
            }
            // Another warp may have allocated it where only some paths do.
            Kind::Free if !state.on_some_path(ALLOCATED) => {
                found.push(violation(
                    event,
                    Rule::FreeWithoutAllocation,
                    Certainty::Definite,
                ));
            }
            _ => {}
        }
    }
}
