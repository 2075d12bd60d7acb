//! Execution of a thread of a kernel up to its next step.

use ptx_ir::Operand;
use ptx_ir::facts::{Facts, Flow, MemoryAccess, Targets};
use ptx_isa::{Access as AccessKind, Action, Modifier, ScalarType};
use ptx_semantics::internals;

use super::memory::Target;
use super::thread::is_clock;
use super::variables::{LOCAL_WINDOW, SHARED_STRIDE, SHARED_WINDOW};
use super::{Kernel, KernelThread, exchange, mbarrier};
use crate::event::ThreadPlace;
use crate::program::{ExchangedValue, Program, Step, Update, Value};
use crate::relation::EventSet;

/// The number of instructions that a thread executes between two steps.
const MAX_WORK: u32 = 1_000_000;

/// What an instruction does.
pub(super) enum Done {
    /// The thread continues with the next instruction, or where it branched to.
    Continue,
    Stop(Step),
}

impl Kernel<'_> {
    fn facts(&self, state: &KernelThread) -> Option<Facts<'_>> {
        let id = *self.code.instructions.get(state.next)?;
        Some(self.facts.inst(id))
    }

    pub(super) fn unsupported(&self, facts: &Facts<'_>) -> Done {
        let text = facts.signature().map_or("?", |signature| signature.text());
        Done::Stop(Step::Unsupported(format!("`{text}` cannot be explored")))
    }

    fn execute(&self, state: &mut KernelThread, facts: &Facts<'_>) -> Done {
        let guard = self.guard(state, facts);
        let is_pure = facts.flow() == Flow::Next
            && facts.action().is_none()
            && facts.memory().next().is_none()
            && !facts.has_side_effects();
        if is_pure {
            return if self.compute(state, facts) || self.address_of(state, facts, &guard) {
                state.next += 1;
                Done::Continue
            } else {
                self.unsupported(facts)
            };
        }
        match guard.bits {
            None => return Done::Stop(Step::Blocked(guard.dependencies)),
            Some(0) => {
                if facts.flow() != Flow::Next {
                    state.control.extend(&guard.dependencies);
                }
                state.next += 1;
                return Done::Continue;
            }
            Some(_) => {}
        }
        match facts.flow() {
            Flow::Next => {}
            Flow::Jump => {
                state.control.extend(&guard.dependencies);
                let target = match facts.targets() {
                    Targets::Label(label) => self.code.target(label),
                    _ => None,
                };
                let Some(target) = target else {
                    return self.unsupported(facts);
                };
                state.is_back = target <= state.next;
                state.next = target;
                return Done::Continue;
            }
            Flow::Return | Flow::Exit => return Done::Stop(Step::Exit),
            Flow::Trap => return Done::Stop(Step::Fault("a trap".to_owned())),
            _ => return self.unsupported(facts),
        }
        match facts.action() {
            Some(action) => self.act(state, facts, action, &guard),
            // Reads of clocks may not be removed.
            None if self.address_of(state, facts, &guard) => {
                state.next += 1;
                Done::Continue
            }
            None => self.access(state, facts, &guard),
        }
    }

    /// The address of a variable, or the time, that is copied to a register.
    fn address_of(&self, state: &mut KernelThread, facts: &Facts<'_>, guard: &Value) -> bool {
        let mut destinations = facts.destinations();
        let (Some(destination), None) = (destinations.next(), destinations.next()) else {
            return false;
        };
        let mut sources = facts.sources();
        let (Some(source), None, Some(1)) = (sources.next(), sources.next(), guard.bits) else {
            return false;
        };
        let value = match source.operand {
            Operand::Special(register) if is_clock(register) => Some(0),
            operand => self.variable_address(facts, operand),
        };
        let Some(value) = value else {
            return false;
        };
        self.load_register(
            state,
            facts,
            destination.operand,
            ScalarType::B64,
            Value::constant(value.into()),
        );
        true
    }

    /// The address of a variable that an operand names, with an offset.
    fn variable_address(&self, facts: &Facts<'_>, operand: Operand) -> Option<u64> {
        let pool = facts.body().pool();
        let (base, offset) = match operand {
            Operand::Address(id) => {
                let address = pool.address(id)?;
                (address.base, address.byte_offset(pool)?)
            }
            operand => (operand, 0),
        };
        Some(
            self.variables
                .home(base)?
                .address
                .wrapping_add_signed(offset),
        )
    }

    /// The value of a source of an instruction, by its number.
    pub(super) fn numbered_source(
        &self,
        state: &KernelThread,
        facts: &Facts<'_>,
        number: usize,
    ) -> Option<Value> {
        let operand = facts.source(number)?.operand;
        if let Some(address) = self.variable_address(facts, operand) {
            return Some(Value::constant(address.into()));
        }
        self.source(state, internals::source(facts.body(), operand, &[]))
    }

    pub(super) fn set_destination(
        &self,
        state: &mut KernelThread,
        facts: &Facts<'_>,
        value: Value,
    ) {
        if let Some(destination) = facts.destination(0) {
            let ty = destination.ty.unwrap_or(ScalarType::B64);
            self.load_register(state, facts, destination.operand, ty, value);
        }
    }

    /// Performs an action whose results are not a function of its operands.
    fn act(
        &self,
        state: &mut KernelThread,
        facts: &Facts<'_>,
        action: Action,
        guard: &Value,
    ) -> Done {
        match action {
            Action::Hint | Action::Sleep | Action::GridDependency | Action::CachePolicy => {}
            Action::WarpBarrier => return self.warp_barrier(state, facts, guard),
            Action::ToGeneric | Action::FromGeneric | Action::MapShared => {
                if !self.convert_address(state, facts, action) {
                    return self.unsupported(facts);
                }
            }
            Action::Fence => return self.fence(state, facts, guard),
            Action::BarrierSync
            | Action::BarrierArrive
            | Action::BarrierReduce
            | Action::ClusterArrive
            | Action::ClusterWait => return self.barrier(state, facts, action, guard),
            Action::MbarrierInit
            | Action::MbarrierArrive
            | Action::MbarrierDrop
            | Action::MbarrierExpect
            | Action::MbarrierComplete
            | Action::MbarrierTest
            | Action::MbarrierWait => return self.mbarrier_step(state, facts, action, guard),
            Action::CopyAsync
            | Action::CopyCommit
            | Action::CopyWait
            | Action::BulkCopy
            | Action::BulkReduce
            | Action::BulkCommit
            | Action::BulkWait
            | Action::StoreAsync
            | Action::ReduceAsync => {
                return self.asynchronous_step(state, facts, action, guard);
            }
            Action::CopyArrive => return self.copy_arrive(state, facts, guard),
            Action::MultimemLoad | Action::MultimemStore | Action::MultimemReduce => {
                return self.access(state, facts, guard);
            }
            _ if exchange::is_exchange(action) => return self.exchange_step(state, facts, guard),
            _ => return self.unsupported(facts),
        }
        state.next += 1;
        Done::Continue
    }

    /// Conversions between addresses of state spaces and generic addresses.
    fn convert_address(&self, state: &mut KernelThread, facts: &Facts<'_>, action: Action) -> bool {
        if facts.has_modifier(Modifier::Local) {
            return self.convert_local(state, facts, action);
        }
        let is_shared = [
            Modifier::Shared,
            Modifier::SharedCta,
            Modifier::SharedCluster,
        ]
        .into_iter()
        .any(|modifier| facts.has_modifier(modifier));
        let Some(source) = self.numbered_source(state, facts, 0) else {
            return false;
        };
        let mut dependencies = source.dependencies.clone();
        let mut bits = source.bits.map(|bits| bits as u64);
        match action {
            Action::ToGeneric if is_shared => {
                bits = bits.map(|bits| bits.wrapping_add(SHARED_WINDOW));
            }
            Action::FromGeneric if is_shared => {
                bits = bits.map(|bits| bits.wrapping_sub(SHARED_WINDOW));
            }
            Action::MapShared => {
                let Some(rank) = self.numbered_source(state, facts, 1) else {
                    return false;
                };
                dependencies.extend(&rank.dependencies);
                let window = if is_shared { 0 } else { SHARED_WINDOW };
                bits = bits.zip(rank.bits).map(|(bits, rank)| {
                    let offset = bits.wrapping_sub(window) % SHARED_STRIDE;
                    window + (rank as u64 + 1) * SHARED_STRIDE + offset
                });
            }
            _ => {}
        }
        let value = Value {
            bits: bits.map(u128::from),
            dependencies,
        };
        self.set_destination(state, facts, value);
        true
    }

    /// Conversions between addresses in local memory and generic addresses.
    fn convert_local(&self, state: &mut KernelThread, facts: &Facts<'_>, action: Action) -> bool {
        let Some(source) = self.numbered_source(state, facts, 0) else {
            return false;
        };
        let bits = source.bits.map(|bits| match action {
            Action::ToGeneric => (bits as u64).wrapping_add(LOCAL_WINDOW),
            _ => (bits as u64).wrapping_sub(LOCAL_WINDOW),
        });
        let value = Value {
            bits: bits.map(u128::from),
            ..source
        };
        self.set_destination(state, facts, value);
        true
    }

    /// A load, store, atomic operation or reduction.
    fn access(&self, state: &mut KernelThread, facts: &Facts<'_>, guard: &Value) -> Done {
        let mut accesses = facts.memory();
        let (Some(access), None) = (accesses.next(), accesses.next()) else {
            return self.unsupported(facts);
        };
        let Some(elements) = self.elements(facts, &access).or_else(|| {
            let ty = facts.sources().find_map(|source| source.ty)?;
            Some(super::memory::Elements {
                operands: vec![Operand::Sink],
                ty,
            })
        }) else {
            return self.unsupported(facts);
        };
        let Some(&operand) = elements.operands.get(state.element) else {
            state.element = 0;
            state.next += 1;
            return Done::Continue;
        };
        let bytes = u32::from(elements.ty.bits() / 8).max(1);
        let (target, address) = self.target(state, facts, &access, state.element as u64, bytes);
        let location = match target {
            Target::Location(location) => Some(location),
            Target::Unknown => None,
            Target::Parameter(start) => {
                let bits = self.parameter(start, bytes);
                if bits.is_none() {
                    return self.unsupported(facts);
                }
                let value = Value {
                    bits,
                    ..Value::default()
                };
                self.load_register(state, facts, operand, elements.ty, value);
                state.element += 1;
                return Done::Continue;
            }
            Target::Invalid(message) => return Done::Stop(Step::Fault(message)),
            Target::Unsupported(message) => return Done::Stop(Step::Unsupported(message)),
        };
        match access.access {
            AccessKind::Read => {
                let access = self.step_access(state, facts, &access, location, &[guard, &address]);
                Done::Stop(Step::Read(access))
            }
            AccessKind::Write => {
                let source = internals::source(facts.body(), operand, &[elements.ty]);
                let Some(value) = self.source(state, source) else {
                    return self.unsupported(facts);
                };
                let access =
                    self.step_access(state, facts, &access, location, &[guard, &address, &value]);
                state.element += 1;
                let mask = u128::MAX >> (128 - 8 * bytes.clamp(1, 16));
                Done::Stop(Step::Write(access, value.bits.map(|bits| bits & mask)))
            }
            AccessKind::ReadModifyWrite if elements.operands.len() == 1 => {
                let mut values = vec![guard.clone(), address];
                values.extend(self.operand_values(state, facts));
                let values: Vec<&Value> = values.iter().collect();
                Done::Stop(Step::Atomic {
                    access: self.step_access(state, facts, &access, location, &values),
                    is_reduction: facts.destination(0).is_none(),
                })
            }
            _ => self.unsupported(facts),
        }
    }

    /// The values of the sources of an atomic operation.
    pub(super) fn operand_values(&self, state: &KernelThread, facts: &Facts<'_>) -> Vec<Value> {
        facts
            .sources()
            .map(|source| {
                let types: Vec<ScalarType> = source.ty.into_iter().collect();
                let operand = internals::source(facts.body(), source.operand, &types);
                self.source(state, operand).unwrap_or_default()
            })
            .collect()
    }

    /// The single access of an instruction without an action.
    fn plain_access(&self, facts: &Facts<'_>) -> Option<MemoryAccess> {
        facts.memory().next()
    }
}

