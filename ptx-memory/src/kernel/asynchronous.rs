//! Asynchronous copies, stores and reductions.
//!
//! An operation is a separate thread with a list of accesses: all reads, then all writes, then the report to an mbarrier object. Bulk copies access
//! memory by the async proxy, and an implicit proxy fence follows their reads and their writes (9.7.9.25.2). The change of the mbarrier object is
//! an operation by the generic proxy.

use std::sync::Arc;

use ptx_ir::Operand;
use ptx_ir::facts::{Facts, MemoryAccess};
use ptx_isa::{Access as AccessKind, Action, Modifier, Opcode, ScalarType};
use ptx_semantics::internals;

use super::memory::Target;
use super::step::Done;
use super::{Kernel, KernelThread, mbarrier};
use crate::event::{AddressRange, MemoryProxy, MemoryScope, Order};
use crate::program::{Step, ThreadAccess, Update, Value};
use crate::relation::EventSet;

/// The largest number of accesses of an operation to each of its ranges.
const MAX_ELEMENTS: u64 = 64;
/// The number of bytes of an access of a bulk copy.
const CHUNK: u64 = 16;

/// Where the value of a write comes from.
#[derive(Clone, Debug)]
enum Source {
    Value(Value),
    /// The read with this number.
    Read(usize),
}

/// A step of an operation.
#[derive(Clone, Debug)]
enum TaskStep {
    Read(ThreadAccess),
    /// A write of the lowest bytes of a value.
    Write(ThreadAccess, u32, Source),
    /// A reduction with a value.
    Reduce(ThreadAccess, Source),
    /// A number of arrivals at an mbarrier object, and of completed bytes.
    Report(ThreadAccess, u64, u64),
    ProxyFence,
}

/// An asynchronous operation.
#[derive(Debug, Default)]
pub(super) struct Task {
    steps: Vec<TaskStep>,
    /// The operation and the type of reductions.
    reduction: Vec<Modifier>,
    instruction: u32,
    /// The operations of the thread that come before it.
    follows: Vec<usize>,
    is_cumulative: bool,
}

/// Operations that a thread committed.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    uncommitted: Vec<usize>,
    /// The groups, the oldest one first.
    committed: Vec<Vec<usize>>,
}

impl Groups {
    fn commit(&mut self) {
        self.committed.push(std::mem::take(&mut self.uncommitted));
    }

    /// The operations of all groups but the latest ones.
    fn awaited(&self, pending: usize) -> Vec<usize> {
        let count = self.committed.len().saturating_sub(pending);
        self.committed
            .iter()
            .take(count)
            .flatten()
            .copied()
            .collect()
    }
}

/// What a thread knows about asynchronous operations.
#[derive(Clone, Debug, Default)]
pub(super) struct Asynchrony {
    /// The operation that the thread is, with the number of the next step and the values of its reads.
    task: Option<(Arc<Task>, usize, Vec<Value>)>,
    /// The number of operations that the thread started.
    started: usize,
    copies: Groups,
    /// All copies without a bulk group.
    all_copies: Vec<usize>,
    bulk: Groups,
    /// The operation that starts next.
    starting: Option<Arc<Task>>,
}

impl Asynchrony {
    pub(super) fn is_task(&self) -> bool {
        self.task.is_some()
    }
}

/// The locations and values from which the steps of an operation are made.
struct Builder<'a> {
    kernel: &'a Kernel<'a>,
    state: &'a KernelThread,
    facts: &'a Facts<'a>,
    guard: &'a Value,
    steps: Vec<TaskStep>,
    is_known: bool,
}

/// Why an operation cannot start.
enum Refusal {
    Unsupported,
    Step(Step),
}

