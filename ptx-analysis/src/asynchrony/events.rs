//! The instructions that matter to asynchronous operations, in the order of the blocks.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::FunctionFacts;
use ptx_ir::{InstId, StmtId};
use ptx_isa::Action;

use super::collect::Collector;
use super::mechanism::Mechanism;
use super::place::Place;
use crate::cfg::{BlockId, Cfg};
use crate::function_analysis::FunctionAnalysis;
use crate::values::LaunchBounds;

/// The lanes of a warp.
const LANES: u64 = 32;

/// An asynchronous operation: an instruction that starts one, or what one does in one memory, if it is waited for separately.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) stmt: StmtId,
    pub(super) inst: InstId,
    pub(super) block: BlockId,
    /// Whether a guard may skip it.
    pub(super) conditional: bool,
    /// Whether only some threads of the CTA execute it.
    pub(super) selected: bool,
    pub(super) mechanism: Mechanism,
    pub(super) action: Option<Action>,
    /// The variables of the registers that it writes and of those that it reads when it is executed, in order.
    pub(super) written: Vec<u32>,
    pub(super) read: Vec<u32>,
    /// The memory that it writes and reads.
    pub(super) destination: Option<Place>,
    pub(super) source: Option<Place>,
    /// The tensor memory that it writes and that it reads.
    pub(super) tensor_writes: Vec<Place>,
    pub(super) tensor_reads: Vec<Place>,
    /// The mbarrier object that it reports to.
    pub(super) object: Option<Place>,
    /// The matrices in shared memory that its descriptors describe.
    pub(super) matrices: Vec<Matrix>,
}

/// A matrix in shared memory.
#[derive(Copy, Clone, Debug)]
pub(super) struct Matrix {
    /// The variable that its descriptor is made of, if it is known.
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
    /// Whether an asynchronous operation accesses it, through the async proxy.
    pub(super) asynchronous: bool,
    pub(super) is_shared: bool,
}

/// A wait for the phase of an mbarrier object that has a parity.
#[derive(Copy, Clone, Debug)]
pub(super) struct ParityWait {
    pub(super) inst: InstId,
    pub(super) block: BlockId,
    pub(super) object: Place,
    /// The parity, if it is always the same.
    pub(super) parity: Option<u64>,
    /// The parity when it is waited for the first time.
    pub(super) first: Option<u64>,
    /// Whether the address of the object is one of a few, again and again.
    pub(super) repeats: bool,
}

/// What happens.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Registers that operations use are read and written, by their variables.
    Registers {
        reads: Vec<u32>,
        writes: Vec<u32>,
        /// Whether the instruction only moves them.
        is_move: bool,
    },
    Memory(Access),
    /// An operation starts, by its number.
    Start(u32),
    Commit(Mechanism),
    /// Those before it report to an mbarrier object.
    Report(Mechanism, Option<Place>),
    Wait(Mechanism, Option<u32>),
    /// The phase of an mbarrier object with this parity is complete.
    Phase(Place, Option<u64>),
    WarpgroupFence,
    /// A fence between the generic and the async proxy.
    ProxyFence {
        shared: bool,
        global: bool,
    },
    /// Tensor maps are changed, published, and acquired.
    MapWrite(Place),
    MapRelease,
    MapAcquire(Place),
    MapRead(Place),
    /// Threads wait for others, at a barrier with this number.
    Barrier(u32),
    /// Threads of the cluster arrive and wait.
    ClusterArrive,
    /// They arrive without a release of what they wrote.
    RelaxedArrive,
    /// A fence between this thread and others beyond the CTA.
    ScopeFence,
    ClusterWait,
    Initialize(Place),
    Invalidate(Place),
    /// An mbarrier object is used, and waited for.
    Object(Place),
    Await(Place),
    /// A thread arrives at an mbarrier object, for others that wait for it.
    Signal(Place),
    /// The object in another CTA that is at this place there is used.
    RemoteObject(Place),
    /// Bytes are added to what an object expects.
    Expect(Place, Option<u64>),
    /// Tensor memory: the address is stored there, and the number of columns.
    Allocate(Option<Place>, Option<u64>),
    /// The number of columns, and the variable that the address was loaded from.
    Free(Option<u64>, Option<u32>),
    Relinquish,
    TensorFenceBefore,
    TensorFenceAfter,
    /// A function is called, or the instruction is not known.
    Call,
}

/// Something that an instruction does.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) inst: InstId,
    pub(super) block: BlockId,
    /// Whether it may be skipped because of a guard.
    pub(super) conditional: bool,
    /// Whether only some threads of the CTA execute it.
    pub(super) selected: bool,
    /// Whether parameters of the kernel decide its guard.
    pub(super) by_launch: bool,
    pub(super) kind: Kind,
}

