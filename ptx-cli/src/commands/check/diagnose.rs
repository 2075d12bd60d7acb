//! The diagnostics of a file, as the options select them, after the fixes that they ask for.

use ptx_analysis::source_lines::SourceLines;
use ptx_ir::{Code, Diagnostic, Limits, Module, Severity, SourceText, Span};
use ptx_parse::Division;
use ptx_verify::{BodyChecker, Options};

use super::Args;
use super::filter::{Filter, Kinds};
use crate::input::Source;
use crate::render::json::{Linted, Measured};
use ptx_report::source_frames::{Finder, Place};
use ptx_report::warnings::kinds::{LINK, MISTAKES, UNUSED};

pub(crate) struct Checked {
    pub(crate) source: Source,
    /// The text with fixes, if there are any, and how many. The diagnostics are about this text.
    pub(crate) fixed: Option<(SourceText, usize)>,
    pub(crate) found: Found,
}

/// The diagnostics of a text.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// What is known about each diagnostic.
    pub(crate) details: Vec<Detail>,
    /// Errors in comments that turn warnings off, and where they are.
    pub(crate) mistakes: Vec<(Span, String)>,
}

/// Where a diagnostic is, which values of a limit it is about, and what a lint says of it.
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
            found: Found::default(),
        };
    }
    let mut found = diagnose(&source.bytes, options, args);
    let mut fixed = None;
    if args.fix
        && found
            .diagnostics
            .iter()
            .any(Diagnostic::is_machine_applicable)
    {
        let errors = |text: &[u8]| {
            let parsed = ptx_parse::parse(text);
            let mut found = parsed.diagnostics;
            found.extend(ptx_verify::verify(&parsed.module, options));
            found
        };
        if let Some(new) = ptx_ir::fix_all(&source.bytes, errors(&source.bytes), errors) {
            let text = SourceText::from(new.text);
            found = diagnose(&text, options, args);
            fixed = Some((text, new.count));
        }
    }
    Checked {
        source,
        fixed,
        found,
    }
}

/// A shorter source is not worth the effort.
const LARGE: usize = 1 << 18;

/// Whether a large source has no diagnostics, which is likely, found out fast and with little memory.
fn is_clean(source: &SourceText, options: &Options, args: &Args) -> bool {
    if source.len() < LARGE || !args.warn.is_empty() || !args.deny.is_empty() {
        return false;
    }
    let visited = ptx_parse::visit_bodies(
        source,
        &Limits::default(),
        Division::of(source),
        || BodyChecker::new(*options),
        BodyChecker::check,
    );
    let found = visited.and_then(|v| BodyChecker::finish(v.visitors, *options, &v.module));
    found.is_some_and(|found| found.iter().all(|d| d.code == LINK))
}

/// The diagnostics of a text that the options select, and where they are; and its module.
fn diagnose(source: &SourceText, options: &Options, args: &Args) -> Found {
    let parsed = ptx_parse::parse_with(source.clone(), &Default::default());
    let mut diagnostics = parsed.diagnostics;
    if let Some(environment) = args.environment {
        environment.retain(source, &mut diagnostics);
    }
    diagnostics.extend(ptx_verify::verify(&parsed.module, options));
    let asked = args.warn.iter().chain(&args.deny);
    let is_asked = |codes: &[Code]| asked.clone().any(|k| codes.iter().any(|c| k.holds(*c)));
    let mut optional = Vec::new();
    if is_asked(&UNUSED) {
        optional.extend(ptx_verify::unused(&parsed.module));
    }
    if is_asked(&MISTAKES) {
        optional.extend(ptx_verify::likely_mistakes(&parsed.module));
    }
    diagnostics.extend(optional.into_iter().filter(|d| is_asked(&[d.code])));
    let errors = |d: &Diagnostic| d.severity == Severity::Error;
    if !diagnostics.iter().any(errors) {
        let wanted = |d: &Diagnostic| d.code != LINK || asked.clone().any(|k| k.holds(d.code));
        let later = ptx_verify::codegen_limits(&parsed.module);
        diagnostics.extend(later.into_iter().filter(wanted));
    }
    diagnostics.sort_by_key(|d| d.span.start);
    let warning = |d: &Diagnostic| d.severity == Severity::Warning;
    let has_warnings = diagnostics.iter().any(warning);
    let kinds = Kinds {
        allow: &args.allow,
        deny: &args.deny,
        ..Kinds::default()
    };
    let filter = Filter::new(&parsed.module, has_warnings, kinds);
    diagnostics.retain_mut(|d| filter.keeps(d));
    if args.allow_unknown {
        let unknown = diagnostics.iter_mut().filter(|d| is_unknown(d.code));
        unknown.for_each(|d| d.severity = Severity::Warning);
    }
    Found {
        details: details(&parsed.module, &diagnostics),
        diagnostics,
        mistakes: filter.into_mistakes(),
    }
}

/// Where diagnostics are.
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

impl Found {
    /// Keeps the diagnostics for which the predicate, which also gets their function, is true.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(Option<&str>, &Diagnostic) -> bool) {
        let details = std::mem::take(&mut self.details);
        let diagnostics = std::mem::take(&mut self.diagnostics);
        let all = diagnostics.into_iter().zip(details);
        (self.diagnostics, self.details) = all
            .filter(|(diagnostic, detail)| keep(detail.place.function.as_deref(), diagnostic))
            .unzip();
    }
}
