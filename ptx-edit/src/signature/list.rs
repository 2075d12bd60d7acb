//! Lists of parameters as text: inserts, removes and retypes one parameter.

use alloc::string::String;

use ptx_ir::Span;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::ListSpans;
use ptx_isa::ScalarType;

/// A change of one element of a list.
#[derive(Copy, Clone)]
pub(crate) enum ListChange<'t> {
    /// Inserts this text before the element of this index.
    Insert(usize, &'t str),
    /// Removes the element of this index.
    Remove(usize),
    /// Replaces the type of the element of this index.
    SetType(usize, ScalarType),
}

/// The text of a list, `(` to `)`, after a change; `None` if it has no such element or is not a list.
pub(crate) fn change_list(text: &str, change: ListChange<'_>) -> Option<String> {
    let spans = ListSpans::read(text.as_bytes(), 0)?;
    let elements = &spans.elements;
    let (replaced, new_text) = match change {
        ListChange::Insert(index, new) => match elements.get(index) {
            Some(next) => {
                let separator = space_before(text, *next).unwrap_or(" ");
                let new = format!("{new},{separator}");
                (Span::new(next.start, next.start), new)
            }
            None if index > elements.len() => return None,
            None => match elements.last() {
                Some(last) => {
                    let separator = space_before(text, *last)
                        .filter(|space| elements.len() > 1 || space.contains('\n'))
                        .unwrap_or(" ");
                    let new = format!(",{separator}{new}");
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
            let previous = index.checked_sub(1).and_then(|i| elements.get(i));
            let removed = match (previous, elements.get(index + 1)) {
                (_, Some(next)) => Span::new(element.start, next.start),
                (Some(previous), None) => {
                    let gap = Span::new(previous.end, element.start);
                    Span::new(comma(text, gap)?, element.end)
                }
                (None, None) => *element,
            };
            (removed, String::new())
        }
        ListChange::SetType(index, ty) => {
            let element = *elements.get(index)?;
            let source = element.of(text.as_bytes());
            let type_token = Lexer::fragment(source).find(|t| {
                t.kind == TokenKind::DotWord && ScalarType::from_text(t.span.of(source)).is_some()
            })?;
            let span = type_token.span.shifted(element.start);
            (span, String::from(ty.text()))
        }
    };
    let prefix = text.get(..replaced.start as usize)?;
    let suffix = text.get(replaced.end as usize..)?;
    Some([prefix, &new_text, suffix].concat())
}

/// The offset of the comma between two elements.
fn comma(text: &str, gap: Span) -> Option<u32> {
    let source = gap.of(text.as_bytes());
    let mut tokens = Lexer::fragment(source);
    let comma = tokens.find(|t| t.span.of(source) == b",")?;
    Some(gap.start + comma.span.start)
}

/// The whitespace between an element and the `,` or `(` before it; `None` if it is empty or there is a comment.
fn space_before(text: &str, element: Span) -> Option<&str> {
    let prefix = text.get(..element.start as usize)?;
    let space = prefix.get(prefix.trim_ascii_end().len()..)?;
    let is_after_separator = prefix.trim_ascii_end().ends_with([',', '(']);
    (!space.is_empty() && is_after_separator).then_some(space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_inserted_like_their_neighbors() {
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
