//! Properties of every text, and of every text without errors. Each function panics with the reason if a text does not have the
//! property.
#![allow(clippy::panic, reason = "tests fail by panics")]

use std::borrow::Cow;

use ptx_ir::compare;
use ptx_ir::lex::Lexer;
use ptx_ir::raw::tiling;
use ptx_parse::Parsed;
use ptx_print::{Indent, Style};

/// The styles that are tried.
pub fn styles() -> [Style; 3] {
    [Indent::Tab, Indent::Spaces(2), Indent::Spaces(4)]
        .map(|indent| Style::default().with_indent(indent))
}

/// The tokens of a text follow one another without gaps, and none is empty.
pub fn tokens_tile(source: &[u8]) {
    let mut end = 0;
    for token in Lexer::new(source) {
        assert_eq!(token.span.start as usize, end, "a gap before {token:?}");
        assert!(
            token.span.end > token.span.start,
            "an empty token: {token:?}"
        );
        end = token.span.end as usize;
    }
    assert_eq!(end, source.len(), "bytes after the last token");
}

/// Reading is total: the statements tile the text, and every diagnostic points into it.
pub fn reading_is_total(source: &[u8]) -> Parsed {
    let parsed = ptx_parse::parse(source);
    if let Err(v) = tiling::check(&parsed.module) {
        panic!("bytes {}..{}: {}", v.span.start, v.span.end, v.message);
    }
    let mut last = 0;
    for d in &parsed.diagnostics {
        assert!(d.span.start <= d.span.end, "{d:?} ends before it starts");
        assert!(
            d.span.end as usize <= source.len(),
            "{d:?} points after the text"
        );
        assert!(d.span.start >= last, "{d:?} is out of order");
        assert!(!d.message.is_empty(), "{d:?} says nothing");
        for label in &d.labels {
            assert!(
                label.span.end as usize <= source.len(),
                "{d:?} has a label after the text"
            );
        }
        last = d.span.start;
    }
    parsed
}

/// A parsed module is printed as the same bytes.
pub fn verbatim_is_exact(source: &[u8]) -> Parsed {
    let parsed = reading_is_total(source);
    assert!(
        ptx_print::verbatim(&parsed.module) == source,
        "verbatim text differs"
    );
    parsed
}

/// The canonical text of a module without errors is parsed as the same module, and its canonical text is the same. A module with
/// errors is only printed.
pub fn canonical_is_stable(parsed: &Parsed) {
    for style in styles() {
        let text = ptx_print::canonical(&parsed.module, &style);
        if parsed.has_errors() {
            continue;
        }
        let again = verbatim_is_exact(&text);
        if again.has_errors() {
            panic!(
                "errors in canonical text: {:?}\n{}",
                first_error(&again),
                beginning(&text)
            );
        }
        if let Err(difference) = compare::compare(&parsed.module, &again.module) {
            let (left, right) = (difference.left, difference.right);
            panic!(
                "{difference}: `{}` became `{}`",
                String::from_utf8_lossy(left.of(parsed.module.source())),
                String::from_utf8_lossy(right.of(&text)),
            );
        }
        let twice = ptx_print::canonical(&again.module, &style);
        assert!(
            twice == text,
            "canonical text is not a fixed point:\n{}\n--- became ---\n{}",
            beginning(&text),
            beginning(&twice)
        );
    }
}

fn beginning(text: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&text[..text.len().min(4000)])
}

/// The first error of a parsed text.
pub fn first_error(parsed: &Parsed) -> Option<&ptx_ir::Diagnostic> {
    parsed
        .diagnostics
        .iter()
        .find(|d| d.severity == ptx_ir::Severity::Error)
}

/// All properties of this module.
pub fn everything(source: &[u8]) -> Parsed {
    tokens_tile(source);
    let parsed = verbatim_is_exact(source);
    canonical_is_stable(&parsed);
    parsed
}
