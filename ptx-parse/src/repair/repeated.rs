//! Declarations that are repeated as they are: the second one is removed. Names of assembly text that a compiler inserted
//! twice: each copy becomes a block.

use alloc::string::String;
use ptx_ir::lex::Lexer;
use ptx_ir::{Diagnostic, Span};

use crate::statement_extent::line_end;

/// The most bytes between the beginning of a declaration and its name.
const LONGEST_START: usize = 256;
/// Longer functions are not compared.
const LONGEST: usize = 1 << 16;
/// The most functions that are compared, so that the cost stays linear.
const MOST_FUNCTIONS: usize = 16;

/// Adds fixes to the errors of duplicate names whose declarations are those of the first ones.
#[cold]
pub(crate) fn remove_all<'d>(src: &[u8], duplicates: impl Iterator<Item = &'d mut Diagnostic>) {
    for (i, d) in duplicates.enumerate() {
        remove(src, d, i < MOST_FUNCTIONS);
    }
}

fn remove(src: &[u8], d: &mut Diagnostic, functions: bool) {
    let Some(first) = d.labels.first().map(|label| label.span) else {
        return;
    };
    if let Some(edits) = blocks(src, first, d.span) {
        d.fix = [].into();
        d.add_fix(edits);
        d.help = Some("put braces around each copy of the assembly text".into());
        return;
    }
    // A label that is removed changes where branches go.
    let is_label = |name: Span| src.get(name.end as usize) == Some(&b':');
    if is_label(first) && is_label(d.span) {
        d.help = Some("rename one of the labels, or put each in a block in braces".into());
        return;
    }
    let repeated = |extent: fn(&[u8], Span) -> Option<Span>| {
        let (first, second) = (extent(src, first)?, extent(src, d.span)?);
        let text = |span: Span| {
            let text = span.of(src);
            text.strip_prefix(b",").unwrap_or(text).trim_ascii()
        };
        (first != second && text(first) == text(second)).then_some(second)
    };
    let removed = repeated(parameter)
        .or_else(|| repeated(line))
        .or_else(|| functions.then(|| repeated(function)).flatten());
    if let Some(span) = removed {
        d.fix = [].into();
        d.add_fix([(span, String::new())]);
        d.help = Some("remove one of the declarations".into());
    }
}

/// The text before a name, as far as it is looked at, and where it begins.
fn before(src: &[u8], name: Span) -> (usize, &[u8]) {
    let end = name.start as usize;
    let start = end.saturating_sub(LONGEST_START);
    (start, src.get(start..end).unwrap_or_default())
}

/// The comments that compilers write before and after assembly text.
const BEGIN: &[u8] = b"// begin inline asm";
const END: &[u8] = b"// end inline asm";
/// The longest assembly text that becomes a block.
const LONGEST_TEXT: usize = 1 << 14;

/// Braces around two assembly texts, each with one of two names.
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

/// The end of the comment before the assembly text with a name, and the start of the one after it.
fn assembly(src: &[u8], name: Span) -> Option<(usize, usize)> {
    let (start, end) = (name.start as usize, name.end as usize);
    let from = start.saturating_sub(LONGEST_TEXT);
    let preceding = src.get(from..start)?;
    let begin = from + memchr::memmem::rfind(preceding, BEGIN)?;
    let following = src.get(end..src.len().min(end + LONGEST_TEXT))?;
    let close = end + memchr::memmem::find(following, END)?;
    let inside = !src.get(begin..start)?.windows(END.len()).any(|w| w == END);
    inside.then(|| (line_end(src, begin), close))
}

/// A parameter after another one, with the comma between them; the first parameter with the bracket before it.
fn parameter(src: &[u8], name: Span) -> Option<Span> {
    let (from, text) = before(src, name);
    let start = text.iter().rposition(|b| b",();{}".contains(b))?;
    let last = name.end as usize;
    let following = src.get(last..line_end(src, last))?;
    let len = following.iter().position(|b| b",();{}".contains(b));
    let end = last + len.unwrap_or(following.len());
    let directive = text.get(start + 1..)?.trim_ascii();
    let in_list = b",(".contains(text.get(start)?) && directive.starts_with(b".");
    in_list.then(|| Span::at(from + start + usize::from(text[start] == b'('), end))
}

/// The line of a statement, with its end.
fn line(src: &[u8], name: Span) -> Option<Span> {
    let (from, text) = before(src, name);
    let start = from + memchr::memrchr(b'\n', text)? + 1;
    let end = (line_end(src, name.start as usize) + 1).min(src.len());
    let text = src.get(start..end)?.trim_ascii();
    (text.starts_with(b".") && text.ends_with(b";")).then(|| Span::at(start, end))
}

/// A function with its body.
fn function(src: &[u8], name: Span) -> Option<Span> {
    let (from, text) = before(src, name);
    let item = memchr::memrchr(b'\n', text).map_or(0, |i| i + 1);
    let start = from + item;
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
