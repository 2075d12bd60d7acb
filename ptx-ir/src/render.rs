//! Diagnostics with the lines of the source that they are about.
//!
//! A snippet shows at most a few lines around each place, and of a line at most the width of a wide terminal.
//!
//! ```
//! use ptx_ir::{Code, Diagnostic, Span};
//! let source = b".version 8.0\n.target sm_90\n.gloabl .b32 x;\n";
//! let error = Diagnostic::error(Code::UnknownDirective, Span::new(27, 34), "unknown directive `.gloabl`");
//! let text = error.render("a.ptx", source);
//! assert!(text.starts_with("error[PTX0103]: unknown directive `.gloabl`\n --> a.ptx:3:1\n"));
//! ```

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;
use core::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Snippet};

use crate::{Diagnostic, LineIndex, Patch, Severity, Span};

/// The maximum number of bytes of a line that are shown.
const MAX_WIDTH: usize = 160;
/// The number of bytes of a long line that are shown before the place.
const BYTES_BEFORE_PLACE: usize = 60;
/// The maximum number of lines between the first and the last line of an underlined place. Only the first line of a larger place is
/// shown.
const MAX_HEIGHT: u32 = 6;
/// The maximum number of repeats that are shown: the first with each message that is not the one of the diagnostic.
const MAX_REPEATS: usize = 12;
/// The maximum number of lines between two places that are shown together.
const MAX_DISTANCE: u32 = 4;

/// A source with its name and the index of its lines, which diagnostics are shown in.
#[derive(Clone, Debug)]
pub struct NamedSource<'s> {
    name: &'s str,
    source: &'s [u8],
    lines: Cow<'s, LineIndex>,
}

impl<'s> NamedSource<'s> {
    /// A source; linear in its length.
    #[must_use]
    pub fn new(name: &'s str, source: &'s [u8]) -> Self {
        Self {
            name,
            source,
            lines: Cow::Owned(LineIndex::new(source)),
        }
    }

    /// A source whose lines are indexed already.
    #[doc(hidden)]
    #[must_use]
    pub fn with_lines(name: &'s str, source: &'s [u8], lines: &'s LineIndex) -> Self {
        Self {
            name,
            source,
            lines: Cow::Borrowed(lines),
        }
    }
}

impl Diagnostic {
    /// The diagnostic with the lines of the source it is about, as plain text with a newline at its
    /// end. To show many diagnostics of one source use a [`Renderer`], which indexes its lines once.
    #[must_use]
    pub fn render(&self, name: &str, source: &[u8]) -> String {
        Renderer::plain().render(&NamedSource::new(name, source), self)
    }
}

/// Shows diagnostics with the lines of their source.
#[derive(Clone, Debug)]
pub struct Renderer {
    renderer: annotate_snippets::Renderer,
}

impl Renderer {
    /// A renderer of plain text.
    #[must_use]
    pub fn plain() -> Self {
        Self::with(annotate_snippets::Renderer::plain())
    }

    /// A renderer of text with ANSI colors.
    #[must_use]
    pub fn styled() -> Self {
        Self::with(annotate_snippets::Renderer::styled())
    }

    fn with(renderer: annotate_snippets::Renderer) -> Self {
        // Long lines are cut around the places in this module, so the renderer must not cut them.
        Self {
            renderer: renderer.term_width(4 * MAX_WIDTH),
        }
    }

    /// A diagnostic of this source, with a newline at its end.
    #[must_use]
    pub fn render(&self, report: &NamedSource<'_>, diagnostic: &Diagnostic) -> String {
        self.render_with(report, diagnostic, None)
    }

