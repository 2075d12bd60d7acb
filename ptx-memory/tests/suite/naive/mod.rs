//! The memory consistency model as slow code: all traces of the threads, all writes that reads may return, all orders, and the axioms as they
//! are written in the PTX ISA manual. It shares only the reader of litmus tests with the crate.

mod axioms;
mod traces;

use std::collections::BTreeSet;

use ptx_memory::Order;
use ptx_memory::litmus::Litmus;

use axioms::{Candidate, Execution, closure, is_acyclic};
use traces::{Kind, Trace, domain, traces};

type Pairs = BTreeSet<(usize, usize)>;

/// The final values of registers and variables.
pub(crate) type State = (Vec<Vec<i64>>, Vec<i64>);

/// All ways to direct pairs.
fn directions(pairs: &[(usize, usize)]) -> impl Iterator<Item = Pairs> + '_ {
    assert!(pairs.len() < 20, "too many pairs for slow code");
    (0..1_u32 << pairs.len()).map(move |bits| {
        pairs
            .iter()
            .enumerate()
            .map(|(index, &(a, b))| {
                if bits >> index & 1 == 0 {
                    (a, b)
                } else {
                    (b, a)
                }
            })
            .collect()
    })
}

/// The result of the enumeration.
#[derive(Default)]
pub(crate) struct Result {
    pub(crate) states: BTreeSet<State>,
    /// The number of executions that differ in what reads return.
    pub(crate) executions: u64,
    /// The number of candidates.
    pub(crate) candidates: u64,
}

/// All final states of a litmus test without loops; `None` if there are too many candidates for slow code.
pub(crate) fn enumerate(litmus: &Litmus, limit: u64) -> Option<Result> {
    let domain = domain(litmus)?;
    let all: Vec<Vec<Trace>> = (0..litmus.threads.len())
        .map(|thread| Some(traces(litmus, thread, &domain)?.into_iter().collect()))
        .collect::<Option<_>>()?;
    let products: usize = all.iter().map(Vec::len).product();
    if products > 20_000 {
        return None;
    }
    let mut result = Result::default();
    let mut chosen = vec![0; all.len()];
    loop {
        let traces: Vec<&Trace> = chosen
            .iter()
            .zip(&all)
            .map(|(index, traces)| &traces[*index])
            .collect();
        add_traces(litmus, &traces, &mut result, limit)?;
        let mut thread = 0;
        loop {
            if thread == all.len() {
                return Some(result);
            }
            chosen[thread] += 1;
            if chosen[thread] < all[thread].len() {
                break;
            }
            chosen[thread] = 0;
            thread += 1;
        }
    }
}

/// Adds the executions with these traces; `None` if there are too many candidates.
fn add_traces(litmus: &Litmus, traces: &[&Trace], result: &mut Result, limit: u64) -> Option<()> {
    let execution = Execution::new(litmus, traces);
    let count = execution.events.len();
    let initial = |address: u64| {
        litmus
            .variables
            .iter()
            .find(|variable| variable.location.address == address)
            .map_or(0, |variable| variable.initial)
    };
    let mut all = vec![Pairs::new()];
    for read in 1..count {
        if !execution.is_read(read) {
            continue;
        }
        let event = &execution.events[read];
        let address = event.location.unwrap().address;
        let mut sources: Vec<usize> = (1..count)
            .filter(|&write| {
                execution.is_write(write)
                    && execution.overlaps(write, read)
                    && execution.events[write].value == event.value
                    && !execution.updates.contains(&(read, write))
            })
            .collect();
        if initial(address) == event.value {
            sources.push(0);
        }
        if all.len() * sources.len() > limit as usize {
            return None;
        }
        all = all
            .iter()
            .flat_map(|pairs| {
                sources.iter().map(|&write| {
                    let mut pairs = pairs.clone();
                    pairs.insert((write, read));
                    pairs
                })
            })
            .collect();
    }
    result.candidates += all.len() as u64;
    if result.candidates > limit {
        return None;
    }
    for reads_from in &all {
        let candidate = Candidate {
            execution: &execution,
            reads_from,
        };
        add_orders(litmus, traces, &candidate, result);
    }
    Some(())
}

