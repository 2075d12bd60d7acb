//! Collection of the events of a function from the facts about its instructions.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::{Facts, Flow, FunctionFacts, MemoryAccess, RegAccess, Space};
use ptx_ir::{EntityId as _, FunctionKind, InstId, Operand, StmtId};
use ptx_isa::{Action, Marks, Modifier, Proxy, StateSpace};

use super::events::{Access, EdgeEvent, Event, Events, Kind, Matrix, Operation, ParityWait};
use super::kinds::{cluster_kind, is_beyond_cta, is_relevant, may_do_anything, object_kind};
use super::mechanism::{Mechanism, Step, steps};
use super::place::Place;
use super::places::Places;
use super::selection::Deciders;
use crate::cfg::{Block, BlockId, Cfg};
use crate::dataflow::BitSet;
use crate::function_dataflow::FunctionDataflow;
use crate::reg_lanes::Variables;
use crate::values::LaunchBounds;
use ptx_semantics::internals::is_copy;

/// The lanes of a warp.
const LANES: u64 = 32;

/// Collects the events of a function; `None` if it has no asynchronous operations.
pub(super) fn collect_events(analysis: &FunctionDataflow<'_>) -> Option<Events> {
    let mut collector = Collector::new(analysis)?;
    let body = analysis.body();
    let mut block_starts = Vec::with_capacity(analysis.cfg().len() + 1);
    let mut positions = vec![u32::MAX; body.inst_table().len()];
    let mut next_position = 0;
    for (id, block) in analysis.cfg().blocks() {
        collector.begin_block(id, block);
        block_starts.push(collector.events.len() as u32);
        for (stmt, inst) in block.insts(body) {
            if let Some(position) = positions.get_mut(inst.index()) {
                *position = next_position;
            }
            next_position += 1;
            collector.add_instruction(stmt, inst);
        }
    }
    block_starts.push(collector.events.len() as u32);
    collector.find_matrices();
    Some(Events {
        is_kernel: collector.is_kernel,
        is_one_thread: collector.places.is_one_thread(),
        has_several_warps: requires_several_warps(analysis.facts()),
        on_edges: collector.on_edges,
        barriers: collector.barriers,
        deciders: collector.all_deciders,
        parity_waits: collector.parity_waits,
        operations: collector.operations,
        roots: collector.places.root_count(),
        in_blocks: collector.events,
        block_starts,
        positions,
    })
}

/// Whether a kernel requires more threads than a warp has.
fn requires_several_warps(facts: FunctionFacts<'_>) -> bool {
    let required = LaunchBounds::of(facts).threads;
    required.is_some_and(|sizes| sizes.into_iter().map(u64::from).product::<u64>() > LANES)
}

/// The events that were collected so far, with the block and the instruction that are examined.
struct Collector<'a> {
    facts: FunctionFacts<'a>,
    variables: &'a Variables,
    places: Places<'a>,
    /// The variables of the registers that operations access after their instruction.
    registers: BitSet,
    operations: Vec<Operation>,
    events: Vec<Event>,
    on_edges: BTreeMap<BlockId, EdgeEvent>,
    parity_waits: Vec<ParityWait>,
    barriers: Vec<Option<Action>>,
    /// The deciders of each block that has some.
    all_deciders: BTreeMap<BlockId, Deciders>,
    /// The block.
    block: BlockId,
    /// The deciders of the block.
    deciders: Deciders,
    /// The last instruction of the block.
    last_instruction: Option<(StmtId, InstId)>,
    /// Only some threads of the CTA execute the instruction.
    is_selected: bool,
    /// The guard of the instruction depends on parameters of the kernel alone.
    guarded_by_parameters: bool,
    /// Operations access global memory through the async proxy.
    follows_global: bool,
    is_kernel: bool,
}

/// Whether an operation accesses a register after its instruction was executed: a product those of its matrices, a load from tensor memory those
/// that it writes.
fn is_accessed_later(facts: Facts<'_>, operand: Operand, usage: RegAccess) -> bool {
    match facts.action() {
        Some(Action::WarpgroupMultiply) => matches!(operand, Operand::Vector(_)),
        Some(Action::TensorLoad) => usage.writes(),
        _ => false,
    }
}

