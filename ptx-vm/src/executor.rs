//! How a launch is run, which does not change its result: the threads of the host, and who watches it.

use core::fmt::Debug;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::trace::StepObserver;

/// Runs tasks that do not depend on each other, on one thread of the host or on several.
///
/// ```
/// /// A thread for each task.
/// #[derive(Debug)]
/// struct Threads;
///
/// impl ptx_vm::Executor for Threads {
///     fn run(&self, tasks: u64, task: &(dyn Fn(u64) + Sync)) {
///         std::thread::scope(|scope| {
///             for n in 0..tasks {
///                 scope.spawn(move || task(n));
///             }
///         });
///     }
/// }
/// ```
pub trait Executor: Debug + Sync {
    /// Calls `task` once with each number below `tasks`, in any order and on any threads, and returns when all calls have returned.
    fn run(&self, tasks: u64, task: &(dyn Fn(u64) + Sync));
}

/// Runs tasks one after the other.
#[derive(Copy, Clone, Debug, Default)]
pub struct OneThread;

impl Executor for OneThread {
    fn run(&self, tasks: u64, task: &(dyn Fn(u64) + Sync)) {
        (0..tasks).for_each(task);
    }
}

/// How far a launch is. Another thread may read it, or cancel the launch.
#[derive(Debug, Default)]
pub struct Progress {
    steps: AtomicU64,
    blocks: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// Executed instructions of warps; several warps may be ahead of this by some thousands.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// CTAs that came to their end.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Ends the launch, and later ones with this progress, with [`StopReason::Cancelled`](crate::StopReason::Cancelled).
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn start(&self) {
        self.steps.store(0, Ordering::Relaxed);
        self.blocks.store(0, Ordering::Relaxed);
    }

    /// Counts steps; gives how many there were before.
    pub(crate) fn add_steps(&self, steps: u64) -> u64 {
        self.steps.fetch_add(steps, Ordering::Relaxed)
    }

    pub(crate) fn add_blocks(&self, blocks: u64) {
        self.blocks.fetch_add(blocks, Ordering::Relaxed);
    }
}

/// How a launch is run, which does not change its result.
#[derive(Copy, Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunOptions<'a> {
    /// Runs CTAs that do not depend on each other; `None` for one thread.
    pub executor: Option<&'a dyn Executor>,
    /// Where the launch shows how far it is, and asks whether it is cancelled.
    pub progress: Option<&'a Progress>,
    /// Sees what warps execute, on one thread.
    pub observer: Option<&'a dyn StepObserver>,
}

impl<'a> RunOptions<'a> {
    /// One thread, and nothing that watches.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With threads of the host.
    #[must_use]
    pub const fn on(mut self, executor: &'a dyn Executor) -> Self {
        self.executor = Some(executor);
        self
    }

    /// With something that watches, or cancels.
    #[must_use]
    pub const fn watched_by(mut self, progress: &'a Progress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// With something that sees the steps.
    #[must_use]
    pub const fn observed_by(mut self, observer: &'a dyn StepObserver) -> Self {
        self.observer = Some(observer);
        self
    }
}
