//! What kernels print.

use std::borrow::Cow;

use ptx_report::clean;

/// The output of `printf`, as it is, or for a terminal: without control characters other than line ends and tabs.
pub(super) fn printed(output: &[u8], is_terminal: bool) -> Cow<'_, [u8]> {
    if !is_terminal {
        return Cow::Borrowed(output);
    }
    let text = String::from_utf8_lossy(output);
    let of_line = |line: &str| line.split('\t').map(clean).collect::<Vec<_>>().join("\t");
    let lines: Vec<String> = text.split('\n').map(of_line).collect();
    Cow::Owned(lines.join("\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_characters() {
        let output = b"a\tb\n\x1b]0;title\x07c\xff\n";
        assert_eq!(&*printed(output, false), output);
        let shown = printed(output, true);
        let expected = "a\tb\n\\u{1b}]0;title\\u{7}c\u{fffd}\n";
        assert_eq!(String::from_utf8_lossy(&shown), expected);
    }
}
