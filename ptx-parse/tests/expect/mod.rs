//! Expected diagnostics: read from a test file or from the file beside it, compared, rewritten.
//!
//! In the source, after the text they are about: `//~ error[PTX0102]: part of the message`. Several
//! are allowed on a line. `//~^` is about the line above, `//~^^` about the one above that, `//~v`
//! about the line below.
//!
//! Beside the source, in `NAME.expected` for `NAME.ptx`, where comments would change what is tested:
//! `LINE:COL error[PTX0102] part of the message`, one a line.

use std::fmt;

use ptx_ir::{Diagnostic, LineIndex};

/// A diagnostic, found or expected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Finding {
    pub(crate) line: usize,
    /// The column; in the source none is expected.
    pub(crate) column: Option<usize>,
    /// Severity and code: `error[PTX0102]`.
    pub(crate) kind: String,
    /// The message or, of an expected one, a part of it.
    pub(crate) message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.line)?;
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, " {} {}", self.kind, self.message)
    }
}

impl Finding {
    fn is_met_by(&self, found: &Self) -> bool {
        self.line == found.line
            && (self.column.is_none() || self.column == found.column)
            && self.kind == found.kind
            && found.message.contains(&self.message)
    }
}

/// What a parser found in `source`.
pub(crate) fn found(source: &[u8], diagnostics: &[Diagnostic]) -> Vec<Finding> {
    let lines = LineIndex::new(source);
    let finding = |d: &Diagnostic| {
        let at = lines.position(d.span.start);
        Finding {
            line: at.line as usize,
            column: Some(at.column as usize),
            kind: format!("{}[{}]", d.severity.name(), d.code),
            message: d.message.clone(),
        }
    };
    diagnostics.iter().map(finding).collect()
}

/// What differs, a line each; nothing where all is as expected.
pub(crate) fn differences(expected: &[Finding], found: &[Finding]) -> Vec<String> {
    let mut open: Vec<&Finding> = expected.iter().collect();
    let mut wrong: Vec<(usize, String)> = Vec::new();
    for finding in found {
        match open.iter().position(|e| e.is_met_by(finding)) {
            Some(index) => drop(open.remove(index)),
            None => wrong.push((finding.line, format!("found, not expected: {finding}"))),
        }
    }
    for finding in open {
        wrong.push((finding.line, format!("expected, not found: {finding}")));
    }
    wrong.sort();
    wrong.into_iter().map(|(_, text)| text).collect()
}

/// What a file beside the source expects.
pub(crate) fn beside(text: &str) -> Result<Vec<Finding>, String> {
    let lines = text.lines().filter(|l| !l.trim().is_empty());
    lines
        .map(|line| {
            let mut words = line.splitn(3, ' ');
            let place = words.next().and_then(|w| w.split_once(':'));
            let (Some((row, column)), Some(kind)) = (place, words.next()) else {
                return Err(format!("not LINE:COL severity[CODE] message: {line}"));
            };
            let number = |text: &str| text.parse().map_err(|_| format!("no number: {line}"));
            Ok(Finding {
                line: number(row)?,
                column: Some(number(column)?),
                kind: kind.to_owned(),
                message: words.next().unwrap_or_default().to_owned(),
            })
        })
        .collect()
}

/// The text of a file beside the source.
pub(crate) fn to_beside(found: &[Finding]) -> String {
    found.iter().map(|f| format!("{f}\n")).collect()
}

const MARK: &str = "//~";

/// What the comments in a source expect.
pub(crate) fn inside(source: &[u8]) -> Result<Vec<Finding>, String> {
    let mut expected = Vec::new();
    for (index, line) in lines(source).enumerate() {
        for comment in comments(line) {
            expected.push(comment?.finding(index + 1)?);
        }
    }
    Ok(expected)
}

/// An expectation as written.
struct Comment {
    /// How many lines below the comment the diagnostic is expected.
    offset: isize,
    kind: String,
    message: String,
}

impl Comment {
    fn finding(self, line: usize) -> Result<Finding, String> {
        let line = line.checked_add_signed(self.offset).filter(|&l| l > 0);
        Ok(Finding {
            line: line.ok_or("an expectation for a line above the first")?,
            column: None,
            kind: self.kind,
            message: self.message,
        })
    }
}

fn lines(source: &[u8]) -> impl Iterator<Item = &[u8]> {
    source.split_inclusive(|&b| b == b'\n')
}