impl<'a> Collector<'a> {
    /// A collector, if any instruction of the function belongs to a protocol.
    fn new(analysis: &'a FunctionDataflow<'a>) -> Option<Self> {
        let facts = analysis.facts();
        let insts = || facts.body().insts().map(|(id, _)| facts.inst(id));
        if !insts().any(is_relevant) {
            return None;
        }
        let variables = analysis.variables();
        let mut registers = BitSet::new(variables.len() as u32);
        for inst in insts() {
            for (operand, usage) in inst.parts() {
                if is_accessed_later(inst, operand, usage) {
                    for variable in inst.places(&operand).flat_map(|p| variables.of(p)) {
                        registers.insert(variable.as_u32());
                    }
                }
            }
        }
        let function = facts.module().functions().get(facts.id());
        Some(Self {
            facts,
            variables,
            places: Places::new(analysis),
            registers,
            operations: Vec::new(),
            events: Vec::new(),
            on_edges: BTreeMap::new(),
            parity_waits: Vec::new(),
            barriers: Vec::new(),
            all_deciders: BTreeMap::new(),
            block: Cfg::ENTRY,
            deciders: Deciders::default(),
            last_instruction: None,
            is_selected: false,
            guarded_by_parameters: false,
            follows_global: insts().any(|i| i.proxy() == Proxy::Async),
            is_kernel: function.is_some_and(|f| f.kind == FunctionKind::Entry),
        })
    }

    /// Makes `block` the current block.
    fn begin_block(&mut self, id: BlockId, block: &Block) {
        self.block = id;
        self.deciders = self
            .places
            .conditions()
            .map_or_else(Deciders::default, |conditions| conditions.deciders(id));
        if !self.deciders.is_empty() {
            self.all_deciders.insert(id, self.deciders.clone());
        }
        self.last_instruction = block.insts(self.facts.body()).next_back();
    }

    /// Adds the events of an instruction, accesses first.
    fn add_instruction(&mut self, stmt: StmtId, inst: InstId) {
        let facts = self.facts.inst(inst);
        let mut kinds = Vec::new();
        let guard_conditions = facts.guard().and(self.places.conditions());
        self.is_selected = !self.deciders.by_thread.is_empty()
            || guard_conditions.is_some_and(|conditions| conditions.is_guarded_by_thread(stmt));
        self.guarded_by_parameters =
            guard_conditions.is_some_and(|conditions| conditions.is_guarded_by_parameters(stmt));
        if facts.action() != Some(Action::WarpgroupMultiply) {
            let is_move = self.is_move(facts, inst);
            kinds.extend(self.registers(facts, is_move));
        }
        for access in facts.memory() {
            kinds.extend(self.memory(facts, stmt, &access));
        }
        self.add_steps(facts, stmt, inst, &mut kinds);
        kinds.extend(self.tensor_memory(facts, stmt));
        kinds.extend(self.synchronization(facts));
        kinds.extend(cluster_kind(facts.action()));
        if facts.action() == Some(Action::ClusterArrive) && facts.has_modifier(Modifier::Relaxed) {
            kinds.push(Kind::RelaxedArrive);
        }
        kinds.extend(self.map_fence(facts, stmt));
        if facts.action() == Some(Action::MbarrierArrive) && !facts.has_modifier(Modifier::ExpectTx)
        {
            kinds.extend(self.object(facts, stmt).map(Kind::Signal));
        }
        for kind in kinds {
            let event = self.event(facts, inst, kind);
            self.events.push(event);
        }
    }

    /// An event of the current instruction.
    fn event(&self, facts: Facts<'_>, inst: InstId, kind: Kind) -> Event {
        Event {
            inst,
            block: self.block,
            conditional: facts.guard().is_some(),
            selected: self.is_selected,
            guarded_by_parameters: self.guarded_by_parameters,
            kind,
        }
    }

    /// The event of a fence, a barrier or a call.
    fn synchronization(&mut self, facts: Facts<'_>) -> Option<Kind> {
        Some(match facts.action() {
            Some(Action::WarpgroupFence) => Kind::WarpgroupFence,
            Some(Action::TensorFenceBefore) => Kind::TensorFenceBefore,
            Some(Action::TensorFenceAfter) => Kind::TensorFenceAfter,
            _ if facts.is_fence() && facts.proxy() == Proxy::Async => {
                let shared = facts.has_modifier(Modifier::SharedCta)
                    || facts.has_modifier(Modifier::SharedCluster);
                let global = facts.has_modifier(Modifier::Global);
                // A fence that names no memory orders accesses to all memory.
                Kind::ProxyFence {
                    shared: shared || !global,
                    global: global || !shared,
                }
            }
            Some(Action::ClusterArrive) => self.barrier(facts),
            _ if facts.is_fence() && is_beyond_cta(facts) => Kind::ScopeFence,
            _ if facts.is_barrier() => self.barrier(facts),
            _ if may_do_anything(facts) => Kind::Call,
            _ => return None,
        })
    }

