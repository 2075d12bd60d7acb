//! Describes what threads wait for at the end of a launch.

use ptx_ir::FuncId;

use super::block::Block;
use super::cluster::Cluster;
use super::grid::Grid;
use super::groups::{Group, State};
use super::location::Memory;
use super::mbarrier;
use super::probe::Probe;
use super::repeated_loop::Poll;
use super::warp::Warp;
use crate::error::{RunError, Wait};
use crate::memory;

/// The most things that threads wait for that are described.
const MOST: usize = 16;

/// The description of a loop that nothing can end.
const ENDLESS: &str = "in a loop that reads no memory and changes nothing";

/// The description of such a loop that changes memory which no other threads access.
const ENDLESS_CHANGES: &str =
    "in a loop that reads no memory of others and changes nothing for them";

/// The most reads of a loop that are described.
const POLLS: usize = 4;

/// The end of the description of a barrier.
const BARRIER: &str = " threads have arrived";

/// A group of lanes that waits.
struct Waiting<'a> {
    grid: &'a Grid<'a>,
    cluster: &'a Cluster,
    block: &'a Block,
    warps: &'a [Warp],
    warp: &'a Warp,
    group: &'a Group,
    /// Whether nothing changes any more.
    is_final: bool,
}

/// The instruction of a wait, and its description.
type Described = (FuncId, u32, String);

/// Describes what threads of clusters wait for: at barriers, and in loops that they repeat; `is_final`: nothing changes any more.
pub(super) fn waits<'a>(
    grid: &Grid<'_>,
    clusters: impl Iterator<Item = &'a Cluster>,
    probe: Option<&Probe>,
    is_final: bool,
) -> Vec<Wait> {
    let mut all: Vec<((FuncId, u32), Wait)> = Vec::new();
    for cluster in clusters {
        for (block, warps) in cluster.blocks() {
            for warp in warps {
                for group in &warp.groups.all {
                    let waiting = Waiting {
                        grid,
                        cluster,
                        block,
                        warps,
                        warp,
                        group,
                        is_final,
                    };
                    if let Some(described) = waiting.describe(probe) {
                        waiting.add(described, &mut all);
                    }
                }
            }
        }
    }
    // Loops that read nothing are the cause of everything else, and others that of waiting at barriers.
    all.sort_by_key(|(_, wait)| match wait.what.as_str() {
        ENDLESS | ENDLESS_CHANGES => 0,
        what if what.contains(BARRIER) => 2,
        _ => 1,
    });
    all.into_iter().map(|(_, wait)| wait).collect()
}

/// Adds what threads wait for to an error, which is at the instruction of the first of them if it has no place.
pub(super) fn add(error: &mut RunError, waits: Vec<Wait>) {
    if let Some(first) = waits.first()
        && error.span.is_none()
    {
        error.span = first.span;
        error.function.clone_from(&first.function);
        error.instruction.clone_from(&first.instruction);
        (error.block, error.thread) = (first.block, first.thread);
    }
    error.waits = waits;
}

