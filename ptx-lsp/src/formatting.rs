//! Formatting: the canonical layout of a document or of the items in a range.

use lsp_types::{FormattingOptions, Range, TextEdit};
use ptx_ir::{Severity, Span};
use ptx_print::{Indent, Style};

use crate::document::Document;

/// The edit that formats a document, or no edit if it is formatted. Fails if the document has syntax errors.
pub(crate) fn format(
    document: &Document,
    options: &FormattingOptions,
) -> Result<Vec<TextEdit>, String> {
    let text = canonical(document, &style(options))?;
    Ok(difference(document, &text).into_iter().collect())
}

/// Formats a document. Fails if it has syntax errors, because text that was not parsed has no layout.
pub(crate) fn canonical(document: &Document, style: &Style) -> Result<Vec<u8>, String> {
    let has_errors = document
        .syntax_errors()
        .any(|d| d.severity == Severity::Error);
    if has_errors {
        return Err("the document has syntax errors".to_owned());
    }
    Ok(ptx_print::canonical(document.module(), style))
}

/// The edits that format the items that a range touches. Fails if one of them has syntax errors.
pub(crate) fn format_range(
    document: &Document,
    range: Range,
    options: &FormattingOptions,
) -> Result<Vec<TextEdit>, String> {
    let range = document.span(range);
    let mut edits = Vec::new();
    for (id, _) in document.module().items() {
        let item = document.module().span(id);
        if item.start >= range.end.max(range.start + 1) || range.start >= item.end {
            continue;
        }
        if has_errors_in(document, item) {
            return Err("the range has syntax errors".to_owned());
        }
        // An item is formatted as a separate module, because the layout does not depend on the meaning of names.
        let module = ptx_parse::parse(item.of(document.source())).module;
        let printed = ptx_print::canonical(&module, &style(options));
        let formatted = printed.trim_ascii_end();
        if formatted != item.of(document.source()) {
            let new_text = String::from_utf8_lossy(formatted).into_owned();
            edits.push(TextEdit::new(document.range(item), new_text));
        }
    }
    Ok(edits)
}

/// Whether a syntax error begins in a part of the source.
fn has_errors_in(document: &Document, span: Span) -> bool {
    document.syntax_errors().any(|d| {
        d.severity == Severity::Error && span.start <= d.span.start && d.span.start < span.end
    })
}

fn style(options: &FormattingOptions) -> Style {
    let width = u8::try_from(options.tab_size).unwrap_or(u8::MAX).min(16);
    let mut style = Style::default();
    style.indent = if options.insert_spaces {
        Indent::Spaces(width)
    } else {
        Indent::Tab
    };
    style
}

/// The edit that changes the text of a document to `new`; `None` if they are equal. It replaces the text between the common prefix and the common suffix.
pub(crate) fn difference(document: &Document, new: &[u8]) -> Option<TextEdit> {
    let old = document.source();
    if old == new {
        return None;
    }
    let mut prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let mut suffix = old[prefix..]
        .iter()
        .rev()
        .zip(new[prefix..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    // The edit must not divide a character.
    while is_inside_character(old, prefix) || is_inside_character(new, prefix) {
        prefix -= 1;
    }
    while suffix > 0
        && (is_inside_character(old, old.len() - suffix)
            || is_inside_character(new, new.len() - suffix))
    {
        suffix -= 1;
    }
    let replacement = new.get(prefix..new.len() - suffix).unwrap_or_default();
    let span = Span::at(prefix, old.len() - suffix);
    Some(TextEdit::new(
        document.range(span),
        String::from_utf8_lossy(replacement).into_owned(),
    ))
}

/// Whether the byte at an offset continues a character of UTF-8.
fn is_inside_character(text: &[u8], offset: usize) -> bool {
    text.get(offset).is_some_and(|byte| byte & 0xC0 == 0x80)
}
