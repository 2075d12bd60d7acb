//! Streams and events. Operations are performed when they are appended, so that streams are in order and idle, unless a stream waits for a value in memory.

use std::collections::HashMap;
use std::time::Instant;

use super::Driver;
use super::captures::EventCapture;
use super::shared_events::Records;
use crate::handles::{Kind, Raw};
use crate::status::{Outcome, Status};

/// The default stream, which waits for all others.
pub(crate) const DEFAULT_STREAM: Raw = 0;
/// The handle of the default stream that waits for all others.
pub(crate) const LEGACY_STREAM: Raw = 1;
/// The handle of the default stream of each thread.
pub(crate) const PER_THREAD_STREAM: Raw = 2;

/// One handle for all handles of a stream.
pub(super) const fn same_stream(stream: Raw) -> Raw {
    if stream == DEFAULT_STREAM {
        LEGACY_STREAM
    } else {
        stream
    }
}

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

impl Stream {
    /// The flag of streams that do not wait for the legacy default stream.
    pub(crate) const NON_BLOCKING: u32 = 1;
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
    pub(crate) records: Records,
    /// The capture in which it was recorded last.
    pub(crate) captured: Option<EventCapture>,
}

impl Event {
    /// The flag of events without times.
    pub(crate) const DISABLE_TIMING: u32 = 2;
    /// The flag of events that other processes use.
    pub(crate) const INTERPROCESS: u32 = 4;
    /// All flags.
    pub(crate) const FLAGS: u32 = 7;
}

impl Kind for Event {
    const NUMBER: usize = 5;
}

/// The attributes of streams that programs set, by stream and number.
pub(crate) type StreamAttributes = HashMap<(Raw, u32), [u32; 16]>;

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

    /// Destroys a stream. Operations that were appended to it are still performed.
    pub(crate) fn destroy_stream(&mut self, stream: Raw) -> Outcome<()> {
        self.flush_output();
        self.streams.remove(stream)?;
        self.stream_attributes
            .retain(|(owner, _), _| *owner != stream);
        self.forget_captured_stream(stream);
        Ok(())
    }

    /// Removes a stream, with the operations that were not performed, as the end of its context does.
    pub(super) fn abandon_stream(&mut self, stream: Raw) {
        let _ = self.streams.remove(stream);
        self.forget_captured_stream(stream);
        self.forget_queue(stream);
    }

    /// Removes the operations of the default streams that were not performed, as the end of a context does.
    pub(super) fn abandon_default_streams(&mut self) {
        for stream in [LEGACY_STREAM, PER_THREAD_STREAM] {
            self.forget_captured_stream(stream);
            self.forget_queue(stream);
        }
    }

    /// Checks the handle of a stream. Default streams are those of the current context.
    pub(crate) fn check_stream(&self, stream: Raw) -> Outcome<()> {
        match stream {
            DEFAULT_STREAM | LEGACY_STREAM | PER_THREAD_STREAM => {
                self.current_context().map(|_| ())
            }
            other => self.streams.get(other).map(|_| ()),
        }
    }

    /// Creates an event.
    pub(crate) fn create_event(&mut self, flags: u32) -> Outcome<Raw> {
        let is_timed = flags & Event::DISABLE_TIMING == 0;
        if flags & !Event::FLAGS != 0 || (flags & Event::INTERPROCESS != 0 && is_timed) {
            return Err(Status::INVALID_VALUE);
        }
        let context = self.current_context()?;
        Ok(self.events.insert(Event {
            flags,
            recorded: None,
            context,
            records: Records::default(),
            captured: None,
        }))
    }

    /// Checks that an event can be recorded in a stream: both belong to the same context.
    pub(crate) fn check_event_of_stream(&self, event: Raw, stream: Raw) -> Outcome<()> {
        let event = self.events.get(event)?;
        let stream = self.streams.get(stream);
        if stream.is_ok_and(|stream| stream.context != event.context) {
            return Err(Status::INVALID_HANDLE);
        }
        Ok(())
    }

    /// Records an event.
    pub(crate) fn record_event(&mut self, event: Raw) -> Outcome<()> {
        let event = self.events.get_mut(event)?;
        event.recorded = Some(Instant::now());
        event.captured = None;
        event.records.complete();
        Ok(())
    }

    /// Whether all records of an event were performed. Fails if it was recorded in a capture.
    pub(crate) fn is_event_complete(&mut self, handle: Raw) -> Outcome<bool> {
        let event = self.events.get(handle)?;
        if let Some(capture) = &event.captured {
            let capture = capture.capture;
            self.invalidate_capture(capture);
            return Err(Status::CAPTURED_EVENT);
        }
        Ok(event.records.are_complete())
    }

    /// The milliseconds between two events.
    pub(crate) fn elapsed(&self, start: Raw, end: Raw) -> Outcome<f32> {
        let [start, end] = [self.events.get(start)?, self.events.get(end)?];
        if (start.flags | end.flags) & Event::DISABLE_TIMING != 0 {
            return Err(Status::INVALID_HANDLE);
        }
        for event in [start, end] {
            if event.captured.is_some() {
                return Err(Status::CAPTURED_EVENT);
            }
            if !event.records.are_complete() {
                return Err(Status::NOT_READY);
            }
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

    /// Waits until all operations are performed: they are, or cannot be; but the output of kernels is written now, and errors of kernels are returned.
    pub(crate) fn synchronize(&mut self) -> Outcome<()> {
        self.check_unsafe_call()?;
        self.check_not_blocked()?;
        self.end_wait()
    }

    /// Ends a wait for operations that were performed: writes the output of kernels, and returns their errors.
    pub(crate) fn end_wait(&mut self) -> Outcome<()> {
        self.flush_output();
        self.check_fault()
    }
}
