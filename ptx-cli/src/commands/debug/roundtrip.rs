//! `ptxkit debug roundtrip`: checks that parsing and printing are lossless.

use std::io::Write;

use anyhow::Result;
use ptx_ir::{LineIndex, Severity, Span, compare};
use ptx_print::Style;
use serde::Serialize;

use super::JsonInput;
use crate::input::{self, Source};
use crate::output::{Out, Status};
use crate::render::{Report, tally};
use ptx_report::{SCHEMA, clean, counted};

/// Check that parsing and printing are lossless
///
/// Verbatim printing must reproduce the file byte for byte, and every byte must belong to one statement or to the trivia between
/// two. For files without errors, the canonical text must parse to the same module, and print as itself.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit debug roundtrip corpus/
  ptxkit debug roundtrip kernel.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    input: JsonInput,
}

/// The result of a file in JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonVerdict<'a> {
    schema: u32,
    file: &'a str,
    lossless: bool,
    /// The reason of a failure.
    reason: Option<&'a str>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.input.files.list()?;
    let (mut passed, mut failed) = (0usize, 0usize);
    input::in_order(
        &inputs,
        &mut out,
        &mut status,
        judge,
        |out, verdict| match verdict.result {
            result if args.input.format.is_json() => {
                let reason = result.err();
                out.json(&JsonVerdict {
                    schema: SCHEMA,
                    file: &verdict.name,
                    lossless: reason.is_none(),
                    reason: reason.as_deref(),
                })?;
                Ok(Status::of(reason.is_some()))
            }
            Ok(remark) => {
                passed += 1;
                writeln!(out, "{}: ok{remark}", verdict.name)?;
                Ok(Status::Ok)
            }
            Err(failure) => {
                failed += 1;
                writeln!(out, "{}: FAILED: {failure}", verdict.name)?;
                Ok(Status::Findings)
            }
        },
    )?;
    if !args.input.format.is_json() {
        writeln!(out, "{passed} passed, {failed} failed")?;
    }
    out.flush()?;
    Ok(status)
}

struct Verdict {
    name: String,
    result: Result<String, String>,
}

fn judge(source: Source) -> Verdict {
    Verdict {
        result: round_trip(&source),
        name: source.name,
    }
}

/// Parses and prints a source. Returns a remark if it passes, and otherwise the failure.
fn round_trip(source: &Source) -> Result<String, String> {
    let parsed = ptx_parse::parse_with(source.bytes.clone(), &Default::default());
    expect_equal(
        "the verbatim text differs from the file",
        Side::new("read", &source.bytes),
        Side::new("printed", &ptx_print::verbatim(&parsed.module)),
    )?;
    if let Err(violation) = ptx_ir::raw::tiling::check(&parsed.module) {
        let position = LineIndex::new(&source.bytes).position(violation.span.start);
        return Err(format!(
            "{}:{}: {}",
            position.line, position.column, violation.message
        ));
    }
    let (errors, _) = tally(&parsed.diagnostics);
    if errors > 0 {
        return Ok(format!(" (verbatim; {})", counted(errors, "error")));
    }

    let style = Style::default();
    let text = ptx_print::canonical(&parsed.module, &style);
    let canonical = Side::new("canonical", &text);
    let reparsed = ptx_parse::parse(&text);
    let error = reparsed
        .diagnostics
        .iter()
        .find(|d| d.severity == Severity::Error);
    if let Some(error) = error {
        let report = Report {
            name: "canonical",
            source: &text,
            lines: &LineIndex::new(&text),
        };
        return Err(format!(
            "the canonical text has errors\n  {}\n{}",
            report.short(error),
            canonical.excerpt(error.span)
        ));
    }
    compare::compare(&parsed.module, &reparsed.module).map_err(|difference| {
        format!(
            "the canonical text has a different meaning: {}\n{}\n{}",
            clean(&difference.message),
            Side::new("read", &source.bytes).excerpt(difference.left),
            canonical.excerpt(difference.right)
        )
    })?;
    expect_equal(
        "printing the canonical text again changes it",
        Side::new("once", &text),
        Side::new("twice", &ptx_print::canonical(&reparsed.module, &style)),
    )?;
    Ok(String::new())
}

/// A text that is compared with another one.
struct Side<'t> {
    name: &'static str,
    text: &'t [u8],
}

/// Compares two texts. The error message shows the first difference.
fn expect_equal(message: &str, left: Side<'_>, right: Side<'_>) -> Result<(), String> {
    if left.text == right.text {
        return Ok(());
    }
    let common = left
        .text
        .iter()
        .zip(right.text)
        .take_while(|(a, b)| a == b)
        .count() as u32;
    let span = Span::new(common, common);
    Err(format!(
        "{message}\n{}\n{}",
        left.excerpt(span),
        right.excerpt(span)
    ))
}

/// The least and the greatest length of an excerpt, in bytes.
const EXCERPT_LENGTHS: (usize, usize) = (40, 160);

impl<'t> Side<'t> {
    fn new(name: &'static str, text: &'t [u8]) -> Self {
        Self { name, text }
    }

    /// The text from the start of a span: `  read at byte 12 (2:5): "text"`.
    fn excerpt(&self, span: Span) -> String {
        let position = LineIndex::new(self.text).position(span.start);
        let start = (span.start as usize).min(self.text.len());
        let length = span.len().clamp(EXCERPT_LENGTHS.0, EXCERPT_LENGTHS.1);
        let end = self.text.len().min(start + length);
        let ellipsis = if end < self.text.len() { "…" } else { "" };
        format!(
            "  {} at byte {} ({}:{}): \"{}{ellipsis}\"",
            self.name,
            span.start,
            position.line,
            position.column,
            self.text[start..end].escape_ascii()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_located() {
        let left = Side::new("a", b"one\ntwo");
        let right = Side::new("b", b"one\ntoo\n");
        assert_eq!(
            expect_equal("no", left, right).unwrap_err(),
            "no\n  a at byte 5 (2:2): \"wo\"\n  b at byte 5 (2:2): \"oo\\n\""
        );
        let message = expect_equal("no", Side::new("a", b"one"), Side::new("b", b"")).unwrap_err();
        assert!(message.ends_with("b at byte 0 (1:1): \"\""), "{message}");
    }
}
