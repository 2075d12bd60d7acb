//! What all exported functions have in common: the state of the driver, panics, the log, and functions of the program that are called.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::handles::Raw;
use crate::state::{Driver, Operation};
use crate::status::{Outcome, Status};

/// The state of the driver, from the first initialization on.
static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

fn lock() -> MutexGuard<'static, Option<Driver>> {
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The result of a function of the program or of this library; a panic is an unknown error.
fn guarded(function: impl FnOnce() -> Outcome<()>) -> Status {
    match catch_unwind(AssertUnwindSafe(function)) {
        Ok(Ok(())) => Status::SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => Status::UNKNOWN,
    }
}

/// Initializes the driver if it is not.
pub(crate) fn initialize() -> Outcome<()> {
    let mut driver = lock();
    if driver.is_none() {
        *driver = Some(Driver::new()?);
    }
    Ok(())
}

/// Uses the state of the driver.
pub(crate) fn with<T>(function: impl FnOnce(&mut Driver) -> Outcome<T>) -> Outcome<T> {
    let mut guard = lock();
    let driver = guard.as_mut().ok_or(Status::NOT_INITIALIZED)?;
    // As on a computer with a GPU, a process that was forked cannot use the driver of its parent.
    if driver.process != process::id() {
        return Err(Status::NOT_INITIALIZED);
    }
    function(driver)
}

/// Writes a line of the log.
fn log(name: &str, status: Status) {
    let logs = lock().as_ref().is_some_and(|driver| driver.config.log);
    if logs {
        let result = status.driver_name().unwrap_or_default().to_string_lossy();
        eprintln!("ptxkit: {name} {} {result}", status.0);
    }
}

/// The result of an exported function that uses the state of the driver.
pub(crate) fn call(name: &str, function: impl FnOnce(&mut Driver) -> Outcome<()>) -> Status {
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

/// The result of an exported function that does not use the state of the driver.
pub(crate) fn plain(name: &str, function: impl FnOnce() -> Outcome<()>) -> Status {
    let status = guarded(function);
    log(name, status);
    status
}

/// The result of an exported function that appends an operation to a stream: performs it, or records it while the stream is captured.
pub(crate) fn enqueue(
    name: &str,
    stream: Raw,
    make: impl FnOnce(&mut Driver) -> Outcome<Operation>,
) -> Status {
    plain(name, || {
        let operation = with(|driver| {
            driver.check_context()?;
            driver.check_stream(stream)?;
            let operation = make(driver)?;
            driver.captured(stream, operation)
        })?;
        match operation {
            Some(operation) => perform(operation, stream),
            None => Ok(()),
        }
    })
}

/// Performs an operation. The state is not in use while functions of the program are called.
pub(crate) fn perform(operation: Operation, stream: Raw) -> Outcome<()> {
    let mut operations = vec![operation];
    while let Some(operation) = operations.pop() {
        match operation {
            Operation::Host(function) => function.call(stream),
            Operation::Graph(graph) => {
                let parts = with(|driver| driver.operations_of_graph(graph))?;
                operations.extend(parts.into_iter().rev());
            }
            operation => with(|driver| driver.perform(operation, stream))?,
        }
    }
    Ok(())
}

/// The result of a function that is not implemented.
pub(crate) fn not_supported(name: &str) -> u32 {
    log(name, Status::NOT_SUPPORTED);
    Status::NOT_SUPPORTED.0
}
