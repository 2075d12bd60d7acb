//! The state of a thread of a kernel.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptx_ir::facts::Facts;
use ptx_isa::SpecialReg;
use ptx_semantics::{Place, SourceOperand, evaluate};

use super::Kernel;
use super::asynchronous::Asynchrony;
use super::variables::WORKSPACE;
use crate::program::{Iteration, Value};
use crate::relation::EventSet;

/// The state of a thread of a kernel.
#[derive(Clone, Debug)]
pub struct KernelThread {
    pub(super) thread: usize,
    /// The number of the next instruction.
    pub(super) next: usize,
    pub(super) registers: Arc<BTreeMap<Place, Value>>,
    /// The number of writes of registers.
    writes: u64,
    /// For each register whose value depends on a read without a source, the number of its write.
    unknown_writes: Arc<BTreeMap<Place, u64>>,
    /// The reads on which branches depended.
    pub(super) control: EventSet,
    /// Whether the thread stopped at the loop head at `next`.
    pub(super) is_at_head: bool,
    /// Whether the last branch led back.
    pub(super) is_back: bool,
    /// For each head of a loop that was visited, the number of reads on which branches depended then.
    pub(super) heads: Vec<(usize, usize)>,
    /// The number of elements of a vector that were accessed.
    pub(super) element: usize,
    /// The number of instructions since the last step.
    pub(super) work: u32,
    /// Whether the exchange at `next` has no defined result.
    pub(super) has_undefined_result: bool,
    pub(super) asynchrony: Asynchrony,
    /// The instructions that initialized mbarrier objects.
    pub(super) initialized: Vec<u32>,
    /// Those before the last `fence.mbarrier_init`.
    pub(super) released: Vec<u32>,
}

impl KernelThread {
    pub(super) fn new(thread: usize) -> Self {
        Self {
            thread,
            next: 0,
            registers: Arc::new(BTreeMap::new()),
            writes: 0,
            unknown_writes: Arc::new(BTreeMap::new()),
            control: EventSet::new(),
            is_at_head: false,
            is_back: false,
            heads: Vec::new(),
            element: 0,
            work: 0,
            has_undefined_result: false,
            asynchrony: Asynchrony::default(),
            initialized: Vec::new(),
            released: Vec::new(),
        }
    }

    /// The bits of a register; `None` if it was never written.
    #[must_use]
    pub(super) fn register(&self, place: Place) -> Option<u128> {
        self.registers.get(&place)?.bits
    }

    /// The write of a register whose value is unknown: as long as it is the same, the register has the same value.
    pub(super) fn unknown_write(&self, place: Place) -> Option<u64> {
        self.unknown_writes.get(&place).copied()
    }

    /// How the thread came to the head of a loop.
    pub(super) fn visit_head(&mut self, head: usize) -> Iteration {
        let reads = self.control.iter().count();
        let is_back = std::mem::take(&mut self.is_back);
        match self.heads.iter_mut().find(|(number, _)| *number == head) {
            Some((_, earlier)) => {
                let is_determined = std::mem::replace(earlier, reads) == reads;
                match (is_back, is_determined) {
                    (false, _) => Iteration::First,
                    (true, false) => Iteration::Next,
                    (true, true) => Iteration::Determined,
                }
            }
            None => {
                self.heads.push((head, reads));
                Iteration::First
            }
        }
    }

    pub(super) fn set(&mut self, place: Place, value: Value) {
        self.writes += 1;
        if value.bits.is_none() {
            Arc::make_mut(&mut self.unknown_writes).insert(place, self.writes);
        }
        Arc::make_mut(&mut self.registers).insert(place, value);
    }
}

/// Whether a special register tells the time.
pub(super) fn is_clock(register: SpecialReg) -> bool {
    matches!(
        register,
        SpecialReg::Clock
            | SpecialReg::ClockHi
            | SpecialReg::Clock64
            | SpecialReg::Globaltimer
            | SpecialReg::GlobaltimerLo
            | SpecialReg::GlobaltimerHi
    )
}

