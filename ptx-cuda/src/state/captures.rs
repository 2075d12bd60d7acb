//! Captures of streams: operations that are appended to a stream become nodes of a graph.
//!
//! A capture begins in one stream. Another stream joins it when it waits for an event that was recorded in the capture; it has to be joined to the first one again, by
//! an event, before the capture ends.

use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};
use std::thread::{self, ThreadId};

use super::graphs::{Edge, Work};
use super::streams::{LEGACY_STREAM, same_stream};
use super::{AllocationKind, Driver, HostFunction, Operation};
use crate::handles::{Kind, Raw};
use crate::status::{Outcome, Status};

/// Which functions that may wait for a stream are forbidden during a capture.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum CaptureMode {
    /// Those of all threads.
    Global,
    /// Those of the thread that began the capture.
    ThreadLocal,
    /// None.
    Relaxed,
}

thread_local! {
    /// The mode of this thread.
    static MODE: Cell<CaptureMode> = const { Cell::new(CaptureMode::Global) };
}

/// Sets the mode of this thread, and returns the one before.
pub(crate) fn exchange_mode(mode: CaptureMode) -> CaptureMode {
    MODE.replace(mode)
}

/// A capture.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) graph: Raw,
    /// The stream in which it began.
    pub(crate) origin: Raw,
    mode: CaptureMode,
    thread: ThreadId,
    pub(crate) is_invalidated: bool,
    /// Whether the capture created the graph.
    owns_graph: bool,
    /// The last nodes of streams that joined the capture and were destroyed, which have to be joined to the origin, too.
    last_of_destroyed: Vec<Raw>,
    /// The number of the capture among all of the process.
    pub(crate) number: u64,
}

impl Kind for Capture {
    const NUMBER: usize = 15;
}

/// A stream that is captured.
#[derive(Debug)]
pub(crate) struct CapturedStream {
    pub(crate) capture: Raw,
    /// The nodes that the next node follows.
    pub(crate) dependencies: Vec<Raw>,
    /// The edges from these nodes.
    pub(crate) edges: Vec<Edge>,
}

impl CapturedStream {
    fn new(capture: Raw, dependencies: &BTreeMap<Raw, Edge>) -> Self {
        Self {
            capture,
            dependencies: dependencies.keys().copied().collect(),
            edges: dependencies.values().copied().collect(),
        }
    }

    /// The nodes that the next node follows, with the edges.
    fn pairs(&self) -> Vec<(Raw, Edge)> {
        let edges = self.edges.iter().copied();
        self.dependencies.iter().copied().zip(edges).collect()
    }
}

/// A record of an event in a captured stream.
#[derive(Clone, Debug)]
pub(crate) struct EventCapture {
    pub(crate) capture: Raw,
    /// The nodes that a stream follows after it waited for the event.
    dependencies: Vec<(Raw, Edge)>,
}

