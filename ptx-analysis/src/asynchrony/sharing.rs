//! Copies whose data other threads read, and copies that overwrite data that other threads read (9.7.9.25.3.3).
//!
//! A thread that waits for its groups sees its own copies. Other threads see them after a barrier. A copy may overwrite data that other threads
//! read only after a barrier. A wait for an mbarrier object counts as a barrier.
//!
//! ```text
//! copy ──▶ wait of the copying thread ──▶ barrier ──▶ reads of other threads ──▶ barrier ──▶ next copy
//! ```

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::InstId;

use super::events::{Access, Event, Events, Kind, Operation};
use super::flags::Flags;
use super::mechanism::Mechanism;
use super::paths::{always_follows, reachable_from};
use super::place::{Place, Share};
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::cfg::{BlockId, Cfg};
use crate::dataflow::JoinSemiLattice;
use crate::function_dataflow::FunctionDataflow;

/// The maximum number of reads that are followed.
const MOST_READS: usize = 256;

/// The maximum number of variables that are followed: variables are bits of `u64`.
const MOST_ROOTS: u32 = 64;

/// The maximum number of operations that are followed.
const MOST_COPIES: usize = 256;

/// Adds copies and reads that need a barrier between them.
pub(super) fn check(
    events: &Events,
    analysis: &FunctionDataflow<'_>,
    violations: &mut Vec<Violation>,
) {
    let has_copies = events.operations.iter().any(|o| destination(o).is_some());
    if events.is_one_thread || !has_copies {
        return;
    }
    let mut copies: BTreeMap<u32, CopiesOfVariable> = BTreeMap::new();
    for operation in &events.operations {
        if let Some(root) = destination(operation).and_then(|d| d.root) {
            let copies_of_variable = copies.entry(root).or_insert(CopiesOfVariable {
                first: operation.inst,
                selected: false,
            });
            copies_of_variable.selected |= operation.selected;
        }
    }
    let reads = reads_of_copied_variables(events, &copies);
    let mut read_numbers: BTreeMap<InstId, Vec<u32>> = BTreeMap::new();
    for (number, read) in (0u32..).zip(&reads) {
        read_numbers.entry(read.inst).or_default().push(number);
    }
    let sharing = Sharing {
        events,
        analysis,
        reads,
        read_numbers,
        copies,
        only_copied: only_copied(events),
        copied_before: copied_before(events, analysis.cfg()),
    };
    follow(&sharing, events, analysis.cfg(), violations);
}

/// The copies into a variable.
struct CopiesOfVariable {
    /// The instruction of the first copy.
    first: InstId,
    /// Only some threads of the CTA execute one of the copies.
    selected: bool,
}

/// A read of shared memory.
struct Read {
    inst: InstId,
    block: BlockId,
    conditional: bool,
    place: Place,
}

/// The shared memory that an operation writes, if it is a copy.
fn destination(operation: &Operation) -> Option<Place> {
    let is_copy = matches!(operation.mechanism, Mechanism::Copies | Mechanism::Mbarrier);
    operation
        .destination
        .filter(|d| is_copy && d.root.is_some())
}

/// The reads of the variables into which operations copy.
fn reads_of_copied_variables(
    events: &Events,
    copies: &BTreeMap<u32, CopiesOfVariable>,
) -> Vec<Read> {
    let mut reads: Vec<Read> = Vec::new();
    for event in events.all() {
        if let Kind::Memory(access) = &event.kind
            && access.reads
            && access.is_shared
            && !access.asynchronous
            && reads.len() < MOST_READS
            && access
                .place
                .root
                .is_some_and(|root| copies.contains_key(&root))
        {
            reads.push(Read {
                inst: event.inst,
                block: event.block,
                conditional: event.conditional,
                place: access.place,
            });
        }
    }
    reads
}

/// For each variable, whether copies write it and nothing else does.
fn only_copied(events: &Events) -> Vec<bool> {
    let mut only_copied = vec![false; events.roots];
    if !events.is_kernel {
        return only_copied;
    }
    for root in events
        .operations
        .iter()
        .filter_map(destination)
        .filter_map(|d| d.root)
    {
        if let Some(is_copied) = only_copied.get_mut(root as usize) {
            *is_copied = true;
        }
    }
    for event in events.all() {
        match &event.kind {
            Kind::Memory(access) if access.writes => match access.place.root {
                Some(root) => only_copied[root as usize] = false,
                None => only_copied.fill(false),
            },
            // An allocation of tensor memory stores the address there.
            Kind::Allocate(
                Some(Place {
                    root: Some(root), ..
                }),
                _,
            ) => only_copied[*root as usize] = false,
            Kind::Call => only_copied.fill(false),
            _ => {}
        }
    }
    only_copied
}

