//! Names with numbers, and which declaration a name means.
//!
//! A declaration `.reg .b32 %r<8>` declares the *range* `%r0` to `%r7`; a *plain* declaration declares
//! one name. Both can make the same spelling. The rules here are those of ptxas; the parser, the
//! editor and the builder all use them.

/// Splits a name into a prefix and the digits of its numeric suffix.
///
/// ```
/// use ptx_ir::raw::name::split_numeric_suffix;
/// assert_eq!(split_numeric_suffix(b"%r17"), (&b"%r"[..], &b"17"[..]));
/// assert_eq!(split_numeric_suffix(b"%tid"), (&b"%tid"[..], &b""[..]));
/// ```
#[inline]
#[must_use]
pub fn split_numeric_suffix(name: &[u8]) -> (&[u8], &[u8]) {
    let digits = name.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    name.split_at(name.len() - digits)
}

/// [`split_numeric_suffix`] for text.
///
/// ```
/// assert_eq!(ptx_ir::raw::name::split_numeric_suffix_str("L3"), ("L", "3"));
/// ```
#[must_use]
pub fn split_numeric_suffix_str(name: &str) -> (&str, &str) {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name.split_at(prefix.len())
}

/// The number that the digits of a numeric suffix denote: ptxas counts in 32 bits, so that
/// `%r4294967297` is `%r1`, and leading zeros do not matter.
///
/// ```
/// assert_eq!(ptx_ir::raw::name::suffix_number(b"007"), 7);
/// assert_eq!(ptx_ir::raw::name::suffix_number(b"4294967297"), 1);
/// ```
#[inline]
#[must_use]
pub fn suffix_number(digits: &[u8]) -> u32 {
    digits.iter().fold(0u32, |n, &b| {
        n.wrapping_mul(10)
            .wrapping_add(u32::from(b.wrapping_sub(b'0')))
    })
}

/// The name of the range and the number of the member that `name` can denote; `None` for a name
/// without a numeric suffix, or of digits only.
///
/// ```
/// use ptx_ir::raw::name::range_member;
/// assert_eq!(range_member("%r17"), Some(("%r", 17)));
/// assert_eq!(range_member("%tid"), None);
/// ```
#[must_use]
pub fn range_member(name: &str) -> Option<(&str, u32)> {
    let (prefix, digits) = split_numeric_suffix_str(name);
    (!prefix.is_empty() && !digits.is_empty()).then(|| (prefix, suffix_number(digits.as_bytes())))
}

/// Whether a declaration of a plain name in the scope at depth `plain` is found before the member of
/// a range in the scope at depth `range`, both visible. Depths count from the module outward in: the
/// inner declaration wins, and in one scope the plain name.
#[inline]
#[must_use]
pub const fn plain_wins(plain: u32, range: u32) -> bool {
    plain >= range
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_wins_in_the_same_scope() {
        assert!(plain_wins(1, 1));
        assert!(plain_wins(2, 1));
        assert!(!plain_wins(0, 1));
    }

    #[test]
    fn digits_alone_are_not_a_range_member() {
        assert_eq!(range_member("17"), None);
        assert_eq!(range_member(""), None);
        assert_eq!(range_member("a"), None);
        assert_eq!(range_member("a00"), Some(("a", 0)));
    }
}
