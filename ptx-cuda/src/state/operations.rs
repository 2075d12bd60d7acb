//! The operations of streams, which are performed at once, kept while a stream waits, or recorded in a graph.

use super::memory_operations::MemoryOperation;
use super::{Copy, Driver, Fill, KernelLaunch};
use crate::handles::Raw;
use crate::status::Outcome;

/// An operation of a stream.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// Does nothing.
    Empty,
    /// Does nothing, and is not a node of a graph while the stream is captured.
    Nothing,
    Launch(Box<KernelLaunch>),
    Copy(Copy),
    Fill(Fill),
    /// Calls a function of the program.
    Host(HostFunction),
    /// Records an event.
    Record(Raw),
    /// Waits for an event.
    Wait(Raw),
    /// Records an event. If the stream is captured, each launch of the graph does.
    RecordExternal(Raw),
    /// Waits for an event. If the stream is captured, each launch of the graph does.
    WaitExternal(Raw),
    /// Frees an allocation.
    Free(u64),
    /// Operations on values in memory, for which the stream may have to wait.
    Memory(Vec<MemoryOperation>),
    /// Performs the operations of an executable graph.
    Graph(Raw),
}

/// A function of the program, and its argument.
#[derive(Copy, Clone, Debug)]
pub(crate) enum HostFunction {
    /// `CUhostFn`.
    Plain(extern "C" fn(usize), usize),
    /// `CUstreamCallback`, which also gets the stream and the result of the operations before.
    WithStatus(extern "C" fn(Raw, u32, usize), usize),
}

impl HostFunction {
    /// Calls the function.
    pub(crate) fn call(self, stream: Raw) {
        match self {
            Self::Plain(function, data) => function(data),
            Self::WithStatus(function, data) => function(stream, 0, data),
        }
    }
}

impl Driver {
    /// Performs an operation that need not wait, and is neither a call of the program nor a graph.
    pub(super) fn perform(&mut self, operation: Operation) -> Outcome<()> {
        match operation {
            Operation::Empty
            | Operation::Nothing
            | Operation::Host(_)
            | Operation::Graph(_)
            | Operation::Memory(_) => Ok(()),
            Operation::Launch(launch) => self.launch(&launch),
            Operation::Copy(copy) => self.copy(&copy),
            Operation::Fill(fill) => self.fill(&fill),
            Operation::Record(event) | Operation::RecordExternal(event) => self.record_event(event),
            Operation::Wait(event) | Operation::WaitExternal(event) => {
                self.events.get(event).map(|_| ())
            }
            Operation::Free(address) => self.free(address),
        }
    }
}
