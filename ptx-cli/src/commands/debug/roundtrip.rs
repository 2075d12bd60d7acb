//! `ptxkit debug roundtrip`: checks that parsing and printing are lossless.

use std::io::Write;

use anyhow::Result;
use ptx_ir::{LineIndex, Severity, Span, compare};
use ptx_print::Style;
use serde::Serialize;

use crate::input::{self, Files, Source};
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
    files: Files,
    /// Write one JSON object per file
    #[arg(long)]
    json: bool,
}

/// The result of a file in JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonVerdict<'a> {
    schema: u32,
    file: &'a str,
    lossless: bool,
    /// How it fails.
    reason: Option<&'a str>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let (mut passed, mut failed) = (0usize, 0usize);
    input::in_order(
        &inputs,
        &mut out,
        &mut status,
        judge,
        |out, verdict| match verdict.result {
            result if args.json => {
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
    if !args.json {
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
        result: round(&source),
        name: source.name,
    }
}

/// A remark about a file that passes, or how it fails.
fn round(source: &Source) -> Result<String, String> {
    let parsed = ptx_parse::parse_with(source.bytes.clone(), &Default::default());
    same(
        "the verbatim text differs from the file",
        ("read", &source.bytes),
        ("printed", &ptx_print::verbatim(&parsed.module)),
    )?;
    if let Err(violation) = ptx_ir::tiling::check(&parsed.module) {
        let at = LineIndex::new(&source.bytes).position(violation.span.start);
        return Err(format!("{}:{}: {}", at.line, at.column, violation.message));
    }
    let (errors, _) = tally(&parsed.diagnostics);
    if errors > 0 {
        return Ok(format!(" (verbatim; {})", counted(errors, "error")));
    }

    let style = Style::default();
    let text = ptx_print::canonical(&parsed.module, &style);
    let again = ptx_parse::parse(&text);
    let lines = LineIndex::new(&text);
    if let Some(error) = again
        .diagnostics
        .iter()
        .find(|d| d.severity == Severity::Error)
    {
        let report = Report {
            name: "canonical",
            source: &text,
            lines: &lines,
        };
        return Err(format!(
            "the canonical text has errors\n  {}\n{}",
            report.short(error),
            piece("canonical", &text, error.span, &lines)
        ));
    }
    compare::compare(&parsed.module, &again.module).map_err(|difference| {
        format!(
            "the canonical text has a different meaning: {}\n{}\n{}",
            clean(&difference.message),
            piece(
                "read",
                &source.bytes,
                difference.left,
                &LineIndex::new(&source.bytes)
            ),
            piece("canonical", &text, difference.right, &lines)
        )
    })?;
    same(
        "printing the canonical text again changes it",
        ("once", &text),
        ("twice", &ptx_print::canonical(&again.module, &style)),
    )?;
    Ok(String::new())
}

/// Compares two texts; the error shows the first difference.
fn same(what: &str, left: (&str, &[u8]), right: (&str, &[u8])) -> Result<(), String> {
    if left.1 == right.1 {
        return Ok(());
    }
    let pairs = left.1.iter().zip(right.1);
    let at = pairs.take_while(|(a, b)| a == b).count() as u32;
    let show = |(name, text)| piece(name, text, Span::new(at, at), &LineIndex::new(text));
    Err(format!("{what}\n{}\n{}", show(left), show(right)))
}

/// The minimum and the maximum of the text that is shown of each side.
const SHOWN: (usize, usize) = (40, 160);

/// One side of a difference: `  read at byte 12 (2:5): "text"`.
fn piece(name: &str, text: &[u8], span: Span, lines: &LineIndex) -> String {
    let at = lines.position(span.start);
    let start = (span.start as usize).min(text.len());
    let length = span.len().clamp(SHOWN.0, SHOWN.1);
    let end = text.len().min(start + length);
    let more = if end < text.len() { "…" } else { "" };
    format!(
        "  {name} at byte {} ({}:{}): \"{}{more}\"",
        span.start,
        at.line,
        at.column,
        text[start..end].escape_ascii()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_located() {
        let shown = same("no", ("a", b"one\ntwo"), ("b", b"one\ntoo\n")).unwrap_err();
        assert_eq!(
            shown,
            "no\n  a at byte 5 (2:2): \"wo\"\n  b at byte 5 (2:2): \"oo\\n\""
        );
        let shown = same("no", ("a", b"one"), ("b", b"")).unwrap_err();
        assert!(shown.ends_with("b at byte 0 (1:1): \"\""), "{shown}");
    }
}
