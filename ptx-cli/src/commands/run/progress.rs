//! Launches on all threads, with their progress on a terminal, until Ctrl-C.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use ptx_vm::{Executor, Launch, Machine, Outcome, Progress, RunError, RunOptions, StepObserver};
use rayon::prelude::*;

use crate::output;

/// When a launch is long enough to show how far it is.
const FIRST: Duration = Duration::from_secs(1);
/// The time between two updates.
const NEXT: Duration = Duration::from_millis(200);

/// The threads of the program, whose number `--jobs` sets.
#[derive(Debug)]
struct Threads;

impl Executor for Threads {
    fn run(&self, tasks: u64, task: &(dyn Fn(u64) + Sync)) {
        (0..tasks).into_par_iter().for_each(task);
    }
}

/// Watches launches.
pub(super) struct Watch {
    progress: Arc<Progress>,
    /// Whether the progress is shown.
    shown: bool,
}

impl Watch {
    /// From now on, Ctrl-C cancels the launch; a second time it ends the program.
    pub(super) fn new() -> Self {
        let progress = Arc::new(Progress::default());
        let cancelled = Arc::clone(&progress);
        let twice = AtomicBool::new(false);
        let interrupt = move || {
            if twice.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            cancelled.cancel();
        };
        // Without a handler, Ctrl-C ends the program.
        let _ = ctrlc::set_handler(interrupt);
        Self {
            progress,
            shown: stderr().is_terminal() && !output::is_quiet(),
        }
    }

    /// Runs a launch, which an observer may see.
    pub(super) fn run(
        &self,
        machine: &mut Machine<'_>,
        launch: &Launch,
        observer: Option<&dyn StepObserver>,
    ) -> Result<Outcome, RunError> {
        let mut options = RunOptions::new().on(&Threads).watched_by(&self.progress);
        options.observer = observer;
        if !self.shown {
            return machine.launch_with(launch, options);
        }
        let (end, ended) = mpsc::channel::<()>();
        let blocks = launch.grid.iter().map(|&n| u64::from(n)).product();
        thread::scope(|scope| {
            scope.spawn(move || self.show(blocks, &ended));
            let result = machine.launch_with(launch, options);
            drop(end);
            result
        })
    }

    /// Shows the progress until the sender of a channel is dropped.
    fn show(&self, blocks: u64, ended: &mpsc::Receiver<()>) {
        let is_running = |time| ended.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout);
        if !is_running(FIRST) {
            return;
        }
        let bar = ProgressBar::with_draw_target(Some(blocks), ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} CTAs, {msg} {elapsed}");
        let bar = style.map_or(bar.clone(), |style| bar.with_style(style));
        loop {
            bar.set_position(self.progress.blocks());
            let steps = HumanCount(self.progress.steps());
            bar.set_message(format!("{steps} steps of warps,"));
            if !is_running(NEXT) {
                break;
            }
        }
        bar.finish_and_clear();
    }
}
