//! The operands of an instruction as written.

use ptx_ir::lex::{Lexer, TokenKind};

/// The operands in the text of an instruction, without comments and with a space only after commas.
pub(crate) fn operands(text: &[u8]) -> Vec<String> {
    let tokens = Lexer::fragment(text).filter(|t| !t.kind.is_trivia());
    let words = tokens.map(|t| (t.kind, String::from_utf8_lossy(t.span.of(text))));
    let mut words = words
        .skip_while(|(kind, _)| *kind != TokenKind::Ident)
        .peekable();
    // A guard ends before the opcode, which is the only identifier that follows another one.
    if text.trim_ascii_start().starts_with(b"@") {
        words.next();
        while words
            .next_if(|(kind, _)| *kind != TokenKind::Ident)
            .is_some()
        {}
    }
    words.next();
    while words
        .next_if(|(kind, _)| *kind == TokenKind::DotWord)
        .is_some()
    {}

    let (mut operands, mut depth) = (Vec::new(), 0u32);
    let mut operand = String::new();
    for (_, word) in words {
        match &*word {
            "[" | "{" | "(" => depth += 1,
            "]" | "}" | ")" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                operands.push(std::mem::take(&mut operand));
                continue;
            }
            ";" => break,
            _ => {}
        }
        operand += &word;
        if word == "," {
            operand.push(' ');
        }
    }
    if !operand.is_empty() {
        operands.push(operand);
    }
    operands
}

#[cfg(test)]
mod tests {
    use super::operands;

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
