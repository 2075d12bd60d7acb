//! Checks operations on mbarrier objects, and records the ordering that they establish between threads.

use ptx_ir::Code;
use ptx_isa::Action;

use super::Checker;
use super::checkers::Checkers;
use super::report::Text;
use super::sync_state::Mbarrier;
use crate::execute::{Execution, Memory, OnMbarrier, Touch};
use crate::lanes::lanes;

/// The maximum count of an mbarrier object.
const MOST: u64 = (1 << 20) - 1;

impl Checkers {
    /// Checks an operation on an mbarrier object; returns whether it can be executed.
    pub(super) fn on_mbarrier(&mut self, execution: &Execution<'_>, on: &OnMbarrier) -> bool {
        let (at, lane) = (on.at, on.lane);
        let by = self.actor(execution, lane);
        let (_, state) = self.of_rank(execution, on.rank);
        let sync = &mut state.sync;
        let last_use = sync.mbarriers.get(&at).map(|m| (m.by, m.ended));
        let (message, other, help, code) = match (on.action, last_use) {
            (Action::MbarrierInit, Some((by, None))) => (
                "the mbarrier object is already initialized".into(),
                Some((by, "initialized here")),
                "invalidate the object before initializing it again, and do both in a single thread",
                Code::RepeatedMbarrier,
            ),
            (Action::MbarrierInit, _) if on.count == 0 || on.count > MOST => (
                format!(
                    "the mbarrier object is initialized with an invalid count of {}",
                    on.count
                ),
                None,
                "the count must be between 1 and 2^20 - 1",
                Code::MbarrierCount,
            ),
            (Action::MbarrierInit, _) => {
                let slot = sync.new_slot();
                let object = Mbarrier {
                    slot,
                    phase: 0,
                    by,
                    ended: None,
                    pending: None,
                    complete: None,
                };
                sync.mbarriers.insert(at, object);
                state.count();
                return true;
            }
            (_, None) => (
                format!("there is no initialized mbarrier object at {at:#x}"),
                None,
                "execute `mbarrier.init` in one thread, followed by a barrier before other threads use the object",
                Code::MissingMbarrier,
            ),
            (_, Some((_, Some(by)))) => (
                format!("the mbarrier object at {at:#x} was invalidated"),
                Some((by, "invalidated here")),
                "invalidate the object after its last use by any thread",
                Code::MissingMbarrier,
            ),
            (Action::MbarrierArrive | Action::MbarrierDrop, _) if on.count > on.pending.into() => (
                format!(
                    "{} arrivals at an mbarrier object with {} pending arrivals",
                    on.count, on.pending
                ),
                None,
                "initialize the object with the number of threads that arrive in each phase",
                Code::MbarrierCount,
            ),
            (Action::MbarrierInvalidate, _) => {
                if let Some(object) = sync.mbarriers.get_mut(&at) {
                    object.ended = Some(by);
                }
                return true;
            }
            _ => {
                self.arrive(execution, on);
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

    /// Records that an arrival releases the clock of its thread to the threads that wait for the phase.
    fn arrive(&mut self, execution: &Execution<'_>, on: &OnMbarrier) {
        let site = self.sites.number(execution.id, execution.at);
        let releases = self.sites.get(site).is_some_and(|s| s.releases);
        let arrives = matches!(on.action, Action::MbarrierArrive | Action::MbarrierDrop);
        let copies = on.action == Action::CopyArrive;
        if !(arrives && releases || copies) {
            return;
        }
        let block = execution.grid.linear(execution.block.index);
        let thread = execution.warp.first + on.lane as u32;
        let clock = self.own_warp(execution).clock.release(1 << on.lane);
        let Some(mut clock) = clock else { return };
        if copies {
            let copies = self.block(execution.grid, block).sync.copies(thread, false);
            clock.set(copies.slot, copies.started);
        }
        let (_, state) = self.of_rank(execution, on.rank);
        if let Some(object) = state.sync.mbarriers.get_mut(&on.at) {
            match &mut object.pending {
                Some(pending) => pending.join(&clock),
                none => *none = Some(clock),
            }
        }
    }

    /// Records that a phase is complete, or that a thread observed the completion.
    pub(super) fn mbarrier_phases(
        &mut self,
        execution: &Execution<'_>,
        on: &OnMbarrier,
        tested: bool,
    ) {
        let site = self.sites.number(execution.id, execution.at);
        let acquires = self.sites.get(site).is_some_and(|s| s.acquires);
        let (owner, state) = self.of_rank(execution, on.rank);
        let Some(object) = state.sync.mbarriers.get_mut(&on.at) else {
            return;
        };
        if !tested {
            object.phase += 1;
            let mut complete = object
                .pending
                .take()
                .unwrap_or_else(|| super::clock::Clock::new(owner));
            if let Some(before) = object.complete.take() {
                complete.join(&before);
            }
            complete.note(owner, object.slot, object.phase);
            object.complete = Some(complete);
            return;
        }
        if let (true, Some(known)) = (acquires, object.complete.clone()) {
            self.own_warp(execution).clock.acquire(1 << on.lane, &known);
        }
    }

    /// Reports ordinary accesses to the memory of mbarrier objects.
    pub(super) fn on_object(&mut self, execution: &Execution<'_>, touch: &Touch<'_>, allowed: u32) {
        let Memory::Shared(rank) = touch.memory else {
            return;
        };
        for lane in lanes(allowed) {
            let address = touch.at[lane];
            let (_, state) = self.of_rank(execution, rank);
            if state.sync.mbarriers.is_empty() {
                return;
            }
            let Some(by) = state.sync.mbarrier_at(address, touch.bytes).map(|m| m.by) else {
                continue;
            };
            let what = super::memcheck::access(touch.usage, touch.bytes);
            self.report(execution, Code::MbarrierAccess, lane, || Text {
                message: format!("{what} at {address:#x} in an mbarrier object"),
                other: Some((by, "initialized here")),
                help: "use mbarrier operations, or invalidate the object before reusing its memory",
            });
        }
    }
}
