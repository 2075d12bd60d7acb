//! What lints find in a file.

use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Diagnostic, Severity};
use ptx_lint::{Finding, LintOptions};

use super::Args;
use crate::commands::check::diagnose::{Checked, Found, details};
use crate::commands::check::filter::{Filter, Kinds};
use crate::input::Source;
use crate::render::json::Linted;

/// The errors of the syntax, and what lints find where the syntax is right.
pub(super) fn examine(source: Source, options: &LintOptions, args: &Args) -> Checked {
    let parsed = ptx_parse::parse_shared(source.bytes.clone(), &Default::default());
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
    source.free(module);
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

/// A diagnostic with what its lint says.
fn described(finding: Finding) -> (Diagnostic, Option<Linted>) {
    let linted = Linted {
        lint: finding.lint.name(),
        certainty: finding.certainty.name(),
        degree: finding.degree,
    };
    (finding.diagnostic, Some(linted))
}
