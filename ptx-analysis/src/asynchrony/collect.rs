//! What instructions do to asynchronous operations, from the facts about them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::facts::{Facts, Flow, FunctionFacts, MemoryAccess, RegAccess, Space};
use ptx_ir::{FunctionKind, InstId, Operand, Statement, StmtId};
use ptx_isa::{Action, Marks, Modifier, Proxy, StateSpace};

use super::events::{Access, Event, Kind, Matrix, Operation, ParityWait};
use super::kinds::{cluster_kind, is_beyond_cta, is_relevant, may_do_anything, object_kind};
use super::mechanism::{Mechanism, Phase, phases};
use super::place::Place;
use super::places::Places;
use crate::cfg::{Block, BlockId, Cfg};
use crate::dataflow::BitSet;
use crate::function_analysis::FunctionAnalysis;
use crate::reg_lanes::Variables;
use ptx_semantics::fold::is_copy;

/// Collects the events of a function.
pub(super) struct Collector<'a> {
    facts: FunctionFacts<'a>,
    variables: &'a Variables,
    pub(super) places: Places<'a>,
    /// The registers that operations access after their instruction.
    registers: BitSet,
    pub(super) operations: Vec<Operation>,
    pub(super) events: Vec<Event>,
    pub(super) on_edges: BTreeMap<BlockId, (bool, Event)>,
    pub(super) waits: Vec<ParityWait>,
    /// The block, and its last instruction.
    block: BlockId,
    deciders: [Vec<BlockId>; 2],
    /// Of each block, the branches that decide whether it is executed.
    pub(super) decided: BTreeMap<BlockId, [Vec<BlockId>; 2]>,
    /// Whether only some threads of the CTA execute the instruction.
    is_selected: bool,
    /// Whether parameters of the kernel decide the guard of the instruction.
    is_by_launch: bool,
    last: Option<(StmtId, InstId)>,
    pub(super) barriers: Vec<Option<Action>>,
    /// Whether operations access global memory through the async proxy.
    follows_global: bool,
    pub(super) is_kernel: bool,
}

/// The registers that an operation accesses after its instruction was executed: of a product those of its matrices, of a load from tensor
/// memory those that it writes.
fn is_accessed_later(facts: Facts<'_>, operand: Operand, usage: RegAccess) -> bool {
    match facts.action() {
        Some(Action::WarpgroupMultiply) => matches!(operand, Operand::Vector(_)),
        Some(Action::TensorLoad) => usage.writes(),
        _ => false,
    }
}