    /// The event of a barrier, which gets the next number.
    fn barrier(&mut self, facts: Facts<'_>) -> Kind {
        self.barriers.push(facts.action());
        Kind::Barrier(self.barriers.len() as u32 - 1)
    }

    /// The event of a fence for tensor maps.
    fn map_fence(&mut self, facts: Facts<'_>, stmt: StmtId) -> Option<Kind> {
        if !facts.is_fence() || facts.proxy() != Proxy::Tensormap {
            return None;
        }
        match facts.order()? {
            Modifier::Acquire => {
                let pool = self.facts.body().pool();
                let mut access = MemoryAccess::ANY;
                (access.base, access.offset) = match facts.parts().next()?.0 {
                    Operand::Address(id) => {
                        let address = pool.address(id)?;
                        (Some(address.base), address.byte_offset(pool))
                    }
                    other => (Some(other), Some(0)),
                };
                Some(Kind::MapAcquire(self.places.place(stmt, &access)))
            }
            _ => Some(Kind::MapRelease),
        }
    }

    /// The event of an allocation or deallocation of tensor memory.
    fn tensor_memory(&mut self, facts: Facts<'_>, stmt: StmtId) -> Option<Kind> {
        Some(match facts.action()? {
            Action::TensorAllocate => {
                let slot = facts.memory().next();
                let place = slot.map(|access| self.places.place(stmt, &access));
                Kind::Allocate(place, self.last_number(facts, stmt))
            }
            Action::TensorFree => {
                let address = facts.parts().next().map(|(operand, _)| operand);
                let slot = address.and_then(|operand| self.places.loaded_root(stmt, operand));
                Kind::Free(self.last_number(facts, stmt), slot)
            }
            Action::TensorRelinquish => Kind::Relinquish,
            _ => return None,
        })
    }

    /// The value of the last operand of a statement, if it is always the same.
    fn last_number(&self, facts: Facts<'_>, stmt: StmtId) -> Option<u64> {
        let (operand, _) = facts.parts().last()?;
        self.places.constant(stmt, operand)
    }

    /// Whether an instruction only moves registers: to other registers, or to the stack. Compilers emit moves between an operation and its wait,
    /// and ptxas renames the registers or delays the moves.
    fn is_move(&self, facts: Facts<'_>, inst: InstId) -> bool {
        let mut accesses = facts.memory().peekable();
        if accesses.peek().is_some() {
            return accesses.all(|a| a.space == Space::State(StateSpace::Local));
        }
        // A move that splits a register cannot be replaced by renaming.
        if facts
            .parts()
            .any(|(operand, usage)| matches!(operand, Operand::Vector(_)) && usage.writes())
        {
            return false;
        }
        self.facts
            .body()
            .inst(inst)
            .map(|i| self.facts.module().signatures().get(i.sig))
            .and_then(|signature| signature.opcode())
            .is_some_and(is_copy)
    }

