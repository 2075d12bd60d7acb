//! Exchanges between the lanes of a warp, and reductions of barriers.
//!
//! The lanes of the mask meet, as at a barrier that orders no memory accesses, and each computes its results from the values of all of them.

use ptx_ir::facts::Facts;
use ptx_isa::{Action, Modifier, ScalarType};

use super::step::Done;
use super::{Kernel, KernelThread};
use crate::program::{BarrierStep, ExchangedValue, Participants, Step, Value};
use crate::relation::EventSet;

/// Whether an action exchanges values between the threads that take part.
pub(super) fn is_exchange(action: Action) -> bool {
    matches!(
        action,
        Action::Shuffle
            | Action::Vote
            | Action::Match
            | Action::WarpReduce
            | Action::Elect
            | Action::BarrierReduce
    )
}

/// The lane whose value a lane reads, and whether that lane is in range (9.7.9.6).
fn shuffle_source(facts: &Facts<'_>, lane: u32, offset: u32, control: u32) -> Option<(u32, bool)> {
    let (offset, clamp, segment) = (offset & 31, control & 31, control >> 8 & 31);
    let last = lane & segment | clamp & !segment;
    let (source, is_in_range) = if facts.has_modifier(Modifier::Up) {
        let source = lane.wrapping_sub(offset);
        (source, source as i32 >= last as i32)
    } else if facts.has_modifier(Modifier::Down) {
        (lane + offset, lane + offset <= last)
    } else if facts.has_modifier(Modifier::Bfly) {
        (lane ^ offset, lane ^ offset <= last)
    } else if facts.has_modifier(Modifier::Idx) {
        let source = lane & segment | offset & !segment;
        (source, source <= last)
    } else {
        return None;
    };
    Some(if is_in_range {
        (source, true)
    } else {
        (lane, false)
    })
}

/// The combination of integers by the operation that modifiers state.
fn reduced(facts: &Facts<'_>, values: impl Iterator<Item = u32>) -> Option<u32> {
    // Signed numbers are in the order of unsigned ones once their signs are inverted.
    let sign = if facts.has_modifier(Modifier::S32) {
        1 << 31
    } else {
        0
    };
    if facts.has_modifier(Modifier::Add) {
        values.reduce(u32::wrapping_add)
    } else if facts.has_modifier(Modifier::And) {
        values.reduce(|a, b| a & b)
    } else if facts.has_modifier(Modifier::Or) {
        values.reduce(|a, b| a | b)
    } else if facts.has_modifier(Modifier::Xor) {
        values.reduce(|a, b| a ^ b)
    } else if facts.has_modifier(Modifier::Min) {
        values.min_by_key(|value| value ^ sign)
    } else if facts.has_modifier(Modifier::Max) {
        values.max_by_key(|value| value ^ sign)
    } else {
        None
    }
}

/// The results of a thread: a value, and a predicate where the instruction has one.
struct Results {
    value: u128,
    predicate: Option<bool>,
}

impl Results {
    fn new(value: u128) -> Self {
        Self {
            value,
            predicate: None,
        }
    }
}

