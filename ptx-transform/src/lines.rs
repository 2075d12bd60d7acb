//! Pieces taken out of a text so that no empty lines and no trailing blanks are left behind.

use alloc::vec::Vec;

use ptx_ir::Span;

use crate::Splices;

/// Removes pieces. A line of which nothing but blanks is left goes as a whole; blanks before a piece at the end of its line
/// go with it; where two words would meet, a blank stays between them.
pub(crate) fn remove(source: &[u8], mut pieces: Vec<Span>, splices: &mut Splices) {
    pieces.sort();
    let merged = merge(pieces);
    let mut next = 0;
    while let Some(&piece) = merged.get(next) {
        // All pieces of the lines that this one touches.
        let mut last = next;
        let start = line_start(source, piece.start);
        let mut end = line_end(source, piece.end);
        while let Some(more) = merged.get(last + 1).filter(|p| p.start < end) {
            end = line_end(source, more.end);
            last += 1;
        }
        let lines = Span::new(start, end);
        remove_from(
            source,
            lines,
            merged.get(next..=last).unwrap_or_default(),
            splices,
        );
        next = last + 1;
    }
}

fn merge(pieces: Vec<Span>) -> Vec<Span> {
    let mut merged: Vec<Span> = Vec::new();
    for piece in pieces {
        match merged.last_mut().filter(|l| piece.start <= l.end) {
            Some(last) => last.end = last.end.max(piece.end),
            None => merged.push(piece),
        }
    }
    merged
}

fn line_start(source: &[u8], at: u32) -> u32 {
    let before = Span::new(0, at).of(source);
    before
        .iter()
        .rposition(|&b| b == b'\n')
        .map_or(0, |i| i as u32 + 1)
}

/// Behind the newline of the line of the byte before `at`.
fn line_end(source: &[u8], at: u32) -> u32 {
    if at > 0 && source.get(at as usize - 1) == Some(&b'\n') {
        return at;
    }
    let rest = source.get(at as usize..).unwrap_or_default();
    at + rest
        .iter()
        .position(|&b| b == b'\n')
        .map_or(rest.len(), |i| i + 1) as u32
}

/// Removes pieces from lines that nothing else is removed from.
fn remove_from(source: &[u8], lines: Span, pieces: &[Span], splices: &mut Splices) {
    let gap_before = |i: usize| {
        let from = match i {
            0 => lines.start,
            _ => pieces.get(i - 1).map_or(lines.start, |p| p.end),
        };
        Span::new(from, pieces.get(i).map_or(lines.end, |p| p.start))
    };
    let blank = |gap: Span| gap.of(source).iter().all(u8::is_ascii_whitespace);
    if (0..=pieces.len()).all(|i| blank(gap_before(i))) {
        splices.remove(lines);
        return;
    }
    for (i, piece) in pieces.iter().enumerate() {
        let before = gap_before(i);
        let after = gap_before(i + 1);
        let kept = before.of(source);
        let blanks = kept.iter().rev().take_while(|b| matches!(b, b' ' | b'\t'));
        let blanks = blanks.count();
        let rest = after.of(source);
        let mut behind = rest
            .iter()
            .skip_while(|b| matches!(b, b' ' | b'\t' | b'\r'));
        let ends_line = behind.next().is_none_or(|b| *b == b'\n');
        let begins_line = i == 0 && blanks == kept.len();
        if ends_line && !begins_line {
            splices.remove(Span::new(piece.start - blanks as u32, piece.end));
        } else if begins_line || blanks > 0 || rest.first().is_none_or(u8::is_ascii_whitespace) {
            splices.remove(*piece);
        } else {
            splices.replace(*piece, b" ");
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    /// Removes what stands between `<` and `>`, those included.
    fn without(text: &str) -> String {
        let mut pieces = Vec::new();
        let mut open = 0;
        for (i, b) in text.bytes().enumerate() {
            match b {
                b'<' => open = i as u32,
                b'>' => pieces.push(Span::new(open, i as u32 + 1)),
                _ => {}
            }
        }
        let mut splices = Splices::new();
        remove(text.as_bytes(), pieces, &mut splices);
        String::from_utf8(splices.apply(text.as_bytes()).text).unwrap_or_default()
    }

    #[test]
    fn nothing_is_left_behind() {
        for (text, rest) in [
            ("a\n  <one>\nb\n", "a\nb\n"),
            ("a <one>\nb", "a\nb"),
            ("a <one> <two>\r\nb", "a\r\nb"),
            ("<one> <two>\nb", "b"),
            ("a<one>b", "a b"),
            ("a <one>b", "a b"),
            ("  <one> b", "   b"),
            ("a <one\ntwo> b\n", "a  b\n"),
            ("<one\n> <two>\n\nb", "\nb"),
            ("a\n<one>", "a\n"),
        ] {
            assert_eq!(without(text), rest, "{text:?}");
        }
    }
}