impl Kernel<'_> {
    /// The value of a special register for a thread; `None` if it has none here.
    fn special(&self, thread: usize, register: SpecialReg, component: Option<u8>) -> Option<u128> {
        let launch = &self.launch;
        let threads = launch.threads.max(1);
        let (cta, index) = (thread as u32 / threads, thread as u32 % threads);
        let first = component.unwrap_or(0) == 0;
        let vector = |x: u32, others: u32| u128::from(if first { x } else { others });
        Some(match register {
            SpecialReg::Tid => vector(index, 0),
            SpecialReg::Ntid => vector(threads, 1),
            SpecialReg::Ctaid => vector(cta, 0),
            SpecialReg::Nctaid => vector(launch.ctas, 1),
            SpecialReg::Laneid => u128::from(index % 32),
            SpecialReg::Warpid => u128::from(index / 32),
            SpecialReg::Nwarpid => u128::from(threads.div_ceil(32)),
            SpecialReg::Smid => u128::from(cta),
            SpecialReg::Nsmid => u128::from(launch.ctas),
            SpecialReg::Clusterid => vector(cta / launch.cluster, 0),
            SpecialReg::Nclusterid => vector(launch.ctas.div_ceil(launch.cluster), 1),
            SpecialReg::ClusterCtaid => vector(cta % launch.cluster, 0),
            SpecialReg::ClusterNctaid => vector(launch.cluster, 1),
            SpecialReg::ClusterCtarank => u128::from(cta % launch.cluster),
            SpecialReg::ClusterNctarank => u128::from(launch.cluster),
            // The halves of the address of what barriers of all CTAs are kept in.
            SpecialReg::Envreg1 => u128::from(WORKSPACE >> 32),
            SpecialReg::Envreg2 => u128::from(WORKSPACE & 0xffff_ffff),
            // No time passes (`Code::reads_clock`).
            register if is_clock(register) => 0,
            SpecialReg::LanemaskEq => 1 << (index % 32),
            SpecialReg::LanemaskLt => (1 << (index % 32)) - 1,
            SpecialReg::LanemaskLe => (2 << (index % 32)) - 1,
            _ => return None,
        })
    }

    /// The value of a place. A register that was never written is zero.
    pub(super) fn value(&self, state: &KernelThread, place: Place) -> Option<Value> {
        match place {
            Place::Special(register, component) => self
                .special(state.thread, register, component)
                .map(Value::constant),
            place => Some(
                state
                    .registers
                    .get(&place)
                    .cloned()
                    .unwrap_or(Value::constant(0)),
            ),
        }
    }

    /// The value of a source operand; `None` if it has none here.
    pub(super) fn source(&self, state: &KernelThread, source: SourceOperand) -> Option<Value> {
        match source {
            SourceOperand::Bits(bits) => Some(Value::constant(bits)),
            SourceOperand::Place(place) => self.value(state, place),
            SourceOperand::Not(place) => {
                let value = self.value(state, place)?;
                Some(Value {
                    bits: value.bits.map(|bits| bits ^ 1),
                    ..value
                })
            }
            _ => None,
        }
    }

    /// The guard of an instruction: whether it executes, `None` if this is unknown; and the reads on which it depends.
    pub(super) fn guard(&self, state: &KernelThread, facts: &Facts<'_>) -> Value {
        let Some((register, sense)) = facts.guard_register() else {
            return Value::constant(u128::from(facts.guard().is_none()));
        };
        let value = Place::of_register(facts.body(), register)
            .and_then(|place| self.value(state, place))
            .unwrap_or_default();
        Value {
            bits: value
                .bits
                .map(|bits| u128::from(sense.holds(bits & 1 == 1))),
            ..value
        }
    }

    /// Executes an instruction that only computes. Returns whether it could be evaluated; results that depend on a read without a source are
    /// unknown.
    pub(super) fn compute(&self, state: &mut KernelThread, facts: &Facts<'_>) -> bool {
        let mut dependencies = EventSet::new();
        let mut is_pending = false;
        let results = evaluate(facts, |place| {
            let value = self.value(state, place)?;
            dependencies.extend(&value.dependencies);
            is_pending |= value.bits.is_none();
            value.bits
        });
        let places: Vec<(Place, Option<u128>)> = match results {
            Some(results) => results.iter().collect(),
            // All sources are visited, so that the unknown results depend on them.
            None if is_pending => {
                for place in facts
                    .reads()
                    .filter_map(|register| Place::of_register(facts.body(), register))
                {
                    let value = self.value(state, place).unwrap_or_default();
                    dependencies.extend(&value.dependencies);
                }
                facts
                    .writes()
                    .filter_map(|register| Place::of_register(facts.body(), register))
                    .map(|place| (place, None))
                    .collect()
            }
            None => return false,
        };
        // An instruction that may not execute keeps the old value, on which the result depends then.
        let keeps = facts.guard().is_some() && is_pending;
        for (place, bits) in places {
            if bits.is_none() && !is_pending {
                return false;
            }
            let mut dependencies = dependencies.clone();
            if keeps {
                let old = self.value(state, place).unwrap_or_default();
                dependencies.extend(&old.dependencies);
            }
            state.set(place, Value { bits, dependencies });
        }
        true
    }
}
