//! The functions on eight bytes, which only the parser calls.

#[path = "../../src/swar.rs"]
#[allow(unreachable_pub, reason = "the file belongs to the library")]
mod functions;

use functions::{before_space, load, numbered};

#[allow(clippy::unwrap_used, reason = "a test")]
fn word(text: &str) -> u64 {
    load(text.as_bytes(), 0).unwrap()
}

#[test]
fn numbered_names() {
    let n = numbered(word("%rd1531,")).unwrap();
    assert_eq!((n.number, n.len), (1531, 7));
    assert_eq!(n.key, word("%rd\0\0\0\0\x03"));
    let n = numbered(word("%r01;   ")).unwrap();
    assert_eq!((n.number, n.len), (1, 4));
    let n = numbered(word("a1234567")).map(|n| n.number);
    assert_eq!(n, None, "the end has to be seen");
    assert_eq!(numbered(word("%tid.x, ")), None);
    assert_eq!(numbered(word("12345678")), None);
    for number in [0u32, 7, 10, 99, 100, 9999, 10_000, 65_535, 99_999] {
        let text = format!("f{number},        ");
        assert_eq!(numbered(word(&text)).unwrap().number, number);
    }
}

#[test]
fn length_before_a_space() {
    for (text, len) in [
        ("ret;    ", 3),
        ("mov.u32 ", 7),
        ("add\t\t\t\t\t", 3),
        ("abcdefgh", 8),
    ] {
        assert_eq!(before_space(word(text)), len, "{text}");
    }
    assert_eq!(before_space(word("a\u{e9}b\u{e9}; ")), 6);
}
