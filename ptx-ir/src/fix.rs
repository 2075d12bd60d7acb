//! Repairs a source by the edits of its diagnostics.

use alloc::vec::Vec;

use crate::{Diagnostic, Rewritten, Span, TextPatches};

/// Makes the edits of all [fixes](Diagnostic::fix); `None` if no diagnostic has one. Of two fixes that touch the same bytes,
/// only the one that begins first is made, whole. The new text may have errors that others hid: check it again.
///
/// ```
/// use ptx_ir::{Code, Diagnostic, Span, apply_fixes};
/// let source = b"ret\n}";
/// let missing = Diagnostic::error(Code::UnexpectedToken, Span::new(0, 3), "expected `;`").with_fix(Span::new(3, 3), ";");
/// assert_eq!(apply_fixes(source, &[missing]).unwrap().text, b"ret;\n}");
/// ```
#[must_use]
pub fn apply_fixes(source: &[u8], diagnostics: &[Diagnostic]) -> Option<Rewritten> {
    let of = |(i, d): (usize, &'_ Diagnostic)| {
        let spans: Vec<_> = d.fix.iter().map(move |edit| (edit.span, i)).collect();
        spans
    };
    let mut edits: Vec<(Span, usize)> = diagnostics.iter().enumerate().flat_map(of).collect();
    edits.sort_unstable_by_key(|(span, i)| (span.start, span.end, *i));
    let mut refused = vec![false; diagnostics.len()];
    let mut last: Option<(Span, usize)> = None;
    for (span, i) in edits {
        let touches = last.is_some_and(|(last, of)| of != i && overlap(last, span));
        let inside = span.end as usize <= source.len() && span.start <= span.end;
        if touches || !inside {
            if let Some(refused) = refused.get_mut(i) {
                *refused = true;
            }
        } else {
            last = Some((span, i));
        }
    }
    let mut patches = TextPatches::new();
    let mut any = false;
    for (diagnostic, refused) in diagnostics.iter().zip(refused) {
        if !refused {
            any |= !diagnostic.fix.is_empty();
            for edit in &diagnostic.fix {
                patches.replace(edit.span, &edit.text);
            }
        }
    }
    any.then(|| patches.apply(source))
}

/// Whether an edit changes bytes that the one before it changes, or both insert at the same place.
fn overlap(before: Span, span: Span) -> bool {
    span.start < before.end || span.start == before.start
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::Code;

    fn fixed(source: &[u8], fixes: &[&[(u32, u32, &str)]]) -> Option<Vec<u8>> {
        let diagnostic = |fix: &&[(u32, u32, &str)]| {
            let found = Diagnostic::error(Code::UnexpectedToken, Span::new(0, 0), "");
            let edit = |d: Diagnostic, e: &(u32, u32, &str)| d.with_fix(Span::new(e.0, e.1), e.2);
            fix.iter().fold(found, edit)
        };
        let found: Vec<_> = fixes.iter().map(diagnostic).collect();
        apply_fixes(source, &found).map(|new| new.text)
    }

    #[test]
    fn fixes_that_touch_the_same_bytes_are_made_once() {
        let same: &[(u32, u32, &str)] = &[(2, 2, "X")];
        assert_eq!(fixed(b"abcd", &[same, same]).unwrap(), b"abXcd");
        let wide: &[(u32, u32, &str)] = &[(1, 3, "Y"), (4, 4, "!")];
        assert_eq!(fixed(b"abcd", &[same, wide]).unwrap(), b"aYd!");
    }

    #[test]
    fn a_fix_is_made_whole_or_not_at_all() {
        let first: &[(u32, u32, &str)] = &[(0, 2, "-")];
        let second: &[(u32, u32, &str)] = &[(1, 2, "+"), (3, 3, "+")];
        assert_eq!(fixed(b"abcd", &[first, second]).unwrap(), b"-cd");
    }

    #[test]
    fn nothing_is_written_without_fixes_or_outside_the_source() {
        assert_eq!(fixed(b"abcd", &[&[]]), None);
        assert_eq!(fixed(b"abcd", &[&[(3, 9, "x")]]), None);
    }
}
