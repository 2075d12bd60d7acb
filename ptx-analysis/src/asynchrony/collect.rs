//! What instructions do to asynchronous operations, from the facts about them.

use alloc::vec::Vec;

use ptx_ir::facts::{Facts, Flow, FunctionFacts, MemoryAccess, RegAccess, Space};
use ptx_ir::{FunctionKind, InstId, Operand, StmtId};
use ptx_isa::{Action, Proxy, StateSpace};

use super::events::{Access, Event, Kind, Operation};
use super::mechanism::{Mechanism, Phase, phases};
use super::places::{Place, Places};
use crate::dataflow::BitSet;
use crate::fold::is_copy;
use crate::function_analysis::FunctionAnalysis;
use crate::reg_lanes::Variables;

/// Collects the events of a function.
pub(super) struct Collector<'a> {
    facts: FunctionFacts<'a>,
    variables: &'a Variables,
    pub(super) places: Places<'a>,
    /// The registers that operations access after their instruction.
    registers: BitSet,
    pub(super) operations: Vec<Operation>,
    pub(super) events: Vec<Event>,
    barriers: u32,
    pub(super) is_kernel: bool,
}

/// Whether an instruction belongs to a protocol.
fn is_relevant(facts: Facts<'_>) -> bool {
    !facts.asynchronous().is_empty()
        || object_kind(facts.action()).is_some()
        || tensor_kind(facts.action()).is_some()
}

fn tensor_kind(action: Option<Action>) -> Option<Kind> {
    Some(match action? {
        Action::TensorAllocate => Kind::Allocate,
        Action::TensorFree => Kind::Free,
        Action::TensorRelinquish => Kind::Relinquish,
        _ => return None,
    })
}

/// What is done to an mbarrier object.
fn object_kind(action: Option<Action>) -> Option<fn(Place) -> Kind> {
    Some(match action? {
        Action::MbarrierInit => Kind::Initialize,
        Action::MbarrierInvalidate => Kind::Invalidate,
        Action::MbarrierExpect
        | Action::MbarrierComplete
        | Action::MbarrierArrive
        | Action::MbarrierDrop
        | Action::CopyArrive => Kind::Object,
        Action::MbarrierTest | Action::MbarrierWait => Kind::Await,
        _ => return None,
    })
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
    pub(super) fn new(facts: FunctionFacts<'a>, analysis: &'a FunctionAnalysis) -> Option<Self> {
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
            places: Places::new(facts, analysis),
            registers,
            operations: Vec::new(),
            events: Vec::new(),
            barriers: 0,
            is_kernel: function.is_some_and(|f| f.kind == FunctionKind::Entry),
        })
    }

    /// Adds what an instruction does, accesses first.
    pub(super) fn instruction(&mut self, stmt: StmtId, inst: InstId) {
        let facts = self.facts.inst(inst);
        let mut kinds = Vec::new();
        if facts.action() != Some(Action::WarpgroupMultiply) {
            let is_move = self.is_move(facts, inst);
            kinds.extend(self.registers(facts, is_move));
        }
        for access in facts.memory() {
            kinds.extend(self.memory(facts, stmt, &access));
        }
        self.phases(facts, stmt, inst, &mut kinds);
        kinds.extend(tensor_kind(facts.action()));
        kinds.extend(match facts.action() {
            Some(Action::WarpgroupFence) => Some(Kind::WarpgroupFence),
            _ if facts.is_fence() && facts.proxy() == Proxy::Async => Some(Kind::ProxyFence),
            _ if facts.is_barrier() => {
                self.barriers += 1;
                Some(Kind::Barrier(self.barriers - 1))
            }
            _ if may_do_anything(facts) => Some(Kind::Call),
            _ => None,
        });
        let conditional = facts.guard().is_some();
        self.events.extend(kinds.into_iter().map(|kind| Event {
            inst,
            conditional,
            kind,
        }));
    }

    /// Whether an instruction only moves registers: to others, or to the stack. Compilers emit them between an operation and its wait, and
    /// ptxas renames registers or delays the moves.
    fn is_move(&self, facts: Facts<'_>, inst: InstId) -> bool {
        let mut accesses = facts.memory().peekable();
        if accesses.peek().is_some() {
            return accesses.all(|a| a.space == Space::State(StateSpace::Local));
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
                    if mention.usage.reads() && !is_move {
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

    /// An access to shared memory, or to an object in it.
    fn memory(&mut self, facts: Facts<'_>, stmt: StmtId, access: &MemoryAccess) -> Option<Kind> {
        let is_shared = match access.space {
            Space::State(space) => space.base() == StateSpace::Shared,
            Space::Generic => true,
            _ => false,
        };
        if !is_shared {
            return None;
        }
        let place = self.places.of(stmt, access);
        if access.is_mbarrier {
            return Some(object_kind(facts.action()).unwrap_or(Kind::Object)(place));
        }
        let starts = !facts.asynchronous().is_empty();
        let asynchronous = starts && access.proxy == Proxy::Async;
        // What an operation writes is accessed later.
        (!starts || asynchronous && access.reads()).then_some(Kind::Memory(Access {
            place,
            reads: access.reads(),
            writes: access.writes(),
            asynchronous,
        }))
    }

    fn phases(&mut self, facts: Facts<'a>, stmt: StmtId, inst: InstId, kinds: &mut Vec<Kind>) {
        for (mechanism, phase) in phases(facts, self.facts.body().pool()) {
            kinds.push(match phase {
                Phase::Start => Kind::Start(self.operation(facts, stmt, inst, mechanism)),
                Phase::Commit => Kind::Commit(mechanism),
                Phase::Report => Kind::Report(mechanism),
                Phase::Wait(groups) => Kind::Wait(mechanism, groups),
            });
        }
    }

    /// Adds an operation and returns its number.
    fn operation(
        &mut self,
        facts: Facts<'_>,
        stmt: StmtId,
        inst: InstId,
        mechanism: Mechanism,
    ) -> u32 {
        let mut operation = Operation {
            inst,
            mechanism,
            loads_tensor_memory: facts.action() == Some(Action::TensorLoad),
            written: Vec::new(),
            read: Vec::new(),
            destination: None,
            source: None,
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
        for access in facts.memory().filter(|a| !a.is_mbarrier) {
            let place = Some(self.places.of(stmt, &access));
            match access.writes() {
                true => operation.destination = place,
                false => operation.source = place,
            }
        }
        self.operations.push(operation);
        self.operations.len() as u32 - 1
    }
}

/// Whether an instruction may do anything to asynchronous operations.
fn may_do_anything(facts: Facts<'_>) -> bool {
    matches!(facts.flow(), Flow::Call | Flow::Unknown)
}
