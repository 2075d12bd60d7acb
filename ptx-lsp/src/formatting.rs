//! Formatting: the canonical layout of a document or of the items in a range.

use lsp_types::{FormattingOptions, Range, TextEdit};
use ptx_ir::{Severity, Span};
use ptx_print::{Indent, Style};

use crate::document::Document;

/// The edit that formats a document; an error where it has syntax errors.
pub(crate) fn format(
    document: &Document,
    options: &FormattingOptions,
) -> Result<Vec<TextEdit>, String> {
    let text = canonical(document, &style(options))?;
    Ok(difference(document, &text).into_iter().collect())
}

/// The formatted text of a document; an error where it has syntax errors, whose text has no layout.
pub(crate) fn canonical(document: &Document, style: &Style) -> Result<Vec<u8>, String> {
    let broken = document
        .syntax_errors()
        .any(|d| d.severity == Severity::Error);
    if broken {
        return Err("the document has syntax errors".to_owned());
    }
    Ok(ptx_print::canonical(document.module(), style))
}

/// Formats the lines of a range: of the edits of the whole document, those that are in it.
pub(crate) fn format_range(
    document: &Document,
    range: Range,
    options: &FormattingOptions,
) -> Result<Vec<TextEdit>, String> {
    let items = document.module().items();
    let span = document.span(range);
    let touched = items.filter_map(|(id, _)| {
        let item = document.module().span(id);
        (item.start < span.end.max(span.start + 1) && span.start < item.end).then_some(item)
    });
    let broken = |item: Span| {
        let mut errors = document.syntax_errors();
        errors.any(|d| {
            d.severity == Severity::Error && item.start <= d.span.start && d.span.start < item.end
        })
    };
    let mut edits = Vec::new();
    for item in touched {
        if broken(item) {
            return Err("the range has syntax errors".to_owned());
        }
        // An item is formatted as a separate module: layout does not depend on what names mean.
        let module = ptx_parse::parse(item.of(document.source())).module;
        let new = ptx_print::canonical(&module, &style(options));
        let new = String::from_utf8_lossy(new.trim_ascii_end()).into_owned();
        if new.as_bytes() != item.of(document.source()) {
            edits.push(TextEdit::new(document.range(item), new));
        }
    }
    Ok(edits)
}

fn style(options: &FormattingOptions) -> Style {
    let width = u8::try_from(options.tab_size).unwrap_or(u8::MAX).min(16);
    let mut style = Style::default();
    style.indent = match options.insert_spaces {
        true => Indent::Spaces(width),
        false => Indent::Tab,
    };
    style
}

/// One edit that makes a document the text `new`: it replaces what is between the common beginning and the common end.
pub(crate) fn difference(document: &Document, new: &[u8]) -> Option<TextEdit> {
    let old = document.source();
    if old == new {
        return None;
    }
    let mut start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let same = old_rest.iter().rev().zip(new_rest.iter().rev());
    let mut end = same.take_while(|(a, b)| a == b).count();
    // Not inside of a character.
    let inside = |text: &[u8], at: usize| text.get(at).is_some_and(|b| b & 0xC0 == 0x80);
    while inside(old, start) || inside(new, start) {
        start -= 1;
    }
    while end > 0 && (inside(old, old.len() - end) || inside(new, new.len() - end)) {
        end -= 1;
    }
    let text = String::from_utf8_lossy(new.get(start..new.len() - end).unwrap_or_default());
    let span = Span::at(start, old.len() - end);
    Some(TextEdit::new(document.range(span), text.into_owned()))
}
