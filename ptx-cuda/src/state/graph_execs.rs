//! Executable graphs. The nodes of a graph, and of the graphs that its nodes own, become a list of steps in the order in which they are performed; conditional nodes
//! become branches.
//!
//! ```text
//! while:  0  branch to 3 unless the value is not 0
//!         1  a node of the body
//!         2  jump to 0
//!         3  …
//! ```

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use super::graphs::{Condition, ConditionalKind, Work};
use super::queues::{Pending, Progress};
use super::{Driver, Operation};
use crate::handles::{Kind, Raw};
use crate::status::{Outcome, Status};

/// An executable graph.
#[derive(Debug)]
pub(crate) struct GraphExec {
    pub(crate) flags: u64,
    /// The number of the graph among all graphs and executable graphs of the process.
    pub(crate) number: u32,
    program: Program,
    /// The references to user objects of the graph.
    user_objects: BTreeMap<Raw, u32>,
}

impl GraphExec {
    /// The flag of graphs whose launch frees the memory that an earlier launch allocated.
    const FREES_AT_LAUNCH: u64 = 1;
    /// The flag of graphs that kernels launch, which the machine does not do.
    pub(crate) const DEVICE_LAUNCH: u64 = 4;
    /// All flags.
    pub(crate) const FLAGS: u64 = 15;
}

impl Kind for GraphExec {
    const NUMBER: usize = 13;
    const UNKNOWN: Status = Status::INVALID_VALUE;
}

/// The steps of a graph.
#[derive(Default, Debug)]
struct Program {
    steps: Vec<Step>,
    /// The step of each node with an operation.
    step_of_node: HashMap<Raw, usize>,
    /// All nodes in the order in which they were translated.
    shape: Vec<NodeShape>,
    conditions: Vec<Condition>,
    /// The memory that nodes allocate.
    memory: Vec<u64>,
}

/// The properties of a node that an update cannot change.
#[derive(Debug)]
struct NodeShape {
    node: Raw,
    work: Work,
    /// The indexes of the nodes before it.
    dependencies: Vec<usize>,
}

#[derive(Clone, Debug)]
enum Step {
    Operation {
        operation: Operation,
        enabled: bool,
    },
    Allocate(u64),
    Branch {
        condition: u64,
        test: Test,
        target: usize,
    },
    Jump(usize),
}

/// A test of a value; if it fails, a branch is taken.
#[derive(Copy, Clone, Debug)]
enum Test {
    IsNotZero,
    Is(u32),
}

/// What remains to be translated.
enum Task {
    Graph(Raw),
    Node(Raw),
    Branch(u64, Test, usize),
    Jump(usize),
    /// The place to which branches and jumps with this label go.
    Label(usize),
}

/// The reason why a graph cannot become executable, or an executable graph cannot be updated.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum GraphFault {
    /// A node is in a cycle.
    Cycle(Raw),
    /// A flag or a handle is wrong, or something is not supported.
    Other(Status),
}

impl From<Status> for GraphFault {
    fn from(status: Status) -> Self {
        Self::Other(status)
    }
}

/// The difference because of which an executable graph cannot be updated.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct UpdateFault {
    pub(crate) kind: UpdateFaultKind,
    /// The node of the graph that was passed.
    pub(crate) node: Raw,
    /// The node before it, if an edge differs.
    pub(crate) from_node: Raw,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum UpdateFaultKind {
    Error,
    TopologyChanged,
    NodeTypeChanged,
    ParametersChanged,
    NotSupported,
}

/// A launch of an executable graph that is being performed.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    exec: Raw,
    /// The index of the next step.
    next: usize,
    /// An operation that was begun, and could not end.
    pub(super) rest: Option<Operation>,
    started: Instant,
}

impl Driver {
    /// Makes a graph executable.
    pub(crate) fn instantiate(&mut self, graph: Raw, flags: u64) -> Result<Raw, GraphFault> {
        if flags & !GraphExec::FLAGS != 0 {
            return Err(Status::INVALID_VALUE.into());
        }
        if flags & GraphExec::DEVICE_LAUNCH != 0 {
            return Err(Status::NOT_SUPPORTED.into());
        }
        let program = self.translate(graph)?;
        for address in &program.memory {
            self.hold_graph_memory(*address);
        }
        for condition in &program.conditions {
            self.hold_graph_memory(condition.address);
        }
        let user_objects = self.graphs.get(graph)?.user_objects.clone();
        for (object, count) in &user_objects {
            self.retain_user_object(*object, *count)?;
        }
        let number = self.next_graph_number();
        Ok(self.graph_execs.insert(GraphExec {
            flags,
            number,
            program,
            user_objects,
        }))
    }

