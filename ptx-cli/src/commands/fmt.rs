//! `ptxkit fmt`: the canonical style.

use std::io::Write as _;
use std::str::FromStr;

use anyhow::Result;
use ptx_ir::{LineIndex, compare};
use ptx_print::{Indent, Style};

use crate::destination::{Destination, Refusal, Writer};
use crate::input::{self, Files, Source};
use crate::output::{self, Out, Status};
use crate::render::Report;
use ptx_report::counted;

/// Format files in the canonical style
///
/// Files whose first line ends with CRLF keep CRLF. By default the result goes to standard output. A file with errors is not written; its errors go to standard
/// error, and the exit status is 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit fmt kernel.ptx > pretty.ptx
  ptxkit fmt --check build/
  ptxkit fmt --write --indent 4 kernel.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Only list the files that are not formatted; the exit status is 1 if there are any
    #[arg(long, conflicts_with_all = ["write", "output"])]
    check: bool,
    #[command(flatten)]
    destination: Destination,
    /// Indent by `tab`, or by a number of spaces
    #[arg(long, default_value = "tab", value_name = "tab|N", value_parser = Step::from_str)]
    indent: Step,
}

#[derive(Copy, Clone, Debug)]
struct Step(Indent);

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "tab" => Ok(Self(Indent::Tab)),
            Ok(spaces @ 0..=16) => Ok(Self(Indent::Spaces(spaces))),
            _ => Err("expected `tab` or a number from 0 to 16".to_owned()),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut style = Style::default();
    style.indent = args.indent.0;
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.files.list()?;
    let writer = if args.check {
        args.destination.only_list(&args.files)
    } else {
        args.destination.open(&args.files, &inputs)?
    };
    let format = |source| format(source, &style, args.destination.is_stdout());
    input::in_order(&inputs, &mut out, &mut status, format, |out, formatted| {
        formatted.finish(&writer, args.check, out)
    })?;
    out.flush()?;
    writer.summary();
    if args.check && status == Status::Ok {
        let files = counted(inputs.len(), "file");
        output::success(format_args!("{files}, all formatted"));
    }
    Ok(status)
}

struct Formatted {
    source: Source,
    outcome: Outcome,
}

enum Outcome {
    /// The canonical text.
    Text(Vec<u8>),
    /// The reasons why the file is not formatted.
    Refused(Refusal),
}

/// Formats a source. If the text may replace a file, it is first compared with the source.
fn format(source: Source, style: &Style, only_shown: bool) -> Formatted {
    let parsed = ptx_parse::parse_with(source.bytes.clone(), &Default::default());
    let outcome = if parsed.has_errors() {
        Outcome::Refused(Refusal::errors(parsed.diagnostics, "it has errors"))
    } else {
        let text = ptx_print::canonical(&parsed.module, style);
        let text = with_line_endings_of(&source.bytes, text);
        // A file is overwritten only if the new text has the same meaning.
        if !only_shown && *text != *source.bytes {
            match compare::compare(&parsed.module, &ptx_parse::parse(&text).module) {
                Ok(()) => Outcome::Text(text),
                Err(difference) => Outcome::Refused(Refusal::new(format_args!(
                    "the formatted text would have a different meaning: {difference}"
                ))),
            }
        } else {
            Outcome::Text(text)
        }
    };
    Formatted { source, outcome }
}

/// The text with the line ending of the source: CRLF if its first line ends with it, otherwise LF. Git may check files out with CRLF.
fn with_line_endings_of(source: &[u8], text: Vec<u8>) -> Vec<u8> {
    let first_end = memchr::memchr(b'\n', source);
    let has_crlf =
        first_end.is_some_and(|end| source.get(..end).is_some_and(|line| line.ends_with(b"\r")));
    if !has_crlf {
        return text;
    }
    let mut converted = Vec::with_capacity(text.len() + text.len() / 16);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(content) => {
                converted.extend_from_slice(content.strip_suffix(b"\r").unwrap_or(content));
                converted.extend_from_slice(b"\r\n");
            }
            None => converted.extend_from_slice(line),
        }
    }
    converted
}

impl Formatted {
    fn finish(self, writer: &Writer<'_>, check: bool, out: &mut Out) -> Result<Status> {
        let Self { source, outcome } = self;
        match outcome {
            Outcome::Refused(refusal) => {
                let report = Report {
                    name: &source.name,
                    source: &source.bytes,
                    lines: &LineIndex::new(&source.bytes),
                };
                writer.refuse(out, &report, refusal)
            }
            Outcome::Text(text) if check => {
                let differs = *text != *source.bytes;
                writer.list(out, &source, differs)?;
                Ok(Status::of(differs))
            }
            Outcome::Text(text) => writer.write(out, &source, &text),
        }
    }
}
