//! Repairs a source by the fixes of its diagnostics.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::patch::TextPatches;
use crate::{Code, Diagnostic, LineIndex, Rewritten, Severity, Span};

/// Makes the edits of the [fix](Diagnostic::fix) of a diagnostic, whatever its certainty; `None` without a fix, or if an edit is
/// outside of the source.
///
/// ```
/// use ptx_ir::{Code, Diagnostic, Span, apply_fix};
/// let source = b"ret\n}";
/// let missing = Diagnostic::error(Code::UnexpectedToken, Span::new(0, 3), "expected `;`").with_fix(Span::new(3, 3), ";");
/// assert_eq!(apply_fix(source, &missing).unwrap().text, b"ret;\n}");
/// ```
#[must_use]
pub fn apply_fix(source: &[u8], diagnostic: &Diagnostic) -> Option<Rewritten> {
    apply(source, core::iter::once(diagnostic)).map(|(new, _)| new)
}

/// Makes the edits of all fixes that are [machine-applicable](Diagnostic::is_machine_applicable); `None` if no diagnostic has
/// one. Of two fixes that change the same bytes, only the one that begins first is made. [`fix_all`] also ensures that the new text
/// has fewer errors or warnings.
///
/// ```
/// use ptx_ir::{Code, Diagnostic, Span, apply_fixes};
/// let source = b"ret\n}";
/// let missing = Diagnostic::error(Code::UnexpectedToken, Span::new(0, 3), "expected `;`").with_fix(Span::new(3, 3), ";");
/// assert_eq!(apply_fixes(source, &[missing.clone()]), None);
/// let certain = missing.machine_applicable();
/// assert_eq!(apply_fixes(source, &[certain]).unwrap().text, b"ret;\n}");
/// ```
#[must_use]
pub fn apply_fixes(source: &[u8], diagnostics: &[Diagnostic]) -> Option<Rewritten> {
    let fixable = diagnostics.iter().filter(|d| d.is_machine_applicable());
    apply(source, fixable).map(|(new, _)| new)
}

/// Makes the edits of fixes, and returns the new text with the number of fixes made.
fn apply<'d>(
    source: &[u8],
    diagnostics: impl Iterator<Item = &'d Diagnostic>,
) -> Option<(Rewritten, usize)> {
    let diagnostics: Vec<&Diagnostic> = diagnostics.collect();
    // The span of each edit with the index of its diagnostic.
    let mut edits: Vec<(Span, usize)> = Vec::new();
    for (index, diagnostic) in diagnostics.iter().enumerate() {
        edits.extend(diagnostic.fix.iter().map(|edit| (edit.span, index)));
    }
    edits.sort_unstable_by_key(|(span, index)| (span.start, span.end, *index));
    let mut are_rejected = vec![false; diagnostics.len()];
    let mut last_edit: Option<(Span, usize)> = None;
    for (span, index) in edits {
        let conflicts = last_edit
            .is_some_and(|(last_span, last_index)| last_index != index && overlap(last_span, span));
        let is_in_source = span.end as usize <= source.len() && span.start <= span.end;
        if !conflicts && is_in_source {
            last_edit = Some((span, index));
        } else if let Some(is_rejected) = are_rejected.get_mut(index) {
            *is_rejected = true;
        }
    }
    let mut patches = TextPatches::new();
    let mut fix_count = 0;
    for (diagnostic, is_rejected) in diagnostics.iter().zip(are_rejected) {
        if !is_rejected {
            fix_count += usize::from(!diagnostic.fix.is_empty());
            for edit in &diagnostic.fix {
                patches.replace(edit.span, &edit.text);
            }
        }
    }
    (fix_count > 0).then(|| (patches.apply(source), fix_count))
}

/// Whether an edit changes bytes that the one before it changes, or both insert at the same place.
fn overlap(previous: Span, span: Span) -> bool {
    span.start < previous.end || span.start == previous.start
}

/// A text after its fixes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Fixed {
    /// The new text.
    pub text: Vec<u8>,
    /// The diagnostics of the new text.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of errors and warnings of the old text that the new one does not have.
    pub count: usize,
}

/// The largest number of checks of a text by [`fix_all`].
const MAX_CHECKS: usize = 64;

