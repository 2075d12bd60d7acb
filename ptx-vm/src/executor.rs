//! Options of a run that do not change its result: host threads, progress and observers.

use core::fmt::Debug;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::trace::StepObserver;

/// Runs independent tasks on one or several host threads.
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

/// Runs tasks sequentially.
#[derive(Copy, Clone, Debug, Default)]
pub struct OneThread;

impl Executor for OneThread {
    fn run(&self, tasks: u64, task: &(dyn Fn(u64) + Sync)) {
        (0..tasks).for_each(task);
    }
}

/// The progress of a launch. Another thread can read it or cancel the launch.
#[derive(Debug, Default)]
pub struct Progress {
    steps: AtomicU64,
    blocks: AtomicU64,
    canceled: AtomicBool,
}

impl Progress {
    /// The number of executed warp instructions; the actual number may be some thousands higher for each running warp.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// The number of completed CTAs.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Cancels the launch, and later ones with this progress: they end with [`StopReason::Canceled`](crate::StopReason::Canceled).
    pub fn cancel(&self) {
        self.canceled.store(true, Ordering::Relaxed);
    }

    /// Whether the launch was canceled.
    pub(crate) fn is_canceled(&self) -> bool {
        self.canceled.load(Ordering::Relaxed)
    }

    pub(crate) fn start(&self) {
        self.steps.store(0, Ordering::Relaxed);
        self.blocks.store(0, Ordering::Relaxed);
    }

    /// Adds steps and returns the previous number.
    pub(crate) fn add_steps(&self, steps: u64) -> u64 {
        self.steps.fetch_add(steps, Ordering::Relaxed)
    }

    pub(crate) fn add_blocks(&self, blocks: u64) {
        self.blocks.fetch_add(blocks, Ordering::Relaxed);
    }
}

/// Options of a run that do not change its result.
#[derive(Copy, Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunOptions<'a> {
    /// Runs independent CTAs; `None` for one thread.
    pub executor: Option<&'a dyn Executor>,
    /// Reports the progress of the launch and cancels it.
    pub progress: Option<&'a Progress>,
    /// Observes the executed steps; the launch then runs on one thread.
    pub observer: Option<&'a dyn StepObserver>,
}

impl<'a> RunOptions<'a> {
    /// Sets the executor.
    #[must_use]
    pub const fn with_executor(mut self, executor: &'a dyn Executor) -> Self {
        self.executor = Some(executor);
        self
    }

    /// Sets the progress.
    #[must_use]
    pub const fn with_progress(mut self, progress: &'a Progress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Sets the observer.
    #[must_use]
    pub const fn with_observer(mut self, observer: &'a dyn StepObserver) -> Self {
        self.observer = Some(observer);
        self
    }
}
