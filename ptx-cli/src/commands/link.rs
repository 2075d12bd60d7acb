//! `ptxkit link`: combines several modules into one.

use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use ptx_ir::{Diagnostic, Module};
use ptx_transform::{LinkDiagnostic, LinkOptions};
use serde::Serialize;

use super::rewrite::ParsedSource;
use crate::destination::Refusal;
use crate::format::{FormatOptions, TextOrJson};
use crate::input::{self, Files};
use crate::output::{self, Out, Status};
use crate::render::json::Finding;
use crate::replace::replace_file;
use ptx_report::demangle::{self, FunctionPattern};
use ptx_report::source_frames::NOWHERE;
use ptx_report::source_span::JsonSpan;
use ptx_report::{SCHEMA, clean, counted};

/// Link several modules into one
///
/// External declarations are resolved, and private names that conflict are renamed. The result has the highest PTX version
/// and a target that supports all inputs. Undefined names stay external.
#[derive(Debug, clap::Args)]
#[command(mut_arg("json", |arg| arg.help("Write one JSON object to standard output: whether the files were linked, the errors, and the text unless it goes to a file; the same as --format json")))]
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
    hide: Vec<FunctionPattern>,
    #[command(flatten)]
    format: FormatOptions<TextOrJson>,
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
    let (mut sources, mut errors) = (Vec::new(), Vec::new());
    let inputs = args.files.list()?;
    input::one_by_one(&inputs, &mut out, &mut status, |_, source| {
        let (parsed, diagnostics) = ParsedSource::new(source);
        let refusal = Refusal::errors(diagnostics, "it has errors");
        if refusal.has_causes() && !args.format.is_json() {
            refusal.note(&parsed.report());
        }
        let input = sources.len();
        errors.extend(
            refusal
                .errors
                .into_iter()
                .map(|diagnostic| (input, diagnostic)),
        );
        sources.push(parsed);
        Ok(Status::Ok)
    })?;
    if status != Status::Ok {
        return Ok(status);
    }
    if !errors.is_empty() {
        if args.format.is_json() {
            let errors = errors.iter().map(|(input, error)| (*input, error, &[][..]));
            out.json(&Linked::new(args, &sources, errors, None))?;
            out.flush()?;
        }
        return Ok(Status::Findings);
    }
    let modules: Vec<&Module> = sources.iter().map(|source| &source.module).collect();
    let names: Vec<&str> = modules
        .iter()
        .flat_map(|module| {
            let symbols = module.symbols().values();
            symbols.map(|symbol| module.name(symbol.name))
        })
        .collect();
    let mut hidden = Vec::new();
    for pattern in &args.hide {
        let selected = pattern.select(names.iter().copied())?;
        if selected.is_empty() {
            bail!("--hide: no name `{pattern}`");
        }
        hidden.extend(selected);
    }
    let options = LinkOptions::default().with_hidden(&hidden);
    let (mut diagnostics, linked) = match ptx_transform::link(&modules, &options) {
        Ok(linked) => (linked.report, Some(linked.module)),
        Err(error) => (error.into_diagnostics(), None),
    };
    let text = linked.as_ref().map(Module::source);
    diagnostics.sort_by_key(|d| (d.input, d.diagnostic.span.start));
    if let (Some(path), Some(text)) = (&args.output, text) {
        replace_file(path, text)
            .with_context(|| format!("writing {}", clean(&path.to_string_lossy())))?;
    }
    if args.format.is_json() {
        let diagnostics = diagnostics
            .iter()
            .map(|d| (d.input, &d.diagnostic, &*d.elsewhere));
        out.json(&Linked::new(args, &sources, diagnostics, text))?;
    } else {
        for diagnostic in &diagnostics {
            write_diagnostic(&sources, diagnostic);
        }
        match text {
            Some(text) if args.output.is_none() => out.write_all(text)?,
            Some(_) => {}
            None => output::note("not linked"),
        }
    }
    out.flush()?;
    if text.is_some() {
        report_success(args, sources.len());
    }
    Ok(Status::of(text.is_none()))
}

/// Writes the number of files that were linked to standard error.
fn report_success(args: &Args, file_count: usize) {
    let files = counted(file_count, "file");
    let place = match &args.output {
        Some(path) => format!(" to {}", clean(&path.to_string_lossy())),
        None => String::new(),
    };
    output::success(format_args!("{files} linked{place}"));
}

impl<'a> Linked<'a> {
    /// `diagnostics` are the inputs, the diagnostics and their locations in other files. `text` is the result, if the files were linked.
    fn new(
        args: &Args,
        sources: &'a [ParsedSource],
        diagnostics: impl Iterator<Item = (usize, &'a Diagnostic, &'a [ptx_transform::Elsewhere])>,
        text: Option<&'a [u8]>,
    ) -> Self {
        let elsewhere = |location: &'a ptx_transform::Elsewhere| {
            let parsed = sources.get(location.input)?;
            Some(Elsewhere {
                file: &parsed.source.name,
                message: &location.message,
                span: JsonSpan::new(location.span, &parsed.lines),
            })
        };
        let path = args.output.as_ref();
        Self {
            schema: SCHEMA,
            files: sources.iter().map(|parsed| &*parsed.source.name).collect(),
            done: text.is_some(),
            output: path
                .filter(|_| text.is_some())
                .map(|path| clean(&path.to_string_lossy()).into_owned()),
            text: text.filter(|_| path.is_none()).map(String::from_utf8_lossy),
            diagnostics: diagnostics
                .filter_map(|(input, diagnostic, locations)| {
                    Some(LinkFinding {
                        finding: sources.get(input)?.report().finding(diagnostic, &NOWHERE),
                        elsewhere: locations.iter().filter_map(elsewhere).collect(),
                    })
                })
                .collect(),
        }
    }
}

/// Writes a diagnostic: a line for its location, one for each location in another file, and one for the help.
fn write_diagnostic(sources: &[ParsedSource], diagnostic: &LinkDiagnostic) {
    let Some(parsed) = sources.get(diagnostic.input) else {
        return;
    };
    output::note(parsed.report().short(&diagnostic.diagnostic));
    for location in &diagnostic.elsewhere {
        if let Some(parsed) = sources.get(location.input) {
            let position = parsed.lines.position(location.span.start);
            output::note(format_args!(
                "{}:{}:{}: note: {}",
                parsed.source.name,
                position.line,
                position.column,
                clean(&demangle::display_message(&location.message))
            ));
        }
    }
    if let Some(help) = &diagnostic.diagnostic.help {
        output::note(format_args!(
            "  help: {}",
            clean(&demangle::display_message(help))
        ));
    }
}
