//! Checks of every file without ptxas: tiling, both printers, the same structure after each way of rewriting, and an error if and only if
//! ptxas reports one.

use std::collections::BTreeSet;

use ptx_ir::{LineIndex, Module, Severity, compare, tiling};
use ptx_parse::Parsed;
use ptx_print::Style;

use super::trivia;
use crate::files::Entry;
use crate::transforms::{self, replay};

/// The result for one file.
#[derive(Default)]
pub(crate) struct Outcome {
    /// One line per failure.
    pub(crate) failures: Vec<String>,
    /// Whether the file has errors here; only for files that ptxas refuses.
    pub(crate) refused: bool,
    /// Whether one of them is on the line reported by ptxas.
    pub(crate) same_line: bool,
    /// Whether the file was also read with trivia between all its tokens.
    pub(crate) mangled: bool,
}

/// Checks one file. `mangle`: also with trivia between all tokens.
pub(crate) fn check(entry: &Entry, source: &[u8], mangle: bool) -> Outcome {
    let mut outcome = Outcome::default();
    let parsed = ptx_parse::parse(source);
    let module = &parsed.module;
    if let Err(v) = tiling::check(module) {
        outcome.failures.push(format!(
            "tiling: {}: {}",
            place(source, v.span.start),
            v.message
        ));
    }
    if ptx_print::verbatim(module) != source {
        outcome
            .failures
            .push("the verbatim text is not the source".to_owned());
    }
    verdict(entry, source, &parsed, &mut outcome);
    // Unrecognized statements may parse differently when their lines are rearranged.
    if parsed.has_errors() {
        return outcome;
    }
    canonical(module, &mut outcome.failures);
    if entry.accepted
        && !transforms::may_differ("replay", &entry.name())
        && let Err(why) = replay::again(module)
    {
        outcome.failures.push(why);
    }
    if mangle {
        outcome.mangled = true;
        let text = trivia::mangle(source, trivia::Between::All);
        outcome
            .failures
            .extend(same(module, &text, "with trivia between all tokens"));
    }
    outcome
}

fn canonical(module: &Module, failures: &mut Vec<String>) {
    let once = ptx_print::canonical(module, &Style::default());
    failures.extend(same(module, &once, "printed canonically"));
    let twice = ptx_print::canonical(&ptx_parse::parse(&once).module, &Style::default());
    if once != twice {
        let at = once.iter().zip(&twice).take_while(|(a, b)| a == b).count();
        let place = place(&once, at as u32);
        failures.push(format!(
            "canonical printing is not a fixed point: {place} of the first text"
        ));
    }
}

/// The difference between a module and another text of it.
fn same(module: &Module, text: &[u8], how: &str) -> Option<String> {
    let again = ptx_parse::parse(text).module;
    let difference = compare::compare(module, &again).err()?;
    let (left, right) = (
        difference.left.of(module.source()),
        difference.right.of(text),
    );
    Some(format!(
        "{how}: {difference}: {}: `{}` became `{}`",
        place(module.source(), difference.left.start),
        excerpt(left),
        excerpt(right)
    ))
}

fn verdict(entry: &Entry, source: &[u8], parsed: &Parsed, outcome: &mut Outcome) {
    let verified = ptx_verify::verify(&parsed.module, &Default::default());
    let errors = || {
        let all = parsed.diagnostics.iter().chain(&verified);
        all.filter(|d| d.severity == Severity::Error)
    };
    if entry.accepted {
        outcome.failures.extend(errors().take(3).map(|d| {
            let at = place(source, d.span.start);
            format!(
                "an error where ptxas has none: {}: {}: {}",
                at, d.code, d.message
            )
        }));
        return;
    }
    outcome.refused = errors().next().is_some();
    if !outcome.refused {
        let message = &entry.message;
        outcome
            .failures
            .push(format!("no error where ptxas has one: {message}"));
    }
    let lines = LineIndex::new(source);
    let ours: BTreeSet<u32> = errors()
        .map(|d| lines.position(d.span.start).line)
        .collect();
    let theirs = entry.message.strip_prefix("line ").unwrap_or_default();
    let theirs = theirs.split([':', ';']).next().unwrap_or_default().parse();
    outcome.same_line = theirs.is_ok_and(|line: u32| ours.contains(&line));
}

fn place(source: &[u8], offset: u32) -> String {
    let at = LineIndex::new(source).position(offset);
    format!("line {}, column {}", at.line, at.column)
}

fn excerpt(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let short: String = text.chars().take(100).collect();
    short.replace('\n', "↵")
}
