//! Asynchronous copies: their completion, and the threads that have awaited it.

use ptx_ir::Code;
use ptx_isa::{Action, Completion, Modifier};

use super::checkers::{AsyncOperation, Checkers};
use super::memcheck::describe_access;
use super::racecheck::RacingAccess;
use super::report::{Actor, Text};
use super::sync_state::CopyKind;
use crate::account::Purpose;
use crate::execute::{Execution, Grid, Memory, Touch, Use};
use crate::lanes::{LANES, lanes};
use crate::program::Act;

/// The memory of a value that an operation writes. Tables double when they grow.
const VALUE_BYTES: usize = 2 * size_of::<(u64, (u128, u64))>();

/// The threads of a warpgroup.
const WARPGROUP: u32 = 128;

impl Checkers {
    /// The asynchronous operation to which an access belongs, if the instruction starts one.
    pub(super) fn operation_of(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
    ) -> Option<AsyncOperation> {
        let site = self
            .sites
            .number(execution.function_id, execution.step_index);
        let completion = self.sites.get(site)?.starts?;
        let lane = touch.lanes.trailing_zeros() as usize;
        let block = execution.grid.linear(execution.block.index);
        match completion {
            Completion::Mbarrier => {
                let (rank, offset) = self.completing_object(execution, touch, lane)?;
                let (block, state) = self.block_of_rank(execution, rank);
                let object = state.sync.mbarriers.get(&offset)?;
                Some(AsyncOperation {
                    block,
                    slot: object.slot,
                    time: object.phase + 1,
                })
            }
            completion => {
                let thread = match completion {
                    Completion::Wgmma => execution.warp.first,
                    _ => execution.warp.first + lane as u32,
                };
                let kind = CopyKind::of(completion, touch.usage);
                let sync = &mut self.block(execution.grid, block).sync;
                let copies = sync.copies(thread, kind);
                Some(AsyncOperation {
                    block,
                    slot: copies.slot,
                    time: copies.started,
                })
            }
        }
    }

    /// The mbarrier object at which an asynchronous operation completes, by the rank of its CTA and its offset. With `.multicast`, it depends on the CTA whose
    /// memory is written.
    fn completing_object(
        &self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        lane: usize,
    ) -> Option<(usize, u64)> {
        let act = execution.action()?;
        let location = execution.location(act.addresses().last()?, lane);
        let Memory::Shared(named_rank) = location.memory() else {
            return None;
        };
        let rank = match touch.memory {
            Memory::Shared(target_rank) => act.rank_of_object(target_rank, named_rank),
            _ => named_rank,
        };
        Some((rank, location.address()))
    }

    /// Records what an asynchronous operation writes to global memory, which it may do later, and returns whether the last such write to the address had the same
    /// value.
    pub(super) fn repeats_value(&mut self, touch: &Touch<'_>) -> bool {
        let (Use::Write, Memory::Global, Some(value)) = (touch.usage, touch.memory, touch.value)
        else {
            return false;
        };
        let address = touch.addresses[touch.lanes.trailing_zeros() as usize % LANES];
        let written = (value, touch.bytes);
        let earlier = self.values_of_operations.insert(address, written);
        let bytes = self.values_of_operations.len() * VALUE_BYTES;
        self.values_held.set(bytes as u64, Purpose::Checkers);
        earlier == Some(written)
    }

