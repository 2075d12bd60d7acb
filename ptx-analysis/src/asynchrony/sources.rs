//! Writes to the sources of bulk copies before a wait for their groups.

use alloc::vec::Vec;

use ptx_ir::InstId;

use super::events::{Event, Events, Kind, Operation};
use super::mechanism::Mechanism;
use super::paths::always_follows;
use super::place::Place;
use crate::cfg::BlockId;
use crate::function_dataflow::FunctionDataflow;

/// The maximum number of operations that are followed; the others are assumed to be awaited.
const MOST_OPERATIONS: usize = 64;

/// The maximum number of groups that are counted: the numbers of groups of a block are bits of `u16`.
const MOST_GROUPS: u32 = 8;

/// For each operation, the writes that begin in its source and that a path reaches before a wait for its group.
pub(super) fn early_writes(events: &Events, analysis: &FunctionDataflow<'_>) -> Vec<Vec<InstId>> {
    let mut waiting_blocks: Vec<BlockId> = events
        .all()
        .filter(|event| {
            matches!(
                event.kind,
                Kind::Wait(Mechanism::Bulk, _) | Kind::Commit(Mechanism::Bulk)
            )
        })
        .map(|event| event.block)
        .collect();
    waiting_blocks.dedup();
    (0u32..)
        .zip(&events.operations)
        .take(MOST_OPERATIONS)
        .map(|(number, operation)| match operation.source {
            Some(source) if operation.mechanism == Mechanism::Bulk => Walk {
                events,
                analysis,
                operation,
                number,
                source,
                waiting_blocks: &waiting_blocks,
            }
            .early_writes(),
            _ => Vec::new(),
        })
        .collect()
}

/// A walk along the paths that follow an operation.
struct Walk<'a> {
    events: &'a Events,
    analysis: &'a FunctionDataflow<'a>,
    operation: &'a Operation,
    number: u32,
    source: Place,
    /// The blocks that wait for bulk copies or commit them.
    waiting_blocks: &'a [BlockId],
}

impl Walk<'_> {
    fn early_writes(&self) -> Vec<InstId> {
        let mut writes = Vec::new();
        let events_of_block = self.events.in_block(self.operation.block);
        let next_index = events_of_block
            .iter()
            .rposition(|event| event.inst == self.operation.inst)
            .map_or(0, |index| index + 1);
        let later_events = events_of_block.get(next_index..).unwrap_or_default();
        // Blocks with the number of groups that were committed since the operation started.
        let mut worklist = Vec::new();
        if let Some(groups) = self.scan(later_events, 0, &mut writes) {
            worklist.push((self.operation.block, groups));
        }
        // For each block, a bit for each number of groups with which it was reached.
        let mut reached = vec![0u16; self.analysis.cfg().len()];
        while let Some((block, groups)) = worklist.pop() {
            for successor in self.successors(block) {
                let Some(reached) = reached.get_mut(successor.as_u32() as usize) else {
                    continue;
                };
                let is_new = *reached >> groups & 1 == 0;
                *reached |= 1 << groups;
                if is_new
                    && let Some(groups) =
                        self.scan(self.events.in_block(successor), groups, &mut writes)
                {
                    worklist.push((successor, groups));
                }
            }
        }
        writes
    }

    /// The blocks after another one. A condition on the thread that held where the operation started holds again, and a wait or a commit under a
    /// condition is not skipped.
    fn successors(&self, block: BlockId) -> Vec<BlockId> {
        let dominators = self.analysis.dominators();
        let loops = self.analysis.loops();
        let successors = self.analysis.cfg().successors(block);
        // Blocks after the paths have met again do not depend on this branch.
        let join = self.analysis.ipdom(block);
        let targets: Vec<BlockId> = if self
            .events
            .decided_by_thread(self.operation.block)
            .contains(&block)
        {
            vec![self.operation.block]
        } else {
            self.waiting_blocks
                .iter()
                .copied()
                .filter(|&target| {
                    join.is_none_or(|join| !dominators.dominates(join, target))
                        && loops.innermost(target) == loops.innermost(block)
                        && dominators.strictly_dominates(block, target)
                        && !always_follows(self.analysis, target, block)
                })
                .collect()
        };
        let leading: Vec<BlockId> = successors
            .iter()
            .copied()
            .filter(|successor| targets.iter().any(|t| dominators.dominates(*successor, *t)))
            .collect();
        if leading.is_empty() {
            successors.to_vec()
        } else {
            leading
        }
    }

    /// Adds the early writes among consecutive events, before which `groups` groups were committed. Returns the number of groups after the events;
    /// `None` if the operation was awaited.
    fn scan(&self, events: &[Event], mut groups: u32, writes: &mut Vec<InstId>) -> Option<u32> {
        for event in events {
            match &event.kind {
                Kind::Commit(Mechanism::Bulk) => groups = (groups + 1).min(MOST_GROUPS),
                Kind::Wait(Mechanism::Bulk, pending)
                    if pending.is_none_or(|pending| groups > pending) =>
                {
                    return None;
                }
                Kind::Start(number) if *number == self.number => return None,
                Kind::Call => return None,
                Kind::Memory(access)
                    if access.writes
                        && !access.asynchronous
                        && access.place.begins_in(self.source)
                        && !writes.contains(&event.inst) =>
                {
                    writes.push(event.inst);
                }
                _ => {}
            }
        }
        Some(groups)
    }
}
