//! JSON that is written byte by byte, where a serializer would take most of the time.

/// A string with its quotes.
pub fn string(out: &mut Vec<u8>, text: &str) {
    if serde_json::to_writer(&mut *out, text).is_err() {
        out.extend_from_slice(b"\"\"");
    }
}

/// A string, or `null`.
pub fn optional(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => string(out, text),
        None => raw(out, "null"),
    }
}

/// JSON as it is, or a string without characters that need escapes between quotes that are written separately.
#[inline]
pub fn raw(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// A string of letters, digits and other characters of identifiers.
#[inline]
pub fn word(out: &mut Vec<u8>, word: &str) {
    out.push(b'"');
    raw(out, word);
    out.push(b'"');
}

/// `true` or `false`.
pub fn flag(out: &mut Vec<u8>, flag: bool) {
    raw(out, if flag { "true" } else { "false" });
}

/// A comma, except the first time.
#[inline]
pub fn comma(out: &mut Vec<u8>, first: &mut bool) {
    if !std::mem::replace(first, false) {
        out.push(b',');
    }
}

/// A number; faster than formatting it.
#[inline]
pub fn number(out: &mut Vec<u8>, value: u32) {
    raw(out, itoa::Buffer::new().format(value));
}

/// A number with its sign.
#[inline]
pub fn signed(out: &mut Vec<u8>, value: i32) {
    raw(out, itoa::Buffer::new().format(value));
}
