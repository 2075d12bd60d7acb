//! Registers of products of a warpgroup that were written after the last `wgmma.fence` (9.7.15.7.1), by other instructions or by products of
//! another shape.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::events::{Event, Events, Kind, Operation};
use super::flags::Flags;
use super::mechanism::Mechanism;
use super::protocol::{Protocol, follow};
use super::{Rule, Violation};
use crate::cfg::Cfg;
use crate::reg_lanes::VariableId;

/// The maximum number of operations whose shapes are compared.
const MOST_OPERATIONS: usize = 256;

/// Adds the products whose registers need a fence.
pub(super) fn check(events: &Events, cfg: &Cfg, violations: &mut Vec<Violation>) {
    let mut numbers = BTreeMap::new();
    for product in events.operations.iter().filter(|o| is_product(o)) {
        for &variable in product.written.iter().chain(&product.read) {
            let next_number = numbers.len() as u32;
            numbers.entry(variable).or_insert(next_number);
        }
    }
    if !numbers.is_empty() {
        follow(
            &WrittenRegisters { events, numbers },
            events,
            cfg,
            violations,
        );
        let operations = events.operations.len().min(MOST_OPERATIONS);
        follow(&Shapes { events, operations }, events, cfg, violations);
    }
}

fn is_product(operation: &Operation) -> bool {
    operation.mechanism == Mechanism::Warpgroup
}

/// The protocol that a fence lies between a write of a register and a product that uses it.
struct WrittenRegisters<'a> {
    events: &'a Events,
    /// The numbers of the registers of products, by their variables.
    numbers: BTreeMap<VariableId, u32>,
}

impl WrittenRegisters<'_> {
    /// The numbers of the registers of an operation, if it is a product.
    fn registers_of_product(&self, operation: u32) -> impl Iterator<Item = u32> + '_ {
        self.events
            .operation(operation)
            .filter(|operation| is_product(operation))
            .into_iter()
            .flat_map(|product| product.written.iter().chain(&product.read))
            .filter_map(|variable| self.numbers.get(variable).copied())
    }
}

impl Protocol for WrittenRegisters<'_> {
    /// The registers that were written after the last fence. All are before the first fence.
    type State = Flags;

    fn start(&self) -> Flags {
        Flags::full(self.numbers.len())
    }

    fn apply(&self, event: &Event, state: &mut Flags) {
        match &event.kind {
            Kind::WarpgroupFence | Kind::Call => state.clear(),
            Kind::Registers {
                writes, is_move, ..
            } => {
                for &number in writes.iter().filter_map(|v| self.numbers.get(v)) {
                    // Compilers put moves of initial values between the fence and the product.
                    if *is_move {
                        state.set_possible(number);
                    } else {
                        state.set(number);
                    }
                }
            }
            Kind::Start(operation) => {
                // One violation for each missing fence.
                for number in self.registers_of_product(*operation) {
                    state.unset(number);
                }
            }
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &Flags, violations: &mut Vec<Violation>) {
        if let Kind::Start(operation) = event.kind {
            let certainty = self
                .registers_of_product(operation)
                .filter_map(|number| state.certainty(number))
                .max();
            violations.extend(certainty.map(|certainty| Violation {
                inst: event.inst,
                rule: Rule::WarpgroupFence,
                certainty,
                cause: None,
            }));
        }
    }
}

/// The protocol that a fence lies between products of different shapes that share accumulators.
struct Shapes<'a> {
    events: &'a Events,
    /// The number of operations that are followed.
    operations: usize,
}

impl Protocol for Shapes<'_> {
    /// The products that began after the last fence.
    type State = Flags;

    fn start(&self) -> Flags {
        Flags::none(self.operations)
    }

    fn apply(&self, event: &Event, state: &mut Flags) {
        match event.kind {
            Kind::WarpgroupFence | Kind::Call => state.clear(),
            Kind::Wait(Mechanism::Warpgroup, _) => state.clear(),
            Kind::Start(number) if self.events.operation(number).is_some_and(is_product) => {
                state.set(number);
            }
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &Flags, violations: &mut Vec<Violation>) {
        let Kind::Start(number) = event.kind else {
            return;
        };
        let Some(product) = self.events.operation(number).filter(|o| is_product(o)) else {
            return;
        };
        let worst = state
            .iter()
            .filter_map(|number| {
                let earlier = self.events.operation(number)?;
                let shares_accumulators =
                    product.written.iter().any(|v| earlier.written.contains(v));
                let conflicts = shares_accumulators && earlier.written != product.written;
                let certainty = state.certainty(number).filter(|_| conflicts)?;
                Some((certainty, earlier.inst))
            })
            .max_by_key(|(certainty, _)| *certainty);
        violations.extend(worst.map(|(certainty, earlier)| Violation {
            inst: event.inst,
            rule: Rule::WarpgroupFence,
            certainty,
            cause: Some(earlier),
        }));
    }
}
