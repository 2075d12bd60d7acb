//! Checks of operations on mbarrier objects, and the ordering that they establish between threads.

use ptx_ir::Code;
use ptx_isa::Action;

use super::Checker;
use super::checkers::Checkers;
use super::clock::Clock;
use super::report::Text;
use super::sync_state::{CopyKind, Mbarrier};
use crate::execute::{Execution, MbarrierOperation, Memory, PhaseEvent, Touch};
use crate::lanes::lanes;

/// The maximum number of arrivals that a phase of an mbarrier object expects.
const MOST_ARRIVALS: u64 = (1 << 20) - 1;

impl Checkers {
    /// Checks an operation on an mbarrier object; returns whether it can be executed.
    pub(super) fn check_mbarrier_operation(
        &mut self,
        execution: &Execution<'_>,
        operation: &MbarrierOperation,
    ) -> bool {
        let (offset, lane) = (operation.offset, operation.lane);
        let actor = self.actor(execution, lane);
        let (_, state) = self.block_of_rank(execution, operation.rank);
        let sync = &mut state.sync;
        let actors = sync
            .mbarriers
            .get(&offset)
            .map(|object| (object.initialized_by, object.invalidated_by));
        let (message, other, help, code) = match (operation.action, actors) {
            (Action::MbarrierInit, Some((initialized_by, None))) => (
                "the mbarrier object is already initialized".into(),
                Some((initialized_by, "initialized here")),
                "invalidate the object before initializing it again, and do both in a single thread",
                Code::RepeatedMbarrier,
            ),
            (Action::MbarrierInit, _)
                if operation.count == 0 || operation.count > MOST_ARRIVALS =>
            {
                (
                    format!(
                        "the mbarrier object is initialized with an invalid count of {}",
                        operation.count
                    ),
                    None,
                    "the count must be between 1 and 2^20 - 1",
                    Code::MbarrierCount,
                )
            }
            (Action::MbarrierInit, _) => {
                self.initialize(execution, operation);
                return true;
            }
            (_, None) => (
                format!("there is no initialized mbarrier object at {offset:#x}"),
                None,
                "execute `mbarrier.init` in one thread, followed by a barrier before other threads use the object",
                Code::MissingMbarrier,
            ),
            (_, Some((_, Some(invalidated_by)))) => (
                format!("the mbarrier object at {offset:#x} was invalidated"),
                Some((invalidated_by, "invalidated here")),
                "invalidate the object after its last use by any thread",
                Code::MissingMbarrier,
            ),
            (Action::MbarrierArrive | Action::MbarrierDrop | Action::TensorCommit, _)
                if operation.count > operation.pending.into() =>
            {
                (
                    format!(
                        "{} arrivals at an mbarrier object with {} pending arrivals",
                        operation.count, operation.pending
                    ),
                    None,
                    "initialize the object with the number of threads that arrive in each phase",
                    Code::MbarrierCount,
                )
            }
            (Action::MbarrierInvalidate, _) => {
                if let Some(object) = sync.mbarriers.get_mut(&offset) {
                    object.invalidated_by = Some(actor);
                }
                return true;
            }
            _ => {
                self.check_initialization_order(execution, operation);
                self.arrive(execution, operation);
                return true;
            }
        };
        if !self.has(Checker::Synccheck) {
            return true;
        }
        self.report(execution, code, lane, || Text {
            message,
            other,
            help,
        });
        false
    }

    /// Records the initialization of an object, with the time of the thread.
    fn initialize(&mut self, execution: &Execution<'_>, operation: &MbarrierOperation) {
        let (offset, lane) = (operation.offset, operation.lane);
        let actor = self.actor(execution, lane);
        let time = self.own_warp(execution).clock.times[lane];
        let (_, state) = self.block_of_rank(execution, operation.rank);
        let slot = state.sync.new_slot();
        let object = Mbarrier::new(slot, actor, time);
        state.sync.mbarriers.insert(offset, object);
        state.count();
    }