impl Builder<'_> {
    fn access(
        &mut self,
        access: &MemoryAccess,
        element: u64,
        bytes: u64,
        taken: u32,
    ) -> Result<ThreadAccess, Refusal> {
        let (target, address) =
            self.kernel
                .target(self.state, self.facts, access, element, bytes as u32);
        let location = match target {
            Target::Location(mut location) => {
                location.bytes = taken;
                Some(location)
            }
            Target::Unknown => {
                self.is_known = false;
                None
            }
            Target::Invalid(message) => return Err(Refusal::Step(Step::Fault(message))),
            Target::Unsupported(message) => {
                return Err(Refusal::Step(Step::Unsupported(message)));
            }
            Target::Parameter(_) => return Err(Refusal::Unsupported),
        };
        let values = [self.guard, &address];
        let mut result = self
            .kernel
            .step_access(self.state, self.facts, access, location, &values);
        if access.is_mbarrier {
            result.proxy = MemoryProxy::Generic;
        }
        Ok(result)
    }

    /// The value of a source that decides how many accesses there are.
    fn number(&self, operand: Operand) -> Result<u64, Refusal> {
        let source = internals::source(self.facts.body(), operand, &[ScalarType::U32]);
        let value = self.kernel.source(self.state, source);
        let value = value.ok_or(Refusal::Unsupported)?;
        let bits = value.bits;
        bits.map(|bits| bits as u64)
            .ok_or(Refusal::Step(Step::Blocked(value.dependencies)))
    }

    fn named(&self, name: &str) -> Result<Option<u64>, Refusal> {
        let mut sources = self.facts.sources();
        match sources.find(|source| source.name == name) {
            Some(source) => self.number(source.operand).map(Some),
            None => Ok(None),
        }
    }

    /// The step that reports to the mbarrier object of the instruction, if it has one.
    fn report(&mut self, access: Option<MemoryAccess>, bytes: u64) -> Result<(), Refusal> {
        if let Some(access) = access {
            let mut step = self.access(&access, 0, 8, 8)?;
            step.order = Order::Release;
            step.scope = MemoryScope::Cluster;
            self.steps.push(TaskStep::Report(step, 0, bytes));
        }
        Ok(())
    }

    /// The accesses of a copy of a number of bytes.
    fn copy(
        &mut self,
        source: &MemoryAccess,
        target: &MemoryAccess,
        bytes: u64,
        element: u64,
        is_reduction: bool,
    ) -> Result<(), Refusal> {
        let count = bytes / element;
        if count > MAX_ELEMENTS {
            let message = format!("an asynchronous copy of more than {MAX_ELEMENTS} elements");
            return Err(Refusal::Step(Step::Unsupported(message)));
        }
        for number in 0..count {
            let access = self.access(source, number, element, element as u32)?;
            self.steps.push(TaskStep::Read(access));
        }
        self.steps.push(TaskStep::ProxyFence);
        for number in 0..count {
            let access = self.access(target, number, element, element as u32)?;
            let read = Source::Read(number as usize);
            self.steps.push(if is_reduction {
                TaskStep::Reduce(access, read)
            } else {
                TaskStep::Write(access, element as u32, read)
            });
        }
        self.steps.push(TaskStep::ProxyFence);
        Ok(())
    }

    fn bulk_copy(&mut self, action: Action, element: u64) -> Result<(), Refusal> {
        let is_plain = self
            .facts
            .sources()
            .all(|source| ["size", "cache-policy"].contains(&source.name));
        let plain: Vec<MemoryAccess> = self.facts.memory().filter(|a| !a.is_mbarrier).collect();
        let source = plain.iter().find(|access| !access.writes());
        let target = plain.iter().find(|access| access.writes());
        let (Some(source), Some(target), true) = (source, target, is_plain) else {
            return Err(Refusal::Unsupported);
        };
        let bytes = self.named("size")?.ok_or(Refusal::Unsupported)?;
        self.copy(source, target, bytes, element, action == Action::BulkReduce)?;
        let object = self.facts.memory().find(|access| access.is_mbarrier);
        self.report(object, bytes)
    }

    /// `cp.async`: bytes of the destination without a source are zeros.
    fn small_copy(&mut self) -> Result<(), Refusal> {
        let accesses: Vec<MemoryAccess> = self.facts.memory().collect();
        let source = accesses.iter().find(|access| !access.writes());
        let target = accesses.iter().find(|access| access.writes());
        let (Some(source), Some(target)) = (source, target) else {
            return Err(Refusal::Unsupported);
        };
        let bytes = self.named("cp-size")?.ok_or(Refusal::Unsupported)?;
        let mut source_bytes = self.named("src-size")?.unwrap_or(bytes).min(bytes);
        if self.named("ignore-src")?.is_some_and(|bits| bits & 1 == 1) {
            source_bytes = 0;
        }
        let value = if source_bytes > 0 {
            let access = self.access(source, 0, bytes, source_bytes as u32)?;
            self.steps.push(TaskStep::Read(access));
            Source::Read(0)
        } else {
            Source::Value(Value::constant(0))
        };
        let access = self.access(target, 0, bytes, bytes as u32)?;
        self.steps
            .push(TaskStep::Write(access, bytes as u32, value));
        Ok(())
    }

    /// `st.async` and `red.async`: the elements of a register or a vector.
    fn store(&mut self, is_reduction: bool) -> Result<(), Refusal> {
        let access = self.facts.memory().find(|access| !access.is_mbarrier);
        let access = access.ok_or(Refusal::Unsupported)?;
        let data = self.facts.sources().find(|source| source.name == "b");
        let data = data.ok_or(Refusal::Unsupported)?;
        let ty = data.ty.ok_or(Refusal::Unsupported)?;
        let bytes = u64::from(ty.bits() / 8).max(1);
        let operands = match data.operand {
            Operand::Vector(list) => self.facts.body().pool().list(list).to_vec(),
            operand => vec![operand],
        };
        for (number, &operand) in (0..).zip(&operands) {
            let source = internals::source(self.facts.body(), operand, &[ty]);
            let value = self.kernel.source(self.state, source);
            let value = value.ok_or(Refusal::Unsupported)?;
            self.is_known &= value.bits.is_some();
            let mut step = self.access(&access, number, bytes, bytes as u32)?;
            step.dependencies.extend(&value.dependencies);
            if step.order == Order::Weak && access.access == AccessKind::ReadModifyWrite {
                step.order = Order::Relaxed;
            }
            self.steps.push(if is_reduction {
                TaskStep::Reduce(step, Source::Value(value))
            } else {
                TaskStep::Write(step, bytes as u32, Source::Value(value))
            });
        }
        let object = self.facts.memory().find(|access| access.is_mbarrier);
        self.report(object, bytes * operands.len() as u64)
    }
}

