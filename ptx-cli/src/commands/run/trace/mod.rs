//! `--trace`: the execution of selected threads, step by step.

mod instructions;
pub(crate) mod record;
mod selection;
mod text;

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::Result;
use ptx_analysis::source_lines::SourceLines;
use ptx_vm::{ExecutedStep, Launch, Machine, Outcome, RunError, StepObserver, StepPlace};

use super::progress::Watch;
use crate::commands::rewrite::ParsedSource;
use crate::output::{self, Out};
use instructions::Instructions;
use record::JsonStep;
use selection::{Selected, Selection};

/// The largest number of lines that wait to be written.
const MAX_WAITING: usize = 1 << 10;

#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// Write the executed steps of threads to standard output, with the values of registers and memory: `block:0,thread:0-31,function:NAME,lines:10-20` [default: the first thread of the first CTA]
    #[arg(long, value_name = "SELECTION", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    trace: Option<Selection>,
    /// End the trace after this many lines
    #[arg(long, value_name = "N", default_value_t = 100_000, requires = "trace")]
    trace_limit: u64,
}

/// The extent of a trace.
#[derive(Copy, Clone, Debug)]
pub(super) struct Traced {
    pub(super) lines: u64,
    /// Whether the limit omitted no lines.
    pub(super) complete: bool,
}

/// The trace of a run.
pub(super) struct Trace<'m> {
    selected: Selected<'m>,
    parsed: &'m ParsedSource,
    is_json: bool,
    limit: u64,
    /// The number of lines that were written, or would have been written without the limit.
    lines: AtomicU64,
    /// Whether no more lines are written.
    ended: AtomicBool,
    instructions: Mutex<Instructions<'m>>,
}

impl Options {
    /// The trace of a module, if it is requested. `lines` are the source lines of the module.
    pub(super) fn trace<'m>(
        &'m self,
        parsed: &'m ParsedSource,
        lines: &'m SourceLines<'m>,
        is_json: bool,
    ) -> Result<Option<Trace<'m>>> {
        let Some(selection) = &self.trace else {
            return Ok(None);
        };
        Ok(Some(Trace {
            selected: selection.within(&parsed.module)?,
            parsed,
            is_json,
            limit: self.trace_limit,
            lines: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            instructions: Mutex::new(Instructions::new(parsed, lines)),
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
        let (sender, lines) = sync_channel::<String>(MAX_WAITING);
        let tracer = Tracer {
            trace: self,
            lines: sender,
        };
        let (result, written) = thread::scope(|scope| {
            let launch_thread = scope.spawn(move || watch.run(machine, launch, Some(&tracer)));
            let mut written = Ok(());
            for line in lines {
                written = out
                    .write_all(line.as_bytes())
                    .and_then(|()| out.flush_terminal());
                if written.is_err() {
                    break;
                }
            }
            let result = launch_thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (result, written)
        });
        written?;
        Ok(result)
    }

    /// The extent of the trace so far.
    pub(super) fn traced(&self) -> Traced {
        let lines = self.lines.load(Ordering::Relaxed);
        Traced {
            lines: lines.min(self.limit),
            complete: lines <= self.limit,
        }
    }

    /// Reports whether the limit ended the trace.
    pub(super) fn note(&self) {
        if !self.traced().complete {
            let limit = self.limit;
            output::note(format_args!(
                "ptxkit: the trace ends after {limit} lines; use `--trace-limit N` to change the limit, or `--trace=SELECTION` to select fewer steps"
            ));
        }
    }
}
impl<'m> Trace<'m> {
    fn instructions(&self) -> MutexGuard<'_, Instructions<'m>> {
        self.instructions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the steps of a launch.
struct Tracer<'t, 'm> {
    trace: &'t Trace<'m>,
    lines: SyncSender<String>,
}

impl fmt::Debug for Tracer<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer").finish_non_exhaustive()
    }
}

impl StepObserver for Tracer<'_, '_> {
    fn lanes(&self, place: &StepPlace) -> u32 {
        let trace = self.trace;
        if trace.ended.load(Ordering::Relaxed) {
            return 0;
        }
        let lanes = trace.selected.lanes(place);
        if lanes == 0 || !trace.selected.has_lines() {
            return lanes;
        }
        let line = trace.instructions().line(place.function, place.inst);
        if trace.selected.has_line(line) {
            lanes
        } else {
            0
        }
    }

    fn step(&self, step: &ExecutedStep<'_>) {
        let trace = self.trace;
        let mut instructions = trace.instructions();
        let instruction = instructions.get(step.place.function, step.place.inst);
        let record = JsonStep::new(step, &instruction, &mut instructions);
        let lines = if trace.is_json {
            serde_json::to_string(&record).into_iter().collect()
        } else {
            text::lines(&trace.parsed.source.name, &record)
        };
        for mut line in lines {
            line.push('\n');
            let index = trace.lines.fetch_add(1, Ordering::Relaxed);
            // The receiver is dropped if standard output is closed.
            if index >= trace.limit || self.lines.send(line).is_err() {
                trace.ended.store(true, Ordering::Relaxed);
                return;
            }
        }
    }
}
