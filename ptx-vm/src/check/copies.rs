//! Asynchronous copies: their completion, and the threads that have waited for it.

use ptx_ir::Code;
use ptx_isa::{Action, Completion};

use super::accesses::Access;
use super::checkers::Checkers;
use super::memcheck::access;
use super::report::{Actor, Text};
use crate::execute::{Execution, Memory, Touch};
use crate::lanes::lanes;
use crate::program::Act;

impl Checkers {
    /// The asynchronous operation that an access belongs to, if the instruction starts one: its CTA, number and time.
    pub(super) fn operation_of(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
    ) -> Option<(u64, u32, u32)> {
        let site = self.sites.number(execution.id, execution.at);
        let completion = self.sites.get(site)?.starts?;
        let lane = touch.lanes.trailing_zeros() as usize;
        let own_block = execution.grid.linear(execution.block.index);
        match completion {
            Completion::Mbarrier => {
                let (rank, at) = self.object_of(execution, touch, lane)?;
                let (block, state) = self.of_rank(execution, rank);
                let object = state.sync.mbarriers.get(&at)?;
                Some((block, object.slot, object.phase + 1))
            }
            completion => {
                let thread = execution.warp.first + lane as u32;
                let bulk = completion == Completion::Bulk;
                let copies = self
                    .block(execution.grid, own_block)
                    .sync
                    .copies(thread, bulk);
                Some((own_block, copies.slot, copies.started))
            }
        }
    }

    /// The mbarrier object at which an asynchronous operation completes: with `.multicast` that of the CTA that is written.
    fn object_of(
        &self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        lane: usize,
    ) -> Option<(usize, u64)> {
        let act = execution.action()?;
        let location = execution.location(act.addresses().last()?, lane);
        let Memory::Shared(own) = location.memory() else {
            return None;
        };
        let multicast = act
            .modifiers
            .iter()
            .any(|m| m.text().starts_with(".multicast"));
        let rank = match touch.memory {
            Memory::Shared(rank) if multicast => rank,
            _ => own,
        };
        Some((rank, location.address()))
    }

    /// Records that lanes start, commit or wait for copies.
    pub(super) fn before_copy(&mut self, execution: &Execution<'_>, act: &Act) {
        let site = self.sites.number(execution.id, execution.at);
        let starts = self.sites.get(site).and_then(|s| s.starts);
        let block = execution.grid.linear(execution.block.index);
        let first = execution.warp.first;
        if let Some(completion) = starts {
            self.copies += 1;
            let bulk = completion == Completion::Bulk;
            let sync = &mut self.block(execution.grid, block).sync;
            for lane in lanes(execution.active) {
                sync.copies(first + lane as u32, bulk).started += 1;
            }
        }
        let bulk = match act.action {
            Action::CopyCommit | Action::CopyWait | Action::CopyArrive => false,
            Action::BulkCommit | Action::BulkWait => true,
            _ => return,
        };
        if matches!(act.action, Action::CopyCommit | Action::BulkCommit) {
            let state = self.block(execution.grid, block);
            state.sync.committed += u64::from(execution.active.count_ones());
            state.count();
        }
        for lane in lanes(execution.active) {
            let state = self.block(execution.grid, block);
            let copies = state.sync.copies(first + lane as u32, bulk);
            let complete = match act.action {
                Action::CopyCommit | Action::BulkCommit => {
                    copies.groups.push(copies.started);
                    continue;
                }
                Action::CopyArrive => continue,
                _ => match act.first_place() {
                    Some(pending) => copies.complete(execution.get(pending, lane) as usize),
                    None => copies.started,
                },
            };
            let slot = copies.slot;
            let clock = &mut self.own_warp(execution).clock;
            clock.learn(1 << lane, slot, complete);
        }
    }

    /// Reports an access that conflicts with a pending asynchronous copy.
    pub(super) fn not_awaited(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        (lane, at): (usize, u64),
        (earlier, by): (&Access, u32),
    ) {
        let what = access(touch.usage, touch.bytes);
        let conflict = if earlier.is_asynchronous() {
            "conflicts with a pending asynchronous copy"
        } else {
            "conflicts with an access that is not ordered before this copy"
        };
        let other = Actor {
            site: earlier.site,
            block: earlier.block.into(),
            thread: if earlier.is_asynchronous() {
                0
            } else {
                u32::from(earlier.first) + by.trailing_zeros() % 32
            },
        };
        self.report(execution, Code::PendingCopy, lane, || Text {
            message: format!("{what} at {at:#x} {conflict}"),
            other: Some((other, "the conflicting operation")),
            help: "wait for the group or the mbarrier object of the copy, and add a barrier after the wait if other threads access the memory",
        });
    }
}
