//! The synchronization instructions of a function.

use std::collections::BTreeSet;

use ptx_ir::{FuncId, Module, Statement};
use ptx_isa::Action;
use serde::Serialize;

use super::function::Of;

/// The numbers of instructions for barriers, mbarrier objects and fences.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Synchronization {
    /// The numbers of the CTA barriers that instructions name.
    pub barrier_numbers: Vec<i64>,
    /// Instructions that specify the barrier with a register.
    pub barriers_by_register: u64,
    /// CTA barriers.
    pub cta_barriers: u64,
    /// Warp barriers.
    pub warp_barriers: u64,
    /// Cluster barriers.
    pub cluster_barriers: u64,
    /// Initializations of mbarrier objects.
    pub mbarrier_objects: u64,
    /// Waits at mbarrier objects, including tests.
    pub mbarrier_waits: u64,
    /// Fences.
    pub fences: u64,
}

pub(super) fn of(of: &Of<'_>) -> Synchronization {
    let mut found = Synchronization::default();
    let mut numbers = BTreeSet::new();
    let body = of.facts.body();
    for (_, statement) in body.statements() {
        let Statement::Inst(inst) = statement else {
            continue;
        };
        let facts = of.facts.inst(inst);
        match facts.action() {
            Some(Action::BarrierSync | Action::BarrierArrive | Action::BarrierReduce) => {
                found.cta_barriers += 1;
                // Results come before the number of the barrier.
                let mut sources = facts.parts().filter(|(_, usage)| usage.reads());
                match sources.next() {
                    Some((operand, _)) => match body.pool().integer(operand) {
                        Some(number) => {
                            numbers.insert(number);
                        }
                        None => found.barriers_by_register += 1,
                    },
                    None => {
                        numbers.insert(0);
                    }
                }
            }
            Some(Action::WarpBarrier) => found.warp_barriers += 1,
            Some(Action::ClusterArrive | Action::ClusterWait) => found.cluster_barriers += 1,
            Some(Action::MbarrierInit) => found.mbarrier_objects += 1,
            Some(Action::MbarrierTest | Action::MbarrierWait) => found.mbarrier_waits += 1,
            Some(Action::Fence) => found.fences += 1,
            _ => {}
        }
    }
    found.barrier_numbers = numbers.into_iter().collect();
    found
}

/// The bytes of the parameters of a function, each at its alignment; `None` if the size of one is not known.
pub(super) fn parameter_bytes(module: &Module, id: FuncId) -> Option<u64> {
    let interface = module.functions().get(id)?.interface;
    let mut params = interface.params.of(module.params()).iter();
    params.try_fold(0u64, |end, param| {
        let layout = param.layout(module.pool())?;
        let start = end.checked_next_multiple_of(layout.align.max(1))?;
        start.checked_add(layout.size?)
    })
}