    /// Destroys an executable graph.
    pub(crate) fn destroy_exec(&mut self, exec: Raw) -> Outcome<()> {
        let exec = self.graph_execs.remove(exec)?;
        self.release_program(&exec.program);
        for (object, count) in exec.user_objects {
            let _ = self.release_user_object(object, count);
        }
        Ok(())
    }

    fn release_program(&mut self, program: &Program) {
        for address in &program.memory {
            self.release_graph_memory(*address);
        }
        for condition in &program.conditions {
            self.release_graph_memory(condition.address);
        }
    }

    /// Translates a graph to steps.
    fn translate(&self, graph: Raw) -> Result<Program, GraphFault> {
        let mut program = Program::default();
        let mut labels: Vec<usize> = Vec::new();
        let mut indexes = HashMap::new();
        let mut tasks = vec![Task::Graph(graph)];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Graph(graph) => {
                    let order = self.order_of_graph(graph)?.map_err(GraphFault::Cycle)?;
                    let conditions = &self.graphs.get(graph)?.conditions;
                    program.conditions.extend_from_slice(conditions);
                    tasks.extend(order.into_iter().rev().map(Task::Node));
                }
                Task::Node(handle) => {
                    let node = self.nodes.get(handle)?;
                    indexes.insert(handle, program.shape.len());
                    let predecessors = node.dependencies.keys();
                    program.shape.push(NodeShape {
                        node: handle,
                        work: node.work.clone(),
                        dependencies: predecessors
                            .filter_map(|n| indexes.get(n).copied())
                            .collect(),
                    });
                    match &node.work {
                        Work::Operation(operation) => {
                            program.step_of_node.insert(handle, program.steps.len());
                            program.steps.push(Step::Operation {
                                operation: operation.clone(),
                                enabled: true,
                            });
                        }
                        Work::Child(child) => tasks.push(Task::Graph(*child)),
                        Work::Allocate { address, .. } => {
                            program.memory.push(*address);
                            program.steps.push(Step::Allocate(*address));
                        }
                        Work::Conditional {
                            condition,
                            kind,
                            bodies,
                        } => {
                            let branches =
                                conditional_tasks(*condition, *kind, bodies, &mut labels);
                            tasks.extend(branches.into_iter().rev());
                        }
                    }
                }
                Task::Branch(condition, test, target) => program.steps.push(Step::Branch {
                    condition,
                    test,
                    target,
                }),
                Task::Jump(target) => program.steps.push(Step::Jump(target)),
                Task::Label(label) => labels[label] = program.steps.len(),
            }
        }
        for step in &mut program.steps {
            if let Step::Branch { target, .. } | Step::Jump(target) = step {
                *target = labels[*target];
            }
        }
        Ok(program)
    }

    /// The operation of a node of an executable graph, to change it.
    fn exec_step(&mut self, exec: Raw, node: Raw) -> Outcome<(&mut Operation, &mut bool)> {
        let program = &mut self.graph_execs.get_mut(exec)?.program;
        let step = program.step_of_node.get(&node);
        let step = step.and_then(|index| program.steps.get_mut(*index));
        match step {
            Some(Step::Operation { operation, enabled }) => Ok((operation, enabled)),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    /// Replaces the operation of a node of an executable graph by one of the same kind.
    pub(crate) fn set_exec_operation(
        &mut self,
        exec: Raw,
        node: Raw,
        operation: Operation,
    ) -> Outcome<()> {
        let (place, _) = self.exec_step(exec, node)?;
        if std::mem::discriminant(place) != std::mem::discriminant(&operation) {
            return Err(Status::INVALID_VALUE);
        }
        *place = operation;
        Ok(())
    }

    /// Replaces the child graph of a node of an executable graph by one with the same nodes and edges.
    pub(crate) fn set_exec_child(&mut self, exec: Raw, node: Raw, graph: Raw) -> Outcome<()> {
        let Work::Child(child) = self.nodes.get(node)?.work else {
            return Err(Status::INVALID_VALUE);
        };
        let failure = |fault| match fault {
            GraphFault::Cycle(_) => Status::INVALID_VALUE,
            GraphFault::Other(status) => status,
        };
        let [old, new] = [child, graph].map(|graph| self.translate(graph));
        let [old, new] = [old.map_err(failure)?, new.map_err(failure)?];
        difference(&old, &new).map_or(Ok(()), |_| Err(Status::GRAPH_EXEC_UPDATE_FAILURE))?;
        for (old, new) in old.shape.iter().zip(new.shape) {
            if let Work::Operation(operation) = new.work {
                self.set_exec_operation(exec, old.node, operation)?;
            }
        }
        Ok(())
    }

    /// Whether a node of an executable graph is performed.
    pub(crate) fn is_enabled(&mut self, exec: Raw, node: Raw) -> Outcome<bool> {
        let (operation, enabled) = self.exec_step(exec, node)?;
        check_can_disable(operation)?;
        Ok(*enabled)
    }

    /// Sets whether a node of an executable graph is performed.
    pub(crate) fn set_enabled(&mut self, exec: Raw, node: Raw, is_enabled: bool) -> Outcome<()> {
        let (operation, enabled) = self.exec_step(exec, node)?;
        check_can_disable(operation)?;
        *enabled = is_enabled;
        Ok(())
    }

    /// Gives the nodes of an executable graph the operations of a graph with the same nodes and edges.
    pub(crate) fn update_exec(&mut self, exec: Raw, graph: Raw) -> Outcome<Option<UpdateFault>> {
        self.graph_execs.get(exec)?;
        let new = match self.translate(graph) {
            Ok(program) => program,
            Err(GraphFault::Cycle(node)) => {
                return Ok(Some(UpdateFault {
                    kind: UpdateFaultKind::Error,
                    node,
                    from_node: 0,
                }));
            }
            Err(GraphFault::Other(status)) => return Err(status),
        };
        let program = &mut self.graph_execs.get_mut(exec)?.program;
        if let Some(fault) = difference(program, &new) {
            return Ok(Some(fault));
        }
        for (old, new) in program.shape.iter().zip(new.shape) {
            let Work::Operation(new) = new.work else {
                continue;
            };
            let step = program.step_of_node.get(&old.node);
            if let Some(Step::Operation { operation, .. }) =
                step.and_then(|index| program.steps.get_mut(*index))
            {
                *operation = new;
            }
        }
        Ok(None)
    }

    /// Adds a graph with the operations of an executable graph, one after the other, that a node of another graph will own. Fails if it has branches or allocates memory.
    pub(crate) fn graph_of_exec(&mut self, exec: Raw) -> Outcome<Raw> {
        let steps = self.graph_execs.get(exec)?.program.steps.clone();
        let mut operations = Vec::new();
        for step in steps {
            match step {
                Step::Operation {
                    operation: Operation::Free(_),
                    ..
                }
                | Step::Allocate(_)
                | Step::Branch { .. }
                | Step::Jump(_) => return Err(Status::NOT_SUPPORTED),
                Step::Operation { operation, enabled } if enabled => operations.push(operation),
                Step::Operation { .. } => {}
            }
        }
        let graph = self.create_graph(None);
        let mut predecessors = Vec::new();
        for operation in operations {
            let node = self.add_node(graph, &predecessors, Work::Operation(operation))?;
            predecessors = vec![(node, Default::default())];
        }
        Ok(graph)
    }

    /// Begins a launch of an executable graph.
    pub(super) fn begin_replay(&mut self, handle: Raw) -> Outcome<Replay> {
        let exec = self.graph_execs.get(handle)?;
        let frees = exec.flags & GraphExec::FREES_AT_LAUNCH != 0;
        let allocated: Vec<u64> = exec.program.memory.clone();
        let conditions = exec.program.conditions.clone();
        for address in allocated {
            if self.is_graph_memory_allocated(address) {
                if !frees {
                    return Err(Status::INVALID_VALUE);
                }
                self.free_graph_memory(address)?;
            }
        }
        for condition in conditions {
            if let Some(default) = condition.default {
                self.set_condition(condition.address, default);
            }
        }
        Ok(Replay {
            exec: handle,
            next: 0,
            rest: None,
            started: Instant::now(),
        })
    }

    /// Performs steps of a launch, until it ends, a function of the program has to be called, or the stream has to wait. A launch ends at an error of a kernel.
    pub(super) fn replay(&mut self, mut replay: Replay, stream: Raw) -> Outcome<Progress> {
        loop {
            if self.check_context().is_err() {
                return Ok(Progress::Done);
            }
            let operation = match replay.rest.take() {
                Some(operation) => operation,
                None => {
                    let program = &self.graph_execs.get(replay.exec)?.program;
                    let Some(step) = program.steps.get(replay.next) else {
                        return Ok(Progress::Done);
                    };
                    replay.next += 1;
                    match *step {
                        Step::Operation { enabled: false, .. } => continue,
                        Step::Operation { ref operation, .. } => operation.clone(),
                        Step::Allocate(address) => {
                            self.allocate_graph_memory(address)?;
                            continue;
                        }
                        Step::Jump(target) => {
                            let limit = self.config.timeout;
                            if limit.is_some_and(|limit| replay.started.elapsed() > limit) {
                                eprintln!("ptxkit: a loop of a graph does not end in time");
                                self.fail_context(Status::LAUNCH_TIMEOUT);
                            }
                            replay.next = target;
                            continue;
                        }
                        Step::Branch {
                            condition,
                            test,
                            target,
                        } => {
                            let value = self.condition(condition)?;
                            let is_met = match test {
                                Test::IsNotZero => value != 0,
                                Test::Is(number) => value == number,
                            };
                            if !is_met {
                                replay.next = target;
                            }
                            continue;
                        }
                    }
                }
            };
            match self.proceed(Pending::Operation(operation), stream, None)? {
                Progress::Done => {}
                Progress::Call(function, _) => {
                    return Ok(Progress::Call(function, Some(Pending::Replay(replay))));
                }
                Progress::Blocked(Pending::Operation(rest)) => {
                    replay.rest = Some(rest);
                    return Ok(Progress::Blocked(Pending::Replay(replay)));
                }
                Progress::Blocked(Pending::Replay(_)) => return Err(Status::NOT_SUPPORTED),
            }
        }
    }

    /// The events that a launch of an executable graph records.
    pub(super) fn events_of_exec(&self, exec: Raw) -> Vec<Raw> {
        let Ok(exec) = self.graph_execs.get(exec) else {
            return Vec::new();
        };
        let events = exec.program.steps.iter().filter_map(|step| match step {
            Step::Operation {
                operation: Operation::Record(event),
                enabled: true,
            } => Some(*event),
            _ => None,
        });
        events.collect()
    }
}

/// The tasks that translate a conditional node.
fn conditional_tasks(
    condition: u64,
    kind: ConditionalKind,
    bodies: &[Raw],
    labels: &mut Vec<usize>,
) -> Vec<Task> {
    let mut new_label = || {
        labels.push(0);
        labels.len() - 1
    };
    let end = new_label();
    let mut tasks = Vec::new();
    match kind {
        ConditionalKind::While => {
            let start = new_label();
            tasks.push(Task::Label(start));
            tasks.push(Task::Branch(condition, Test::IsNotZero, end));
            tasks.extend(bodies.first().map(|body| Task::Graph(*body)));
            tasks.push(Task::Jump(start));
        }
        ConditionalKind::If | ConditionalKind::Switch => {
            for (number, body) in bodies.iter().enumerate() {
                let next = new_label();
                let test = match kind {
                    ConditionalKind::Switch => Some(Test::Is(number as u32)),
                    // The second graph of an `If` is reached if the first one is not performed.
                    _ => (number == 0).then_some(Test::IsNotZero),
                };
                tasks.extend(test.map(|test| Task::Branch(condition, test, next)));
                tasks.push(Task::Graph(*body));
                tasks.push(Task::Jump(end));
                tasks.push(Task::Label(next));
            }
        }
    }
    tasks.push(Task::Label(end));
    tasks
}

/// Only kernels, copies and fills can be disabled.
fn check_can_disable(operation: &Operation) -> Outcome<()> {
    match operation {
        Operation::Launch(_) | Operation::Copy(_) | Operation::Fill(_) => Ok(()),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// The first difference between graphs because of which one cannot replace the other.
fn difference(old: &Program, new: &Program) -> Option<UpdateFault> {
    let fault = |kind, node, from_node| {
        Some(UpdateFault {
            kind,
            node,
            from_node,
        })
    };
    for (old_node, new_node) in old.shape.iter().zip(&new.shape) {
        if !old_node.work.is_same_kind(&new_node.work) {
            return fault(UpdateFaultKind::NodeTypeChanged, new_node.node, 0);
        }
        if old_node.dependencies != new_node.dependencies {
            let differing = new_node
                .dependencies
                .iter()
                .find(|index| !old_node.dependencies.contains(index));
            let from = differing.and_then(|index| new.shape.get(*index));
            let from = from.map_or(0, |shape| shape.node);
            return fault(UpdateFaultKind::TopologyChanged, new_node.node, from);
        }
        match (&old_node.work, &new_node.work) {
            (Work::Allocate { .. } | Work::Operation(Operation::Free(_)), _) => {
                return fault(UpdateFaultKind::NotSupported, new_node.node, 0);
            }
            (
                Work::Conditional {
                    condition,
                    kind,
                    bodies,
                },
                Work::Conditional {
                    condition: new_condition,
                    kind: new_kind,
                    bodies: new_bodies,
                },
            ) if (condition, kind, bodies.len()) != (new_condition, new_kind, new_bodies.len()) => {
                return fault(UpdateFaultKind::ParametersChanged, new_node.node, 0);
            }
            _ => {}
        }
    }
    if old.shape.len() != new.shape.len() {
        let node = new.shape.get(old.shape.len()).map_or(0, |shape| shape.node);
        return fault(UpdateFaultKind::TopologyChanged, node, 0);
    }
    None
}
