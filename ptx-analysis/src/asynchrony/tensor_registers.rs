//! Registers that are overwritten before the load from tensor memory that writes them is complete. A read of such a register waits for the load
//! (9.7.16.6.4.5); a write does not.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::InstId;

use super::events::{Event, Events, Kind, Operation};
use super::flags::Flags;
use super::mechanism::Mechanism;
use super::protocol::{Protocol, follow};
use super::{Rule, Violation};
use crate::cfg::Cfg;
use crate::reg_lanes::VariableId;

/// Adds the writes to registers of pending loads.
pub(super) fn check(events: &Events, cfg: &Cfg, violations: &mut Vec<Violation>) {
    let mut registers = BTreeMap::new();
    for load in events.operations.iter().filter(|o| is_load(o)) {
        for &variable in &load.written {
            let number = registers.len() as u32;
            registers.entry(variable).or_insert(LoadedRegister {
                number,
                load: load.inst,
            });
        }
    }
    if !registers.is_empty() {
        follow(&Loads { events, registers }, events, cfg, violations);
    }
}

fn is_load(operation: &Operation) -> bool {
    operation.mechanism == Mechanism::TensorLoads
}

/// A register that loads from tensor memory write.
struct LoadedRegister {
    /// The number of the register in the state of the protocol.
    number: u32,
    /// The first load that writes the register.
    load: InstId,
}

/// The protocol that a register is not written while a load of it is pending.
struct Loads<'a> {
    events: &'a Events,
    /// The registers of loads by their variables.
    registers: BTreeMap<VariableId, LoadedRegister>,
}

impl Protocol for Loads<'_> {
    /// The registers of which a load is pending.
    type State = Flags;

    fn start(&self) -> Flags {
        Flags::none(self.registers.len())
    }

    fn apply(&self, event: &Event, state: &mut Flags) {
        match &event.kind {
            Kind::Registers { reads, writes, .. } => {
                for variable in reads.iter().chain(writes) {
                    if let Some(register) = self.registers.get(variable) {
                        state.unset(register.number);
                    }
                }
            }
            Kind::Start(number) => {
                let operation = self.events.operation(*number);
                for variable in operation
                    .filter(|o| is_load(o))
                    .into_iter()
                    .flat_map(|load| &load.written)
                {
                    if let Some(register) = self.registers.get(variable) {
                        state.set(register.number);
                    }
                }
            }
            Kind::Wait(Mechanism::TensorLoads, _) | Kind::Call => state.clear(),
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &Flags, violations: &mut Vec<Violation>) {
        let Kind::Registers { reads, writes, .. } = &event.kind else {
            return;
        };
        let overwritten = writes
            .iter()
            .filter(|variable| !reads.contains(variable))
            .filter_map(|variable| {
                let register = self.registers.get(variable)?;
                Some((state.certainty(register.number)?, register.load))
            })
            .max_by_key(|(certainty, load)| (*certainty, core::cmp::Reverse(*load)));
        violations.extend(overwritten.map(|(certainty, load)| Violation {
            inst: event.inst,
            rule: Rule::TensorLoadNotAwaited,
            certainty,
            cause: Some(load),
        }));
    }
}
