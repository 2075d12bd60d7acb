//! Repairs of duplicate names: an identical second declaration is removed, and copies of assembly text, which a compiler
//! inserted twice, become blocks.

use alloc::string::String;
use ptx_ir::lex::Lexer;
use ptx_ir::{Diagnostic, Span};

use crate::statement_extent::line_end;

/// The number of bytes before a name in which the beginning of its declaration is searched.
const LONGEST_START: usize = 256;
/// The length of the longest functions that are compared, in bytes.
const LONGEST: usize = 1 << 16;
/// The number of functions that are compared, so that the cost stays linear.
const MOST_FUNCTIONS: usize = 16;

/// Adds edits to the errors of duplicate names.
#[cold]
pub(crate) fn remove_all<'d>(src: &[u8], duplicates: impl Iterator<Item = &'d mut Diagnostic>) {
    for (i, duplicate) in duplicates.enumerate() {
        remove(src, duplicate, i < MOST_FUNCTIONS);
    }
}

/// Adds edits to the error of a duplicate name. Functions are compared if `compares_functions`.
fn remove(src: &[u8], diagnostic: &mut Diagnostic, compares_functions: bool) {
    let Some(first) = diagnostic.labels.first().map(|label| label.span) else {
        return;
    };
    if let Some(edits) = blocks(src, first, diagnostic.span) {
        diagnostic.fix = [].into();
        diagnostic.add_fix(edits);
        diagnostic.help = Some("put braces around each copy of the assembly text".into());
        return;
    }
    // The removal of a label would change the targets of branches.
    let is_label = |name: Span| src.get(name.end as usize) == Some(&b':');
    if is_label(first) && is_label(diagnostic.span) {
        diagnostic.help = Some("rename one of the labels, or put each in a block in braces".into());
        return;
    }
    let identical_copy = |extent: fn(&[u8], Span) -> Option<Span>| {
        let (first, second) = (extent(src, first)?, extent(src, diagnostic.span)?);
        let text = |span: Span| {
            let text = span.of(src);
            text.strip_prefix(b",").unwrap_or(text).trim_ascii()
        };
        (first != second && text(first) == text(second)).then_some(second)
    };
    let removed = identical_copy(parameter)
        .or_else(|| identical_copy(line))
        .or_else(|| {
            compares_functions
                .then(|| identical_copy(function))
                .flatten()
        });
    if let Some(span) = removed {
        diagnostic.fix = [].into();
        diagnostic.add_fix([(span, String::new())]);
        diagnostic.help = Some("remove one of the declarations".into());
    }
}

/// The offset and the text of at most [`LONGEST_START`] bytes before a name.
fn text_before(src: &[u8], name: Span) -> (usize, &[u8]) {
    let end = name.start as usize;
    let start = end.saturating_sub(LONGEST_START);
    (start, src.get(start..end).unwrap_or_default())
}

/// The comments that compilers write before and after assembly text.
const BEGIN: &[u8] = b"// begin inline asm";
const END: &[u8] = b"// end inline asm";
/// The longest assembly text that becomes a block.
const LONGEST_TEXT: usize = 1 << 14;

/// The edits that put braces around two assembly texts, each of which contains one of two names.
fn blocks(src: &[u8], first: Span, second: Span) -> Option<[(Span, String); 4]> {
    let (first, second) = (assembly(src, first)?, assembly(src, second)?);
    let brace = |at: usize, text: &str| (Span::at(at, at), String::from(text));
    let edits = [
        brace(first.0, "\n\t{"),
        brace(first.1, "}\n\t"),
        brace(second.0, "\n\t{"),
        brace(second.1, "}\n\t"),
    ];
    (first.1 < second.0).then_some(edits)
}

/// The extent of the assembly text with a name: from the end of the comment before it to the start of the comment after it.
fn assembly(src: &[u8], name: Span) -> Option<(usize, usize)> {
    let (start, end) = (name.start as usize, name.end as usize);
    let text_start = start.saturating_sub(LONGEST_TEXT);
    let preceding = src.get(text_start..start)?;
    let begin = text_start + memchr::memmem::rfind(preceding, BEGIN)?;
    let following = src.get(end..src.len().min(end + LONGEST_TEXT))?;
    let close = end + memchr::memmem::find(following, END)?;
    let inside = !src.get(begin..start)?.windows(END.len()).any(|w| w == END);
    inside.then(|| (line_end(src, begin), close))
}

/// The span of a parameter and the comma before it. Of the first parameter, which follows a bracket, without it.
fn parameter(src: &[u8], name: Span) -> Option<Span> {
    let (text_start, text) = text_before(src, name);
    let start = text.iter().rposition(|b| b",();{}".contains(b))?;
    let name_end = name.end as usize;
    let following = src.get(name_end..line_end(src, name_end))?;
    let len = following.iter().position(|b| b",();{}".contains(b));
    let end = name_end + len.unwrap_or(following.len());
    let directive = text.get(start + 1..)?.trim_ascii();
    let in_list = b",(".contains(text.get(start)?) && directive.starts_with(b".");
    in_list.then(|| Span::at(text_start + start + usize::from(text[start] == b'('), end))
}

/// The line of a declaration, with its line break.
fn line(src: &[u8], name: Span) -> Option<Span> {
    let (text_start, text) = text_before(src, name);
    let start = text_start + memchr::memrchr(b'\n', text)? + 1;
    let end = (line_end(src, name.start as usize) + 1).min(src.len());
    let text = src.get(start..end)?.trim_ascii();
    (text.starts_with(b".") && text.ends_with(b";")).then(|| Span::at(start, end))
}

/// The span of a function with its body.
fn function(src: &[u8], name: Span) -> Option<Span> {
    let (text_start, text) = text_before(src, name);
    let item = memchr::memrchr(b'\n', text).map_or(0, |i| i + 1);
    let start = text_start + item;
    text.get(item..)?.starts_with(b".").then_some(())?;
    let definition = src.get(start..src.len().min(start + LONGEST))?;
    let mut depth = 0usize;
    for token in Lexer::fragment(definition) {
        match token.span.of(definition) {
            b"{" => depth += 1,
            b"}" if depth == 1 => return Some(Span::at(start, start + token.span.end as usize)),
            b"}" => depth = depth.checked_sub(1)?,
            b";" if depth == 0 => return None,
            _ => {}
        }
    }
    None
}