/// For each barrier, a bit for each variable into which a thread may copy before the barrier.
fn copied_before(events: &Events, cfg: &Cfg) -> Vec<u64> {
    let barriers: Vec<(u32, BlockId)> = events
        .all()
        .filter_map(|event| match event.kind {
            Kind::Barrier(number) => Some((number, event.block)),
            _ => None,
        })
        .collect();
    let mut copied_before = vec![0; barriers.len()];
    for root in 0..MOST_ROOTS.min(events.roots as u32) {
        let copying_blocks: Vec<BlockId> = events
            .operations
            .iter()
            .filter(|o| destination(o).is_some_and(|d| d.root == Some(root)))
            .map(|o| o.block)
            .collect();
        if copying_blocks.is_empty() {
            continue;
        }
        let later_blocks = reachable_from(cfg, &copying_blocks, |_| false);
        for (number, block) in &barriers {
            if (later_blocks.contains(block.as_u32()) || copying_blocks.contains(block))
                && let Some(roots) = copied_before.get_mut(*number as usize)
            {
                *roots |= 1 << root;
            }
        }
    }
    copied_before
}

/// The protocol that barriers separate copies and the accesses of other threads.
struct Sharing<'a> {
    events: &'a Events,
    analysis: &'a FunctionDataflow<'a>,
    reads: Vec<Read>,
    /// The indices in `reads` of the reads of each instruction.
    read_numbers: BTreeMap<InstId, Vec<u32>>,
    /// For each variable, whether only copies write it.
    only_copied: Vec<bool>,
    /// The copies into each variable.
    copies: BTreeMap<u32, CopiesOfVariable>,
    /// For each barrier, the variables into which a thread may copy before it.
    copied_before: Vec<u64>,
}

#[derive(Clone, Debug)]
struct State {
    /// The operations that this thread started.
    started: Flags,
    /// The operations that this thread awaited after the last barrier. Their data have arrived, but other threads do not see them.
    arrived: Flags,
    /// The reads after the last barrier.
    read: Flags,
    /// The variables whose copies this thread awaited itself, or other threads awaited before a barrier.
    awaited: Flags,
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        self.started.join(&other.started)
            | self.arrived.join(&other.arrived)
            | self.read.join(&other.read)
            | self.awaited.join(&other.awaited)
    }
}

impl Sharing<'_> {
    /// The variable into which an operation copies.
    fn root(&self, operation: u32) -> Option<u32> {
        self.events.operation(operation).and_then(destination)?.root
    }

    /// A read of data that other threads copied, without a barrier after their wait.
    fn check_visibility(&self, event: &Event, access: Access, state: &State) -> Option<Violation> {
        let mut worst: Option<(Certainty, &Operation)> = None;
        for number in state.arrived.iter() {
            let operation = self.events.operation(number)?;
            let Some(place) = destination(operation) else {
                continue;
            };
            let has_arrived = state.arrived.certainty(number)?;
            let certainty = match access.place.share(place) {
                Share::Own if !self.may_be_of_other_threads(operation, event) => return None,
                Share::Others
                    if self.is_of_all_threads(event.block)
                        && access.place.certainly_shares(place) =>
                {
                    has_arrived
                }
                Share::Own | Share::MaybeOthers | Share::Others => Certainty::Possible,
                Share::Apart => continue,
            };
            if worst.is_none_or(|(c, _)| c < certainty) {
                worst = Some((certainty, operation));
            }
        }
        worst.map(|(certainty, operation)| Violation {
            inst: event.inst,
            rule: Rule::CopyNotVisible,
            certainty,
            cause: Some(operation.inst),
        })
    }

    /// Whether all threads reach a block. They then also executed the events that precede it on all paths.
    fn is_of_all_threads(&self, block: BlockId) -> bool {
        self.events.decided_by_thread(block).is_empty()
    }

    /// Whether an event may read data at a fixed address that was copied by other threads than those that execute the event.
    fn may_be_of_other_threads(&self, operation: &Operation, event: &Event) -> bool {
        let is_fixed = operation.destination.is_some_and(Place::is_fixed);
        let dominators = self.analysis.dominators();
        let is_by_same_threads =
            !operation.conditional && dominators.dominates(operation.block, event.block);
        is_fixed && operation.selected && !event.conditional && !is_by_same_threads
    }

    /// A read of a variable whose copies neither this thread nor others before a barrier awaited.
    fn check_wait(&self, event: &Event, access: Access, state: &State) -> Option<Violation> {
        let root = access.place.root?;
        let is_only_copied = root < MOST_ROOTS && *self.only_copied.get(root as usize)?;
        if !is_only_copied || state.awaited.on_all_paths(root) {
            return None;
        }
        let copies = self.copies.get(&root)?;
        copies.selected.then_some(Violation {
            inst: event.inst,
            rule: Rule::CopyNotAwaited,
            certainty: Certainty::Possible,
            cause: Some(copies.first),
        })
    }

    /// A copy to memory that other threads may still read.
    fn check_overwrite(&self, event: &Event, number: u32, state: &State) -> Option<Violation> {
        let operation = self.events.operation(number)?;
        let place = destination(operation)?;
        let mut worst: Option<(Certainty, &Read)> = None;
        for number in state.read.iter() {
            let read = self.reads.get(number as usize)?;
            let share = read.place.share(place);
            let conflicts = match share {
                Share::Own => place.is_fixed() && self.is_read_by_more_threads(read, operation),
                Share::Others => true,
                Share::MaybeOthers | Share::Apart => {
                    operation.mechanism == Mechanism::Mbarrier
                        && place.bytes.is_some()
                        && read.place.begins_in(place)
                }
            };
            let is_certain = !operation.conditional
                && (share != Share::Others
                    || self.is_of_all_threads(event.block) && read.place.certainly_shares(place));
            let certainty = if is_certain {
                state.read.certainty(number)?
            } else {
                Certainty::Possible
            };
            if conflicts && worst.is_none_or(|(c, _)| c < certainty) {
                worst = Some((certainty, read));
            }
        }
        worst.map(|(certainty, read)| Violation {
            inst: event.inst,
            rule: Rule::ReadNotFinished,
            certainty,
            cause: Some(read.inst),
        })
    }

    /// Whether threads execute a read that do not execute an operation after it.
    fn is_read_by_more_threads(&self, read: &Read, operation: &Operation) -> bool {
        operation.selected
            && !read.conditional
            && (operation.conditional
                || !always_follows(self.analysis, operation.block, read.block))
    }

    /// Whether an operation is a copy by `cp.async`.
    fn is_group_copy(&self, number: u32) -> bool {
        let operation = self.events.operation(number);
        operation.is_some_and(|o| o.mechanism == Mechanism::Copies)
    }
}