/// Makes the fixes that are [machine-applicable](Diagnostic::is_machine_applicable), as far as each of them removes errors or
/// warnings and adds no other error. `diagnostics` are those of the source, and `check` returns those of another text. A fix on a
/// line with an error that has no such fix is not made. `None` if no fix is made.
///
/// All fixes are tried together. If they do not help together, each half of them is tried, and so on. `check` is called at most 64
/// times; later fixes are not made.
///
/// ```
/// use ptx_ir::{Code, Diagnostic, Span, fix_all};
/// let check = |text: &[u8]| {
///     if text.contains(&b';') {
///         return vec![];
///     }
///     let missing = Diagnostic::error(Code::MissingSemicolon, Span::new(0, 3), "expected `;`");
///     vec![missing.with_fix(Span::new(3, 3), ";").machine_applicable()]
/// };
/// let fixed = fix_all(b"ret", check(b"ret"), check).unwrap();
/// assert_eq!((fixed.text.as_slice(), fixed.count), (b"ret;".as_slice(), 1));
/// ```
#[must_use]
pub fn fix_all(
    source: &[u8],
    mut diagnostics: Vec<Diagnostic>,
    mut check: impl FnMut(&[u8]) -> Vec<Diagnostic>,
) -> Option<Fixed> {
    let mut current: Option<Fixed> = None;
    let mut checks = 0;
    // A stack of sets of fixes to try, each with the indices of its diagnostics.
    let mut sets = vec![unambiguous_fixes(source, &diagnostics)];
    while let Some(set) = sets.pop() {
        if checks == MAX_CHECKS {
            break;
        }
        let text = current.as_ref().map_or(source, |f| &f.text);
        let fixed_diagnostics = set.iter().filter_map(|index| diagnostics.get(*index));
        let Some((new, _)) = apply(text, fixed_diagnostics) else {
            continue;
        };
        checks += 1;
        let new_diagnostics = check(&new.text);
        if is_better(&diagnostics, &new_diagnostics) {
            let count =
                resolved_count(&diagnostics, &new_diagnostics) + current.map_or(0, |f| f.count);
            diagnostics.clone_from(&new_diagnostics);
            sets = vec![unambiguous_fixes(&new.text, &diagnostics)];
            current = Some(Fixed {
                text: new.text,
                diagnostics: new_diagnostics,
                count,
            });
        } else if set.len() > 1 {
            let (first, second) = set.split_at(set.len() / 2);
            sets.push(second.to_vec());
            sets.push(first.to_vec());
        }
    }
    current
}

/// The indices of the diagnostics with a fix that is the only one that can be meant. On a line with another error, several fixes
/// can be meant.
fn unambiguous_fixes(text: &[u8], diagnostics: &[Diagnostic]) -> Vec<usize> {
    if !diagnostics.iter().any(Diagnostic::is_machine_applicable) {
        return Vec::new();
    }
    let lines = LineIndex::new(text);
    let line = |offset| lines.position(offset).line;
    let unfixable_lines: BTreeSet<u32> = diagnostics
        .iter()
        .filter(|d| d.severity == Severity::Error && !d.is_machine_applicable())
        .flat_map(|d| d.repeats.iter().copied().chain([d.span]))
        .map(|span| line(span.start))
        .collect();
    diagnostics
        .iter()
        .enumerate()
        .filter(|(_, d)| d.is_machine_applicable())
        .filter(|(_, d)| {
            d.fix.iter().all(|edit| {
                let edited_lines = line(edit.span.start)..=line(edit.span.end);
                unfixable_lines.range(edited_lines).next().is_none()
            })
        })
        .map(|(index, _)| index)
        .collect()
}

/// The number of errors and warnings that a text does not have any more. A text with fewer errors may have other warnings.
fn resolved_count(old: &[Diagnostic], new: &[Diagnostic]) -> usize {
    let count = |diagnostics: &[Diagnostic], severity| {
        diagnostics
            .iter()
            .filter(|d| d.severity == severity)
            .count()
    };
    [Severity::Error, Severity::Warning]
        .into_iter()
        .map(|severity| count(old, severity).saturating_sub(count(new, severity)))
        .sum()
}

/// Whether a text has fewer errors and no other error, or as many errors and fewer warnings.
fn is_better(old: &[Diagnostic], new: &[Diagnostic]) -> bool {
    let [old_errors, new_errors] = [old, new].map(errors);
    let [old_count, new_count] = [&old_errors, &new_errors]
        .map(|errors| errors.values().map(|e| e.diagnostics).sum::<usize>());
    let has_fewer = new_count < old_count || new_count == old_count && new.len() < old.len();
    has_fewer
        && new_errors.iter().all(|(error, counts)| {
            old_errors.get(error).is_some_and(|old| {
                counts.diagnostics <= old.diagnostics && counts.places <= old.places
            })
        })
}

/// The numbers of diagnostics with one message and of their places.
#[derive(Default)]
struct ErrorCounts {
    diagnostics: usize,
    places: usize,
}