impl<'a> Collector<'a> {
    /// A collector, if any instruction of the function belongs to a protocol.
    pub(super) fn new(analysis: &'a FunctionAnalysis<'a>) -> Option<Self> {
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
                    let places = inst.places(&operand);
                    places.flat_map(|p| variables.of(p)).for_each(|v| {
                        registers.insert(v);
                    });
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
            waits: Vec::new(),
            block: Cfg::ENTRY,
            deciders: [Vec::new(), Vec::new()],
            decided: BTreeMap::new(),
            is_selected: false,
            is_by_launch: false,
            last: None,
            barriers: Vec::new(),
            follows_global: insts().any(|i| i.proxy() == Proxy::Async),
            is_kernel: function.is_some_and(|f| f.kind == FunctionKind::Entry),
        })
    }

    /// A block begins.
    pub(super) fn begin(&mut self, id: BlockId, block: &Block) {
        self.block = id;
        let conditions = self.places.conditions();
        self.deciders = conditions.map_or_else(Default::default, |c| c.deciders(id));
        if self.deciders.iter().any(|of| !of.is_empty()) {
            self.decided.insert(id, self.deciders.clone());
        }
        let mut range = self.facts.body().range(block.first, block.end).rev();
        self.last = range.find_map(|(stmt, statement)| match statement {
            Statement::Inst(inst) => Some((stmt, inst)),
            _ => None,
        });
    }

    /// Adds what an instruction does, accesses first.
    pub(super) fn instruction(&mut self, stmt: StmtId, inst: InstId) {
        let facts = self.facts.inst(inst);
        let mut kinds = Vec::new();
        let guarded = facts.guard().and(self.places.conditions());
        self.is_selected = !self.deciders[0].is_empty() || guarded.is_some_and(|c| c.selects(stmt));
        self.is_by_launch = guarded.is_some_and(|c| c.is_of_launch(stmt));
        if facts.action() != Some(Action::WarpgroupMultiply) {
            let is_move = self.is_move(facts, inst);
            kinds.extend(self.registers(facts, is_move));
        }
        for access in facts.memory() {
            kinds.extend(self.memory(facts, stmt, &access));
        }
        self.phases(facts, stmt, inst, &mut kinds);
        kinds.extend(self.tensor(facts, stmt));
        kinds.extend(self.synchronization(facts));
        kinds.extend(cluster_kind(facts.action()));
        let arrives = facts.action() == Some(Action::ClusterArrive);
        if arrives && facts.has_modifier(Modifier::Relaxed) {
            kinds.push(Kind::RelaxedArrive);
        }
        kinds.extend(self.map_fence(facts, stmt));
        if facts.action() == Some(Action::MbarrierArrive) && !facts.has_modifier(Modifier::ExpectTx)
        {
            kinds.extend(self.object(facts, stmt).map(Kind::Signal));
        }
        let (block, selected, by_launch) = (self.block, self.is_selected, self.is_by_launch);
        let conditional = facts.guard().is_some();
        self.events.extend(kinds.into_iter().map(|kind| Event {
            inst,
            block,
            conditional,
            selected,
            by_launch,
            kind,
        }));
    }

    /// Fences, barriers and calls.
    fn synchronization(&mut self, facts: Facts<'_>) -> Option<Kind> {
        Some(match facts.action() {
            Some(Action::WarpgroupFence) => Kind::WarpgroupFence,
            Some(Action::TensorFenceBefore) => Kind::TensorFenceBefore,
            Some(Action::TensorFenceAfter) => Kind::TensorFenceAfter,
            _ if facts.is_fence() && facts.proxy() == Proxy::Async => {
                let has = |modifier| facts.has_modifier(modifier);
                let shared = has(Modifier::SharedCta) || has(Modifier::SharedCluster);
                let global = has(Modifier::Global);
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

    fn barrier(&mut self, facts: Facts<'_>) -> Kind {
        self.barriers.push(facts.action());
        Kind::Barrier(self.barriers.len() as u32 - 1)
    }

    /// Fences for tensor maps.
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
                Some(Kind::MapAcquire(self.places.of(stmt, &access)))
            }
            _ => Some(Kind::MapRelease),
        }
    }

    /// What is done to tensor memory.
    fn tensor(&mut self, facts: Facts<'_>, stmt: StmtId) -> Option<Kind> {
        let integer = |this: &Self| {
            let last = facts.parts().last().map(|(operand, _)| operand);
            last.and_then(|operand| this.places.number_of(stmt, operand))
        };
        Some(match facts.action()? {
            Action::TensorAllocate => {
                let slot = facts.memory().next();
                let place = slot.map(|access| self.places.of(stmt, &access));
                Kind::Allocate(place, integer(self))
            }
            Action::TensorFree => {
                let mut parts = facts.parts();
                let address = parts.next().map(|(operand, _)| operand);
                let slot = address.and_then(|operand| self.places.loaded_from(stmt, operand));
                Kind::Free(integer(self), slot)
            }
            Action::TensorRelinquish => Kind::Relinquish,
            _ => return None,
        })
    }

    /// Whether an instruction only moves registers: to others, or to the stack. Compilers emit them between an operation and its wait, and
    /// ptxas renames registers or delays the moves.
    fn is_move(&self, facts: Facts<'_>, inst: InstId) -> bool {
        let mut accesses = facts.memory().peekable();
        if accesses.peek().is_some() {
            return accesses.all(|a| a.space == Space::State(StateSpace::Local));
        }
        // Parts of a register cannot be renamed.
        let takes_apart = |(operand, usage): (Operand, RegAccess)| {
            matches!(operand, Operand::Vector(_)) && usage.writes()
        };
        if facts.parts().any(takes_apart) {
            return false;
        }
        let signature = self.facts.body().inst(inst).map(|i| i.sig);
        let signature = signature.map(|s| self.facts.module().signatures().get(s));
        signature.and_then(|s| s.opcode()).is_some_and(is_copy)
    }

    /// Accesses to registers that operations access later.
    fn registers(&self, facts: Facts<'_>, is_move: bool) -> Option<Kind> {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for mention in facts.registers() {
            for variable in self.variables.of(mention.place) {
                if self.registers.contains(variable) {
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

    /// An access to shared memory, to an object in it, or through a pointer.
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
        let place = self.places.of(stmt, access);
        if access.is_mbarrier
            && let Some(place) = self.places.mapped(stmt, access)
        {
            return Some(Kind::RemoteObject(place));
        }
        if access.is_mbarrier {
            return Some(object_kind(facts.action()).unwrap_or(Kind::Object)(place));
        }
        if is_map(facts, access) {
            return match access.writes() {
                true => Some(Kind::MapWrite(place)),
                false => (!facts.asynchronous().is_empty()).then_some(Kind::MapRead(place)),
            };
        }
        let starts = !facts.asynchronous().is_empty();
        let asynchronous = starts && access.proxy == Proxy::Async;
        // The address of tensor memory is stored at an allocation, which is another event.
        let is_slot = facts.action() == Some(Action::TensorAllocate);
        if is_global && place.root.is_none() || is_slot {
            return None;
        }
        // What an operation writes is accessed later.
        (!starts || asynchronous && access.reads()).then_some(Kind::Memory(Access {
            place,
            reads: access.reads(),
            writes: access.writes(),
            asynchronous,
            is_shared: !is_global,
        }))
    }

    fn phases(&mut self, facts: Facts<'a>, stmt: StmtId, inst: InstId, kinds: &mut Vec<Kind>) {
        for (mechanism, phase) in phases(facts, self.facts.body().pool()) {
            match phase {
                Phase::Start => self.starts(facts, stmt, inst, mechanism, kinds),
                Phase::Commit => {
                    kinds.push(Kind::Commit(mechanism));
                    if mechanism == Mechanism::Bulk {
                        kinds.push(Kind::Commit(Mechanism::BulkWrites));
                    }
                }
                Phase::Report => kinds.push(Kind::Report(mechanism, self.object(facts, stmt))),
                Phase::Wait(_) if mechanism == Mechanism::Mbarrier => {
                    kinds.extend(self.awaited(facts, stmt, inst));
                }
                Phase::Wait(groups) => {
                    kinds.push(Kind::Wait(mechanism, groups));
                    if mechanism == Mechanism::Bulk && !facts.has_modifier(Modifier::Read) {
                        kinds.push(Kind::Wait(Mechanism::BulkWrites, groups));
                    }
                }
            }
        }
        if facts.has_modifier(Modifier::ExpectTx) || facts.action() == Some(Action::MbarrierExpect)
        {
            let bytes = facts.parts().last().map(|(operand, _)| operand);
            let bytes = bytes.and_then(|operand| self.places.number_of(stmt, operand));
            if let Some(object) = self.object(facts, stmt) {
                kinds.push(Kind::Expect(object, bytes));
            }
        }
    }

    /// Finds where the matrices of operations begin.
    pub(super) fn find_matrices(&mut self) {
        let mut descriptors = Vec::new();
        for operation in &self.operations {
            let facts = self.facts.inst(operation.inst);
            let wide = facts
                .marked(Marks::DESCRIPTOR)
                .filter(|_| !operation.matrices.is_empty());
            let wide = wide.filter(|o| self.places.is_wide(operation.stmt, *o));
            descriptors.extend(wide.map(|operand| (operation.stmt, operand)));
        }
        let starts = self.places.starts_of_matrices(&descriptors);
        let matrices = self.operations.iter_mut().flat_map(|o| &mut o.matrices);
        for (matrix, start) in matrices.zip(starts) {
            matrix.start = start;
        }
    }

    /// The mbarrier object that an instruction uses.
    fn object(&mut self, facts: Facts<'_>, stmt: StmtId) -> Option<Place> {
        let access = facts.memory().find(|access| access.is_mbarrier)?;
        Some(self.places.of(stmt, &access))
    }

    /// A phase is complete if the predicate is true: on one edge, if a branch at the end of the block tests it. A
    /// predicate on which nothing depends that is executed makes no thread wait.
    fn awaited(&mut self, facts: Facts<'_>, stmt: StmtId, inst: InstId) -> Option<Kind> {
        let object = self.object(facts, stmt)?;
        let parity = facts.has_modifier(Modifier::Parity).then(|| {
            let mut uses = facts.parts().filter(|(_, usage)| usage.reads()).skip(1);
            uses.next().map(|(operand, _)| operand)
        });
        let operand = parity.flatten();
        let parity = operand.and_then(|operand| self.places.number_of(stmt, operand));
        if let Some(operand) = operand {
            let access = facts.memory().find(|access| access.is_mbarrier)?;
            self.waits.push(ParityWait {
                inst,
                block: self.block,
                object,
                parity: parity.map(|p| p & 1),
                first: self.places.first_of(stmt, operand).map(|p| p & 1),
                repeats: access
                    .base
                    .is_some_and(|base| self.places.repeats(stmt, base)),
            });
        }
        let kind = Kind::Phase(object, parity);
        let Some(predicate) = facts.results().next().and_then(|(o, _)| facts.place(o)) else {
            return Some(kind);
        };
        let variable = self.variables.of(predicate).start;
        let written = self.places.written(stmt);
        if written.iter().all(|&value| !self.places.decides(value)) {
            return None;
        }
        let (last, branch) = self.last?;
        let of_branch = self.facts.inst(branch);
        if last == stmt || of_branch.flow() == Flow::Next {
            return Some(kind);
        }
        let tested = of_branch.guard_register();
        let tested = tested.filter(|(register, _)| self.variables.of(*register).start == variable);
        let value = tested.and_then(|_| self.places.guard(last, variable));
        if value.is_none_or(|value| !written.contains(&value)) {
            return Some(kind);
        }
        let event = Event {
            inst,
            block: self.block,
            conditional: facts.guard().is_some(),
            selected: self.is_selected,
            by_launch: self.is_by_launch,
            kind,
        };
        self.on_edges.insert(self.block, (true, event));
        None
    }

    /// Adds the operations that an instruction starts.
    fn starts(
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
            let mut writes = operation.clone();
            writes.mechanism = Mechanism::BulkWrites;
            writes.source = None;
            writes.destination = Some(destination);
            self.operations.push(writes);
            kinds.push(Kind::Start(self.operations.len() as u32 - 1));
        }
        self.operations.push(operation);
        let number = self.operations.len() as u32 - 1;
        kinds.push(Kind::Start(number));
    }

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
            match usage.writes() || usage.may_write() {
                true => operation.written.extend(variables),
                false => operation.read.extend(variables),
            }
        }
        operation.written.sort_unstable();
        operation.read.sort_unstable();
        if matches!(
            facts.action(),
            Some(Action::WarpgroupMultiply | Action::TensorMultiply | Action::TensorMemoryCopy)
        ) {
            let descriptors = facts.marked(Marks::DESCRIPTOR);
            let wide = descriptors.filter(|o| self.places.is_wide(stmt, *o));
            operation.matrices.extend(wide.map(|operand| Matrix {
                root: self.places.of_operand(stmt, operand),
                start: None,
            }));
        }
        for access in facts
            .memory()
            .filter(|a| !a.is_mbarrier && !is_map(facts, a))
        {
            if access.operand.is_none() {
                continue;
            }
            let place = self.places.of(stmt, &access);
            match (access.space, access.writes()) {
                (Space::Tensor, writes) => {
                    if writes {
                        operation.tensor_writes.push(place);
                    }
                    if access.reads() {
                        operation.tensor_reads.push(place);
                    }
                }
                (_, true) => operation.destination = Some(place),
                (_, false) => operation.source = Some(place),
            }
        }
        operation
    }
}

/// Whether a tensor map is accessed.
fn is_map(facts: Facts<'_>, access: &MemoryAccess) -> bool {
    facts
        .marked(Marks::TENSORMAP)
        .any(|o| Some(o) == access.operand)
}
