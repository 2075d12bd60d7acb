//! The messages about functions that failed, which programs read with `cuLogs…` and `cudaLogs…`.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::{CString, c_char};
use std::fmt::Write as _;
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::handles::Raw;
use crate::status::{Outcome, Status};

/// A function of the program that gets each message: the data of the program, the level, the message, and its length in bytes.
pub type LogCallback = extern "C" fn(usize, u32, *const c_char, usize);

/// The level of errors.
const ERROR: u32 = 0;

/// The most bytes of the messages that are kept.
const MOST_BYTES: usize = 25_600;

/// The line before the messages if earlier ones are missing.
const TRUNCATED: &str = "[CUDA][W] earlier messages were left out\n";

#[derive(Debug)]
struct Logs {
    /// The messages that are kept, each with a line end.
    messages: VecDeque<String>,
    /// The bytes of all messages that are kept.
    bytes: usize,
    /// The number of the message that is next.
    next: u32,
    callbacks: Vec<(Raw, LogCallback, usize)>,
    /// The number of callbacks that were registered.
    registered: usize,
}

static LOGS: Mutex<Logs> = Mutex::new(Logs {
    messages: VecDeque::new(),
    bytes: 0,
    next: 0,
    callbacks: Vec::new(),
    registered: 0,
});

thread_local! {
    /// Whether this thread calls functions of the program that get a message. Messages about functions that they call are kept, but not passed on.
    static IS_CALLING: Cell<bool> = const { Cell::new(false) };
}

fn lock() -> MutexGuard<'static, Logs> {
    LOGS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Logs {
    /// The number of the first message that is kept.
    fn first(&self) -> u32 {
        self.next.wrapping_sub(self.messages.len() as u32)
    }

    /// The messages from a number on; without one, all. The result also says whether earlier ones are missing.
    fn from(&self, iterator: Option<u32>) -> (impl DoubleEndedIterator<Item = &str>, bool) {
        let first = self.first();
        let skipped = iterator.map_or(0, |number| number.wrapping_sub(first));
        // A number before the first message wraps around.
        let is_before = skipped > self.messages.len() as u32;
        let skipped = if is_before { 0 } else { skipped as usize };
        let is_truncated = is_before || iterator.is_none() && first != 0;
        (
            self.messages.iter().skip(skipped).map(String::as_str),
            is_truncated,
        )
    }
}

/// Adds the message about a function that failed, and passes it to the functions that the program registered. The driver must not be locked.
pub(crate) fn add(name: &str, status: Status) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let (seconds, milliseconds) = now.map_or((0, 0), |time| (time.as_secs(), time.subsec_millis()));
    let result = status.driver_name().or_else(|| status.runtime_name());
    let result = result.unwrap_or_default().to_string_lossy();
    let mut message = String::new();
    let _ = writeln!(
        message,
        "[{:02}:{:02}:{:02}.{milliseconds:03}][{}][CUDA][E] {name} returned {} {result}",
        seconds / 3600 % 24,
        seconds / 60 % 60,
        seconds % 60,
        process::id(),
        status.0,
    );
    let callbacks = {
        let mut logs = lock();
        logs.bytes += message.len();
        logs.messages.push_back(message.clone());
        logs.next = logs.next.wrapping_add(1);
        while logs.bytes > MOST_BYTES {
            let removed = logs.messages.pop_front();
            logs.bytes -= removed.map_or(0, |message| message.len());
        }
        logs.callbacks.clone()
    };
    let is_calling = IS_CALLING.try_with(|flag| flag.replace(true));
    let line = message.trim_end();
    if let (Ok(false), Ok(text)) = (is_calling, CString::new(line)) {
        for (_, callback, data) in callbacks {
            callback(data, ERROR, text.as_ptr(), line.len());
        }
        let _ = IS_CALLING.try_with(|flag| flag.set(false));
    }
}

/// Registers a function of the program, and returns its handle.
pub(crate) fn register(callback: LogCallback, data: usize) -> Raw {
    let mut logs = lock();
    logs.registered += 1;
    let handle = logs.registered;
    logs.callbacks.push((handle, callback, data));
    handle
}

/// Ends the registration of a function.
pub(crate) fn unregister(handle: Raw) -> Outcome<()> {
    let mut logs = lock();
    let position = logs.callbacks.iter().position(|entry| entry.0 == handle);
    logs.callbacks
        .remove(position.ok_or(Status::INVALID_VALUE)?);
    Ok(())
}

/// The number of the message that is next.
pub(crate) fn current() -> u32 {
    lock().next
}

/// The messages from a number on, and the number of the message that is next.
pub(crate) fn all(iterator: Option<u32>) -> (String, u32) {
    let logs = lock();
    let (messages, is_truncated) = logs.from(iterator);
    let mut text = String::from(if is_truncated { TRUNCATED } else { "" });
    text.extend(messages);
    (text, logs.next)
}

/// The last messages from a number on that fit in a number of bytes, and the number of the message that is next. Fails if there are messages, and none fits.
pub(crate) fn fitting(iterator: Option<u32>, capacity: usize) -> Outcome<(String, u32)> {
    let (text, next) = all(iterator);
    if text.len() <= capacity {
        return Ok((text, next));
    }
    let logs = lock();
    let (messages, _) = logs.from(iterator);
    let (mut left, mut lines) = (capacity.saturating_sub(TRUNCATED.len()), Vec::new());
    for message in messages.rev() {
        if message.len() > left {
            break;
        }
        left -= message.len();
        lines.push(message);
    }
    if lines.is_empty() {
        return Err(Status::INVALID_VALUE);
    }
    let mut text = TRUNCATED.to_owned();
    text.extend(lines.into_iter().rev());
    Ok((text, logs.next))
}
