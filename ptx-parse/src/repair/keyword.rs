//! Corrections of misspelled keywords.

use alloc::string::String;

use ptx_ir::raw::scan::{self, Trivia};
use ptx_ir::{Diagnostic, Span};
use ptx_isa::internals::ForeignWord;
use ptx_isa::{Directive, Modifier, ScalarType, StateSpace};

use crate::statement_extent::is_opcode;
use crate::suggest::{self, Similar};

/// Adds the correction of the misspelled keyword `word`: the keyword of PTX for a word of another language, or the nearest one.
pub(crate) fn correct(
    diagnostic: Diagnostic,
    word: &str,
    nearest: Option<Similar<'_>>,
) -> Diagnostic {
    let foreign = ForeignWord::from_text(word);
    if let Some(help) = foreign.and_then(ForeignWord::help) {
        return diagnostic.with_help(help);
    }
    let translation = foreign
        .and_then(ForeignWord::instead)
        .map(|text| Similar { text, sole: true });
    replace(diagnostic, word, translation.or(nearest))
}

/// Adds the edit that replaces the misspelled keyword `word`.
pub(crate) fn replace(
    diagnostic: Diagnostic,
    word: &str,
    replacement: Option<Similar<'_>>,
) -> Diagnostic {
    let span = diagnostic.span;
    match replacement {
        Some(Similar { text, sole: true }) => {
            let corrected = diagnostic.with_help(suggestion(text)).with_fix(span, text);
            suggest::judged(corrected, word, text)
        }
        Some(Similar { text, .. }) => diagnostic.with_help(suggestion(text)),
        None => diagnostic,
    }
}

/// The help of a misspelled keyword.
pub(crate) fn suggestion(nearest: &str) -> String {
    format!("did you mean `{nearest}`?")
}

/// The length of the keyword at the beginning of a word such as `bra$L` or `.b32$a`, which continues with a name.
pub(crate) fn joined_keyword_len(word: &str) -> Option<usize> {
    let length = word.find('$')?;
    let keyword = &word.as_bytes()[..length];
    let is_keyword = is_opcode(keyword)
        || Directive::from_text(keyword).is_some()
        || ScalarType::from_text(keyword).is_some();
    is_keyword.then_some(length)
}

/// Adds the edit that inserts a space into `word` after the keyword of `length` bytes at its beginning.
#[cold]
pub(crate) fn separate(mut diagnostic: Diagnostic, word: &str, length: usize) -> Diagnostic {
    let (keyword, name) = word.split_at(length);
    let offset = diagnostic.span.start + length as u32;
    diagnostic.message =
        format!("expected white space between `{keyword}` and `{name}`, found none");
    diagnostic
        .with_help(format!("write `{keyword} {name}`"))
        .with_fix(Span::new(offset, offset), " ")
        .machine_applicable()
}

/// The error of a word that is not a directive.
pub(crate) fn directive(src: &[u8], diagnostic: Diagnostic) -> Diagnostic {
    let text = String::from_utf8_lossy(diagnostic.span.of(src)).into_owned();
    if let Some(length) = joined_keyword_len(&text) {
        return separate(diagnostic, &text, length);
    }
    // The word is a modifier without its opcode.
    if Modifier::from_text(text.as_bytes()).is_some() {
        return diagnostic;
    }
    // A type or an alignment follows a state space.
    let next = scan::skip_trivia(src, diagnostic.span.end as usize, &mut Trivia::default());
    let is_dot_next = scan::peek(src, next) == b'.';
    let nearest = suggest::directive_of(&text)
        .filter(|n| is_dot_next || StateSpace::from_text(n.text.as_bytes()).is_none());
    correct(diagnostic, &text, nearest)
}

/// The error of a word that is not a type of a declaration.
pub(crate) fn ty(src: &[u8], diagnostic: Diagnostic) -> Diagnostic {
    let text = String::from_utf8_lossy(diagnostic.span.of(src)).into_owned();
    match joined_keyword_len(&text) {
        Some(length) => separate(diagnostic, &text, length),
        None => {
            let nearest = suggest::ty(&text).or_else(|| suggest::directive_of(&text));
            likely_type(correct(diagnostic, &text, nearest))
        }
    }
}

/// The error of a type without its dot, of PTX or of another language; `None` for other words.
pub(crate) fn undotted_type(src: &[u8], diagnostic: &Diagnostic) -> Option<Diagnostic> {
    let dotted = format!(".{}", String::from_utf8_lossy(diagnostic.span.of(src)));
    if ScalarType::from_text(dotted.as_bytes()).is_none() {
        return undotted_foreign_type(src, diagnostic);
    }
    let (help, start) = (suggestion(&dotted), diagnostic.span.start);
    let insertion = Span::new(start, start);
    Some(
        diagnostic
            .clone()
            .with_help(help)
            .with_fix(insertion, ".")
            .machine_applicable(),
    )
}

/// The error of a type of another language without its dot; `None` for other words.
pub(crate) fn undotted_foreign_type(src: &[u8], diagnostic: &Diagnostic) -> Option<Diagnostic> {
    let dotted = format!(".{}", String::from_utf8_lossy(diagnostic.span.of(src)));
    ForeignWord::from_text(&dotted)?;
    Some(likely_type(correct(diagnostic.clone(), &dotted, None)))
}

/// Adds an edit that writes the first type in the help, if there is no edit.
fn likely_type(diagnostic: Diagnostic) -> Diagnostic {
    let help = diagnostic.help.clone().unwrap_or_default();
    let ty = help
        .split('`')
        .find_map(|word| ScalarType::from_text(word.as_bytes()));
    match ty.filter(|_| diagnostic.fix.is_empty()) {
        Some(ty) => {
            let span = diagnostic.span;
            diagnostic
                .with_help(format!("{help}; for example `{ty}`"))
                .with_fix(span, ty.text())
        }
        None => diagnostic,
    }
}

/// The error of a word that is not an attribute.
pub(crate) fn attribute(src: &[u8], diagnostic: Diagnostic) -> Diagnostic {
    let word = String::from_utf8_lossy(diagnostic.span.of(src)).into_owned();
    let dotted = format!(".{}", word.trim_start_matches('.'));
    let attributes = [(".managed", ()), (".unified", ())].into_iter();
    let nearest = suggest::nearest_of(&dotted, attributes);
    correct(diagnostic, &word, nearest.map(|(similar, ())| similar))
}

/// The error of a word that is not a target.
pub(crate) fn target(src: &[u8], diagnostic: Diagnostic) -> Diagnostic {
    let text = String::from_utf8_lossy(diagnostic.span.of(src)).into_owned();
    correct(diagnostic, &text, suggest::target(&text))
}
