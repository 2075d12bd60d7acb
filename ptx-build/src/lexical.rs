//! Checks of the spelling of names, constants, strings and mnemonics.

use alloc::string::String;

use ptx_ir::raw::{read_expression, scan};
use ptx_ir::{Code, Limits};
use ptx_isa::SpecialReg;

use crate::error::{BuildError, BuildErrorKind};

/// Whether `text` is one constant expression.
pub(crate) fn is_constant(text: &str) -> bool {
    let read = read_expression(text.as_bytes(), 0, Limits::default().nesting);
    // Spaces between tokens are allowed, comments and newlines are not.
    let is_plain = text.bytes().all(|b| (b' '..0x7F).contains(&b));
    let has_comment = text.contains("/*") || text.contains("//");
    read.value.is_ok() && read.end == text.len() && is_plain && !has_comment
}

#[cold]
pub(crate) fn no_constant(text: &str) -> BuildError {
    BuildError::new(
        BuildErrorKind::Spelling,
        format!("invalid constant `{text}`"),
        "a constant is a number such as `0x10`, `1.5` or `0f3F800000`, or an expression of numbers: `4*8`",
    )
    .with_code(Code::MalformedNumber)
}

/// Refuses an invalid name.
pub(crate) fn name(text: &str) -> Result<(), BuildError> {
    let bytes = text.as_bytes();
    if text == "WARP_SZ" {
        let message = format!("`{text}` is a constant of the language and cannot be declared");
        return BuildErrorKind::Spelling.refuse(Code::ReservedName, message, "take another name");
    }
    if scan::starts_ident(bytes, 0) && scan::ident_end(bytes, 0) == bytes.len() && text != "_" {
        return Ok(());
    }
    let help = "a name begins with a letter, or with `_`, `$` or `%` and another character; letters, digits, `_` and `$` follow";
    Err(BuildError::new(
        BuildErrorKind::Spelling,
        format!("invalid name `{text}`"),
        help,
    ))
}

/// Whether the members of a range with this name cannot be named.
pub(crate) fn ends_with_digit(range: &str) -> bool {
    range.ends_with(|c: char| c.is_ascii_digit())
}

/// A string with its quotes.
pub(crate) fn string(text: &str) -> Result<String, BuildError> {
    let mut bytes = text.bytes();
    if bytes.all(|b| b.is_ascii() && !matches!(b, b'"' | b'\n' | b'\r' | 0)) {
        return Ok(format!("\"{text}\""));
    }
    let message = format!("`{text}` cannot be written between quotes");
    let help =
        "a string has ASCII characters on one line, and no `\"`: PTX has no way to escape them";
    Err(BuildError::new(BuildErrorKind::Spelling, message, help))
}

/// Refuses what cannot be the name of something of the module.
pub(crate) fn module_name(text: &str) -> Result<(), BuildError> {
    if SpecialReg::from_text(text.as_bytes()).is_none() {
        return name(text);
    }
    let message = format!("`{text}` is a special register, and no name of a module");
    BuildErrorKind::Spelling.refuse(Code::ReservedName, message, "take another name")
}

/// Refuses an invalid mnemonic: an opcode, then modifiers with their dots.
pub(crate) fn mnemonic(text: &str) -> Result<(), BuildError> {
    let bytes = text.as_bytes();
    let mut end = 0;
    if scan::starts_ident(bytes, 0) {
        end = scan::ident_end(bytes, 0);
    }
    while end > 0 && end < bytes.len() {
        let next = scan::dot_word_end(bytes, end);
        end = match scan::peek(bytes, end) {
            b'.' if next > end + 1 => next,
            _ => 0,
        };
    }
    if end > 0 {
        return Ok(());
    }
    Err(BuildError::new(
        BuildErrorKind::Spelling,
        format!("invalid mnemonic `{text}`"),
        "a mnemonic is an opcode and its modifiers, each after a dot, without white space: `add.s32`",
    ))
}
