//! The interface for observers of a running kernel: checkers, profiles, traces.

use core::any::{Any, TypeId};
use core::fmt::Debug;

use ptx_isa::Action;

use super::block::Block;
use super::execution::{Execution, Failed};
use super::grid::Grid;
use super::groups::{After, CallFrame, Stepped};
use super::location::Location;
use super::touch::Touch;
use super::warp::Warp;
use crate::program::Act;

/// An operation on an mbarrier object.
pub(crate) struct OnMbarrier {
    pub(crate) action: Action,
    pub(crate) lane: usize,
    pub(crate) rank: usize,
    pub(crate) at: u64,
    /// The arrivals that are pending.
    pub(crate) pending: u32,
    /// The number of arrivals, or the number that the object expects of each phase.
    pub(crate) count: u64,
}

impl OnMbarrier {
    /// An operation on an object, which is in shared memory.
    pub(super) const fn new(
        action: Action,
        lane: usize,
        location: Location,
        pending: u32,
        count: u64,
    ) -> Option<Self> {
        match location {
            Location::Shared(rank, at) => Some(Self {
                action,
                lane,
                rank,
                at,
                pending,
                count,
            }),
            _ => None,
        }
    }
}

/// The results of the observers of a launch. Who adds an observer knows the types of its results.
pub(crate) type Results = Vec<Box<dyn Any>>;

/// An observer of the execution of a launch. Launches that are observed run on one thread.
pub(crate) trait Observer: Debug + Send {
    /// Lanes of the warp whose first thread has this index are about to execute an instruction in a call.
    fn step(&mut self, grid: &Grid<'_>, block: &Block, warp: u32, step: Stepped, call: &CallFrame);

    /// Lanes of a warp executed an instruction that did not fail.
    fn stepped(&mut self, grid: &Grid<'_>, block: &Block, warp: &Warp, step: Stepped, after: After);

    /// Lanes access memory; gives those that may.
    fn access(&mut self, of: &Execution<'_>, touch: &Touch<'_>) -> u32;

    /// Lanes are about to perform an action.
    fn act(&mut self, of: &Execution<'_>, act: &Act);

    /// Lanes performed an action, or wait for others.
    fn acted(&mut self, of: &Execution<'_>, act: &Act, waits: bool);

    /// A lane is about to perform an operation on an mbarrier object; gives whether it may.
    fn mbarrier(&mut self, of: &Execution<'_>, on: &OnMbarrier) -> bool;

    /// A phase of an mbarrier object was completed, or a test found that it was.
    fn mbarrier_phase(&mut self, of: &Execution<'_>, on: &OnMbarrier, tested: bool);

    /// Lanes called functions.
    fn called(&mut self, of: &Execution<'_>);

    /// A lane allocated memory of the heap.
    fn allocated(&mut self, start: u64, bytes: u64);

    /// A lane frees memory of the heap.
    fn freed(&mut self, of: &Execution<'_>, lane: usize, start: u64);

    /// An instruction failed for a lane; gives whether the launch goes on.
    fn failed(&mut self, execution: &Execution<'_>, failed: &Failed) -> bool;

    /// Lanes of different warps arrived at the barrier of a CTA, and those that wait there are about to go on.
    fn barrier(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp], id: u32);

    /// All threads of the cluster arrived at its barrier; asked for each CTA.
    fn cluster_barrier(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp]);

    /// No thread of a CTA can continue.
    fn stuck(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp]);

    /// A CTA ended.
    fn ended(&mut self, grid: &Grid<'_>, block: &Block);

    /// The observer of a type, if it is this one or a part of it.
    fn part(&mut self, _: TypeId) -> Option<&mut dyn Any> {
        None
    }

    /// Adds what was found during the launch.
    fn finish(self: Box<Self>, _: &mut Results) {}
}
