//! The interface for observers of a running kernel: checkers, profiles, traces.

use core::fmt::Debug;

use ptx_ir::FuncId;
use ptx_isa::Action;

use super::block::Block;
use super::execution::{Control, Execution, Failed, Outcome};
use super::grid::Grid;
use super::groups::CallFrame;
use super::location::{Location, Memory};
use super::probe::Probe;
use super::touch::{Touch, Use};
use super::warp::Warp;
use crate::check::{Report, WrittenBytes};
use crate::lanes::{LANES, lanes};
use crate::profile::Counts;
use crate::program::{Act, Address, Step};

/// An instruction that lanes of a warp are about to execute.
#[derive(Copy, Clone)]
pub(crate) struct Stepped {
    pub(crate) function: FuncId,
    /// The index of the step.
    pub(crate) at: u32,
    pub(crate) call: usize,
    /// The lanes that are at the step.
    pub(crate) mask: u32,
    /// Those whose guard holds.
    pub(crate) active: u32,
}

impl Stepped {
    pub(crate) const fn new(
        function: FuncId,
        at: u32,
        call: usize,
        mask: u32,
        active: u32,
    ) -> Self {
        Self {
            function,
            at,
            call,
            mask,
            active,
        }
    }
}

/// The active lanes of a step after it.
#[derive(Copy, Clone, Default)]
pub(crate) struct After {
    /// Those that go on: their registers have the results.
    pub(crate) done: u32,
    /// Those that wait for other threads.
    pub(crate) waiting: u32,
    /// Those that are in the function that they called.
    pub(crate) calling: u32,
}

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

/// What an observer found.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    pub(crate) reports: Vec<Report>,
    /// The bytes of global memory that were written.
    pub(crate) written: Option<WrittenBytes>,
    /// What was executed.
    pub(crate) counts: Option<Counts>,
}

