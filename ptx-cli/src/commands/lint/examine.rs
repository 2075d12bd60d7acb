//! What lints find in a file.

use std::collections::HashMap;

use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Diagnostic, Severity, Span};
use ptx_lint::{Finding, LintOptions};
use ptx_report::labels::Labeled;

use super::Args;
use crate::commands::check::diagnose::{Checked, Detail, Found, details};
use crate::commands::check::filter::{Filter, Kinds};
use crate::input::Source;
use crate::render::json::Linted;

/// The errors of the syntax, and what lints find where the syntax is right.
pub(super) fn examine(source: Source, options: &LintOptions, args: &Args) -> Checked {
    let parsed = ptx_parse::parse_with(source.bytes.clone(), &Default::default());
    let module = parsed.module;
    let mut errors = parsed.diagnostics;
    if let Some(environment) = args.environment {
        environment.retain(&source.bytes, &mut errors);
    }
    let errors = errors.into_iter().map(|d| (d, None));
    let linted = ptx_lint::lint(&ModuleFacts::new(&module), options).into_iter();
    let mut all: Vec<(Diagnostic, Option<Linted>)> = errors.chain(linted.map(described)).collect();
    all.sort_by_key(|(d, _)| d.span.start);
    let has_warnings = all.iter().any(|(d, _)| d.severity == Severity::Warning);
    let kinds = Kinds {
        allow: &args.allow,
        warn: &args.warn,
        deny: &args.deny,
    };
    let filter = Filter::new(&module, has_warnings, kinds);
    all.retain_mut(|(d, _)| filter.keeps(d));
    let (diagnostics, linted): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    let mut details = details(&module, &diagnostics);
    for (detail, linted) in details.iter_mut().zip(linted) {
        detail.linted = linted;
    }
    let (diagnostics, details) = by_source_line(diagnostics, details);
    Checked {
        source,
        fixed: None,
        found: Found {
            diagnostics,
            details,
            mistakes: filter.into_mistakes(),
        },
    }
}

/// One finding for each source line: what a lint finds in the code of one line, in the copies of an unrolled loop and in all instances of a
/// template, is a finding with further places. Code without a source line has one finding for each cause.
fn by_source_line(
    diagnostics: Vec<Diagnostic>,
    details: Vec<Detail>,
) -> (Vec<Diagnostic>, Vec<Detail>) {
    let mut known: HashMap<String, usize> = HashMap::new();
    let (mut kept, mut of_kept): (Vec<Diagnostic>, Vec<Detail>) = (Vec::new(), Vec::new());
    let mut places: Vec<Vec<(Span, Option<String>)>> = Vec::new();
    for (mut diagnostic, detail) in diagnostics.into_iter().zip(details) {
        let repeats = diagnostic.take_repeats();
        let key = source_line(&diagnostic, &detail);
        let first = key.map(|key| *known.entry(key).or_insert(kept.len()));
        if let Some((first, of_first)) =
            first.and_then(|first| kept.get(first).zip(places.get_mut(first)))
        {
            let own = (first.message != diagnostic.message).then_some(diagnostic.message);
            of_first.push((diagnostic.span, own));
            of_first.extend(repeats);
            continue;
        }
        kept.push(diagnostic);
        of_kept.push(detail);
        places.push(repeats);
    }
    for (diagnostic, places) in kept.iter_mut().zip(places) {
        diagnostic.set_repeats(places);
    }
    (kept, of_kept)
}

/// The lint, its certainty and the source lines of a finding that an edit does not fix, with all lines into which the code was inlined.
fn source_line(diagnostic: &Diagnostic, detail: &Detail) -> Option<String> {
    let linted = detail.linted.as_ref()?;
    if detail.place.source.is_empty() || !diagnostic.fix.is_empty() {
        return None;
    }
    let mut key = format!(
        "{} {} {:?} {:?}",
        linted.lint, linted.certainty, linted.degree, diagnostic.severity
    );
    for frame in &detail.place.source {
        key.push('\n');
        key.push_str(frame.file.as_deref().unwrap_or_default());
        key.push_str(&format!(":{}", frame.line));
    }
    Some(key)
}

/// A diagnostic with what its lint says.
fn described(finding: Finding) -> (Diagnostic, Option<Linted>) {
    let linted = Linted {
        lint: Labeled(finding.lint),
        certainty: Labeled(finding.certainty),
        degree: finding.degree,
    };
    (finding.diagnostic, Some(linted))
}
