//! The diagnostics of a file that the options select, after the fixes that they request.

use ptx_analysis::source_lines::SourceLines;
use ptx_ir::{Code, Diagnostic, Limits, Module, Severity, SourceText, Span};
use ptx_parse::Division;
use ptx_verify::{BodyChecker, Options};

use super::Args;
use super::filter::{Filter, Kinds};
use crate::functions::Chosen;
use crate::input::Source;
use crate::render::json::{Linted, Measured};
use ptx_report::source_frames::{Finder, Place};
use ptx_report::warnings::kinds::{LINK, MISTAKES, UNUSED};

pub(crate) struct Checked {
    pub(crate) source: Source,
    /// The text with fixes and the number of fixes, if there are any. The diagnostics are about this text.
    pub(crate) fixed: Option<(SourceText, usize)>,
    pub(crate) results: FileDiagnostics,
    /// The functions whose diagnostics are reported.
    pub(crate) chosen: Chosen,
}

/// The diagnostics of a text.
#[derive(Default)]
pub(crate) struct FileDiagnostics {
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The details of each diagnostic.
    pub(crate) details: Vec<Detail>,
    /// Errors in comments that suppress warnings, with their spans.
    pub(crate) mistakes: Vec<(Span, String)>,
}

/// The position of a diagnostic, the value that a limit excludes, and the lint that found it.
pub(crate) struct Detail {
    pub(crate) place: Place,
    pub(crate) measured: Option<Measured>,
    pub(crate) linted: Option<Linted>,
}

pub(super) fn check(source: Source, options: &Options, args: &Args) -> Checked {
    if is_clean(&source.bytes, options, args) {
        return Checked {
            source,
            fixed: None,
            results: FileDiagnostics::default(),
            chosen: Chosen::all(),
        };
    }
    let (mut results, mut chosen) = diagnose(&source.bytes, options, args);
    let mut fixed = None;
    if args.fix
        && results
            .diagnostics
            .iter()
            .any(Diagnostic::is_machine_applicable)
    {
        let errors = |text: &[u8]| {
            let parsed = ptx_parse::parse(text);
            let mut diagnostics = parsed.diagnostics;
            diagnostics.extend(ptx_verify::verify(&parsed.module, options));
            diagnostics
        };
        if let Some(fixes) = ptx_ir::fix_all(&source.bytes, errors(&source.bytes), errors) {
            let text = SourceText::from(fixes.text);
            (results, chosen) = diagnose(&text, options, args);
            fixed = Some((text, fixes.count));
        }
    }
    Checked {
        source,
        fixed,
        results,
        chosen,
    }
}

/// The size of a source from which [`is_clean`] pays off, in bytes.
const LARGE: usize = 1 << 18;

/// Whether a large source has no diagnostics. This is likely, and it is determined fast and with little memory.
fn is_clean(source: &SourceText, options: &Options, args: &Args) -> bool {
    if source.len() < LARGE
        || !args.functions.is_empty()
        || !args.warn.is_empty()
        || !args.deny.is_empty()
    {
        return false;
    }
    let visited = ptx_parse::visit_bodies(
        source,
        &Limits::default(),
        Division::of(source),
        || BodyChecker::new(*options),
        BodyChecker::check,
    );
    visited
        .and_then(|v| BodyChecker::finish(v.visitors, *options, &v.module))
        .is_some_and(|diagnostics| diagnostics.iter().all(|d| d.code == LINK))
}

/// The diagnostics of a text and the functions that the options select.
fn diagnose(source: &SourceText, options: &Options, args: &Args) -> (FileDiagnostics, Chosen) {
    let parsed = ptx_parse::parse_with(source.clone(), &Default::default());
    let mut diagnostics = parsed.diagnostics;
    if let Some(environment) = args.environment {
        environment.retain(source, &mut diagnostics);
    }
    diagnostics.extend(ptx_verify::verify(&parsed.module, options));
    let requested = args.warn.iter().chain(&args.deny);
    let is_requested = |code: Code| requested.clone().any(|kind| kind.contains(code));
    let mut optional = Vec::new();
    if UNUSED.iter().any(|code| is_requested(*code)) {
        optional.extend(ptx_verify::unused(&parsed.module));
    }
    if MISTAKES.iter().any(|code| is_requested(*code)) {
        optional.extend(ptx_verify::likely_mistakes(&parsed.module));
    }
    diagnostics.extend(optional.into_iter().filter(|d| is_requested(d.code)));
    if !diagnostics.iter().any(|d| d.severity == Severity::Error) {
        // The limits of code generation are only relevant for a module without errors.
        let limits = ptx_verify::codegen_limits(&parsed.module);
        diagnostics.extend(
            limits
                .into_iter()
                .filter(|d| d.code != LINK || is_requested(d.code)),
        );
    }
    diagnostics.sort_by_key(|d| d.span.start);
    let has_warnings = diagnostics.iter().any(|d| d.severity == Severity::Warning);
    let kinds = Kinds {
        allow: &args.allow,
        deny: &args.deny,
        ..Kinds::default()
    };
    let filter = Filter::new(&parsed.module, has_warnings, kinds);
    diagnostics.retain_mut(|d| filter.keeps(d));
    if args.allow_unknown {
        for diagnostic in diagnostics.iter_mut().filter(|d| is_unknown(d.code)) {
            diagnostic.severity = Severity::Warning;
        }
    }
    let mut results = FileDiagnostics {
        details: details(&parsed.module, &diagnostics),
        diagnostics,
        mistakes: filter.into_mistakes(),
    };
    let chosen = args.functions.choose(&parsed.module);
    results.retain(|function, _| chosen.contains_name(&parsed.module, function));
    (results, chosen)
}

/// The details of diagnostics: their positions, without values and lints.
pub(crate) fn details(module: &Module, diagnostics: &[Diagnostic]) -> Vec<Detail> {
    if diagnostics.is_empty() {
        return Vec::new();
    }
    let lines = SourceLines::new(module);
    let mut finder = Finder::new(module, &lines);
    diagnostics
        .iter()
        .map(|d| Detail {
            place: finder.place(d.span.start),
            measured: None,
            linted: None,
        })
        .collect()
}

/// Whether an error is about a word that a later version of PTX may have.
fn is_unknown(code: Code) -> bool {
    matches!(
        code,
        Code::UnknownOpcode | Code::UnknownModifier | Code::UnknownDirective
    )
}

impl Checked {
    /// The text that the diagnostics are about.
    pub(super) fn text(&self) -> &SourceText {
        self.fixed
            .as_ref()
            .map_or(&self.source.bytes, |(text, _)| text)
    }
}

impl FileDiagnostics {
    /// Keeps the diagnostics for which the predicate is true, given their function.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(Option<&str>, &Diagnostic) -> bool) {
        let details = std::mem::take(&mut self.details);
        (self.diagnostics, self.details) = std::mem::take(&mut self.diagnostics)
            .into_iter()
            .zip(details)
            .filter(|(diagnostic, detail)| keep(detail.place.function.as_deref(), diagnostic))
            .unzip();
    }
}
