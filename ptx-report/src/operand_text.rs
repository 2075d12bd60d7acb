//! The operands of an instruction as written.

use ptx_ir::lex::{Lexer, TokenKind};

/// Calls `each` with the operands in the text of an instruction, without comments and with a space only after commas.
pub fn each(text: &[u8], each: &mut dyn FnMut(&str)) {
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
                each(&operand);
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
        each(&operand);
    }
}

#[cfg(test)]
mod tests {
    fn operands(text: &[u8]) -> Vec<String> {
        let mut all = Vec::new();
        super::each(text, &mut |operand| all.push(operand.to_owned()));
        all
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
