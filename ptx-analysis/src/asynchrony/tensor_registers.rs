//! Registers of loads from tensor memory that are overwritten before the load is complete. A read of such a register waits for its value
//! (9.7.16.6.4.5); a write does not.

use alloc::collections::BTreeMap;

use alloc::vec::Vec;

use ptx_ir::InstId;

use super::events::{Event, Events, Kind};
use super::flags::Flags;
use super::mechanism::Mechanism;
use super::protocol::{Protocol, follow};
use super::{Rule, Violation};
use crate::cfg::Cfg;

/// Adds the writes of registers of pending loads.
pub(super) fn check(events: &Events, cfg: &Cfg, found: &mut Vec<Violation>) {
    let mut numbers = BTreeMap::new();
    let loads = events.operations.iter();
    for load in loads.filter(|o| o.mechanism == Mechanism::TensorLoads) {
        for &variable in &load.written {
            let next = numbers.len() as u32;
            numbers.entry(variable).or_insert((next, load.inst));
        }
    }
    if !numbers.is_empty() {
        follow(&Loads { events, numbers }, events, cfg, found);
    }
}

struct Loads<'a> {
    events: &'a Events,
    /// The registers of loads by their variables, each with a load that writes it.
    numbers: BTreeMap<u32, (u32, InstId)>,
}

impl Loads<'_> {
    fn number(&self, variable: u32) -> Option<u32> {
        self.numbers.get(&variable).map(|(number, _)| *number)
    }
}

impl Protocol for Loads<'_> {
    /// The registers whose values may not have arrived.
    type State = Flags;

    fn start(&self) -> Flags {
        Flags::none(self.numbers.len())
    }

    fn apply(&self, event: &Event, state: &mut Flags) {
        match &event.kind {
            Kind::Registers { reads, writes, .. } => {
                let mentioned = reads.iter().chain(writes);
                let numbers = mentioned.filter_map(|variable| self.number(*variable));
                numbers.for_each(|number| state.unset(number));
            }
            Kind::Start(operation) => {
                let operation = self.events.operation(*operation);
                let load = operation.filter(|o| o.mechanism == Mechanism::TensorLoads);
                let written = load.into_iter().flat_map(|o| &o.written);
                written
                    .filter_map(|variable| self.number(*variable))
                    .for_each(|number| state.set(number));
            }
            Kind::Wait(Mechanism::TensorLoads, _) | Kind::Call => state.clear(),
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &Flags, found: &mut Vec<Violation>) {
        let Kind::Registers { reads, writes, .. } = &event.kind else {
            return;
        };
        let only_written = writes.iter().filter(|variable| !reads.contains(variable));
        let overwritten = only_written.filter_map(|variable| {
            let (number, load) = self.numbers.get(variable)?;
            Some((state.certainty(*number)?, *load))
        });
        found.extend(
            overwritten
                .max_by_key(|(certainty, load)| (*certainty, core::cmp::Reverse(*load)))
                .map(|(certainty, load)| Violation {
                    inst: event.inst,
                    rule: Rule::TensorLoadNotAwaited,
                    certainty,
                    cause: Some(load),
                }),
        );
    }
}
