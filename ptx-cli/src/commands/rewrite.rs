//! What the commands share that rewrite a module: one that could not be read is left alone.

use std::io::Write;

use anyhow::Result;
use ptx_ir::{LineIndex, Module, Severity};
use ptx_transform::Rewritten;

use crate::input::{self, Files, Source};
use crate::output::{self, Out, Status};
use crate::render::Report;

/// Rewrites each file to standard output. A file with errors is never written: they go to standard error, and what keeps a file
/// from being rewritten does.
pub(crate) fn run(
    files: &Files,
    mut rewrite: impl FnMut(&Source, &Module) -> Result<Rewritten, String>,
) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Well;
    let inputs = files.list(&mut status)?;
    input::one_by_one(&inputs, &mut out, &mut status, |out, source| {
        let parsed = ptx_parse::parse_shared(source.bytes.clone(), &Default::default());
        if parsed.has_errors() {
            let report = Report {
                name: &source.name,
                source: &source.bytes,
                lines: &LineIndex::new(&source.bytes),
            };
            let errors = parsed.diagnostics.iter();
            for error in errors.filter(|d| d.severity == Severity::Error) {
                output::note(report.short(error));
            }
            return Ok(Status::Findings);
        }
        match rewrite(&source, &parsed.module) {
            Ok(new) => {
                out.write_all(&new.text)?;
                Ok(Status::Well)
            }
            Err(why) => {
                output::note(format_args!("{}: not written: {why}", source.name));
                Ok(Status::Findings)
            }
        }
    })?;
    out.flush()?;
    Ok(status)
}