/// What observes the execution of a launch. Launches that are observed run on one thread.
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
    fn failed(&mut self, of: &Execution<'_>, failed: &Failed) -> bool;

    /// Lanes of different warps arrived at the barrier of a CTA, and those that wait there are about to go on.
    fn barrier(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp], id: u32);

    /// All threads of the cluster arrived at its barrier; asked for each CTA.
    fn cluster_barrier(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp]);

    /// No thread of a CTA can continue.
    fn stuck(&mut self, grid: &Grid<'_>, block: &Block, warps: &[Warp]);

    /// A CTA ended.
    fn ended(&mut self, grid: &Grid<'_>, block: &Block);

    /// What looks for loops that are repeated for ever, if it is part of the observer.
    fn probe(&mut self) -> Option<&mut Probe> {
        None
    }

    /// What was found during the launch.
    fn finish(self: Box<Self>) -> Observed;
}

impl Execution<'_> {
    /// Where the stack of the call ends.
    pub(crate) fn top(&self) -> u64 {
        self.call_frame(self.call).map_or(0, |c| c.top)
    }

    /// A call of the warp.
    pub(crate) fn call_frame(&self, call: usize) -> Option<&CallFrame> {
        self.warp.groups.calls.get(call)?.as_ref()
    }

    /// The calls that lanes have just begun at this step, with their lanes.
    pub(crate) fn callees(&self) -> impl Iterator<Item = (usize, u32)> {
        let begun = self.warp.groups.all.iter().filter(|group| {
            let call = self.call_frame(group.call);
            let of_step =
                call.is_some_and(|c| c.caller == Some(self.call) && c.called_at == self.at);
            of_step && group.at == 0 && group.mask & !self.active == 0
        });
        begun.map(|group| (group.call, group.mask))
    }

    /// The action that is performed.
    pub(crate) fn action(&self) -> Option<&Act> {
        match &self.function.steps.get(self.at as usize)?.step {
            Step::Act(act) => Some(act),
            _ => None,
        }
    }

    /// A byte of memory that all lanes have.
    pub(crate) fn byte(&self, memory: Memory, at: u64) -> Option<u8> {
        match memory {
            Memory::Global => self.grid.device.read(at, 1).ok().map(|v| v as u8),
            Memory::Shared(rank) => self.block.shared(rank)?.get(at as usize).copied(),
            Memory::Local | Memory::Parameter => None,
        }
    }

    /// Asks the observer, if there is one.
    pub(super) fn observe<R>(&self, ask: impl FnOnce(&mut dyn Observer, &Self) -> R) -> Option<R> {
        let observer = self.block.together.observer.as_ref()?;
        let mut observer = observer.try_borrow_mut().ok()?;
        Some(ask(&mut **observer, self))
    }

    /// Executes a step that is observed.
    pub(super) fn observed_step(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Load(access) => {
                let bytes = u64::from(access.bytes) * access.places.len() as u64;
                self.touch(&access.address, Use::Read, (bytes, access.bytes.into()));
            }
            Step::Store(access) => {
                let bytes = u64::from(access.bytes) * access.places.len() as u64;
                self.touch(&access.address, Use::Write, (bytes, access.bytes.into()));
            }
            Step::Atomic(atomic) => {
                let bytes = atomic.elements.iter().map(|e| u64::from(e.bytes)).sum();
                self.touch(&atomic.address, Use::ReadWrite, (bytes, bytes));
            }
            Step::Act(act) => {
                self.observe(|observer, of| observer.act(of, act));
                self.by_byte = true;
            }
            Step::Call(_) => self.by_byte = true,
            _ => {}
        }
        if self.active == 0 {
            return Ok(Control::Next);
        }
        let outcome = self.step(step);
        self.by_byte = false;
        let control = match outcome {
            Ok(control) => control,
            Err(failed) => {
                let goes_on = self.observe(|observer, of| observer.failed(of, &failed));
                return match goes_on {
                    Some(true) => Ok(Control::Next),
                    _ => Err(failed),
                };
            }
        };
        match step {
            Step::Act(act) => {
                let waits = matches!(control, Control::Wait(_));
                self.observe(|observer, of| observer.acted(of, act, waits));
            }
            Step::Call(_) => {
                self.observe(|observer, of| observer.called(of));
            }
            _ => {}
        }
        Ok(control)
    }

    /// Shows accesses of all lanes to the observer; lanes that may not access memory do not execute the step.
    fn touch(&mut self, address: &Address, usage: Use, (bytes, element): (u64, u64)) {
        let mut left = self.active;
        let mut allowed = 0;
        let mut at = [0; LANES];
        let mut memories = [Memory::Global; LANES];
        match self.addresses(address) {
            Some(all) => (at, memories) = (all.at, [all.memory; LANES]),
            None => {
                for lane in lanes(left) {
                    let location = self.location(address, lane);
                    (at[lane], memories[lane]) = (location.address(), location.memory());
                }
            }
        }
        while left != 0 {
            let memory = memories[left.trailing_zeros() as usize % LANES];
            let same = lanes(left).filter(|&lane| memories[lane] == memory);
            let same = same.fold(0, |all, lane| all | 1 << lane);
            left &= !same;
            let touch = Touch {
                usage,
                memory,
                at: &at,
                bytes,
                element,
                align: bytes,
                lanes: same,
            };
            let answer = self.observe(|observer, of| observer.access(of, &touch));
            allowed |= answer.unwrap_or(same) & same;
        }
        self.active = allowed;
    }

    /// Shows an access of one lane to the observer, if it sees them one by one; gives whether it may happen.
    pub(super) fn touch_one(&self, to: Location, usage: Use, bytes: u8, lane: usize) -> bool {
        let at = [to.address(); LANES];
        let touch = Touch {
            usage,
            memory: to.memory(),
            at: &at,
            bytes: bytes.into(),
            element: bytes.into(),
            align: bytes.into(),
            lanes: 1 << lane,
        };
        let answer = self.observe(|observer, of| observer.access(of, &touch));
        answer.is_none_or(|allowed| allowed != 0)
    }
}