    /// As [`render`](Self::render), with a note below the source lines.
    #[doc(hidden)]
    #[must_use]
    pub fn render_with(
        &self,
        report: &NamedSource<'_>,
        diagnostic: &Diagnostic,
        note: Option<&str>,
    ) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level
            .primary_title(escape_controls(&diagnostic.message))
            .id(diagnostic.code.to_string());
        let mut group = Group::with_title(title);
        let frames = frames(report, diagnostic);
        for frame in &frames {
            group = group.element(frame.draw(report));
        }
        if let Some(note) = note {
            group = group.element(Level::NOTE.message(escape_controls(note)));
        }
        let edits = drawn_edits(report, diagnostic);
        let help = diagnostic.help.as_deref().map(escape_controls);
        let mut groups = vec![group];
        if edits.is_empty() {
            if let (Some(group), Some(help)) = (groups.first_mut(), help) {
                *group = group.clone().element(Level::HELP.message(help));
            }
        } else {
            let help = help.unwrap_or(Cow::Borrowed("change this"));
            let title = Level::HELP.secondary_title(help);
            groups.push(Group::with_title(title).elements(edits));
        }
        let drawn = self.renderer.render(&groups);

        // The renderer has places in the cut text, not in the file: the file name, the line and the column are inserted here. Only
        // in the lines of these, a mark has no `|` before it.
        let mut text = String::with_capacity(drawn.len() + 64);
        let mut frames = frames.iter();
        for line in drawn.lines() {
            match line.split_once(MARK) {
                Some((arrow, place)) if !text.is_empty() && !arrow.contains('|') => {
                    text.push_str(arrow);
                    if let Some(frame) = frames.next() {
                        text.push_str(&frame.origin(report));
                    }
                    text.push_str(
                        place.trim_start_matches(|c: char| c == ':' || c.is_ascii_digit()),
                    );
                }
                _ => text.push_str(line),
            }
            text.push('\n');
        }
        text
    }
}

/// A placeholder for the file name until the text is rendered: a character for private use, which sources hardly contain.
const MARK: &str = "\u{e000}";

/// An underlined part of the source.
struct Place<'d> {
    start: u32,
    end: u32,
    /// First and last line it covers.
    lines: (u32, u32),
    kind: AnnotationKind,
    label: Option<&'d str>,
}

impl<'d> Place<'d> {
    fn new(
        report: &NamedSource<'_>,
        span: Span,
        kind: AnnotationKind,
        label: Option<&'d str>,
    ) -> Self {
        let size = u32::try_from(report.source.len()).unwrap_or(u32::MAX);
        let start = span.start.min(size);
        let mut end = span.end.clamp(start, size);
        let first = report.lines.position(start).line;
        let mut last = report.lines.position(end.max(start + 1) - 1).line;
        let is_too_high = last - first >= MAX_HEIGHT;
        if last > first && (is_too_high || (first..=last).any(|line| report.is_long(line))) {
            let (line_start, line) = report.line(first);
            end = (line_start + line.len() as u32).max(start);
            last = first;
        }
        Self {
            start,
            end,
            lines: (first, last),
            kind,
            label,
        }
    }
}

/// Places that are shown together, in consecutive lines.
struct Frame<'d> {
    places: Vec<Place<'d>>,
    first: u32,
    last: u32,
}

impl<'d> Frame<'d> {
    fn new(place: Place<'d>) -> Self {
        let (first, last) = place.lines;
        Self {
            places: vec![place],
            first,
            last,
        }
    }

    /// Whether a place is close enough to be added, and all lines are short enough to be shown completely.
    fn can_add(&self, report: &NamedSource<'_>, place: &Place<'_>) -> bool {
        let (first, last) = place.lines;
        first <= self.last + MAX_DISTANCE
            && self.first <= last + MAX_DISTANCE
            && !(first..=last).any(|line| report.is_long(line))
            && !(self.first..=self.last).any(|line| report.is_long(line))
    }

    fn add(&mut self, place: Place<'d>) {
        let (first, last) = place.lines;
        self.first = self.first.min(first);
        self.last = self.last.max(last);
        self.places.push(place);
    }

    /// `FILE:LINE:COL` of the first place.
    fn origin(&self, report: &NamedSource<'_>) -> String {
        let start = self.places.first().map_or(0, |p| p.start);
        let position = report.lines.position(start);
        let name = escape_controls(report.name);
        format!("{name}:{}:{}", position.line, position.column)
    }

