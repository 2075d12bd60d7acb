//! Instructions in the place of an operand: the statement before them is not finished.

use alloc::string::String;

use ptx_ir::raw::scan;
use ptx_ir::{Code, Diagnostic, Span};

use crate::statement_extent::is_opcode;

/// The number of bytes before an instruction in which the end of the previous statement is searched.
const LOOK_BACK: usize = 1 << 12;

/// The error of the statement before `word`, if the word begins a line with an opcode, and the statement on an earlier line
/// does not end with `;`.
#[cold]
pub(crate) fn before(src: &[u8], word: Span) -> Option<Diagnostic> {
    let start = word.start as usize;
    let opcode = src.get(start..scan::ident_end(src, start))?;
    let (end, new_line) = end_before(src, start)?;
    let last = *src.get(end.checked_sub(1)?)?;
    if !new_line || !is_opcode(opcode) || b";{}:".contains(&last) {
        return None;
    }
    let instruction = String::from_utf8_lossy(word.of(src));
    let mark = Span::at(end - 1, end);
    if b"[(,".contains(&last) {
        let mark_text = char::from(last);
        let message = format!(
            "expected an operand after `{mark_text}`, found the instruction `{instruction}`"
        );
        return Some(
            Diagnostic::error(Code::UnexpectedToken, word, message)
                .with_label(mark, "this is not finished")
                .with_help(format!(
                    "remove this `{mark_text}`, and end the statement with `;`"
                ))
                .with_fix(mark, ";"),
        );
    }
    let message = format!("expected `;` before `{instruction}`");
    Some(
        Diagnostic::error(Code::MissingSemicolon, word, message)
            .with_label(mark, "expected `;` after this")
            .with_help("add `;` at the end of the statement")
            .with_fix(Span::at(end, end), ";")
            .machine_applicable(),
    )
}

/// The end of the text before `offset`, apart from white space and comments that begin with `//`, and whether it is on an earlier
/// line.
fn end_before(src: &[u8], offset: usize) -> Option<(usize, bool)> {
    let mut end = offset;
    let mut new_line = false;
    let first = offset.saturating_sub(LOOK_BACK);
    loop {
        let line_start =
            memchr::memrchr(b'\n', src.get(first..end)?).map_or(first, |i| first + i + 1);
        let line = src.get(line_start..end)?;
        let comment = memchr::memmem::find(line, b"//").filter(|_| new_line);
        let code = line.get(..comment.unwrap_or(line.len()))?.trim_ascii_end();
        if !code.is_empty() {
            return Some((line_start + code.len(), new_line));
        }
        if line_start == first {
            return None;
        }
        (end, new_line) = (line_start - 1, true);
    }
}
