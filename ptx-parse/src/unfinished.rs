//! Instructions that begin where an operand is expected: the statement before them is not finished.

use alloc::string::String;

use ptx_ir::lex::scan;
use ptx_ir::{Code, Diagnostic, Span};

use crate::statement_extent::is_opcode;

/// How far before an instruction the end of the statement before it is looked for.
const LOOK_BACK: usize = 1 << 12;

/// The error of the statement before the word at `word`, if that is the first one of its line, begins with an opcode, and follows
/// something on an earlier line that `;` does not end.
#[cold]
pub(crate) fn before(src: &[u8], word: Span) -> Option<Diagnostic> {
    let start = word.start as usize;
    let opcode = src.get(start..scan::ident_end(src, start))?;
    let (end, new_line) = end_before(src, start)?;
    let last = *src.get(end.checked_sub(1)?)?;
    if !new_line || !is_opcode(opcode) || b";{}:".contains(&last) {
        return None;
    }
    let found = String::from_utf8_lossy(word.of(src));
    let mark = Span::at(end - 1, end);
    if b"[(,".contains(&last) {
        let mark_text = char::from(last);
        let message =
            format!("expected an operand after `{mark_text}`, found the instruction `{found}`");
        return Some(
            Diagnostic::error(Code::UnexpectedToken, word, message)
                .with_label(mark, "this is not finished")
                .with_help(format!(
                    "remove this `{mark_text}`, and end the statement with `;`"
                ))
                .with_fix(mark, ";"),
        );
    }
    let message = format!("expected `;` before `{found}`");
    Some(
        Diagnostic::error(Code::MissingSemicolon, word, message)
            .with_label(mark, "expected `;` after this")
            .with_help("add `;` at the end of the statement")
            .with_fix(Span::at(end, end), ";")
            .machine_applicable(),
    )
}

/// Where the text before `at` ends, apart from white space and comments that begin with `//`, and whether that is on an earlier
/// line.
fn end_before(src: &[u8], at: usize) -> Option<(usize, bool)> {
    let mut end = at;
    let mut new_line = false;
    let first = at.saturating_sub(LOOK_BACK);
    loop {
        let line = memchr::memrchr(b'\n', src.get(first..end)?).map_or(first, |i| first + i + 1);
        let text = src.get(line..end)?;
        let code = memchr::memmem::find(text, b"//").filter(|_| new_line);
        let text = text.get(..code.unwrap_or(text.len()))?.trim_ascii_end();
        if !text.is_empty() {
            return Some((line + text.len(), new_line));
        }
        if line == first {
            return None;
        }
        (end, new_line) = (line - 1, true);
    }
}