    fn draw(&self, report: &NamedSource<'_>) -> Snippet<'d, Annotation<'d>> {
        let mut text = String::new();
        let mut ranges: Vec<_> = self.places.iter().map(|_| 0..0).collect();
        for line in self.first..=self.last {
            let (start, bytes) = report.line(line);
            // The starts and ends of places on this line: the offset, the index of the place, and whether it is the end.
            let mut marks = Vec::new();
            for (index, place) in self.places.iter().enumerate() {
                if place.lines.0 == line {
                    marks.push((offset(place.start, start, bytes), index, false));
                }
                if place.lines.1 == line {
                    marks.push((offset(place.end, start, bytes), index, true));
                }
            }
            marks.sort_unstable();
            let window = window(bytes, marks.first().map_or(0, |m| m.0));
            if window.start > 0 {
                text.push_str("... ");
            }
            let mut written = window.start;
            for (offset, index, is_end) in marks {
                let offset = offset.clamp(written, window.end);
                text.push_str(&visible(&bytes[written..offset]));
                written = offset;
                if is_end {
                    ranges[index].end = text.len();
                } else {
                    ranges[index].start = text.len();
                }
            }
            text.push_str(&visible(&bytes[written..window.end]));
            if window.end < bytes.len() {
                text.push_str(" ...");
            }
            if line < self.last {
                text.push('\n');
            }
        }
        let mut snippet = Snippet::source(text)
            .path(MARK)
            .line_start(self.first as usize);
        for (place, range) in self.places.iter().zip(ranges) {
            let label = place.label.map(escape_controls);
            snippet = snippet.annotation(place.kind.span(range).label(label));
        }
        snippet
    }
}

fn frames<'d>(report: &NamedSource<'_>, diagnostic: &'d Diagnostic) -> Vec<Frame<'d>> {
    let primary = Place::new(report, diagnostic.span, AnnotationKind::Primary, None);
    let mut frames = vec![Frame::new(primary)];
    let labels = diagnostic.labels.iter().map(|l| (l.span, &*l.message));
    let mut shown_messages = vec![diagnostic.message.as_str()];
    let repeats = diagnostic
        .repeats
        .iter()
        .zip(&diagnostic.repeat_messages)
        .map(|(span, message)| (*span, message.as_str()))
        .filter(|(_, message)| {
            let is_shown = shown_messages.len() <= MAX_REPEATS && !shown_messages.contains(message);
            shown_messages.extend(is_shown.then_some(*message));
            is_shown
        });
    for (span, message) in labels.chain(repeats) {
        let place = Place::new(report, span, AnnotationKind::Context, Some(message));
        match frames.first_mut().filter(|f| f.can_add(report, &place)) {
            Some(frame) => frame.add(place),
            None => frames.push(Frame::new(place)),
        }
    }
    frames
}

type EditSnippet<'d> = Snippet<'d, annotate_snippets::Patch<'d>>;

/// The lines that a fix changes. Returns no lines if some of them cannot be shown completely.
fn drawn_edits<'d>(report: &NamedSource<'_>, diagnostic: &'d Diagnostic) -> Vec<EditSnippet<'d>> {
    let mut edits: Vec<&Patch<String>> = diagnostic.fix.iter().collect();
    edits.sort_by_key(|edit| edit.span.start);
    let line = |offset| report.lines.position(offset).line;
    let snippets: Option<Vec<_>> = edits
        .chunk_by(|edit, next| line(next.span.start) <= line(edit.span.end) + MAX_DISTANCE)
        .map(|edits| edit_snippet(report, edits))
        .collect();
    snippets.unwrap_or_default()
}