impl Protocol for Sharing<'_> {
    type State = State;
    const EDGES: bool = true;

    fn start(&self) -> State {
        State {
            started: Flags::none(self.events.operations.len().min(MOST_COPIES)),
            arrived: Flags::none(self.events.operations.len().min(MOST_COPIES)),
            read: Flags::none(self.reads.len()),
            awaited: Flags::none(self.events.roots),
        }
    }

    fn apply(&self, event: &Event, state: &mut State) {
        match &event.kind {
            Kind::Start(number) => {
                state.started.set(*number);
                if let Some(root) = self.root(*number) {
                    state.awaited.set(root);
                }
            }
            Kind::Report(Mechanism::Copies, _) => {
                let started: Vec<u32> = state.started.iter().collect();
                for number in started.into_iter().filter(|n| self.is_group_copy(*n)) {
                    state.started.unset(number);
                }
            }
            Kind::Wait(Mechanism::Copies, _) => {
                let State {
                    started,
                    arrived,
                    awaited,
                    ..
                } = state;
                for number in started.iter().filter(|n| self.is_group_copy(*n)) {
                    if let Some(root) = self.root(number) {
                        awaited.set(root);
                    }
                    if started.on_all_paths(number) {
                        arrived.set(number);
                    } else {
                        arrived.set_possible(number);
                    }
                }
            }
            Kind::Barrier(number) => {
                for operation in state.arrived.iter() {
                    state.started.unset(operation);
                }
                state.arrived.clear();
                state.read.clear();
                let copied = self
                    .copied_before
                    .get(*number as usize)
                    .copied()
                    .unwrap_or_default();
                (0..MOST_ROOTS.min(self.events.roots as u32))
                    .filter(|root| copied >> root & 1 == 1)
                    .for_each(|root| state.awaited.set(root));
            }
            Kind::Phase(..) => {
                state.read.clear();
                state.awaited = Flags::full(self.events.roots);
            }
            Kind::Memory(access) if access.reads => {
                let numbers = self.read_numbers.get(&event.inst);
                let number = numbers.into_iter().flatten().find(|number| {
                    let read = self.reads.get(**number as usize);
                    read.is_some_and(|read| read.place == access.place)
                });
                if let Some(&number) = number {
                    state.read.set(number);
                }
            }
            Kind::Call => {
                *state = self.start();
                state.awaited = Flags::full(self.events.roots);
            }
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &State, violations: &mut Vec<Violation>) {
        match &event.kind {
            Kind::Memory(access) if access.reads && access.is_shared && !access.asynchronous => {
                violations.extend(self.check_visibility(event, *access, state));
                violations.extend(self.check_wait(event, *access, state));
            }
            Kind::Start(number) => {
                violations.extend(self.check_overwrite(event, *number, state));
            }
            _ => {}
        }
    }
}