    /// Reports an operation that is not ordered after the initialization of the object by another thread.
    fn check_initialization_order(
        &mut self,
        execution: &Execution<'_>,
        operation: &MbarrierOperation,
    ) {
        if !self.has(Checker::Racecheck) {
            return;
        }
        let (offset, lane) = (operation.offset, operation.lane);
        let (_, state) = self.block_of_rank(execution, operation.rank);
        let Some(object) = state.sync.mbarriers.get(&offset) else {
            return;
        };
        let (initialized_by, time) = (object.initialized_by, object.initialized_at);
        let actor = self.actor(execution, lane);
        let is_own = (actor.block, actor.thread) == (initialized_by.block, initialized_by.thread);
        let clock = &self.own_warp(execution).clock;
        let acquired = clock.equal_lanes(1 << lane).clock;
        if is_own || acquired.get(initialized_by.block, initialized_by.thread) >= time {
            return;
        }
        self.report(execution, Code::DataRace, lane, || Text {
            message: format!(
                "the mbarrier object at {offset:#x} is used without ordering after its initialization by another thread"
            ),
            other: Some((initialized_by, "initialized here")),
            help: "add a barrier between the initialization and the first use by other threads; in other CTAs, a barrier of the cluster after `fence.mbarrier_init`",
        });
    }

    /// Releases the clock of the thread of an arrival to the threads that wait for the phase.
    fn arrive(&mut self, execution: &Execution<'_>, operation: &MbarrierOperation) {
        let site = self
            .sites
            .number(execution.function_id, execution.step_index);
        let releases = self.sites.get(site).is_some_and(|s| s.releases);
        let arrives = matches!(
            operation.action,
            Action::MbarrierArrive | Action::MbarrierDrop
        );
        // The arrivals of asynchronous operations come after those that the thread has started.
        let awaited_kind = match operation.action {
            Action::CopyArrive => Some(CopyKind::Ordinary),
            Action::TensorCommit => Some(CopyKind::TensorMemory),
            _ => None,
        };
        if !(arrives && releases || awaited_kind.is_some()) {
            return;
        }
        let block = execution.grid.linear(execution.block.index);
        let thread = execution.warp.first + operation.lane as u32;
        let clock = self.own_warp(execution).clock.release(1 << operation.lane);
        let Some(mut clock) = clock else { return };
        if let Some(kind) = awaited_kind {
            let sync = &mut self.block(execution.grid, block).sync;
            let copies = sync.copies(thread, kind);
            clock.set(copies.slot, copies.started);
        }
        let (_, state) = self.block_of_rank(execution, operation.rank);
        if let Some(object) = state.sync.mbarriers.get_mut(&operation.offset) {
            match &mut object.pending {
                Some(pending) => pending.join(&clock),
                None => object.pending = Some(clock),
            }
        }
    }

    /// Records that a phase is complete. The thread that tests it acquires the clocks of the threads that arrived.
    pub(super) fn record_phase(
        &mut self,
        execution: &Execution<'_>,
        operation: &MbarrierOperation,
        event: PhaseEvent,
    ) {
        let site = self
            .sites
            .number(execution.function_id, execution.step_index);
        let acquires = self.sites.get(site).is_some_and(|s| s.acquires);
        let (owner, state) = self.block_of_rank(execution, operation.rank);
        let Some(object) = state.sync.mbarriers.get_mut(&operation.offset) else {
            return;
        };
        match event {
            PhaseEvent::Completed => {
                object.phase += 1;
                let mut complete = object.pending.take().unwrap_or_else(|| Clock::new(owner));
                if let Some(earlier_phases) = object.complete.take() {
                    complete.join(&earlier_phases);
                }
                complete.add(owner, object.slot, object.phase);
                object.complete = Some(complete);
            }
            PhaseEvent::Tested => {
                if acquires && let Some(complete) = object.complete.clone() {
                    self.own_warp(execution)
                        .clock
                        .acquire(1 << operation.lane, &complete);
                }
            }
        }
    }

    /// Reports ordinary accesses to the memory of mbarrier objects.
    pub(super) fn check_mbarrier_memory(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        allowed: u32,
    ) {
        let Memory::Shared(rank) = touch.memory else {
            return;
        };
        for lane in lanes(allowed) {
            let address = touch.addresses[lane];
            let (_, state) = self.block_of_rank(execution, rank);
            if state.sync.mbarriers.is_empty() {
                return;
            }
            let Some(object) = state.sync.mbarrier_at(address, touch.bytes) else {
                continue;
            };
            let initialized_by = object.initialized_by;
            let access = super::memcheck::describe_access(touch.usage, touch.bytes);
            self.report(execution, Code::MbarrierAccess, lane, || Text {
                message: format!("{access} at {address:#x} in an mbarrier object"),
                other: Some((initialized_by, "initialized here")),
                help: "use mbarrier operations, or invalidate the object before reusing its memory",
            });
        }
    }
}
