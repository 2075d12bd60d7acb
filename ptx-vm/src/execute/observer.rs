//! The interface for observers of a running kernel: checkers, profiles, traces.

use core::any::{Any, TypeId};
use core::fmt::Debug;

use ptx_analysis::internals::MatrixProduct;
use ptx_ir::FuncId;
use ptx_isa::Action;

use super::block::Block;
use super::exchange::Exchange;
use super::execution::{Execution, Failed};
use super::grid::Grid;
use super::groups::{CallFrame, LaneOutcome, LaneStep};
use super::location::Location;
use super::touch::Touch;
use super::warp::Warp;
use crate::lanes::Place;
use crate::memory::tensor::{Allocation, TensorAddress};
use crate::program::Act;

/// An operation of a lane on an mbarrier object.
pub(crate) struct MbarrierOperation {
    pub(crate) action: Action,
    pub(crate) lane: usize,
    /// The rank of the CTA in whose shared memory the object is.
    pub(crate) rank: usize,
    /// The offset of the object in that memory.
    pub(crate) offset: u64,
    /// The arrivals that are pending.
    pub(crate) pending: u32,
    /// The number of arrivals, or the number that the object expects of each phase.
    pub(crate) count: u64,
}

impl MbarrierOperation {
    /// An operation on the object at a location; `None` if that is not in shared memory.
    pub(super) const fn new(
        action: Action,
        lane: usize,
        location: Location,
        pending: u32,
        count: u64,
    ) -> Option<Self> {
        match location {
            Location::Shared(rank, offset) => Some(Self {
                action,
                lane,
                rank,
                offset,
                pending,
                count,
            }),
            _ => None,
        }
    }
}

/// An event of a phase of an mbarrier object.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum PhaseEvent {
    /// The phase is complete.
    Completed,
    /// A test found that the phase is complete.
    Tested,
}

/// The results of the observers of a launch. The code that adds an observer knows the types of its results.
pub(crate) type Results = Vec<Box<dyn Any>>;

/// An observer of the execution of a launch. Its methods are called for the events of the execution. Launches that are observed run on one thread.
pub(crate) trait Observer: Debug + Send {
    /// The number of steps from one on, at most `count`, that the observer need not see. All `count` steps are operations on all lanes without a guard.
    fn unobserved_steps(&self, _function: FuncId, _step_index: u32, _count: u32) -> u32 {
        0
    }

    /// Called before lanes execute an instruction in a call. `warp` is the first thread of their warp.
    fn step(&mut self, grid: &Grid<'_>, block: &Block, warp: u32, step: LaneStep, call: &CallFrame);

    /// Called after lanes of a warp executed an instruction that did not fail.
    fn stepped(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        warp: &Warp,
        step: LaneStep,
        after: LaneOutcome,
    );

    /// Called before lanes access memory. Returns the lanes that may access it.
    fn access(&mut self, execution: &Execution<'_>, touch: &Touch<'_>) -> u32;

    /// Called before lanes perform an action.
    fn act(&mut self, execution: &Execution<'_>, act: &Act);

    /// Called after lanes performed an action, or if they wait for other threads.
    fn acted(&mut self, execution: &Execution<'_>, act: &Act, waits: bool);

    /// Called before lanes exchange values.
    fn exchange(&mut self, _: &Execution<'_>, _: &Exchange<'_>) {}

    /// Called before a lane performs an operation on an mbarrier object. Returns whether the operation may be performed.
    fn mbarrier(&mut self, execution: &Execution<'_>, operation: &MbarrierOperation) -> bool;

    /// Called after an event of a phase of an mbarrier object.
    fn mbarrier_phase(
        &mut self,
        execution: &Execution<'_>,
        operation: &MbarrierOperation,
        event: PhaseEvent,
    );

    /// Called after lanes called functions.
    fn called(&mut self, execution: &Execution<'_>);

    /// Called after a lane allocated memory of the heap.
    fn allocated(&mut self, start: u64, bytes: u64);

    /// Called after a lane freed memory of the heap.
    fn freed(&mut self, execution: &Execution<'_>, lane: usize, start: u64);

    /// Called after an instruction failed in a lane. Returns whether the launch goes on.
    fn failed(&mut self, execution: &Execution<'_>, failed: &Failed) -> bool;

    /// Called when enough threads have arrived at a barrier of a CTA, before those that wait there go on.
    fn barrier(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp], id: u32);

    /// Called for each CTA of a cluster when all threads have arrived at the barrier of the cluster.
    fn cluster_barrier(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp]);

    /// Called if no thread of a CTA can continue.
    fn stuck(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp]);

    /// Called before a lane reads a cell of the tensor memory of the CTA of a rank that was not written after the allocation of its column.
    fn unwritten_tensor_cell(
        &mut self,
        _: &Execution<'_>,
        _lane: usize,
        _rank: usize,
        _cell: TensorAddress,
    ) {
    }

    /// Called before a load from tensor memory that reads cells which were not written after the allocation of their columns: with the registers that it writes
    /// from them, each with a mask of threads, and the first of the cells.
    fn unwritten_tensor_registers(
        &mut self,
        _: &Execution<'_>,
        _registers: &[(Place, u32)],
        _cell: TensorAddress,
    ) {
    }

    /// Called after a product of matrices in tensor memory.
    fn tensor_product(&mut self, _: &Execution<'_>, _: &MatrixProduct) {}

    /// Called before the end of a CTA for each allocation of tensor memory that it did not free.
    fn kept_tensor_columns(&mut self, _: &Grid<'_>, _: &Block, _: &Allocation) {}

    /// Called after the end of a CTA.
    fn ended(&mut self, grid: &Grid<'_>, block: &Block);

    /// The observer of a type, if it is this one or a part of it.
    fn part(&mut self, _: TypeId) -> Option<&mut dyn Any> {
        None
    }

    /// Adds the results of the observation at the end of the launch.
    fn finish(self: Box<Self>, _: &mut Results) {}
}
