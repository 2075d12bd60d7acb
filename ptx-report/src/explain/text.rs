//! Explanations as text that fits a screen, or in full.

use std::fmt::Write as _;

use super::entry::{Details, Entry, Importance};

/// The number of lines of an explanation that fits a screen.
const SCREEN_LINES: usize = 40;
/// The largest number of examples of such an explanation.
const MAX_EXAMPLES: usize = 4;
/// The column at which sentences are wrapped.
const WIDTH: usize = 100;

/// The length of an explanation.
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
    let (head, usage, see_also) = (head(entry), usage(entry, extent), see_also(entry));
    let Some(first_form) = entry.forms.first() else {
        return [head, usage, see_also].concat();
    };
    if extent == Extent::Full {
        let forms = entry.forms.iter().map(|f| form(f, None)).collect();
        return [head, forms, usage, see_also].concat();
    }
    let used_lines = line_count(&head) + line_count(&usage) + line_count(&see_also);
    // The other forms get at least four lines.
    let available = SCREEN_LINES.saturating_sub(used_lines + (entry.forms.len() + 1).min(4));
    let first = fit_form(first_form, available);
    let available = SCREEN_LINES.saturating_sub(used_lines + line_count(&first));
    let other_forms = if entry.forms.len() > 1 || first.contains(MORE) {
        other_forms(&entry.forms, &entry.name, available)
    } else {
        String::new()
    };
    [head, first, usage, other_forms, see_also].concat()
}

/// The longest description of a form that has at most this number of lines.
fn fit_form(details: &Details, available: usize) -> String {
    let shortest = ListLimits { main: 1, high: 1 };
    // Modifiers and operands are more important than the other lists.
    (1..=12)
        .rev()
        .map(|n| ListLimits {
            main: 3 * n,
            high: n,
        })
        .chain([ListLimits { main: 2, high: 1 }, shortest])
        .map(|limits| form(details, Some(limits)))
        .find(|text| line_count(text) <= available)
        .unwrap_or_else(|| form(details, Some(shortest)))
}

fn line_count(text: &str) -> usize {
    text.lines().count()
}

/// The name, the sentence and the single facts.
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

/// The examples and pitfalls.
fn usage(entry: &Entry, extent: Extent) -> String {
    let mut out = String::new();
    if !entry.examples.is_empty() {
        out += "\nexamples:\n";
        let count = if extent == Extent::Full {
            usize::MAX
        } else {
            MAX_EXAMPLES
        };
        for line in entry.examples.iter().take(count).flat_map(|e| e.lines()) {
            out = out + "  " + line + "\n";
        }
    }
    if !entry.pitfalls.is_empty() {
        out += "\npitfalls:\n";
        for pitfall in entry.pitfalls {
            wrap(&mut out, "  - ", pitfall);
        }
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

/// The largest numbers of lines of the lists of a form.
#[derive(Copy, Clone)]
struct ListLimits {
    main: usize,
    high: usize,
}

/// The description of a form. With limits, only the beginnings of important lists are shown.
fn form(details: &Details, limits: Option<ListLimits>) -> String {
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
    for group in details.groups() {
        let limit = match (limits, group.importance) {
            (None, _) => usize::MAX,
            (Some(limits), Importance::Main) => limits.main,
            (Some(limits), Importance::High) => limits.high,
            (Some(_), Importance::Low) => continue,
        };
        let (title, lines) = (group.title, group.lines);
        if let [line] = lines {
            out += &format!("  {title}: {line}\n");
            continue;
        }
        out += &format!("  {title}:\n");
        // A single omitted line takes no more space than the remark that it is omitted.
        let shown = if lines.len() <= limit.saturating_add(1) {
            lines.len()
        } else {
            limit
        };
        for line in lines.iter().take(shown) {
            out += &format!("    {line}\n");
        }
        if shown < lines.len() {
            out += &format!("    … {} {MORE}\n", lines.len() - shown);
        }
    }
    let omitted = details.omitted_combinations();
    if limits.is_some() && omitted > 0 {
        out += &format!("  legal combinations: {omitted} {MORE}\n");
    }
    out
}

/// The distinct syntaxes of the other forms, in about `available` lines.
fn other_forms(forms: &[Details], name: &str, available: usize) -> String {
    let mut syntaxes: Vec<&str> = Vec::new();
    for details in forms {
        if !syntaxes.contains(&&*details.syntax) {
            syntaxes.push(&details.syntax);
        }
    }
    let syntaxes = syntaxes.get(1..).unwrap_or_default();
    if syntaxes.is_empty() {
        return format!("\nThe rest: ptxkit explain {name} --all\n");
    }
    let mut out = format!("\nother forms (ptxkit explain {name} --all):\n");
    let limit = available.saturating_sub(2).max(2);
    let shown = if syntaxes.len() <= limit {
        syntaxes.len()
    } else {
        limit - 1
    };
    for syntax in syntaxes.iter().take(shown) {
        out += &format!("  {syntax}\n");
    }
    if shown < syntaxes.len() {
        out += &format!("  … {} more\n", syntaxes.len() - shown);
    }
    out
}

/// Appends a sentence, wrapped at [`WIDTH`]. Its further lines are indented as far as the text of the first one.
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
