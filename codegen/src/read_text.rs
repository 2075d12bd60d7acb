//! Sentences and examples: `about`, `example`, `pitfall`.

use nom::Parser;
use nom::combinator::{map, not, opt, peek};
use nom::multi::many1;
use nom::sequence::preceded;

use crate::input::{
    Line, Parsed, Pos, Result, Span, expect, keyword, name, one_of, punct, string, word,
};
use crate::notation::{Text, TextKind};

/// Whether a line is one of these statements.
pub(crate) fn is_text(line: &Line<'_>) -> bool {
    peek(one_of::<TextKind>).parse(line.text).is_ok()
}

/// `about "…"`, `pitfall NAME "…"`, `example "FIRST LINE" "SECOND LINE"`
pub(crate) fn text(at: Span<'_>) -> Parsed<'_, Text> {
    let pos = Pos::of(at);
    let strings = expect("a text in quotes", many1(string));
    let owner = opt(preceded(not(punct("'")), name));
    map((one_of, owner, strings), |(kind, name, strings)| Text {
        pos: pos.clone(),
        kind,
        name,
        text: strings.join("\n"),
    })
    .parse(at)
}

/// The sentence in the line below a line of the vocabulary; empty if there is none.
pub(crate) fn about(line: &Line<'_>) -> Result<String> {
    let [below] = &line.children[..] else {
        return line.leaf().map(|()| String::new());
    };
    below.leaf()?;
    let sentence = preceded(keyword("about"), expect("a sentence in quotes", string));
    below.parse(sentence)
}

/// The sentence below a line, and the example below that; empty if there is none.
pub(crate) fn about_and_example(line: &Line<'_>) -> Result<(String, String)> {
    let mut texts = (String::new(), String::new());
    for below in &line.children {
        below.leaf()?;
        let text = below.parse(text)?;
        match text.kind {
            TextKind::About => texts.0 = text.text,
            TextKind::Example => texts.1 = text.text,
            TextKind::Pitfall => return below.error("only instructions have pitfalls"),
        }
    }
    Ok(texts)
}

/// `about WORD "…"`, in a file that lists several words to a line.
pub(crate) fn about_word(line: &Line<'_>) -> Result<(crate::input::Word, String)> {
    line.parse(preceded(
        word,
        (
            expect("a word of the vocabulary", name),
            expect("a sentence in quotes", string),
        ),
    ))
}
