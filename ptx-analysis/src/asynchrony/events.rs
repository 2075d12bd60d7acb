//! The instructions that matter to asynchronous operations, in the order of the blocks.

use alloc::vec::Vec;

use ptx_ir::InstId;
use ptx_ir::facts::FunctionFacts;

use super::collect::Collector;
use super::mechanism::Mechanism;
use super::places::Place;
use crate::cfg::BlockId;
use crate::function_analysis::FunctionAnalysis;

/// An asynchronous operation: an instruction that starts one.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) inst: InstId,
    pub(super) mechanism: Mechanism,
    pub(super) loads_tensor_memory: bool,
    /// The variables of the registers that it writes and of those that it reads when it is executed, in order.
    pub(super) written: Vec<u32>,
    pub(super) read: Vec<u32>,
    /// The memory that it writes and reads; of tensor memory, what a load reads and a store writes.
    pub(super) destination: Option<Place>,
    pub(super) source: Option<Place>,
}

/// An access to a variable in shared memory.
#[derive(Copy, Clone, Debug)]
pub(super) struct Access {
    pub(super) place: Place,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Whether an asynchronous operation accesses it, through the async proxy.
    pub(super) asynchronous: bool,
}

/// What happens.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Registers that operations use are read and written, by their variables.
    Registers {
        reads: Vec<u32>,
        writes: Vec<u32>,
        is_move: bool,
    },
    Memory(Access),
    /// An operation starts, by its number.
    Start(u32),
    Commit(Mechanism),
    Report(Mechanism),
    Wait(Mechanism, Option<u32>),
    WarpgroupFence,
    /// A fence between the generic and the async proxy.
    ProxyFence,
    /// Threads wait for others, at a barrier with this number.
    Barrier(u32),
    Initialize(Place),
    Invalidate(Place),
    /// An mbarrier object is used, and waited for.
    Object(Place),
    Await(Place),
    Allocate,
    Free,
    Relinquish,
    /// A function is called, or the instruction is not known.
    Call,
}

/// Something that an instruction does.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) inst: InstId,
    /// Whether it may be skipped because of a guard.
    pub(super) conditional: bool,
    pub(super) kind: Kind,
}

/// All that matters in a function.
#[derive(Debug)]
pub(super) struct Events {
    pub(super) operations: Vec<Operation>,
    /// The number of variables in memory.
    pub(super) roots: usize,
    pub(super) is_kernel: bool,
    list: Vec<Event>,
    /// Where the events of each block start.
    starts: Vec<u32>,
    /// The positions of instructions, if edits changed their order.
    positions: Vec<u32>,
}

impl Events {
    /// The events of a function; `None` if it has no asynchronous operations.
    pub(super) fn new(facts: FunctionFacts<'_>, analysis: &FunctionAnalysis) -> Option<Self> {
        let mut collector = Collector::new(facts, analysis)?;
        let body = facts.body();
        let mut starts = Vec::with_capacity(analysis.cfg().len() + 1);
        let mut positions = vec![u32::MAX; body.insts().count()];
        let mut next = 0;
        for (_, block) in analysis.cfg().blocks() {
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
        Some(Self {
            is_kernel: collector.is_kernel,
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
    pub(super) fn all(&self) -> &[Event] {
        &self.list
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
