//! Lists of parameters as text: inserting, removing and retyping one of them.

use alloc::string::String;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{ListSpans, Span};
use ptx_isa::ScalarType;

/// A change of one element of a list.
#[derive(Copy, Clone)]
pub(crate) enum ListChange<'t> {
    /// Inserts this text before the element of this index.
    Insert(usize, &'t str),
    Remove(usize),
    /// Replaces the type of an element.
    SetType(usize, ScalarType),
}

/// The text of a list, `(` to `)`, after a change; `None` if it has no such element or is not a list.
pub(crate) fn change_list(text: &str, change: ListChange<'_>) -> Option<String> {
    let spans = ListSpans::read(text.as_bytes(), 0)?;
    let elements = &spans.elements;
    let (part, new) = match change {
        ListChange::Insert(index, new) => match elements.get(index) {
            Some(next) => {
                let separator = space_before(text, *next).unwrap_or(" ");
                let new = format!("{new},{separator}");
                (Span::new(next.start, next.start), new)
            }
            None if index > elements.len() => return None,
            None => match elements.last() {
                Some(last) => {
                    let separator = space_before(text, *last);
                    let separator = separator.filter(|b| elements.len() > 1 || b.contains('\n'));
                    let new = format!(",{}{new}", separator.unwrap_or(" "));
                    (Span::new(last.end, last.end), new)
                }
                None => {
                    let open = spans.list.start + 1;
                    (Span::new(open, open), String::from(new))
                }
            },
        },
        ListChange::Remove(index) => {
            let element = elements.get(index)?;
            let before = index.checked_sub(1).and_then(|i| elements.get(i));
            let part = match (before, elements.get(index + 1)) {
                (_, Some(next)) => Span::new(element.start, next.start),
                (Some(before), None) => {
                    let gap = Span::new(before.end, element.start);
                    Span::new(comma(text, gap)?, element.end)
                }
                (None, None) => *element,
            };
            (part, String::new())
        }
        ListChange::SetType(index, ty) => {
            let element = *elements.get(index)?;
            let source = element.of(text.as_bytes());
            let is_type = |word: &[u8]| ScalarType::from_text(word).is_some();
            let mut tokens = Lexer::fragment(source);
            let token =
                tokens.find(|t| t.kind == TokenKind::DotWord && is_type(t.span.of(source)))?;
            let span = token.span.shifted(element.start);
            (span, String::from(ty.text()))
        }
    };
    let (before, after) = (
        text.get(..part.start as usize)?,
        text.get(part.end as usize..)?,
    );
    Some([before, &new, after].concat())
}

/// The span of the comma between two elements.
fn comma(text: &str, gap: Span) -> Option<u32> {
    let source = gap.of(text.as_bytes());
    let mut tokens = Lexer::fragment(source);
    let comma = tokens.find(|t| t.span.of(source) == b",")?;
    Some(gap.start + comma.span.start)
}

/// The whitespace before an element, if nothing else is between it and the token before.
fn space_before(text: &str, element: Span) -> Option<&str> {
    let before = text.get(..element.start as usize)?;
    let space = before.get(before.trim_ascii_end().len()..)?;
    let separated = before.trim_ascii_end().ends_with([',', '(']);
    (!space.is_empty() && separated).then_some(space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_inserted_like_their_neighbours() {
        let insert =
            |text, index| change_list(text, ListChange::Insert(index, "N")).unwrap_or_default();
        assert_eq!(insert("()", 0), "(N)");
        assert_eq!(insert("(a)", 0), "(N, a)");
        assert_eq!(insert("(a)", 1), "(a, N)");
        assert_eq!(
            insert("(\n\ta,\n\tb // last\n)", 2),
            "(\n\ta,\n\tb,\n\tN // last\n)"
        );
        assert_eq!(insert("(\n\ta,\n\tb\n)", 1), "(\n\ta,\n\tN,\n\tb\n)");
        assert_eq!(change_list("(a)", ListChange::Insert(2, "N")), None);
    }

    #[test]
    fn elements_are_removed_with_their_separator() {
        let remove = |text, index| change_list(text, ListChange::Remove(index)).unwrap_or_default();
        assert_eq!(remove("(a)", 0), "()");
        assert_eq!(remove("(a, b, c)", 1), "(a, c)");
        assert_eq!(remove("(a, b /* b */, c)", 2), "(a, b /* b */)");
    }
}
