//! Counts what a launch executes.

use std::collections::HashMap;

use ptx_ir::FuncId;
use ptx_isa::StateSpace;

use super::MemoryProfile;
use super::requests::{passes, sectors};
use crate::execute::{
    After, Block, CallFrame, Execution, Failed, Grid, Memory, Observed, Observer, OnMbarrier,
    Stepped, Touch, Warp,
};
use crate::program::{Act, Step};

/// What is counted of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    pub(super) executions: u64,
    pub(super) lanes: u64,
    /// Of each space that is accessed.
    memory: Vec<MemoryProfile>,
}

impl Count {
    pub(super) fn memory(&self) -> Vec<MemoryProfile> {
        self.memory.clone()
    }

    fn of_space(&mut self, space: StateSpace) -> &mut MemoryProfile {
        let at = self.memory.iter().position(|m| m.space == space);
        let at = at.unwrap_or_else(|| {
            self.memory.push(MemoryProfile {
                space,
                bytes: 0,
                requests: 0,
                sectors: 0,
                passes: 0,
                least_passes: 0,
            });
            self.memory.len() - 1
        });
        &mut self.memory[at]
    }
}

/// What is counted of each step of each function.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    functions: HashMap<FuncId, Vec<Count>>,
}

impl Counts {
    /// What is counted of a step that was executed.
    pub(super) fn get(&self, function: FuncId, at: u32) -> Option<&Count> {
        let count = self.functions.get(&function)?.get(at as usize)?;
        (count.executions > 0).then_some(count)
    }

    fn of_step(&mut self, function: FuncId, at: u32) -> &mut Count {
        let steps = self.functions.entry(function).or_default();
        let at = at as usize;
        if steps.len() <= at {
            steps.resize_with(at + 1, Count::default);
        }
        &mut steps[at]
    }
}

/// Counts what a launch executes.
#[derive(Debug, Default)]
pub(crate) struct Profiler {
    counts: Counts,
}

impl Observer for Profiler {
    fn step(&mut self, _: &Grid<'_>, _: &Block, _: u32, step: Stepped, _: &CallFrame) {
        let count = self.counts.of_step(step.function, step.at);
        count.executions += 1;
        count.lanes += u64::from(step.active.count_ones());
    }

    fn stepped(&mut self, _: &Grid<'_>, _: &Block, _: &Warp, _: Stepped, _: After) {}

    fn access(&mut self, of: &Execution<'_>, touch: &Touch<'_>) -> u32 {
        let count = self.counts.of_step(of.id, of.at);
        let count = count.of_space(touch.memory.space());
        count.bytes += touch.bytes * u64::from(touch.lanes.count_ones());
        let step = of.function.steps.get(of.at as usize).map(|s| &s.step);
        if matches!(step, Some(Step::Load(_) | Step::Store(_) | Step::Atomic(_))) {
            count.requests += 1;
            match touch.memory {
                Memory::Global => count.sectors += sectors(touch.at, touch.bytes, touch.lanes),
                Memory::Shared(_) => {
                    let (all, least) = passes(touch.at, touch.bytes, touch.lanes);
                    count.passes += all;
                    count.least_passes += least;
                }
                Memory::Local | Memory::Parameter => {}
            }
        }
        touch.lanes
    }

    fn act(&mut self, _: &Execution<'_>, _: &Act) {}

    fn acted(&mut self, _: &Execution<'_>, _: &Act, _: bool) {}

    fn mbarrier(&mut self, _: &Execution<'_>, _: &OnMbarrier) -> bool {
        true
    }

    fn mbarrier_phase(&mut self, _: &Execution<'_>, _: &OnMbarrier, _: bool) {}

    fn called(&mut self, _: &Execution<'_>) {}

    fn allocated(&mut self, _: u64, _: u64) {}

    fn freed(&mut self, _: &Execution<'_>, _: usize, _: u64) {}

    fn failed(&mut self, _: &Execution<'_>, _: &Failed) -> bool {
        false
    }

    fn barrier(&mut self, _: &Grid<'_>, _: &Block, _: &[Warp], _: u32) {}

    fn cluster_barrier(&mut self, _: &Grid<'_>, _: &Block, _: &[Warp]) {}

    fn stuck(&mut self, _: &Grid<'_>, _: &Block, _: &[Warp]) {}

    fn ended(&mut self, _: &Grid<'_>, _: &Block) {}

    fn finish(self: Box<Self>) -> Observed {
        Observed {
            counts: Some(self.counts),
            ..Observed::default()
        }
    }
}