/// The operation and the type of a reduction.
fn reduction(facts: &Facts<'_>) -> Vec<Modifier> {
    const OPERATIONS: [Modifier; 8] = [
        Modifier::Add,
        Modifier::Min,
        Modifier::Max,
        Modifier::Inc,
        Modifier::Dec,
        Modifier::And,
        Modifier::Or,
        Modifier::Xor,
    ];
    let Some(signature) = facts.signature() else {
        return Vec::new();
    };
    let operation = signature.modifiers().find(|m| OPERATIONS.contains(m));
    let ty = signature.modifiers().filter(|m| m.scalar_type().is_some());
    operation.into_iter().chain(ty.last()).collect()
}

impl Kernel<'_> {
    /// The start of an asynchronous operation, or a commit or wait.
    pub(super) fn asynchronous_step(
        &self,
        state: &mut KernelThread,
        facts: &Facts<'_>,
        action: Action,
        guard: &Value,
    ) -> Done {
        let number = facts.source(0).and_then(|source| {
            self.source(state, internals::source(facts.body(), source.operand, &[]))?
                .bits
        });
        let pending = number.unwrap_or(0) as usize;
        let operations = match action {
            Action::CopyCommit => {
                state.asynchrony.copies.commit();
                None
            }
            Action::BulkCommit => {
                state.asynchrony.bulk.commit();
                None
            }
            Action::CopyWait => {
                // `cp.async.wait_all` has no number.
                if number.is_none() {
                    state.asynchrony.copies.commit();
                }
                Some(state.asynchrony.copies.awaited(pending))
            }
            Action::BulkWait => Some(state.asynchrony.bulk.awaited(pending)),
            _ => return self.start_operation(state, facts, action, guard),
        };
        let mut dependencies = state.control.clone();
        dependencies.extend(&guard.dependencies);
        let instruction = state.next as u32;
        state.next += 1;
        match operations {
            Some(operations) => Done::Stop(Step::Await {
                operations,
                is_for_reads: facts.has_modifier(Modifier::Read),
                dependencies,
                instruction,
            }),
            None => Done::Continue,
        }
    }

    fn start_operation(
        &self,
        state: &mut KernelThread,
        facts: &Facts<'_>,
        action: Action,
        guard: &Value,
    ) -> Done {
        let reduction = reduction(facts);
        let mut builder = Builder {
            kernel: self,
            state,
            facts,
            guard,
            steps: Vec::new(),
            is_known: true,
        };
        let is_reduction = matches!(action, Action::BulkReduce | Action::ReduceAsync);
        if is_reduction && self.reduced(&reduction, 0, 0).is_none() {
            return self.unsupported(facts);
        }
        let element = match reduction.last().and_then(|ty| ty.scalar_type()) {
            Some(ty) if is_reduction => u64::from(ty.bits() / 8).max(1),
            _ => CHUNK,
        };
        let result = match action {
            Action::CopyAsync => builder.small_copy(),
            Action::BulkCopy | Action::BulkReduce => builder.bulk_copy(action, element),
            Action::StoreAsync | Action::ReduceAsync => builder.store(is_reduction),
            _ => Err(Refusal::Unsupported),
        };
        let (steps, is_known) = (builder.steps, builder.is_known);
        match result {
            Ok(()) => {}
            Err(Refusal::Step(step)) => return Done::Stop(step),
            Err(Refusal::Unsupported) => return self.unsupported(facts),
        }
        let is_cumulative = steps.iter().any(|step| match step {
            TaskStep::Write(access, ..) | TaskStep::Reduce(access, _) => access.order.releases(),
            _ => false,
        });
        let task = Task {
            steps,
            reduction,
            instruction: state.next as u32,
            follows: Vec::new(),
            is_cumulative,
        };
        let number = state.asynchrony.started;
        match action {
            Action::CopyAsync => {
                state.asynchrony.copies.uncommitted.push(number);
                state.asynchrony.all_copies.push(number);
            }
            Action::BulkCopy | Action::BulkReduce if facts.has_modifier(Modifier::BulkGroup) => {
                state.asynchrony.bulk.uncommitted.push(number);
            }
            _ => {}
        }
        self.start_task(state, task, is_known, guard)
    }

    fn start_task(
        &self,
        state: &mut KernelThread,
        task: Task,
        is_known: bool,
        guard: &Value,
    ) -> Done {
        let mut dependencies = state.control.clone();
        dependencies.extend(&guard.dependencies);
        let (follows, is_cumulative) = (task.follows.clone(), task.is_cumulative);
        let instruction = state.next as u32;
        state.asynchrony.starting = Some(Arc::new(task));
        state.asynchrony.started += 1;
        state.element = 0;
        state.next += 1;
        Done::Stop(Step::Start {
            is_known,
            follows,
            is_cumulative,
            dependencies,
            instruction,
        })
    }

    /// `cp.async.mbarrier.arrive`: an arrival that follows all copies of the thread. Without `.noinc`, the thread first adds a pending arrival.
    pub(super) fn copy_arrive(
        &self,
        state: &mut KernelThread,
        facts: &Facts<'_>,
        guard: &Value,
    ) -> Done {
        let Some(access) = facts.memory().find(|access| access.is_mbarrier) else {
            return self.unsupported(facts);
        };
        let mut builder = Builder {
            kernel: self,
            state,
            facts,
            guard,
            steps: Vec::new(),
            is_known: true,
        };
        let mut step = match builder.access(&access, 0, 8, 8) {
            Ok(step) => step,
            Err(Refusal::Step(step)) => return Done::Stop(step),
            Err(Refusal::Unsupported) => return self.unsupported(facts),
        };
        let is_known = builder.is_known;
        if state.element == 0 && !facts.has_modifier(Modifier::Noinc) {
            step.order = Order::Relaxed;
            step.scope = MemoryScope::Cta;
            return Done::Stop(Step::Atomic {
                access: step,
                is_reduction: true,
            });
        }
        step.order = Order::Release;
        step.scope = MemoryScope::Cta;
        let task = Task {
            steps: vec![TaskStep::Report(step, 1, 0)],
            instruction: state.next as u32,
            follows: state.asynchrony.all_copies.clone(),
            ..Task::default()
        };
        self.start_task(state, task, is_known, guard)
    }

    /// The state at the start of the operation that a thread starts.
    pub(super) fn started(&self, state: &KernelThread) -> KernelThread {
        let mut result = KernelThread::new(state.thread);
        let task = state.asynchrony.starting.clone().unwrap_or_default();
        result.asynchrony.task = Some((task, 0, Vec::new()));
        result
    }

    /// The next step of an operation.
    pub(super) fn task_step(&self, state: &mut KernelThread) -> Step {
        let Some((task, next, values)) = &mut state.asynchrony.task else {
            return Step::Exit;
        };
        let Some(step) = task.steps.get(*next) else {
            return Step::Exit;
        };
        let value_of = |source: &Source| match source {
            Source::Value(value) => value.clone(),
            Source::Read(number) => values.get(*number).cloned().unwrap_or_default(),
        };
        match step {
            TaskStep::Read(access) => Step::Read(access.clone()),
            TaskStep::Reduce(access, source) => Step::Atomic {
                access: with_dependencies(access, &value_of(source)),
                is_reduction: true,
            },
            TaskStep::Report(access, ..) => Step::Atomic {
                access: access.clone(),
                is_reduction: true,
            },
            TaskStep::Write(access, bytes, source) => {
                let value = value_of(source);
                *next += 1;
                let mask = u128::MAX >> (128 - 8 * (*bytes).clamp(1, 16));
                let bits = value.bits.map(|bits| bits & mask);
                Step::Write(with_dependencies(access, &value), bits)
            }
            TaskStep::ProxyFence => {
                *next += 1;
                Step::ProxyFence {
                    proxy: Some(MemoryProxy::Asynchronous),
                    order: Order::Weak,
                    scope: MemoryScope::Sys,
                    range: AddressRange::ALL,
                    dependencies: EventSet::new(),
                    instruction: task.instruction,
                }
            }
        }
    }

    /// Passes the result of a read or of an atomic operation to an operation.
    pub(super) fn receive_in_task(&self, state: &mut KernelThread, value: Value) {
        if let Some((task, next, values)) = &mut state.asynchrony.task {
            if let Some(TaskStep::Read(_)) = task.steps.get(*next) {
                values.push(value);
            }
            *next += 1;
        }
    }

    /// What an atomic operation of an operation writes.
    pub(super) fn task_update(&self, state: &KernelThread, old: u128) -> Update {
        let Some((task, next, values)) = &state.asynchrony.task else {
            return Update::Nothing;
        };
        match task.steps.get(*next) {
            Some(TaskStep::Report(_, arrivals, bytes)) => {
                let word = mbarrier::after(old as u64, *arrivals, bytes.wrapping_neg(), false);
                Update::Write(word.into())
            }
            Some(TaskStep::Reduce(_, source)) => {
                let bits = match source {
                    Source::Value(value) => value.bits,
                    Source::Read(number) => values.get(*number).and_then(|value| value.bits),
                };
                bits.and_then(|bits| self.reduced(&task.reduction, bits, old))
                    .map_or(Update::Unknown, Update::Write)
            }
            _ => Update::Nothing,
        }
    }

    /// The result of a reduction.
    fn reduced(&self, reduction: &[Modifier], value: u128, old: u128) -> Option<u128> {
        internals::fold_update(Opcode::Red, reduction, &[Some(value)], old)
    }
}

fn with_dependencies(access: &ThreadAccess, value: &Value) -> ThreadAccess {
    let mut result = access.clone();
    result.dependencies.extend(&value.dependencies);
    result
}
