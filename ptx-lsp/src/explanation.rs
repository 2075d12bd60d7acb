//! Explanations of words and diagnostic codes as Markdown.

use std::fmt::Write as _;

use ptx_report::explain::{self, Entry};

/// The maximum number of meanings of a word that are shown, and of forms of an instruction.
const MAX_SHOWN: usize = 12;

/// Explains a word or the code of a diagnostic; `None` if it has no meaning. The answer to `ptxkit/explain`.
pub(crate) fn explain(word: &str) -> Option<String> {
    markdown(&explain::find(word.trim()).ok()?)
}

/// Writes the meanings of a word; `None` for an empty list.
pub(crate) fn markdown(entries: &[Entry]) -> Option<String> {
    let meanings: Vec<String> = entries.iter().take(MAX_SHOWN).map(entry_markdown).collect();
    (!meanings.is_empty()).then(|| meanings.join("\n\n---\n\n"))
}

fn entry_markdown(entry: &Entry) -> String {
    let section = entry.section.map(|s| format!(", PTX ISA {s}"));
    let mut out = format!(
        "**`{}`** ({}{})",
        entry.name,
        entry.kind,
        section.unwrap_or_default()
    );
    if !entry.summary.is_empty() {
        out = out + "\n\n" + entry.summary;
    }
    for fact in &entry.facts {
        out = out + "\n- " + fact;
    }
    let syntax: Vec<&str> = entry
        .forms
        .iter()
        .take(MAX_SHOWN)
        .map(|form| &*form.syntax)
        .collect();
    if !syntax.is_empty() {
        let _ = write!(out, "\n\n```ptx\n{}\n```", syntax.join("\n"));
    }
    if let Some(first) = entry.forms.first() {
        let lines = first
            .modifiers
            .iter()
            .chain(&first.operands)
            .chain(&first.since);
        for line in lines.take(2 * MAX_SHOWN) {
            out = out + "\n- " + line;
        }
    }
    if entry.forms.len() > MAX_SHOWN {
        let _ = write!(out, "\n\n{} more forms", entry.forms.len() - MAX_SHOWN);
    }
    for pitfall in entry.pitfalls {
        out = out + "\n\n" + pitfall;
    }
    if let Some(page) = entry.page {
        // The first line of a page is a title with the name and the summary, which are already written.
        let (_, content) = page.split_once('\n').unwrap_or_default();
        out = out + "\n" + content.trim_end();
    }
    out
}