impl Program for Kernel<'_> {
    type Thread = KernelThread;

    fn places(&self) -> &[ThreadPlace] {
        &self.places
    }

    fn start(&self, thread: usize) -> KernelThread {
        KernelThread::new(thread)
    }

    fn next(&self, state: &mut KernelThread) -> Step {
        if state.asynchrony.is_task() {
            return self.task_step(state);
        }
        // Heads of loops do not reset the count, so that a loop that only computes ends.
        if !state.is_at_head {
            state.work = 0;
        }
        loop {
            if self.code.head(state.next).is_some() && state.element == 0 {
                if !state.is_at_head {
                    let iteration = state.visit_head(state.next);
                    state.is_at_head = true;
                    return Step::LoopHead(state.next as u32, iteration);
                }
                state.is_at_head = false;
            }
            let Some(facts) = self.facts(state) else {
                return Step::Exit;
            };
            if state.has_undefined_result {
                return Step::Unsupported(
                    "an exchange with a lane that takes no part in it".to_owned(),
                );
            }
            let position = (state.next, state.element);
            match self.execute(state, &facts) {
                Done::Continue => {}
                Done::Stop(step) => {
                    // A step that is repeated does not stop at the loop head again.
                    if (state.next, state.element) == position
                        && self.code.head(state.next).is_some()
                    {
                        state.is_at_head = true;
                    }
                    return step;
                }
            }
            state.work += 1;
            if state.work > MAX_WORK {
                return Step::Unsupported("a loop without memory accesses".to_owned());
            }
        }
    }

    fn receive(&self, state: &mut KernelThread, value: Value) {
        state.is_at_head = false;
        if state.asynchrony.is_task() {
            return self.receive_in_task(state, value);
        }
        let Some(facts) = self.facts(state) else {
            return;
        };
        match facts.action() {
            Some(Action::CopyArrive) => state.element = 1,
            Some(Action::MbarrierTest | Action::MbarrierWait) => {
                self.receive_test(state, &facts, value);
                state.next += 1;
            }
            Some(action) if mbarrier::is_update(action) => {
                self.set_destination(state, &facts, value);
                state.next += 1;
            }
            _ => {
                let is_atomic = self
                    .plain_access(&facts)
                    .is_some_and(|access| access.access == AccessKind::ReadModifyWrite);
                if is_atomic {
                    self.set_destination(state, &facts, value);
                    state.next += 1;
                    return;
                }
                let elements = self
                    .plain_access(&facts)
                    .and_then(|access| self.elements(&facts, &access));
                if let Some(elements) = elements
                    && let Some(&operand) = elements.operands.get(state.element)
                {
                    self.load_register(state, &facts, operand, elements.ty, value);
                }
                state.element += 1;
            }
        }
    }

    fn exchange(
        &self,
        state: &mut KernelThread,
        values: &[ExchangedValue],
        dependencies: &EventSet,
    ) {
        state.is_at_head = false;
        if let Some(facts) = self.facts(state)
            && !self.finish_exchange(state, &facts, values, dependencies)
        {
            state.has_undefined_result = true;
        }
    }

    fn asynchronous(&self, state: &KernelThread) -> KernelThread {
        self.started(state)
    }

    fn has_asynchronous_operations(&self) -> bool {
        self.code.is_asynchronous
    }

    fn update(&self, state: &KernelThread, old: u128) -> Update {
        if state.asynchrony.is_task() {
            return self.task_update(state, old);
        }
        let Some(facts) = self.facts(state) else {
            return Update::Nothing;
        };
        if facts.action().is_some_and(mbarrier::is_update) {
            return self.mbarrier_update(state, &facts, old as u64);
        }
        let operands: Vec<Option<u128>> = self
            .operand_values(state, &facts)
            .into_iter()
            .map(|value| value.bits)
            .collect();
        if operands.iter().any(Option::is_none) {
            return Update::Unknown;
        }
        let Some(signature) = facts.signature() else {
            return Update::Nothing;
        };
        let modifiers: Vec<Modifier> = signature.modifiers().collect();
        if modifiers.contains(&Modifier::Cas) {
            let width = facts
                .source(0)
                .and_then(|source| source.ty)
                .map_or(64, |ty| ty.bits());
            let mask = u128::MAX >> (128 - u32::from(width.clamp(1, 128)));
            let compared = operands.first().copied().flatten().unwrap_or(0) & mask;
            if compared != old & mask {
                return Update::Nothing;
            }
        }
        let new = signature
            .opcode()
            .and_then(|opcode| internals::fold_update(opcode, &modifiers, &operands, old));
        new.map_or(Update::Unknown, Update::Write)
    }

    fn is_same(&self, first: &KernelThread, second: &KernelThread) -> bool {
        let Some(live) = self.code.head(first.next) else {
            return false;
        };
        first.next == second.next
            && live.iter().all(|&place| {
                let bits = |state| self.value(state, place).map(|value| value.bits);
                match (bits(first), bits(second)) {
                    (Some(Some(first)), Some(Some(second))) => first == second,
                    (Some(None), Some(None)) => {
                        let write = first.unknown_write(place);
                        write.is_some() && write == second.unknown_write(place)
                    }
                    _ => false,
                }
            })
    }

    fn initial(&self, address: u64, bytes: u32) -> Option<u128> {
        self.variables.initial(address, bytes)
    }

    fn are_symmetric(&self, first: usize, second: usize) -> bool {
        let count = self.places.len();
        self.code.is_uniform && first < count && second < count
    }
}
