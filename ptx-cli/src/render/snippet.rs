//! Diagnostics as pictures: the lines of the source with what is wrong underlined.
//!
//! A picture never looks at more than a few lines around each place, and never shows more of a line
//! than fits a wide terminal, however long the source, the line or the statement.

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use ptx_ir::{Diagnostic, Severity, Span};

use super::{Report, clean};

/// Longest piece of a line that is shown, in bytes.
const WIDTH: usize = 160;
/// How much of a long line is shown before the place.
const BEFORE: usize = 60;
/// Most lines that one underlined place may cover; of a larger one its first line is shown.
const TALL: u32 = 6;
/// A second place at most this many lines away joins the picture of the first.
const NEAR: u32 = 4;

/// Draws diagnostics.
pub(crate) struct Painter {
    renderer: Renderer,
}

impl Painter {
    /// A painter with or without colours.
    pub(crate) fn new(color: bool) -> Self {
        let renderer = if color {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        // Lines are cut here already, around the right place.
        Self {
            renderer: renderer.term_width(4 * WIDTH),
        }
    }

    /// The picture of a diagnostic, with a newline at its end.
    pub(crate) fn picture(&self, report: &Report<'_>, diagnostic: &Diagnostic) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level
            .primary_title(clean(&diagnostic.message))
            .id(diagnostic.code.to_string());
        let mut group = Group::with_title(title);
        let frames = frames(report, diagnostic);
        for frame in &frames {
            group = group.element(frame.draw(report));
        }
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(clean(help)));
        }
        let drawn = self.renderer.render(&[group]);

        // The renderer knows the place in the text it was given, not in the file: name, line and
        // column are put in here. Their lines are the only ones with a mark and no `|` before it.
        let mut picture = String::with_capacity(drawn.len() + 64);
        let mut frames = frames.iter();
        for line in drawn.lines() {
            match line.split_once(MARK) {
                Some((before, after)) if !picture.is_empty() && !before.contains('|') => {
                    let place = after.trim_start_matches(|c: char| c == ':' || c.is_ascii_digit());
                    picture.push_str(before);
                    if let Some(frame) = frames.next() {
                        picture.push_str(&frame.origin(report));
                    }
                    picture.push_str(place);
                }
                _ => picture.push_str(line),
            }
            picture.push('\n');
        }
        picture
    }
}

/// Stands for a file name until the picture is drawn; for private use, so hardly in a source.
const MARK: &str = "\u{e000}";

/// Something to underline.
struct Place<'d> {
    start: u32,
    end: u32,
    /// First and last line it covers.
    lines: (u32, u32),
    kind: AnnotationKind,
    label: Option<&'d str>,
}

