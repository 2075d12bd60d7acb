//! The source lines of instructions, as text and as JSON.

use ptx_analysis::source_lines::{Frame, FunctionLines, SourceLines};
use ptx_ir::{Body, EntityId, Module, StmtId};
use serde::Serialize;

use super::clean;

/// A source line in JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonFrame {
    file: Option<String>,
    line: u32,
    column: u32,
    function: Option<String>,
}

impl JsonFrame {
    fn new(frame: Frame<'_>) -> Self {
        Self {
            file: frame.file.map(|file| clean(&file).into_owned()),
            line: frame.line,
            column: frame.column,
            function: frame.function.map(|name| clean(&name).into_owned()),
        }
    }

    /// `a.cu:11:30`
    fn text(&self) -> String {
        let file = self.file.as_deref().unwrap_or("?");
        match self.column {
            0 => format!("{file}:{}", self.line),
            column => format!("{file}:{}:{column}", self.line),
        }
    }

    /// The name of the file without its directories, and the line.
    pub(crate) fn short(&self) -> String {
        let file = self.file.as_deref().unwrap_or("?");
        let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
        format!("{name}:{}", self.line)
    }
}

/// The source lines of a statement, the innermost first.
pub(crate) fn frames(lines: &FunctionLines<'_, '_>, stmt: StmtId) -> Vec<JsonFrame> {
    lines.frames(stmt).map(JsonFrame::new).collect()
}

/// `b.h:20:9, inlined at a.cu:11:30`; with more calls only the outermost, and their number. Empty without frames.
pub(crate) fn text(frames: &[JsonFrame]) -> String {
    match frames {
        [] => String::new(),
        [line] => line.text(),
        [line, call] => format!("{}, inlined at {}", line.text(), call.text()),
        [line, calls @ .., call] => {
            let count = calls.len() + 1;
            format!(
                "{}, inlined at {} through {count} calls",
                line.text(),
                call.text()
            )
        }
    }
}

/// Finds the source lines of offsets in a module that was just parsed. Fast for offsets in ascending order.
pub(crate) struct Finder<'m> {
    lines: &'m SourceLines<'m>,
    /// Where bodies begin and end.
    bodies: Vec<(u32, u32, &'m Body)>,
    /// The body of the last offset.
    last: Option<(usize, FunctionLines<'m, 'm>)>,
}

impl<'m> Finder<'m> {
    pub(crate) fn new(module: &'m Module, lines: &'m SourceLines<'m>) -> Self {
        let bodies = module.definitions();
        Self {
            lines,
            bodies: bodies
                .map(|(_, _, body)| (body.base(), body.base() + body.end(), body))
                .collect(),
            last: None,
        }
    }

    /// The source lines of the statement at an offset.
    pub(crate) fn frames(&mut self, offset: u32) -> Vec<JsonFrame> {
        let after = self.bodies.partition_point(|(start, ..)| *start <= offset);
        let found = after
            .checked_sub(1)
            .and_then(|i| Some((i, *self.bodies.get(i)?)));
        let Some((index, (_, _, body))) = found.filter(|(_, (_, end, _))| offset < *end) else {
            return Vec::new();
        };
        let spans = body.stmt_spans();
        let after = spans.partition_point(|s| body.base() + s.span().start <= offset);
        let Some(stmt) = after.checked_sub(1).map(StmtId::from_index) else {
            return Vec::new();
        };
        let lines = match self.last.take() {
            Some((last, lines)) if last == index => lines,
            _ => self.lines.function(body),
        };
        let found = frames(&lines, stmt);
        self.last = Some((index, lines));
        found
    }
}
