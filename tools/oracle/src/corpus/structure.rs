//! Checks of every file without ptxas: tiling, both printers, the same structure after each way of rewriting, and an error if and only if
//! ptxas reports one.

use std::collections::BTreeSet;

use ptx_ir::raw::tiling;
use ptx_ir::{LineIndex, Module, Severity, compare};
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
    /// Whether the verifier reports errors; only for files that ptxas refuses.
    pub(crate) refused: bool,
    /// Whether one of them is on the line reported by ptxas.
    pub(crate) same_line: bool,
    /// Whether the file was also parsed with trivia between all its tokens.
    pub(crate) mangled: bool,
}

/// Checks one file; with `mangle` also its text with trivia between all tokens.
pub(crate) fn check(entry: &Entry, source: &[u8], mangle: bool) -> Outcome {
    let mut outcome = Outcome::default();
    let parsed = ptx_parse::parse(source);
    let module = &parsed.module;
    if let Err(v) = tiling::check(module) {
        outcome.failures.push(format!(
            "tiling: {}: {}",
            position_text(source, v.span.start),
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
        && let Err(failure) = replay::rebuilt_text(module)
    {
        outcome.failures.push(failure);
    }
    if mangle {
        outcome.mangled = true;
        let text = trivia::mangle(source, trivia::Between::All);
        outcome
            .failures
            .extend(difference(module, &text, "with trivia between all tokens"));
    }
    outcome
}

fn canonical(module: &Module, failures: &mut Vec<String>) {
    let once = ptx_print::canonical(module, &Style::default());
    failures.extend(difference(module, &once, "printed canonically"));
    let twice = ptx_print::canonical(&ptx_parse::parse(&once).module, &Style::default());
    if once != twice {
        let equal = once.iter().zip(&twice).take_while(|(a, b)| a == b).count();
        let position = position_text(&once, equal as u32);
        failures.push(format!(
            "canonical printing is not a fixed point: {position} of the first text"
        ));
    }
}

/// The difference between a module and a rewritten text of it; `rewrite` describes the text.
fn difference(module: &Module, text: &[u8], rewrite: &str) -> Option<String> {
    let again = ptx_parse::parse(text).module;
    let difference = compare::compare(module, &again).err()?;
    let (left, right) = (
        difference.left.of(module.source()),
        difference.right.of(text),
    );
    Some(format!(
        "{rewrite}: {difference}: {}: `{}` became `{}`",
        position_text(module.source(), difference.left.start),
        excerpt(left),
        excerpt(right)
    ))
}

fn verdict(entry: &Entry, source: &[u8], parsed: &Parsed, outcome: &mut Outcome) {
    let verified = ptx_verify::verify(&parsed.module, &Default::default());
    let mut errors = (parsed.diagnostics.iter().chain(&verified))
        .filter(|d| d.severity == Severity::Error)
        .peekable();
    if entry.accepted {
        outcome.failures.extend(errors.take(3).map(|d| {
            let position = position_text(source, d.span.start);
            format!(
                "an error where ptxas has none: {position}: {}: {}",
                d.code, d.message
            )
        }));
        return;
    }
    outcome.refused = errors.peek().is_some();
    if !outcome.refused {
        let message = &entry.message;
        outcome
            .failures
            .push(format!("no error where ptxas has one: {message}"));
    }
    let lines = LineIndex::new(source);
    let ours: BTreeSet<u32> = errors.map(|d| lines.position(d.span.start).line).collect();
    outcome.same_line = entry
        .message
        .strip_prefix("line ")
        .and_then(|message| message.split([':', ';']).next()?.parse().ok())
        .is_some_and(|line: u32| ours.contains(&line));
}

fn position_text(source: &[u8], offset: u32) -> String {
    let position = LineIndex::new(source).position(offset);
    format!("line {}, column {}", position.line, position.column)
}

fn excerpt(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let short: String = text.chars().take(100).collect();
    short.replace('\n', "↵")
}
