//! Limits on the work of parsing and checking, which also cancel it.

use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

/// An amount of work that may still be done, in bytes of the source that is read, shared by all threads that do it.
///
/// Work that needs as much or more ends with [`BudgetExhausted`], within 64 KB of the limit. Another thread cancels the work by
/// [`cancel`](Self::cancel).
///
/// ```
/// let budget = ptx_ir::Budget::new(1000);
/// assert!(budget.spend(600).is_ok());
/// assert!(budget.spend(600).is_err());
/// let unlimited = ptx_ir::Budget::unlimited();
/// assert!(unlimited.spend(usize::MAX).is_ok());
/// unlimited.cancel();
/// assert!(unlimited.spend(1).is_err());
/// ```
#[derive(Debug)]
pub struct Budget {
    /// The remaining bytes; `UNLIMITED` without limit.
    remaining: AtomicUsize,
}

const UNLIMITED: usize = usize::MAX;

impl Budget {
    /// A budget of some bytes of source.
    #[must_use]
    pub const fn new(bytes: usize) -> Self {
        Self {
            remaining: AtomicUsize::new(bytes),
        }
    }

    /// A budget that is only exhausted by [`cancel`](Self::cancel).
    #[must_use]
    pub const fn unlimited() -> Self {
        Self::new(UNLIMITED)
    }

    /// Exhausts the budget, so that work in progress ends soon.
    pub fn cancel(&self) {
        self.remaining.store(0, Ordering::Relaxed);
    }

    /// Takes the cost of work that is about to be done or was done.
    ///
    /// # Errors
    ///
    /// Nothing remains after it, now or earlier.
    pub fn spend(&self, bytes: usize) -> Result<(), BudgetExhausted> {
        let mut remaining = self.remaining.load(Ordering::Relaxed);
        while remaining != UNLIMITED {
            let (rest, result) = match remaining.checked_sub(bytes) {
                Some(rest) if rest > 0 => (rest, Ok(())),
                _ => (0, Err(BudgetExhausted)),
            };
            match self.remaining.compare_exchange_weak(
                remaining,
                rest,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return result,
                Err(current) => remaining = current,
            }
        }
        Ok(())
    }
}

/// Work was canceled, or it needs more than its [`Budget`].
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct BudgetExhausted;

impl fmt::Display for BudgetExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the budget of the work is exhausted, or the work was canceled")
    }
}

impl core::error::Error for BudgetExhausted {}