/// Counts the errors by code and message.
fn errors(diagnostics: &[Diagnostic]) -> BTreeMap<(Code, &str), ErrorCounts> {
    let mut errors: BTreeMap<(Code, &str), ErrorCounts> = BTreeMap::new();
    for d in diagnostics.iter().filter(|d| d.severity == Severity::Error) {
        let counts = errors.entry((d.code, d.message.as_str())).or_default();
        counts.diagnostics += 1;
        counts.places += 1 + d.repeats.len();
    }
    errors
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    type Edit<'t> = (u32, u32, &'t str);

    fn diagnostic(edits: &[Edit<'_>]) -> Diagnostic {
        let mut diagnostic = Diagnostic::error(Code::UnexpectedToken, Span::new(0, 0), "");
        for (start, end, text) in edits {
            diagnostic = diagnostic.with_fix(Span::new(*start, *end), *text);
        }
        diagnostic.machine_applicable()
    }

    fn fixed(source: &[u8], fixes: &[&[Edit<'_>]]) -> Option<Vec<u8>> {
        let diagnostics: Vec<_> = fixes.iter().map(|fix| diagnostic(fix)).collect();
        apply_fixes(source, &diagnostics).map(|new| new.text)
    }

    #[test]
    fn fixes_that_touch_the_same_bytes_are_made_once() {
        let same: &[Edit<'_>] = &[(2, 2, "X")];
        assert_eq!(fixed(b"abcd", &[same, same]).unwrap(), b"abXcd");
        let wide: &[Edit<'_>] = &[(1, 3, "Y"), (4, 4, "!")];
        assert_eq!(fixed(b"abcd", &[same, wide]).unwrap(), b"aYd!");
    }

    #[test]
    fn a_fix_is_made_whole_or_not_at_all() {
        let first: &[Edit<'_>] = &[(0, 2, "-")];
        let second: &[Edit<'_>] = &[(1, 2, "+"), (3, 3, "+")];
        assert_eq!(fixed(b"abcd", &[first, second]).unwrap(), b"-cd");
    }

    #[test]
    fn nothing_is_written_without_fixes_or_outside_the_source() {
        assert_eq!(fixed(b"abcd", &[&[]]), None);
        assert_eq!(fixed(b"abcd", &[&[(3, 9, "x")]]), None);
    }

    #[test]
    fn a_suggestion_is_only_made_alone() {
        let d = diagnostic(&[(0, 1, "x")]).with_fix(Span::new(2, 2), "y");
        assert!(!d.is_machine_applicable());
        assert_eq!(apply_fixes(b"abc", core::slice::from_ref(&d)), None);
        assert_eq!(fix_all(b"abc", vec![d.clone()], |_| vec![]), None);
        assert_eq!(apply_fix(b"abc", &d).unwrap().text, b"xbyc");
    }

    /// An error at each letter, whose fix writes another letter.
    fn letters(text: &[u8], fix: fn(u8) -> Option<&'static str>) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        for (start, letter) in (0..).zip(text) {
            if let Some(replacement) = fix(*letter) {
                let mut error = diagnostic(&[(start, start + 1, replacement)]);
                error.message = String::from(*letter as char);
                diagnostics.push(error);
            }
        }
        diagnostics
    }

    #[test]
    fn a_fix_that_brings_another_error_is_not_made() {
        let fix = |b| match b {
            b'a' => Some("-"),
            // Each is replaced by another error, or by two.
            b'b' => Some("c"),
            b'c' => Some("cc"),
            _ => None,
        };
        let check = |text: &[u8]| letters(text, fix);
        let fixed = fix_all(b"aabaacaab", check(b"aabaacaab"), check).unwrap();
        assert_eq!((&*fixed.text, fixed.count), (b"--b--c--b".as_slice(), 6));
        assert_eq!(fixed.diagnostics.len(), 3);
        assert_eq!(fix_all(b"b", check(b"b"), check), None);
    }

    #[test]
    fn a_line_with_an_error_that_is_not_clear_stays() {
        let check = |text: &[u8]| {
            let mut diagnostics = letters(text, |b| (b == b'a').then_some("-"));
            let unclear = text.iter().position(|b| *b == b'?').unwrap_or(0) as u32;
            let span = Span::new(unclear, unclear + 1);
            diagnostics.push(Diagnostic::error(Code::UndefinedName, span, "?"));
            diagnostics
        };
        let text = b"a\na ?\na\n";
        let fixed = fix_all(text, check(text), check).unwrap();
        assert_eq!((&*fixed.text, fixed.count), (b"-\na ?\n-\n".as_slice(), 2));
    }

    #[test]
    fn a_text_is_checked_a_limited_number_of_times() {
        let fix = |b| (b == b'b').then_some("c").or((b == b'c').then_some("b"));
        let text = vec![b'b'; 10_000];
        let mut checks = 0;
        let fixed = fix_all(&text, letters(&text, fix), |text| {
            checks += 1;
            letters(text, fix)
        });
        assert_eq!((fixed, checks), (None, MAX_CHECKS));
    }
}
