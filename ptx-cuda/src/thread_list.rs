//! Lists of each thread, which also exist when the thread-local values of the thread were destroyed: destructors of objects of the program call functions of the API then.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};
use std::thread::LocalKey;

/// The list of a thread.
pub(crate) struct ThreadList<T: 'static> {
    of_thread: &'static LocalKey<RefCell<Vec<T>>>,
    /// The list of threads whose values were destroyed. They are at their end, and nearly always only the main thread is.
    of_ending_threads: Mutex<Vec<T>>,
}

impl<T: 'static> ThreadList<T> {
    pub(crate) const fn new(of_thread: &'static LocalKey<RefCell<Vec<T>>>) -> Self {
        Self {
            of_thread,
            of_ending_threads: Mutex::new(Vec::new()),
        }
    }

    /// Uses the list of this thread.
    pub(crate) fn with<R>(&self, function: impl FnOnce(&mut Vec<T>) -> R) -> R {
        if self.of_thread.try_with(|_| ()).is_ok() {
            return self.of_thread.with_borrow_mut(function);
        }
        let list = self.of_ending_threads.lock();
        function(&mut list.unwrap_or_else(PoisonError::into_inner))
    }
}
