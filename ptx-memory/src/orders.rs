//! The search for orders that make an execution consistent: Fence-SC order and coherence order.
//!
//! Both orders only have to relate certain pairs. Pairs whose direction follows from axioms are decided by propagation; the others are tried in
//! both directions. The time is polynomial unless many pairs are free; each step is cubic in the number of events, divided by 64.

use std::ops::ControlFlow;

use crate::execution::Execution;
use crate::model::{Causality, Relations, Version, communication_cycle, from_reads};
use crate::relation::Relation;

/// Orders that make an execution consistent.
#[derive(Clone, Debug)]
pub struct Orders {
    /// Fence-SC order.
    pub fence_sc: Relation,
    /// Coherence order: only the pairs that the axioms require.
    pub coherence: Relation,
    /// The causality orders that follow.
    pub causality: Causality,
}

/// Bytes of a write that no other write follows in coherence order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct LastWrite {
    /// The write; 0 is the initial write.
    pub write: u32,
    /// The physical address of the first byte.
    pub address: u64,
    /// The number of bytes.
    pub bytes: u32,
}

impl LastWrite {
    fn has_byte_of(&self, execution: &Execution, write: usize) -> bool {
        execution
            .event(write)
            .and_then(|event| event.location())
            .is_some_and(|location| {
                location.address < self.address + u64::from(self.bytes)
                    && self.address < location.end()
            })
    }
}

/// What an execution has to satisfy besides the axioms.
#[derive(Clone, Copy, Debug, Default)]
pub struct Demands<'a> {
    /// The bytes whose last writes are demanded.
    pub last_writes: &'a [LastWrite],
}

/// A search in an execution whose relations are known.
pub(crate) struct Search<'a> {
    execution: &'a Execution,
    relations: &'a Relations,
    version: Version,
    /// The pairs of morally strong `fence.sc`.
    fence_pairs: Vec<(usize, usize)>,
    /// The pairs of morally strong overlapping writes.
    write_pairs: Vec<(usize, usize)>,
    /// All writes except the initial one.
    writes: Vec<usize>,
    demands: Demands<'a>,
}

