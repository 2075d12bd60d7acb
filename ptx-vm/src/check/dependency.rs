//! Accesses of a grid to memory that an earlier grid writes which let it begin early (`launch_dependents`): a thread has to wait for that grid first.
//!
//! Which threads synchronize with one that has waited is not followed: a CTA is not reported any more after one of its threads has waited.

use std::collections::HashSet;
use std::sync::Arc;

use ptx_ir::Code;
use ptx_isa::{Action, Modifier};

use super::checkers::Checkers;
use super::report::Text;
use super::written_bytes::WrittenBytes;
use crate::execute::{Execution, Memory, Touch, Use};
use crate::lanes::lanes;
use crate::memory::GlobalMemory;
use crate::program::Act;

/// The bytes of global memory that the grids of a sequence write before which later ones may begin.
#[derive(Clone, Debug)]
pub(crate) struct EarlierWrites(WrittenBytes);

impl EarlierWrites {
    /// No bytes of a memory that begins at an address.
    pub(crate) const fn none(start: u64) -> Self {
        Self(WrittenBytes::new(start, GlobalMemory::PAGE))
    }
}

/// The accesses of a grid of a sequence.
#[derive(Debug)]
pub(super) struct Dependency {
    earlier: Arc<EarlierWrites>,
    /// The bytes that earlier grids and this one write.
    writes: EarlierWrites,
    /// The CTAs of which a thread has waited for the earlier grids.
    waited: HashSet<u64>,
    /// A thread has let the next grid begin.
    lets_next_begin: bool,
}

impl Dependency {
    /// The memory in use, in bytes.
    pub(super) fn memory(&self) -> u64 {
        self.writes.0.memory() + self.waited.len() as u64 * 16
    }

    /// The bytes for which the grids after this one have to wait.
    pub(super) fn writes(self) -> Arc<EarlierWrites> {
        if self.lets_next_begin {
            Arc::new(self.writes)
        } else {
            self.earlier
        }
    }
}

impl Checkers {
    /// Checks accesses to memory that earlier grids write.
    pub(crate) fn depend_on(&mut self, earlier: &Arc<EarlierWrites>) {
        self.dependency = Some(Dependency {
            earlier: Arc::clone(earlier),
            writes: EarlierWrites::clone(earlier),
            waited: HashSet::new(),
            lets_next_begin: false,
        });
    }

    /// Records a wait for earlier grids, or that the next one may begin.
    pub(super) fn follow_dependency(&mut self, execution: &Execution<'_>, act: &Act) {
        let block = execution.grid.linear(execution.block.index);
        let Some(dependency) = &mut self.dependency else {
            return;
        };
        if act.action != Action::GridDependency {
            return;
        }
        if act.has(Modifier::Wait) {
            dependency.waited.insert(block);
        } else {
            dependency.lets_next_begin = true;
        }
    }

    /// Reports accesses to bytes that earlier grids write, and records writes.
    pub(super) fn check_dependency(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        allowed: u32,
    ) {
        let block = execution.grid.linear(execution.block.index);
        let Some(dependency) = &mut self.dependency else {
            return;
        };
        if touch.memory != Memory::Global {
            return;
        }
        let has_waited = dependency.waited.contains(&block);
        let mut unordered = 0;
        for lane in lanes(allowed) {
            let address = touch.addresses[lane];
            if !has_waited && dependency.earlier.0.has_any(address, touch.bytes) {
                unordered |= 1u32 << lane;
            }
            if touch.usage != Use::Read {
                dependency.writes.0.insert(address, touch.bytes);
            }
        }
        let verb = if touch.usage == Use::Read {
            "reads"
        } else {
            "changes"
        };
        for lane in lanes(unordered) {
            let address = touch.addresses[lane];
            self.report(execution, Code::DataRace, lane, || Text {
                message: format!(
                    "the thread {verb} global memory at {address:#x}, which an earlier grid writes, and no thread of its CTA has waited for that grid"
                ),
                other: None,
                help: "wait for the earlier grids before the access",
            });
        }
    }
}
