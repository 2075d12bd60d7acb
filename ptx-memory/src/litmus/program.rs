//! Litmus tests as programs of the explorer.

use std::collections::BTreeSet;

use super::liveness::{live_registers, loop_heads, target};
use super::{Arithmetic, AtomicOperation, BYTES, Instruction, Litmus, Operand, Term};
use crate::event::{AddressRange, Location, MemoryProxy, MemoryScope, Order, ThreadPlace};
use crate::program::{
    BarrierStep, Iteration, Participants, Program, Step, ThreadAccess, Update, Value,
};
use crate::relation::EventSet;

/// The state of a thread of a litmus test.
#[derive(Clone, Debug)]
pub struct LitmusThread {
    thread: usize,
    /// The number of the next instruction.
    next: usize,
    registers: Vec<Value>,
    /// The reads on which branches depended.
    control: EventSet,
    /// Whether the thread stopped at the loop head at `next`.
    is_at_head: bool,
    /// Whether the last branch led back.
    is_back: bool,
}

impl LitmusThread {
    /// The value of a register.
    #[must_use]
    pub fn register(&self, register: usize) -> Option<i64> {
        Some(self.registers.get(register)?.bits? as i64)
    }

    fn value(&self, operand: Operand) -> Value {
        match operand {
            Operand::Constant(value) => Value::constant(u128::from(value as u64)),
            Operand::Register(register) => {
                self.registers.get(register).cloned().unwrap_or_default()
            }
        }
    }

    fn set(&mut self, register: usize, value: Value) {
        if let Some(slot) = self.registers.get_mut(register) {
            *slot = value;
        }
    }
}

/// What is known about the code of a thread.
struct Code {
    heads: Vec<bool>,
    live: Vec<BTreeSet<usize>>,
}

/// A litmus test that is explored.
pub(super) struct LitmusProgram<'a> {
    litmus: &'a Litmus,
    places: Vec<ThreadPlace>,
    codes: Vec<Code>,
}

impl<'a> LitmusProgram<'a> {
    pub(super) fn new(litmus: &'a Litmus) -> Self {
        let mut used = vec![BTreeSet::new(); litmus.threads.len()];
        let mut add = |thread: usize, register: usize| {
            if let Some(set) = used.get_mut(thread) {
                set.insert(register);
            }
        };
        litmus.formula.visit_terms(&mut |term| {
            if let Term::Register(thread, register) = term {
                add(thread, register);
            }
        });
        for &(thread, register, _) in &litmus.assumptions {
            add(thread, register);
        }
        Self {
            litmus,
            places: litmus.threads.iter().map(|thread| thread.place).collect(),
            codes: litmus
                .threads
                .iter()
                .zip(&used)
                .map(|(thread, used)| Code {
                    heads: loop_heads(thread),
                    live: live_registers(thread, used),
                })
                .collect(),
        }
    }

    fn location(&self, variable: usize) -> Option<Location> {
        Some(self.litmus.variables.get(variable)?.location)
    }