    /// Records that lanes start, commit or wait for copies.
    pub(super) fn before_copy(&mut self, execution: &Execution<'_>, act: &Act) {
        let site = self
            .sites
            .number(execution.function_id, execution.step_index);
        let starts = self.sites.get(site).and_then(|s| s.starts);
        let block = execution.grid.linear(execution.block.index);
        let first = execution.warp.first;
        if let Some(completion) = starts {
            self.copies += 1;
            let sync = &mut self.block(execution.grid, block).sync;
            let starting = match completion {
                Completion::Wgmma => 1,
                _ => execution.active,
            };
            for lane in lanes(starting) {
                for kind in CopyKind::all_of(completion) {
                    let copies = sync.copies(first + lane as u32, *kind);
                    copies.started += 1;
                    copies.last_site = site;
                }
            }
        }
        if matches!(act.action, Action::WarpgroupCommit | Action::WarpgroupWait) {
            return self.complete_products(execution, act);
        }
        let kinds: &[CopyKind] = match act.action {
            Action::CopyCommit | Action::CopyWait => &[CopyKind::Ordinary],
            Action::BulkWait if act.has(Modifier::Read) => &[CopyKind::BulkRead],
            Action::BulkCommit | Action::BulkWait => CopyKind::all_of(Completion::Bulk),
            _ => return,
        };
        if matches!(act.action, Action::CopyCommit | Action::BulkCommit) {
            let state = self.block(execution.grid, block);
            state.sync.committed += u64::from(execution.active.count_ones());
            state.count();
        }
        for (lane, kind) in
            lanes(execution.active).flat_map(|lane| kinds.iter().map(move |kind| (lane, *kind)))
        {
            let state = self.block(execution.grid, block);
            let copies = state.sync.copies(first + lane as u32, kind);
            let complete = match act.action {
                Action::CopyCommit | Action::BulkCommit => {
                    copies.groups.push(copies.started);
                    continue;
                }
                _ => match act.place(0) {
                    Some(pending) => copies.complete(execution.get(pending, lane) as usize),
                    None => copies.started,
                },
            };
            copies.awaited = copies.awaited.max(complete);
            let slot = copies.slot;
            let clock = &mut self.own_warp(execution).clock;
            clock.acquire_operation(1 << lane, slot, complete);
        }
    }

    /// Records that a warp commits products of its warpgroup, or waits for them: they are complete in all of its warps.
    fn complete_products(&mut self, execution: &Execution<'_>, act: &Act) {
        let block = execution.grid.linear(execution.block.index);
        let first = execution.warp.first;
        let state = self.block(execution.grid, block);
        if act.action == Action::WarpgroupCommit {
            let products = state.sync.copies(first, CopyKind::Products);
            products.groups.push(products.started);
            state.sync.committed += 1;
            state.count();
            return;
        }
        let pending = act.place(0).map_or(0, |place| execution.get(place, 0)) as usize;
        let products = state.sync.copies(first, CopyKind::Products);
        let complete_groups = products.groups.len().saturating_sub(pending);
        let first_warp = first / WARPGROUP * WARPGROUP;
        for warp in (first_warp..first_warp + WARPGROUP).step_by(LANES) {
            let sync = &mut self.block(execution.grid, block).sync;
            let products = sync.copies(warp, CopyKind::Products);
            let (slot, complete) = (products.slot, products.complete_in(complete_groups));
            let clock = &mut self.own_warp(execution).clock;
            let groups: Vec<u32> = clock
                .groups(execution.active)
                .map(|(mask, _)| mask)
                .collect();
            for mask in groups {
                clock.acquire_operation(mask, slot, complete);
            }
        }
    }

    /// Reports bulk copies that may still read the shared memory of a CTA that ended.
    pub(super) fn report_pending_reads(&mut self, grid: &Grid<'_>, block: u64) {
        let pending = self.block(grid, block).sync.pending_reads();
        let sites = std::sync::Arc::clone(&self.sites);
        for (thread, site) in pending {
            let actor = Actor {
                site,
                block,
                thread,
            };
            self.reports
                .add(grid, &sites, Code::PendingCopy, actor, || Text {
                    message: "the CTA ends while the copy may still read its shared memory".into(),
                    other: None,
                    help: "wait with `cp.async.bulk.wait_group.read 0` before the thread ends",
                });
        }
    }

    /// Reports an access of a lane that conflicts with a pending asynchronous copy.
    pub(super) fn report_pending_copy(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        lane: usize,
        address: u64,
        earlier: &RacingAccess,
    ) {
        let description = describe_access(touch.usage, touch.bytes);
        let access = &earlier.access;
        let (conflict, thread) = if access.is_asynchronous() {
            ("conflicts with a pending asynchronous copy", 0)
        } else {
            (
                "conflicts with an access that is not ordered before this copy",
                u32::from(access.first) + earlier.lanes.trailing_zeros() % 32,
            )
        };
        let other = Actor {
            site: access.site,
            block: access.block.into(),
            thread,
        };
        self.report(execution, Code::PendingCopy, lane, || Text {
            message: format!("{description} at {address:#x} {conflict}"),
            other: Some((other, "the conflicting operation")),
            help: "wait for the group or the mbarrier object of the copy, and add a barrier after the wait if other threads access the memory",
        });
    }
}
