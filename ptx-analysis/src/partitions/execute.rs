//! Execution of the instructions of a slice that compute registers.

use alloc::vec::Vec;

use ptx_ir::Operand;
use ptx_ir::facts::{Facts, MemoryAccess, RegisterComponent, Space};
use ptx_isa::{Action, SpecialReg, StateSpace};
use ptx_semantics::fold::PerThread;
use ptx_semantics::internals::evaluate_columns;
use ptx_semantics::{Place, evaluate};

use super::machine::{Machine, WINDOW};
use super::memory::{shared_load, shared_store};
use super::values::{LANES, LaneMask, Value, lanes};
use crate::values::VariableRef;

/// The distance between the assumed addresses of variables.
const VARIABLE_BYTES: u64 = 1 << 20;

impl Machine<'_> {
    /// The value of a register.
    pub(super) fn register(&self, index: usize, place: RegisterComponent) -> Value {
        let variable = self.function.variables().of(place).single();
        variable
            .and_then(|variable| self.slice.slot(variable))
            .and_then(|slot| self.groups[index].registers.get(slot))
            .cloned()
            .unwrap_or_default()
    }

    /// Sets a register in some lanes of a group.
    pub(super) fn set_register(
        &mut self,
        index: usize,
        place: RegisterComponent,
        value: &Value,
        mask: LaneMask,
    ) {
        let variables: Vec<_> = self.function.variables().of(place).collect();
        let group = &mut self.groups[index];
        for variable in variables {
            let Some(register) = self
                .slice
                .slot(variable)
                .and_then(|slot| group.registers.get_mut(slot))
            else {
                continue;
            };
            *register = if mask == group.lanes {
                value.clone()
            } else {
                value.joined(mask, register, group.lanes & !mask)
            };
        }
    }

    /// The lanes of a group in which the guard of an instruction is true; `None` if it is unknown.
    pub(super) fn guarded_lanes(&self, index: usize, facts: Facts<'_>) -> Option<LaneMask> {
        let mask = self.groups[index].lanes;
        if facts.guard().is_none() {
            return Some(mask);
        }
        let (place, sense) = facts.guard_register()?;
        let true_lanes = self.register(index, place).true_lanes(mask)?;
        Some(if sense.holds(true) {
            true_lanes
        } else {
            mask & !true_lanes
        })
    }

    /// The value of an operand that an instruction reads: a number, a register, or the address of a variable.
    pub(super) fn operand(&self, index: usize, facts: Facts<'_>, operand: Operand) -> Value {
        let body = self.function.body();
        if let Some(number) = body.pool().integer(operand) {
            return Value::Uniform(number as u64);
        }
        if let Some(variable) = VariableRef::of(operand) {
            return Value::Uniform(variable_address(variable));
        }
        if let Operand::Address(id) = operand {
            let Some(address) = body.pool().address(id) else {
                return Value::Unknown;
            };
            let base = self.operand(index, facts, address.base);
            let mask = self.groups[index].lanes;
            return match address.byte_offset(body.pool()) {
                Some(offset) => Value::of_lanes(mask, |lane| {
                    Some(base.get(lane)?.wrapping_add_signed(offset))
                }),
                None => Value::Unknown,
            };
        }
        match facts.place(operand) {
            Some(place) => self.register(index, place),
            None => Value::Unknown,
        }
    }

    /// Executes an instruction that computes registers.
    pub(super) fn compute(&mut self, index: usize, facts: Facts<'_>) {
        if let Some(store) = shared_store(facts) {
            self.store_shared(index, facts, &store);
            return;
        }
        let Some(mask) = self.guarded_lanes(index, facts) else {
            let written: Vec<_> = facts.writes().chain(facts.conditional_writes()).collect();
            for place in written {
                let lanes = self.groups[index].lanes;
                self.set_register(index, place, &Value::Unknown, lanes);
            }
            return;
        };
        if mask == 0 {
            return;
        }
        if let Some(load) = shared_load(facts) {
            self.load_shared(index, facts, &load, mask);
            return;
        }
        if let Some(value) = self.special_result(index, facts, mask) {
            let mut written = facts.writes();
            if let Some(place) = written.next() {
                self.set_register(index, place, &value, mask);
            }
            for place in written {
                self.set_register(index, place, &Value::Unknown, mask);
            }
            return;
        }
        for (place, value) in self.evaluated(index, facts, mask) {
            self.set_register(index, place, &value, mask);
        }
    }

    /// The first result of an instruction that is not a function of registers alone; `None` if it is.
    fn special_result(&self, index: usize, facts: Facts<'_>, mask: LaneMask) -> Option<Value> {
        if let Some(access) = facts.memory().next() {
            return Some(self.loaded(&access));
        }
        let first_source = || {
            let mut reads = facts.parts().filter(|(_, usage)| usage.reads());
            reads.next().map(|(operand, _)| operand)
        };
        let source = |index| first_source().map(|operand| self.operand(index, facts, operand));
        match facts.action() {
            None => {
                let operand = first_source()?;
                let is_address =
                    VariableRef::of(operand).is_some() || matches!(operand, Operand::Address(_));
                is_address.then(|| self.operand(index, facts, operand))
            }
            Some(Action::ToGeneric) => Some(shifted(&source(index)?, mask, WINDOW)),
            Some(Action::FromGeneric) => {
                Some(shifted(&source(index)?, mask, WINDOW.wrapping_neg()))
            }
            Some(Action::Elect) => {
                // The predicate is the second result, after the lane.
                None
            }
            Some(Action::Shuffle | Action::Vote | Action::WarpReduce) => {
                let value = source(index)?;
                let number = value.uniform(self.groups[index].lanes);
                let is_kept = facts.action() == Some(Action::Shuffle);
                Some(
                    number
                        .filter(|_| is_kept)
                        .map_or(Value::Unknown, Value::Uniform),
                )
            }
            Some(_) => Some(Value::Unknown),
        }
    }

    /// The value that an instruction loads: an assumed number for a parameter.
    fn loaded(&self, access: &MemoryAccess) -> Value {
        let is_parameter =
            matches!(access.space, Space::State(space) if space.base() == StateSpace::Param);
        let (Some(Operand::Var(variable)), Some(offset), true) =
            (access.base, access.offset, is_parameter)
        else {
            return Value::Unknown;
        };
        let is_pointer = access.bytes == Some(8);
        Value::Uniform(if is_pointer {
            (1 << 40) + ((u64::from(variable.as_u32()) << 32) | offset as u64)
        } else {
            self.assumed
        })
    }

    /// The results of an instruction that is a function of registers, special registers and numbers.
    fn evaluated(
        &self,
        index: usize,
        facts: Facts<'_>,
        mask: LaneMask,
    ) -> Vec<(RegisterComponent, Value)> {
        let written: Vec<_> = facts.writes().chain(facts.conditional_writes()).collect();
        if facts.action() == Some(Action::Elect) {
            let elected = self.groups[index].lanes.trailing_zeros() as usize;
            let predicate = Value::of_lanes(mask, |lane| Some(u64::from(lane == elected)));
            let count = written.len();
            return written
                .into_iter()
                .enumerate()
                .map(|(number, place)| {
                    let is_predicate = number + 1 == count;
                    (
                        place,
                        if is_predicate {
                            predicate.clone()
                        } else {
                            Value::Uniform(elected as u64)
                        },
                    )
                })
                .collect();
        }
        let varies = facts
            .reads()
            .any(|place| matches!(self.register(index, place), Value::PerLane(_)))
            || self.reads_lane(facts);
        if varies && let Some(results) = self.evaluated_columns(index, facts, mask, &written) {
            return results;
        }
        let evaluated_lanes = if varies {
            mask
        } else {
            1 << mask.trailing_zeros()
        };
        let mut numbers = vec![[None; LANES]; written.len()];
        for lane in lanes(evaluated_lanes) {
            let results = evaluate(&facts, |place| {
                self.place(index, place, lane).map(u128::from)
            });
            for (place, numbers) in written.iter().zip(&mut numbers) {
                let result = Place::of_register(facts.body(), *place)
                    .and_then(|place| results.as_ref()?.get(place));
                numbers[lane] = result.and_then(|bits| u64::try_from(bits).ok());
            }
        }
        let values = numbers.into_iter().map(|numbers| {
            if varies {
                Value::of_lanes(mask, |lane| numbers[lane])
            } else {
                numbers[mask.trailing_zeros() as usize].map_or(Value::Unknown, Value::Uniform)
            }
        });
        written.into_iter().zip(values).collect()
    }

    /// The results of an instruction for all lanes at once; `None` if they have to be evaluated lane by lane.
    fn evaluated_columns(
        &self,
        index: usize,
        facts: Facts<'_>,
        mask: LaneMask,
        written: &[RegisterComponent],
    ) -> Option<Vec<(RegisterComponent, Value)>> {
        let results = evaluate_columns(&facts, LANES, |place| match place {
            Place::Register(place) => match self.register(index, place) {
                Value::Unknown => None,
                Value::Uniform(number) => Some(PerThread::Same(number)),
                Value::PerLane(numbers) => Some(PerThread::Each(numbers[..].into())),
            },
            place => {
                let numbers: Option<_> = (0..LANES)
                    .map(|lane| self.place(index, place, lane))
                    .collect();
                Some(PerThread::Each(numbers?))
            }
        })?;
        let values = written.iter().map(|&place| {
            let bits = Place::of_register(facts.body(), place)
                .and_then(|place| results.iter().find(|(result, _)| *result == place));
            let value = bits.map_or(Value::Unknown, |(_, column)| {
                Value::of_lanes(mask, |lane| Some(column.get(lane)))
            });
            (place, value)
        });
        Some(values.collect())
    }

    /// Whether an instruction reads a special register that differs between lanes.
    fn reads_lane(&self, facts: Facts<'_>) -> bool {
        let pool = facts.body().pool();
        facts.parts().any(|(operand, _)| {
            let register = match operand {
                Operand::Component(_, inner) => pool.get(inner),
                operand => operand,
            };
            matches!(register, Operand::Special(_))
        })
    }

    /// The value of a register or special register in a lane.
    fn place(&self, index: usize, place: Place, lane: usize) -> Option<u64> {
        match place {
            Place::Register(place) => self.register(index, place).get(lane),
            Place::Special(register, component) => {
                let thread = self.groups[index].warp * LANES as u32 + lane as u32;
                self.special(register, component.unwrap_or(0), thread)
            }
            _ => None,
        }
    }

    /// A special register of a thread of the first CTA of a grid of several CTAs without clusters.
    fn special(&self, register: SpecialReg, component: u8, thread: u32) -> Option<u64> {
        let [x, y, _] = self.size;
        let component = usize::from(component);
        let is_first = component == 0;
        Some(u64::from(match register {
            SpecialReg::Tid => *[thread % x, thread / x % y, thread / x / y].get(component)?,
            SpecialReg::Ntid => *self.size.get(component)?,
            SpecialReg::Laneid => thread % LANES as u32,
            SpecialReg::Warpid => thread / LANES as u32,
            SpecialReg::Ctaid
            | SpecialReg::Clusterid
            | SpecialReg::ClusterCtaid
            | SpecialReg::ClusterCtarank => 0,
            SpecialReg::Nctaid | SpecialReg::Nclusterid if is_first => 2,
            SpecialReg::Nctaid
            | SpecialReg::Nclusterid
            | SpecialReg::ClusterNctaid
            | SpecialReg::ClusterNctarank => 1,
            _ => return None,
        }))
    }
}

/// The assumed address of a variable.
fn variable_address(variable: VariableRef) -> u64 {
    let number = match variable {
        VariableRef::Module(id) => 2 * u64::from(id.as_u32()) + 2,
        VariableRef::Local(id) => 2 * u64::from(id.as_u32()) + 3,
    };
    number * VARIABLE_BYTES
}

/// A value plus a number.
fn shifted(value: &Value, mask: LaneMask, number: u64) -> Value {
    Value::of_lanes(mask, |lane| Some(value.get(lane)?.wrapping_add(number)))
}
