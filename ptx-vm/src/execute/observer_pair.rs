//! Combines two observers of a launch.

use core::any::{Any, TypeId};

use ptx_analysis::internals::MatrixProduct;
use ptx_ir::FuncId;

use super::block::Block;
use super::exchange::Exchange;
use super::execution::{Execution, Failed};
use super::grid::Grid;
use super::groups::{CallFrame, LaneOutcome, LaneStep};
use super::observer::{MbarrierOperation, Observer, PhaseEvent, Results};
use super::touch::Touch;
use super::warp::Warp;
use crate::lanes::Place;
use crate::memory::tensor::{Allocation, TensorAddress};
use crate::program::Act;

/// Two observers of a launch. Lanes access memory if both allow it.
#[derive(Debug)]
pub(crate) struct ObserverPair(pub(crate) Box<dyn Observer>, pub(crate) Box<dyn Observer>);

impl Observer for ObserverPair {
    fn unobserved_steps(&self, function: FuncId, step_index: u32, count: u32) -> u32 {
        let count = self.0.unobserved_steps(function, step_index, count);
        self.1.unobserved_steps(function, step_index, count)
    }

    fn step(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        warp: u32,
        step: LaneStep,
        call: &CallFrame,
    ) {
        self.0.step(grid, block, warp, step, call);
        self.1.step(grid, block, warp, step, call);
    }

    fn stepped(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        warp: &Warp,
        step: LaneStep,
        after: LaneOutcome,
    ) {
        self.0.stepped(grid, block, warp, step, after);
        self.1.stepped(grid, block, warp, step, after);
    }

    fn access(&mut self, execution: &Execution<'_>, touch: &Touch<'_>) -> u32 {
        let lanes = self.0.access(execution, touch);
        self.1.access(execution, &Touch { lanes, ..*touch })
    }

    fn act(&mut self, execution: &Execution<'_>, act: &Act) {
        self.0.act(execution, act);
        self.1.act(execution, act);
    }

    fn acted(&mut self, execution: &Execution<'_>, act: &Act, waits: bool) {
        self.0.acted(execution, act, waits);
        self.1.acted(execution, act, waits);
    }

    fn exchange(&mut self, execution: &Execution<'_>, exchange: &Exchange<'_>) {
        self.0.exchange(execution, exchange);
        self.1.exchange(execution, exchange);
    }

    fn mbarrier(&mut self, execution: &Execution<'_>, operation: &MbarrierOperation) -> bool {
        self.0.mbarrier(execution, operation) & self.1.mbarrier(execution, operation)
    }

    fn mbarrier_phase(
        &mut self,
        execution: &Execution<'_>,
        operation: &MbarrierOperation,
        event: PhaseEvent,
    ) {
        self.0.mbarrier_phase(execution, operation, event);
        self.1.mbarrier_phase(execution, operation, event);
    }

    fn called(&mut self, execution: &Execution<'_>) {
        self.0.called(execution);
        self.1.called(execution);
    }

    fn allocated(&mut self, start: u64, bytes: u64) {
        self.0.allocated(start, bytes);
        self.1.allocated(start, bytes);
    }

    fn freed(&mut self, execution: &Execution<'_>, lane: usize, start: u64) {
        self.0.freed(execution, lane, start);
        self.1.freed(execution, lane, start);
    }

    fn failed(&mut self, execution: &Execution<'_>, failed: &Failed) -> bool {
        self.0.failed(execution, failed) | self.1.failed(execution, failed)
    }

    fn barrier(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp], id: u32) {
        self.0.barrier(grid, block, warps, id);
        self.1.barrier(grid, block, warps, id);
    }

    fn cluster_barrier(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp]) {
        self.0.cluster_barrier(grid, block, warps);
        self.1.cluster_barrier(grid, block, warps);
    }

    fn stuck(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp]) {
        self.0.stuck(grid, block, warps);
        self.1.stuck(grid, block, warps);
    }

    fn unwritten_tensor_cell(
        &mut self,
        execution: &Execution<'_>,
        lane: usize,
        rank: usize,
        cell: TensorAddress,
    ) {
        self.0.unwritten_tensor_cell(execution, lane, rank, cell);
        self.1.unwritten_tensor_cell(execution, lane, rank, cell);
    }

    fn unwritten_tensor_registers(
        &mut self,
        execution: &Execution<'_>,
        registers: &[(Place, u32)],
        cell: TensorAddress,
    ) {
        self.0
            .unwritten_tensor_registers(execution, registers, cell);
        self.1
            .unwritten_tensor_registers(execution, registers, cell);
    }

    fn tensor_product(&mut self, execution: &Execution<'_>, product: &MatrixProduct) {
        self.0.tensor_product(execution, product);
        self.1.tensor_product(execution, product);
    }

    fn kept_tensor_columns(&mut self, grid: &Grid<'_>, block: &Block, allocation: &Allocation) {
        self.0.kept_tensor_columns(grid, block, allocation);
        self.1.kept_tensor_columns(grid, block, allocation);
    }

    fn ended(&mut self, grid: &Grid<'_>, block: &Block) {
        self.0.ended(grid, block);
        self.1.ended(grid, block);
    }

    fn part(&mut self, wanted: TypeId) -> Option<&mut dyn Any> {
        if self.0.part(wanted).is_some() {
            return self.0.part(wanted);
        }
        self.1.part(wanted)
    }

    fn finish(self: Box<Self>, results: &mut Results) {
        self.0.finish(results);
        self.1.finish(results);
    }
}
