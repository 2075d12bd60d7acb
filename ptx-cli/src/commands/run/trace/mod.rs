//! `--trace`: the execution of selected threads, step by step.

mod places;
pub(crate) mod record;
mod selection;
mod text;

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Result;
use ptx_analysis::source_lines::SourceLines;
use ptx_vm::{ExecutedStep, Launch, Machine, Outcome, RunError, StepObserver, StepPlace};

use super::progress::Watch;
use crate::commands::rewrite::ParsedSource;
use crate::output::{self, Out};
use places::Places;
use record::JsonStep;
use selection::{Selected, Selection};

/// Lines that wait to be written.
const WAITING: usize = 1 << 10;

#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// Write the executed steps of threads to standard output, with the values of registers and memory: `block:0,thread:0-31,function:NAME,lines:10-20` [default: the first thread of the first CTA]
    #[arg(long, value_name = "SELECTION", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    trace: Option<Selection>,
    /// End the trace after this many lines
    #[arg(long, value_name = "N", default_value_t = 100_000, requires = "trace")]
    trace_limit: u64,
}

/// How many lines were written, and whether the limit left any out.
#[derive(Copy, Clone, Debug)]
pub(super) struct Traced {
    pub(super) lines: u64,
    pub(super) complete: bool,
}

/// The trace of a run.
pub(super) struct Trace<'m> {
    selected: Selected<'m>,
    read: &'m ParsedSource,
    json: bool,
    limit: u64,
    /// The lines that were written.
    lines: AtomicU64,
    /// Whether nothing more is written.
    ended: AtomicBool,
    places: Mutex<Places<'m>>,
}

impl Options {
    /// The trace of a module, whose source lines these are, if one is wanted.
    pub(super) fn trace<'m>(
        &'m self,
        read: &'m ParsedSource,
        lines: &'m SourceLines<'m>,
        json: bool,
    ) -> Result<Option<Trace<'m>>> {
        let Some(selection) = &self.trace else {
            return Ok(None);
        };
        Ok(Some(Trace {
            selected: selection.within(&read.module)?,
            read,
            json,
            limit: self.trace_limit,
            lines: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            places: Mutex::new(Places::new(read, lines)),
        }))
    }
}

impl Trace<'_> {
    /// Runs a launch and writes its steps.
    pub(super) fn run(
        &self,
        watch: &Watch,
        machine: &mut Machine<'_>,
        launch: &Launch,
        out: &mut Out,
    ) -> Result<Result<Outcome, RunError>> {
        let (sender, lines) = sync_channel::<String>(WAITING);
        let tracer = Tracer {
            trace: self,
            grid: launch.grid,
            block: launch.block,
            lines: sender,
        };
        let written: (Result<Outcome, RunError>, std::io::Result<()>) = thread::scope(|scope| {
            let running = scope.spawn(move || watch.run(machine, launch, Some(&tracer)));
            let mut written = Ok(());
            for line in lines {
                written = out
                    .write_all(line.as_bytes())
                    .and_then(|()| out.flush_terminal());
                if written.is_err() {
                    break;
                }
            }
            let ended = running.join();
            (
                ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                written,
            )
        });
        written.1?;
        Ok(written.0)
    }

    /// What was written so far.
    pub(super) fn traced(&self) -> Traced {
        let lines = self.lines.load(Ordering::Relaxed);
        Traced {
            lines: lines.min(self.limit),
            complete: lines <= self.limit,
        }
    }

    /// Says that there was more.
    pub(super) fn note(&self) {
        if !self.traced().complete {
            let limit = self.limit;
            output::note(format_args!(
                "ptxkit: the trace ends after {limit} lines; use `--trace-limit N` to change the limit, or `--trace=SELECTION` to select fewer steps"
            ));
        }
    }
}

/// Writes the steps of a launch.
struct Tracer<'t, 'm> {
    trace: &'t Trace<'m>,
    grid: [u32; 3],
    block: [u32; 3],
    lines: SyncSender<String>,
}

impl fmt::Debug for Tracer<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").finish_non_exhaustive()
    }
}

impl StepObserver for Tracer<'_, '_> {
    fn lanes(&self, place: &StepPlace) -> u32 {
        if self.trace.ended.load(Ordering::Relaxed) {
            return 0;
        }
        let lanes = self.trace.selected.lanes(place, self.grid, self.block);
        if lanes == 0 || !self.trace.selected.has_lines() {
            return lanes;
        }
        let places = self.trace.places.lock();
        let mut places = places.unwrap_or_else(PoisonError::into_inner);
        let line = places.line(place.function, place.inst);
        if self.trace.selected.has_line(line) {
            lanes
        } else {
            0
        }
    }

    fn step(&self, step: &ExecutedStep<'_>) {
        let trace = self.trace;
        let places = trace.places.lock();
        let mut places = places.unwrap_or_else(PoisonError::into_inner);
        let place = places.get(step.place.function, step.place.inst);
        let record = JsonStep::new(step, self.block, &place, &mut places);
        let lines = match trace.json {
            true => serde_json::to_string(&record).into_iter().collect(),
            false => text::lines(&trace.read.source.name, &record),
        };
        for mut line in lines {
            line.push('\n');
            let before = trace.lines.fetch_add(1, Ordering::Relaxed);
            // Standard output was closed, or there were enough lines.
            if before >= trace.limit || self.lines.send(line).is_err() {
                trace.ended.store(true, Ordering::Relaxed);
                return;
            }
        }
    }
}
