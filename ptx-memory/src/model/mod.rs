//! The relations and axioms of chapter 8 of the PTX ISA manual. Each has a function, named in its first line with its section.

mod asynchronous;
mod axioms;
mod causality;
mod communication;
mod strength;
mod synchronization;

use crate::execution::Execution;
use crate::relation::Relation;

pub(crate) use axioms::communication_cycle;
pub use axioms::{Axiom, Violation};
pub use causality::Causality;
pub use communication::from_reads;

/// The version of the memory consistency model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Version {
    /// The model of PTX ISA 6.0 to 7.4, without proxies.
    Ptx60,
    /// The model of PTX ISA 7.5 and later, with proxies.
    #[default]
    Ptx75,
}

/// The relations of an execution that do not depend on choices of coherence order and Fence-SC order.
#[derive(Clone, Debug)]
pub struct Relations {
    /// Program order (8.9.1).
    pub program_order: Relation,
    /// Program order between accesses of the same address by the same proxy.
    pub program_order_of_location: Relation,
    /// Morally strong pairs (8.7).
    pub morally_strong: Relation,
    /// From writes to the reads that return one of their bytes.
    pub reads_from: Relation,
    /// Observation order (8.9.2).
    pub observation: Relation,
    /// Pairs that synchronize (8.9.4), except `fence.sc`.
    pub synchronizes: Relation,
    /// From the starts of asynchronous operations to their events (8.9.1.1).
    pub starts: Relation,
}

impl Relations {
    /// The relations of an execution. Cubic in the number of events, divided by 64.
    #[must_use]
    pub fn new(execution: &Execution, version: Version) -> Self {
        let program_order = strength::program_order(execution);
        let program_order_of_location =
            strength::program_order_of_location(execution, &program_order);
        let morally_strong = strength::morally_strong(execution, version);
        let reads_from = communication::reads_from(execution);
        let observation = synchronization::observation(execution, &morally_strong, &reads_from);
        let synchronizes =
            synchronization::synchronizes(execution, &program_order, &morally_strong, &observation);
        Self {
            program_order,
            program_order_of_location,
            morally_strong,
            reads_from,
            observation,
            synchronizes,
            starts: asynchronous::starts(execution),
        }
    }

    /// The first axiom that an execution with these orders violates.
    ///
    /// # Errors
    ///
    /// The violated axiom, with events that violate it.
    pub fn check(
        &self,
        execution: &Execution,
        version: Version,
        coherence: &Relation,
        fence_sc: &Relation,
    ) -> Result<(), Violation> {
        let causality = Causality::new(execution, self, version, fence_sc);
        axioms::check(execution, self, &causality, coherence, fence_sc)
    }
}
