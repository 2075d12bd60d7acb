//! Standard output with tables, standard error, and the exit status.

use std::fmt::Display;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, StdoutLock, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::fitted_table;
use anyhow::Result;
use clap::ValueEnum;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use ptx_report::clean;
use serde::Serialize;

/// The result of a command, from best to worst.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) enum Status {
    /// Success.
    #[default]
    Ok,
    /// There are findings.
    Findings,
    /// A usage error, or a file cannot be read or written.
    UsageError,
    /// An error while a kernel was executed.
    Failed,
    /// The exit status of another program that was run.
    Program(u8),
}

impl Status {
    /// Keeps the worse of two results.
    pub(crate) fn worsen(&mut self, other: Status) {
        *self = (*self).max(other);
    }

    /// [`Status::Findings`] if there are findings.
    pub(crate) fn of(has_findings: bool) -> Self {
        if has_findings {
            Self::Findings
        } else {
            Self::Ok
        }
    }
}

/// Buffered standard output.
pub(crate) struct Out {
    inner: BufWriter<StdoutLock<'static>>,
    is_terminal: bool,
}

impl Out {
    /// Standard output, locked for the rest of the program.
    pub(crate) fn new() -> Self {
        let stdout = io::stdout().lock();
        let is_terminal = stdout.is_terminal();
        Self {
            inner: BufWriter::with_capacity(1 << 16, stdout),
            is_terminal,
        }
    }

    /// Writes a value as one line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.inner, value)?;
        writeln!(self.inner)
    }

    /// Flushes the output if it goes to a terminal.
    pub(crate) fn flush_terminal(&mut self) -> io::Result<()> {
        if self.is_terminal {
            self.inner.flush()?;
        }
        Ok(())
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The messages that are written to standard error besides errors.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Verbosity {
    /// Nothing.
    Quiet,
    /// Summaries.
    Normal,
    /// Summaries, the files that are read, and times.
    Verbose,
}

static VERBOSITY: AtomicU8 = AtomicU8::new(Verbosity::Normal as u8);

/// Sets which messages are written to standard error from now on.
pub(crate) fn set_verbosity(verbosity: Verbosity) {
    VERBOSITY.store(verbosity as u8, Ordering::Relaxed);
}

fn is_verbose_enough(verbosity: Verbosity) -> bool {
    VERBOSITY.load(Ordering::Relaxed) >= verbosity as u8
}

/// Whether summaries are not written to standard error either.
pub(crate) fn is_quiet() -> bool {
    !is_verbose_enough(Verbosity::Normal)
}

/// Whether the progress of long work is shown: standard error is a terminal, and summaries are not suppressed.
pub(crate) fn shows_progress() -> bool {
    io::stderr().is_terminal() && !is_quiet()
}

/// Writes a line with counts or advice to standard error, unless these are suppressed.
pub(crate) fn summary(message: impl Display) {
    if is_verbose_enough(Verbosity::Normal) {
        note(message);
    }
}

/// Writes a line about the success of a command to standard error, unless it is suppressed or standard output is JSON, which contains the same.
pub(crate) fn success(message: impl Display) {
    if !is_json() {
        summary(message);
    }
}

/// Writes a line about the work of the program to standard error, with `--verbose`.
pub(crate) fn detail(message: impl Display) {
    if is_verbose_enough(Verbosity::Verbose) {
        note(message);
    }
}

/// The choice of `--color`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is `dumb`
    Auto,
    Always,
    Never,
}

static COLORED: AtomicBool = AtomicBool::new(false);

/// Sets when colors are used from now on.
pub(crate) fn set_color(color: Color) {
    let colored = match color {
        Color::Auto => {
            let is_refused = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
            let is_dumb = std::env::var_os("TERM").is_some_and(|v| v == "dumb");
            io::stdout().is_terminal() && !is_refused && !is_dumb
        }
        Color::Always => true,
        Color::Never => false,
    };
    COLORED.store(colored, Ordering::Relaxed);
}

/// Whether standard output has colors.
pub(crate) fn is_colored() -> bool {
    COLORED.load(Ordering::Relaxed)
}

/// Bold text for headings, if standard output has colors.
pub(crate) fn heading(text: impl Display) -> String {
    styled(console::Style::new().bold(), text)
}

/// Text that the reader looks for, such as a match, if standard output has colors.
pub(crate) fn highlight(text: impl Display) -> String {
    styled(console::Style::new().red().bold(), text)
}

/// Names in text, such as files and functions, if standard output has colors.
pub(crate) fn name(text: impl Display) -> String {
    styled(console::Style::new().cyan(), text)
}

/// Text that is less important, if standard output has colors.
pub(crate) fn faint(text: impl Display) -> String {
    styled(console::Style::new().dim(), text)
}

fn styled(style: console::Style, text: impl Display) -> String {
    let style = style.force_styling(is_colored());
    style.apply_to(text).to_string()
}

static JSON: AtomicBool = AtomicBool::new(false);

/// Sets whether standard output is JSON.
pub(crate) fn set_json(json: bool) {
    JSON.store(json, Ordering::Relaxed);
}

/// Whether standard output is JSON.
pub(crate) fn is_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

/// The width of the output in characters: that of the terminal, or the environment variable COLUMNS if that is not known.
pub(crate) fn width() -> Option<u16> {
    let terminal = io::stdout()
        .is_terminal()
        .then(|| console::Term::stdout().size_checked())
        .flatten();
    let columns = match terminal {
        Some((_, columns)) => columns,
        None => std::env::var("COLUMNS").ok()?.parse().ok()?,
    };
    Some(columns).filter(|&columns| columns >= MIN_WIDTH)
}

/// Tables are not fitted to a smaller width.
const MIN_WIDTH: u16 = 20;

/// A table without lines that is as wide as the terminal at most.
pub(crate) fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    if let Some(width) = width() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(width);
    }
    table
}

/// Writes a table, indented by a space, with a bold header. If it is too wide, its last columns are below each row.
pub(crate) fn write_table(out: &mut impl Write, table: &Table) -> io::Result<()> {
    if let Some(width) = width()
        && fitted_table::write(out, table, width.into())?
    {
        return Ok(());
    }
    let has_header = table.header().is_some();
    for (index, line) in table.lines().enumerate() {
        let line = line.trim_end();
        if has_header && index == 0 {
            writeln!(out, " {}", heading(line))?;
        } else {
            writeln!(out, " {line}")?;
        }
    }
    Ok(())
}

/// Aligns columns of numbers to the right.
pub(crate) fn align_right(table: &mut Table, columns: &[usize]) {
    for &column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// Writes a line to standard error and ignores failures.
pub(crate) fn note(message: impl Display) {
    let _ = writeln!(io::stderr(), "{message}");
}

/// The exit status of the program. A closed pipe is not an error.
pub(crate) fn exit_code(result: Result<Status>) -> ExitCode {
    match result {
        Ok(Status::Ok) => ExitCode::SUCCESS,
        Ok(Status::Findings) => ExitCode::from(1),
        Ok(Status::UsageError) => ExitCode::from(2),
        Ok(Status::Failed) => ExitCode::from(3),
        Ok(Status::Program(number)) => ExitCode::from(number),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // The message may contain text of a file.
            let text = format!("{error:#}");
            let lines: Vec<_> = text.split('\n').map(clean).collect();
            note(format_args!("ptxkit: {}", lines.join("\n")));
            ExitCode::from(2)
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|e| e.downcast_ref::<io::Error>())
        .any(|e| e.kind() == ErrorKind::BrokenPipe)
}
