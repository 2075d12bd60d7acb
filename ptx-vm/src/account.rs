//! The memory of the host that a machine and its launches may use.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::error::StopReason;

/// The bytes that a machine may use by default.
pub(crate) const MEMORY: u64 = 4 << 30;

/// The purpose of memory of the host.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    GlobalMemory,
    SharedMemory,
    TensorMemory,
    Stacks,
    Registers,
    Output,
    Launches,
    Checkers,
    AsynchronousOperations,
}

impl Purpose {
    /// The words for the purpose in a message, with the verb.
    const fn name(self) -> &'static str {
        match self {
            Self::GlobalMemory => "global memory needs",
            Self::SharedMemory => "the shared memory and the warps of a cluster need",
            Self::TensorMemory => "the tensor memory of a CTA needs",
            Self::Stacks => "the stacks of threads need",
            Self::Registers => "the registers of a call need",
            Self::Output => "the output of `printf` needs",
            Self::Launches => "launches from kernels need",
            Self::Checkers => "the checkers need",
            Self::AsynchronousOperations => "pending asynchronous operations need",
        }
    }
}

/// The bytes in use, and how many there may be.
#[derive(Debug)]
pub(crate) struct Account {
    used: AtomicU64,
    limit: AtomicU64,
    /// More was used than allowed in a place that cannot return an error.
    exceeded: AtomicBool,
    /// The purpose and the bytes of the first such use.
    refused: Mutex<Option<(Purpose, u64)>>,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            used: AtomicU64::new(0),
            limit: AtomicU64::new(MEMORY),
            exceeded: AtomicBool::new(false),
            refused: Mutex::new(None),
        }
    }
}

impl Account {
    /// Sets the limit, and forgets that it was exceeded.
    pub(crate) fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
        self.exceeded.store(false, Ordering::Relaxed);
    }

    /// Uses more bytes, unless these are more than allowed.
    pub(crate) fn take(&self, bytes: u64, purpose: Purpose) -> Result<(), StopReason> {
        let used_before = self.used.fetch_add(bytes, Ordering::Relaxed);
        if used_before.saturating_add(bytes) <= self.limit.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.release(bytes);
        Err(self.error(purpose, bytes))
    }

    /// Uses more bytes where that cannot fail: [`check`](Self::check) says later whether they were more than allowed.
    pub(crate) fn note(&self, bytes: u64, purpose: Purpose) {
        let used_before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let limit = self.limit.load(Ordering::Relaxed);
        if used_before.saturating_add(bytes) > limit
            && !self.exceeded.swap(true, Ordering::Relaxed)
            && let Ok(mut refused) = self.refused.lock()
        {
            *refused = Some((purpose, bytes));
        }
    }

    /// Fails if more was used than allowed.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), StopReason> {
        if !self.exceeded.load(Ordering::Relaxed) {
            return Ok(());
        }
        let refused = self.refused.lock().ok().and_then(|refused| *refused);
        let (purpose, bytes) = refused.unwrap_or((Purpose::Checkers, 0));
        Err(self.error(purpose, bytes))
    }

    pub(crate) fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The error of a use of more bytes than allowed.
    pub(crate) fn error(&self, purpose: Purpose, bytes: u64) -> StopReason {
        let limit = display(self.limit.load(Ordering::Relaxed));
        let (user, bytes) = (purpose.name(), display(bytes));
        StopReason::MemoryLimit(format!(
            "the memory limit of {limit} was reached: {user} {bytes} more"
        ))
    }
}

/// A number of bytes with a unit, exactly.
fn display(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let unit = (0..units.len())
        .rev()
        .find(|unit| bytes > 0 && bytes.is_multiple_of(1 << (10 * unit)))
        .unwrap_or(0);
    let number = bytes >> (10 * unit);
    match (unit, bytes) {
        (0, 1) => "1 byte".to_owned(),
        _ => format!("{number} {}", units[unit]),
    }
}

/// Bytes of an account that are released together.
#[derive(Debug)]
pub(crate) struct Held {
    account: Arc<Account>,
    bytes: u64,
}

impl Held {
    pub(crate) const fn new(account: Arc<Account>) -> Self {
        Self { account, bytes: 0 }
    }

    /// Bytes that the account already counts.
    pub(crate) const fn counted(account: Arc<Account>, bytes: u64) -> Self {
        Self { account, bytes }
    }

    /// Uses more bytes, unless these are more than allowed.
    pub(crate) fn take(&mut self, bytes: u64, purpose: Purpose) -> Result<(), StopReason> {
        self.account.take(bytes, purpose)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Sets the bytes in use where that cannot fail.
    pub(crate) fn set(&mut self, bytes: u64, purpose: Purpose) {
        match bytes.checked_sub(self.bytes) {
            Some(0) => {}
            Some(growth) => self.account.note(growth, purpose),
            None => self.account.release(self.bytes - bytes),
        }
        self.bytes = bytes;
    }

    /// Uses fewer bytes.
    pub(crate) fn release(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.account.release(bytes);
        self.bytes -= bytes;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.account.release(self.bytes);
    }
}
