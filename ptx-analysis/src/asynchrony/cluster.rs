//! The barrier of the cluster: each thread waits once for each time that it arrives (9.7.13.3).

use alloc::vec::Vec;

use super::events::{Event, Events, Kind};
use super::flags::Flags;
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::cfg::Cfg;

/// Adds arrivals without a wait between them, and waits without an arrival.
pub(super) fn check(events: &Events, cfg: &Cfg, found: &mut Vec<Violation>) {
    let uses = |e: &Event| matches!(e.kind, Kind::ClusterArrive | Kind::ClusterWait);
    if events.is_kernel && events.all().any(uses) {
        follow(&ClusterBarrier, events, cfg, found);
    }
}

struct ClusterBarrier;

/// The thread arrived and did not wait since.
const ARRIVED: u32 = 0;
/// It did not arrive since it waited.
const IDLE: u32 = 1;

impl Protocol for ClusterBarrier {
    type State = Flags;

    fn start(&self) -> Flags {
        let mut flags = Flags::none(2);
        flags.set(IDLE);
        flags
    }

    fn apply(&self, event: &Event, state: &mut Flags) {
        let (new, old) = match event.kind {
            Kind::ClusterArrive => (ARRIVED, IDLE),
            Kind::ClusterWait => (IDLE, ARRIVED),
            Kind::Call => return state.clear(),
            _ => return,
        };
        state.set(new);
        state.unset(old);
    }

    fn check(&self, event: &Event, state: &Flags, found: &mut Vec<Violation>) {
        let wrong = match event.kind {
            Kind::ClusterArrive => ARRIVED,
            Kind::ClusterWait => IDLE,
            _ => return,
        };
        // Guards of both are alike.
        let certainty = state.certainty(wrong);
        let certainty = certainty.filter(|c| *c == Certainty::Definite);
        found.extend(certainty.map(|certainty| Violation {
            inst: event.inst,
            rule: Rule::ClusterBarrier,
            certainty,
            cause: None,
        }));
    }
}