    /// The event of an access to registers that operations access later.
    fn registers(&self, facts: Facts<'_>, is_move: bool) -> Option<Kind> {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for mention in facts.registers() {
            for variable in self.variables.of(mention.place) {
                if self.registers.contains(variable.as_u32()) {
                    if mention.usage.reads() {
                        reads.push(variable);
                    }
                    if mention.usage.may_write() || mention.usage.writes() {
                        writes.push(variable);
                    }
                }
            }
        }
        (!reads.is_empty() || !writes.is_empty()).then_some(Kind::Registers {
            reads,
            writes,
            is_move,
        })
    }

    /// The event of an access to shared memory, to an object in it, or through a pointer.
    fn memory(&mut self, facts: Facts<'_>, stmt: StmtId, access: &MemoryAccess) -> Option<Kind> {
        let space = match access.space {
            Space::State(space) => Some(space.base()),
            Space::Generic => None,
            _ => return None,
        };
        let is_global = space == Some(StateSpace::Global);
        if space.is_some_and(|s| s != StateSpace::Shared) && !(is_global && self.follows_global) {
            return None;
        }
        let place = self.places.place(stmt, access);
        if access.is_mbarrier
            && let Some(place) = self.places.remote_place(stmt, access)
        {
            return Some(Kind::RemoteObject(place));
        }
        if access.is_mbarrier {
            return Some(object_kind(facts.action()).unwrap_or(Kind::Object)(place));
        }
        if is_map(facts, access) {
            return if access.writes() {
                Some(Kind::MapWrite(place))
            } else {
                (!facts.asynchronous().is_empty()).then_some(Kind::MapRead(place))
            };
        }
        let starts_operation = !facts.asynchronous().is_empty();
        let asynchronous = starts_operation && access.proxy == Proxy::Async;
        // An allocation stores the address of tensor memory; it has a separate event.
        let is_allocation = facts.action() == Some(Action::TensorAllocate);
        if is_global && place.root.is_none() || is_allocation {
            return None;
        }
        // An operation writes its destination after its instruction.
        (!starts_operation || asynchronous && access.reads()).then_some(Kind::Memory(Access {
            place,
            reads: access.reads(),
            writes: access.writes(),
            asynchronous,
            is_shared: !is_global,
        }))
    }

    /// Adds the events that start, commit and await operations, and those that add bytes to mbarrier objects.
    fn add_steps(&mut self, facts: Facts<'a>, stmt: StmtId, inst: InstId, kinds: &mut Vec<Kind>) {
        for (mechanism, step) in steps(facts, self.facts.body().pool()) {
            match step {
                Step::Start => self.start_operations(facts, stmt, inst, mechanism, kinds),
                Step::Commit => {
                    kinds.push(Kind::Commit(mechanism));
                    if mechanism == Mechanism::Bulk {
                        kinds.push(Kind::Commit(Mechanism::BulkWrites));
                    }
                }
                Step::Report => kinds.push(Kind::Report(mechanism, self.object(facts, stmt))),
                Step::Wait(_) if mechanism == Mechanism::Mbarrier => {
                    kinds.extend(self.mbarrier_wait(facts, stmt, inst));
                }
                Step::Wait(groups) => {
                    kinds.push(Kind::Wait(mechanism, groups));
                    if mechanism == Mechanism::Bulk && !facts.has_modifier(Modifier::Read) {
                        kinds.push(Kind::Wait(Mechanism::BulkWrites, groups));
                    }
                }
            }
        }
        if facts.has_modifier(Modifier::ExpectTx) || facts.action() == Some(Action::MbarrierExpect)
        {
            let bytes = self.last_number(facts, stmt);
            if let Some(object) = self.object(facts, stmt) {
                kinds.push(Kind::Expect(object, bytes));
            }
        }
    }

    /// Finds the first bytes of the matrices of all operations.
    fn find_matrices(&mut self) {
        let mut descriptors = Vec::new();
        for operation in self.operations.iter().filter(|o| !o.matrices.is_empty()) {
            for operand in self.facts.inst(operation.inst).marked(Marks::DESCRIPTOR) {
                if self.places.has_64_bits(operation.stmt, operand) {
                    descriptors.push((operation.stmt, operand));
                }
            }
        }
        let starts = self.places.matrix_starts(&descriptors);
        let matrices = self.operations.iter_mut().flat_map(|o| &mut o.matrices);
        for (matrix, start) in matrices.zip(starts) {
            matrix.start = start;
        }
    }

    /// The mbarrier object that an instruction uses.
    fn object(&mut self, facts: Facts<'_>, stmt: StmtId) -> Option<Place> {
        let access = facts.memory().find(|access| access.is_mbarrier)?;
        Some(self.places.place(stmt, &access))
    }

    /// The event of a wait for an mbarrier object: the phase is complete if the predicate that the instruction writes is true.
    ///
    /// If the branch at the end of the block tests the predicate, the phase is complete on one of its edges, and the event is added to that edge.
    /// There is no event if nothing that is executed depends on the predicate: then no thread waits.
    fn mbarrier_wait(&mut self, facts: Facts<'_>, stmt: StmtId, inst: InstId) -> Option<Kind> {
        let object = self.object(facts, stmt)?;
        let parity_operand = if facts.has_modifier(Modifier::Parity) {
            facts
                .parts()
                .filter(|(_, usage)| usage.reads())
                .nth(1)
                .map(|(operand, _)| operand)
        } else {
            None
        };
        let parity = parity_operand.and_then(|operand| self.places.constant(stmt, operand));
        if let Some(operand) = parity_operand {
            let access = facts.memory().find(|access| access.is_mbarrier)?;
            self.parity_waits.push(ParityWait {
                inst,
                block: self.block,
                object,
                parity: parity.map(|p| p & 1),
                first_parity: self.places.initial_constant(stmt, operand).map(|p| p & 1),
                is_cyclic: access
                    .base
                    .is_some_and(|base| self.places.is_repeating(stmt, base)),
            });
        }
        let kind = Kind::Phase(object, parity);
        let Some(predicate) = facts
            .results()
            .next()
            .and_then(|(operand, _)| facts.place(operand))
        else {
            return Some(kind);
        };
        let predicate_variable = self.variables.of(predicate).first();
        let written = self.places.definitions(stmt);
        if written.iter().all(|&value| !self.places.is_decisive(value)) {
            return None;
        }
        let (last_stmt, last_inst) = self.last_instruction?;
        let branch = self.facts.inst(last_inst);
        if last_stmt == stmt || branch.flow() == Flow::Next {
            return Some(kind);
        }
        let is_tested = branch
            .guard_register()
            .filter(|(register, _)| self.variables.of(*register).first() == predicate_variable)
            .and_then(|_| self.places.guard_value(last_stmt, predicate_variable))
            .is_some_and(|value| written.contains(&value));
        if !is_tested {
            return Some(kind);
        }
        let event = self.event(facts, inst, kind);
        self.on_edges
            .insert(self.block, EdgeEvent { when: true, event });
        None
    }

    /// Adds the operations that an instruction starts, and their events. A bulk copy is two operations, since its source and its destination are
    /// awaited separately.
    fn start_operations(
        &mut self,
        facts: Facts<'a>,
        stmt: StmtId,
        inst: InstId,
        mechanism: Mechanism,
        kinds: &mut Vec<Kind>,
    ) {
        let mut operation = self.operation(facts, stmt, inst, mechanism);
        if mechanism == Mechanism::Bulk
            && let Some(destination) = operation.destination.take()
        {
            let mut write = operation.clone();
            write.mechanism = Mechanism::BulkWrites;
            write.source = None;
            write.destination = Some(destination);
            kinds.push(self.start_operation(write));
        }
        kinds.push(self.start_operation(operation));
    }

    fn start_operation(&mut self, operation: Operation) -> Kind {
        let number = self.operations.len() as u32;
        self.operations.push(operation);
        Kind::Start(number)
    }

    /// The operation that an instruction starts, with all memory and registers that it accesses.
    fn operation(
        &mut self,
        facts: Facts<'_>,
        stmt: StmtId,
        inst: InstId,
        mechanism: Mechanism,
    ) -> Operation {
        let mut operation = Operation {
            stmt,
            inst,
            block: self.block,
            conditional: facts.guard().is_some(),
            selected: self.is_selected,
            mechanism,
            action: facts.action(),
            written: Vec::new(),
            read: Vec::new(),
            destination: None,
            source: None,
            tensor_writes: Vec::new(),
            tensor_reads: Vec::new(),
            object: self.object(facts, stmt),
            matrices: Vec::new(),
        };
        for (operand, usage) in facts.parts() {
            if !is_accessed_later(facts, operand, usage) {
                continue;
            }
            let variables = facts.places(&operand).flat_map(|p| self.variables.of(p));
            if usage.writes() || usage.may_write() {
                operation.written.extend(variables);
            } else {
                operation.read.extend(variables);
            }
        }
        operation.written.sort_unstable();
        operation.read.sort_unstable();
        if matches!(
            facts.action(),
            Some(Action::WarpgroupMultiply | Action::TensorMultiply | Action::TensorMemoryCopy)
        ) {
            for operand in facts.marked(Marks::DESCRIPTOR) {
                if self.places.has_64_bits(stmt, operand) {
                    operation.matrices.push(Matrix {
                        root: self.places.operand_root(stmt, operand),
                        start: None,
                    });
                }
            }
        }
        for access in facts
            .memory()
            .filter(|access| !access.is_mbarrier && !is_map(facts, access))
        {
            if access.operand.is_none() {
                continue;
            }
            let place = self.places.place(stmt, &access);
            if access.space == Space::Tensor {
                if access.writes() {
                    operation.tensor_writes.push(place);
                }
                if access.reads() {
                    operation.tensor_reads.push(place);
                }
            } else if access.writes() {
                operation.destination = Some(place);
            } else {
                operation.source = Some(place);
            }
        }
        operation
    }
}

/// Whether an access reads or writes a tensor map.
fn is_map(facts: Facts<'_>, access: &MemoryAccess) -> bool {
    facts
        .marked(Marks::TENSORMAP)
        .any(|operand| Some(operand) == access.operand)
}
