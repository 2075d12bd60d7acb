//! Passes steps to a [`StepObserver`](super::StepObserver).

use std::collections::HashMap;
use std::sync::Arc;

use ptx_ir::Module;
use ptx_isa::ScalarType;

use super::described::{Described, Descriptions, Mentioned};
use super::{ExecutedStep, RegisterValues, StepAccess, StepGrid, StepPlace, StepState};
use crate::execute::{
    Block, CallFrame, Execution, Failed, Grid, LaneOutcome, LaneStep, MbarrierOperation, Memory,
    Observer, PhaseEvent, Touch, Use, Warp,
};
use crate::lanes::{Registers, lanes};
use crate::program::{Act, Step};

/// The bytes of an access that are kept.
const MOST_BYTES: u64 = 64;

/// Shows the steps of warps to the observer of the launch.
#[derive(Debug)]
pub(crate) struct Tracer {
    descriptions: Descriptions,
    /// The number of steps of the launch so far.
    steps: u64,
    current: Option<Current>,
    /// The steps whose results lanes have yet to get, by the index of the CTA and the first thread of the warp.
    pending: HashMap<(u64, u32), Vec<Pending>>,
}

/// A step that is being executed.
#[derive(Debug)]
struct Current {
    place: StepPlace,
    lanes: u32,
    described: Arc<Described>,
    reads: Vec<RegisterValues>,
    accesses: Vec<(Memory, StepAccess)>,
}

/// A step that lanes wait in, or called a function in.
#[derive(Debug)]
struct Pending {
    place: StepPlace,
    lanes: u32,
    described: Arc<Described>,
    call: usize,
    step_index: u32,
}

fn values(mentioned: &[Mentioned], registers: &Registers) -> Vec<RegisterValues> {
    mentioned
        .iter()
        .map(|register| register.values(registers))
        .collect()
}

impl Tracer {
    /// Observes a grid that begins after this number of steps of the launch.
    pub(crate) fn new(module: &Module, steps: u64) -> Self {
        Self {
            descriptions: Descriptions::new(module),
            steps,
            current: None,
            pending: HashMap::new(),
        }
    }

    /// Shows the results of earlier steps of lanes that are about to execute another one.
    fn resume(&mut self, grid: &Grid<'_>, warp: (u64, u32), step: LaneStep, registers: &Registers) {
        let Some(pending) = self.pending.get_mut(&warp) else {
            return;
        };
        for earlier in pending
            .iter_mut()
            .filter(|earlier| earlier.call == step.call)
        {
            let lanes = earlier.lanes & step.mask;
            earlier.lanes &= !lanes;
            // Lanes that execute an instruction again did not get its results.
            if lanes == 0 || earlier.step_index == step.index {
                continue;
            }
            show(
                grid,
                &ExecutedStep {
                    place: earlier.place,
                    lanes,
                    state: StepState::Resumed,
                    reads: &[],
                    writes: &values(&earlier.described.writes, registers),
                    accesses: &[],
                },
            );
        }
        pending.retain(|earlier| earlier.lanes != 0);
        if pending.is_empty() {
            self.pending.remove(&warp);
        }
    }
}

impl Current {
    /// Shows the step with its state for some of its lanes, and the values that it wrote if there are registers.
    fn show(&self, grid: &Grid<'_>, lanes: u32, state: StepState, registers: Option<&Registers>) {
        let accesses = self.accesses.iter().map(|(_, access)| access);
        let accesses: Vec<StepAccess> = accesses
            .filter(|access| lanes >> access.lane & 1 == 1)
            .cloned()
            .collect();
        let writes = registers.map(|registers| values(&self.described.writes, registers));
        show(
            grid,
            &ExecutedStep {
                place: self.place,
                lanes,
                state,
                reads: &self.reads,
                writes: writes.as_deref().unwrap_or_default(),
                accesses: &accesses,
            },
        );
    }
}

fn show(grid: &Grid<'_>, step: &ExecutedStep<'_>) {
    if let Some(observer) = grid.observer {
        observer.step(step);
    }
}

impl Observer for Tracer {
    fn step(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        warp: u32,
        step: LaneStep,
        call: &CallFrame,
    ) {
        let number = self.steps;
        self.steps += 1;
        self.current = None;
        if !self.pending.is_empty() {
            let warp = (grid.linear(block.index), warp);
            self.resume(grid, warp, step, &call.registers);
        }
        let function = grid.program.function(step.function);
        let target = function.and_then(|f| f.steps.get(step.index as usize));
        let (Some(observer), Some(target)) = (grid.observer, target) else {
            return;
        };
        let place = StepPlace {
            number,
            grid: StepGrid {
                number: grid.number,
                blocks: grid.blocks,
                threads: grid.threads,
            },
            function: step.function,
            inst: target.inst,
            block: block.index,
            first_thread: warp,
            mask: step.mask,
            active: step.active,
            depth: call.depth,
        };
        let lanes = observer.lanes(&place) & step.mask;
        if lanes == 0 {
            return;
        }
        let described = self
            .descriptions
            .get(grid.module, grid.program, step.function, step.index);
        self.current = Some(Current {
            place,
            lanes,
            reads: values(&described.reads, &call.registers),
            described,
            accesses: Vec::new(),
        });
    }

