//! Reading and processing of inputs, several at a time.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ptx_ir::raw::parallel;

use super::item::{Input, Source};
use super::report_unreadable;
use crate::output::{self, Out, Status};

/// The number of bytes of sources that are held at a time, unless a single file is larger.
const BATCH_BYTES: u64 = 256 << 20;

/// Reads every input and works on several at a time; `emit` gets the results in the order of the
/// inputs. Files that cannot be read are reported and worsen the status.
pub(crate) fn in_order<T: Send>(
    inputs: &[Input],
    out: &mut Out,
    status: &mut Status,
    work: impl Fn(Source) -> T + Sync,
    mut emit: impl FnMut(&mut Out, T) -> Result<Status>,
) -> Result<()> {
    let bar = FileProgress::new(inputs);
    let mut remaining = inputs;
    while !remaining.is_empty() {
        let (batch, next) = remaining.split_at(batch_len(remaining));
        remaining = next;
        // A single input is processed without starting threads.
        let results: Vec<io::Result<T>> =
            parallel::repeat(batch.len(), |index| process(&batch[index], &bar, &work));
        bar.bar.suspend(|| -> Result<()> {
            for (input, result) in batch.iter().zip(results) {
                match result {
                    Ok(result) => status.worsen(emit(out, result)?),
                    Err(error) => {
                        report_unreadable(&input.origin.name(), &error, out, status)?;
                    }
                }
            }
            Ok(out.flush_terminal()?)
        })?;
    }
    bar.bar.finish_and_clear();
    Ok(())
}

/// Reads and processes one input at a time.
pub(crate) fn one_by_one(
    inputs: &[Input],
    out: &mut Out,
    status: &mut Status,
    mut work: impl FnMut(&mut Out, Source) -> Result<Status>,
) -> Result<()> {
    let bar = FileProgress::new(inputs);
    for input in inputs {
        let result = process(input, &bar, |source| {
            bar.bar.suspend(|| -> Result<Status> {
                let status = work(out, source)?;
                out.flush_terminal()?;
                Ok(status)
            })
        });
        match result {
            Ok(input_status) => status.worsen(input_status?),
            Err(error) => report_unreadable(&input.origin.name(), &error, out, status)?,
        }
    }
    bar.bar.finish_and_clear();
    Ok(())
}

/// Reads an input and works on it.
fn process<T>(input: &Input, bar: &FileProgress, work: impl FnOnce(Source) -> T) -> io::Result<T> {
    let start = Instant::now();
    let source = input.read()?;
    note_line_ends(&source);
    let size = source.bytes.len();
    let reading = start.elapsed();
    let result = work(source);
    let processing = start.elapsed() - reading;
    bar.advance();
    output::detail(format_args!(
        "{}: {size} bytes read in {:.1} ms, processed in {:.1} ms",
        input.origin.name(),
        reading.as_secs_f64() * 1e3,
        processing.as_secs_f64() * 1e3
    ));
    Ok(result)
}

/// Notes that a file ends its lines with carriage returns alone, which PTX does not count as line ends.
fn note_line_ends(source: &Source) {
    if !source.bytes.contains(&b'\n') && source.bytes.contains(&b'\r') {
        output::note(format_args!(
            "ptxkit: {}: the lines end with CR alone, so that PTX has a single line, and a comment `//` extends to its end; convert the \
             line ends to LF or CRLF",
            source.name
        ));
    }
}

/// The number of inputs that are processed before the results are written.
fn batch_len(inputs: &[Input]) -> usize {
    if inputs.len() == 1 {
        return 1;
    }
    let max_inputs = rayon::current_num_threads() * 8;
    let mut bytes = 0u64;
    inputs
        .iter()
        .take(max_inputs)
        .take_while(|input| {
            bytes = bytes.saturating_add(input.size());
            bytes <= BATCH_BYTES
        })
        .count()
        .max(1)
}

/// The time after which progress is shown.
pub(crate) const FIRST_UPDATE: Duration = Duration::from_millis(500);

/// The number of files that were processed, on standard error if that is a terminal and the work takes long. It has less than 80 columns.
struct FileProgress {
    bar: ProgressBar,
    start: Instant,
    is_wanted: bool,
    is_shown: AtomicBool,
}

impl FileProgress {
    fn new(inputs: &[Input]) -> Self {
        let is_wanted = inputs.len() > 1 && output::shows_progress();
        let bar =
            ProgressBar::with_draw_target(Some(inputs.len() as u64), ProgressDrawTarget::hidden());
        let style =
            ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} files, {eta} left");
        Self {
            bar: match style {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            },
            start: Instant::now(),
            is_wanted,
            is_shown: AtomicBool::new(false),
        }
    }

    /// Counts a file.
    fn advance(&self) {
        if self.is_wanted
            && self.start.elapsed() >= FIRST_UPDATE
            && !self.is_shown.swap(true, Ordering::Relaxed)
        {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(1);
    }
}