fn comments(line: &[u8]) -> Vec<Result<Comment, String>> {
    let text = String::from_utf8_lossy(line);
    text.split(MARK).skip(1).map(comment).collect()
}

fn comment(text: &str) -> Result<Comment, String> {
    let bad = || format!("not `error[CODE]: message` or `warning[CODE]: message`: {text}");
    let rest = text.trim_start_matches(['^', 'v']);
    let arrows = &text[..text.len() - rest.len()];
    let offset = match arrows.chars().next() {
        None => 0,
        Some('^') if arrows.chars().all(|c| c == '^') => -(arrows.len() as isize),
        Some('v') if arrows.chars().all(|c| c == 'v') => arrows.len() as isize,
        Some(_) => return Err(bad()),
    };
    let rest = rest.trim();
    let end = rest.find(']').ok_or_else(bad)? + 1;
    let (kind, message) = rest.split_at(end);
    if !(kind.starts_with("error[PTX") || kind.starts_with("warning[PTX")) {
        return Err(bad());
    }
    let message = match message.strip_prefix(':') {
        Some(message) => message.trim(),
        None if message.is_empty() => "",
        None => return Err(bad()),
    };
    Ok(Comment {
        offset,
        kind: kind.to_owned(),
        message: message.to_owned(),
    })
}

/// The position of the expectations of a line.
#[derive(Clone, PartialEq, Eq)]
enum Side {
    Above(Vec<u8>),
    Below(Vec<u8>),
}

/// A source without its expectations, and the position of those on separate lines: the line
/// they are about (from 1), the side, and the indentation.
pub(crate) struct Bare {
    pub(crate) source: Vec<u8>,
    sides: Vec<(usize, Side)>,
}

/// Takes the expectations out of a source.
pub(crate) fn strip(source: &[u8]) -> Bare {
    let mut bare = Vec::new();
    let mut sides = Vec::new();
    // How many lines remain so far.
    let mut kept = 0usize;
    for line in lines(source) {
        let Some(at) = find(line, MARK.as_bytes()) else {
            bare.extend_from_slice(line);
            kept += 1;
            continue;
        };
        let before = line.get(..at).unwrap_or_default();
        let text = before.trim_ascii_end();
        if !text.is_empty() {
            bare.extend_from_slice(text);
            bare.extend_from_slice(line_end(line));
            kept += 1;
        } else if let Some(Ok(comment)) = comments(line).into_iter().next() {
            // Expectations are about lines with text, and none of these lies between.
            match comment.offset {
                0 => {}
                1.. => sides.push((kept + 1, Side::Above(before.to_vec()))),
                _ => sides.push((kept, Side::Below(before.to_vec()))),
            }
        }
    }
    Bare {
        source: bare,
        sides,
    }
}

/// The source with what was found written after each line.
pub(crate) fn annotate(bare: &Bare, found: &[Finding]) -> Vec<u8> {
    let mut source = Vec::new();
    let mut rest = found;
    for (number, line) in (1..).zip(lines(&bare.source).chain([&[][..]])) {
        let count = rest.iter().take_while(|f| f.line <= number).count();
        let (here, later) = rest.split_at(count);
        rest = later;
        let write = |arrow: &str| -> Vec<u8> {
            let texts: Vec<String> = here
                .iter()
                .map(|f| format!("{MARK}{arrow} {}: {}", f.kind, f.message))
                .collect();
            texts.join(" ").into_bytes()
        };
        let end = line_end(line);
        let text = line.get(..line.len() - end.len()).unwrap_or_default();
        let side = bare.sides.iter().find(|s| s.0 == number).map(|s| &s.1);
        match side {
            _ if here.is_empty() => source.extend_from_slice(line),
            None => {
                source.extend_from_slice(text);
                if !text.is_empty() {
                    source.extend_from_slice(b"  ");
                }
                source.extend(write(""));
                source.extend_from_slice(end);
            }
            Some(Side::Above(indent)) => {
                source.extend_from_slice(indent);
                source.extend(write("v"));
                source.push(b'\n');
                source.extend_from_slice(line);
            }
            Some(Side::Below(indent)) => {
                source.extend_from_slice(line);
                source.extend_from_slice(indent);
                source.extend(write("^"));
                source.push(b'\n');
            }
        }
    }
    source
}

fn line_end(line: &[u8]) -> &[u8] {
    let body = line.strip_suffix(b"\n").unwrap_or(line);
    let body = body.strip_suffix(b"\r").unwrap_or(body);
    line.get(body.len()..).unwrap_or_default()
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|w| w == what)
}
