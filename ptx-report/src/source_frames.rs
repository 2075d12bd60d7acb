//! The source lines of instructions, as text and as JSON.

use std::collections::HashMap;
use std::ops::Range;

use ptx_analysis::source_lines::{DebugName, Frame, FrameId, FunctionLines, SourceLines};
use ptx_ir::{Body, EntityId, Module, NameId, StmtId};
use serde::Serialize;

use crate::clean;
use crate::demangle::demangle;
use crate::json_text::{comma, flag, number, optional, raw};

/// A source line in JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JsonFrame {
    /// The file with directories.
    pub file: Option<String>,
    /// The name of the file without its directories.
    #[serde(skip)]
    pub name: Option<String>,
    /// Counted from 1.
    pub line: u32,
    /// Counted from 1; 0 if it is unknown.
    pub column: u32,
    /// The function that was inlined, as it is named in the text.
    pub function: Option<String>,
    /// Its name in the source language, if it is mangled.
    pub demangled: Option<String>,
}

/// The source position of a statement.
#[derive(Debug, Default)]
pub struct Place {
    /// The function that contains it.
    pub function: Option<String>,
    /// Its source lines, the innermost first.
    pub source: Vec<JsonFrame>,
}

/// Outside of functions.
pub static NOWHERE: Place = Place {
    function: None,
    source: Vec::new(),
};

