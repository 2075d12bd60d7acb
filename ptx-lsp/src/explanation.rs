//! Explanations as Markdown.

use std::fmt::Write as _;

use ptx_report::explain::Entry;

/// The most forms, and the most meanings of a word, that are shown.
const MOST: usize = 12;

/// The meanings of a word; `None` if it has none.
pub(crate) fn markdown(entries: &[Entry]) -> Option<String> {
    let all: Vec<String> = entries.iter().take(MOST).map(of_entry).collect();
    (!all.is_empty()).then(|| all.join("\n\n---\n\n"))
}

/// One explanation.
fn of_entry(entry: &Entry) -> String {
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
    let forms = entry.forms.iter().take(MOST);
    let syntax: Vec<&str> = forms.map(|f| &*f.syntax).collect();
    if !syntax.is_empty() {
        let _ = write!(out, "\n\n```ptx\n{}\n```", syntax.join("\n"));
    }
    if let Some(first) = entry.forms.first() {
        let lines = first
            .modifiers
            .iter()
            .chain(&first.operands)
            .chain(&first.since);
        for line in lines.take(2 * MOST) {
            out = out + "\n- " + line;
        }
    }
    if entry.forms.len() > MOST {
        let _ = write!(out, "\n\n{} more forms", entry.forms.len() - MOST);
    }
    for pitfall in entry.pitfalls {
        out = out + "\n\n" + pitfall;
    }
    if let Some(page) = entry.page {
        // The title of the page is the name and the summary.
        let (_, rest) = page.split_once('\n').unwrap_or_default();
        out = out + "\n" + rest.trim_end();
    }
    out
}