impl Waiting<'_> {
    fn describe(&self, probe: Option<&Probe>) -> Option<Described> {
        let call = self.warp.groups.calls.get(self.group.call)?.as_ref()?;
        let repeats = || self.describe_loop(call.function, probe?);
        let what = match self.group.state {
            State::Ready => return repeats(),
            // The barrier may be in the loop.
            State::Barrier(id) => match repeats() {
                Some(described) => return Some(described),
                None => self.barrier(id),
            },
            State::Cluster => self.cluster_barrier(),
            State::Lanes(mask) => {
                let waits_for_mask = |g: &&Group| g.state == State::Lanes(mask);
                let present = self.warp.groups.all.iter().filter(waits_for_mask);
                let present = present.fold(0, |all, group| all | group.mask);
                let missing = mask & self.warp.groups.live() & !present;
                format!("for the lanes {missing:#010x} of their warp")
            }
            State::Matrix => "for the other lanes of their warp".into(),
        };
        Some((call.function, self.group.step_index, what))
    }

    /// A loop that is repeated, and what it reads.
    fn describe_loop(&self, function: FuncId, probe: &Probe) -> Option<Described> {
        let block = self.grid.linear(self.block.index);
        let repeated = probe.repeated_loop(block, self.warp.first, self.group.mask)?;
        let waits_for_object = repeated.polls().any(|poll| poll.is_mbarrier);
        let polls = repeated
            .polls()
            .filter(|poll| poll.is_mbarrier || !waits_for_object);
        let chosen: Vec<&Poll> = polls.take(POLLS).collect();
        let Some(first) = chosen.first() else {
            let what = if repeated.changes_memory() {
                ENDLESS_CHANGES
            } else {
                ENDLESS
            };
            return Some((function, self.group.step_index, what.into()));
        };
        let described: Vec<String> = chosen.iter().map(|poll| self.poll(poll)).collect();
        let what = format!("for {}", described.join(" and "));
        Some((first.function, first.step_index, what))
    }

    fn poll(&self, poll: &Poll) -> String {
        let place = self.place(poll);
        let bytes = match poll.memory {
            Memory::Shared(rank) => {
                let memory = self.cluster.shared(rank);
                memory.and_then(|m| memory::read(m, poll.address, poll.bytes.min(8) as u8))
            }
            _ => {
                let bytes = poll.bytes.min(8) as u8;
                self.grid.device.read(poll.address, bytes).ok()
            }
        };
        let value = bytes.unwrap_or(0);
        if poll.is_mbarrier {
            format!(
                "the mbarrier object {place}, {}",
                mbarrier::pending(value as u64)
            )
        } else {
            let (bits, value) = (8 * poll.bytes, value);
            let unchanged = if self.is_final {
                " and which no thread changes"
            } else {
                ""
            };
            format!("another value of the {bits} bits {place}, which are {value:#x}{unchanged}")
        }
    }

    /// The place of what is read, with the name of a variable.
    fn place(&self, poll: &Poll) -> String {
        let (space, is_shared) = match poll.memory {
            Memory::Shared(_) => ("shared", true),
            _ => ("global", false),
        };
        let mut place = format!("at {:#x} in {space} memory", poll.address);
        if let Memory::Shared(rank) = poll.memory
            && rank != self.block.rank
        {
            place.push_str(&format!(" of the CTA of rank {rank}"));
        }
        let (module, kernel) = (self.grid.module, self.grid.kernel);
        let variables = &self.grid.program.variables;
        match variables.at(module, kernel, poll.address, is_shared) {
            Some((name, 0)) => format!("`{name}` {place}"),
            Some((name, offset)) => format!("`{name}`+{offset} {place}"),
            None => place,
        }
    }

    fn barrier(&self, id: u32) -> String {
        let (mut waiting, mut live) = (0, 0);
        for group in self.warps.iter().flat_map(|warp| &warp.groups.all) {
            live += group.mask.count_ones();
            if group.state == State::Barrier(id) {
                waiting += group.mask.count_ones();
            }
        }
        let barrier = self.block.barriers.get(id as usize).copied();
        let barrier = barrier.unwrap_or_default();
        let expected = match barrier.expected {
            0 => live,
            count => count,
        };
        let arrived = waiting + barrier.arrived;
        format!("for barrier {id}, at which {arrived} of {expected}{BARRIER}")
    }

    fn cluster_barrier(&self) -> String {
        let warps = self.cluster.blocks().flat_map(|(_, warps)| warps);
        let live: u32 = warps.map(|w| w.groups.live().count_ones()).sum();
        let arrived = self.cluster.arrived();
        format!("for the barrier of the cluster, at which {arrived} of {live}{BARRIER}")
    }

    /// Adds the threads to those that wait for the same thing at the same instruction.
    fn add(&self, (function, at, what): Described, all: &mut Vec<((FuncId, u32), Wait)>) {
        let threads = u64::from(self.group.mask.count_ones());
        let place = (function, at);
        let is_same_wait = |one: &&mut ((FuncId, u32), Wait)| one.0 == place && one.1.what == what;
        if let Some((_, known)) = all.iter_mut().find(is_same_wait) {
            known.threads += threads;
            return;
        }
        if all.len() >= MOST {
            return;
        }
        let lane = self.group.mask.trailing_zeros();
        let program_function = self.grid.program.function(function);
        let step = program_function.and_then(|f| f.steps.get(at as usize));
        let location = step.and_then(|step| self.grid.place(function, step.inst));
        let (span, instruction) = location
            .map(|location| (location.span, location.text))
            .unzip();
        let wait = Wait {
            what,
            threads,
            function: program_function.map_or_else(String::new, |f| f.name.clone()),
            instruction: instruction.unwrap_or_default(),
            span,
            block: self.block.index,
            thread: self.grid.thread(self.warp.first + lane),
        };
        all.push((place, wait));
    }
}
