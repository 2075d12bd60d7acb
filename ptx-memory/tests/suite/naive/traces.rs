//! All traces of a thread.

use std::collections::BTreeSet;

use ptx_memory::litmus::{AtomicOperation, Condition, Instruction, Litmus, Operand};
use ptx_memory::{Location, MemoryProxy, MemoryScope, Order};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    Read,
    Write,
    Fence,
    ProxyFence(Option<MemoryProxy>),
    Barrier { number: i64, waits: bool },
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Event {
    pub(super) kind: Kind,
    pub(super) order: Order,
    pub(super) scope: MemoryScope,
    pub(super) proxy: MemoryProxy,
    pub(super) location: Option<Location>,
    pub(super) value: i64,
    /// The positions in the trace of the reads that the event depends on.
    pub(super) dependencies: BTreeSet<usize>,
    pub(super) is_reduction: bool,
    /// Whether the event is the write of the atomic operation whose read precedes.
    pub(super) is_update: bool,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Trace {
    pub(super) events: Vec<Event>,
    pub(super) registers: Vec<i64>,
}

/// The state of a thread that is interpreted.
#[derive(Clone)]
pub(super) struct Running {
    pub(super) next: usize,
    pub(super) trace: Trace,
    pub(super) dependencies: Vec<BTreeSet<usize>>,
    pub(super) control: BTreeSet<usize>,
}

pub(super) fn operand(running: &Running, operand: Operand) -> (i64, BTreeSet<usize>) {
    match operand {
        Operand::Constant(value) => (value, BTreeSet::new()),
        Operand::Register(register) => (
            running.trace.registers[register],
            running.dependencies[register].clone(),
        ),
    }
}

pub(super) fn union(sets: &[&BTreeSet<usize>]) -> BTreeSet<usize> {
    sets.iter().flat_map(|set| set.iter().copied()).collect()
}

pub(super) fn condition_holds(condition: Condition, a: i64, b: i64) -> bool {
    match condition {
        Condition::Equal => a == b,
        Condition::NotEqual => a != b,
        Condition::Less => a < b,
        Condition::LessOrEqual => a <= b,
        Condition::Greater => a > b,
        Condition::GreaterOrEqual => a >= b,
    }
}

pub(super) fn updated(operation: AtomicOperation, old: i64, a: i64, b: i64) -> Option<i64> {
    Some(match operation {
        AtomicOperation::Add => old + a,
        AtomicOperation::Sub => old - a,
        AtomicOperation::Exchange => a,
        AtomicOperation::CompareAndSwap => return (old == a).then_some(b),
        AtomicOperation::And => old & a,
        AtomicOperation::Or => old | a,
        AtomicOperation::Xor => old ^ a,
        AtomicOperation::Min => old.min(a),
        AtomicOperation::Max => old.max(a),
    })
}

/// The largest number of traces of a thread.
const MAX_TRACES: usize = 1000;

/// All traces of a thread whose reads return values of a domain; `None` if there are too many. Code without branches backwards.
pub(super) fn traces(
    litmus: &Litmus,
    thread: usize,
    domain: &BTreeSet<(u64, i64)>,
) -> Option<BTreeSet<Trace>> {
    let code = &litmus.threads[thread];
    let mut pending = vec![Running {
        next: 0,
        trace: Trace {
            events: Vec::new(),
            registers: code.registers.iter().map(|(_, value)| *value).collect(),
        },
        dependencies: vec![BTreeSet::new(); code.registers.len()],
        control: BTreeSet::new(),
    }];
    let mut result = BTreeSet::new();
    while let Some(mut running) = pending.pop() {
        if result.len() + pending.len() > MAX_TRACES {
            return None;
        }
        let Some(instruction) = code.instructions.get(running.next) else {
            result.insert(running.trace);
            continue;
        };
        running.next += 1;
        let control = running.control.clone();
        let event = |kind, order, scope, proxy, variable: Option<usize>| Event {
            kind,
            order,
            scope,
            proxy,
            location: variable.map(|variable| litmus.variables[variable].location),
            value: 0,
            dependencies: control.clone(),
            is_reduction: false,
            is_update: false,
        };
        let generic = MemoryProxy::Generic;
        match *instruction {
            Instruction::Load {
                order,
                scope,
                proxy,
                destination,
                variable,
            } => {
                let location = litmus.variables[variable].location;
                for &(address, value) in domain {
                    if address != location.address {
                        continue;
                    }
                    let mut running = running.clone();
                    let position = running.trace.events.len();
                    running.trace.events.push(Event {
                        value,
                        ..event(Kind::Read, order, scope, proxy, Some(variable))
                    });
                    running.trace.registers[destination] = value;
                    running.dependencies[destination] = BTreeSet::from([position]);
                    pending.push(running);
                }
            }
            Instruction::Store {
                order,
                scope,
                proxy,
                variable,
                value,
            } => {
                let (value, data) = operand(&running, value);
                running.trace.events.push(Event {
                    value,
                    dependencies: union(&[&control, &data]),
                    ..event(Kind::Write, order, scope, proxy, Some(variable))
                });
                pending.push(running);
            }
            Instruction::Atomic {
                order,
                scope,
                operation,
                destination,
                variable,
                operands,
            } => {
                let location = litmus.variables[variable].location;
                let [(a, first), (b, second)] = operands.map(|x| operand(&running, x));
                let data = union(&[&control, &first, &second]);
                for &(address, old) in domain {
                    if address != location.address {
                        continue;
                    }
                    let mut running = running.clone();
                    let position = running.trace.events.len();
                    let read = Event {
                        value: old,
                        dependencies: data.clone(),
                        is_reduction: destination.is_none(),
                        ..event(Kind::Read, order, scope, generic, Some(variable))
                    };
                    running.trace.events.push(read.clone());
                    if let Some(new) = updated(operation, old, a, b) {
                        let mut dependencies = data.clone();
                        dependencies.insert(position);
                        running.trace.events.push(Event {
                            kind: Kind::Write,
                            value: new,
                            dependencies,
                            is_update: true,
                            ..read
                        });
                    }
                    if let Some(destination) = destination {
                        running.trace.registers[destination] = old;
                        running.dependencies[destination] = BTreeSet::from([position]);
                    }
                    pending.push(running);
                }
            }
            Instruction::Fence(order, scope) => {
                running
                    .trace
                    .events
                    .push(event(Kind::Fence, order, scope, generic, None));
                pending.push(running);
            }
            Instruction::ProxyFence(proxy) => {
                let kind = Kind::ProxyFence(proxy);
                running.trace.events.push(event(
                    kind,
                    Order::Weak,
                    MemoryScope::Sys,
                    generic,
                    None,
                ));
                pending.push(running);
            }
            Instruction::Barrier { barrier, waits, .. } => {
                let (number, _) = operand(&running, barrier);
                let kind = Kind::Barrier { number, waits };
                running.trace.events.push(event(
                    kind,
                    Order::Weak,
                    MemoryScope::Cta,
                    generic,
                    None,
                ));
                pending.push(running);
            }
            Instruction::Label(_) => pending.push(running),
            Instruction::BranchIf(condition, operands, ref label) => {
                let [(a, first), (b, second)] = operands.map(|x| operand(&running, x));
                running.control = union(&[&control, &first, &second]);
                if condition_holds(condition, a, b) {
                    running.next = code
                        .instructions
                        .iter()
                        .position(|x| matches!(x, Instruction::Label(name) if name == label))
                        .unwrap();
                }
                pending.push(running);
            }
            ref other => panic!("{other:?}"),
        }
    }
    Some(result)
}

/// A value domain that contains all values that any execution writes; `None` if it is large.
pub(super) fn domain(litmus: &Litmus) -> Option<BTreeSet<(u64, i64)>> {
    let mut domain: BTreeSet<(u64, i64)> = litmus
        .variables
        .iter()
        .map(|variable| (variable.location.address, variable.initial))
        .collect();
    loop {
        let mut next = domain.clone();
        for thread in 0..litmus.threads.len() {
            for trace in traces(litmus, thread, &domain)? {
                for event in trace.events {
                    if event.kind == Kind::Write {
                        next.insert((event.location.unwrap().address, event.value));
                    }
                }
            }
        }
        if next == domain {
            return Some(domain);
        }
        if next.len() > 14 {
            return None;
        }
        domain = next;
    }
}