impl Driver {
    /// Begins a capture. The operations become nodes of `graph` that follow `dependencies`, or of a new graph.
    pub(crate) fn begin_capture(
        &mut self,
        stream: Raw,
        mode: CaptureMode,
        graph: Option<(Raw, Vec<(Raw, Edge)>)>,
    ) -> Outcome<()> {
        let stream = same_stream(stream);
        if stream == LEGACY_STREAM {
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        if self.captured_streams.contains_key(&stream) {
            return Err(Status::ILLEGAL_STATE);
        }
        let owns_graph = graph.is_none();
        let (graph, dependencies) = match graph {
            Some((graph, dependencies)) => {
                for (node, _) in &dependencies {
                    if self.nodes.get(*node)?.graph != graph {
                        return Err(Status::INVALID_VALUE);
                    }
                }
                self.graphs.get(graph)?;
                (graph, dependencies)
            }
            None => (self.create_graph(None), Vec::new()),
        };
        let number = 1 + self.captures.created() as u64;
        let capture = self.captures.insert(Capture {
            graph,
            origin: stream,
            mode,
            thread: thread::current().id(),
            is_invalidated: false,
            owns_graph,
            last_of_destroyed: Vec::new(),
            number,
        });
        let dependencies = dependencies.into_iter().collect();
        let captured = CapturedStream::new(capture, &dependencies);
        self.captured_streams.insert(stream, captured);
        Ok(())
    }

    /// Ends a capture, and returns its graph.
    pub(crate) fn end_capture(&mut self, stream: Raw) -> Outcome<Raw> {
        let stream = same_stream(stream);
        let captured = self.captured_streams.get(&stream);
        let handle = captured.ok_or(Status::ILLEGAL_STATE)?.capture;
        let capture = self.captures.get(handle)?;
        if capture.origin != stream {
            return Err(Status::STREAM_CAPTURE_UNMATCHED);
        }
        let is_own_thread = capture.thread == thread::current().id();
        if capture.mode != CaptureMode::Relaxed && !is_own_thread {
            return Err(Status::STREAM_CAPTURE_WRONG_THREAD);
        }
        let result = if capture.is_invalidated {
            Err(Status::STREAM_CAPTURE_INVALIDATED)
        } else if self.is_joined(handle, stream)? {
            Ok(capture.graph)
        } else {
            Err(Status::STREAM_CAPTURE_UNJOINED)
        };
        self.finish_capture(handle, result.is_err());
        result
    }

    /// Whether all nodes that streams of a capture follow are before, or are, those that the origin follows.
    fn is_joined(&self, capture: Raw, origin: Raw) -> Outcome<bool> {
        let first = self.captured_streams.get(&origin);
        let first = first.ok_or(Status::ILLEGAL_STATE)?;
        let mut left = first.dependencies.clone();
        let mut predecessors: HashSet<Raw> = left.iter().copied().collect();
        while let Some(node) = left.pop() {
            // A node that the program has destroyed is predecessors no other one.
            let Ok(node) = self.nodes.get(node) else {
                continue;
            };
            left.extend(
                node.dependencies
                    .keys()
                    .filter(|node| predecessors.insert(**node)),
            );
        }
        let of_capture = |stream: &&CapturedStream| stream.capture == capture;
        let streams = self.captured_streams.values().filter(of_capture);
        let destroyed = &self.captures.get(capture)?.last_of_destroyed;
        let mut last = streams.flat_map(|s| &s.dependencies).chain(destroyed);
        Ok(last.all(|node| predecessors.contains(node)))
    }

    /// Removes a capture.
    fn finish_capture(&mut self, handle: Raw, destroy_graph: bool) {
        self.captured_streams
            .retain(|_, stream| stream.capture != handle);
        if let Ok(capture) = self.captures.remove(handle)
            && destroy_graph
            && capture.owns_graph
        {
            self.remove_graphs(vec![capture.graph]);
        }
    }

    /// Ends the part of a stream that is destroyed in a capture: the capture ends with its origin. The nodes of another stream remain.
    pub(super) fn forget_captured_stream(&mut self, stream: Raw) {
        let Some(captured) = self.captured_streams.remove(&stream) else {
            return;
        };
        let handle = captured.capture;
        let Ok(capture) = self.captures.get_mut(handle) else {
            return;
        };
        if capture.origin == stream {
            self.finish_capture(handle, true);
        } else {
            capture.last_of_destroyed.extend(captured.dependencies);
        }
    }

    /// Makes a capture unusable: until it ends, functions fail.
    pub(crate) fn invalidate_capture(&mut self, capture: Raw) {
        if let Ok(capture) = self.captures.get_mut(capture) {
            capture.is_invalidated = true;
        }
    }

    /// The capture of a stream. Fails for the legacy default stream while a stream is captured that waits for it.
    pub(crate) fn capture_of(&self, stream: Raw) -> Outcome<Option<(&Capture, &CapturedStream)>> {
        let stream = same_stream(stream);
        if stream == LEGACY_STREAM && self.captured_blocking_stream().is_some() {
            return Err(Status::STREAM_CAPTURE_IMPLICIT);
        }
        match self.captured_streams.get(&stream) {
            Some(captured) => Ok(Some((self.captures.get(captured.capture)?, captured))),
            None => Ok(None),
        }
    }

    /// The capture of a stream for which the legacy default stream waits.
    fn captured_blocking_stream(&self) -> Option<Raw> {
        let mut streams = self.captured_streams.iter();
        let blocking = streams.find(|(stream, _)| !self.is_non_blocking(**stream));
        blocking.map(|(_, captured)| captured.capture)
    }

    /// Fails if the stream is captured, for functions that wait for it, and invalidates the capture.
    pub(crate) fn check_not_captured(&mut self, stream: Raw) -> Outcome<()> {
        let stream = same_stream(stream);
        if stream == LEGACY_STREAM
            && let Some(capture) = self.captured_blocking_stream()
        {
            self.invalidate_capture(capture);
            return Err(Status::STREAM_CAPTURE_IMPLICIT);
        }
        match self.captured_streams.get(&stream) {
            Some(captured) => {
                let capture = captured.capture;
                self.invalidate_capture(capture);
                Err(Status::STREAM_CAPTURE_UNSUPPORTED)
            }
            None => Ok(()),
        }
    }

    /// Fails for functions that may wait for a captured stream, as the modes of this thread and of captures decide, and invalidates the captures.
    pub(crate) fn check_unsafe_call(&mut self) -> Outcome<()> {
        if self.captured_streams.is_empty() || MODE.get() == CaptureMode::Relaxed {
            return Ok(());
        }
        let thread = thread::current().id();
        let captures = self.captures.iter().filter(|(_, capture)| {
            let in_other_thread = MODE.get() == CaptureMode::Global
                && capture.mode == CaptureMode::Global
                && capture.thread != thread;
            let in_thread = capture.thread == thread && capture.mode != CaptureMode::Relaxed;
            in_thread || in_other_thread
        });
        let captures: Vec<Raw> = captures.map(|(handle, _)| handle).collect();
        for capture in &captures {
            self.invalidate_capture(*capture);
        }
        if captures.is_empty() {
            Ok(())
        } else {
            Err(Status::STREAM_CAPTURE_UNSUPPORTED)
        }
    }

    /// Adds the node of an operation to the graph if the stream is captured; else returns the operation.
    pub(crate) fn captured(
        &mut self,
        stream: Raw,
        operation: Operation,
    ) -> Outcome<Option<Operation>> {
        let stream = same_stream(stream);
        match self.captured_streams.get(&stream) {
            Some(captured) => {
                let capture = captured.capture;
                if self.captures.get(capture)?.is_invalidated {
                    return Err(Status::STREAM_CAPTURE_INVALIDATED);
                }
                let result = self.capture_operation(stream, capture, operation);
                if result.is_err() {
                    self.invalidate_capture(capture);
                }
                result.map(|()| None)
            }
            None => self.outside_of_capture(stream, operation),
        }
    }

    /// Lets a stream that is not captured join a capture if it waits for an event of one; else returns the operation.
    fn outside_of_capture(
        &mut self,
        stream: Raw,
        operation: Operation,
    ) -> Outcome<Option<Operation>> {
        if stream == LEGACY_STREAM
            && let Some(capture) = self.captured_blocking_stream()
        {
            self.invalidate_capture(capture);
            return Err(Status::STREAM_CAPTURE_IMPLICIT);
        }
        let Operation::Wait(event) = operation else {
            return Ok(Some(operation));
        };
        let Some(record) = self.events.get(event)?.captured.clone() else {
            return Ok(Some(operation));
        };
        let Ok(capture) = self.captures.get(record.capture) else {
            return Err(Status::CAPTURED_EVENT);
        };
        if capture.is_invalidated {
            return Err(Status::STREAM_CAPTURE_INVALIDATED);
        }
        if stream == LEGACY_STREAM {
            self.invalidate_capture(record.capture);
            return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
        }
        let dependencies = record.dependencies.into_iter().collect();
        let captured = CapturedStream::new(record.capture, &dependencies);
        self.captured_streams.insert(stream, captured);
        Ok(None)
    }

    /// Adds an operation of a captured stream to the graph.
    fn capture_operation(
        &mut self,
        stream: Raw,
        capture: Raw,
        operation: Operation,
    ) -> Outcome<()> {
        let unknown = Status::ILLEGAL_STATE;
        let captured = self.captured_streams.get(&stream).ok_or(unknown)?;
        let work = match operation {
            Operation::Record(event) => {
                let dependencies = captured.pairs();
                self.events.get_mut(event)?.captured = Some(EventCapture {
                    capture,
                    dependencies,
                });
                return Ok(());
            }
            Operation::Wait(event) => {
                let event = self.events.get(event)?;
                let Some(record) = event.captured.clone() else {
                    // Nothing before an event that was never recorded can be outside of the capture.
                    return match event.records.requested() {
                        0 => Ok(()),
                        _ => Err(Status::STREAM_CAPTURE_ISOLATION),
                    };
                };
                if record.capture != capture {
                    if self.captures.get(record.capture).is_err() {
                        return Err(Status::CAPTURED_EVENT);
                    }
                    self.invalidate_capture(record.capture);
                    return Err(Status::STREAM_CAPTURE_MERGE);
                }
                let predecessors = captured.pairs().into_iter().chain(record.dependencies);
                let captured = CapturedStream::new(capture, &predecessors.collect());
                self.captured_streams.insert(stream, captured);
                return Ok(());
            }
            Operation::Nothing => return Ok(()),
            Operation::Host(HostFunction::WithStatus(..)) => {
                return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
            }
            Operation::RecordExternal(event) => Work::Operation(Operation::Record(event)),
            Operation::WaitExternal(event) => Work::Operation(Operation::Wait(event)),
            Operation::Free(address) if !self.graph_memory.contains_key(&address) => {
                return Err(Status::INVALID_VALUE);
            }
            Operation::Graph(exec) => Work::Child(self.graph_of_exec(exec)?),
            operation => Work::Operation(operation),
        };
        let child = match work {
            Work::Child(child) => Some(child),
            _ => None,
        };
        let node = self.append_captured(stream, work)?;
        if let Some(child) = child {
            self.graphs.get_mut(child)?.owner = Some(node);
        }
        Ok(())
    }

    /// Adds a node to the graph of a captured stream, after the operations of the stream.
    fn append_captured(&mut self, stream: Raw, work: Work) -> Outcome<Raw> {
        let unknown = Status::ILLEGAL_STATE;
        let captured = self.captured_streams.get(&stream).ok_or(unknown)?;
        let graph = self.captures.get(captured.capture)?.graph;
        let dependencies = captured.pairs();
        let node = self.add_node(graph, &dependencies, work)?;
        let captured = self.captured_streams.get_mut(&stream).ok_or(unknown)?;
        captured.dependencies = vec![node];
        captured.edges = vec![Edge::default()];
        Ok(node)
    }

    /// Allocates memory in the order of a stream, and returns its address and what remains to be appended to the stream. While the stream is captured, a node of the graph
    /// allocates the memory, which is that of the device.
    pub(crate) fn allocate_in_stream(
        &mut self,
        stream: Raw,
        bytes: u64,
        kind: AllocationKind,
    ) -> Outcome<(u64, Operation)> {
        let stream = same_stream(stream);
        let Some(captured) = self.captured_streams.get(&stream) else {
            let address = self.allocate_in_order(bytes, kind)?;
            return Ok((address, Operation::Nothing));
        };
        if kind != AllocationKind::Device {
            return Err(Status::NOT_SUPPORTED);
        }
        if self.captures.get(captured.capture)?.is_invalidated {
            return Err(Status::STREAM_CAPTURE_INVALIDATED);
        }
        let address = self.reserve_graph_memory(bytes)?;
        self.append_captured(stream, Work::Allocate { address, bytes })?;
        Ok((address, Operation::Nothing))
    }

    /// Adds nodes to those that the next operation of a captured stream follows, or replaces them.
    pub(crate) fn update_capture(
        &mut self,
        stream: Raw,
        dependencies: Vec<(Raw, Edge)>,
        replace: bool,
    ) -> Outcome<()> {
        let stream = same_stream(stream);
        let captured = self.captured_streams.get(&stream);
        let captured = captured.ok_or(Status::ILLEGAL_STATE)?;
        let (handle, capture) = (captured.capture, self.captures.get(captured.capture)?);
        if capture.is_invalidated {
            return Err(Status::STREAM_CAPTURE_INVALIDATED);
        }
        let graph = capture.graph;
        let predecessors = if replace {
            Vec::new()
        } else {
            captured.pairs()
        };
        for (node, _) in &dependencies {
            if self.nodes.get(*node)?.graph != graph {
                return Err(Status::INVALID_VALUE);
            }
        }
        let all = predecessors.into_iter().chain(dependencies).collect();
        self.captured_streams
            .insert(stream, CapturedStream::new(handle, &all));
        Ok(())
    }
}