impl<'d> Place<'d> {
    fn new(report: &Report<'_>, span: Span, kind: AnnotationKind, label: Option<&'d str>) -> Self {
        let size = u32::try_from(report.source.len()).unwrap_or(u32::MAX);
        let start = span.start.min(size);
        let mut end = span.end.clamp(start, size);
        let first = report.lines.position(start).line;
        let mut last = report.lines.position(end.max(start + 1) - 1).line;
        let too_long = |line| report.line(line).1.len() > WIDTH;
        if last > first && (last - first >= TALL || (first..=last).any(too_long)) {
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

/// Places that are shown together, in one stretch of lines.
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

    /// Whether a place is close enough, and all lines are short enough to be shown whole.
    fn takes(&self, report: &Report<'_>, place: &Place<'_>) -> bool {
        let (first, last) = place.lines;
        let short = |line| report.line(line).1.len() <= WIDTH;
        first <= self.last + NEAR
            && self.first <= last + NEAR
            && (first..=last).all(short)
            && (self.first..=self.last).all(short)
    }

    fn add(&mut self, place: Place<'d>) {
        let (first, last) = place.lines;
        self.first = self.first.min(first);
        self.last = self.last.max(last);
        self.places.push(place);
    }

    /// `FILE:LINE:COL` of the first place.
    fn origin(&self, report: &Report<'_>) -> String {
        let at = self.places.first().map_or(0, |p| p.start);
        let at = report.lines.position(at);
        format!("{}:{}:{}", clean(report.name), at.line, at.column)
    }

    fn draw(&self, report: &Report<'_>) -> Snippet<'d, Annotation<'d>> {
        let mut text = String::new();
        let mut ranges: Vec<_> = self.places.iter().map(|_| 0..0).collect();
        for line in self.first..=self.last {
            let (start, bytes) = report.line(line);
            // What begins or ends on this line: where, whose, and which of the two.
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
            let mut done = window.start;
            for (at, index, is_end) in marks {
                let at = at.clamp(done, window.end);
                text.push_str(&String::from_utf8_lossy(&bytes[done..at]));
                done = at;
                if is_end {
                    ranges[index].end = text.len();
                } else {
                    ranges[index].start = text.len();
                }
            }
            text.push_str(&String::from_utf8_lossy(&bytes[done..window.end]));
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
            let label = place.label.map(clean);
            snippet = snippet.annotation(place.kind.span(range).label(label));
        }
        snippet
    }
}

fn frames<'d>(report: &Report<'_>, diagnostic: &'d Diagnostic) -> Vec<Frame<'d>> {
    let primary = Place::new(report, diagnostic.span, AnnotationKind::Primary, None);
    let mut frames = vec![Frame::new(primary)];
    for label in &diagnostic.labels {
        let place = Place::new(
            report,
            label.span,
            AnnotationKind::Context,
            Some(&label.message),
        );
        match frames.first_mut().filter(|f| f.takes(report, &place)) {
            Some(frame) => frame.add(place),
            None => frames.push(Frame::new(place)),
        }
    }
    frames
}

/// Where the byte `at` of the source stands in a line.
fn offset(at: u32, line_start: u32, line: &[u8]) -> usize {
    (at.saturating_sub(line_start) as usize).min(line.len())
}

/// The part of a line that is shown when `at` must be in sight.
fn window(line: &[u8], at: usize) -> std::ops::Range<usize> {
    if line.len() <= WIDTH {
        return 0..line.len();
    }
    // Not in the middle of a character.
    let inside = |i: usize| line.get(i).is_some_and(|b| b & 0xC0 == 0x80);
    let whole = |i: usize| {
        (i..line.len().min(i + 4))
            .find(|&i| !inside(i))
            .unwrap_or(i)
    };
    let start = whole(at.saturating_sub(BEFORE).min(line.len() - WIDTH)).min(at);
    start..whole(line.len().min(start + WIDTH)).max(at)
}

impl<'s> Report<'s> {
    /// Where a line starts and what stands on it, without its end.
    fn line(&self, line: u32) -> (u32, &'s [u8]) {
        let size = u32::try_from(self.source.len()).unwrap_or(u32::MAX);
        let span = self.lines.line_span(line, size);
        let bytes = span.of(self.source);
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        (span.start, bytes.strip_suffix(b"\r").unwrap_or(bytes))
    }
}

#[cfg(test)]
mod tests {
    use ptx_ir::{Code, LineIndex};

    use super::*;

    fn picture(source: &[u8], diagnostic: &Diagnostic) -> String {
        let lines = &LineIndex::new(source);
        let name = "a.ptx";
        Painter::new(false).picture(
            &Report {
                name,
                source,
                lines,
            },
            diagnostic,
        )
    }

    fn error(start: u32, end: u32) -> Diagnostic {
        Diagnostic::error(Code::UnexpectedToken, Span::new(start, end), "oops")
    }

    #[test]
    fn every_part_is_shown() {
        let found = error(6, 9)
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
        assert_eq!(picture(b"one\n  two\nthree\n", &found), expected);
    }

    #[test]
    fn far_places_have_pictures_of_their_own() {
        let source = "line\n".repeat(100);
        let found = error(490, 494).with_label(Span::new(5, 9), "first");
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
        assert_eq!(picture(source.as_bytes(), &found), expected);
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let mut source = vec![b'a'; 100_000];
        source.extend_from_slice(b" here ");
        source.extend(vec![b'b'; 100_000]);
        let shown = picture(&source, &error(100_001, 100_005));
        assert!(shown.len() < 600, "{shown}");
        assert!(shown.contains("a.ptx:1:100002\n"), "{shown}");
        assert!(shown.contains("a here b"), "{shown}");
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines[3].find("here"), lines[4].find("^^^^"), "{shown}");
        let wide = picture(&source, &error(0, 200_000));
        assert!(wide.len() < 600, "{wide}");
    }

    #[test]
    fn many_lines_are_cut_to_the_first() {
        let source = "line\n".repeat(1000);
        let shown = picture(source.as_bytes(), &error(6, 4000));
        assert!(shown.lines().count() < 7, "{shown}");
        assert!(shown.contains("^^^"), "{shown}");
    }

    #[test]
    fn bytes_that_are_no_text_keep_their_columns() {
        let shown = picture(b"\xff\xc3\xa4 x\n", &error(4, 5));
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines[1], " --> a.ptx:1:5");
        assert_eq!(lines[3], "1 | \u{fffd}ä x");
        assert_eq!(lines[4], "  |    ^");
    }

    #[test]
    fn the_end_of_a_source_can_be_shown() {
        for source in ["", "a", "a\n", "a\r\n"] {
            let end = source.len() as u32;
            assert!(picture(source.as_bytes(), &error(end, end)).contains('^'));
            assert!(picture(source.as_bytes(), &error(end + 9, end + 99)).contains('^'));
        }
    }

    #[test]
    fn any_span_can_be_shown() {
        let source = b"a\xc3\xa4\r\n\n\xe2\x82\n\x00\x1b[1m\t\"x";
        for start in 0..=source.len() as u32 {
            for end in start..=source.len() as u32 + 1 {
                let found = error(start, end).with_label(Span::new(end / 2, end), "z");
                assert!(picture(source, &found).starts_with("error"));
            }
        }
    }
}
