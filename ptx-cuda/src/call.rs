//! What all exported functions have in common: the state of the driver, panics, the log, and functions of the program that are called.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};
use std::{fs, mem, thread};

use crate::handles::Raw;
use crate::logs;
use crate::state::{Driver, Operation, Pending, Progress, cancel_launches, is_any_blocked};
use crate::status::{Outcome, Status};

/// The state of the driver, from the first initialization on.
static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

/// The process that initialized the driver; 0 before. It is read without the lock, which a forked process cannot take if another thread of its parent had it.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Whether the process ends: its exit handlers run.
static ENDING: AtomicBool = AtomicBool::new(false);

/// How long the end of the process waits for other threads that use the driver. They end their launches as soon as they notice it.
const WAIT_AT_END: Duration = Duration::from_secs(2);

/// Whether the functions are logged.
static LOGS: AtomicBool = AtomicBool::new(false);

/// Fails in a forked process: as on a computer with a GPU, it cannot use the driver of its parent.
fn check_process() -> Outcome<()> {
    match PROCESS.load(Ordering::Relaxed) {
        0 => Ok(()),
        owner if owner == process::id() => Ok(()),
        _ => Err(Status::NOT_INITIALIZED),
    }
}

fn lock() -> MutexGuard<'static, Option<Driver>> {
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state, unless it is in use and remains so for `limit`.
fn lock_within(limit: Duration) -> Option<MutexGuard<'static, Option<Driver>>> {
    let started = Instant::now();
    loop {
        match DRIVER.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(error)) => return Some(error.into_inner()),
            Err(TryLockError::WouldBlock) if started.elapsed() >= limit => return None,
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_micros(200)),
        }
    }
}

/// The result of a function of the program or of this library; a panic is an unknown error.
fn guarded(function: impl FnOnce() -> Outcome<()>) -> Status {
    match guarded_value(function) {
        Ok(()) => Status::SUCCESS,
        Err(status) => status,
    }
}

/// The value of a function of the program or of this library; a panic is an unknown error.
fn guarded_value<T>(function: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(function)).unwrap_or(Err(Status::UNKNOWN))
}

/// Initializes the driver if it is not.
pub(crate) fn initialize() -> Outcome<()> {
    check_process()?;
    let mut driver = lock();
    if driver.is_none() {
        let created = Driver::new()?;
        PROCESS.store(process::id(), Ordering::Relaxed);
        LOGS.store(created.config.log, Ordering::Relaxed);
        *driver = Some(created);
        crate::caller::at_exit(end_process);
    }
    Ok(())
}

/// Ends launches of other threads, and writes the reports at the end of the process, unless it was forked. If this is called during a launch of the same thread, by a
/// signal handler, nothing more is written.
extern "C" fn end_process() {
    if check_process().is_err() {
        return;
    }
    ENDING.store(true, Ordering::Relaxed);
    let free = lock_within(Duration::ZERO);
    if free.is_none() {
        cancel_launches();
    }
    if let Some(mut driver) = free.or_else(|| lock_within(WAIT_AT_END))
        && let Some(driver) = driver.as_mut()
    {
        driver.end();
    }
}

/// Uses the state of the driver.
pub(crate) fn with<T>(function: impl FnOnce(&mut Driver) -> Outcome<T>) -> Outcome<T> {
    check_process()?;
    // Exit handlers and destructors of the program do not wait for a thread that does not end its launch.
    let mut guard = if ENDING.load(Ordering::Relaxed) {
        lock_within(WAIT_AT_END).ok_or(Status::DEINITIALIZED)?
    } else {
        lock()
    };
    function(guard.as_mut().ok_or(Status::NOT_INITIALIZED)?)
}

/// Writes a line of the log, and adds a message if the function failed. The state of the driver is not in use.
fn log(name: &str, status: Status) {
    if !matches!(status, Status::SUCCESS | Status::NOT_READY) {
        logs::add(name, status);
    }
    if LOGS.load(Ordering::Relaxed) {
        let result = status.driver_name().unwrap_or_default().to_string_lossy();
        eprintln!("ptxkit: {name} {} {result}", status.0);
    }
}

/// The result of an exported function that uses the state of the driver.
pub(crate) fn call(name: &str, function: impl FnOnce(&mut Driver) -> Outcome<()>) -> Status {
    advance();
    let status = guarded(|| with(function));
    log(name, status);
    status
}

/// The result of an exported function that needs a current context without an error.
pub(crate) fn in_context(name: &str, function: impl FnOnce(&mut Driver) -> Outcome<()>) -> Status {
    call(name, |driver| {
        driver.check_context()?;
        function(driver)
    })
}