impl Kernel<'_> {
    /// A meeting of the lanes of a mask that exchange values.
    pub(super) fn exchange_step(
        &self,
        state: &KernelThread,
        facts: &Facts<'_>,
        guard: &Value,
    ) -> Done {
        let mut dependencies = state.control.clone();
        dependencies.extend(&guard.dependencies);
        let mut values = Vec::new();
        for number in 0..facts.sources().count() {
            let Some(value) = self.numbered_source(state, facts, number) else {
                return self.unsupported(facts);
            };
            let Some(bits) = value.bits else {
                return Done::Stop(Step::Blocked(value.dependencies));
            };
            dependencies.extend(&value.dependencies);
            values.push(bits);
        }
        let Some(&mask) = values.last().filter(|_| facts.has_modifier(Modifier::Sync)) else {
            return self.unsupported(facts);
        };
        let (warp, members) = self.members(state, mask as u32);
        Done::Stop(Step::Barrier(BarrierStep {
            // Barriers of the same mask are different ones.
            barrier: 3 << 62 | u64::from(warp) << 32 | u64::from(members),
            participants: Participants::Group(members.count_ones()),
            arrives: true,
            waits: true,
            exchange: Some(values.first().copied().unwrap_or(0)),
            orders: false,
            released: Vec::new(),
            dependencies,
            instruction: state.next as u32,
        }))
    }

    /// The warp of a thread, and the lanes of a mask that exist in it.
    pub(super) fn members(&self, state: &KernelThread, mask: u32) -> (u32, u32) {
        let (_, thread) = self.place_of_thread(state.thread);
        let lanes = (self.launch.threads - thread / 32 * 32).clamp(1, 32);
        (thread / 32, mask & (u32::MAX >> (32 - lanes)))
    }

    /// Computes the results of an exchange and continues with the next instruction; fails if the results are not defined.
    pub(super) fn finish_exchange(
        &self,
        state: &mut KernelThread,
        facts: &Facts<'_>,
        values: &[ExchangedValue],
        dependencies: &EventSet,
    ) -> bool {
        let Some(results) = self.exchange_results(state, facts, values) else {
            return false;
        };
        let value = |bits: u128| Value {
            bits: Some(bits),
            dependencies: dependencies.clone(),
        };
        self.set_destination(state, facts, value(results.value));
        if let (Some(predicate), Some(destination)) = (results.predicate, facts.destination(1)) {
            let bits = value(predicate.into());
            self.load_register(state, facts, destination.operand, ScalarType::Pred, bits);
        }
        state.next += 1;
        true
    }

    fn exchange_results(
        &self,
        state: &KernelThread,
        facts: &Facts<'_>,
        values: &[ExchangedValue],
    ) -> Option<Results> {
        let (_, thread) = self.place_of_thread(state.thread);
        let lane = thread % 32;
        let lane_of = |value: &ExchangedValue| self.place_of_thread(value.thread).1 % 32;
        let value_of = |lane: u32| {
            let mut values = values.iter();
            values
                .find(|value| lane_of(value) == lane)
                .map(|value| value.bits)
        };
        let mask_where = |is_selected: &dyn Fn(u128) -> bool| {
            values
                .iter()
                .filter(|value| is_selected(value.bits))
                .fold(0, |mask: u32, value| mask | 1 << lane_of(value))
        };
        let members = mask_where(&|_| true);
        let ballot = mask_where(&|bits| bits & 1 != 0);
        Some(match facts.action()? {
            Action::Shuffle => {
                let source = |number| {
                    let value = self.numbered_source(state, facts, number)?;
                    Some(value.bits? as u32)
                };
                let (source, is_in_range) = shuffle_source(facts, lane, source(1)?, source(2)?)?;
                Results {
                    value: value_of(source)?,
                    predicate: Some(is_in_range),
                }
            }
            Action::Vote if facts.has_modifier(Modifier::Ballot) => Results::new(ballot.into()),
            Action::Vote if facts.has_modifier(Modifier::All) => {
                Results::new((ballot == members).into())
            }
            Action::Vote if facts.has_modifier(Modifier::Any) => Results::new((ballot != 0).into()),
            Action::Vote if facts.has_modifier(Modifier::Uni) => {
                Results::new((ballot == members || ballot == 0).into())
            }
            Action::Match => {
                let operand = value_of(lane)?;
                let equal = mask_where(&|bits| bits == operand);
                if facts.has_modifier(Modifier::Any) {
                    Results::new(equal.into())
                } else {
                    let is_equal = equal == members;
                    Results {
                        value: if is_equal { members.into() } else { 0 },
                        predicate: Some(is_equal),
                    }
                }
            }
            Action::WarpReduce if !facts.has_modifier(Modifier::F32) => {
                let value = reduced(facts, values.iter().map(|value| value.bits as u32))?;
                Results::new(value.into())
            }
            Action::Elect => {
                let leader = members.trailing_zeros();
                Results {
                    value: leader.into(),
                    predicate: Some(lane == leader),
                }
            }
            Action::BarrierReduce => {
                let count = values.iter().filter(|value| value.bits & 1 != 0).count();
                Results::new(if facts.has_modifier(Modifier::Popc) {
                    count as u128
                } else if facts.has_modifier(Modifier::And) {
                    (count == values.len()).into()
                } else {
                    (count != 0).into()
                })
            }
            _ => return None,
        })
    }
}
