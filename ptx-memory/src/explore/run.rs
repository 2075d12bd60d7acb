//! Runs of threads: each step of a thread becomes an operation with events.

use super::state::{Context, Operation, PendingRead, State, Status, Visit};
use crate::event::{Event, EventKind, MemoryProxy, MemoryScope, Order};
use crate::program::{BarrierStep, Iteration, Program, Step, ThreadAccess, Update, Value};
use crate::relation::EventSet;

/// The largest number of operations of a thread that is in a loop.
const MAX_OPERATIONS: usize = 10_000;

/// A run of a thread.
pub(super) struct Run<T> {
    pub(super) state: T,
    /// The number of the next operation.
    pub(super) operation: usize,
    /// Whether all operations so far are complete.
    is_complete: bool,
    /// The number of visits of loop heads by complete operations.
    visits: usize,
    step: Option<Step>,
    /// The reads on which other threads depended that arrived at the barriers so far.
    pub(super) barrier_dependencies: EventSet,
}

impl<P: Program> State<P> {
    /// Runs a thread from its first incomplete step.
    pub(super) fn run(&mut self, context: &mut Context<'_, P>, thread: usize) {
        let Some(initial) = self.threads.get_mut(thread) else {
            return;
        };
        initial.wanted = EventSet::new();
        initial.blocking = EventSet::new();
        if matches!(
            initial.status,
            Status::Exited | Status::Limit | Status::Fault(_) | Status::Unsupported(_)
        ) && initial.completed == initial.operations.len()
        {
            return;
        }
        let mut run = Run {
            state: initial.state.clone(),
            visits: initial.completed_visits,
            operation: initial.completed,
            is_complete: true,
            step: initial.step.clone(),
            barrier_dependencies: initial.barrier_dependencies.clone(),
        };
        if let Some(initial) = self.threads.get_mut(thread) {
            initial.visits.truncate(run.visits);
        }
        loop {
            let step = match run.step.take() {
                Some(step) => step,
                None => context.program.next(&mut run.state),
            };
            let status = self.perform(context, thread, &mut run, &step);
            if let Some(status) = status {
                if run.is_complete {
                    self.keep(thread, &mut run, &step);
                }
                if let Some(thread) = self.threads.get_mut(thread) {
                    thread.status = status;
                }
                return;
            }
        }
    }

