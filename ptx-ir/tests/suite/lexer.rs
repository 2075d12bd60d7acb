//! The lexer: its tokens tile every text, and each spelling is the kind of token it should be.

use ptx_ir::lex::{Lexer, TokenKind};

fn kinds(text: &[u8]) -> Vec<(TokenKind, &[u8])> {
    Lexer::new(text)
        .map(|t| (t.kind, t.span.of(text)))
        .collect()
}

fn tile(text: &[u8]) {
    let mut at = 0;
    for token in Lexer::new(text) {
        assert_eq!(token.span.start, at, "{text:?}");
        assert!(token.span.end > at, "{text:?}");
        at = token.span.end;
    }
    assert_eq!(at as usize, text.len(), "{text:?}");
}

#[test]
fn single_tokens() {
    use TokenKind::*;
    let cases: &[(&str, TokenKind)] = &[
        ("add", Ident),
        ("%r1", Ident),
        ("$L", Ident),
        ("_x", Ident),
        ("__a$b", Ident),
        (".global", DotWord),
        (".L2::cache_hint", DotWord),
        (".shared::cluster::x", DotWord),
        ("0", Integer),
        ("42", Integer),
        ("42U", Integer),
        ("0x1F", Integer),
        ("0X1fU", Integer),
        ("0b101", Integer),
        ("0B101U", Integer),
        ("0777", Integer),
        ("1.5", Decimal),
        ("1.", Decimal),
        (".5", Decimal),
        ("1e5", Decimal),
        ("1.e5", Decimal),
        ("1.0E+5", Decimal),
        ("08.5", Decimal),
        ("0f3F800000", Single),
        ("0F3f800000", Single),
        ("0d3FF0000000000000", Double),
        ("08", BadNumber),
        ("1_000", BadNumber),
        ("0x", BadNumber),
        ("0b2", BadNumber),
        ("1u", BadNumber),
        ("0f3F80000", BadNumber),
        ("0d3FF00000000000000", BadNumber),
        ("\"a b\"", String),
        ("\"two\nlines\"", String),
        ("\"open", BadString),
        ("// c", LineComment),
        ("/* c\n */", BlockComment),
        ("/* open", BlockComment),
        ("# 1 \"f\"", LineMarker),
        ("#line 1 \"f\"", LineMarker),
        ("  \t\r\n\x0c", Whitespace),
        ("<<", Punct),
        ("&&", Punct),
        ("_", Punct),
        ("%", Punct),
        ("$", Punct),
        ("\u{feff}", ByteOrderMark),
        ("é", Unknown),
        ("\0", Unknown),
        ("`", Unknown),
    ];
    for (text, kind) in cases {
        assert_eq!(
            kinds(text.as_bytes()),
            [(*kind, text.as_bytes())],
            "{text:?}"
        );
    }
}

#[test]
fn a_dot_behind_a_word_begins_a_word() {
    let text = b"tex.1d.v4 1.5 .5 add .5";
    let found: Vec<_> = kinds(text)
        .into_iter()
        .filter(|(k, _)| !k.is_trivia())
        .collect();
    assert_eq!(found[1], (TokenKind::DotWord, &b".1d"[..]));
    assert_eq!(found[3], (TokenKind::Decimal, &b"1.5"[..]));
    assert_eq!(found[4], (TokenKind::Decimal, &b".5"[..]));
}

/// All texts of up to four bytes over an alphabet of the bytes that lexing tells apart.
#[test]
fn every_short_text_is_tiled() {
    let alphabet = b"a0.x_%$\"#/* \n:<=U8e+\xEF\0";
    let mut texts: Vec<Vec<u8>> = vec![Vec::new()];
    for _ in 0..4 {
        let longer: Vec<Vec<u8>> = texts
            .iter()
            .flat_map(|t| alphabet.iter().map(move |&b| [t.as_slice(), &[b]].concat()))
            .collect();
        longer.iter().for_each(|t| tile(t));
        texts = longer;
    }
}

#[test]
fn sources_in_modules() {
    let source = |text: &str| {
        let all = kinds(text.as_bytes());
        let found = all.iter().find(|(kind, _)| *kind == TokenKind::SourceText);
        found.map(|(_, text)| String::from_utf8_lossy(text).into_owned())
    };
    let found = source(".source_begin \n \"a /* b\n .source_end x\n\t.source_end\r\n}");
    assert_eq!(
        found.as_deref(),
        Some(" \n \"a /* b\n .source_end x\n\t.source_end\r\n")
    );
    assert_eq!(
        source(".source_begin\n.source_end").as_deref(),
        Some("\n.source_end")
    );
    for text in [
        ".source_begin a\n.source_end\n",
        ".source_begin\n.source_end a",
        ".source_begin .source_end",
    ] {
        assert_eq!(source(text), None, "{text}");
        tile(text.as_bytes());
    }
    tile(b".source_begin\nx\n.source_end\n}");
}
