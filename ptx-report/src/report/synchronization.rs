//! The synchronization instructions of a function.

use std::collections::BTreeSet;

use ptx_ir::Statement;
use ptx_isa::Action;
use serde::Serialize;

use super::context::FunctionContext;

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

impl Synchronization {
    pub(super) fn new(function: &FunctionContext<'_>) -> Self {
        let mut counts = Self::default();
        let mut numbers = BTreeSet::new();
        let body = function.facts.body();
        for (_, statement) in body.statements() {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            let facts = function.facts.inst(inst);
            match facts.action() {
                Some(Action::BarrierSync | Action::BarrierArrive | Action::BarrierReduce) => {
                    counts.cta_barriers += 1;
                    // Results come before the number of the barrier.
                    let number = facts
                        .parts()
                        .find(|(_, usage)| usage.reads())
                        .map_or(Some(0), |(operand, _)| body.pool().integer(operand));
                    counts.barriers_by_register += u64::from(number.is_none());
                    numbers.extend(number);
                }
                Some(Action::WarpBarrier) => counts.warp_barriers += 1,
                Some(Action::ClusterArrive | Action::ClusterWait) => counts.cluster_barriers += 1,
                Some(Action::MbarrierInit) => counts.mbarrier_objects += 1,
                Some(Action::MbarrierTest | Action::MbarrierWait) => counts.mbarrier_waits += 1,
                Some(Action::Fence) => counts.fences += 1,
                _ => {}
            }
        }
        counts.barrier_numbers = numbers.into_iter().collect();
        counts
    }
}
