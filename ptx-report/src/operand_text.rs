//! The operands of an instruction as written.

use std::str;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::scan::{class, dot_word_end, ident_end, is, peek, starts_ident};

/// Calls `visit` with each operand in the text of an instruction, without comments and with a space only after commas.
pub fn each(text: &[u8], visit: &mut dyn FnMut(&str)) {
    let operands = opcode_end(text).and_then(|end| plain(&text[end..]));
    match operands {
        Some(operands) => split(operands, visit),
        None => lexed(text, visit),
    }
}

/// The end of the opcode with its modifiers in a text without comments before it.
fn opcode_end(text: &[u8]) -> Option<usize> {
    let mut pos = space_end(text, 0);
    if peek(text, pos) == b'@' {
        pos = space_end(text, pos + 1);
        if peek(text, pos) == b'!' {
            pos = space_end(text, pos + 1);
        }
        if !starts_ident(text, pos) {
            return None;
        }
        pos = space_end(text, ident_end(text, pos));
    }
    if !starts_ident(text, pos) {
        return None;
    }
    pos = space_end(text, ident_end(text, pos));
    while peek(text, pos) == b'.' && is(peek(text, pos + 1), class::WORD) {
        pos = space_end(text, dot_word_end(text, pos));
    }
    Some(pos)
}

fn space_end(text: &[u8], mut pos: usize) -> usize {
    while is(peek(text, pos), class::WHITESPACE) {
        pos += 1;
    }
    pos
}

/// The text up to the semicolon, unless something in it has to be lexed: comments, strings, lines of a preprocessor.
fn plain(text: &[u8]) -> Option<&str> {
    let mut end = text.len();
    for (pos, byte) in text.iter().enumerate() {
        match byte {
            b';' => {
                end = pos;
                break;
            }
            b'/' | b'"' | b'#' | 0x80.. => return None,
            _ => {}
        }
    }
    str::from_utf8(text.get(..end)?).ok()
}

/// The operands of a plain text, which are parts of it where they are written without superfluous spaces.
fn split(text: &str, visit: &mut dyn FnMut(&str)) {
    let mut start = 0;
    let mut depth = 0u32;
    for (pos, byte) in text.bytes().enumerate() {
        match byte {
            b'[' | b'{' | b'(' => depth += 1,
            b']' | b'}' | b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                normalized(&text[start..pos], visit);
                start = pos + 1;
            }
            _ => {}
        }
    }
    let last = &text[start..];
    if last.bytes().any(|b| !is(b, class::WHITESPACE)) {
        normalized(last, visit);
    }
}

/// Calls `visit` with an operand, with a space only after commas.
fn normalized(operand: &str, visit: &mut dyn FnMut(&str)) {
    let is_space = |c: char| c.is_ascii() && is(c as u8, class::WHITESPACE);
    let trimmed = operand.trim_matches(is_space);
    if !trimmed
        .bytes()
        .any(|b| b == b',' || is(b, class::WHITESPACE))
    {
        return visit(trimmed);
    }
    let mut text = String::with_capacity(trimmed.len() + 8);
    for c in trimmed.chars().filter(|c| !is_space(*c)) {
        text.push(c);
        if c == ',' {
            text.push(' ');
        }
    }
    visit(&text);
}

/// Calls `visit` with each operand in any text, from its tokens.
fn lexed(text: &[u8], visit: &mut dyn FnMut(&str)) {
    let mut tokens = Lexer::fragment(text).filter(|t| !t.kind.is_trivia());
    let mut token = tokens.find(|t| t.kind == TokenKind::Ident);
    // A guard ends before the opcode, which is the only identifier that follows another one.
    if text.trim_ascii_start().starts_with(b"@") {
        token = tokens.find(|t| t.kind == TokenKind::Ident);
    }
    if token.is_none() {
        return;
    }
    let mut tokens = tokens.skip_while(|t| t.kind == TokenKind::DotWord);
    let mut operand = String::new();
    let mut depth = 0u32;
    for token in &mut tokens {
        let word = token.span.of(text);
        match word {
            b"[" | b"{" | b"(" => depth += 1,
            b"]" | b"}" | b")" => depth = depth.saturating_sub(1),
            b"," if depth == 0 => {
                visit(&operand);
                operand.clear();
                continue;
            }
            b";" => break,
            _ => {}
        }
        operand += &String::from_utf8_lossy(word);
        if word == b"," {
            operand.push(' ');
        }
    }
    if !operand.is_empty() {
        visit(&operand);
    }
}

#[cfg(test)]
mod tests {
    fn operands(text: &[u8]) -> Vec<String> {
        let mut all = Vec::new();
        super::each(text, &mut |operand| all.push(operand.to_owned()));
        all
    }

    /// The operands with and without the lexer.
    fn both(text: &[u8]) -> [Vec<String>; 2] {
        let mut lexed = Vec::new();
        super::lexed(text, &mut |operand| lexed.push(operand.to_owned()));
        [operands(text), lexed]
    }

    #[test]
    fn operands_are_those_of_the_lexer() {
        let parts = [
            "@",
            "!",
            "%p1",
            " ",
            "\t",
            "\n",
            "add",
            ".s32",
            ".2d",
            "::x",
            ".",
            "%r1",
            "%",
            ",",
            ", ",
            "[",
            "]",
            "{",
            "}",
            "(",
            ")",
            "|",
            "+",
            "-4",
            "1.5",
            "0f3F800000",
            ";",
            "/* , */",
            "// ;\n",
            "\"a, b\"",
            "#",
            "\u{e9}",
            "_",
            "$L",
            "<",
            ":",
        ];
        let mut random = 1u64;
        for _ in 0..200_000 {
            let mut text = String::new();
            while random >> 33 & 15 != 0 {
                random = random
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                text += parts[(random >> 40) as usize % parts.len()];
            }
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let [scanned, lexed] = both(text.as_bytes());
            assert_eq!(scanned, lexed, "{text:?}");
        }
    }

    #[test]
    fn operands_are_separated_outside_brackets() {
        for (text, wanted) in [
            ("ret;", &[][..]),
            ("@!%p1 bra $L;", &["$L"]),
            ("@%p.x  mov.b32 /* c */ %r1 , -1;", &["%r1", "-1"]),
            (
                "st.v2.u32 [%rd1 + 4], {%r1,%r2};",
                &["[%rd1+4]", "{%r1, %r2}"],
            ),
            ("call (r), f, (a,b);", &["(r)", "f", "(a, b)"]),
            ("setp.lt.s32 %p|%q, %r1, 2;", &["%p|%q", "%r1", "2"]),
        ] {
            assert_eq!(operands(text.as_bytes()), wanted, "{text}");
        }
    }

    /// The numbers of operands are those of the representation.
    #[test]
    fn operands_are_counted_as_by_the_parser() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpus/hand");
        let mut count = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let module = ptx_parse::parse(&std::fs::read(file.unwrap().path()).unwrap()).module;
            for (_, _, body) in module.definitions() {
                for (stmt, statement) in body.statements() {
                    if let ptx_ir::Statement::Inst(inst) = statement {
                        let text = body.source_span(stmt).of(module.source());
                        let written = operands(text);
                        let shown = String::from_utf8_lossy(text);
                        assert_eq!(written.len(), body.operands(inst).len(), "{shown}");
                        count += 1;
                    }
                }
            }
        }
        assert!(count > 1000);
    }
}
