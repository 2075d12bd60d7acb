//! Events: the effects of instructions on asynchronous operations and on the objects that these use, in the order of the blocks.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::{EntityId as _, InstId, StmtId};
use ptx_isa::Action;

use super::mechanism::Mechanism;
use super::place::Place;
use super::selection::Deciders;
use crate::cfg::{BlockId, Cfg};
use crate::reg_lanes::VariableId;

/// An asynchronous operation. An instruction whose effects on two memories are awaited separately starts one operation for each.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) stmt: StmtId,
    pub(super) inst: InstId,
    pub(super) block: BlockId,
    /// A guard may skip the instruction.
    pub(super) conditional: bool,
    /// Only some threads of the CTA execute the instruction.
    pub(super) selected: bool,
    pub(super) mechanism: Mechanism,
    pub(super) action: Option<Action>,
    /// The variables of the registers that the operation writes after its instruction, sorted.
    pub(super) written: Vec<VariableId>,
    /// The variables of the registers that the operation reads after its instruction, sorted.
    pub(super) read: Vec<VariableId>,
    /// The memory that the operation writes.
    pub(super) destination: Option<Place>,
    /// The memory that the operation reads.
    pub(super) source: Option<Place>,
    /// The tensor memory that the operation writes.
    pub(super) tensor_writes: Vec<Place>,
    /// The tensor memory that the operation reads.
    pub(super) tensor_reads: Vec<Place>,
    /// The mbarrier object to which the operation reports.
    pub(super) object: Option<Place>,
    /// The matrices in shared memory that its descriptors describe.
    pub(super) matrices: Vec<Matrix>,
}

/// A matrix in shared memory.
#[derive(Copy, Clone, Debug)]
pub(super) struct Matrix {
    /// The variable from whose address its descriptor is computed, if it is known.
    pub(super) root: Option<u32>,
    /// Its first bytes, if they are known.
    pub(super) start: Option<Place>,
}

impl Operation {
    pub(super) fn loads_tensor_memory(&self) -> bool {
        self.action == Some(Action::TensorLoad)
    }
}

/// An access to a variable in shared memory, or through a pointer.
#[derive(Copy, Clone, Debug)]
pub(super) struct Access {
    pub(super) place: Place,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// An asynchronous operation accesses the memory through the async proxy.
    pub(super) asynchronous: bool,
    /// The memory may be shared memory.
    pub(super) is_shared: bool,
}

/// A wait for the phase of an mbarrier object that has a certain parity.
#[derive(Copy, Clone, Debug)]
pub(super) struct ParityWait {
    pub(super) inst: InstId,
    pub(super) block: BlockId,
    pub(super) object: Place,
    /// The parity, if it is always the same.
    pub(super) parity: Option<u64>,
    /// The parity in the first execution of the wait, if it is always the same.
    pub(super) first_parity: Option<u64>,
    /// The address of the object runs through a few addresses again and again, as in a ring of buffers.
    pub(super) is_cyclic: bool,
}

/// The effect of an event.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Reads and writes registers that operations use; the registers are given by their variables.
    Registers {
        reads: Vec<VariableId>,
        writes: Vec<VariableId>,
        /// The instruction only moves the registers.
        is_move: bool,
    },
    /// Accesses memory.
    Memory(Access),
    /// Starts the operation with this number.
    Start(u32),
    /// Makes a group of the operations of a mechanism that are in no group.
    Commit(Mechanism),
    /// Makes the operations of a mechanism that were started before report to an mbarrier object.
    Report(Mechanism, Option<Place>),
    /// Waits for all groups but this number of the latest ones; `None`: for all operations, including those in no group.
    Wait(Mechanism, Option<u32>),
    /// Proves that the phase of an mbarrier object with this parity is complete.
    Phase(Place, Option<u64>),
    /// `wgmma.fence`.
    WarpgroupFence,
    /// A fence between the generic and the async proxy.
    ProxyFence { shared: bool, global: bool },
    /// Changes a tensor map.
    MapWrite(Place),
    /// Publishes the tensor maps that the thread changed.
    MapRelease,
    /// Makes changes of a tensor map by other threads visible.
    MapAcquire(Place),
    /// Uses a tensor map.
    MapRead(Place),
    /// Waits for other threads at a barrier. Each barrier instruction has a number.
    Barrier(u32),
    /// Arrives at the barrier of the cluster.
    ClusterArrive,
    /// Arrives at the barrier of the cluster without publishing earlier writes.
    RelaxedArrive,
    /// A fence between this thread and threads of other CTAs.
    ScopeFence,
    /// Waits at the barrier of the cluster.
    ClusterWait,
    /// Initializes an mbarrier object.
    Initialize(Place),
    /// Ends an mbarrier object, so that its memory may be used otherwise.
    Invalidate(Place),
    /// Uses an mbarrier object in any way but a wait.
    Object(Place),
    /// Waits for an mbarrier object.
    Await(Place),
    /// Arrives at an mbarrier object for which other threads wait.
    Signal(Place),
    /// Uses the mbarrier object of another CTA. The place is that of the corresponding object of this CTA.
    RemoteObject(Place),
    /// Adds a number of bytes to those that an mbarrier object expects.
    Expect(Place, Option<u64>),
    /// Allocates tensor memory: the place in which its address is stored, and the number of columns.
    Allocate(Option<Place>, Option<u64>),
    /// Frees tensor memory: the number of columns, and the root of the place from which the address was loaded.
    Free(Option<u64>, Option<u32>),
    /// Gives up the permit to allocate tensor memory.
    Relinquish,
    /// `tcgen05.fence::before_thread_sync`.
    TensorFenceBefore,
    /// `tcgen05.fence::after_thread_sync`.
    TensorFenceAfter,
    /// Calls a function, or does something unknown.
    Call,
}

