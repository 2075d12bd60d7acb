//! Candidate executions and the axioms.

use std::collections::BTreeSet;

use ptx_memory::litmus::Litmus;
use ptx_memory::{MemoryProxy, MemoryScope, Order, ThreadPlace};

use super::Pairs;
use super::traces::{Event, Kind, Trace};

/// An execution: the events of all threads after the initial write, which is event 0.
pub(super) struct Execution {
    /// The thread and the position of each event.
    pub(super) places: Vec<(usize, usize)>,
    pub(super) events: Vec<Event>,
    pub(super) threads: Vec<ThreadPlace>,
    pub(super) version_has_proxies: bool,
    pub(super) program_order: Pairs,
    pub(super) dependencies: Pairs,
    pub(super) barriers: Pairs,
    /// Pairs of the read and the write of an atomic operation.
    pub(super) updates: Pairs,
}

impl Execution {
    pub(super) fn new(litmus: &Litmus, traces: &[&Trace]) -> Self {
        let mut result = Self {
            places: vec![(usize::MAX, 0)],
            events: vec![Event {
                kind: Kind::Write,
                order: Order::Weak,
                scope: MemoryScope::Sys,
                proxy: MemoryProxy::Generic,
                location: None,
                value: 0,
                dependencies: BTreeSet::new(),
                is_reduction: false,
                is_update: false,
            }],
            threads: litmus.threads.iter().map(|thread| thread.place).collect(),
            version_has_proxies: true,
            program_order: Pairs::new(),
            dependencies: Pairs::new(),
            barriers: Pairs::new(),
            updates: Pairs::new(),
        };
        for (thread, trace) in traces.iter().enumerate() {
            let first = result.events.len();
            for (position, event) in trace.events.iter().enumerate() {
                let number = first + position;
                for earlier in first..number {
                    result.program_order.insert((earlier, number));
                }
                for read in &event.dependencies {
                    result.dependencies.insert((first + read, number));
                }
                if event.is_update {
                    result.updates.insert((number - 1, number));
                }
                result.places.push((thread, position));
                result.events.push(event.clone());
            }
        }
        result.add_barriers();
        result
    }

    pub(super) fn add_barriers(&mut self) {
        let mut arrivals: Vec<(usize, i64, usize, bool, usize)> = Vec::new();
        for (number, event) in self.events.iter().enumerate() {
            if let Kind::Barrier {
                number: barrier,
                waits,
            } = event.kind
            {
                let thread = self.places[number].0;
                let visit = arrivals
                    .iter()
                    .filter(|other| other.0 == thread && other.1 == barrier)
                    .count();
                arrivals.push((thread, barrier, visit, waits, number));
            }
        }
        for a in &arrivals {
            for b in &arrivals {
                let (one, other) = (self.threads[a.0], self.threads[b.0]);
                let same_cta = one.cta == other.cta && one.gpu == other.gpu;
                if a.0 != b.0 && a.1 == b.1 && a.2 == b.2 && same_cta && b.3 {
                    self.barriers.insert((a.4, b.4));
                }
            }
        }
    }

    pub(super) fn is_write(&self, event: usize) -> bool {
        self.events[event].kind == Kind::Write
    }

    pub(super) fn is_read(&self, event: usize) -> bool {
        self.events[event].kind == Kind::Read
    }

    pub(super) fn overlaps(&self, a: usize, b: usize) -> bool {
        match (self.events[a].location, self.events[b].location) {
            (Some(x), Some(y)) => x.address == y.address,
            _ => false,
        }
    }

    pub(super) fn is_strong(&self, event: usize) -> bool {
        match self.events[event].kind {
            Kind::Read | Kind::Write => self.events[event].order != Order::Weak,
            Kind::Fence => true,
            _ => false,
        }
    }

    pub(super) fn includes(&self, a: usize, b: usize) -> bool {
        let (one, other) = (
            self.threads[self.places[a].0],
            self.threads[self.places[b].0],
        );
        match self.events[a].scope {
            MemoryScope::Cta => one.cta == other.cta && one.gpu == other.gpu,
            MemoryScope::Cluster => one.cluster == other.cluster && one.gpu == other.gpu,
            MemoryScope::Gpu => one.gpu == other.gpu,
            MemoryScope::Sys => true,
        }
    }

