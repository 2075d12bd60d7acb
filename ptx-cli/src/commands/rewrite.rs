//! Shared by the commands that rewrite a module. A module with errors is not rewritten.

use std::io::Write;

use anyhow::Result;
use ptx_edit::Rewriting;
use ptx_ir::{Diagnostic, LineIndex, Module};

use crate::destination::{Destination, Refusal, Writer};
use crate::input::{self, Files, Input, Source};
use crate::output::{Out, Status};
use crate::render::Report;

// The options of a command that only needs files. A documentation comment here or at one of the fields' types would replace the description
// of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    destination: Destination,
}

/// A command without options whose transformation is always possible.
pub(crate) fn always(args: &Args, rewrite: fn(&Module) -> Rewriting) -> Result<Status> {
    run(&args.files, &args.destination, |_, module| {
        Ok(rewrite(module))
    })
}

/// A parsed file.
pub(crate) struct Read {
    pub(crate) source: Source,
    pub(crate) lines: LineIndex,
    pub(crate) module: Module,
}

impl Read {
    /// Parses a file and returns it with its diagnostics.
    pub(crate) fn new(source: Source) -> (Self, Vec<Diagnostic>) {
        let parsed = ptx_parse::parse_with(source.bytes.clone(), &Default::default());
        let lines = LineIndex::new(&source.bytes);
        let module = parsed.module;
        let read = Self {
            source,
            lines,
            module,
        };
        (read, parsed.diagnostics)
    }

    /// For diagnostics in this file.
    pub(crate) fn report(&self) -> Report<'_> {
        Report {
            name: &self.source.name,
            source: &self.source.bytes,
            lines: &self.lines,
        }
    }
}

/// Processes each file without errors. The errors of others go to standard error.
pub(crate) fn each(
    files: &Files,
    with: impl FnMut(&mut Out, Read) -> Result<Status>,
) -> Result<Status> {
    each_of(&files.list()?, None, with)
}

/// The same for a command that writes a result for each file.
pub(crate) fn each_to(
    files: &Files,
    destination: &Destination,
    mut with: impl FnMut(&mut Out, &Writer<'_>, Read) -> Result<Status>,
) -> Result<Status> {
    let inputs = files.list()?;
    let writer = destination.open(files, &inputs)?;
    each_of(&inputs, Some(&writer), |out, read| with(out, &writer, read))
}

fn each_of(
    inputs: &[Input],
    writer: Option<&Writer<'_>>,
    mut with: impl FnMut(&mut Out, Read) -> Result<Status>,
) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    input::one_by_one(inputs, &mut out, &mut status, |out, source| {
        let (read, found) = Read::new(source);
        let refusal = Refusal::errors(found, "it has errors");
        match writer {
            _ if !refusal.has_causes() => with(out, read),
            Some(writer) => writer.refuse(out, &read.report(), refusal),
            None => {
                refusal.note(&read.report());
                Ok(Status::Findings)
            }
        }
    })?;
    out.flush()?;
    Ok(status)
}

/// Writes each file after a transformation, or reports why that is not possible.
pub(crate) fn run(
    files: &Files,
    destination: &Destination,
    mut rewrite: impl FnMut(&Source, &Module) -> Result<Rewriting, String>,
) -> Result<Status> {
    each_to(files, destination, |out, writer, read| {
        match rewrite(&read.source, &read.module) {
            Ok(rewriting) => writer.write(out, &read.source, rewriting.text()),
            Err(why) => writer.refuse(out, &read.report(), Refusal::new(why)),
        }
    })
}
