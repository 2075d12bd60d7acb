//! Checks whether a text can be declared as a name.

use ptx_ir::raw::{name::suffix_number, scan};
use ptx_isa::SpecialReg;

use super::NameForm;

/// Words that ptxas does not read as names.
const RESERVED: [&[u8]; 3] = [b"WARP_SZ", b"inlined_at", b"function_name"];

/// Checks that a name can be declared; the error is a description of the expected text.
pub(crate) fn check_spelling(name: &[u8], form: NameForm) -> Result<(), &'static str> {
    if !scan::starts_ident(name, 0) || scan::ident_end(name, 0) != name.len() {
        return Err("name");
    }
    if SpecialReg::from_text(name).is_some() || RESERVED.contains(&name) {
        return Err("name that is not reserved");
    }
    // ptxas takes all digits at the end of a name as the number of a member.
    if form == NameForm::Range && name.last().is_some_and(u8::is_ascii_digit) {
        return Err("name of a range, which must not end with a digit");
    }
    Ok(())
}

/// Returns whether a word spells a name or, if there is a number, this member of the range of that name.
pub(crate) fn denotes(word: &[u8], name: &[u8], member: Option<u32>) -> bool {
    word.strip_prefix(name).is_some_and(|digits| match member {
        None => digits.is_empty(),
        Some(number) => {
            !digits.is_empty()
                && digits.iter().all(u8::is_ascii_digit)
                && suffix_number(digits) == number
        }
    })
}