/// The lines that successive edits change; `None` if one of them is too long or contains hidden characters, or if they are too many.
fn edit_snippet<'d>(
    report: &NamedSource<'_>,
    edits: &[&'d Patch<String>],
) -> Option<EditSnippet<'d>> {
    let first = report.lines.position(edits.first()?.span.start).line;
    let last = report.lines.position(edits.last()?.span.end).line;
    if last - first > MAX_HEIGHT || (first..=last).any(|line| report.is_long(line)) {
        return None;
    }
    let (start, _) = report.line(first);
    let (last_start, last_line) = report.line(last);
    let span = Span::new(start, last_start + last_line.len() as u32);
    let text = String::from_utf8(span.of(report.source).to_vec()).ok()?;
    if text.contains(is_hidden_letter) || edits.iter().any(|e| e.text.contains(is_hidden_letter)) {
        return None;
    }
    let mut patches = Vec::new();
    for edit in edits {
        let edit_start = edit.span.start.checked_sub(start)? as usize;
        let edit_end = edit.span.end.checked_sub(start)? as usize;
        text.get(edit_start..edit_end)?;
        patches.push(annotate_snippets::Patch::new(
            edit_start..edit_end,
            edit.text.as_str(),
        ));
    }
    let snippet = Snippet::source(text).line_start(first as usize);
    Some(snippet.patches(patches))
}

/// The offset in a line of an offset in the source.
fn offset(source_offset: u32, line_start: u32, line: &[u8]) -> usize {
    (source_offset.saturating_sub(line_start) as usize).min(line.len())
}

/// The shown part of a line, which includes `offset`.
fn window(line: &[u8], offset: usize) -> Range<usize> {
    if line.len() <= MAX_WIDTH {
        return 0..line.len();
    }
    let first_byte = offset
        .saturating_sub(BYTES_BEFORE_PLACE)
        .min(line.len() - MAX_WIDTH);
    let start = character_start(line, first_byte).min(offset);
    let end = character_start(line, line.len().min(start + MAX_WIDTH));
    start..end.max(offset)
}

/// The first offset from `offset` on at which a character begins.
fn character_start(line: &[u8], offset: usize) -> usize {
    // The further bytes of a character begin with the bits 10.
    (offset..line.len().min(offset + 4))
        .find(|&i| line.get(i).is_none_or(|b| b & 0xC0 != 0x80))
        .unwrap_or(offset)
}

impl<'s> NamedSource<'s> {
    /// The offset of a line, and its text without the line end.
    fn line(&self, line: u32) -> (u32, &'s [u8]) {
        let size = u32::try_from(self.source.len()).unwrap_or(u32::MAX);
        let span = self.lines.line_span(line, size);
        let mut bytes = span.of(self.source);
        for line_end in [b"\n", b"\r"] {
            bytes = bytes.strip_suffix(line_end).unwrap_or(bytes);
        }
        (span.start, bytes)
    }

    /// Whether a line is too long to be shown completely.
    fn is_long(&self, line: u32) -> bool {
        self.line(line).1.len() > MAX_WIDTH
    }
}

/// Whether a character controls a terminal, changes the order of the text around it, or is invisible.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// A hidden character outside ASCII; the renderer replaces the others by pictures.
fn is_hidden_letter(c: char) -> bool {
    !c.is_ascii() && is_hidden(c)
}

/// A part of a source as it is shown.
fn visible(bytes: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(bytes);
    if text.contains(is_hidden_letter) {
        Cow::Owned(text.replace(is_hidden_letter, "\u{fffd}"))
    } else {
        text
    }
}

