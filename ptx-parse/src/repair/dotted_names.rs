//! Names with a dot, which other assemblers allow. There is one error for each name, whose edits rename all uses.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::scan::{class, is};
use ptx_ir::{Code, Diagnostic, Span};
use ptx_isa::{ScalarType, Selector, SpecialReg};

use crate::unfinished;

/// Replaces all errors about a name with a dot by one. The cost is linear in the source if there is such a name, and else
/// linear in the number of errors.
#[cold]
pub(crate) fn explain(src: &[u8], diagnostics: &mut Vec<Diagnostic>) {
    for diagnostic in diagnostics.iter_mut() {
        let name =
            dotted_name(src, diagnostic).filter(|name| !in_declaration(src, name.start as usize));
        if let Some(unfinished) = name.and_then(|name| unfinished::before(src, name)) {
            *diagnostic = unfinished;
        }
    }
    let names: BTreeSet<&[u8]> = diagnostics
        .iter()
        .filter_map(|diagnostic| dotted_name(src, diagnostic))
        .map(|span| span.of(src))
        .collect();
    if names.is_empty() {
        return;
    }
    let (mut uses, existing_names) = uses(src, &names);
    let mut reported = BTreeSet::new();
    diagnostics.retain_mut(|diagnostic| {
        let Some(span) =
            name_around(src, diagnostic.span.start).filter(|s| names.contains(s.of(src)))
        else {
            return true;
        };
        // The first error about a name replaces the others.
        match uses.remove(span.of(src)) {
            Some(name_uses) => {
                reported.insert(span.of(src));
                *diagnostic = name_error(src, span, &name_uses, &existing_names);
                true
            }
            None => !reported.contains(span.of(src)),
        }
    });
}

/// The error about a name, with edits that rename its uses.
fn name_error(
    src: &[u8],
    name: Span,
    uses: &[Span],
    existing_names: &BTreeSet<&[u8]>,
) -> Diagnostic {
    let old = String::from_utf8_lossy(name.of(src));
    let mut new = old.replace('.', "_");
    while existing_names.contains(new.as_bytes()) {
        new.push('_');
    }
    let message = format!("a name cannot contain `.`, found `{old}`");
    let error = Diagnostic::error(Code::DottedName, name, message);
    if !uses.iter().any(|span| is_declaration(src, *span)) {
        return error.with_help(format!(
            "`{old}` is undeclared: declare it with another name, such as `{new}`"
        ));
    }
    let mut error = error.with_help(format!("rename it everywhere, for example to `{new}`"));
    error.add_fix(uses.iter().map(|span| (*span, new.clone())));
    error
}

/// Whether a use of a name declares it, as a label or in a declaration.
fn is_declaration(src: &[u8], name: Span) -> bool {
    let following = src.get(name.end as usize..).unwrap_or_default();
    following.trim_ascii_start().starts_with(b":") || in_declaration(src, name.start as usize)
}

/// The spans of each name.
type Uses<'s> = BTreeMap<&'s [u8], Vec<Span>>;

/// The uses of `names`, and all names without a dot.
fn uses<'s>(src: &'s [u8], names: &BTreeSet<&'s [u8]>) -> (Uses<'s>, BTreeSet<&'s [u8]>) {
    let mut uses = Uses::new();
    let mut existing_names = BTreeSet::new();
    let mut previous_end = 0;
    for token in Lexer::new(src) {
        let start = token.span.start;
        if token.kind.is_trivia() || token.kind == TokenKind::String || start < previous_end {
            continue;
        }
        if token.kind == TokenKind::Ident {
            existing_names.insert(token.span.of(src));
        }
        let Some(span) = name_around(src, start).filter(|span| span.start == start) else {
            continue;
        };
        // A member of a range of registers is the declared name and a number.
        let digits = span.of(src).iter().rev().take_while(|b| b.is_ascii_digit());
        let prefix = Span::new(start, span.end - digits.count() as u32);
        if let Some(name) = [span, prefix]
            .into_iter()
            .find(|s| names.contains(s.of(src)))
        {
            uses.entry(name.of(src)).or_default().push(name);
            previous_end = span.end;
        }
    }
    (uses, existing_names)
}