/// The result of a propagation.
enum Propagation {
    Contradiction,
    Undecided((usize, usize)),
    Decided,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        execution: &'a Execution,
        relations: &'a Relations,
        version: Version,
        demands: Demands<'a>,
    ) -> Self {
        let pairs = |wanted: &dyn Fn(usize) -> bool| -> Vec<(usize, usize)> {
            relations
                .morally_strong
                .pairs()
                .filter(|&(first, second)| first < second && wanted(first) && wanted(second))
                .collect()
        };
        let is_write = |number: usize| {
            execution
                .event(number)
                .is_some_and(|event| event.is_write())
        };
        let is_fence = |number: usize| {
            execution
                .event(number)
                .is_some_and(|event| event.is_fence_sc())
        };
        Self {
            execution,
            relations,
            version,
            fence_pairs: pairs(&is_fence),
            write_pairs: pairs(&is_write),
            writes: (1..execution.len())
                .filter(|&event| is_write(event))
                .collect(),
            demands,
        }
    }

    /// The first orders that make the execution consistent.
    pub(crate) fn first(&self) -> Option<Orders> {
        let mut result = None;
        let _ = self.for_each_fence_order(&mut |orders| {
            result = Some(orders);
            ControlFlow::Break(())
        });
        result
    }

    /// Calls a function with orders that make the execution consistent, once for each Fence-SC order for which there is a coherence order.
    pub(crate) fn for_each_fence_order(
        &self,
        visit: &mut dyn FnMut(Orders) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut pending = vec![Relation::new(self.execution.len())];
        while let Some(mut fence_sc) = pending.pop() {
            let (undecided, causality) = match self.propagate_fences(&mut fence_sc) {
                (Propagation::Contradiction, _) => continue,
                (Propagation::Undecided(pair), causality) => (Some(pair), causality),
                (Propagation::Decided, causality) => (None, causality),
            };
            let Some(coherence) = self.coherence(&causality) else {
                continue;
            };
            match undecided {
                Some((first, second)) => {
                    let mut opposite = fence_sc.clone();
                    opposite.insert(second, first);
                    fence_sc.insert(first, second);
                    pending.push(opposite);
                    pending.push(fence_sc);
                }
                None => visit(Orders {
                    fence_sc,
                    coherence,
                    causality,
                })?,
            }
        }
        ControlFlow::Continue(())
    }

    /// Adds the pairs of Fence-SC order that follow from causality order.
    fn propagate_fences(&self, fence_sc: &mut Relation) -> (Propagation, Causality) {
        loop {
            let causality = Causality::new(self.execution, self.relations, self.version, fence_sc);
            let mut undecided = None;
            let mut is_changed = false;
            for &(first, second) in &self.fence_pairs {
                let forward = causality.base.contains(first, second);
                let backward = causality.base.contains(second, first);
                match (forward, backward) {
                    (true, true) => return (Propagation::Contradiction, causality),
                    (true, false) => is_changed |= fence_sc.insert(first, second),
                    (false, true) => is_changed |= fence_sc.insert(second, first),
                    (false, false) => undecided = undecided.or(Some((first, second))),
                }
            }
            if !is_changed {
                let result = undecided.map_or(Propagation::Decided, Propagation::Undecided);
                return (result, causality);
            }
        }
    }

    /// A coherence order with which all axioms hold.
    fn coherence(&self, causality: &Causality) -> Option<Relation> {
        // A read never returns a write that follows in causality order.
        for (write, read) in self.relations.reads_from.pairs() {
            if causality.order.contains(read, write) {
                return None;
            }
        }
        let mut pending = vec![self.required_coherence(causality)];
        while let Some(mut coherence) = pending.pop() {
            match self.propagate_coherence(&mut coherence, causality) {
                Propagation::Contradiction => {}
                Propagation::Decided => return Some(coherence),
                Propagation::Undecided((first, second)) => {
                    let mut opposite = coherence.clone();
                    opposite.insert(second, first);
                    coherence.insert(first, second);
                    pending.push(opposite);
                    pending.push(coherence);
                }
            }
        }
        None
    }

    /// The pairs that every coherence order contains: those from the initial write, causality order, and what is demanded.
    fn required_coherence(&self, causality: &Causality) -> Relation {
        let mut coherence = Relation::new(self.execution.len());
        for &first in &self.writes {
            coherence.insert(0, first);
            for second in causality.order.successors(first) {
                let is_write = self
                    .execution
                    .event(second)
                    .is_some_and(|event| event.is_write());
                if is_write && self.execution.share_bytes(first, second) {
                    coherence.insert(first, second);
                }
            }
        }
        for last in self.demands.last_writes {
            for &(first, second) in &self.write_pairs {
                let write = last.write as usize;
                if first == write && last.has_byte_of(self.execution, second) {
                    coherence.insert(second, first);
                } else if second == write && last.has_byte_of(self.execution, first) {
                    coherence.insert(first, second);
                }
            }
        }
        coherence
    }

    fn must_be_ordered(&self, first: usize, second: usize) -> bool {
        first != second
            && first != 0
            && second != 0
            && self.relations.morally_strong.contains(first, second)
    }

    /// Adds the pairs of coherence order that follow from the axioms.
    fn propagate_coherence(&self, coherence: &mut Relation, causality: &Causality) -> Propagation {
        loop {
            coherence.close();
            if !coherence.is_irreflexive() || !self.has_demanded_last_writes(coherence) {
                return Propagation::Contradiction;
            }
            let from_reads = from_reads(self.execution, coherence);
            let is_contradicted = from_reads
                .pairs()
                .any(|(read, write)| causality.order.contains(write, read));
            let cycle = communication_cycle(self.relations, coherence, &from_reads);
            if is_contradicted || !cycle.is_irreflexive() {
                return Propagation::Contradiction;
            }
            let mut added = Vec::new();
            if !self.single_copy_atomicity(coherence, &from_reads, &mut added)
                || !self.atomicity(coherence, &from_reads, &mut added)
            {
                return Propagation::Contradiction;
            }
            self.older_than_seen(causality, &mut added);
            let mut undecided = None;
            for &(first, second) in &self.write_pairs {
                if coherence.contains(first, second) || coherence.contains(second, first) {
                    continue;
                }
                if cycle.contains(first, second) {
                    added.push((first, second));
                } else if cycle.contains(second, first) {
                    added.push((second, first));
                } else {
                    undecided = undecided.or(Some((first, second)));
                }
            }
            let mut is_changed = false;
            for (first, second) in added {
                is_changed |= coherence.insert(first, second);
            }
            if !is_changed {
                return undecided.map_or(Propagation::Decided, Propagation::Undecided);
            }
        }
    }

    fn has_demanded_last_writes(&self, coherence: &Relation) -> bool {
        self.demands.last_writes.iter().all(|last| {
            coherence
                .successors(last.write as usize)
                .all(|later| !last.has_byte_of(self.execution, later))
        })
    }

    /// Single-copy atomicity (8.10.3): a read that returns a byte of a morally strong write returns no older byte that the write overwrites.
    fn single_copy_atomicity(
        &self,
        coherence: &Relation,
        from_reads: &Relation,
        added: &mut Vec<(usize, usize)>,
    ) -> bool {
        for (write, read) in self.relations.reads_from.pairs() {
            if !self.relations.morally_strong.contains(write, read) {
                continue;
            }
            if from_reads.contains(read, write) {
                return false;
            }
            for source in self.execution.sources(read) {
                let other = source.write as usize;
                if self.must_be_ordered(other, write) && !coherence.contains(write, other) {
                    added.push((write, other));
                }
            }
        }
        true
    }

    /// Atomicity of read-modify-write operations (8.10.3).
    fn atomicity(
        &self,
        coherence: &Relation,
        from_reads: &Relation,
        added: &mut Vec<(usize, usize)>,
    ) -> bool {
        for source in &self.execution.reads_from {
            let (read, older) = (source.read as usize, source.write as usize);
            let Some(write) = self.execution.event(read).and_then(|event| event.partner) else {
                continue;
            };
            let write = write as usize;
            for &between in &self.writes {
                if between == write
                    || between == older
                    || !self.relations.morally_strong.contains(read, between)
                    || !self.relations.morally_strong.contains(between, write)
                {
                    continue;
                }
                if from_reads.contains(read, between) {
                    if coherence.contains(between, write) {
                        return false;
                    }
                    added.push((write, between));
                } else if coherence.contains(between, write) && self.must_be_ordered(between, older)
                {
                    added.push((between, older));
                }
            }
        }
        true
    }

    /// Causality (8.10.6): where a write precedes a read in causality order, a write that the read returns is not older.
    fn older_than_seen(&self, causality: &Causality, added: &mut Vec<(usize, usize)>) {
        for source in &self.execution.reads_from {
            let (read, returned) = (source.read as usize, source.write as usize);
            for &write in &self.writes {
                if causality.order.contains(write, read)
                    && self.must_be_ordered(write, returned)
                    && self.execution.share_bytes(write, read)
                {
                    added.push((write, returned));
                }
            }
        }
    }
}

/// The first orders that make an execution consistent; `None` if it is inconsistent.
#[must_use]
pub fn orders(execution: &Execution, version: Version, demands: Demands<'_>) -> Option<Orders> {
    let relations = Relations::new(execution, version);
    Search::new(execution, &relations, version, demands).first()
}
