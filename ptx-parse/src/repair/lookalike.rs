//! Characters outside ASCII that look like ASCII characters.

use alloc::string::String;
use ptx_ir::{Diagnostic, Span};

use crate::statement_extent::line_end;

/// Characters, with the ASCII character that they look like. Characters of full width are computed instead.
const LOOKALIKES: &[(&[char], char)] = &[
    (
        &[
            '\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}', '\u{2212}',
        ],
        '-',
    ),
    (
        &[
            '\u{ab}', '\u{bb}', '\u{201c}', '\u{201d}', '\u{201e}', '\u{2033}',
        ],
        '"',
    ),
    (
        &['\u{60}', '\u{b4}', '\u{2018}', '\u{2019}', '\u{2032}'],
        '\'',
    ),
    (&['\u{d7}', '\u{2217}', '\u{22c5}'], '*'),
    (&['\u{2044}', '\u{2215}', '\u{f7}'], '/'),
    (&['\u{37e}'], ';'),
    (&['\u{201a}', '\u{3001}'], ','),
    (&['\u{2026}', '\u{3002}'], '.'),
    (&['\u{2039}'], '<'),
    (&['\u{203a}'], '>'),
];

/// The ASCII character that another character looks like.
fn lookalike(c: char) -> Option<char> {
    let code = c as u32;
    if matches!(code, 0xff01..=0xff5e) {
        return char::from_u32(code - 0xff01 + 0x21);
    }
    let is_invisible = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
    if is_invisible || c.is_whitespace() && !c.is_ascii() {
        return Some(' ');
    }
    LOOKALIKES
        .iter()
        .find(|(characters, _)| characters.contains(&c))
        .map(|(_, ascii)| *ascii)
}

/// The end of the zeros at `start`, if only white space and zeros follow.
fn final_zeros(src: &[u8], start: usize) -> Option<usize> {
    let text = src.get(start..).filter(|text| text.starts_with(b"\0"))?;
    let last = text.iter().rposition(|b| *b == 0)?;
    text.iter()
        .all(|b| *b == 0 || b.is_ascii_whitespace())
        .then_some(start + last + 1)
}

/// Adds the ASCII character that is meant to the error of an unexpected character.
#[cold]
pub(crate) fn explain(src: &[u8], diagnostic: Diagnostic) -> Diagnostic {
    let start = diagnostic.span.start as usize;
    if let Some(end) = final_zeros(src, start) {
        let help = "the text ends with the NUL of a C string: remove the final NUL";
        return diagnostic
            .with_help(help)
            .with_fix(Span::at(start, end), "");
    }
    if src.get(start) == Some(&0) {
        let zeros = src[start..].iter().take_while(|b| **b == 0).count();
        return diagnostic
            .with_help("a NUL ends a text for ptxas: remove it")
            .with_fix(Span::at(start, start + zeros), "");
    }
    let line = String::from_utf8_lossy(&src[start..line_end(src, start)]);
    let Some(character) = line.chars().next().filter(|c| !c.is_ascii()) else {
        return diagnostic;
    };
    let code = character as u32;
    let Some(ascii) = lookalike(character) else {
        return diagnostic.with_help(format!(
            "U+{code:04X} is not ASCII: only comments can contain such characters"
        ));
    };
    let span = Span::at(start, start + character.len_utf8());
    if ascii == ' ' {
        let help = format!("U+{code:04X} looks like a space: write an ordinary space");
        let diagnostic = diagnostic.with_help(help).with_fix(span, " ");
        // An invisible character may have to be removed instead.
        return if character.is_whitespace() {
            diagnostic.machine_applicable()
        } else {
            diagnostic
        };
    }
    let help = format!("`{character}` (U+{code:04X}) looks like `{ascii}`: write `{ascii}`");
    let mut diagnostic = diagnostic.with_help(help).with_fix(span, ascii);
    if ascii == '"' {
        // The edit includes the closing quote of the string.
        let mut quotes = line.char_indices().skip(1);
        if let Some((i, quote)) = quotes.find(|(_, c)| lookalike(*c) == Some('"') || *c == '"') {
            let offset = start + i;
            let span = Span::at(offset, offset + quote.len_utf8());
            diagnostic = diagnostic.with_fix(span, ascii);
        }
    }
    diagnostic.machine_applicable()
}