    /// The instruction at which a thread is.
    fn instruction(&self, state: &LitmusThread) -> Option<&'a Instruction> {
        self.litmus
            .threads
            .get(state.thread)?
            .instructions
            .get(state.next)
    }

    fn branch(&self, state: &mut LitmusThread, label: &str) -> bool {
        let number = self
            .litmus
            .threads
            .get(state.thread)
            .and_then(|thread| target(thread, label));
        match number {
            Some(number) => {
                state.is_back = number <= state.next;
                state.next = number;
                true
            }
            None => false,
        }
    }

    fn access(
        &self,
        state: &LitmusThread,
        (order, scope, proxy): (Order, MemoryScope, MemoryProxy),
        variable: usize,
        data: &[Value],
    ) -> ThreadAccess {
        let mut dependencies = state.control.clone();
        for value in data {
            dependencies.extend(&value.dependencies);
        }
        ThreadAccess {
            location: self.location(variable),
            order,
            scope,
            proxy,
            dependencies,
            instruction: state.next as u32,
        }
    }

    /// The step of an instruction that is neither arithmetic nor a branch.
    fn step(&self, state: &mut LitmusThread, instruction: &Instruction) -> Step {
        let number = state.next as u32;
        match *instruction {
            Instruction::Load {
                order,
                scope,
                proxy,
                variable,
                ..
            } => Step::Read(self.access(state, (order, scope, proxy), variable, &[])),
            Instruction::Store {
                order,
                scope,
                proxy,
                variable,
                value,
            } => {
                let value = state.value(value);
                let access = self.access(
                    state,
                    (order, scope, proxy),
                    variable,
                    std::slice::from_ref(&value),
                );
                state.next += 1;
                Step::Write(access, value.bits)
            }
            Instruction::Atomic {
                order,
                scope,
                destination,
                variable,
                operands,
                ..
            } => {
                let data = operands.map(|operand| state.value(operand));
                let access =
                    self.access(state, (order, scope, MemoryProxy::Generic), variable, &data);
                Step::Atomic {
                    access,
                    is_reduction: destination.is_none(),
                }
            }
            Instruction::Fence(order, scope) => {
                state.next += 1;
                Step::Fence {
                    order,
                    scope,
                    dependencies: state.control.clone(),
                    instruction: number,
                }
            }
            Instruction::ProxyFence(proxy) => {
                state.next += 1;
                Step::ProxyFence {
                    range: AddressRange::ALL,
                    proxy,
                    order: Order::Weak,
                    scope: MemoryScope::Sys,
                    dependencies: state.control.clone(),
                    instruction: number,
                }
            }
            Instruction::Barrier {
                barrier,
                quorum,
                waits,
            } => self.barrier(state, barrier, quorum, waits),
            _ => Step::Blocked(EventSet::new()),
        }
    }

    fn barrier(
        &self,
        state: &mut LitmusThread,
        barrier: Operand,
        quorum: Option<Operand>,
        waits: bool,
    ) -> Step {
        let barrier = state.value(barrier);
        let quorum = quorum.map(|quorum| state.value(quorum));
        let count = quorum.as_ref().map(|quorum| quorum.bits);
        let (Some(number), None | Some(Some(_))) = (barrier.bits, count) else {
            let mut dependencies = barrier.dependencies;
            if let Some(quorum) = quorum {
                dependencies.extend(&quorum.dependencies);
            }
            return Step::Blocked(dependencies);
        };
        state.control.extend(&barrier.dependencies);
        if let Some(quorum) = &quorum {
            state.control.extend(&quorum.dependencies);
        }
        let instruction = state.next as u32;
        state.next += 1;
        Step::Barrier(BarrierStep {
            barrier: number as u64,
            participants: match count.flatten() {
                Some(count) => Participants::AtLeast(count as u32),
                None => Participants::Unlimited,
            },
            arrives: true,
            waits,
            exchange: None,
            orders: true,
            released: Vec::new(),
            dependencies: state.control.clone(),
            instruction,
        })
    }
}

fn arithmetic(operation: Arithmetic, a: i64, b: i64) -> i64 {
    match operation {
        Arithmetic::Move => a,
        Arithmetic::Add => a.wrapping_add(b),
        Arithmetic::Sub => a.wrapping_sub(b),
        Arithmetic::Mul => a.wrapping_mul(b),
        Arithmetic::Div => a.checked_div(b).unwrap_or(0),
    }
}

