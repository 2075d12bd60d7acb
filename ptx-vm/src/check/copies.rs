//! Asynchronous copies: their completion, and the threads that have waited for it.

use ptx_ir::Code;
use ptx_isa::{Action, Completion};

use super::access::Access;
use super::checkers::Checkers;
use super::memcheck::access;
use super::reports::{Actor, Text};
use crate::execute::{Execution, Memory, Touch};
use crate::lanes::lanes;
use crate::program::Act;

impl Checkers {
    /// The asynchronous operation that an access belongs to, if the instruction starts one: its CTA, number and time.
    pub(super) fn operation_of(
        &mut self,
        of: &Execution<'_>,
        touch: &Touch<'_>,
    ) -> Option<(u64, u32, u32)> {
        let site = self.sites.number(of.id, of.at);
        let completion = self.sites.get(site)?.starts?;
        let lane = touch.lanes.trailing_zeros() as usize;
        let own = of.grid.linear(of.block.index);
        match completion {
            Completion::Mbarrier => {
                let (rank, at) = self.object_of(of, touch, lane)?;
                let (block, state) = self.of_rank(of, rank);
                let object = state.sync.mbarriers.get(&at)?;
                Some((block, object.slot, object.phase + 1))
            }
            completion => {
                let thread = of.warp.first + lane as u32;
                let bulk = completion == Completion::Bulk;
                let copies = self.block(of.grid, own).sync.copies(thread, bulk);
                Some((own, copies.slot, copies.started))
            }
        }
    }

    /// The mbarrier object at which an asynchronous operation completes: with `.multicast` that of the CTA that is written.
    fn object_of(
        &self,
        of: &Execution<'_>,
        touch: &Touch<'_>,
        lane: usize,
    ) -> Option<(usize, u64)> {
        let act = of.action()?;
        let location = of.location(act.addresses().last()?, lane);
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
    pub(super) fn before_copy(&mut self, of: &Execution<'_>, act: &Act) {
        let site = self.sites.number(of.id, of.at);
        let starts = self.sites.get(site).and_then(|s| s.starts);
        let block = of.grid.linear(of.block.index);
        let first = of.warp.first;
        if let Some(completion) = starts {
            self.copies += 1;
            let bulk = completion == Completion::Bulk;
            let sync = &mut self.block(of.grid, block).sync;
            for lane in lanes(of.active) {
                sync.copies(first + lane as u32, bulk).started += 1;
            }
        }
        let bulk = match act.action {
            Action::CopyCommit | Action::CopyWait | Action::CopyArrive => false,
            Action::BulkCommit | Action::BulkWait => true,
            _ => return,
        };
        if matches!(act.action, Action::CopyCommit | Action::BulkCommit) {
            let state = self.block(of.grid, block);
            state.sync.committed += u64::from(of.active.count_ones());
            state.count();
        }
        for lane in lanes(of.active) {
            let state = self.block(of.grid, block);
            let copies = state.sync.copies(first + lane as u32, bulk);
            let complete = match act.action {
                Action::CopyCommit | Action::BulkCommit => {
                    copies.groups.push(copies.started);
                    continue;
                }
                Action::CopyArrive => continue,
                _ => match act.first_place() {
                    Some(pending) => copies.complete(of.get(pending, lane) as usize),
                    None => copies.started,
                },
            };
            let slot = copies.slot;
            let clock = &mut self.own_warp(of).clock;
            clock.learn(1 << lane, slot, complete);
        }
    }

    /// Reports an access that conflicts with a pending asynchronous copy.
    pub(super) fn not_awaited(
        &mut self,
        of: &Execution<'_>,
        touch: &Touch<'_>,
        (lane, at): (usize, u64),
        (earlier, by): (&Access, u32),
    ) {
        let what = access(touch.usage, touch.bytes);
        let conflict = match earlier.is_asynchronous() {
            true => "conflicts with a pending asynchronous copy",
            false => "conflicts with an access that is not ordered before this copy",
        };
        let other = Actor {
            site: earlier.site,
            block: earlier.block.into(),
            thread: match earlier.is_asynchronous() {
                true => 0,
                false => u32::from(earlier.first) + by.trailing_zeros() % 32,
            },
        };
        self.report(of, Code::PendingCopy, lane, || Text {
            message: format!("{what} at {at:#x} {conflict}"),
            other: Some((other, "the conflicting operation")),
            help: "wait for the group or the mbarrier object of the copy, and add a barrier after the wait if other threads access the memory",
        });
    }
}
