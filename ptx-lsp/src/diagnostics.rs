//! Diagnostics as the protocol has them.

use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString,
};
use ptx_ir::{Severity, Span};
use ptx_lint::Certainty;

use crate::document::Document;

/// The most diagnostics that are sent: an editor shows no more, and each change sends them again.
const MOST: usize = 1000;

/// The most further places of one error that are sent.
const MOST_REPEATS: usize = 20;

/// The name of the source of diagnostics.
const SOURCE: &str = "ptxkit";

/// The name of the source of what lints find.
const LINTS: &str = "ptxkit lint";

/// The diagnostics of a document, those of its beginning if there are too many.
pub(crate) fn of_document(document: &Document) -> Vec<Diagnostic> {
    let all = document.diagnostics();
    let mut sent: Vec<Diagnostic> = all
        .iter()
        .take(MOST)
        .map(|d| of_diagnostic(document, d))
        .collect();
    if let Some(last) = sent.last_mut()
        && all.len() > MOST
    {
        last.message += &format!("\n{} more diagnostics follow", all.len() - MOST);
    }
    sent
}

/// One of them.
pub(crate) fn of_diagnostic(document: &Document, d: &ptx_ir::Diagnostic) -> Diagnostic {
    let related = |span: Span, message: &str| DiagnosticRelatedInformation {
        location: Location::new(document.uri.clone(), document.range(span)),
        message: message.to_owned(),
    };
    let labels = d.labels.iter().map(|l| related(l.span, &l.message));
    let own = d.repeat_messages.iter().map(String::as_str);
    let texts = own.chain(std::iter::repeat("the same error is here"));
    let repeats = d.repeats.iter().zip(texts).take(MOST_REPEATS);
    let repeats = repeats.map(|(span, text)| related(*span, text));
    let information: Vec<_> = labels.chain(repeats).collect();
    let finding = match d.severity {
        Severity::Error => None,
        Severity::Warning => document.finding(d),
    };
    let is_possible = finding.is_some_and(|f| f.certainty == Certainty::Possible);
    Diagnostic {
        range: document.range(d.span),
        severity: Some(match d.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            _ if is_possible => DiagnosticSeverity::INFORMATION,
            _ => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(d.code.to_string())),
        source: Some(finding.map_or(SOURCE, |_| LINTS).to_owned()),
        message: match &d.help {
            Some(help) => format!("{}\nhelp: {help}", d.message),
            None => d.message.clone(),
        },
        related_information: (!information.is_empty()).then_some(information),
        ..Diagnostic::default()
    }
}
