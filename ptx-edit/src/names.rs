//! How names are spelled: identifiers, and members of ranges.

use ptx_ir::lex::scan;

/// Whether `text` is one identifier.
pub(crate) fn is_identifier(text: &str) -> bool {
    scan::starts_ident(text.as_bytes(), 0) && scan::ident_end(text.as_bytes(), 0) == text.len()
}

/// Whether a word spells a name, or a member of the range of that name.
pub(crate) fn denotes(word: &[u8], name: &[u8], member: Option<u32>) -> bool {
    word.strip_prefix(name).is_some_and(|rest| match member {
        None => rest.is_empty(),
        Some(number) => member_number(rest) == Some(number),
    })
}

/// The number that digits are, as ptxas counts: modulo 2³². `None` for anything but digits.
pub(crate) fn member_number(digits: &[u8]) -> Option<u32> {
    let all = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    all.then(|| {
        digits.iter().fold(0u32, |n, b| {
            n.wrapping_mul(10).wrapping_add(u32::from(b - b'0'))
        })
    })
}
