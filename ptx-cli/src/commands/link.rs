//! `ptxkit link`: combines several modules into one.

use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use ptx_ir::{Diagnostic, Module};
use ptx_transform::{LinkDiagnostic, LinkOptions};
use serde::Serialize;

use super::rewrite::Read;
use crate::destination::Refusal;
use crate::input::{self, Files};
use crate::output::{self, Out, Status};
use crate::render::json::Finding;
use crate::replace::replace_file;
use ptx_report::demangle::{self, Wanted};
use ptx_report::source_frames::NOWHERE;
use ptx_report::source_span::JsonSpan;
use ptx_report::{SCHEMA, clean};

/// Link several modules into one
///
/// External declarations are resolved, and private names that conflict are renamed. The result has the highest PTX version
/// and a target that supports all inputs. Undefined names stay external.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptxkit link kernel.ptx library.ptx > whole.ptx
  ptxkit link -o whole.ptx parts/
  ptxkit link --hide helper kernel.ptx library.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// Write the result to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Remove `.visible` from this name, mangled or demangled; it must not be used outside of the result
    #[arg(long, value_name = "NAME")]
    hide: Vec<Wanted>,
    /// Write one JSON object to standard output: whether the files were linked, the errors, and the text unless it goes to a file
    #[arg(long)]
    json: bool,
}

/// The result of linking, in JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Linked<'a> {
    schema: u32,
    files: Vec<&'a str>,
    done: bool,
    output: Option<String>,
    text: Option<Cow<'a, str>>,
    diagnostics: Vec<LinkFinding<'a>>,
}

/// A diagnostic with places in other files.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LinkFinding<'a> {
    #[serde(flatten)]
    finding: Finding<'a>,
    elsewhere: Vec<Elsewhere<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Elsewhere<'a> {
    file: &'a str,
    message: &'a str,
    span: JsonSpan,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    let (mut read, mut errors) = (Vec::new(), Vec::new());
    let inputs = args.files.list()?;
    input::one_by_one(&inputs, &mut out, &mut status, |_, source| {
        let (file, found) = Read::new(source);
        let refusal = Refusal::errors(found, "it has errors");
        if refusal.has_causes() && !args.json {
            refusal.note(&file.report());
        }
        let number = read.len();
        errors.extend(refusal.errors.into_iter().map(|error| (number, error)));
        read.push(file);
        Ok(Status::Ok)
    })?;
    if status != Status::Ok {
        return Ok(status);
    }
    if !errors.is_empty() {
        if args.json {
            let errors = errors.iter().map(|(input, error)| (*input, error, &[][..]));
            out.json(&Linked::new(args, &read, errors, None))?;
            out.flush()?;
        }
        return Ok(Status::Findings);
    }
    let modules: Vec<&Module> = read.iter().map(|r| &r.module).collect();
    let names = modules.iter().flat_map(|m| {
        let symbols = m.symbols().values();
        symbols.map(|s| m.name(s.name))
    });
    let names: Vec<&str> = names.collect();
    let mut hide = Vec::new();
    for name in &args.hide {
        let found = name.among(names.iter().copied())?;
        if found.is_empty() {
            bail!("--hide: no name `{name}`");
        }
        hide.extend(found);
    }
    let options = LinkOptions::default().with_hidden(&hide);
    let (mut found, linked) = match ptx_transform::link(&modules, &options) {
        Ok(linked) => (linked.report, Some(linked.module)),
        Err(error) => (error.into_diagnostics(), None),
    };
    let text = linked.as_ref().map(Module::source);
    found.sort_by_key(|d| (d.input, d.diagnostic.span.start));
    if let (Some(path), Some(text)) = (&args.output, text) {
        replace_file(path, text)
            .with_context(|| format!("writing {}", clean(&path.to_string_lossy())))?;
    }
    if args.json {
        let found = found.iter();
        let found = found.map(|d| (d.input, &d.diagnostic, &*d.elsewhere));
        out.json(&Linked::new(args, &read, found, text))?;
    } else {
        found.iter().for_each(|diagnostic| show(&read, diagnostic));
        match text {
            Some(text) if args.output.is_none() => out.write_all(text)?,
            Some(_) => {}
            None => output::note("not linked"),
        }
    }
    out.flush()?;
    Ok(Status::of(text.is_none()))
}

impl<'a> Linked<'a> {
    fn new(
        args: &Args,
        read: &'a [Read],
        found: impl Iterator<Item = (usize, &'a Diagnostic, &'a [ptx_transform::Elsewhere])>,
        text: Option<&'a [u8]>,
    ) -> Self {
        let elsewhere = |place: &'a ptx_transform::Elsewhere| {
            let file = read.get(place.input)?;
            Some(Elsewhere {
                file: &file.source.name,
                message: &place.message,
                span: JsonSpan::new(place.span, &file.lines),
            })
        };
        let diagnostics = found.filter_map(|(input, diagnostic, places)| {
            Some(LinkFinding {
                finding: read.get(input)?.report().finding(diagnostic, &NOWHERE),
                elsewhere: places.iter().filter_map(elsewhere).collect(),
            })
        });
        let path = args.output.as_ref();
        let shown = |path: &PathBuf| clean(&path.to_string_lossy()).into_owned();
        Self {
            schema: SCHEMA,
            files: read.iter().map(|file| &*file.source.name).collect(),
            done: text.is_some(),
            output: path.filter(|_| text.is_some()).map(shown),
            text: text.filter(|_| path.is_none()).map(String::from_utf8_lossy),
            diagnostics: diagnostics.collect(),
        }
    }
}

/// Writes a diagnostic: a line for its location, one for each location in another file, and one for the help.
fn show(read: &[Read], found: &LinkDiagnostic) {
    let Some(file) = read.get(found.input) else {
        return;
    };
    output::note(file.report().short(&found.diagnostic));
    for place in &found.elsewhere {
        if let Some(file) = read.get(place.input) {
            let at = file.lines.position(place.span.start);
            output::note(format_args!(
                "{}:{}:{}: note: {}",
                file.source.name,
                at.line,
                at.column,
                clean(&demangle::in_message(&place.message))
            ));
        }
    }
    if let Some(help) = &found.diagnostic.help {
        output::note(format_args!(
            "  help: {}",
            clean(&demangle::in_message(help))
        ));
    }
}
