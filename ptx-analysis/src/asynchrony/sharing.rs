//! Copies whose data other threads read, and which overwrite what other threads read (9.7.9.25.3.3).
//!
//! A thread that waits for its groups sees its own copies. Others see them after a barrier, and a copy may overwrite what others read only
//! after a barrier as well. A wait for an mbarrier object is as good as a barrier.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::InstId;

use super::events::{Access, Event, Events, Kind, Operation};
use super::flags::Flags;
use super::mechanism::Mechanism;
use super::order::always_follows;
use super::place::{Place, Share};
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::cfg::{BlockId, Cfg};
use crate::dataflow::{BitSet, JoinSemiLattice};
use crate::function_analysis::FunctionAnalysis;

/// Adds copies and reads that need a barrier between them.
pub(super) fn check(events: &Events, analysis: &FunctionAnalysis<'_>, found: &mut Vec<Violation>) {
    let mut copies = events.operations.iter();
    if events.is_one_thread || !copies.any(|o| destination(o).is_some()) {
        return;
    }
    let mut copies: BTreeMap<u32, (InstId, bool)> = BTreeMap::new();
    for operation in &events.operations {
        if let Some(root) = destination(operation).and_then(|d| d.root) {
            copies.entry(root).or_insert((operation.inst, false)).1 |= operation.selected;
        }
    }
    let reads = reads(events, &copies);
    let mut sites: BTreeMap<InstId, Vec<usize>> = BTreeMap::new();
    for (site, read) in reads.iter().enumerate() {
        sites.entry(read.inst).or_default().push(site);
    }
    let sharing = Sharing {
        events,
        analysis,
        reads,
        sites,
        copies,
        only_copied: only_copied(events),
        published: published(events, analysis.cfg()),
    };
    follow(&sharing, events, analysis.cfg(), found);
}

/// Reads beyond these are not followed.
const MOST: usize = 256;

/// A read of shared memory.
struct Read {
    inst: InstId,
    block: BlockId,
    conditional: bool,
    place: Place,
}

/// The shared memory that a copy writes.
fn destination(operation: &Operation) -> Option<Place> {
    let is_copy = matches!(operation.mechanism, Mechanism::Copies | Mechanism::Mbarrier);
    operation
        .destination
        .filter(|d| is_copy && d.root.is_some())
}

/// The reads of variables into which something is copied.
fn reads(events: &Events, copies: &BTreeMap<u32, (InstId, bool)>) -> Vec<Read> {
    let copied = |root| copies.contains_key(&root);
    let mut found: Vec<Read> = Vec::new();
    for event in events.all() {
        if let Kind::Memory(access) = &event.kind
            && access.reads
            && access.is_shared
            && !access.asynchronous
            && found.len() < MOST
            && access.place.root.is_some_and(copied)
        {
            found.push(Read {
                inst: event.inst,
                block: event.block,
                conditional: event.conditional,
                place: access.place,
            });
        }
    }
    found
}

/// Of each variable, whether nothing but copies writes it.
fn only_copied(events: &Events) -> Vec<bool> {
    let mut only = vec![false; events.roots];
    for root in events
        .operations
        .iter()
        .filter_map(destination)
        .filter_map(|d| d.root)
    {
        if let Some(slot) = only.get_mut(root as usize) {
            *slot = true;
        }
    }
    for event in events.all() {
        match &event.kind {
            Kind::Memory(access) if access.writes => match access.place.root {
                Some(root) => only[root as usize] = false,
                None => only.fill(false),
            },
            // The address of tensor memory is stored there.
            Kind::Allocate(
                Some(Place {
                    root: Some(root), ..
                }),
                _,
            ) => only[*root as usize] = false,
            Kind::Call => only.fill(false),
            _ => {}
        }
    }
    if !events.is_kernel {
        only.fill(false);
    }
    only
}

/// Variables beyond these are not followed.
const ROOTS: u32 = 64;

/// Operations beyond these are not followed.
const MOST_COPIES: usize = 256;

/// For each barrier, the variables into which something may be copied before it, one bit for each.
fn published(events: &Events, cfg: &Cfg) -> Vec<u64> {
    let barriers: Vec<(u32, BlockId)> = events
        .all()
        .filter_map(|event| match event.kind {
            Kind::Barrier(number) => Some((number, event.block)),
            _ => None,
        })
        .collect();
    let mut published = vec![0; barriers.len()];
    for root in 0..ROOTS.min(events.roots as u32) {
        let copies = events.operations.iter();
        let copies = copies.filter(|o| destination(o).is_some_and(|d| d.root == Some(root)));
        let blocks: Vec<BlockId> = copies.map(|o| o.block).collect();
        if blocks.is_empty() {
            continue;
        }
        let after = blocks_after(cfg, blocks);
        for (number, block) in &barriers {
            if after.contains(block.as_u32())
                && let Some(bits) = published.get_mut(*number as usize)
            {
                *bits |= 1 << root;
            }
        }
    }
    published
}

/// The blocks to which paths lead from some blocks, and these.
fn blocks_after(cfg: &Cfg, blocks: Vec<BlockId>) -> BitSet {
    let mut seen = BitSet::new(cfg.len() as u32);
    let mut open = blocks;
    while let Some(block) = open.pop() {
        if seen.insert(block.as_u32()) {
            open.extend(cfg.successors(block));
        }
    }
    seen
}

struct Sharing<'a> {
    events: &'a Events,
    analysis: &'a FunctionAnalysis<'a>,
    reads: Vec<Read>,
    /// The reads of each instruction.
    sites: BTreeMap<InstId, Vec<usize>>,
    only_copied: Vec<bool>,
    /// By variables, the first copy, and whether only some threads execute one of the copies.
    copies: BTreeMap<u32, (InstId, bool)>,
    published: Vec<u64>,
}

