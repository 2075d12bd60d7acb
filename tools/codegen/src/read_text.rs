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
pub(crate) fn text(input: Span<'_>) -> Parsed<'_, Text> {
    let pos = Pos::of(input);
    let strings = expect("a text in quotes", many1(string));
    let owner = opt(preceded(not(punct("'")), name));
    map((one_of, owner, strings), |(kind, name, strings)| Text {
        pos: pos.clone(),
        kind,
        name,
        text: strings.join("\n"),
    })
    .parse(input)
}

/// The sentence in the line below a line of the vocabulary; empty if there is none.
pub(crate) fn about(line: &Line<'_>) -> Result<String> {
    let [child] = &line.children[..] else {
        return line.leaf().map(|()| String::new());
    };
    child.leaf()?;
    let sentence = preceded(keyword("about"), expect("a sentence in quotes", string));
    child.parse(sentence)
}

/// The sentence and the example in the lines below a line; empty if there is none.
pub(crate) fn about_and_example(line: &Line<'_>) -> Result<(String, String)> {
    let (mut about, mut example) = (String::new(), String::new());
    for child in &line.children {
        child.leaf()?;
        let text = child.parse(text)?;
        match text.kind {
            TextKind::About => about = text.text,
            TextKind::Example => example = text.text,
            TextKind::Pitfall => return child.error("only instructions have pitfalls"),
        }
    }
    Ok((about, example))
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