fn add_orders(litmus: &Litmus, traces: &[&Trace], candidate: &Candidate<'_>, result: &mut Result) {
    let x = candidate.execution;
    let count = x.events.len();
    let pairs = |wanted: &dyn Fn(usize) -> bool| -> Vec<(usize, usize)> {
        (1..count)
            .flat_map(|a| (a + 1..count).map(move |b| (a, b)))
            .filter(|&(a, b)| wanted(a) && wanted(b) && x.morally_strong(a, b))
            .collect()
    };
    let mut quick: Pairs = x.dependencies.clone();
    quick.extend(candidate.reads_from);
    if !is_acyclic(&quick, count) {
        return;
    }
    let observation = candidate.observation();
    let synchronizes = candidate.synchronizes(&observation);
    let fences = pairs(&|event| {
        x.events[event].kind == Kind::Fence
            && x.events[event].order == Order::SequentiallyConsistent
    });
    let mut is_consistent = false;
    for fence_sc in directions(&fences) {
        let base = candidate.base(&synchronizes, &fence_sc);
        let causality = candidate.causality(&observation, &base);
        let writes = pairs(&|event| x.is_write(event));
        let related: Pairs = causality
            .iter()
            .copied()
            .filter(|&(a, b)| x.is_write(a) && x.is_write(b) && x.overlaps(a, b))
            .collect();
        let free: Vec<(usize, usize)> = writes
            .into_iter()
            .filter(|&(a, b)| !related.contains(&(a, b)) && !related.contains(&(b, a)))
            .collect();
        for mut coherence in directions(&free) {
            coherence.extend(&related);
            coherence.extend((1..count).filter(|&w| x.is_write(w)).map(|w| (0, w)));
            let coherence = closure(&coherence, count);
            if candidate.is_consistent(&coherence, &fence_sc, &causality, &base) {
                is_consistent = true;
                add_states(litmus, traces, x, &coherence, &mut result.states);
            }
        }
    }
    result.executions += u64::from(is_consistent);
}

fn add_states(
    litmus: &Litmus,
    traces: &[&Trace],
    execution: &Execution,
    coherence: &Pairs,
    states: &mut BTreeSet<State>,
) {
    let registers: Vec<Vec<i64>> = traces.iter().map(|trace| trace.registers.clone()).collect();
    let addresses: BTreeSet<u64> = litmus
        .variables
        .iter()
        .map(|variable| variable.location.address)
        .collect();
    let mut all: Vec<Vec<(u64, i64)>> = vec![Vec::new()];
    for address in addresses {
        let writes: Vec<usize> = (1..execution.events.len())
            .filter(|&write| {
                execution.is_write(write)
                    && execution.events[write].location.unwrap().address == address
            })
            .collect();
        let mut values: Vec<i64> = writes
            .iter()
            .filter(|&&write| {
                writes
                    .iter()
                    .all(|&later| !coherence.contains(&(write, later)))
            })
            .map(|&write| execution.events[write].value)
            .collect();
        if writes.is_empty() {
            let variable = litmus
                .variables
                .iter()
                .find(|variable| variable.location.address == address);
            values.push(variable.map_or(0, |variable| variable.initial));
        }
        all = all
            .iter()
            .flat_map(|state| {
                values.iter().map(|&value| {
                    let mut state = state.clone();
                    state.push((address, value));
                    state
                })
            })
            .collect();
    }
    for state in all {
        let variables = litmus
            .variables
            .iter()
            .map(|variable| {
                state
                    .iter()
                    .find(|(address, _)| *address == variable.location.address)
                    .map_or(0, |(_, value)| *value)
            })
            .collect();
        states.insert((registers.clone(), variables));
    }
}
