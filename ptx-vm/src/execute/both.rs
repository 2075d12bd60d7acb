//! Combines two observers of a launch.

use super::block::Block;
use super::execution::{Execution, Failed};
use super::grid::Grid;
use super::groups::CallFrame;
use super::observer::{After, Observed, Observer, OnMbarrier, Stepped};
use super::probe::Probe;
use super::touch::Touch;
use super::warp::Warp;
use crate::program::Act;

/// Shows everything to two observers. Lanes access memory if both allow it.
#[derive(Debug)]
pub(crate) struct Both(pub(crate) Box<dyn Observer>, pub(crate) Box<dyn Observer>);

impl Observer for Both {
    fn step(&mut self, grid: &Grid<'_>, block: &Block, warp: u32, step: Stepped, call: &CallFrame) {
        self.0.step(grid, block, warp, step, call);
        self.1.step(grid, block, warp, step, call);
    }

    fn stepped(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        warp: &Warp,
        step: Stepped,
        after: After,
    ) {
        self.0.stepped(grid, block, warp, step, after);
        self.1.stepped(grid, block, warp, step, after);
    }

    fn access(&mut self, of: &Execution<'_>, touch: &Touch<'_>) -> u32 {
        let lanes = self.0.access(of, touch);
        self.1.access(of, &Touch { lanes, ..*touch })
    }

    fn act(&mut self, of: &Execution<'_>, act: &Act) {
        self.0.act(of, act);
        self.1.act(of, act);
    }

    fn acted(&mut self, of: &Execution<'_>, act: &Act, waits: bool) {
        self.0.acted(of, act, waits);
        self.1.acted(of, act, waits);
    }

    fn mbarrier(&mut self, of: &Execution<'_>, on: &OnMbarrier) -> bool {
        self.0.mbarrier(of, on) & self.1.mbarrier(of, on)
    }

    fn mbarrier_phase(&mut self, of: &Execution<'_>, on: &OnMbarrier, tested: bool) {
        self.0.mbarrier_phase(of, on, tested);
        self.1.mbarrier_phase(of, on, tested);
    }

    fn called(&mut self, of: &Execution<'_>) {
        self.0.called(of);
        self.1.called(of);
    }

    fn allocated(&mut self, start: u64, bytes: u64) {
        self.0.allocated(start, bytes);
        self.1.allocated(start, bytes);
    }

    fn freed(&mut self, of: &Execution<'_>, lane: usize, start: u64) {
        self.0.freed(of, lane, start);
        self.1.freed(of, lane, start);
    }

    fn failed(&mut self, of: &Execution<'_>, failed: &Failed) -> bool {
        self.0.failed(of, failed) | self.1.failed(of, failed)
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

    fn ended(&mut self, grid: &Grid<'_>, block: &Block) {
        self.0.ended(grid, block);
        self.1.ended(grid, block);
    }

    fn probe(&mut self) -> Option<&mut Probe> {
        match self.0.probe().is_some() {
            true => self.0.probe(),
            false => self.1.probe(),
        }
    }

    fn finish(self: Box<Self>) -> Observed {
        let (first, second) = (self.0.finish(), self.1.finish());
        let mut reports = first.reports;
        reports.extend(second.reports);
        Observed {
            reports,
            written: first.written.or(second.written),
            counts: first.counts.or(second.counts),
        }
    }
}
