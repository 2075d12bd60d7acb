//! Which contents a module has, to recognize facts of other contents.

use core::sync::atomic::{AtomicUsize, Ordering};

/// A number of the contents of a module, unique in the process. A clone of a module has the number of the original until one of
/// them changes.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Content(usize);

impl Content {
    /// A number that no other contents have.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Only the number itself is shared between threads.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::new()
    }
}

impl crate::Module {
    /// Records that something changes: what is known of the module is stale. Gives the new revision.
    pub(crate) fn change(&mut self) -> u32 {
        self.content = Content::new();
        self.revision += 1;
        self.revision
    }
}
