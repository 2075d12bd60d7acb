//! The implementation of the observer by the checkers.

use super::Checker;
use super::checkers::{CheckResults, Checkers};
use crate::error::StopReason;
use crate::execute::{
    After, Block, CallFrame, Execution, Failed, Grid, Observer, OnMbarrier, Results, Stepped,
    Touch, Warp,
};
use crate::program::Act;

impl Observer for Checkers {
    fn step(&mut self, grid: &Grid<'_>, block: &Block, warp: u32, step: Stepped, call: &CallFrame) {
        if self.has(Checker::Initcheck) {
            self.unwritten = 0;
            self.registers(grid, (block.index, warp), (step, call));
        }
        if self.has(Checker::Synccheck) {
            self.uniform_branch(grid, (block.index, warp), (step, call));
        }
    }

    fn stepped(&mut self, _: &Grid<'_>, _: &Block, _: &Warp, _: Stepped, _: After) {}

    fn access(&mut self, execution: &Execution<'_>, touch: &Touch<'_>) -> u32 {
        let mut allowed = touch.lanes;
        if self.has(Checker::Memcheck) {
            allowed = self.memcheck(execution, touch);
        }
        // Other accesses fail.
        let possible = execution.possible(touch, allowed);
        if possible == 0 {
            return allowed;
        }
        if self.has(Checker::Initcheck) {
            self.initcheck(execution, touch, possible);
        }
        if self.has(Checker::Synccheck) {
            self.on_object(execution, touch, possible);
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
        if self.orders() {
            self.order(execution, act, waits);
        }
    }

    fn mbarrier(&mut self, execution: &Execution<'_>, on: &OnMbarrier) -> bool {
        !self.orders() || self.on_mbarrier(execution, on)
    }

    fn mbarrier_phase(&mut self, execution: &Execution<'_>, on: &OnMbarrier, tested: bool) {
        if self.orders() {
            self.mbarrier_phases(execution, on, tested);
        }
    }

    fn called(&mut self, execution: &Execution<'_>) {
        if self.has(Checker::Initcheck) {
            self.calls(execution);
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
            (StopReason::OutOfBounds(at), lane) => self.fault(execution, *lane, *at),
            (StopReason::Invalid(_), _) => self.has(Checker::Synccheck) && self.reported(execution),
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
            self.deadlock(grid, block, warps);
        }
    }

    fn ended(&mut self, grid: &Grid<'_>, block: &Block) {
        let block = grid.linear(block.index);
        if self.has(Checker::Synccheck) {
            self.missing_lanes(grid, block);
        }
        self.report_attempts(grid, block);
        self.end_block(block);
    }

    fn finish(self: Box<Self>, results: &mut Results) {
        results.push(Box::new(CheckResults {
            reports: self.reports.finish(),
            written: self.checks.has(Checker::Initcheck).then_some(self.global),
        }));
    }
}
