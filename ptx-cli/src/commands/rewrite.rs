//! What the commands share that write another text of one module.

use std::io::Write;

use anyhow::{Result, bail};
use ptx_ir::{LineIndex, Module, Severity};

use crate::input::{self, Files};
use crate::output::{self, Out, Status};
use crate::render::Report;

/// Reads one file and writes what becomes of it to standard output. A file with errors, or one that `how` refuses, is not
/// written.
pub(super) fn one(
    files: &Files,
    how: impl Fn(&Module) -> Result<Vec<u8>, String>,
) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Well;
    let inputs = files.list(&mut status)?;
    if inputs.len() > 1 {
        bail!("one file at a time: the result is one module");
    }
    input::one_by_one(&inputs, &mut out, &mut status, |out, source| {
        let parsed = ptx_parse::parse_shared(source.bytes.clone(), &Default::default());
        let report = Report {
            name: &source.name,
            source: &source.bytes,
            lines: &LineIndex::new(&source.bytes),
        };
        let errors = parsed.diagnostics.iter();
        for diagnostic in errors.filter(|d| d.severity == Severity::Error) {
            output::note(report.short(diagnostic));
        }
        if parsed.has_errors() {
            output::note(format_args!("{}: not written: it has errors", source.name));
            return Ok(Status::Findings);
        }
        match how(&parsed.module) {
            Ok(text) => {
                out.write_all(&text)?;
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
