//! The observer that collects a profile.

use std::collections::HashMap;

use ptx_analysis::internals::MatrixProduct;
use ptx_analysis::memory_access::requests::{passes, sectors};
use ptx_ir::FuncId;
use ptx_isa::{Action, StateSpace};

use super::requests::OpenRequests;
use super::{MatrixProfile, MemoryProfile};
use crate::execute::{
    Block, CallFrame, Execution, Failed, Grid, LaneOutcome, LaneStep, MbarrierOperation, Memory,
    Observer, PhaseEvent, Results, Touch, Warp,
};
use crate::lanes::LANES;
use crate::matrix::operation::Operation;
use crate::program::{Act, Step};

/// The counters of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    pub(super) executions: u64,
    pub(super) lanes: u64,
    /// The counters of each space that is accessed.
    memory: Vec<MemoryProfile>,
    pub(super) matrix: Option<MatrixProfile>,
}

impl Count {
    pub(super) fn memory(&self) -> Vec<MemoryProfile> {
        self.memory.clone()
    }

    fn add(&mut self, other: &Self) {
        self.executions += other.executions;
        self.lanes += other.lanes;
        for memory in &other.memory {
            let sum = self.memory_in(memory.space);
            sum.bytes += memory.bytes;
            sum.requests += memory.requests;
            sum.sectors += memory.sectors;
            sum.passes += memory.passes;
            sum.least_passes += memory.least_passes;
        }
        match (&mut self.matrix, other.matrix) {
            (Some(sum), Some(matrix)) => {
                sum.products += matrix.products;
                sum.multiply_adds += matrix.multiply_adds;
            }
            (sum, matrix) => *sum = sum.or(matrix),
        }
    }

    pub(super) fn memory_in(&mut self, space: StateSpace) -> &mut MemoryProfile {
        let index = self.memory.iter().position(|m| m.space == space);
        let index = index.unwrap_or_else(|| {
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
        &mut self.memory[index]
    }
}

/// The counters of each step of each function.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    functions: HashMap<FuncId, Vec<Count>>,
}

impl Counts {
    /// The counters of a step that was executed.
    pub(super) fn get(&self, function: FuncId, step_index: u32) -> Option<&Count> {
        let count = self.functions.get(&function)?.get(step_index as usize)?;
        (count.executions > 0).then_some(count)
    }

    /// Adds the counters of a later grid.
    pub(crate) fn add(&mut self, later: &Self) {
        for (&function, counts) in &later.functions {
            for (index, count) in (0u32..).zip(counts) {
                self.count_of_step(function, index).add(count);
            }
        }
    }

    fn count_of_step(&mut self, function: FuncId, step_index: u32) -> &mut Count {
        let counts = self.functions.entry(function).or_default();
        let step_index = step_index as usize;
        if counts.len() <= step_index {
            counts.resize_with(step_index + 1, Count::default);
        }
        &mut counts[step_index]
    }
}

/// The observer that collects a profile.
#[derive(Debug, Default)]
pub(crate) struct Profiler {
    counts: Counts,
    /// The requests of the action that is performed.
    open_requests: OpenRequests,
}

impl Observer for Profiler {
    fn step(&mut self, _: &Grid<'_>, _: &Block, _: u32, step: LaneStep, _: &CallFrame) {
        let count = self.counts.count_of_step(step.function, step.index);
        count.executions += 1;
        count.lanes += u64::from(step.active.count_ones());
    }

    fn stepped(&mut self, _: &Grid<'_>, _: &Block, _: &Warp, _: LaneStep, _: LaneOutcome) {}

    fn access(&mut self, execution: &Execution<'_>, touch: &Touch<'_>) -> u32 {
        let count = self
            .counts
            .count_of_step(execution.function_id, execution.step_index);
        if let Some(act) = execution.action() {
            self.open_requests.add(act.action, touch, count);
        }
        let count = count.memory_in(touch.memory.space());
        count.bytes += touch.bytes * u64::from(touch.lanes.count_ones());
        let step = execution
            .function
            .steps
            .get(execution.step_index as usize)
            .map(|s| &s.step);
        if matches!(step, Some(Step::Load(_) | Step::Store(_) | Step::Atomic(_))) {
            count.requests += 1;
            match touch.memory {
                Memory::Global => {
                    count.sectors += sectors(touch.addresses, touch.bytes, touch.lanes)
                }
                Memory::Shared(_) => {
                    let passes_of_access = passes(touch.addresses, touch.bytes, touch.lanes);
                    count.passes += passes_of_access.all;
                    count.least_passes += passes_of_access.least;
                }
                Memory::Local | Memory::Parameter => {}
            }
        }
        touch.lanes
    }

    fn act(&mut self, _: &Execution<'_>, _: &Act) {}

    fn acted(&mut self, execution: &Execution<'_>, act: &Act, waits: bool) {
        let multiplies = matches!(
            act.action,
            Action::MatrixMultiply | Action::WarpgroupMultiply
        );
        let count = self
            .counts
            .count_of_step(execution.function_id, execution.step_index);
        self.open_requests.close(count);
        if waits || !multiplies {
            return;
        }
        let Some(operation) = Operation::of(&act.modifiers) else {
            return;
        };
        let matrix = count.matrix.get_or_insert_with(|| MatrixProfile {
            shape: operation.product().shape,
            factors: [operation.a, operation.b],
            sparse: operation.sparse,
            products: 0,
            multiply_adds: 0,
        });
        // Each warp of a warpgroup computes its part. The first one counts the product.
        let warp = execution.warp.first / LANES as u32;
        matrix.products += u64::from(warp.is_multiple_of(operation.product().warps));
        matrix.multiply_adds += operation.multiply_adds();
    }

    fn tensor_product(&mut self, execution: &Execution<'_>, product: &MatrixProduct) {
        let count = self
            .counts
            .count_of_step(execution.function_id, execution.step_index);
        let matrix = count.matrix.get_or_insert(MatrixProfile {
            shape: product.shape,
            factors: product.factors,
            sparse: product.sparse,
            products: 0,
            multiply_adds: 0,
        });
        matrix.products += 1;
        matrix.multiply_adds += product.multiply_adds();
    }

    fn mbarrier(&mut self, _: &Execution<'_>, _: &MbarrierOperation) -> bool {
        true
    }

    fn mbarrier_phase(&mut self, _: &Execution<'_>, _: &MbarrierOperation, _: PhaseEvent) {}

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

    fn finish(self: Box<Self>, results: &mut Results) {
        results.push(Box::new(self.counts));
    }
}
