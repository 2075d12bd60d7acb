//! Diagnostics in the form of the protocol, and quick fixes for them.

use std::collections::HashMap;

use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, Diagnostic, DiagnosticRelatedInformation,
    DiagnosticSeverity, Location, NumberOrString, Range, TextEdit, WorkspaceEdit,
};
use ptx_ir::{Applicability, Severity};
use ptx_lint::Certainty;

use crate::document::Document;
use crate::formatting;

/// The maximum number of diagnostics that are sent. Editors do not show more, and each change sends them again.
const MAX_DIAGNOSTICS: usize = 1000;

/// The maximum number of further locations that are sent for one error.
const MAX_REPEATS: usize = 20;

/// The name that clients show as the source of errors and of warnings that are not from lints.
const SOURCE: &str = "ptxkit";

/// The name that clients show as the source of findings of lints.
const LINT_SOURCE: &str = "ptxkit lint";

/// The first [`MAX_DIAGNOSTICS`] diagnostics of a document.
pub(crate) fn document_diagnostics(document: &Document) -> Vec<Diagnostic> {
    let diagnostics = document.diagnostics();
    let mut sent: Vec<Diagnostic> = diagnostics
        .iter()
        .take(MAX_DIAGNOSTICS)
        .map(|d| protocol_diagnostic(document, d))
        .collect();
    if let Some(last) = sent.last_mut()
        && diagnostics.len() > MAX_DIAGNOSTICS
    {
        let omitted = diagnostics.len() - MAX_DIAGNOSTICS;
        last.message += &format!("\n{omitted} more diagnostics follow");
    }
    sent
}

fn protocol_diagnostic(document: &Document, diagnostic: &ptx_ir::Diagnostic) -> Diagnostic {
    let related = related_information(document, diagnostic);
    let finding = match diagnostic.severity {
        Severity::Error => None,
        Severity::Warning => document.finding(diagnostic),
    };
    let is_possible = finding.is_some_and(|f| f.certainty == Certainty::Possible);
    Diagnostic {
        range: document.range(diagnostic.span),
        severity: Some(match diagnostic.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            _ if is_possible => DiagnosticSeverity::INFORMATION,
            _ => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(diagnostic.code.to_string())),
        source: Some(finding.map_or(SOURCE, |_| LINT_SOURCE).to_owned()),
        message: match &diagnostic.help {
            Some(help) => format!("{}\nhelp: {help}", diagnostic.message),
            None => diagnostic.message.clone(),
        },
        related_information: (!related.is_empty()).then_some(related),
        ..Diagnostic::default()
    }
}

/// The labels of a diagnostic, and the further locations of the same error.
fn related_information(
    document: &Document,
    diagnostic: &ptx_ir::Diagnostic,
) -> Vec<DiagnosticRelatedInformation> {
    let labels = diagnostic
        .labels
        .iter()
        .map(|label| (label.span, label.message.as_str()));
    let repeat_messages = diagnostic
        .repeat_messages
        .iter()
        .map(String::as_str)
        .chain(std::iter::repeat("the same error is here"));
    let repeats = diagnostic
        .repeats
        .iter()
        .copied()
        .zip(repeat_messages)
        .take(MAX_REPEATS);
    labels
        .chain(repeats)
        .map(|(span, message)| DiagnosticRelatedInformation {
            location: Location::new(document.uri.clone(), document.range(span)),
            message: message.to_owned(),
        })
        .collect()
}

/// The fixes of the diagnostics in a range. If several diagnostics of the document have fixes that are certain, an action that makes all of them follows.
pub(crate) fn code_actions(document: &Document, range: Range) -> Vec<CodeActionOrCommand> {
    let span = document.span(range);
    let fixable: Vec<&ptx_ir::Diagnostic> = document
        .diagnostics()
        .into_iter()
        .filter(|d| !d.fix.is_empty())
        .collect();
    let mut actions: Vec<CodeActionOrCommand> = fixable
        .iter()
        .filter(|d| d.span.start <= span.end && span.start <= d.span.end)
        .map(|d| quick_fix(document, d))
        .collect();
    let certain = fixable.iter().filter(|d| d.is_machine_applicable()).count();
    if certain > 1 && !actions.is_empty() {
        actions.extend(fix_all(document));
    }
    actions
}

