//! What all functions of the runtime API have in common: the initialization at the first use, and the last error of each thread.

use std::cell::Cell;

use crate::call::{self, initialize};
use crate::handles::Raw;
use crate::state::{self, DEFAULT_STREAM, Driver, Operation};
use crate::status::{Outcome, Status};

thread_local! {
    /// The last error of this thread that the program did not ask for.
    static LAST_ERROR: Cell<Status> = const { Cell::new(Status::SUCCESS) };
}

/// The last error of this thread.
pub(crate) fn last_error() -> Status {
    LAST_ERROR.get()
}

/// Replaces the last error of this thread.
pub(crate) fn set_last_error(status: Status) {
    LAST_ERROR.set(status);
}

/// Keeps an error as the last one of this thread. An operation that is not complete is not an error.
pub(crate) fn recorded(status: Status) -> Status {
    if status != Status::SUCCESS && status != Status::NOT_READY {
        set_last_error(status);
    }
    status
}

/// Initializes the driver, and makes the primary context current if the thread has no current context.
fn prepare() -> Outcome<()> {
    if state::current().is_some() {
        return Ok(());
    }
    initialize()?;
    call::with(Driver::use_primary_context)
}

/// The result of a function after the initialization.
pub(crate) fn prepared(name: &str, function: impl FnOnce() -> Status) -> Status {
    match prepare() {
        Ok(()) => recorded(function()),
        Err(status) => recorded(call::plain(name, || Err(status))),
    }
}

/// Defines functions that initialize the runtime, and then call the function of the driver API that has the same parameters.
macro_rules! same_as_driver {
    ($(
        $(#[$attribute:meta])*
        pub extern "C" fn $name:ident($($parameter:ident: $kind:ty),* $(,)?) -> Status => $function:path;
    )*) => {$(
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($parameter: $kind),*) -> Status {
            crate::runtime::call::prepared(stringify!($name), || $function($($parameter),*))
        }
    )*};
}

pub(crate) use same_as_driver;

/// The result of an exported function that needs a context without an error.
pub(crate) fn in_context(name: &str, function: impl FnOnce(&mut Driver) -> Outcome<()>) -> Status {
    prepared(name, || call::in_context(name, function))
}

/// The result of an exported function that needs the driver, but no context.
pub(crate) fn without_context(
    name: &str,
    function: impl FnOnce(&mut Driver) -> Outcome<()>,
) -> Status {
    match initialize() {
        Ok(()) => recorded(call::call(name, function)),
        Err(status) => recorded(call::plain(name, || Err(status))),
    }
}

/// The result of an exported function that does not use the state of the driver.
pub(crate) fn plain(name: &str, function: impl FnOnce() -> Outcome<()>) -> Status {
    recorded(call::plain(name, function))
}

/// The result of an exported function that appends an operation to a stream.
pub(crate) fn enqueue(
    name: &str,
    stream: Raw,
    make: impl FnOnce(&mut Driver) -> Outcome<Operation>,
) -> Status {
    prepared(name, || call::enqueue(name, stream, make))
}

/// The result of an exported function that appends an operation to a stream, or performs it when all streams are complete.
pub(crate) fn enqueue_or_wait(
    name: &str,
    stream: Option<Raw>,
    make: impl FnOnce(&mut Driver) -> Outcome<Operation>,
) -> Status {
    enqueue(name, stream.unwrap_or(DEFAULT_STREAM), |driver| {
        if stream.is_none() {
            driver.synchronize()?;
        }
        make(driver)
    })
}
