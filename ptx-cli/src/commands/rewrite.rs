//! The common part of the commands that rewrite a module. A module with errors is not rewritten.

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

/// Runs a command that has no other options, and whose transformation is always possible.
pub(crate) fn run(args: &Args, rewrite: fn(&Module) -> Rewriting) -> Result<Status> {
    transform(&args.files, &args.destination, |_, module| {
        Ok(rewrite(module))
    })
}

/// A parsed source.
pub(crate) struct ParsedSource {
    pub(crate) source: Source,
    pub(crate) lines: LineIndex,
    pub(crate) module: Module,
}

impl ParsedSource {
    /// Parses a source and returns it with its diagnostics.
    pub(crate) fn new(source: Source) -> (Self, Vec<Diagnostic>) {
        let parsed = ptx_parse::parse_with(source.bytes.clone(), &Default::default());
        let parsed_source = Self {
            lines: LineIndex::new(&source.bytes),
            source,
            module: parsed.module,
        };
        (parsed_source, parsed.diagnostics)
    }

    /// The report for diagnostics of the source.
    pub(crate) fn report(&self) -> Report<'_> {
        Report {
            name: &self.source.name,
            source: &self.source.bytes,
            lines: &self.lines,
        }
    }
}

/// Calls `process` for each file without errors. The errors of other files go to standard error.
pub(crate) fn visit(
    files: &Files,
    process: impl FnMut(&mut Out, ParsedSource) -> Result<Status>,
) -> Result<Status> {
    visit_inputs(&files.list()?, None, process)
}

/// Calls `process` for each file without errors, with the writer of its result.
pub(crate) fn rewrite(
    files: &Files,
    destination: &Destination,
    mut process: impl FnMut(&mut Out, &Writer<'_>, ParsedSource) -> Result<Status>,
) -> Result<Status> {
    let inputs = files.list()?;
    let writer = destination.open(files, &inputs)?;
    let status = visit_inputs(&inputs, Some(&writer), |out, parsed| {
        process(out, &writer, parsed)
    })?;
    writer.summary();
    Ok(status)
}

/// Without a writer, the errors of files go to standard error.
fn visit_inputs(
    inputs: &[Input],
    writer: Option<&Writer<'_>>,
    mut process: impl FnMut(&mut Out, ParsedSource) -> Result<Status>,
) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    input::one_by_one(inputs, &mut out, &mut status, |out, source| {
        let (parsed, diagnostics) = ParsedSource::new(source);
        let refusal = Refusal::errors(diagnostics, "it has errors");
        match writer {
            _ if !refusal.has_causes() => process(out, parsed),
            Some(writer) => writer.refuse(out, &parsed.report(), refusal),
            None => {
                refusal.note(&parsed.report());
                Ok(Status::Findings)
            }
        }
    })?;
    out.flush()?;
    Ok(status)
}

/// Writes each file after a transformation, or the reason why that is not possible.
pub(crate) fn transform(
    files: &Files,
    destination: &Destination,
    mut transformation: impl FnMut(&Source, &Module) -> Result<Rewriting, String>,
) -> Result<Status> {
    rewrite(
        files,
        destination,
        |out, writer, parsed| match transformation(&parsed.source, &parsed.module) {
            Ok(rewriting) => writer.write(out, &parsed.source, rewriting.text()),
            Err(reason) => writer.refuse(out, &parsed.report(), Refusal::new(reason)),
        },
    )
}
