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

/// Products beyond these are not compared with others.
const MOST_PRODUCTS: usize = 256;

/// Adds the products whose registers need a fence.
pub(super) fn check(events: &Events, cfg: &Cfg, found: &mut Vec<Violation>) {
    let mut numbers = BTreeMap::new();
    for operation in events.operations.iter().filter(|o| is_product(o)) {
        for &variable in operation.written.iter().chain(&operation.read) {
            let next = numbers.len() as u32;
            numbers.entry(variable).or_insert(next);
        }
    }
    if !numbers.is_empty() {
        follow(&Fencing { events, numbers }, events, cfg, found);
        let products = events.operations.len().min(MOST_PRODUCTS);
        follow(&Shapes { events, products }, events, cfg, found);
    }
}

fn is_product(operation: &Operation) -> bool {
    operation.mechanism == Mechanism::Warpgroup
}

struct Fencing<'a> {
    events: &'a Events,
    /// The registers of products, by their variables.
    numbers: BTreeMap<u32, u32>,
}

impl Fencing<'_> {
    fn registers(&self, operation: u32) -> impl Iterator<Item = u32> + '_ {
        let operation = self.events.operation(operation).filter(|o| is_product(o));
        let variables = operation
            .into_iter()
            .flat_map(|o| o.written.iter().chain(&o.read));
        variables.filter_map(|variable| self.numbers.get(variable).copied())
    }
}

impl Protocol for Fencing<'_> {
    /// The registers that were written after the last fence, or all without one.
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
                let written = writes.iter().filter_map(|v| self.numbers.get(v));
                written.for_each(|&number| match is_move {
                    // Compilers put moves of initial values there.
                    true => state.set_possible(number),
                    false => state.set(number),
                });
            }
            // One violation for each missing fence.
            Kind::Start(operation) => self.registers(*operation).for_each(|r| state.unset(r)),
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &Flags, found: &mut Vec<Violation>) {
        if let Kind::Start(operation) = event.kind {
            let certainty = self.registers(operation).filter_map(|r| state.certainty(r));
            found.extend(certainty.max().map(|certainty| Violation {
                inst: event.inst,
                rule: Rule::WarpgroupFence,
                certainty,
                cause: None,
            }));
        }
    }
}

/// Products that share accumulators with products of another shape.
struct Shapes<'a> {
    events: &'a Events,
    products: usize,
}

impl Protocol for Shapes<'_> {
    /// The products that began after the last fence.
    type State = Flags;

    fn start(&self) -> Flags {
        Flags::none(self.products)
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

    fn check(&self, event: &Event, state: &Flags, found: &mut Vec<Violation>) {
        let Kind::Start(number) = event.kind else {
            return;
        };
        let Some(product) = self.events.operation(number).filter(|o| is_product(o)) else {
            return;
        };
        let certainty = state.iter().filter_map(|other| {
            let before = &self.events.operation(other)?.written;
            let shared = product.written.iter().any(|v| before.contains(v));
            let differs = shared && *before != product.written;
            let inst = self.events.operation(other)?.inst;
            Some((state.certainty(other).filter(|_| differs)?, inst))
        });
        let worst = certainty.max_by_key(|(certainty, _)| *certainty);
        found.extend(worst.map(|(certainty, other)| Violation {
            inst: event.inst,
            rule: Rule::WarpgroupFence,
            certainty,
            cause: Some(other),
        }));
    }
}