/// All that matters in a function.
#[derive(Debug)]
pub(super) struct Events {
    pub(super) operations: Vec<Operation>,
    /// The waits for a parity.
    pub(super) waits: Vec<ParityWait>,
    /// The number of variables in memory.
    pub(super) roots: usize,
    pub(super) is_kernel: bool,
    pub(super) is_one_thread: bool,
    /// Whether the kernel requires more threads than a warp has.
    pub(super) has_warps: bool,
    /// What happens where a block is left, with the value that the guard of its last instruction has then.
    on_edges: BTreeMap<BlockId, (bool, Event)>,
    list: Vec<Event>,
    /// Where the events of each block start.
    starts: Vec<u32>,
    /// What each barrier is, by its number.
    barriers: Vec<Option<Action>>,
    /// Of each block, the branches that decide whether it is executed: those that depend on the thread, and on parameters.
    decided: BTreeMap<BlockId, [Vec<BlockId>; 2]>,
    /// The positions of instructions, if edits changed their order.
    positions: Vec<u32>,
}

impl Events {
    /// The events of a function; `None` if it has no asynchronous operations.
    pub(super) fn new(analysis: &FunctionAnalysis<'_>) -> Option<Self> {
        let mut collector = Collector::new(analysis)?;
        let (facts, body) = (analysis.facts(), analysis.body());
        let mut starts = Vec::with_capacity(analysis.cfg().len() + 1);
        let mut positions = vec![u32::MAX; body.inst_table().len()];
        let mut next = 0;
        for (id, block) in analysis.cfg().blocks() {
            collector.begin(id, block);
            starts.push(collector.events.len() as u32);
            for (stmt, statement) in body.range(block.first, block.end) {
                if let ptx_ir::Statement::Inst(inst) = statement {
                    if let Some(position) = positions.get_mut(ptx_ir::EntityId::index(inst)) {
                        *position = next;
                    }
                    next += 1;
                    collector.instruction(stmt, inst);
                }
            }
        }
        starts.push(collector.events.len() as u32);
        collector.find_matrices();
        Some(Self {
            is_kernel: collector.is_kernel,
            is_one_thread: collector.places.is_one_thread(),
            has_warps: has_warps(facts),
            on_edges: collector.on_edges,
            barriers: collector.barriers,
            decided: collector.decided,
            waits: collector.waits,
            operations: collector.operations,
            roots: collector.places.roots(),
            list: collector.events,
            starts,
            positions,
        })
    }

    /// The events of a block.
    pub(super) fn of(&self, block: BlockId) -> &[Event] {
        let at = block.as_u32() as usize;
        let bound = |at: usize| self.starts.get(at).map_or(0, |&start| start as usize);
        self.list.get(bound(at)..bound(at + 1)).unwrap_or_default()
    }

    /// Every event.
    pub(super) fn all(&self) -> impl Iterator<Item = &Event> + Clone {
        self.list
            .iter()
            .chain(self.on_edges.values().map(|(_, event)| event))
    }

    /// What a barrier is.
    pub(super) fn barrier(&self, number: u32) -> Option<Action> {
        self.barriers.get(number as usize).copied().flatten()
    }

    /// The number of barriers.
    pub(super) fn barriers(&self) -> usize {
        self.barriers.len()
    }

    /// The blocks whose branches decide, by the thread, if a block is executed; the innermost first.
    pub(super) fn decided_by_thread(&self, block: BlockId) -> &[BlockId] {
        self.decided.get(&block).map_or(&[], |[of, _]| of)
    }

    /// The blocks whose branches decide, by parameters of the kernel, if a block is executed; the innermost first.
    pub(super) fn decided_by_launch(&self, block: BlockId) -> &[BlockId] {
        self.decided.get(&block).map_or(&[], |[_, of]| of)
    }

    /// What happens on an edge.
    pub(super) fn on_edge(&self, cfg: &Cfg, from: BlockId, to: BlockId) -> Option<&Event> {
        let (when, event) = self.on_edges.get(&from)?;
        let mut edges = cfg.out_edges(from).filter(|(_, edge)| edge.to == to);
        edges
            .all(|(_, edge)| edge.when == Some(*when))
            .then_some(event)
    }

    /// The place of an instruction in the text.
    pub(super) fn order(&self, inst: InstId) -> u32 {
        let position = self.positions.get(ptx_ir::EntityId::index(inst));
        position.copied().unwrap_or(u32::MAX)
    }

    pub(super) fn operation(&self, number: u32) -> Option<&Operation> {
        self.operations.get(number as usize)
    }
}

/// Whether a kernel requires more threads than a warp has.
fn has_warps(facts: FunctionFacts<'_>) -> bool {
    let required = LaunchBounds::of(facts).threads;
    required.is_some_and(|sizes| sizes.into_iter().map(u64::from).product::<u64>() > LANES)
}
