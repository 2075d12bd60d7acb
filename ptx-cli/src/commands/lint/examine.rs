//! The findings of lints in a file.

use std::collections::HashMap;

use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Diagnostic, Severity, Span};
use ptx_lint::{Finding, LintOptions};
use ptx_report::labels::Labeled;

use super::Args;
use crate::commands::check::diagnose::{Checked, Detail, FileDiagnostics, details};
use crate::commands::check::filter::{Filter, Kinds};
use crate::input::Source;
use crate::render::json::Linted;

/// The syntax errors of a source, and the findings of lints in its correct parts.
pub(super) fn examine(source: Source, options: &LintOptions, args: &Args) -> Checked {
    let parsed = ptx_parse::parse_with(source.bytes.clone(), &Default::default());
    let module = parsed.module;
    let mut errors = parsed.diagnostics;
    if let Some(environment) = args.environment {
        environment.retain(&source.bytes, &mut errors);
    }
    let mut diagnostics: Vec<(Diagnostic, Option<Linted>)> = errors
        .into_iter()
        .map(|diagnostic| (diagnostic, None))
        .collect();
    let findings = ptx_lint::lint(&ModuleFacts::new(&module), options);
    diagnostics.extend(findings.into_iter().map(linted_diagnostic));
    diagnostics.sort_by_key(|(d, _)| d.span.start);
    let has_warnings = diagnostics
        .iter()
        .any(|(d, _)| d.severity == Severity::Warning);
    let kinds = Kinds {
        allow: &args.allow,
        warn: &args.warn,
        deny: &args.deny,
    };
    let filter = Filter::new(&module, has_warnings, kinds);
    diagnostics.retain_mut(|(d, _)| filter.keeps(d));
    let (diagnostics, linted): (Vec<_>, Vec<_>) = diagnostics.into_iter().unzip();
    let mut details = details(&module, &diagnostics);
    for (detail, linted) in details.iter_mut().zip(linted) {
        detail.linted = linted;
    }
    let (diagnostics, details) = group_by_source_line(diagnostics, details);
    let mut results = FileDiagnostics {
        diagnostics,
        details,
        mistakes: filter.into_mistakes(),
    };
    let chosen = args.functions.choose(&module);
    results.retain(|function, _| chosen.contains_name(&module, function));
    Checked {
        source,
        fixed: None,
        results,
        chosen,
    }
}

/// Groups findings by source line: the findings of a lint in the code of one line, in the copies of an unrolled loop and in all instances of a
/// template, become one finding with repeats. Code without a source line has one finding for each cause.
fn group_by_source_line(
    diagnostics: Vec<Diagnostic>,
    details: Vec<Detail>,
) -> (Vec<Diagnostic>, Vec<Detail>) {
    // The index of the group of each source line.
    let mut groups: HashMap<String, usize> = HashMap::new();
    let mut grouped: Vec<Diagnostic> = Vec::new();
    let mut grouped_details: Vec<Detail> = Vec::new();
    let mut group_repeats: Vec<Vec<(Span, Option<String>)>> = Vec::new();
    for (mut diagnostic, detail) in diagnostics.into_iter().zip(details) {
        let repeats = diagnostic.take_repeats();
        let group = source_line_key(&diagnostic, &detail)
            .map(|key| *groups.entry(key).or_insert(grouped.len()));
        if let Some((first, first_repeats)) =
            group.and_then(|group| grouped.get(group).zip(group_repeats.get_mut(group)))
        {
            let message = (first.message != diagnostic.message).then_some(diagnostic.message);
            first_repeats.push((diagnostic.span, message));
            first_repeats.extend(repeats);
            continue;
        }
        grouped.push(diagnostic);
        grouped_details.push(detail);
        group_repeats.push(repeats);
    }
    for (diagnostic, repeats) in grouped.iter_mut().zip(group_repeats) {
        diagnostic.set_repeats(repeats);
    }
    (grouped, grouped_details)
}

/// The lint, the certainty and the source lines of a finding, with all lines into which the code was inlined; `None` for a finding that an edit
/// fixes.
fn source_line_key(diagnostic: &Diagnostic, detail: &Detail) -> Option<String> {
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

/// The diagnostic of a finding with the name of its lint.
fn linted_diagnostic(finding: Finding) -> (Diagnostic, Option<Linted>) {
    let linted = Linted {
        lint: Labeled(finding.lint),
        certainty: Labeled(finding.certainty),
        degree: finding.degree,
    };
    (finding.diagnostic, Some(linted))
}