impl JsonFrame {
    fn new(frame: Frame<'_>) -> Self {
        Self {
            name: frame.file.as_deref().map(file_name),
            file: frame.file.map(|file| clean(&file).into_owned()),
            line: frame.line,
            column: frame.column,
            demangled: frame.function.as_deref().and_then(demangle),
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
    #[must_use]
    pub fn short(&self) -> String {
        short_text(self.name.as_deref(), self.line)
    }
}

fn short_text(name: Option<&str>, line: u32) -> String {
    format!("{}:{line}", name.unwrap_or("?"))
}

/// The name of a file without its directories. It is divided before it is escaped: an escape has a backslash.
#[must_use]
pub fn file_name(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    clean(name).into_owned()
}

/// The innermost source line of a statement: the name of the file without its directories, and the line.
#[must_use]
pub fn innermost(lines: &FunctionLines<'_, '_>, stmt: StmtId) -> Option<String> {
    let frame = lines.frames(stmt).next()?;
    let name = frame.file.as_deref().map(file_name);
    Some(short_text(name.as_deref(), frame.line))
}

/// How many source lines of a statement are shown, which limits the output for deep chains of inlined calls.
pub const MOST_FRAMES: usize = 64;

/// The source lines of a statement, the innermost first.
pub fn frames(lines: &FunctionLines<'_, '_>, stmt: StmtId) -> Vec<JsonFrame> {
    let frames = lines.frames(stmt).take(MOST_FRAMES);
    frames.map(JsonFrame::new).collect()
}

/// Writes the source lines of the statements of a function as JSON, each list once for consecutive statements.
#[derive(Debug)]
pub struct JsonLines<'l, 'm> {
    lines: FunctionLines<'l, 'm>,
    /// The place of the last statement, and its list.
    last: Option<u32>,
    list: Vec<u8>,
    /// The frames that were written, and where that of each place is among them; nothing for others.
    texts: Vec<u8>,
    places: Vec<Range<usize>>,
}

/// Parts of the frames of a module as JSON, each made once.
#[derive(Debug, Default)]
pub struct FrameParts {
    /// By the number of a file, the field `file`.
    files: HashMap<i64, Vec<u8>>,
    /// The fields `function` and `demangled` of inlined functions.
    functions: HashMap<DebugName, Vec<u8>>,
}

impl<'l, 'm> JsonLines<'l, 'm> {
    /// For a function.
    #[must_use]
    pub fn new(lines: FunctionLines<'l, 'm>) -> Self {
        Self {
            lines,
            last: None,
            list: Vec::new(),
            texts: Vec::new(),
            places: Vec::new(),
        }
    }

    /// The fields `source` and `inline_asm` of a statement, a comma before each.
    pub fn write(&mut self, stmt: StmtId, parts: &mut FrameParts, out: &mut Vec<u8>) {
        let place = self.lines.place(stmt);
        if place != self.last {
            self.last = place;
            self.list.clear();
            let mut first = true;
            for id in self.lines.frame_ids(stmt).take(MOST_FRAMES) {
                comma(&mut self.list, &mut first);
                let FrameId::Place(place) = id else {
                    write_frame(&self.lines, id, parts, &mut self.list);
                    continue;
                };
                let place = place as usize;
                if self.places.len() <= place {
                    self.places.resize(place + 1, 0..0);
                }
                let Some(range) = self.places.get_mut(place) else {
                    continue;
                };
                if range.start == range.end {
                    range.start = self.texts.len();
                    write_frame(&self.lines, id, parts, &mut self.texts);
                    range.end = self.texts.len();
                }
                let text = self.texts.get(range.clone()).unwrap_or_default();
                self.list.extend_from_slice(text);
            }
        }
        raw(out, ",\"source\":[");
        out.extend_from_slice(&self.list);
        raw(out, "],\"inline_asm\":");
        flag(out, self.lines.is_inline_asm(stmt));
    }
}

/// The same as [`JsonFrame`], without making the parts of each frame again.
fn write_frame(
    lines: &FunctionLines<'_, '_>,
    id: FrameId,
    parts: &mut FrameParts,
    out: &mut Vec<u8>,
) {
    let module = lines.module();
    match lines.position(id) {
        Some((at, function)) => {
            let file = parts.files.entry(at.file);
            let file = file.or_insert_with(|| file_field(module.path(at.file).as_deref()));
            out.extend_from_slice(file);
            write_line(at.line, at.column, out);
            match function {
                Some(name) => {
                    let fields = parts.functions.entry(name);
                    let fields =
                        fields.or_insert_with(|| function_fields(module.name(name).as_deref()));
                    out.extend_from_slice(fields);
                }
                None => raw(out, NO_FUNCTION),
            }
        }
        None => {
            let frame = lines.frame(id);
            out.extend(file_field(frame.file.as_deref()));
            write_line(frame.line, frame.column, out);
            raw(out, NO_FUNCTION);
        }
    }
    out.push(b'}');
}

/// The beginning of a frame with its field `file`.
fn file_field(path: Option<&str>) -> Vec<u8> {
    let mut field = Vec::new();
    raw(&mut field, "{\"file\":");
    optional(&mut field, path.map(clean).as_deref());
    field
}

fn write_line(line: u32, column: u32, out: &mut Vec<u8>) {
    raw(out, ",\"line\":");
    number(out, line);
    raw(out, ",\"column\":");
    number(out, column);
}

/// The fields `function` and `demangled` of a frame.
fn function_fields(name: Option<&str>) -> Vec<u8> {
    let mut fields = Vec::new();
    raw(&mut fields, ",\"function\":");
    optional(&mut fields, name.map(clean).as_deref());
    raw(&mut fields, ",\"demangled\":");
    optional(&mut fields, name.and_then(demangle).as_deref());
    fields
}

/// Those fields of a frame that is not in an inlined function.
const NO_FUNCTION: &str = ",\"function\":null,\"demangled\":null";

/// `b.h:20:9, inlined at a.cu:11:30`; with more calls only the outermost, and their number. Empty without frames.
#[must_use]
pub fn text(frames: &[JsonFrame]) -> String {
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
#[derive(Debug)]
pub struct Finder<'m> {
    lines: &'m SourceLines<'m>,
    /// Where bodies begin and end, and the names of their functions.
    bodies: Vec<(u32, u32, NameId, &'m Body)>,
    /// The body of the last offset.
    last: Option<(usize, FunctionLines<'m, 'm>)>,
}

impl<'m> Finder<'m> {
    /// For a module, whose source lines these are.
    #[must_use]
    pub fn new(module: &'m Module, lines: &'m SourceLines<'m>) -> Self {
        let bodies = module.definitions();
        Self {
            lines,
            bodies: bodies
                .map(|(_, f, body)| (body.base(), body.base() + body.end(), f.name, body))
                .collect(),
            last: None,
        }
    }

    /// The function and the source lines of the statement at an offset.
    pub fn place(&mut self, offset: u32) -> Place {
        let after = self.bodies.partition_point(|(start, ..)| *start <= offset);
        let found = after
            .checked_sub(1)
            .and_then(|i| Some((i, *self.bodies.get(i)?)));
        let Some((index, (_, _, name, body))) = found.filter(|(_, (_, end, ..))| offset < *end)
        else {
            return Place::default();
        };
        let mut place = Place {
            function: Some(clean(self.lines.module().name(name)).into_owned()),
            source: Vec::new(),
        };
        let spans = body.stmt_spans();
        let after = spans.partition_point(|s| body.base() + s.span().start <= offset);
        let Some(stmt) = after.checked_sub(1).map(StmtId::from_index) else {
            return place;
        };
        let lines = match self.last.take() {
            Some((last, lines)) if last == index => lines,
            _ => self.lines.function(body),
        };
        place.source = frames(&lines, stmt);
        self.last = Some((index, lines));
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inlined code, a file and a name that the module does not have, and a line marker; twice.
    const FUNCTIONS: [&str; 2] = ["f", "g"];
    const BODY: &str = "()\n{\n\
        .reg .b32 %r<2>;\n\
        .loc 1 5 3\n add.s32 %r0, %r1, 1;\n\
        .loc 2 7 1, function_name $L__foo, inlined_at 1 5 3\n add.s32 %r0, %r1, 2;\n add.s32 %r0, %r1, 3;\n\
        .loc 1 7 1, function_name $L__foo, inlined_at 2 8 3\n add.s32 %r0, %r1, 4;\n\
        .loc 9 9 9, function_name $L__bar, inlined_at 1 5 3\n add.s32 %r0, %r1, 5;\n\
        # 12 \"c.cu\"\n add.s32 %r0, %r1, 6;\n\
        ret;\n}\n";
    const FILES: &str = ".file 1 \"a.cu\"\n.file 2 \"dir/b.h\"\n\
        .section .debug_str\n{\n$L__foo:\n.b8 95,90,51,102,111,111,80,105,0\n}\n";

    #[test]
    fn written_frames_are_those_of_the_statements() {
        let functions = FUNCTIONS.map(|name| format!(".func {name}{BODY}")).concat();
        let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n{functions}{FILES}");
        let module = ptx_parse::parse_str(&text).module;
        let lines = SourceLines::new(&module);
        let mut parts = FrameParts::default();
        let mut most = 0;
        for (_, _, body) in module.definitions() {
            let lines = lines.function(body);
            let mut written = JsonLines::new(lines.clone());
            for (stmt, _) in body.statements() {
                let mut out = Vec::new();
                written.write(stmt, &mut parts, &mut out);
                let frames = frames(&lines, stmt);
                most = most.max(frames.len());
                let source = serde_json::to_string(&frames).unwrap_or_default();
                let expected = format!(",\"source\":{source},\"inline_asm\":false");
                assert_eq!(String::from_utf8_lossy(&out), expected);
            }
        }
        assert_eq!(most, 2);
        let names: Vec<_> = parts.functions.values().collect();
        assert!(
            names.iter().any(|n| n.ends_with(b"\"foo(int*)\"")),
            "{names:?}"
        );
        assert_eq!((parts.files.len(), names.len()), (3, 2));
    }
}
