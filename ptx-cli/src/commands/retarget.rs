//! `ptx retarget`: another target and version in the header, and not a byte besides.

use std::io::Write;

use anyhow::{Context as _, Result};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Item, LineIndex, Module, Severity, Span};
use ptx_isa::{Directive, PtxVersion, Target};
use ptx_verify::Options;

use super::check::{target, version};
use crate::input::{self, Files, Source};
use crate::output::{self, Out, Status};
use crate::render::Report;

/// Write a file with another target in its header, or say what keeps it from there
///
/// Every byte besides the target and the version stays. The result goes to standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ptx retarget --target sm_90a kernel.ptx > hopper.ptx
  ptx retarget --target sm_80 --ptx-version lowest kernel.ptx")]
pub(crate) struct Args {
    #[command(flatten)]
    files: Files,
    /// The target
    #[arg(long, value_name = "sm_XX", value_parser = target)]
    target: Target,
    /// The version of PTX: as it is, unless the target needs a newer one; `lowest` for the first in which the file is
    /// legal on the target
    #[arg(long, value_name = "X.Y|lowest", value_parser = wanted)]
    ptx_version: Option<Wanted>,
}

#[derive(Copy, Clone, Debug)]
enum Wanted {
    Lowest,
    Version(PtxVersion),
}

fn wanted(text: &str) -> Result<Wanted, String> {
    match text {
        "lowest" => Ok(Wanted::Lowest),
        text => version(text).map(Wanted::Version),
    }
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Well;
    let inputs = args.files.list(&mut status)?;
    input::one_by_one(&inputs, &mut out, &mut status, |out, source| {
        one(out, &source, args)
    })?;
    out.flush()?;
    Ok(status)
}

fn one(out: &mut Out, source: &Source, args: &Args) -> Result<Status> {
    let parsed = ptx_parse::parse_shared(source.bytes.clone(), &Default::default());
    let module = &parsed.module;
    let version = choose(module, args);
    let options = Options::new(Some(version), Some(args.target));
    let mut found = parsed.diagnostics;
    found.extend(ptx_verify::verify(module, &options));
    // What is wrong with the old header is mended by the new one.
    let header = header_end(module);
    found.retain(|d| d.severity == Severity::Error && d.span.start >= header);
    if found.is_empty() {
        out.write_all(&rewritten(module, args.target, version)?)?;
        return Ok(Status::Well);
    }
    let report = &Report {
        name: &source.name,
        source: &source.bytes,
        lines: &LineIndex::new(&source.bytes),
    };
    for diagnostic in &found {
        output::note(report.short(diagnostic));
    }
    let (name, target) = (&source.name, args.target);
    output::note(format_args!(
        "{name}: not written: not legal in PTX {version} on {target}"
    ));
    Ok(Status::Findings)
}

/// The version to write.
fn choose(module: &Module, args: &Args) -> PtxVersion {
    let floor = args.target.min_version();
    match args.ptx_version {
        Some(Wanted::Version(version)) => version,
        Some(Wanted::Lowest) => {
            let lowest = ptx_verify::requires(module).module.lowest(args.target);
            lowest.unwrap_or(PtxVersion::CURRENT)
        }
        None => module.header.version.map_or(floor, |v| v.max(floor)),
    }
}

/// The last byte of the directives of the header.
fn header_end(module: &Module) -> u32 {
    let header = |item: Item| match item {
        Item::Directive(id) => module
            .directives
            .get(id)
            .is_some_and(|d| matches!(d.directive, Directive::Version | Directive::Target)),
        _ => false,
    };
    let spans = module
        .items()
        .filter(|(_, i)| header(*i))
        .map(|(id, _)| module.span(id));
    spans.map(|s| s.end).max().unwrap_or(0)
}

fn rewritten(module: &Module, target: Target, version: PtxVersion) -> Result<Vec<u8>> {
    let number = place(module, Directive::Version, |kind, _| {
        matches!(kind, TokenKind::Decimal | TokenKind::Integer)
    });
    let name = place(module, Directive::Target, |kind, text| {
        kind == TokenKind::Ident && Target::from_name(text).is_some()
    });
    let number = number.context("there is no `.version` to rewrite")?;
    let name = name.context("there is no `.target` to rewrite")?;
    let source = module.source();
    let mut edits = [
        (number, version.to_string()),
        (name, target.text().to_owned()),
    ];
    edits.sort_by_key(|(span, _)| span.start);
    let (mut text, mut done) = (Vec::with_capacity(source.len() + 8), 0);
    for (span, new) in edits {
        text.extend_from_slice(&source[done..span.start as usize]);
        text.extend_from_slice(new.as_bytes());
        done = span.end as usize;
    }
    text.extend_from_slice(&source[done..]);
    Ok(text)
}

/// The first token of a directive that will do.
fn place(
    module: &Module,
    directive: Directive,
    wanted: impl Fn(TokenKind, &[u8]) -> bool,
) -> Option<Span> {
    let of_directive = |item: Item| match item {
        Item::Directive(id) => module
            .directives
            .get(id)
            .is_some_and(|d| d.directive == directive),
        _ => false,
    };
    let (id, _) = module.items().find(|(_, i)| of_directive(*i))?;
    let span = module.span(id);
    let text = span.of(module.source());
    let mut tokens = Lexer::fragment(text);
    let token = tokens.find(|t| wanted(t.kind, t.span.of(text)))?;
    Some(token.span.shifted(span.start))
}