/// The result of an exported function of the device or of an object, which needs no current context. If there is one with an error, the result is that error.
pub(crate) fn on_device(name: &str, function: impl FnOnce(&mut Driver) -> Outcome<()>) -> Status {
    call(name, |driver| {
        driver.check_fault()?;
        function(driver)
    })
}

/// The result of an exported function that does not use the state of the driver.
pub(crate) fn plain(name: &str, function: impl FnOnce() -> Outcome<()>) -> Status {
    let status = guarded(function);
    log(name, status);
    status
}

/// The result of an exported function that may end the use of user objects, whose destructors are called while the state is not in use.
pub(crate) fn releasing(name: &str, function: impl FnOnce(&mut Driver) -> Outcome<()>) -> Status {
    let mut destructors = Vec::new();
    let status = call(name, |driver| {
        let result = function(driver);
        destructors = mem::take(&mut driver.destructors);
        result
    });
    for destructor in destructors {
        destructor.call(0);
    }
    status
}

/// The result of an exported function that appends an operation to a stream: performs it, records it while the stream is captured, or keeps it while the stream waits.
pub(crate) fn enqueue(
    name: &str,
    stream: Raw,
    make: impl FnOnce(&mut Driver) -> Outcome<Operation>,
) -> Status {
    advance();
    let status = plain(name, || {
        let progress = with(|driver| {
            driver.in_context_of(stream, |driver| {
                driver.check_context()?;
                driver.check_stream(stream)?;
                let operation = make(driver)?;
                match driver.captured(stream, operation)? {
                    Some(operation) => driver.submit(operation, stream),
                    None => Ok(Progress::Done),
                }
            })
        })?;
        match perform(progress, stream)? {
            Some(rest) => with(|driver| {
                driver.keep_rest(rest, stream);
                Ok(())
            }),
            None => Ok(()),
        }
    });
    advance();
    status
}

/// Performs what remains of an operation, and returns what has to wait. The state is not in use while functions of the program are called.
fn perform(mut progress: Progress, stream: Raw) -> Outcome<Option<Pending>> {
    loop {
        match progress {
            Progress::Done => return Ok(None),
            Progress::Blocked(rest) => return Ok(Some(rest)),
            Progress::Call(function, rest) => {
                function.call(stream);
                let Some(rest) = rest else {
                    return Ok(None);
                };
                progress = with(|driver| {
                    driver.in_context_of(stream, |driver| driver.proceed(rest, stream, None))
                })?;
            }
        }
    }
}

/// Performs the operations that had to wait, as far as that is possible now. Their errors become those of the context.
fn advance() {
    while is_any_blocked() {
        let Ok(Some(ready)) = with(|driver| Ok(driver.take_ready())) else {
            return;
        };
        let stream = ready.stream;
        let result = guarded_value(|| {
            let progress = with(|driver| {
                driver.in_context_of(stream, |driver| {
                    driver.proceed(ready.pending, stream, ready.record)
                })
            })?;
            perform(progress, stream)
        });
        let _ = with(|driver| {
            driver.in_context_of(stream, |driver| {
                if let Err(status) = result {
                    driver.fail_context(status);
                }
                driver.give_back(stream, result.unwrap_or(None));
                Ok(())
            })
        });
    }
}

/// The time for which a function waits for other threads of the program, if the configuration has no limit.
const WAIT: Duration = Duration::from_secs(10);

/// The result of an exported function that waits for operations: until `is_done`, or until it is certain or probable that nothing will end them.
pub(crate) fn wait(name: &str, is_done: impl Fn(&mut Driver) -> Outcome<bool>) -> Status {
    plain(name, || {
        let started = Instant::now();
        loop {
            advance();
            let (done, limit, is_shared) = with(|driver| {
                // After an error of a kernel, nothing is performed any more.
                let has_failed = driver.check_fault().is_err();
                let done = has_failed || is_done(driver)?;
                let limit = driver.config.timeout.unwrap_or(WAIT);
                Ok((done, limit, driver.has_shared_events()))
            })?;
            if done {
                return with(Driver::end_wait);
            }
            // Another thread of the program may write the value for which a stream waits, and another process may record an event.
            let threads = fs::read_dir("/proc/self/task").map_or(2, Iterator::count);
            let is_alone = threads < 2 && !is_shared;
            if is_alone || started.elapsed() > limit {
                let streams = with(|driver| Ok(driver.describe_blocked()))?;
                eprintln!("ptxkit: {name} cannot end: {streams}");
                return Err(Status::LAUNCH_TIMEOUT);
            }
            thread::sleep(Duration::from_micros(200));
        }
    })
}

/// The result of a function that is not implemented.
pub(crate) fn not_supported(name: &str) -> u32 {
    log(name, Status::NOT_SUPPORTED);
    Status::NOT_SUPPORTED.0
}