impl Program for LitmusProgram<'_> {
    type Thread = LitmusThread;

    fn places(&self) -> &[ThreadPlace] {
        &self.places
    }

    fn start(&self, thread: usize) -> LitmusThread {
        let registers = self
            .litmus
            .threads
            .get(thread)
            .map(|thread| &thread.registers[..]);
        LitmusThread {
            thread,
            next: 0,
            registers: registers
                .unwrap_or(&[])
                .iter()
                .map(|(_, value)| Value::constant(u128::from(*value as u64)))
                .collect(),
            control: EventSet::new(),
            is_at_head: false,
            is_back: false,
        }
    }

    fn next(&self, state: &mut LitmusThread) -> Step {
        // A loop without a label that is reached again cannot exist, so this ends.
        loop {
            let Some(instruction) = self.instruction(state) else {
                return Step::Exit;
            };
            match instruction {
                Instruction::Label(_) => {
                    let is_head = self
                        .codes
                        .get(state.thread)
                        .and_then(|code| code.heads.get(state.next))
                        .is_some_and(|is_head| *is_head);
                    if is_head && !state.is_at_head {
                        state.is_at_head = true;
                        let iteration = if state.is_back {
                            Iteration::Next
                        } else {
                            Iteration::First
                        };
                        state.is_back = false;
                        return Step::LoopHead(state.next as u32, iteration);
                    }
                    state.is_at_head = false;
                    state.next += 1;
                }
                Instruction::Branch(label) => {
                    if !self.branch(state, label) {
                        return Step::Fault(format!("there is no label `{label}`"));
                    }
                }
                Instruction::BranchIf(condition, operands, label) => {
                    let [a, b] = operands.map(|operand| state.value(operand));
                    let (Some(x), Some(y)) = (a.bits, b.bits) else {
                        let mut dependencies = a.dependencies;
                        dependencies.extend(&b.dependencies);
                        return Step::Blocked(dependencies);
                    };
                    state.control.extend(&a.dependencies);
                    state.control.extend(&b.dependencies);
                    if !condition.holds(x as i64, y as i64) {
                        state.next += 1;
                    } else if !self.branch(state, label) {
                        return Step::Fault(format!("there is no label `{label}`"));
                    }
                }
                Instruction::Arithmetic(operation, destination, operands) => {
                    let [a, b] = operands.map(|operand| state.value(operand));
                    let mut dependencies = a.dependencies.clone();
                    dependencies.extend(&b.dependencies);
                    let bits = a.bits.zip(b.bits).map(|(a, b)| {
                        u128::from(arithmetic(*operation, a as i64, b as i64) as u64)
                    });
                    state.set(*destination, Value { bits, dependencies });
                    state.next += 1;
                }
                _ => return self.step(state, instruction),
            }
        }
    }

    fn receive(&self, state: &mut LitmusThread, value: Value) {
        if let Some(destination) = self
            .instruction(state)
            .and_then(|instruction| instruction.destination())
        {
            state.set(destination, value);
        }
        state.next += 1;
    }

    fn update(&self, state: &LitmusThread, old: u128) -> Update {
        let Some(Instruction::Atomic {
            operation,
            operands,
            ..
        }) = self.instruction(state)
        else {
            return Update::Nothing;
        };
        let [a, b] = operands.map(|operand| state.value(operand).bits);
        let (Some(a), Some(b)) = (a, b) else {
            return Update::Unknown;
        };
        let (old, a, b) = (old as i64, a as i64, b as i64);
        let new = match operation {
            AtomicOperation::Add => old.wrapping_add(a),
            AtomicOperation::Sub => old.wrapping_sub(a),
            AtomicOperation::Exchange => a,
            AtomicOperation::CompareAndSwap if old == a => b,
            AtomicOperation::CompareAndSwap => return Update::Nothing,
            AtomicOperation::And => old & a,
            AtomicOperation::Or => old | a,
            AtomicOperation::Xor => old ^ a,
            AtomicOperation::Min => old.min(a),
            AtomicOperation::Max => old.max(a),
        };
        Update::Write(u128::from(new as u64))
    }

    fn is_same(&self, first: &LitmusThread, second: &LitmusThread) -> bool {
        let live = self
            .codes
            .get(first.thread)
            .and_then(|code| code.live.get(first.next));
        first.next == second.next
            && live.is_some_and(|live| {
                live.iter().all(|&register| {
                    let bits = first.register(register);
                    bits.is_some() && bits == second.register(register)
                })
            })
    }

    fn initial(&self, address: u64, bytes: u32) -> Option<u128> {
        let variable = self.litmus.variables.iter().find(|variable| {
            variable.location.address <= address
                && address + u64::from(bytes) <= variable.location.address + u64::from(BYTES)
        })?;
        let shift = 8 * (address - variable.location.address);
        Some(u128::from(variable.initial as u64) >> shift)
    }

    fn are_symmetric(&self, first: usize, second: usize) -> bool {
        let threads = &self.litmus.threads;
        match (threads.get(first), threads.get(second)) {
            (Some(a), Some(b)) => a.instructions == b.instructions && a.registers == b.registers,
            _ => false,
        }
    }
}
