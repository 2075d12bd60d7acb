//! Ordinary writes that asynchronous operations read without a fence between the proxies (9.7.13.4).

use alloc::vec::Vec;

use super::events::{Event, Events, Kind};
use super::flags::Flags;
use super::protocol::{Protocol, follow};
use super::{Rule, Violation};
use crate::cfg::Cfg;

/// Adds the asynchronous reads that need a fence.
pub(super) fn check(events: &Events, cfg: &Cfg, found: &mut Vec<Violation>) {
    let reads = |e: &Event| matches!(&e.kind, Kind::Memory(a) if a.asynchronous && a.reads);
    if events.all().iter().any(reads) {
        follow(
            &Proxies {
                roots: events.roots,
            },
            events,
            cfg,
            found,
        );
    }
}

struct Proxies {
    roots: usize,
}

impl Protocol for Proxies {
    /// The variables that were written after the last fence.
    type State = Flags;

    fn start(&self) -> Flags {
        Flags::none(self.roots)
    }

    fn apply(&self, event: &Event, state: &mut Flags) {
        match &event.kind {
            Kind::Memory(access) if access.writes && !access.asynchronous => {
                if let Some(root) = access.place.root {
                    state.set(root);
                }
            }
            Kind::ProxyFence | Kind::Call => state.clear(),
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &Flags, found: &mut Vec<Violation>) {
        let Kind::Memory(access) = &event.kind else {
            return;
        };
        let read = access.asynchronous && access.reads;
        let Some(root) = access.place.root.filter(|_| read) else {
            return;
        };
        found.extend(state.certainty(root).map(|certainty| Violation {
            inst: event.inst,
            rule: Rule::ProxyFence,
            certainty,
            cause: None,
        }));
    }
}
