//! The operations of streams, which are performed at once or recorded in a graph.

use super::{Copy, Driver, Fill, KernelLaunch};
use crate::handles::Raw;
use crate::status::Outcome;

/// An operation of a stream.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// Does nothing.
    Empty,
    Launch(Box<KernelLaunch>),
    Copy(Copy),
    Fill(Fill),
    /// Calls a function of the program.
    Host(HostFunction),
    /// Records an event.
    Record(Raw),
    /// Waits for an event. As operations are performed at once, the event has been recorded, or does not delay anything.
    Wait(Raw),
    /// Frees an allocation.
    Free(u64),
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
    /// Performs an operation that is neither a call of the program nor a graph.
    pub(crate) fn perform(&mut self, operation: Operation, stream: Raw) -> Outcome<()> {
        match operation {
            Operation::Empty | Operation::Host(_) | Operation::Graph(_) => Ok(()),
            Operation::Launch(launch) => self.launch(&launch),
            Operation::Copy(copy) => self.copy(&copy),
            Operation::Fill(fill) => self.fill(&fill),
            Operation::Record(event) => self.record_event(event, stream),
            Operation::Wait(event) => self.events.get(event).map(|_| ()),
            Operation::Free(address) => self.free(address),
        }
    }
}