    pub(super) fn morally_strong(&self, a: usize, b: usize) -> bool {
        if a == b || a == 0 || b == 0 {
            return false;
        }
        let (x, y) = (&self.events[a], &self.events[b]);
        let related = self.places[a].0 == self.places[b].0
            || (self.is_strong(a)
                && self.is_strong(b)
                && self.includes(a, b)
                && self.includes(b, a));
        let proxies = !self.version_has_proxies || x.proxy == y.proxy;
        let locations = x.location.is_none() || y.location.is_none() || x.location == y.location;
        related && proxies && locations
    }
}

pub(super) fn closure(pairs: &Pairs, count: usize) -> Pairs {
    let mut reach = vec![vec![false; count]; count];
    for &(a, b) in pairs {
        reach[a][b] = true;
    }
    for middle in 0..count {
        for a in 0..count {
            if reach[a][middle] {
                for b in 0..count {
                    if reach[middle][b] {
                        reach[a][b] = true;
                    }
                }
            }
        }
    }
    (0..count)
        .flat_map(|a| (0..count).map(move |b| (a, b)))
        .filter(|&(a, b)| reach[a][b])
        .collect()
}

pub(super) fn is_acyclic(pairs: &Pairs, count: usize) -> bool {
    closure(pairs, count).iter().all(|(a, b)| a != b)
}

/// A candidate: an execution, and the write that each read returns.
pub(super) struct Candidate<'a> {
    pub(super) execution: &'a Execution,
    /// Pairs of a write and a read.
    pub(super) reads_from: &'a Pairs,
}