/// The name with a dot that is the cause of an error.
fn dotted_name(src: &[u8], diagnostic: &Diagnostic) -> Option<Span> {
    let offset = diagnostic.span.start as usize;
    let name = name_around(src, diagnostic.span.start)?;
    let (start, end) = (name.start as usize, name.end as usize);
    let following = src.get(end..)?.trim_ascii_start();
    let ends_label = following.starts_with(b":") && !following.starts_with(b"::");
    let is_name = match diagnostic.code {
        Code::DottedName => true,
        // The name is in a declaration, or in a place where no component is possible.
        Code::UnexpectedToken | Code::UnknownDirective => {
            let word = src.get(offset + 1..end).unwrap_or_default();
            let is_dot = offset > start && src.get(offset) == Some(&b'.');
            // The dot may select a component of a vector register.
            let is_vector = src.get(start) == Some(&b'%') || Selector::from_text(word).is_some();
            is_dot && (!is_vector || in_declaration(src, start))
        }
        // The name is that of a label.
        Code::UnknownOpcode => offset == start && ends_label,
        _ => false,
    };
    if name.of(src).starts_with(b".") {
        // The name follows the type of a declaration.
        let preceding = src.get(..start)?.trim_ascii_end();
        let word = preceding.iter().rposition(|b| *b == b'.')?;
        let follows_type = ScalarType::from_text(preceding.get(word..)?).is_some();
        return (diagnostic.code == Code::UnexpectedToken && offset == start && follows_type)
            .then_some(name);
    }
    let base = name.of(src).split(|b| *b == b'.').next()?;
    let is_special = SpecialReg::from_text(base).is_some();
    let previous_byte = start.checked_sub(1).and_then(|i| src.get(i));
    (is_name && !is_special && !matches!(previous_byte, Some(b'@' | b'!'))).then_some(name)
}

/// Whether the part of the statement that is on the line of the name at `offset` begins with a directive.
fn in_declaration(src: &[u8], offset: usize) -> bool {
    let preceding = src.get(..offset).unwrap_or_default();
    let end = preceding.iter().rposition(|b| b";{}\n".contains(b));
    let line = preceding
        .get(end.map_or(0, |i| i + 1)..)
        .unwrap_or_default();
    line.trim_ascii_start().starts_with(b".")
}

/// The name with dots that contains `offset`: an identifier or a word with a dot, and words that follow it without white space.
fn name_around(src: &[u8], offset: u32) -> Option<Span> {
    let offset = offset as usize;
    let is_part = |b: &u8| is(*b, class::IDENT) || *b == b'.';
    let preceding = src.get(..offset)?;
    let part_start = preceding
        .iter()
        .rposition(|b| !is_part(b))
        .map_or(0, |i| i + 1);
    // Only the first character of a name may be `%`.
    let follows_percent = part_start > 0 && src.get(part_start - 1) == Some(&b'%');
    let start = part_start - usize::from(follows_percent);
    let text = src.get(start..)?;
    let percent_len = usize::from(text.starts_with(b"%"));
    let end = text.iter().skip(percent_len).position(|b| !is_part(b));
    let len = end.map_or(text.len(), |end| end + percent_len);
    let name = text.get(..len)?;
    let first = *name.first()?;
    let can_begin_name =
        matches!(first, b'.' | b'%') || is(first, class::IDENT) && !first.is_ascii_digit();
    let is_dotted = name.contains(&b'.') && !name.ends_with(b".");
    let has_empty_part = name.windows(2).any(|pair| pair == b"..");
    (can_begin_name && is_dotted && !has_empty_part).then(|| Span::at(start, start + len))
}
