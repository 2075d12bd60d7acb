//! `memcheck`: out-of-bounds and misaligned accesses, use after free, and invalid frees.

use super::Checker;
use super::checkers::Checkers;
use super::report::Text;
use crate::check::allocations::{Allocation, Freed, Owner};
use crate::diagnostic::OUTSIDE_SURFACE;
use crate::execute::{Execution, Memory, Touch, Use};
use crate::lanes::lanes;
use core::ops::Range;
use ptx_ir::Code;

impl Checkers {
    /// The lanes whose accesses are inside of allocated memory.
    pub(super) fn memcheck(&mut self, execution: &Execution<'_>, touch: &Touch<'_>) -> u32 {
        let end = end_of_memory(execution, touch);
        let read_only = touch.memory == Memory::Parameter && touch.usage != Use::Read;
        let range = touch.range(touch.lanes);
        if !read_only && touch.is_aligned(touch.lanes) && self.has_range(touch, &range, end) {
            self.check_variable(execution, touch, touch.lanes);
            return touch.lanes;
        }
        let mut allowed = touch.lanes;
        let misaligned = touch.align.is_power_of_two() && touch.align > 1;
        for lane in lanes(touch.lanes) {
            let address = touch.addresses[lane];
            if misaligned && address & (touch.align - 1) != 0 {
                self.report_misaligned(execution, touch, lane);
                allowed &= !(1 << lane);
                continue;
            }
            let range = address..address.saturating_add(touch.bytes);
            if !self.has_range(touch, &range, end) {
                self.report_out_of_bounds(execution, touch, lane, end);
                allowed &= !(1 << lane);
            }
        }
        if read_only {
            self.report_read_only(execution, touch);
            allowed = 0;
        }
        self.check_variable(execution, touch, allowed);
        allowed
    }

    /// Reports lanes that access allocated memory outside of the variable from which their address is derived.
    fn check_variable(&mut self, execution: &Execution<'_>, touch: &Touch<'_>, mask: u32) {
        let Some(objects) = &self.objects else { return };
        let Some(object) = objects.get(execution.function_id, execution.step_index) else {
            return;
        };
        let is_shared = matches!(touch.memory, Memory::Shared(_));
        if object.is_shared != is_shared || !is_shared && touch.memory != Memory::Global {
            return;
        }
        let (start, end) = (object.start, object.end);
        let range = touch.range(mask);
        if mask == 0 || start <= range.start && range.end <= end {
            return;
        }
        let name = format!("`{}`", object.name);
        for lane in lanes(mask) {
            let address = touch.addresses[lane];
            if start <= address && address.saturating_add(touch.bytes) <= end {
                continue;
            }
            let access = describe_access(touch.usage, touch.bytes);
            let near = describe_distance(address, touch.bytes, start, end, &name);
            self.report(execution, Code::OutsideAllocation, lane, || Text {
                message: format!("{access} at {address:#x} is out of bounds: {near}"),
                other: None,
                help: "check the index against the size before the access, or enlarge the variable",
            });
        }
    }

    /// Whether all bytes of a range are allocated; `end` is one past the last offset of a memory other than the global one.
    fn has_range(&mut self, touch: &Touch<'_>, range: &Range<u64>, end: u64) -> bool {
        match touch.memory {
            Memory::Global => self.allocations.contain(range),
            _ => range.end <= end,
        }
    }

    fn report_misaligned(&mut self, execution: &Execution<'_>, touch: &Touch<'_>, lane: usize) {
        let (address, align) = (touch.addresses[lane], touch.align);
        let access = describe_access(touch.usage, touch.bytes);
        self.report(execution, Code::MisalignedAddress, lane, || Text {
            message: format!(
                "{access} at {address:#x} is misaligned: the address is not a multiple of {align}"
            ),
            other: None,
            help: "align the address, or access narrower elements",
        });
    }

    fn report_read_only(&mut self, execution: &Execution<'_>, touch: &Touch<'_>) {
        let lane = touch.lanes.trailing_zeros() as usize;
        self.report(execution, Code::OutsideAllocation, lane, || Text {
            message: "store to the kernel parameters, which are read-only".into(),
            other: None,
            help: "copy the parameter to a local variable and modify the copy",
        });
    }

    fn report_out_of_bounds(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        lane: usize,
        end: u64,
    ) {
        let address = touch.addresses[lane];
        if touch.memory == Memory::Global
            && let Some(allocation) = self.allocations.before(address)
            && address < allocation.end
            && let Some(freed) = allocation.freed
        {
            let name = describe_allocation(allocation);
            return self.report_use_after_free(execution, touch, lane, &name, freed);
        }
        let memory = match touch.memory {
            Memory::Global => "global memory",
            Memory::Shared(_) => "the shared memory of the CTA",
            Memory::Local => "the local memory of the thread",
            Memory::Parameter => "the parameters of the kernel",
        };
        let near = match touch.memory {
            Memory::Global => self.describe_nearest(address, touch.bytes),
            Memory::Shared(rank) if execution.block.shared(rank).is_none() => {
                format!("the cluster has no CTA with rank {rank}")
            }
            _ => describe_distance(address, touch.bytes, 0, end, memory),
        };
        let access = describe_access(touch.usage, touch.bytes);
        self.report(execution, Code::OutsideAllocation, lane, || Text {
            message: format!("{access} at {address:#x} is out of bounds: {near}"),
            other: None,
            help: "check the index against the size before the access, or allocate more memory",
        });
    }

