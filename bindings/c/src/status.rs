//! The results of calls: a status, and for each thread the message of the last failure.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::memory::ptxkit_string;

/// The result of a call.
#[repr(C)]
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ptxkit_status {
    /// The result was written.
    Ok = 0,
    /// An argument is null, not UTF-8, or not a valid name.
    InvalidArgument = 1,
    /// There is no function or other entity with the name.
    NotFound = 2,
    /// The module has errors, or the result would have errors.
    Refused = 3,
    /// A defect of this library. The objects of the call can still be freed.
    Internal = 4,
}

/// The failure of a call.
pub(crate) struct Failure {
    status: ptxkit_status,
    message: String,
}

impl Failure {
    fn new(status: ptxkit_status, message: impl ToString) -> Self {
        let message = message.to_string();
        Self { status, message }
    }

    pub(crate) fn argument(message: impl ToString) -> Self {
        Self::new(ptxkit_status::InvalidArgument, message)
    }

    pub(crate) fn not_found(message: impl ToString) -> Self {
        Self::new(ptxkit_status::NotFound, message)
    }

    pub(crate) fn refused(message: impl ToString) -> Self {
        Self::new(ptxkit_status::Refused, message)
    }
}

thread_local! {
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs the `work` of a call and returns its status. Records the message of a failure. A panic becomes a status.
pub(crate) fn run(work: impl FnOnce() -> Result<(), Failure>) -> ptxkit_status {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return ptxkit_status::Ok,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::new(ptxkit_status::Internal, "a mistake in ptxkit"),
    };
    MESSAGE.set(failure.message);
    failure.status
}

/// Returns the value of a call that has no status. The value is the default if `value` returns `None` or panics.
pub(crate) fn get<T: Default>(value: impl FnOnce() -> Option<T>) -> T {
    catch_unwind(AssertUnwindSafe(value))
        .ok()
        .flatten()
        .unwrap_or_default()
}

/// Returns the message of the last failure on this thread. The message is valid until the next call on this thread fails.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_error_message() -> ptxkit_string {
    MESSAGE.with_borrow(|text| ptxkit_string::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_a_status() {
        let wrong: &[u8] = &[];
        let status = run(|| {
            assert_ne!(wrong[std::hint::black_box(3)], 0);
            Ok(())
        });
        assert_eq!(status, ptxkit_status::Internal);
        assert_eq!(
            ptxkit_error_message().text().ok(),
            Some("a mistake in ptxkit")
        );
        assert_eq!(get(|| wrong.get(wrong[3] as usize).copied()), 0);
    }
}
