//! Streams and events. Operations are performed when they are appended, so that streams are always in order and idle.

use std::time::Instant;

use super::{Driver, Operation};
use crate::handles::{Kind, Raw};
use crate::status::{Outcome, Status};

/// The default stream, which waits for all others.
pub(crate) const DEFAULT_STREAM: Raw = 0;
/// The handle of the default stream that waits for all others.
pub(crate) const LEGACY_STREAM: Raw = 1;
/// The handle of the default stream of each thread.
pub(crate) const PER_THREAD_STREAM: Raw = 2;

/// A stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    /// The context that owns it.
    pub(crate) context: Raw,
    /// The number of the stream among all of the process.
    pub(crate) number: u64,
}

impl Kind for Stream {
    const NUMBER: usize = 4;
}

/// An event.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) flags: u32,
    /// When it was recorded last.
    pub(crate) recorded: Option<Instant>,
    /// The context that owns it.
    pub(crate) context: Raw,
}

impl Event {
    /// The flag of events without times.
    pub(crate) const DISABLE_TIMING: u32 = 2;
}

impl Kind for Event {
    const NUMBER: usize = 5;
}

impl Driver {
    /// Creates a stream.
    pub(crate) fn create_stream(&mut self, flags: u32, priority: i32) -> Outcome<Raw> {
        let context = self.current_context()?;
        let number = 3 + self.streams.created() as u64;
        Ok(self.streams.insert(Stream {
            flags,
            priority,
            context,
            number,
        }))
    }

    /// Creates an event.
    pub(crate) fn create_event(&mut self, flags: u32) -> Outcome<Raw> {
        let context = self.current_context()?;
        Ok(self.events.insert(Event {
            flags,
            recorded: None,
            context,
        }))
    }

    /// Checks the handle of a stream.
    pub(crate) fn check_stream(&self, stream: Raw) -> Outcome<()> {
        match stream {
            DEFAULT_STREAM | LEGACY_STREAM | PER_THREAD_STREAM => Ok(()),
            other => self.streams.get(other).map(|_| ()),
        }
    }

    /// Records an operation in a graph if the stream is captured; else returns it.
    pub(crate) fn captured(
        &mut self,
        _stream: Raw,
        operation: Operation,
    ) -> Outcome<Option<Operation>> {
        Ok(Some(operation))
    }

    /// Records an event in a stream.
    pub(crate) fn record_event(&mut self, event: Raw, _stream: Raw) -> Outcome<()> {
        self.events.get_mut(event)?.recorded = Some(Instant::now());
        Ok(())
    }

    /// The milliseconds between two events.
    pub(crate) fn elapsed(&self, start: Raw, end: Raw) -> Outcome<f32> {
        let [start, end] = [self.events.get(start)?, self.events.get(end)?];
        if (start.flags | end.flags) & Event::DISABLE_TIMING != 0 {
            return Err(Status::INVALID_HANDLE);
        }
        let (Some(start), Some(end)) = (start.recorded, end.recorded) else {
            return Err(Status::INVALID_HANDLE);
        };
        let milliseconds = |duration: std::time::Duration| duration.as_secs_f32() * 1000.0;
        Ok(match end.checked_duration_since(start) {
            Some(duration) => milliseconds(duration),
            None => -milliseconds(start.duration_since(end)),
        })
    }

    /// Waits until all operations are performed: they are, but the output of kernels is written now, and errors of kernels are returned.
    pub(crate) fn synchronize(&mut self) -> Outcome<()> {
        self.flush_output();
        self.check_context()
    }
}
