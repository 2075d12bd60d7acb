//! Writes to what bulk copies read, before a wait for their groups.

use alloc::vec::Vec;

use ptx_ir::InstId;

use super::events::{Event, Events, Kind, Operation};
use super::mechanism::Mechanism;
use super::order::always_follows;
use super::place::Place;
use crate::cfg::BlockId;
use crate::function_analysis::FunctionAnalysis;

/// Operations beyond these are taken to be awaited.
const MOST: usize = 64;

/// Groups beyond these are not counted.
const GROUPS: u32 = 8;

/// Of each operation, the writes that begin in its source and that a path reaches before a wait for its group.
pub(super) fn early_writes(events: &Events, analysis: &FunctionAnalysis<'_>) -> Vec<Vec<InstId>> {
    let waits = events.all().filter(|e| {
        matches!(
            e.kind,
            Kind::Wait(Mechanism::Bulk, _) | Kind::Commit(Mechanism::Bulk)
        )
    });
    let mut waits: Vec<BlockId> = waits.map(|e| e.block).collect();
    waits.dedup();
    let of = |(number, operation): (u32, &Operation)| match operation.source {
        Some(source) if operation.mechanism == Mechanism::Bulk => {
            let walk = Walk {
                events,
                analysis,
                operation,
                number,
                source,
                waits: &waits,
            };
            walk.writes()
        }
        _ => Vec::new(),
    };
    let operations = (0u32..).zip(&events.operations);
    operations.take(MOST).map(of).collect()
}

/// What follows an operation.
struct Walk<'a> {
    events: &'a Events,
    analysis: &'a FunctionAnalysis<'a>,
    operation: &'a Operation,
    number: u32,
    source: Place,
    /// The blocks that wait for bulk copies or commit them.
    waits: &'a [BlockId],
}

impl Walk<'_> {
    fn writes(&self) -> Vec<InstId> {
        let mut found = Vec::new();
        let own = self.events.of(self.operation.block);
        let after = own.iter().rposition(|e| e.inst == self.operation.inst);
        let rest = own.get(after.map_or(0, |at| at + 1)..).unwrap_or_default();
        let mut open = Vec::new();
        if let Some(groups) = self.scan(rest, 0, &mut found) {
            open.push((self.operation.block, groups));
        }
        // By blocks, the numbers of groups with which they were reached.
        let mut seen = vec![0u16; self.analysis.cfg().len()];
        while let Some((block, groups)) = open.pop() {
            for to in self.next(block) {
                let Some(seen) = seen.get_mut(to.as_u32() as usize) else {
                    continue;
                };
                let is_new = *seen >> groups & 1 == 0;
                *seen |= 1 << groups;
                if is_new && let Some(groups) = self.scan(self.events.of(to), groups, &mut found) {
                    open.push((to, groups));
                }
            }
        }
        found
    }

    /// The blocks after another one. Conditions hold as where the operation was started, and a wait or a commit under a condition is not skipped.
    fn next(&self, block: BlockId) -> Vec<BlockId> {
        let dominators = self.analysis.dominators();
        let loops = self.analysis.loops();
        let all = self.analysis.cfg().successors(block);
        let decided = self.events.decided_by_thread(self.operation.block);
        // Blocks after the paths have met again do not depend on this branch.
        let join = self.analysis.ipdom(block);
        let is_before_join = |target| join.is_none_or(|join| !dominators.dominates(join, target));
        let is_conditional = |target: BlockId| {
            is_before_join(target)
                && loops.innermost(target) == loops.innermost(block)
                && dominators.strictly_dominates(block, target)
                && !always_follows(self.analysis, target, block)
        };
        let targets: Vec<BlockId> = match decided.contains(&block) {
            true => vec![self.operation.block],
            false => {
                let waits = self.waits.iter().copied();
                waits.filter(|wait| is_conditional(*wait)).collect()
            }
        };
        let leads = |to: &BlockId| targets.iter().any(|t| dominators.dominates(*to, *t));
        let chosen: Vec<BlockId> = all.iter().copied().filter(leads).collect();
        match chosen.is_empty() {
            true => all.to_vec(),
            false => chosen,
        }
    }

    /// Looks at events after a number of groups were committed; `None` if the operation was waited for.
    fn scan(&self, events: &[Event], mut groups: u32, found: &mut Vec<InstId>) -> Option<u32> {
        for event in events {
            match &event.kind {
                Kind::Commit(Mechanism::Bulk) => groups = (groups + 1).min(GROUPS),
                Kind::Wait(Mechanism::Bulk, left) if left.is_none_or(|left| groups > left) => {
                    return None;
                }
                Kind::Start(number) if *number == self.number => return None,
                Kind::Call => return None,
                Kind::Memory(access)
                    if access.writes
                        && !access.asynchronous
                        && access.place.begins_in(self.source)
                        && !found.contains(&event.inst) =>
                {
                    found.push(event.inst);
                }
                _ => {}
            }
        }
        Some(groups)
    }
}
