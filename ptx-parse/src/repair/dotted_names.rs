//! Names with a dot, as other assemblers have them: one error for each, which renames all of its uses.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::lex::scan::{class, is};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Code, Diagnostic, Span};
use ptx_isa::{ScalarType, Selector, SpecialReg};

use crate::unfinished;

/// Replaces the errors about each name with a dot by one. Linear in the source if there is one, and else in the errors.
#[cold]
pub(crate) fn explain(src: &[u8], diagnostics: &mut Vec<Diagnostic>) {
    for d in diagnostics.iter_mut() {
        let name = dotted_name(src, d).filter(|name| !in_declaration(src, name.start as usize));
        if let Some(unfinished) = name.and_then(|name| unfinished::before(src, name)) {
            *d = unfinished;
        }
    }
    let names: BTreeSet<&[u8]> = diagnostics
        .iter()
        .filter_map(|d| dotted_name(src, d))
        .map(|span| span.of(src))
        .collect();
    if names.is_empty() {
        return;
    }
    let (mut uses, taken) = uses(src, &names);
    let mut reported = BTreeSet::new();
    diagnostics.retain_mut(|d| {
        let Some(span) = name_around(src, d.span.start).filter(|s| names.contains(s.of(src)))
        else {
            return true;
        };
        // The first error about a name covers the others.
        match uses.remove(span.of(src)) {
            Some(all) => {
                reported.insert(span.of(src));
                *d = diagnostic(src, span, &all, &taken);
                true
            }
            None => !reported.contains(span.of(src)),
        }
    });
}

/// The error about a name, whose uses are renamed.
fn diagnostic(src: &[u8], name: Span, uses: &[Span], taken: &BTreeSet<&[u8]>) -> Diagnostic {
    let old = String::from_utf8_lossy(name.of(src));
    let mut new = old.replace('.', "_");
    while taken.contains(new.as_bytes()) {
        new.push('_');
    }
    let message = format!("a name cannot contain `.`, found `{old}`");
    let d = Diagnostic::error(Code::DottedName, name, message);
    let is_label = |span: &Span| {
        let next = src.get(span.end as usize..).unwrap_or_default();
        next.trim_ascii_start().starts_with(b":")
    };
    let declares = |span: &&Span| in_declaration(src, span.start as usize) || is_label(span);
    if !uses.iter().any(|span| declares(&span)) {
        return d.with_help(format!(
            "`{old}` is undeclared: declare it with another name, such as `{new}`"
        ));
    }
    let mut d = d.with_help(format!("rename it everywhere, for example to `{new}`"));
    d.add_fix(uses.iter().map(|span| (*span, new.clone())));
    d
}

/// The places of each name.
type Uses<'s> = BTreeMap<&'s [u8], Vec<Span>>;

/// The uses of names with a dot, and all names without one.
fn uses<'s>(src: &'s [u8], names: &BTreeSet<&'s [u8]>) -> (Uses<'s>, BTreeSet<&'s [u8]>) {
    let mut uses = Uses::new();
    let mut existing_names = BTreeSet::new();
    let mut done = 0;
    for token in Lexer::new(src) {
        let start = token.span.start;
        if token.kind.is_trivia() || token.kind == TokenKind::String || start < done {
            continue;
        }
        if token.kind == TokenKind::Ident {
            existing_names.insert(token.span.of(src));
        }
        let Some(span) = name_around(src, start).filter(|span| span.start == start) else {
            continue;
        };
        // A member of a range of registers has a number after the name.
        let digits = span.of(src).iter().rev().take_while(|b| b.is_ascii_digit());
        let prefix = Span::new(start, span.end - digits.count() as u32);
        if let Some(name) = [span, prefix]
            .into_iter()
            .find(|s| names.contains(s.of(src)))
        {
            uses.entry(name.of(src)).or_default().push(name);
            done = span.end;
        }
    }
    (uses, existing_names)
}

/// The name with a dot that an error is about.
fn dotted_name(src: &[u8], d: &Diagnostic) -> Option<Span> {
    let offset = d.span.start as usize;
    let name = name_around(src, d.span.start)?;
    let (start, end) = (name.start as usize, name.end as usize);
    let next = src.get(end..)?.trim_ascii_start();
    let ends_label = next.starts_with(b":") && !next.starts_with(b"::");
    let is_name = match d.code {
        Code::DottedName => true,
        // In a declaration, or where no component is possible, or a label that is taken for an instruction.
        Code::UnexpectedToken | Code::UnknownDirective => {
            let word = src.get(offset + 1..end).unwrap_or_default();
            let is_dot = offset > start && src.get(offset) == Some(&b'.');
            // A register that is declared may be a vector.
            let is_vector = src.get(start) == Some(&b'%') || Selector::from_text(word).is_some();
            is_dot && (!is_vector || in_declaration(src, start))
        }
        Code::UnknownOpcode => offset == start && ends_label,
        _ => false,
    };
    if name.of(src).starts_with(b".") {
        // After the type of a declaration.
        let preceding = src.get(..start)?.trim_ascii_end();
        let word = preceding.iter().rposition(|b| *b == b'.')?;
        let follows_type = ScalarType::from_text(preceding.get(word..)?).is_some();
        return (d.code == Code::UnexpectedToken && offset == start && follows_type)
            .then_some(name);
    }
    let base = name.of(src).split(|b| *b == b'.').next()?;
    let is_special = SpecialReg::from_text(base).is_some();
    let guards = start.checked_sub(1).and_then(|i| src.get(i));
    (is_name && !is_special && !matches!(guards, Some(b'@' | b'!'))).then_some(name)
}

/// Whether the statement of the name at `at` begins with a directive, as far as its line shows.
fn in_declaration(src: &[u8], at: usize) -> bool {
    let preceding = src.get(..at).unwrap_or_default();
    let end = preceding.iter().rposition(|b| b";{}\n".contains(b));
    let line = preceding
        .get(end.map_or(0, |i| i + 1)..)
        .unwrap_or_default();
    line.trim_ascii_start().starts_with(b".")
}

/// The name with dots around or at `at`: an identifier or a word with a dot, and words that follow it without white space.
fn name_around(src: &[u8], offset: u32) -> Option<Span> {
    let offset = offset as usize;
    let is_part = |b: &u8| is(*b, class::IDENT) || *b == b'.';
    let preceding = src.get(..offset)?;
    let start = preceding.iter().rposition(|b| !is_part(b));
    let start = start.map_or(0, |i| i + 1);
    // Only the first character of a name may be `%`.
    let marked = start > 0 && src.get(start - 1) == Some(&b'%');
    let start = start - usize::from(marked);
    let text = src.get(start..)?;
    let marks = usize::from(text.starts_with(b"%"));
    let end = text.iter().skip(marks).position(|b| !is_part(b));
    let len = end.map_or(text.len(), |end| end + marks);
    let name = text.get(..len)?;
    let first = *name.first()?;
    let starts = matches!(first, b'.' | b'%') || is(first, class::IDENT);
    let starts = starts && !first.is_ascii_digit();
    let is_dotted = name.contains(&b'.') && !name.ends_with(b".");
    let spaced = name.windows(2).any(|pair| pair == b"..");
    (starts && is_dotted && !spaced).then(|| Span::at(start, start + len))
}