#[derive(Clone, Debug)]
struct State {
    /// The copies that began, and those that the thread waited for after the last barrier.
    started: Flags,
    arrived: Flags,
    /// The reads after the last barrier.
    read: Flags,
    /// The variables for whose copies the thread waited, or met others at a barrier.
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

    /// A read of what other threads copied.
    fn visible(&self, event: &Event, access: Access, state: &State) -> Option<Violation> {
        let mut worst: Option<(Certainty, &Operation)> = None;
        for number in state.arrived.iter() {
            let operation = self.events.operation(number)?;
            let Some(place) = destination(operation) else {
                continue;
            };
            let sure = state.arrived.certainty(number)?;
            let certainty = match access.place.share(place) {
                Share::Own if !self.is_of_few(operation, event) => return None,
                Share::Others if self.by_all(event.block) && access.place.surely_shares(place) => {
                    sure
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

    /// Whether all threads come to a block, so that they also did what is before it on all paths.
    fn by_all(&self, block: BlockId) -> bool {
        self.events.decided_by_thread(block).is_empty()
    }

    /// Whether a copy to one address may be that of other threads than those that execute an event.
    fn is_of_few(&self, operation: &Operation, event: &Event) -> bool {
        let fixed = operation.destination.is_some_and(Place::is_fixed);
        let dominators = self.analysis.dominators();
        let always = !operation.conditional && dominators.dominates(operation.block, event.block);
        fixed && operation.selected && !event.conditional && !always
    }

    /// A read of a variable for whose copies the thread never waited, nor met others.
    fn never_awaited(&self, event: &Event, access: Access, state: &State) -> Option<Violation> {
        let root = access.place.root?;
        let known = root < ROOTS && *self.only_copied.get(root as usize)?;
        if !known || state.awaited.on_all_paths(root) {
            return None;
        }
        let (first, selected) = *self.copies.get(&root)?;
        selected.then_some(Violation {
            inst: event.inst,
            rule: Rule::CopyNotAwaited,
            certainty: Certainty::Possible,
            cause: Some(first),
        })
    }

    /// A copy to memory that other threads may still read.
    fn overwrites(&self, event: &Event, number: u32, state: &State) -> Option<Violation> {
        let operation = self.events.operation(number)?;
        let place = destination(operation)?;
        let mut worst: Option<(Certainty, &Read)> = None;
        for number in state.read.iter() {
            let read = self.reads.get(number as usize)?;
            let share = read.place.share(place);
            let is_sure = match share {
                Share::Others => self.by_all(event.block) && read.place.surely_shares(place),
                _ => true,
            };
            let few = operation.selected
                && !read.conditional
                && (operation.conditional
                    || !always_follows(self.analysis, operation.block, read.block));
            let conflicts = match share {
                Share::Own => few && place.is_fixed(),
                Share::Others => true,
                Share::MaybeOthers | Share::Apart => {
                    operation.mechanism == Mechanism::Mbarrier
                        && place.bytes.is_some()
                        && read.place.begins_in(place)
                }
            };
            let certainty = match operation.conditional || !is_sure {
                true => Certainty::Possible,
                false => state.read.certainty(number)?,
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
        let is_copy = |number: &u32| {
            let operation = self.events.operation(*number);
            operation.is_some_and(|o| o.mechanism == Mechanism::Copies)
        };
        match &event.kind {
            Kind::Start(number) => {
                state.started.set(*number);
                if let Some(root) = self.root(*number) {
                    state.awaited.set(root);
                }
            }
            Kind::Report(Mechanism::Copies, _) => {
                let copies: Vec<u32> = state.started.iter().filter(is_copy).collect();
                copies.into_iter().for_each(|n| state.started.unset(n));
            }
            Kind::Wait(Mechanism::Copies, _) => {
                let State {
                    started,
                    arrived,
                    awaited,
                    ..
                } = state;
                for number in started.iter().filter(is_copy) {
                    if let Some(root) = self.root(number) {
                        awaited.set(root);
                    }
                    match started.on_all_paths(number) {
                        true => arrived.set(number),
                        false => arrived.set_possible(number),
                    }
                }
            }
            Kind::Barrier(number) => {
                let arrived: Vec<u32> = state.arrived.iter().collect();
                arrived.into_iter().for_each(|n| state.started.unset(n));
                state.arrived.clear();
                state.read.clear();
                let published = self.published.get(*number as usize).copied();
                let published = published.unwrap_or_default();
                let roots = 0..ROOTS.min(self.events.roots as u32);
                roots
                    .filter(|root| published >> root & 1 == 1)
                    .for_each(|root| state.awaited.set(root));
            }
            Kind::Phase(..) => {
                state.read.clear();
                state.awaited = Flags::full(self.events.roots);
            }
            Kind::Memory(access) if access.reads => {
                let known = self.sites.get(&event.inst).into_iter().flatten();
                let mut known = known.copied();
                let is_site = |site: &usize| {
                    self.reads
                        .get(*site)
                        .is_some_and(|read| read.place == access.place)
                };
                let sites = known.find(is_site);
                if let Some(site) = sites {
                    state.read.set(site as u32);
                }
            }
            Kind::Call => {
                *state = self.start();
                state.awaited = Flags::full(self.events.roots);
            }
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &State, found: &mut Vec<Violation>) {
        match &event.kind {
            Kind::Memory(access) if access.reads && access.is_shared && !access.asynchronous => {
                found.extend(self.visible(event, *access, state));
                found.extend(self.never_awaited(event, *access, state));
            }
            Kind::Start(number) => found.extend(self.overwrites(event, *number, state)),
            _ => {}
        }
    }
}