impl Candidate<'_> {
    pub(super) fn observation(&self) -> Pairs {
        let mut result: Pairs = self
            .reads_from
            .iter()
            .copied()
            .filter(|&(write, read)| self.execution.morally_strong(write, read))
            .collect();
        loop {
            let mut next = result.clone();
            for &(write, read) in &result {
                for &(update_read, update) in &self.execution.updates {
                    if update_read == read {
                        let later = result.iter().filter(|(source, _)| *source == update);
                        next.extend(later.map(|(_, last)| (write, *last)));
                    }
                }
            }
            if next == result {
                return result;
            }
            result = next;
        }
    }

    pub(super) fn synchronizes(&self, observation: &Pairs) -> Pairs {
        let x = self.execution;
        let mut result = x.barriers.clone();
        let strong_writes = |event: usize| x.is_write(event) && x.is_strong(event);
        let strong_reads =
            |event: usize| x.is_read(event) && x.is_strong(event) && !x.events[event].is_reduction;
        for &(write, read) in observation {
            let mut firsts = Vec::new();
            let mut lasts = Vec::new();
            for event in 1..x.events.len() {
                let order = x.events[event].order;
                let before = x.program_order.contains(&(event, write));
                let after = x.program_order.contains(&(read, event));
                let is_fence = x.events[event].kind == Kind::Fence;
                if order.releases()
                    && ((is_fence && before)
                        || (x.is_write(event)
                            && (event == write
                                || before && x.events[event].location == x.events[write].location)))
                {
                    firsts.push(event);
                }
                if order.acquires()
                    && ((is_fence && after)
                        || (strong_reads(event)
                            && (event == read
                                || after && x.events[event].location == x.events[read].location)))
                {
                    lasts.push(event);
                }
            }
            if !strong_writes(write) || !strong_reads(read) {
                continue;
            }
            for &first in &firsts {
                for &last in &lasts {
                    if x.morally_strong(first, last) {
                        result.insert((first, last));
                    }
                }
            }
        }
        result
    }

    /// Base causality order.
    pub(super) fn base(&self, synchronizes: &Pairs, fence_sc: &Pairs) -> Pairs {
        let mut result = self.execution.program_order.clone();
        result.extend(synchronizes);
        result.extend(fence_sc);
        closure(&result, self.execution.events.len())
    }

    pub(super) fn causality(&self, observation: &Pairs, base: &Pairs) -> Pairs {
        let preserved: Pairs = base
            .iter()
            .copied()
            .filter(|&(a, b)| self.is_preserved(base, a, b))
            .collect();
        let mut result = preserved.clone();
        for &(write, read) in observation {
            for &(first, second) in &preserved {
                if first == read {
                    result.insert((write, second));
                }
            }
        }
        result
    }

    pub(super) fn is_preserved(&self, base: &Pairs, a: usize, b: usize) -> bool {
        let x = self.execution;
        let (first, second) = (&x.events[a], &x.events[b]);
        let (Some(one), Some(other)) = (first.location, second.location) else {
            return false;
        };
        if one.address != other.address {
            return false;
        }
        let cta = |event: usize| {
            let place = x.threads[x.places[event].0];
            (place.gpu, place.cta)
        };
        let same_address = one.mapping == other.mapping;
        if same_address && first.proxy == second.proxy {
            let generic = first.proxy == MemoryProxy::Generic;
            if generic || cta(a) == cta(b) {
                return true;
            }
        }
        let fences = |access: usize| -> Vec<usize> {
            let proxy = x.events[access].proxy;
            if proxy == MemoryProxy::Generic {
                return vec![access];
            }
            (1..x.events.len())
                .filter(|&fence| {
                    x.events[fence].kind == Kind::ProxyFence(Some(proxy))
                        && cta(fence) == cta(access)
                })
                .collect()
        };
        let reaches = |from: usize, to: usize| from == to || base.contains(&(from, to));
        for start in fences(a) {
            for end in fences(b) {
                if !reaches(a, start) || !reaches(end, b) {
                    continue;
                }
                if same_address && reaches(start, end) {
                    return true;
                }
                let has_alias_fence = (1..x.events.len()).any(|fence| {
                    x.events[fence].kind == Kind::ProxyFence(None)
                        && base.contains(&(start, fence))
                        && base.contains(&(fence, end))
                });
                if !same_address && has_alias_fence {
                    return true;
                }
            }
        }
        false
    }

    /// Whether all axioms hold.
    pub(super) fn is_consistent(
        &self,
        coherence: &Pairs,
        fence_sc: &Pairs,
        causality: &Pairs,
        base: &Pairs,
    ) -> bool {
        let x = self.execution;
        let count = x.events.len();
        if coherence.iter().any(|(a, b)| a == b) || !is_acyclic(fence_sc, count) {
            return false;
        }
        let coherence_holds = causality.iter().all(|&(a, b)| {
            !(x.is_write(a) && x.is_write(b) && x.overlaps(a, b)) || coherence.contains(&(a, b))
        });
        let fence_holds = fence_sc.iter().all(|&(a, b)| !base.contains(&(b, a)));
        let mut from_reads = Pairs::new();
        for &(write, read) in self.reads_from {
            for &(earlier, later) in coherence {
                if earlier == write && x.overlaps(later, read) {
                    from_reads.insert((read, later));
                }
            }
        }
        let atomicity_holds = x.updates.iter().all(|&(read, update)| {
            from_reads.iter().all(|&(reader, between)| {
                reader != read
                    || between == update
                    || !x.morally_strong(read, between)
                    || !x.morally_strong(between, update)
                    || !coherence.contains(&(between, update))
            })
        });
        let mut thin_air: Pairs = x.dependencies.clone();
        thin_air.extend(self.reads_from);
        let mut location: Pairs = x
            .program_order
            .iter()
            .copied()
            .filter(|&(a, b)| {
                x.events[a].location.is_some()
                    && x.events[a].location == x.events[b].location
                    && x.events[a].proxy == x.events[b].proxy
            })
            .collect();
        for pairs in [self.reads_from, coherence, &from_reads] {
            location.extend(pairs.iter().filter(|&&(a, b)| x.morally_strong(a, b)));
        }
        let causality_holds = self
            .reads_from
            .iter()
            .all(|&(write, read)| !causality.contains(&(read, write)))
            && from_reads
                .iter()
                .all(|&(read, write)| !causality.contains(&(write, read)));
        coherence_holds
            && fence_holds
            && atomicity_holds
            && is_acyclic(&thin_air, count)
            && is_acyclic(&location, count)
            && causality_holds
    }
}
