//! `initcheck`: uninitialized values that lanes of a warp exchange.

use super::checkers::Checkers;
use super::sites::Sites;
use super::uninitialized::Traced;
use crate::execute::{Exchange, Execution, Participants, UnknownResults, whole_bytes};
use crate::lanes::{LANES, Place, lanes};

/// The uninitialized operands of an exchange.
struct UnknownOperands {
    /// The uninitialized bits of the operands of each lane.
    bits: [[u64; 3]; LANES],
    /// The origin of one of them.
    origin: Traced,
}

impl Checkers {
    /// Tracks the results of an exchange: those that depend on uninitialized values of any lane are uninitialized.
    pub(super) fn track_exchange(&mut self, execution: &Execution<'_>, exchange: &Exchange<'_>) {
        let sites = std::sync::Arc::clone(&self.sites);
        let follows_loads = self.follows_loads;
        let is_tracked = exchange.participants.iter().any(|participants| {
            let number = sites.number(participants.function, participants.step_index);
            sites
                .get(number)
                .is_some_and(|site| site.is_tracked(follows_loads))
        });
        if !is_tracked {
            return;
        }
        let operands = self.unknown_operands(execution, exchange, &sites);
        let results = operands
            .as_ref()
            .map(|operands| exchange.unknown_results(&operands.bits))
            .unwrap_or_default();
        for participants in exchange.participants {
            self.track_results(execution, participants, &results, operands.as_ref(), &sites);
        }
    }

    /// The uninitialized operands of the lanes; `None` if all are initialized.
    fn unknown_operands(
        &mut self,
        execution: &Execution<'_>,
        exchange: &Exchange<'_>,
        sites: &Sites,
    ) -> Option<UnknownOperands> {
        let mut unknown: Option<UnknownOperands> = None;
        let first_thread = execution.warp.first;
        for participants in exchange.participants {
            let variables = sites.variables(participants.function);
            let number = sites.number(participants.function, participants.step_index);
            let Some(site) = sites.get(number) else {
                continue;
            };
            let registers = self
                .own_warp(execution)
                .registers(participants.call, variables);
            for (operand, place) in participants.sources().into_iter().enumerate().take(3) {
                let read = site.reads.iter().find(|register| {
                    let variable = variables.get(**register as usize);
                    variable.is_some_and(|variable| variable.place == place)
                });
                let Some((register, tracked)) =
                    read.and_then(|&number| Some((number, registers.get(number as usize)?)))
                else {
                    continue;
                };
                let width = match place {
                    Place::Predicate(_) => 1,
                    _ => u64::MAX,
                };
                for lane in lanes(participants.lanes) {
                    let thread = first_thread + lane as u32;
                    let Some(origin) = tracked.origin_in_lane(lane, number, register, thread)
                    else {
                        continue;
                    };
                    let unknown = unknown.get_or_insert(UnknownOperands {
                        bits: [[0; 3]; LANES],
                        origin,
                    });
                    unknown.bits[lane][operand] = !(tracked.determined_bits as u64) & width;
                }
            }
        }
        unknown
    }

    /// Records the results of lanes of an exchange.
    fn track_results(
        &mut self,
        execution: &Execution<'_>,
        participants: &Participants<'_>,
        results: &UnknownResults,
        operands: Option<&UnknownOperands>,
        sites: &Sites,
    ) {
        let variables = sites.variables(participants.function);
        let number = sites.number(participants.function, participants.step_index);
        let Some(site) = sites.get(number) else {
            return;
        };
        let unknown_values = lanes(participants.lanes)
            .filter(|lane| results.bits[*lane] != 0)
            .fold(0, |mask, lane| mask | 1u32 << lane);
        // A byte with an unknown bit is unknown.
        let unknown_bits =
            lanes(participants.lanes).fold(0, |bits, lane| bits | results.bits[lane]);
        let known_bytes = !whole_bytes(unknown_bits.into()) as u64;
        let unknown_of_results = [unknown_values, participants.lanes & results.predicates];
        let registers = self
            .own_warp(execution)
            .registers(participants.call, variables);
        for (place, unknown) in participants.results().into_iter().zip(unknown_of_results) {
            let written = site.writes.iter().find(|register| {
                let variable = variables.get(**register as usize);
                variable.is_some_and(|variable| Some(variable.place) == place)
            });
            let Some(tracked) = written.and_then(|&number| registers.get_mut(number as usize))
            else {
                continue;
            };
            let mut determined_bits = match place {
                Some(Place::Predicate(_)) | None => 0,
                Some(_) => u128::from(known_bytes),
            };
            if !(tracked.initialized | participants.lanes) != 0 {
                determined_bits &= tracked.determined_bits;
            }
            tracked.determined_bits = determined_bits;
            tracked.initialized =
                tracked.initialized & !participants.lanes | participants.lanes & !unknown;
            if let Some(operands) = operands.filter(|_| unknown != 0) {
                tracked.origin = Some(operands.origin);
            }
        }
    }
}
