//! Descriptions of the waits of threads at the end of a launch.

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
use crate::lanes::LANES;
use crate::memory;
use crate::memory::tensor::TensorMemory;

/// The largest number of waits that are described.
const MOST: usize = 16;

/// The description of a loop that nothing can end.
const ENDLESS: &str = "in a loop that reads no memory and changes nothing";

/// The description of a loop that nothing can end and that changes memory which no other threads access.
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

/// The step of an instruction at which threads wait.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct WaitPlace {
    function: FuncId,
    step_index: u32,
}

/// A wait of threads, as it is described.
struct DescribedWait {
    place: WaitPlace,
    what: String,
}

/// Describes the waits of the threads of clusters: at barriers, and in loops that they repeat. `is_final` says that nothing changes any more.
pub(super) fn waits<'a>(
    grid: &Grid<'_>,
    clusters: impl Iterator<Item = &'a Cluster>,
    probe: Option<&Probe>,
    is_final: bool,
) -> Vec<Wait> {
    let mut waits: Vec<(WaitPlace, Wait)> = Vec::new();
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
                        waiting.add(described, &mut waits);
                    }
                }
            }
        }
    }
    // Loops that read nothing are the cause of everything else, and others that of waiting at barriers.
    waits.sort_by_key(|(_, wait)| match wait.what.as_str() {
        ENDLESS | ENDLESS_CHANGES => 0,
        description if description.contains(BARRIER) => 2,
        _ => 1,
    });
    waits.into_iter().map(|(_, wait)| wait).collect()
}

/// Adds the waits of threads to an error, which is at the instruction of the first wait if it has no place.
pub(super) fn add_waits(error: &mut RunError, waits: Vec<Wait>) {
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
    fn describe(&self, probe: Option<&Probe>) -> Option<DescribedWait> {
        let call = self.warp.groups.calls.get(self.group.call)?.as_ref()?;
        let mut repeated_loop = None;
        // A barrier may be in a loop that is repeated.
        if let (State::Ready | State::Barrier(_), Some(probe)) = (self.group.state, probe) {
            repeated_loop = self.describe_loop(call.function, probe);
        }
        if repeated_loop.is_some() {
            return repeated_loop;
        }
        let what = match self.group.state {
            State::Ready => return None,
            State::Barrier(id) => self.barrier(id),
            State::Cluster => self.cluster_barrier(),
            State::Lanes(mask) => {
                let missing = mask & self.warp.groups.live() & !self.lanes_waiting_for(mask);
                format!("for the lanes {missing:#010x} of their warp")
            }
            State::Matrix => "for the other lanes of their warp".into(),
            State::TensorColumns => self.tensor_columns(),
            State::Warpgroup => {
                let warp = self.warp.first as usize / LANES;
                self.block.products.describe(warp)
            }
            State::OtherGrid => "for another grid".into(),
        };
        Some(self.described(call.function, self.group.step_index, what))
    }

    /// The lanes of the warp that wait for those of a mask.
    fn lanes_waiting_for(&self, mask: u32) -> u32 {
        let groups = self.warp.groups.all.iter();
        groups
            .filter(|group| group.state == State::Lanes(mask))
            .fold(0, |waiting, group| waiting | group.mask)
    }

    const fn described(&self, function: FuncId, step_index: u32, what: String) -> DescribedWait {
        DescribedWait {
            place: WaitPlace {
                function,
                step_index,
            },
            what,
        }
    }

    /// Describes a loop that is repeated, with the memory that it reads.
    fn describe_loop(&self, function: FuncId, probe: &Probe) -> Option<DescribedWait> {
        let block = self.grid.linear(self.block.index);
        let repeated = probe.repeated_loop(block, self.warp.first, self.group.mask)?;
        let waits_for_object = repeated.polls().any(|poll| poll.is_mbarrier);
        let polls = repeated
            .polls()
            .filter(|poll| poll.is_mbarrier || !waits_for_object);
        let described_polls: Vec<&Poll> = polls.take(POLLS).collect();
        let Some(first) = described_polls.first() else {
            let what = if repeated.changes_memory() {
                ENDLESS_CHANGES
            } else {
                ENDLESS
            };
            return Some(self.described(function, self.group.step_index, what.into()));
        };
        let descriptions: Vec<String> = described_polls
            .iter()
            .map(|poll| self.describe_poll(poll))
            .collect();
        let what = format!("for {}", descriptions.join(" and "));
        Some(self.described(first.function, first.step_index, what))
    }

    fn describe_poll(&self, poll: &Poll) -> String {
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
            let bits = 8 * poll.bytes;
            let unchanged = if self.is_final {
                " and which no thread changes"
            } else {
                ""
            };
            format!("another value of the {bits} bits {place}, which are {value:#x}{unchanged}")
        }
    }

    /// The location that a loop reads, with the name of the variable there.
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

    fn tensor_columns(&self) -> String {
        let memory = self.cluster.tensor(self.block.rank);
        let allocated = memory.map(TensorMemory::describe_allocations);
        let allocated = allocated.unwrap_or_else(|| "no columns".into());
        match memory.and_then(|memory| memory.request) {
            Some(_) => format!(
                "for the other CTA of the pair or free columns of tensor memory, where allocated are {allocated}"
            ),
            None => format!("for free columns of tensor memory, where allocated are {allocated}"),
        }
    }

    /// Adds the threads to those that wait for the same thing at the same instruction.
    fn add(&self, described: DescribedWait, waits: &mut Vec<(WaitPlace, Wait)>) {
        let threads = u64::from(self.group.mask.count_ones());
        let DescribedWait { place, what } = described;
        if let Some((_, wait)) = waits
            .iter_mut()
            .find(|(wait_place, wait)| *wait_place == place && wait.what == what)
        {
            wait.threads += threads;
            return;
        }
        if waits.len() >= MOST {
            return;
        }
        let lane = self.group.mask.trailing_zeros();
        let program_function = self.grid.program.function(place.function);
        let step = program_function.and_then(|f| f.steps.get(place.step_index as usize));
        let location = step.and_then(|step| self.grid.place(place.function, step.inst));
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
        waits.push((place, wait));
    }
}