    fn stepped(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        warp: &Warp,
        step: LaneStep,
        outcome: LaneOutcome,
    ) {
        let Some(mut current) = self.current.take() else {
            return;
        };
        for (memory, access) in &mut current.accesses {
            if access.usage != Use::Read {
                let contents = Contents { grid, block, warp };
                let count = access.bytes.min(MOST_BYTES);
                access.after = contents.bytes(*memory, access.lane, access.address, count);
            }
        }
        let call = warp.groups.calls.get(step.call).and_then(Option::as_ref);
        let passing = step.mask & !step.active;
        for (mask, state) in [
            (outcome.done | passing, StepState::Done),
            (outcome.waiting, StepState::Waits),
            (outcome.calling, StepState::Calls),
        ] {
            let lanes = current.lanes & mask;
            if lanes == 0 {
                continue;
            }
            let is_done = state == StepState::Done;
            let registers = call.map(|c| &c.registers).filter(|_| is_done);
            current.show(grid, lanes, state, registers);
            if !is_done && !current.described.writes.is_empty() {
                let warp = (grid.linear(block.index), warp.first);
                self.pending.entry(warp).or_default().push(Pending {
                    place: current.place,
                    lanes,
                    described: Arc::clone(&current.described),
                    call: step.call,
                    step_index: step.index,
                });
            }
        }
    }

    fn access(&mut self, execution: &Execution<'_>, touch: &Touch<'_>) -> u32 {
        let Some(current) = &mut self.current else {
            return touch.lanes;
        };
        let step = execution
            .function
            .steps
            .get(execution.step_index as usize)
            .map(|s| &s.step);
        let is_access = matches!(step, Some(Step::Load(_) | Step::Store(_) | Step::Atomic(_)));
        let ty = current.described.element.filter(|_| is_access);
        for lane in lanes(touch.lanes & current.lanes) {
            let access = access(execution, touch, lane, ty);
            let mut accesses = current.accesses.iter_mut().rev();
            match accesses
                .find(|(memory, last)| *memory == touch.memory && continues(last, &access))
            {
                Some((_, last)) => {
                    let free = (MOST_BYTES as usize).saturating_sub(last.before.len());
                    last.before.extend(access.before.iter().take(free));
                    last.bytes += access.bytes;
                }
                None => current.accesses.push((touch.memory, access)),
            }
        }
        touch.lanes
    }

    fn act(&mut self, _: &Execution<'_>, _: &Act) {}

    fn acted(&mut self, _: &Execution<'_>, _: &Act, _: bool) {}

    fn mbarrier(&mut self, _: &Execution<'_>, _: &MbarrierOperation) -> bool {
        true
    }

    fn mbarrier_phase(&mut self, _: &Execution<'_>, _: &MbarrierOperation, _: PhaseEvent) {}

    fn called(&mut self, _: &Execution<'_>) {}

    fn allocated(&mut self, _: u64, _: u64) {}

    fn freed(&mut self, _: &Execution<'_>, _: usize, _: u64) {}

    fn failed(&mut self, execution: &Execution<'_>, (reason, lane): &Failed) -> bool {
        if let Some(current) = self.current.take() {
            let state = StepState::Failed(*lane, reason.to_string());
            current.show(execution.grid, current.lanes, state, None);
        }
        false
    }

    fn barrier(&mut self, _: &Grid<'_>, _: &Block, _: &[Warp], _: u32) {}

    fn cluster_barrier(&mut self, _: &Grid<'_>, _: &Block, _: &[Warp]) {}

    fn stuck(&mut self, _: &Grid<'_>, _: &Block, _: &[Warp]) {}

    fn ended(&mut self, grid: &Grid<'_>, block: &Block) {
        let block = grid.linear(block.index);
        self.pending.retain(|(own, _), _| *own != block);
    }
}

/// An access of a lane, with the contents of memory before it.
fn access(
    execution: &Execution<'_>,
    touch: &Touch<'_>,
    lane: usize,
    ty: Option<ScalarType>,
) -> StepAccess {
    let (address, bytes) = (touch.addresses[lane], touch.bytes);
    let before = match touch.usage {
        Use::Write => Vec::new(),
        Use::Read | Use::ReadWrite => {
            let contents = Contents {
                grid: execution.grid,
                block: execution.block,
                warp: execution.warp,
            };
            contents.bytes(touch.memory, lane, address, bytes.min(MOST_BYTES))
        }
    };
    StepAccess {
        lane,
        usage: touch.usage,
        space: touch.memory.space(),
        rank: match touch.memory {
            Memory::Shared(rank) => rank,
            _ => 0,
        },
        address,
        bytes,
        ty,
        before,
        after: Vec::new(),
    }
}

/// Whether an access goes on where an earlier one of the same step to the same memory ended: copies are made byte by byte.
fn continues(earlier: &StepAccess, next: &StepAccess) -> bool {
    (earlier.lane, earlier.usage) == (next.lane, next.usage)
        && earlier.ty.is_none()
        && earlier.address.checked_add(earlier.bytes) == Some(next.address)
}

/// The contents of the memories that a warp can access.
struct Contents<'a> {
    grid: &'a Grid<'a>,
    block: &'a Block,
    warp: &'a Warp,
}

impl Contents<'_> {
    /// Bytes of memory, as a lane sees it; fewer where it ends.
    fn bytes(&self, memory: Memory, lane: usize, address: u64, count: u64) -> Vec<u8> {
        let memory = match memory {
            Memory::Global => {
                let mut bytes = vec![0; count as usize];
                let read = self.grid.device.read_bytes(address, &mut bytes);
                return read.map(|()| bytes).unwrap_or_default();
            }
            Memory::Shared(rank) => self.block.shared(rank).unwrap_or_default(),
            Memory::Local => self.warp.stacks.get(lane).map_or(&[][..], Vec::as_slice),
            Memory::Parameter => self.grid.parameters,
        };
        let start = usize::try_from(address).unwrap_or(usize::MAX);
        let from_start = memory.get(start..).unwrap_or_default();
        from_start.iter().take(count as usize).copied().collect()
    }
}
