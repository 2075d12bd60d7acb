//! Threads for the work on large files.

use std::thread;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// Starts a thread for each processor but one; the current thread works as well.
pub(crate) fn start() -> Result<ThreadPool, ThreadPoolBuildError> {
    let builder = ThreadPoolBuilder::new().use_current_thread();
    #[cfg(target_os = "linux")]
    let builder = builder.start_handler(processor::avoid_current());
    let pool = builder.build();
    // A new thread on this processor moves to another one as soon as it runs.
    thread::yield_now();
    pool
}

#[cfg(target_os = "linux")]
mod processor {
    use nix::errno::Errno;
    use nix::sched::{sched_getaffinity, sched_getcpu, sched_setaffinity};
    use nix::unistd::Pid;

    /// What keeps a new thread from the processor of the current one. Linux often starts and wakes threads on the processor that the other
    /// thread uses, and moves them to a free one some milliseconds later, when half of the work on a file of 10 MB is done.
    pub(super) fn avoid_current() -> impl Fn(usize) + Sync {
        let current = sched_getcpu();
        move |_| {
            // It can be the only processor.
            let _ = current.and_then(avoid);
        }
    }

    fn avoid(processor: usize) -> Result<(), Errno> {
        let this = Pid::from_raw(0);
        let mut processors = sched_getaffinity(this)?;
        processors.unset(processor)?;
        sched_setaffinity(this, &processors)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use nix::sched::{CpuSet, sched_getaffinity};
    use nix::unistd::Pid;

    fn processors() -> usize {
        let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
        let is_set = |i: &usize| set.is_set(*i) == Ok(true);
        (0..CpuSet::count()).filter(is_set).count()
    }

    #[test]
    fn new_threads_avoid_one_processor() {
        let all = processors();
        let used = super::start().unwrap().broadcast(|_| processors());
        assert_eq!(used[0], all);
        assert!(used[1..].iter().all(|used| *used == all - 1), "{used:?}");
    }
}