    /// Keeps the state of a run at its first incomplete step, from which the next run starts.
    fn keep(&mut self, thread: usize, run: &mut Run<P::Thread>, step: &Step) {
        run.is_complete = false;
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.state = run.state.clone();
            thread.step = Some(step.clone());
            thread.completed = run.operation;
            thread.completed_visits = run.visits;
            thread.barrier_dependencies = run.barrier_dependencies.clone();
        }
    }

    /// Performs an operation on a barrier. Returns a status if the thread waits.
    fn barrier(
        &mut self,
        context: &Context<'_, P>,
        thread: usize,
        run: &mut Run<P::Thread>,
        barrier: &BarrierStep,
    ) -> Option<Status> {
        let event = Event {
            kind: EventKind::Barrier,
            instruction: barrier.instruction,
            ..Event::INITIAL
        };
        let number = self.simple_event(thread, run, event, &barrier.dependencies);
        let operation = run.operation - 1;
        let sources = self.released_by(thread, operation, barrier, number);
        let passage = self.barriers.visit(
            (thread, operation),
            barrier,
            number,
            sources,
            &run.barrier_dependencies,
            &mut self.execution.synchronization,
        );
        if let Some(passage) = passage {
            run.barrier_dependencies.extend(&passage.dependencies);
            if barrier.exchange.is_some() {
                context
                    .program
                    .exchange(&mut run.state, &passage.values, &passage.dependencies);
            }
            return None;
        }
        // The next run repeats the step.
        run.operation = operation;
        Some(Status::Waiting)
    }

    /// The events that the arrival at a barrier orders before what follows the waits of other threads: itself or, if it does not order, earlier
    /// fences of the scope of the cluster, and the writes that are released.
    fn released_by(
        &self,
        thread: usize,
        end: usize,
        barrier: &BarrierStep,
        arrival: u32,
    ) -> Vec<u32> {
        if barrier.orders {
            return vec![arrival];
        }
        if barrier.exchange.is_some() {
            return Vec::new();
        }
        let is_released = |event: &Event| {
            let is_fence =
                event.is_fence() && event.releases() && event.scope >= MemoryScope::Cluster;
            is_fence || event.is_write() && barrier.released.contains(&event.instruction)
        };
        let operations = self.threads.get(thread).map(|thread| &thread.operations);
        operations
            .into_iter()
            .flatten()
            .take(end)
            .filter_map(|operation| operation.event)
            .filter(|&event| {
                self.execution
                    .event(event as usize)
                    .is_some_and(is_released)
            })
            .collect()
    }

    /// Performs a step of a thread. Returns a status if the thread stops.
    fn perform(
        &mut self,
        context: &mut Context<'_, P>,
        thread: usize,
        run: &mut Run<P::Thread>,
        step: &Step,
    ) -> Option<Status> {
        match step {
            Step::Read(access) => self.read(context, thread, run, step, access, None),
            Step::Atomic {
                access,
                is_reduction,
            } => self.read(context, thread, run, step, access, Some(*is_reduction)),
            Step::Write(access, bits) => {
                self.write(context, thread, run, step, access, *bits);
                None
            }
            Step::Fence {
                order,
                scope,
                dependencies,
                instruction,
            } => {
                let event = Event {
                    kind: EventKind::Fence,
                    order: *order,
                    scope: *scope,
                    instruction: *instruction,
                    ..Event::INITIAL
                };
                self.simple_event(thread, run, event, dependencies);
                None
            }
            Step::ProxyFence {
                proxy,
                order,
                scope,
                range,
                dependencies,
                instruction,
            } => {
                let event = Event {
                    kind: EventKind::ProxyFence {
                        is_alias: proxy.is_none(),
                        range: *range,
                    },
                    proxy: proxy.unwrap_or(MemoryProxy::Generic),
                    order: *order,
                    scope: *scope,
                    instruction: *instruction,
                    ..Event::INITIAL
                };
                self.simple_event(thread, run, event, dependencies);
                None
            }
            Step::Barrier(barrier) => self.barrier(context, thread, run, barrier),
            Step::Start { .. } | Step::Await { .. } => {
                self.asynchronous(context, thread, run, step);
                None
            }
            Step::LoopHead(head, iteration) => {
                self.loop_head(context, thread, run, *head, *iteration)
            }
            Step::Blocked(dependencies) => {
                if let Some(thread) = self.threads.get_mut(thread) {
                    thread.blocking.extend(dependencies);
                }
                Some(Status::Blocked)
            }
            Step::Exit => Some(Status::Exited),
            Step::Fault(message) => Some(Status::Fault(message.clone())),
            Step::Unsupported(message) => Some(Status::Unsupported(message.clone())),
        }
    }

    pub(super) fn operation(&self, thread: usize, operation: usize) -> Option<Operation> {
        self.threads.get(thread)?.operations.get(operation).copied()
    }

    pub(super) fn set_operation(&mut self, thread: usize, number: usize, operation: Operation) {
        if let Some(thread) = self.threads.get_mut(thread) {
            if number >= thread.operations.len() {
                thread.operations.resize(number + 1, Operation::default());
            }
            if let Some(slot) = thread.operations.get_mut(number) {
                *slot = operation;
            }
        }
    }

    /// Adds an event of a thread. Its dependencies are known.
    fn add_event(
        &mut self,
        thread: usize,
        position: usize,
        event: Event,
        dependencies: &[&EventSet],
    ) -> u32 {
        let number = self.execution.len() as u32;
        self.execution.events.push(Event {
            thread: thread as u32,
            position: position as u32,
            ..event
        });
        self.prefixes.push(EventSet::new());
        self.set_dependencies(number, dependencies);
        number
    }

    fn set_dependencies(&mut self, event: u32, dependencies: &[&EventSet]) {
        let mut all = EventSet::new();
        for set in dependencies {
            all.extend(set);
        }
        let mut prefix = all.clone();
        for read in all.iter() {
            self.execution.dependencies.push((read as u32, event));
            if let Some(more) = self.prefixes.get(read) {
                prefix.extend(more);
            }
        }
        if let Some(slot) = self.prefixes.get_mut(event as usize) {
            slot.extend(&prefix);
        }
    }

    /// An event without an address.
    pub(super) fn simple_event(
        &mut self,
        thread: usize,
        run: &mut Run<P::Thread>,
        event: Event,
        dependencies: &EventSet,
    ) -> u32 {
        let number = run.operation;
        run.operation += 1;
        if let Some(event) = self
            .operation(thread, number)
            .and_then(|operation| operation.event)
        {
            return event;
        }
        let event = self.add_event(
            thread,
            2 * number,
            event,
            &[dependencies, &run.barrier_dependencies],
        );
        self.set_operation(
            thread,
            number,
            Operation {
                event: Some(event),
                ..Operation::default()
            },
        );
        event
    }

    fn memory_event(access: &ThreadAccess, kind: EventKind, is_reduction: bool) -> Event {
        Event {
            kind,
            order: access.order,
            scope: if access.order == Order::Weak {
                MemoryScope::Cta
            } else {
                access.scope
            },
            proxy: access.proxy,
            instruction: access.instruction,
            is_reduction,
            ..Event::INITIAL
        }
    }

    /// A read, or an atomic operation if `reduction` is given.
    fn read(
        &mut self,
        context: &mut Context<'_, P>,
        thread: usize,
        run: &mut Run<P::Thread>,
        step: &Step,
        access: &ThreadAccess,
        reduction: Option<bool>,
    ) -> Option<Status> {
        let number = run.operation;
        let mut operation = self.operation(thread, number).unwrap_or_default();
        let event = match (operation.event, access.location) {
            (Some(event), _) => Some(event),
            (None, Some(location)) => {
                context.cut(location);
                let event = Self::memory_event(
                    access,
                    EventKind::Read(location),
                    reduction.unwrap_or(false),
                );
                let event = self.add_event(
                    thread,
                    2 * number,
                    event,
                    &[&access.dependencies, &run.barrier_dependencies],
                );
                operation.event = Some(event);
                self.pending.push(PendingRead {
                    read: event,
                    address: location.address,
                    bytes: (context.part_end(location.address, location.end()) - location.address)
                        as u32,
                    passed: EventSet::new(),
                    is_atomic: reduction.is_some(),
                });
                Some(event)
            }
            (None, None) => None,
        };
        let bits = event.and_then(|event| self.result(context, event));
        let mut is_complete = bits.is_some();
        if let (Some(event), Some(bits), Some(_)) = (event, bits, reduction)
            && operation.write.is_none()
        {
            match context.program.update(&run.state, bits) {
                Update::Write(new) => {
                    operation.write = Some(self.atomic_write(thread, run, access, event, new));
                }
                Update::Nothing => {}
                Update::Unknown => is_complete = false,
            }
        }
        self.set_operation(thread, number, operation);
        if !is_complete {
            self.want(thread, &access.dependencies);
            if run.is_complete {
                self.keep(thread, run, step);
            }
        }
        run.operation += 1;
        let dependencies = match event {
            Some(event) => [event as usize].into_iter().collect(),
            None => access.dependencies.clone(),
        };
        context
            .program
            .receive(&mut run.state, Value { bits, dependencies });
        None
    }

    /// The write of an atomic operation. It depends on the read and on the operands.
    fn atomic_write(
        &mut self,
        thread: usize,
        run: &Run<P::Thread>,
        access: &ThreadAccess,
        read: u32,
        bits: u128,
    ) -> u32 {
        let Some(event) = self.execution.event(read as usize).copied() else {
            return read;
        };
        let Some(location) = event.location() else {
            return read;
        };
        let mut dependencies = access.dependencies.clone();
        dependencies.insert(read as usize);
        let write = Event {
            kind: EventKind::Write(location),
            value: Some(bits),
            partner: Some(read),
            ..event
        };
        let write = self.add_event(
            thread,
            event.position as usize + 1,
            write,
            &[&dependencies, &run.barrier_dependencies],
        );
        if let Some(event) = self.execution.events.get_mut(read as usize) {
            event.partner = Some(write);
        }
        self.writes.push(write);
        write
    }

    fn write(
        &mut self,
        context: &mut Context<'_, P>,
        thread: usize,
        run: &mut Run<P::Thread>,
        step: &Step,
        access: &ThreadAccess,
        bits: Option<u128>,
    ) {
        let number = run.operation;
        let mut operation = self.operation(thread, number).unwrap_or_default();
        if let (None, Some(location)) = (operation.event, access.location) {
            context.cut(location);
            let event = Self::memory_event(access, EventKind::Write(location), false);
            operation.event = Some(self.add_event(thread, 2 * number, event, &[]));
            self.set_operation(thread, number, operation);
        }
        self.set_operation(thread, number, operation);
        let mut is_complete = false;
        if let Some(event) = operation.event {
            let is_known = self
                .execution
                .event(event as usize)
                .is_some_and(|event| event.value.is_some());
            if let (false, Some(bits)) = (is_known, bits) {
                if let Some(event) = self.execution.events.get_mut(event as usize) {
                    event.value = Some(bits);
                }
                self.set_dependencies(event, &[&access.dependencies, &run.barrier_dependencies]);
                self.writes.push(event);
            }
            is_complete = bits.is_some();
        }
        if !is_complete {
            self.want(thread, &access.dependencies);
            if run.is_complete {
                self.keep(thread, run, step);
            }
        }
        run.operation += 1;
    }

    /// Notes that an incomplete operation depends on reads.
    fn want(&mut self, thread: usize, reads: &EventSet) {
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.wanted.extend(reads);
        }
    }

    /// Ends the thread at a loop head if the last iteration changed nothing, or if there were too many iterations.
    fn loop_head(
        &mut self,
        context: &Context<'_, P>,
        thread: usize,
        run: &mut Run<P::Thread>,
        head: u32,
        iteration: Iteration,
    ) -> Option<Status> {
        let state = self.threads.get(thread)?;
        let last = state.visits.iter().rfind(|visit| visit.head == head);
        if let Some(last) = last
            && context.program.is_same(&last.thread, &run.state)
            && self.is_without_effect(thread, last.operation, run.operation)
        {
            return Some(Status::Spinning {
                operation: last.operation,
            });
        }
        let earlier = last.map_or(0, |last| last.iterations);
        let iterations = match iteration {
            Iteration::First => 0,
            Iteration::Next => earlier + 1,
            Iteration::Determined => earlier,
        };
        if iterations > context.unroll || run.operation > MAX_OPERATIONS {
            return Some(Status::Limit);
        }
        let visit = Visit {
            head,
            iterations,
            operation: run.operation,
            thread: run.state.clone(),
        };
        let visits = &mut self.threads.get_mut(thread)?.visits;
        let repeated = visits
            .iter_mut()
            .rfind(|earlier| earlier.head == head && earlier.operation == visit.operation);
        match repeated {
            // A loop that only computes needs no memory.
            Some(repeated) => *repeated = visit,
            None => {
                visits.push(visit);
                if run.is_complete {
                    run.visits += 1;
                }
            }
        }
        None
    }

    /// Whether operations only read and order, or write the value that they read: they can be left out of the execution.
    fn is_without_effect(&self, thread: usize, first: usize, end: usize) -> bool {
        (first..end).all(|number| {
            let Some(operation) = self.operation(thread, number) else {
                return false;
            };
            let Some(event) = operation
                .event
                .and_then(|event| Some((event, self.execution.event(event as usize)?)))
            else {
                return false;
            };
            match event.1.kind {
                EventKind::Read(_) => {
                    let is_silent = operation.write.is_none_or(|write| {
                        event.1.scope >= MemoryScope::Gpu
                            && self
                                .execution
                                .event(write as usize)
                                .is_some_and(|write| write.value == event.1.value)
                    });
                    is_silent && !self.pending.iter().any(|pending| pending.read == event.0)
                }
                EventKind::Fence | EventKind::ProxyFence { .. } => true,
                _ => false,
            }
        })
    }
}
