//! Passes steps to a [`StepObserver`](super::StepObserver).

use std::collections::HashMap;
use std::sync::Arc;

use ptx_ir::Module;
use ptx_isa::ScalarType;

use super::described::{Described, Descriptions, Mentioned};
use super::{ExecutedStep, RegisterValues, StepAccess, StepPlace, StepState};
use crate::execute::{
    Block, CallFrame, Execution, Failed, Grid, LaneOutcome, LaneStep, MbarrierOperation, Memory,
    Observer, PhaseEvent, Touch, Use, Warp,
};
use crate::lanes::{Registers, lanes};
use crate::program::{Act, Step};

/// The bytes of an access that are kept.
const MOST_BYTES: u64 = 64;

/// Shows steps.
#[derive(Debug)]
pub(crate) struct Tracer {
    descriptions: Descriptions,
    /// The number of steps.
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
    at: u32,
}

fn values(of: &[Mentioned], registers: &Registers) -> Vec<RegisterValues> {
    of.iter().map(|m| m.values(registers)).collect()
}

impl Tracer {
    pub(crate) fn new(module: &Module) -> Self {
        Self {
            descriptions: Descriptions::new(module),
            steps: 0,
            current: None,
            pending: HashMap::new(),
        }
    }

    /// Shows the results of earlier steps of lanes that are about to execute another one.
    fn resume(&mut self, grid: &Grid<'_>, warp: (u64, u32), step: LaneStep, registers: &Registers) {
        let Some(pending) = self.pending.get_mut(&warp) else {
            return;
        };
        for of in pending.iter_mut().filter(|of| of.call == step.call) {
            let lanes = of.lanes & step.mask;
            of.lanes &= !lanes;
            // Lanes that execute an instruction again did not get its results.
            if lanes == 0 || of.at == step.index {
                continue;
            }
            show(
                grid,
                &ExecutedStep {
                    place: of.place,
                    lanes,
                    state: StepState::Resumed,
                    reads: &[],
                    writes: &values(&of.described.writes, registers),
                    accesses: &[],
                },
            );
        }
        pending.retain(|of| of.lanes != 0);
        if pending.is_empty() {
            self.pending.remove(&warp);
        }
    }

    /// Shows what became of the current step for some of its lanes.
    fn show_current(
        &mut self,
        grid: &Grid<'_>,
        (of, lanes): (&Current, u32),
        state: StepState,
        registers: Option<&Registers>,
    ) {
        let of_lanes = |(_, access): &&(Memory, StepAccess)| lanes >> access.lane & 1 == 1;
        let accesses = of.accesses.iter().filter(of_lanes);
        let accesses: Vec<StepAccess> = accesses.map(|(_, access)| access.clone()).collect();
        let writes = registers.map(|r| values(&of.described.writes, r));
        show(
            grid,
            &ExecutedStep {
                place: of.place,
                lanes,
                state,
                reads: &of.reads,
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
        let instruction = (step.function, step.index);
        let described = self
            .descriptions
            .get(grid.module, grid.program, instruction);
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
        after: LaneOutcome,
    ) {
        let Some(mut current) = self.current.take() else {
            return;
        };
        for (memory, access) in &mut current.accesses {
            if access.usage != Use::Read {
                let at = (access.address, access.bytes.min(MOST_BYTES));
                access.after = bytes(grid, block, warp, (*memory, access.lane), at);
            }
        }
        let call = warp.groups.calls.get(step.call).and_then(Option::as_ref);
        let passing = step.mask & !step.active;
        for (mask, state) in [
            (after.done | passing, StepState::Done),
            (after.waiting, StepState::Waits),
            (after.calling, StepState::Calls),
        ] {
            let lanes = current.lanes & mask;
            if lanes == 0 {
                continue;
            }
            let is_done = state == StepState::Done;
            let registers = call.map(|c| &c.registers).filter(|_| is_done);
            self.show_current(grid, (&current, lanes), state, registers);
            if !is_done && !current.described.writes.is_empty() {
                let warp = (grid.linear(block.index), warp.first);
                self.pending.entry(warp).or_default().push(Pending {
                    place: current.place,
                    lanes,
                    described: Arc::clone(&current.described),
                    call: step.call,
                    at: step.index,
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
            match accesses.find(|(memory, last)| continues((*memory, last), touch.memory, &access))
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
            self.show_current(execution.grid, (&current, current.lanes), state, None);
        }
        false
    }

    fn barrier(&mut self, _: &Grid<'_>, _: &Block, _: &[Warp], _: u32) {}

    fn cluster_barrier(&mut self, _: &Grid<'_>, _: &Block, _: &[Warp]) {}

    fn stuck(&mut self, _: &Grid<'_>, _: &Block, _: &[Warp]) {}

    fn ended(&mut self, grid: &Grid<'_>, block: &Block) {
        let block = grid.linear(block.index);
        self.pending.retain(|(of, _), _| *of != block);
    }
}

/// An access of a lane, with what is in memory before.
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
            let at = (address, bytes.min(MOST_BYTES));
            self::bytes(
                execution.grid,
                execution.block,
                execution.warp,
                (touch.memory, lane),
                at,
            )
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

/// Whether an access goes on where an earlier one of the same step ended: copies are made byte by byte.
fn continues((memory, last): (Memory, &StepAccess), of: Memory, next: &StepAccess) -> bool {
    (memory, last.lane, last.usage) == (of, next.lane, next.usage)
        && last.ty.is_none()
        && last.address.checked_add(last.bytes) == Some(next.address)
}

/// Bytes of memory; fewer where it ends.
fn bytes(
    grid: &Grid<'_>,
    block: &Block,
    warp: &Warp,
    (memory, lane): (Memory, usize),
    (at, count): (u64, u64),
) -> Vec<u8> {
    let values_of = |all: &[u8]| {
        let from = all.get(usize::try_from(at).unwrap_or(usize::MAX)..);
        let mut from = from.unwrap_or_default().iter();
        from.by_ref().take(count as usize).copied().collect()
    };
    match memory {
        Memory::Global => {
            let mut all = vec![0; count as usize];
            let read = grid.device.read_bytes(at, &mut all);
            read.map(|()| all).unwrap_or_default()
        }
        Memory::Shared(rank) => values_of(block.shared(rank).unwrap_or_default()),
        Memory::Local => values_of(warp.stacks.get(lane).map_or(&[], Vec::as_slice)),
        Memory::Parameter => values_of(grid.parameters),
    }
}
