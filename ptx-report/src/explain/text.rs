//! Explanations as text that fits a screen, or in full.

use std::fmt::Write as _;

use super::entry::{Details, Entry, Importance};

/// The lines of an explanation that is not in full.
const SCREEN: usize = 40;
/// The most examples of an explanation that is not in full.
const EXAMPLES: usize = 4;
/// Sentences are wrapped at this column.
const WIDTH: usize = 100;

/// How much is said.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Extent {
    /// The first form, and as much of it as fits a screen.
    Screen,
    /// All forms with all their details.
    Full,
}

/// The text of an explanation.
#[must_use]
pub fn text(entry: &Entry, extent: Extent) -> String {
    if let Some(page) = entry.page {
        return page.to_owned();
    }
    let (head, usage_text, see_also) = (head(entry), usage(entry, extent), see_also(entry));
    let Some(first) = entry.forms.first() else {
        return [head, usage_text, see_also].concat();
    };
    if extent == Extent::Full {
        let forms = entry.forms.iter().map(|f| form(f, None)).collect();
        return [head, forms, usage_text, see_also].concat();
    }
    let used = count(&head) + count(&usage_text) + count(&see_also);
    // The other forms get at least four lines.
    let lines_left = SCREEN.saturating_sub(used + (entry.forms.len() + 1).min(4));
    // Modifiers and operands are more important than the rest.
    let limits = (1..=12).rev().map(|n| (3 * n, n)).chain([(2, 1), (1, 1)]);
    let mut texts = limits.map(|limit| form(first, Some(limit)));
    let fitting = texts.find(|text| count(text) <= lines_left);
    let first = fitting.unwrap_or_else(|| form(first, Some((1, 1))));
    let lines_left = SCREEN.saturating_sub(used + count(&first));
    let others = if entry.forms.len() > 1 || first.contains(MORE) {
        others(&entry.forms, &entry.name, lines_left)
    } else {
        String::new()
    };
    [head, first, usage_text, others, see_also].concat()
}

fn count(text: &str) -> usize {
    text.lines().count()
}

/// Name, sentence and single facts.
fn head(entry: &Entry) -> String {
    let section = entry
        .section
        .map(|s| format!(", section {s} of the PTX ISA manual"));
    let kind = match &*entry.name {
        name if entry.forms.is_empty() => format!("{name}: {}", entry.kind),
        name => name.to_owned(),
    };
    let mut out = kind + &section.unwrap_or_default() + "\n";
    if !entry.summary.is_empty() {
        wrap(&mut out, "  ", entry.summary);
    }
    for fact in &entry.facts {
        wrap(&mut out, "  - ", fact);
    }
    out
}

/// Examples and pitfalls.
fn usage(entry: &Entry, extent: Extent) -> String {
    let mut out = String::new();
    if !entry.examples.is_empty() {
        out += "\nexamples:\n";
        let most = if extent == Extent::Full {
            usize::MAX
        } else {
            EXAMPLES
        };
        let lines = entry.examples.iter().take(most).flat_map(|e| e.lines());
        lines.for_each(|line| out = std::mem::take(&mut out) + "  " + line + "\n");
    }
    if !entry.pitfalls.is_empty() {
        out += "\npitfalls:\n";
        entry
            .pitfalls
            .iter()
            .for_each(|p| wrap(&mut out, "  - ", p));
    }
    out
}

fn see_also(entry: &Entry) -> String {
    let mut out = String::new();
    if !entry.see_also.is_empty() {
        out += "\n";
        wrap(
            &mut out,
            "",
            &format!("see also: {}", entry.see_also.join(", ")),
        );
    }
    out
}

/// The end of a list of which only the beginning is shown.
const MORE: &str = "more with --all";

/// A form; with limits, the most important lists with at most the first number of lines, others with the second.
fn form(details: &Details, limit: Option<(usize, usize)>) -> String {
    let mut out = format!("\n{}\n", details.syntax);
    let remark = if details.undocumented {
        "; undocumented"
    } else {
        ""
    };
    out += &format!(
        "  section {} of the PTX ISA manual{remark}\n",
        details.section
    );
    if let Some(summary) = details.summary {
        wrap(&mut out, "  ", summary);
    }
    for (title, lines, importance) in details.groups() {
        if limit.is_some() && importance == Importance::Low {
            continue;
        }
        let limit = match limit {
            Some((limit, _)) if importance == Importance::Main => limit,
            Some((_, limit)) => limit,
            None => usize::MAX,
        };
        if let [one] = lines {
            out += &format!("  {title}: {one}\n");
            continue;
        }
        out += &format!("  {title}:\n");
        // One line more costs no more than the remark that there is one.
        let shown = if lines.len() <= limit.saturating_add(1) {
            lines.len()
        } else {
            limit
        };
        lines
            .iter()
            .take(shown)
            .for_each(|line| out += &format!("    {line}\n"));
        if shown < lines.len() {
            out += &format!("    … {} {MORE}\n", lines.len() - shown);
        }
    }
    if limit.is_some() && details.rows() > 0 {
        out += &format!("  legal combinations: {} {MORE}\n", details.rows());
    }
    out
}

/// The syntax of the other forms, in a number of lines; where several differ only in their details, once.
fn others(forms: &[Details], name: &str, lines_left: usize) -> String {
    let mut syntaxes: Vec<&str> = Vec::new();
    for details in forms {
        if !syntaxes.contains(&&*details.syntax) {
            syntaxes.push(&details.syntax);
        }
    }
    let rest = syntaxes.get(1..).unwrap_or_default();
    if rest.is_empty() {
        return format!("\nThe rest: ptxkit explain {name} --all\n");
    }
    let mut out = format!("\nother forms (ptxkit explain {name} --all):\n");
    let most = lines_left.saturating_sub(2).max(2);
    let shown = if rest.len() <= most {
        rest.len()
    } else {
        most - 1
    };
    for syntax in rest.iter().take(shown) {
        out += &format!("  {syntax}\n");
    }
    if shown < rest.len() {
        out += &format!("  … {} more\n", rest.len() - shown);
    }
    out
}

/// Appends a sentence, wrapped, with its lines below the first one indented as far as that one.
fn wrap(out: &mut String, indent: &str, text: &str) {
    let mut line = String::from(indent);
    let spaces = " ".repeat(indent.len());
    for word in text.split(' ') {
        if line.chars().count() + word.chars().count() >= WIDTH && line.trim() != indent.trim() {
            let _ = writeln!(out, "{}", line.trim_end());
            line.clone_from(&spaces);
        }
        line += word;
        line.push(' ');
    }
    let _ = writeln!(out, "{}", line.trim_end());
}