fn quick_fix(document: &Document, diagnostic: &ptx_ir::Diagnostic) -> CodeActionOrCommand {
    let edits = diagnostic
        .fix
        .iter()
        .map(|patch| TextEdit::new(document.range(patch.span), patch.text.clone()))
        .collect();
    CodeActionOrCommand::CodeAction(CodeAction {
        title: fix_title(document, diagnostic),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: Some(vec![protocol_diagnostic(document, diagnostic)]),
        edit: Some(workspace_edit(document, edits)),
        is_preferred: diagnostic.is_machine_applicable().then_some(true),
        ..CodeAction::default()
    })
}

/// The action that makes all certain fixes; `None` if they change nothing.
fn fix_all(document: &Document) -> Option<CodeActionOrCommand> {
    let source = document.source();
    let fixed = ptx_ir::fix_all(source, errors_of(source), errors_of)?;
    let edit = formatting::difference(document, &fixed.text);
    Some(CodeActionOrCommand::CodeAction(CodeAction {
        title: format!("make all {} fixes of this file", fixed.count),
        kind: Some(CodeActionKind::QUICKFIX),
        edit: Some(workspace_edit(document, edit.into_iter().collect())),
        ..CodeAction::default()
    }))
}

/// The diagnostics of the parser and the verifier for a text.
fn errors_of(text: &[u8]) -> Vec<ptx_ir::Diagnostic> {
    let parsed = ptx_parse::parse(text);
    let mut diagnostics = parsed.diagnostics;
    diagnostics.extend(ptx_verify::verify(
        &parsed.module,
        &ptx_verify::Options::default(),
    ));
    diagnostics
}

/// The title of a fix: the help of the diagnostic, or the effect of the fix. The title of an uncertain fix names both, because the help says what the
/// fix assumes.
fn fix_title(document: &Document, diagnostic: &ptx_ir::Diagnostic) -> String {
    let kind = match diagnostic.applicability {
        Applicability::MachineApplicable => {
            let help = diagnostic.help.clone();
            return help.unwrap_or_else(|| fix_effect(document, diagnostic));
        }
        Applicability::HasPlaceholders => "suggestion to complete",
        _ => "suggestion",
    };
    let effect = fix_effect(document, diagnostic);
    match &diagnostic.help {
        Some(help) => format!("{kind}: {effect} ({help})"),
        None => format!("{kind}: {effect}"),
    }
}

/// A description of the first edit of a fix.
fn fix_effect(document: &Document, diagnostic: &ptx_ir::Diagnostic) -> String {
    let Some(patch) = diagnostic.fix.first() else {
        return "fix".to_owned();
    };
    let old = shortened(&document.text(patch.span));
    let new = shortened(patch.text.trim());
    match (old.is_empty(), new.is_empty()) {
        (true, _) => format!("insert `{new}`"),
        (_, true) => format!("remove `{}`", old.trim()),
        _ => format!("replace `{old}` with `{new}`"),
    }
}

/// The first 40 characters of a text, with an ellipsis if there are more.
fn shortened(text: &str) -> String {
    const MAX_CHARACTERS: usize = 40;
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// An edit of the workspace that edits one document.
#[allow(
    clippy::mutable_key_type,
    reason = "the protocol type has URIs as keys"
)]
pub(crate) fn workspace_edit(document: &Document, edits: Vec<TextEdit>) -> WorkspaceEdit {
    WorkspaceEdit::new(HashMap::from([(document.uri.clone(), edits)]))
}