    fn report_use_after_free(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        lane: usize,
        name: &str,
        freed: Freed,
    ) {
        let access = describe_access(touch.usage, touch.bytes);
        let address = touch.addresses[lane];
        let (by, other, help) = match freed {
            Freed::ByThread(actor) => (
                "",
                Some((actor, "freed here")),
                "free memory after its last use, and order `free` after the accesses of other threads",
            ),
            Freed::ByHost => (
                " by the host",
                None,
                "free the allocation after the last launch that accesses it",
            ),
        };
        self.report(execution, Code::UseAfterFree, lane, || Text {
            message: format!("{access} at {address:#x}, in {name}, after the memory was freed{by}"),
            other,
            help,
        });
    }

    /// Reports an instruction that failed because of an address; returns false if `memcheck` is not enabled.
    pub(super) fn report_fault(
        &mut self,
        execution: &Execution<'_>,
        lane: usize,
        address: u64,
    ) -> bool {
        if !self.has(Checker::Memcheck) {
            return false;
        }
        self.report(execution, Code::OutsideAllocation, lane, || Text {
            message: format!("access at {address:#x} is out of bounds"),
            other: None,
            help: "check the address and size operands of the instruction",
        });
        true
    }

    /// Reports an access outside of a surface; returns false if `memcheck` is not enabled.
    pub(super) fn report_outside_surface(
        &mut self,
        execution: &Execution<'_>,
        lane: usize,
        description: &str,
    ) -> bool {
        if !self.has(Checker::Memcheck) {
            return false;
        }
        self.report(execution, Code::OutsideAllocation, lane, || Text {
            message: description.into(),
            other: None,
            help: OUTSIDE_SURFACE,
        });
        true
    }

    /// Describes the position of an address relative to the nearest allocation.
    fn describe_nearest(&self, address: u64, bytes: u64) -> String {
        let nearest = match (
            self.allocations.before(address),
            self.allocations.after(address),
        ) {
            (None, None) => return "there are no allocations".into(),
            (Some(only), None) | (None, Some(only)) => only,
            (Some(before), Some(after)) => {
                if address - before.end.min(address) <= after.start - address {
                    before
                } else {
                    after
                }
            }
        };
        let name = describe_allocation(nearest);
        describe_distance(address, bytes, nearest.start, nearest.end, &name)
    }

    /// Records an allocation of the heap.
    pub(super) fn heap_allocated(&mut self, start: u64, bytes: u64) {
        if start != 0 {
            self.allocations.insert(start, bytes, Owner::Heap);
            self.global.remove(start, bytes);
            self.count_written();
        }
    }

    /// Checks a call of `free`.
    pub(super) fn heap_freed(&mut self, execution: &Execution<'_>, lane: usize, start: u64) {
        if start == 0 || !self.checks.has(Checker::Memcheck) {
            return;
        }
        let actor = self.actor(execution, lane);
        let containing = self.allocations.before(start);
        if containing.is_some_and(|a| start < a.end && a.owner == Owner::EarlierHeap) {
            return;
        }
        let allocation = self
            .allocations
            .at(start)
            .filter(|a| a.owner == Owner::Heap);
        match allocation.map(|a| a.freed) {
            Some(Some(Freed::ByThread(freed_by))) => {
                self.report(execution, Code::InvalidFree, lane, || Text {
                    message: format!("double free of {start:#x}"),
                    other: Some((freed_by, "freed here")),
                    help: "free memory only once, in a single thread",
                })
            }
            Some(_) => self.allocations.free(start, actor),
            None => self.report(execution, Code::InvalidFree, lane, || Text {
                message: format!("invalid free of {start:#x}, which was not returned by `malloc`"),
                other: None,
                help: "pass a pointer that `malloc` returned to `free`",
            }),
        }
    }
}

/// The name of an allocation.
fn describe_allocation(allocation: &Allocation) -> String {
    let start = allocation.start;
    match &allocation.owner {
        Owner::Host => format!("the allocation at {start:#x}"),
        Owner::Variable(name) => format!("`{name}`"),
        Owner::Heap | Owner::EarlierHeap => format!("the `malloc` allocation at {start:#x}"),
    }
}

/// One past the last offset of a memory other than the global one.
fn end_of_memory(execution: &Execution<'_>, touch: &Touch<'_>) -> u64 {
    match touch.memory {
        Memory::Global => 0,
        Memory::Shared(rank) => execution.block.shared(rank).map_or(0, |m| m.len() as u64),
        Memory::Local => execution.top(),
        Memory::Parameter => execution.grid.parameters.len() as u64,
    }
}

/// A description of an access, such as `read of 4 bytes`.
pub(super) fn describe_access(usage: Use, bytes: u64) -> String {
    let usage = match usage {
        Use::Read => "read of",
        Use::Write => "write of",
        Use::ReadWrite => "atomic operation on",
    };
    format!("{usage} {}", count_of_bytes(bytes))
}

/// `1 byte`, `4 bytes`.
fn count_of_bytes(bytes: u64) -> String {
    let plural = if bytes == 1 { "" } else { "s" };
    format!("{bytes} byte{plural}")
}

/// Describes the position of an access relative to the range of a memory with a name.
fn describe_distance(address: u64, bytes: u64, start: u64, end: u64, name: &str) -> String {
    let position = if address < start {
        format!("{} before the start of", count_of_bytes(start - address))
    } else if address >= end {
        format!("{} after the end of", count_of_bytes(address - end))
    } else {
        let outside = bytes.saturating_sub(end - address);
        let outside = count_of_bytes(outside);
        format!("the access extends {outside} past the end of")
    };
    format!(
        "{position} {name}, which has {}",
        count_of_bytes(end - start)
    )
}
