//! Launches on all threads, with their progress on a terminal, until Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use ptx_vm::{Executor, Launch, Machine, Outcome, Progress, RunError, RunOptions, StepObserver};
use rayon::prelude::*;

use crate::output;

/// The time after which the progress of a launch is shown.
const FIRST_UPDATE: Duration = Duration::from_secs(1);
/// The time between two updates.
const UPDATE_INTERVAL: Duration = Duration::from_millis(200);

/// The threads of the program, whose number `--jobs` sets.
#[derive(Debug)]
struct Threads;

impl Executor for Threads {
    fn run(&self, tasks: u64, task: &(dyn Fn(u64) + Sync)) {
        (0..tasks).into_par_iter().for_each(task);
    }
}

/// Runs launches, shows their progress, and cancels them on Ctrl-C.
pub(super) struct Watch {
    progress: Arc<Progress>,
    /// Whether the progress is shown.
    is_shown: bool,
}

impl Watch {
    /// Installs the handler for Ctrl-C, which cancels the launch; a second time it ends the program.
    pub(super) fn new() -> Self {
        let progress = Arc::new(Progress::default());
        let handler_progress = Arc::clone(&progress);
        let was_pressed = AtomicBool::new(false);
        let interrupt = move || {
            if was_pressed.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            handler_progress.cancel();
        };
        // Without a handler, Ctrl-C ends the program.
        let _ = ctrlc::set_handler(interrupt);
        Self {
            progress,
            is_shown: output::shows_progress(),
        }
    }

    /// Runs a launch. `observer` is called for its steps.
    pub(super) fn run(
        &self,
        machine: &mut Machine<'_>,
        launch: &Launch,
        observer: Option<&dyn StepObserver>,
    ) -> Result<Outcome, RunError> {
        self.follow(&[launch], observer, |options| {
            machine.launch_with(launch, options)
        })
    }

    /// Runs launches, each of which depends on the one before.
    pub(super) fn run_dependent(
        &self,
        machine: &mut Machine<'_>,
        launches: &[&Launch],
    ) -> Result<Vec<Outcome>, RunError> {
        self.follow(launches, None, |options| {
            machine.launch_dependent(launches, options)
        })
    }

    /// Calls a function that runs launches, and shows their progress.
    fn follow<'a, R>(
        &'a self,
        launches: &[&Launch],
        observer: Option<&'a dyn StepObserver>,
        run: impl FnOnce(RunOptions<'a>) -> R,
    ) -> R {
        let mut options = RunOptions::default()
            .with_executor(&Threads)
            .with_progress(&self.progress);
        options.observer = observer;
        if !self.is_shown {
            return run(options);
        }
        let (end, ended) = mpsc::channel::<()>();
        let blocks = launches.iter().map(|launch| {
            let blocks = launch.grid.iter();
            blocks.map(|&n| u64::from(n)).product::<u64>()
        });
        let blocks = blocks.sum();
        thread::scope(|scope| {
            scope.spawn(move || self.show(blocks, &ended));
            let result = run(options);
            drop(end);
            result
        })
    }

    /// Shows the progress of a launch until the sender of a channel is dropped.
    fn show(&self, blocks: u64, ended: &mpsc::Receiver<()>) {
        let is_running = |time| ended.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout);
        if !is_running(FIRST_UPDATE) {
            return;
        }
        let mut bar = ProgressBar::with_draw_target(Some(blocks), ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("{bar:16} {human_pos}/{human_len} CTAs, {msg}{elapsed}");
        if let Ok(style) = style {
            bar = bar.with_style(style);
        }
        loop {
            bar.set_position(self.progress.blocks());
            let steps = HumanCount(self.progress.steps());
            bar.set_message(format!("{steps} warp steps, "));
            if !is_running(UPDATE_INTERVAL) {
                break;
            }
        }
        bar.finish_and_clear();
    }
}
