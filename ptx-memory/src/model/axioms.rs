//! The axioms (8.10).

use std::fmt;

use super::communication::from_reads;
use super::{Causality, Relations};
use crate::execution::Execution;
use crate::relation::Relation;

/// An axiom of the memory consistency model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Axiom {
    /// Coherence (8.10.1).
    Coherence,
    /// Fence-SC (8.10.2).
    FenceSc,
    /// Atomicity (8.10.3).
    Atomicity,
    /// No thin air (8.10.4).
    NoThinAir,
    /// Sequential consistency per location (8.10.5).
    SequentialConsistencyPerLocation,
    /// Causality (8.10.6).
    Causality,
}

impl fmt::Display for Axiom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Coherence => "Coherence (8.10.1)",
            Self::FenceSc => "Fence-SC (8.10.2)",
            Self::Atomicity => "Atomicity (8.10.3)",
            Self::NoThinAir => "No Thin Air (8.10.4)",
            Self::SequentialConsistencyPerLocation => "SC per Location (8.10.5)",
            Self::Causality => "Causality (8.10.6)",
        })
    }
}

/// An axiom that an execution violates.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Violation {
    /// The axiom.
    pub axiom: Axiom,
    /// Events that violate it together.
    pub events: Vec<usize>,
}

fn violated(axiom: Axiom, events: &[usize]) -> Violation {
    Violation {
        axiom,
        events: events.to_vec(),
    }
}

/// Checks all axioms.
pub(super) fn check(
    execution: &Execution,
    relations: &Relations,
    causality: &Causality,
    coherence: &Relation,
    fence_sc: &Relation,
) -> Result<(), Violation> {
    coherence_axiom(execution, relations, causality, coherence)?;
    fence_sc_axiom(execution, relations, causality, fence_sc)?;
    let from_reads = from_reads(execution, coherence);
    atomicity_axiom(execution, relations, coherence, &from_reads)?;
    if let Some(event) = thin_air_event(execution) {
        return Err(violated(Axiom::NoThinAir, &[event]));
    }
    if let Some(event) = communication_cycle(relations, coherence, &from_reads).reflexive_event() {
        return Err(violated(Axiom::SequentialConsistencyPerLocation, &[event]));
    }
    causality_axiom(relations, causality, &from_reads)
}

/// Coherence (8.10.1): coherence order is a partial order that contains the causality order of overlapping writes, and relates morally strong
/// writes (8.9.6).
fn coherence_axiom(
    execution: &Execution,
    relations: &Relations,
    causality: &Causality,
    coherence: &Relation,
) -> Result<(), Violation> {
    if let Some(event) = coherence.reflexive_event() {
        return Err(violated(Axiom::Coherence, &[event]));
    }
    let writes: Vec<usize> = (1..execution.len())
        .filter(|&event| execution.event(event).is_some_and(|event| event.is_write()))
        .collect();
    for &first in &writes {
        for &second in &writes {
            if !execution.share_bytes(first, second) || first == second {
                continue;
            }
            let follows = coherence.contains(first, second);
            if causality.order.contains(first, second) && !follows {
                return Err(violated(Axiom::Coherence, &[first, second]));
            }
            if relations.morally_strong.contains(first, second)
                && !follows
                && !coherence.contains(second, first)
            {
                return Err(violated(Axiom::Coherence, &[first, second]));
            }
        }
    }
    Ok(())
}

/// Fence-SC (8.10.2): Fence-SC order is a partial order of the morally strong `fence.sc` operations that contains their causality order.
fn fence_sc_axiom(
    execution: &Execution,
    relations: &Relations,
    causality: &Causality,
    fence_sc: &Relation,
) -> Result<(), Violation> {
    if let Some(event) = fence_sc.closed().reflexive_event() {
        return Err(violated(Axiom::FenceSc, &[event]));
    }
    let is_fence = |event: usize| {
        execution
            .event(event)
            .is_some_and(|event| event.is_fence_sc())
    };
    for (first, second) in relations.morally_strong.pairs() {
        if !is_fence(first) || !is_fence(second) {
            continue;
        }
        let follows = fence_sc.contains(first, second);
        if !follows && (causality.base.contains(first, second) || !fence_sc.contains(second, first))
        {
            return Err(violated(Axiom::FenceSc, &[first, second]));
        }
    }
    Ok(())
}

/// Atomicity (8.10.3): no morally strong write is between the write that an atomic operation reads and the write of that operation; and a
/// read that returns a byte of a morally strong write returns no byte of an older write that the former overwrites.
fn atomicity_axiom(
    execution: &Execution,
    relations: &Relations,
    coherence: &Relation,
    from_reads: &Relation,
) -> Result<(), Violation> {
    for (read, write) in from_reads.pairs() {
        if !relations.morally_strong.contains(read, write) {
            continue;
        }
        if relations.reads_from.contains(write, read) {
            return Err(violated(Axiom::Atomicity, &[read, write]));
        }
        let Some(partner) = execution.event(read).and_then(|event| event.partner) else {
            continue;
        };
        let partner = partner as usize;
        if coherence.contains(write, partner) && relations.morally_strong.contains(write, partner) {
            return Err(violated(Axiom::Atomicity, &[read, write, partner]));
        }
    }
    Ok(())
}

/// No Thin Air (8.10.4): an event that is part of a cycle of dependencies and of writes that are read.
fn thin_air_event(execution: &Execution) -> Option<usize> {
    let mut relation = Relation::new(execution.len());
    for &(first, second) in &execution.dependencies {
        relation.insert(first as usize, second as usize);
    }
    for source in &execution.reads_from {
        relation.insert(source.write as usize, source.read as usize);
    }
    relation.close();
    relation.reflexive_event()
}

/// Sequential consistency per location (8.10.5): the closure of program order of each location and of the morally strong pairs in communication
/// order. A reflexive event violates the axiom.
pub(crate) fn communication_cycle(
    relations: &Relations,
    coherence: &Relation,
    from_reads: &Relation,
) -> Relation {
    let mut communication = relations.reads_from.union(coherence);
    communication.extend(from_reads);
    let mut result =
        communication.filtered(|first, second| relations.morally_strong.contains(first, second));
    result.extend(&relations.program_order_of_location);
    result.close();
    result
}

/// Causality (8.10.6): no read returns a write that follows in causality order, or a write that is older in coherence order than a write
/// that precedes the read in causality order.
fn causality_axiom(
    relations: &Relations,
    causality: &Causality,
    from_reads: &Relation,
) -> Result<(), Violation> {
    for (write, read) in relations.reads_from.pairs() {
        if causality.order.contains(read, write) {
            return Err(violated(Axiom::Causality, &[read, write]));
        }
    }
    for (read, write) in from_reads.pairs() {
        if causality.order.contains(write, read) {
            return Err(violated(Axiom::Causality, &[write, read]));
        }
    }
    Ok(())
}