/// Returns `text` for one line of a terminal, of an annotation or of a page: control characters, overrides of the direction of
/// writing and invisible characters are escaped.
#[doc(hidden)]
#[must_use]
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) {
            let _ = write!(escaped, "{}", c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::Code;

    fn rendered(source: &[u8], diagnostic: &Diagnostic) -> String {
        diagnostic.render("a.ptx", source)
    }

    fn error(start: u32, end: u32) -> Diagnostic {
        Diagnostic::error(Code::UnexpectedToken, Span::new(start, end), "oops")
    }

    #[test]
    fn every_part_is_shown() {
        let diagnostic = error(6, 9)
            .with_label(Span::new(0, 3), "here before")
            .with_help("try less");
        let expected = "\
error[PTX0101]: oops
 --> a.ptx:2:3
  |
1 | one
  | --- here before
2 |   two
  |   ^^^
  |
  = help: try less
";
        assert_eq!(rendered(b"one\n  two\nthree\n", &diagnostic), expected);
    }

    #[test]
    fn distant_places_have_separate_snippets() {
        let source = "line\n".repeat(100);
        let diagnostic = error(490, 494).with_label(Span::new(5, 9), "first");
        let expected = "\
error[PTX0101]: oops
  --> a.ptx:99:1
   |
99 | line
   | ^^^^
   |
  ::: a.ptx:2:1
   |
 2 | line
   | ---- first
";
        assert_eq!(rendered(source.as_bytes(), &diagnostic), expected);
    }

    #[test]
    fn long_lines_are_cut() {
        let mut source = vec![b'a'; 100_000];
        source.extend_from_slice(b" here ");
        source.extend(vec![b'b'; 100_000]);
        let shown = rendered(&source, &error(100_001, 100_005));
        assert!(shown.len() < 600, "{shown}");
        assert!(shown.contains("a.ptx:1:100002\n"), "{shown}");
        assert!(shown.contains("a here b"), "{shown}");
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines[3].find("here"), lines[4].find("^^^^"), "{shown}");
        let wide = rendered(&source, &error(0, 200_000));
        assert!(wide.len() < 600, "{wide}");
    }

    #[test]
    fn many_lines_are_cut_to_the_first() {
        let source = "line\n".repeat(1000);
        let shown = rendered(source.as_bytes(), &error(6, 4000));
        assert!(shown.lines().count() < 7, "{shown}");
        assert!(shown.contains("^^^"), "{shown}");
    }

    #[test]
    fn invalid_utf8_keeps_its_columns() {
        let shown = rendered(b"\xff\xc3\xa4 x\n", &error(4, 5));
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines[1], " --> a.ptx:1:5");
        assert_eq!(lines[3], "1 | \u{fffd}ä x");
        assert_eq!(lines[4], "  |    ^");
    }

    #[test]
    fn the_end_of_a_source_can_be_shown() {
        for source in ["", "a", "a\n", "a\r\n"] {
            let end = source.len() as u32;
            assert!(rendered(source.as_bytes(), &error(end, end)).contains('^'));
            assert!(rendered(source.as_bytes(), &error(end + 9, end + 99)).contains('^'));
        }
    }

    #[test]
    fn any_span_can_be_shown() {
        let source = b"a\xc3\xa4\r\n\n\xe2\x82\n\x00\x1b[1m\t\"x";
        for start in 0..=source.len() as u32 {
            for end in start..=source.len() as u32 + 1 {
                let diagnostic = error(start, end).with_label(Span::new(end / 2, end), "z");
                assert!(rendered(source, &diagnostic).starts_with("error"));
                let fixed = diagnostic.with_fix(Span::new(start, end), "new\n");
                assert!(rendered(source, &fixed).starts_with("error"));
            }
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(escape_controls("a `b` ä"), "a `b` ä");
        assert_eq!(escape_controls("a\nb\u{1b}[0m"), "a\\nb\\u{1b}[0m");
    }

    /// Text that is shown in another order than it is read, as in "Trojan Source".
    #[test]
    fn overrides_of_the_direction_are_escaped() {
        for c in [
            '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}',
            '\u{2068}', '\u{2069}', '\u{200e}', '\u{200f}', '\u{61c}', '\u{200b}', '\u{2028}',
            '\u{feff}', '\u{9b}',
        ] {
            let text = alloc::format!("a{c}b");
            let code = u32::from(c);
            assert_eq!(escape_controls(&text), alloc::format!("a\\u{{{code:x}}}b"));
            let shown = rendered(text.as_bytes(), &error(0, 1).with_help(&*text));
            assert!(!shown.contains(c), "{shown:?}");
        }
    }

    #[test]
    fn a_fix_is_shown_in_its_lines() {
        let diagnostic = error(2, 3)
            .with_help("add `;`")
            .with_fix(Span::new(5, 5), ";");
        let text = rendered(b"a\nb cd\ne", &diagnostic);
        assert!(
            text.ends_with("\nhelp: add `;`\n  |\n2 | b c;d\n  |    +\n"),
            "{text}"
        );
    }
}
