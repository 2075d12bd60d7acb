//! The implementation of the observer of a launch by the checkers.

use ptx_ir::FuncId;

use super::Checker;
use super::checkers::{CheckResults, Checkers};
use super::dependency::Dependency;
use crate::error::StopReason;
use crate::execute::{
    Block, CallFrame, Exchange, Execution, Failed, Grid, LaneOutcome, LaneStep, MbarrierOperation,
    Observer, PhaseEvent, Results, Touch, Warp,
};
use crate::lanes::Place;
use crate::memory::tensor::{Allocation, TensorAddress};
use crate::program::Act;

impl Observer for Checkers {
    fn unobserved_steps(&self, function: FuncId, step_index: u32, count: u32) -> u32 {
        if self.has(Checker::Initcheck) {
            let site = self.sites.get(self.sites.number(function, step_index));
            let follows_loads = self.follows_loads;
            site.map_or(0, |site| site.untracked_steps(follows_loads).min(count))
        } else {
            count
        }
    }

    fn step(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        warp: u32,
        step: LaneStep,
        call: &CallFrame,
    ) {
        if self.has(Checker::Initcheck) {
            self.unwritten = 0;
            self.check_registers(grid, block, warp, step, call);
        }
        if self.has(Checker::Synccheck) {
            self.check_uniform_branch(grid, block, warp, step, call);
        }
    }

    fn stepped(&mut self, _: &Grid<'_>, _: &Block, _: &Warp, _: LaneStep, _: LaneOutcome) {}

    fn access(&mut self, execution: &Execution<'_>, touch: &Touch<'_>) -> u32 {
        let mut allowed = touch.lanes;
        if self.has(Checker::Memcheck) {
            allowed = self.memcheck(execution, touch);
        }
        // The other accesses fail.
        let possible = execution.lanes_within_memory(touch, allowed);
        if possible == 0 {
            return allowed;
        }
        if self.has(Checker::Initcheck) {
            self.initcheck(execution, touch, possible);
        }
        if self.has(Checker::Synccheck) {
            self.check_mbarrier_memory(execution, touch, possible);
        }
        if self.dependency.is_some() && self.has(Checker::Racecheck) {
            self.check_dependency(execution, touch, possible);
        }
        if self.orders() {
            self.operation = self.operation_of(execution, touch);
            self.racecheck(execution, touch, possible);
            self.operation = None;
        }
        allowed
    }

    fn act(&mut self, execution: &Execution<'_>, act: &Act) {
        if self.has(Checker::Synccheck) {
            self.before_act(execution, act);
        }
        if self.orders() {
            self.before_copy(execution, act);
        }
    }

    fn acted(&mut self, execution: &Execution<'_>, act: &Act, waits: bool) {
        self.follow_dependency(execution, act);
        if self.orders() {
            self.order(execution, act, waits);
        }
    }

    fn exchange(&mut self, execution: &Execution<'_>, exchange: &Exchange<'_>) {
        if self.has(Checker::Initcheck) {
            self.track_exchange(execution, exchange);
        }
    }

    fn mbarrier(&mut self, execution: &Execution<'_>, operation: &MbarrierOperation) -> bool {
        !self.orders() || self.check_mbarrier_operation(execution, operation)
    }

    fn mbarrier_phase(
        &mut self,
        execution: &Execution<'_>,
        operation: &MbarrierOperation,
        event: PhaseEvent,
    ) {
        if self.orders() {
            self.record_phase(execution, operation, event);
        }
    }

    fn called(&mut self, execution: &Execution<'_>) {
        if self.has(Checker::Initcheck) {
            self.record_calls(execution);
        }
    }

    fn allocated(&mut self, start: u64, bytes: u64) {
        self.heap_allocated(start, bytes);
    }

    fn freed(&mut self, execution: &Execution<'_>, lane: usize, start: u64) {
        self.heap_freed(execution, lane, start);
    }

    fn failed(&mut self, execution: &Execution<'_>, failed: &Failed) -> bool {
        match failed {
            (StopReason::OutOfBounds(address), lane) => {
                self.report_fault(execution, *lane, *address)
            }
            (StopReason::OutsideSurface(description), lane) => {
                self.report_outside_surface(execution, *lane, description)
            }
            (StopReason::Invalid(_), _) => {
                self.has(Checker::Synccheck) && self.has_report(execution)
            }
            _ => false,
        }
    }

    fn barrier(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp], id: u32) {
        if self.has(Checker::Synccheck) {
            self.leave_barrier(grid, block, warps, id);
        }
        if self.orders() {
            self.complete_barrier(grid, block, warps, id);
        }
    }

    fn cluster_barrier(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp]) {
        if self.orders() {
            self.complete_cluster(grid, block, warps);
        }
    }

    fn stuck(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp]) {
        if self.has(Checker::Synccheck) {
            self.report_deadlock(grid, block, warps);
        }
    }

    fn unwritten_tensor_cell(
        &mut self,
        execution: &Execution<'_>,
        lane: usize,
        rank: usize,
        cell: TensorAddress,
    ) {
        if self.has(Checker::Initcheck) {
            self.report_unwritten_cell(execution, lane, rank, cell);
        }
    }

    fn unwritten_tensor_registers(
        &mut self,
        execution: &Execution<'_>,
        registers: &[(Place, u32)],
        cell: TensorAddress,
    ) {
        if self.has(Checker::Initcheck) {
            self.track_unwritten_cells(execution, registers, cell);
        }
    }

    fn kept_tensor_columns(&mut self, grid: &Grid<'_>, block: &Block, allocation: &Allocation) {
        if self.has(Checker::Memcheck) {
            self.report_kept_columns(grid, block, allocation);
        }
    }

    fn ended(&mut self, grid: &Grid<'_>, block: &Block) {
        let block = grid.linear(block.index);
        if self.has(Checker::Synccheck) {
            self.report_missing_lanes(grid, block);
            self.report_pending_reads(grid, block);
        }
        self.report_attempts(grid, block);
        self.end_block(block);
    }

    fn finish(self: Box<Self>, results: &mut Results) {
        results.push(Box::new(CheckResults {
            reports: self.reports.finish(),
            written: self.checks.has(Checker::Initcheck).then_some(self.global),
            writes_for_dependents: self.dependency.map(Dependency::writes),
        }));
    }
}