/// An effect of an instruction.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) inst: InstId,
    pub(super) block: BlockId,
    /// A guard may skip the instruction.
    pub(super) conditional: bool,
    /// Only some threads of the CTA execute the instruction.
    pub(super) selected: bool,
    /// The guard of the instruction depends on parameters of the kernel alone.
    pub(super) guarded_by_parameters: bool,
    pub(super) kind: Kind,
}

/// An event that happens on some of the edges that leave a block.
#[derive(Clone, Debug)]
pub(super) struct EdgeEvent {
    /// The value of the guard of the last instruction of the block on these edges.
    pub(super) when: bool,
    pub(super) event: Event,
}

/// The events of a function.
#[derive(Debug)]
pub(super) struct Events {
    /// The asynchronous operations by number.
    pub(super) operations: Vec<Operation>,
    pub(super) parity_waits: Vec<ParityWait>,
    /// The number of roots of places.
    pub(super) roots: usize,
    pub(super) is_kernel: bool,
    /// The kernel requires CTAs of one thread.
    pub(super) is_one_thread: bool,
    /// The kernel requires more threads than a warp has.
    pub(super) has_several_warps: bool,
    /// The events on the edges that leave a block.
    pub(super) on_edges: BTreeMap<BlockId, EdgeEvent>,
    /// The events of all blocks, in the order of the blocks.
    pub(super) in_blocks: Vec<Event>,
    /// The index in `in_blocks` of the first event of each block, and the number of all events.
    pub(super) block_starts: Vec<u32>,
    /// The action of each barrier.
    pub(super) barriers: Vec<Option<Action>>,
    /// The branches that decide whether a block is executed. Blocks without such branches are absent.
    pub(super) deciders: BTreeMap<BlockId, Deciders>,
    /// The position of each instruction in the text, which differs from its number after edits.
    pub(super) positions: Vec<u32>,
}

impl Events {
    /// The events of a block, without those on its edges.
    pub(super) fn in_block(&self, block: BlockId) -> &[Event] {
        let index = block.as_u32() as usize;
        let (Some(&start), Some(&end)) = (
            self.block_starts.get(index),
            self.block_starts.get(index + 1),
        ) else {
            return &[];
        };
        self.in_blocks
            .get(start as usize..end as usize)
            .unwrap_or_default()
    }

    /// All events, including those on edges.
    pub(super) fn all(&self) -> impl Iterator<Item = &Event> + Clone {
        self.in_blocks
            .iter()
            .chain(self.on_edges.values().map(|on_edge| &on_edge.event))
    }

    /// The action of a barrier.
    pub(super) fn barrier(&self, number: u32) -> Option<Action> {
        self.barriers.get(number as usize).copied().flatten()
    }

    /// The blocks whose branches depend on the thread and decide whether a block is executed, from the innermost to the outermost.
    pub(super) fn decided_by_thread(&self, block: BlockId) -> &[BlockId] {
        self.deciders.get(&block).map_or(&[], |d| &d.by_thread)
    }

    /// The blocks whose branches depend on parameters of the kernel alone and decide whether a block is executed, from the innermost to the outermost.
    pub(super) fn decided_by_parameters(&self, block: BlockId) -> &[BlockId] {
        self.deciders.get(&block).map_or(&[], |d| &d.by_parameters)
    }

    /// The event that happens on all edges from one block to another.
    pub(super) fn on_edge(&self, cfg: &Cfg, from: BlockId, to: BlockId) -> Option<&Event> {
        let EdgeEvent { when, event } = self.on_edges.get(&from)?;
        cfg.out_edges(from)
            .filter(|(_, edge)| edge.to == to)
            .all(|(_, edge)| edge.when == Some(*when))
            .then_some(event)
    }

    /// The position of an instruction in the text.
    pub(super) fn order(&self, inst: InstId) -> u32 {
        let position = self.positions.get(inst.index());
        position.copied().unwrap_or(u32::MAX)
    }

    pub(super) fn operation(&self, number: u32) -> Option<&Operation> {
        self.operations.get(number as usize)
    }
}
