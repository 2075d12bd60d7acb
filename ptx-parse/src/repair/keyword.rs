//! Misspelled keywords: what to write instead.

use alloc::string::String;

use ptx_ir::lex::scan::{self, Trivia};
use ptx_ir::{Diagnostic, Span};
use ptx_isa::{Directive, ForeignWord, Modifier, ScalarType, StateSpace};

use crate::statement_extent::is_opcode;
use crate::suggest::{self, Similar};

/// A misspelled keyword with what to write instead: the word of PTX for one of another language, or the nearest one.
pub(crate) fn correct(d: Diagnostic, found: &str, nearest: Option<Similar<'_>>) -> Diagnostic {
    let foreign = ForeignWord::from_text(found);
    if let Some(help) = foreign.and_then(ForeignWord::help) {
        return d.with_help(help);
    }
    let sole = true;
    let foreign = foreign.and_then(ForeignWord::instead);
    let foreign = foreign.map(|text| Similar { text, sole });
    replace(d, found, foreign.or(nearest))
}

/// A misspelled keyword with the word that is meant.
pub(crate) fn replace(d: Diagnostic, found: &str, meant: Option<Similar<'_>>) -> Diagnostic {
    let span = d.span;
    match meant {
        Some(Similar { text, sole: true }) => {
            let d = d.with_help(suggestion(text)).with_fix(span, text);
            suggest::judged(d, found, text)
        }
        Some(Similar { text, .. }) => d.with_help(suggestion(text)),
        None => d,
    }
}

/// The help of a misspelled keyword.
pub(crate) fn suggestion(nearest: &str) -> String {
    format!("did you mean `{nearest}`?")
}

/// The length of the keyword at the beginning of a word that continues with a name: `bra$L`, `.b32$a`.
pub(crate) fn glued(word: &str) -> Option<usize> {
    let length = word.find('$')?;
    let keyword = &word.as_bytes()[..length];
    let is_keyword = is_opcode(keyword)
        || Directive::from_text(keyword).is_some()
        || ScalarType::from_text(keyword).is_some();
    is_keyword.then_some(length)
}

/// `word`, which begins with a keyword of that length.
#[cold]
pub(crate) fn apart(mut d: Diagnostic, word: &str, length: usize) -> Diagnostic {
    let (keyword, name) = word.split_at(length);
    let offset = d.span.start + length as u32;
    d.message = format!("expected white space between `{keyword}` and `{name}`, found none");
    d.with_help(format!("write `{keyword} {name}`"))
        .with_fix(Span::new(offset, offset), " ")
        .machine_applicable()
}

/// The error of a word that is not a directive.
pub(crate) fn directive(src: &[u8], d: Diagnostic) -> Diagnostic {
    let text = String::from_utf8_lossy(d.span.of(src)).into_owned();
    if let Some(length) = glued(&text) {
        return apart(d, &text, length);
    }
    // A part of an instruction's name.
    if Modifier::from_text(text.as_bytes()).is_some() {
        return d;
    }
    // A type or an alignment follows a state space.
    let next = scan::skip_trivia(src, d.span.end as usize, &mut Trivia::default());
    let dotted = scan::peek(src, next) == b'.';
    let nearest = suggest::directive_of(&text)
        .filter(|n| dotted || StateSpace::from_text(n.text.as_bytes()).is_none());
    correct(d, &text, nearest)
}

/// The error of a word that is not a type of a declaration.
pub(crate) fn ty(src: &[u8], d: Diagnostic) -> Diagnostic {
    let text = String::from_utf8_lossy(d.span.of(src)).into_owned();
    match glued(&text) {
        Some(length) => apart(d, &text, length),
        None => {
            let nearest = suggest::ty(&text).or_else(|| suggest::directive_of(&text));
            likely_type(correct(d, &text, nearest))
        }
    }
}

/// Adds the first type that the help names, if there is no fix.
fn likely_type(d: Diagnostic) -> Diagnostic {
    let help = d.help.clone().unwrap_or_default();
    let mut words = help.split('`');
    let ty = words.find_map(|word| ScalarType::from_text(word.as_bytes()));
    match ty.filter(|_| d.fix.is_empty()) {
        Some(ty) => {
            let span = d.span;
            d.with_help(format!("{help}; for example `{ty}`"))
                .with_fix(span, ty.text())
        }
        None => d,
    }
}

/// The error of a word that is not an attribute.
pub(crate) fn attribute(src: &[u8], d: Diagnostic) -> Diagnostic {
    let word = String::from_utf8_lossy(d.span.of(src)).into_owned();
    let dotted = format!(".{}", word.trim_start_matches('.'));
    let attributes = [(".managed", ()), (".unified", ())].into_iter();
    let nearest = suggest::nearest_of(&dotted, attributes);
    correct(d, &word, nearest.map(|(similar, ())| similar))
}

/// The error of a word that is not a target.
pub(crate) fn target(src: &[u8], d: Diagnostic) -> Diagnostic {
    let text = String::from_utf8_lossy(d.span.of(src)).into_owned();
    correct(d, &text, suggest::target(&text))
}
