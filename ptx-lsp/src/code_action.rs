//! Quick fixes: the edits of diagnostics.

use std::collections::HashMap;

use lsp_types::{CodeAction, CodeActionKind, CodeActionOrCommand, Range, TextEdit, WorkspaceEdit};

use ptx_ir::{Applicability, Diagnostic};

use crate::diagnostics::of_diagnostic;
use crate::document::Document;

/// The fixes of the diagnostics in a range, and one for all diagnostics of the document if several have one that is certain.
#[allow(
    clippy::mutable_key_type,
    reason = "the protocol type has URIs as keys"
)]
pub(crate) fn code_actions(document: &Document, range: Range) -> Vec<CodeActionOrCommand> {
    let span = document.span(range);
    let all = document.diagnostics();
    let fixable = all.iter().filter(|d| !d.fix.is_empty());
    let here = fixable
        .clone()
        .filter(|d| d.span.start <= span.end && span.start <= d.span.end);
    let mut actions: Vec<CodeActionOrCommand> = Vec::new();
    for d in here {
        let edits = d.fix.iter().map(|patch| TextEdit {
            range: document.range(patch.span),
            new_text: patch.text.clone(),
        });
        let action = CodeAction {
            title: title(document, d),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![of_diagnostic(document, d)]),
            edit: Some(changes(document, edits.collect())),
            is_preferred: d.is_machine_applicable().then_some(true),
            ..CodeAction::default()
        };
        actions.push(CodeActionOrCommand::CodeAction(action));
    }
    let certain = fixable.filter(|d| d.is_machine_applicable()).count();
    if certain > 1 && !actions.is_empty() {
        let found = check(document.source());
        if let Some(fixed) = ptx_ir::fix_all(document.source(), found, check) {
            let edit = crate::formatting::difference(document, &fixed.text);
            let action = CodeAction {
                title: format!("make all {} fixes of this file", fixed.count),
                kind: Some(CodeActionKind::QUICKFIX),
                edit: Some(changes(document, edit.into_iter().collect())),
                ..CodeAction::default()
            };
            actions.push(CodeActionOrCommand::CodeAction(action));
        }
    }
    actions
}

/// The errors of a text.
fn check(text: &[u8]) -> Vec<Diagnostic> {
    let parsed = ptx_parse::parse(text);
    let mut found = parsed.diagnostics;
    found.extend(ptx_verify::verify(
        &parsed.module,
        &ptx_verify::Options::default(),
    ));
    found
}

/// The help of a diagnostic, or what the first edit of its fix does. A suggestion is called one, with both: the edit, and the
/// help, which says what it assumes.
fn title(document: &Document, d: &Diagnostic) -> String {
    let help = d.help.clone();
    match d.applicability {
        Applicability::MachineApplicable => help.unwrap_or_else(|| effect(document, d)),
        applicability => {
            let effect = effect(document, d);
            let kind = match applicability {
                Applicability::HasPlaceholders => "suggestion to complete",
                _ => "suggestion",
            };
            match help {
                Some(help) => format!("{kind}: {effect} ({help})"),
                None => format!("{kind}: {effect}"),
            }
        }
    }
}

/// What the first edit of a fix does.
fn effect(document: &Document, d: &Diagnostic) -> String {
    /// Longer text is not shown.
    const LONGEST: usize = 40;
    let Some(patch) = d.fix.first() else {
        return "fix".to_owned();
    };
    let short = |text: &str| match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    };
    let (old, new) = (short(&document.text(patch.span)), short(patch.text.trim()));
    match (old.is_empty(), new.is_empty()) {
        (true, _) => format!("insert `{new}`"),
        (_, true) => format!("remove `{}`", old.trim()),
        _ => format!("replace `{old}` with `{new}`"),
    }
}

/// Edits of one document.
#[allow(
    clippy::mutable_key_type,
    reason = "the protocol type has URIs as keys"
)]
pub(crate) fn changes(document: &Document, edits: Vec<TextEdit>) -> WorkspaceEdit {
    WorkspaceEdit::new(HashMap::from([(document.uri.clone(), edits)]))
}
