//! `ptxkit debug tokens`: the tokens of a file.

use std::borrow::Cow;
use std::io::Write;

use anyhow::Result;
use ptx_ir::LineIndex;
use ptx_ir::lex::Lexer;
use serde::Serialize;

use super::JsonInput;
use crate::input::{self, Source};
use crate::output::{Out, Status};
use ptx_report::SCHEMA;
use ptx_report::source_span::JsonSpan;

/// List all tokens, comments and whitespace with their positions
///
/// A line has the form START..END LINE:COLUMN KIND "TEXT". Offsets count from 0, columns from 1, both in
/// bytes. Characters other than printable ASCII are escaped in the text.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit debug tokens kernel.ptx
  echo 'add.s32 %r1, %r2, 1;' | ptxkit debug tokens --json -")]
#[command(mut_arg("json", |arg| arg.help("Write one JSON object per token")))]
pub(crate) struct Args {
    #[command(flatten)]
    input: JsonInput,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonToken<'a> {
    schema: u32,
    file: &'a str,
    kind: &'static str,
    trivia: bool,
    span: JsonSpan,
    text: Cow<'a, str>,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let inputs = args.input.files.list()?;
    let has_titles = inputs.len() > 1 && !args.input.format.is_json();
    input::one_by_one(&inputs, &mut out, &mut status, |out, source| {
        if has_titles {
            writeln!(out, "{}:", source.name)?;
        }
        list(args.input.format.is_json(), &source, out)?;
        Ok(Status::Ok)
    })?;
    out.flush()?;
    Ok(status)
}

fn list(is_json: bool, source: &Source, out: &mut Out) -> Result<()> {
    let lines = LineIndex::new(&source.bytes);
    for token in Lexer::new(&source.bytes) {
        let span = token.span;
        let text = span.of(&source.bytes);
        if is_json {
            let token = JsonToken {
                schema: SCHEMA,
                file: &source.name,
                kind: token.kind.name(),
                trivia: token.kind.is_trivia(),
                span: JsonSpan::new(span, &lines),
                text: String::from_utf8_lossy(text),
            };
            out.json(&token)?;
        } else {
            let position = lines.position(span.start);
            writeln!(
                out,
                "{}..{} {}:{} {} \"{}\"",
                span.start,
                span.end,
                position.line,
                position.column,
                token.kind.name(),
                text.escape_ascii()
            )?;
        }
    }
    Ok(())
}
