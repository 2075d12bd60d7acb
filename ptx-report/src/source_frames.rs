//! The source lines of instructions, as text and as JSON.

use std::collections::HashMap;
use std::rc::Rc;

use ptx_analysis::internals::DebugName;
use ptx_analysis::source_lines::{Frame, FrameId, FunctionLines, SourceLines};
use ptx_ir::{Body, EntityId, Module, NameId, StmtId};
use serde::{Serialize, Serializer};

use crate::clean;
use crate::demangle::demangle;

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
    /// The function that contains the statement.
    pub function: Option<String>,
    /// The source lines of the statement, the innermost first.
    pub source: Vec<JsonFrame>,
}

/// The source position of text outside of functions.
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

    /// The name of the file without its directories, and the line: `a.cu:11`.
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

/// The largest number of source lines of a statement that are shown, which limits the output for deep chains of inlined calls.
pub const MAX_FRAMES: usize = 64;

/// The source lines of a statement, the innermost first.
pub fn frames(lines: &FunctionLines<'_, '_>, stmt: StmtId) -> Vec<JsonFrame> {
    lines
        .frames(stmt)
        .take(MAX_FRAMES)
        .map(JsonFrame::new)
        .collect()
}

/// The source lines of a statement.
#[derive(Copy, Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StatementSource<'a> {
    /// The innermost source line first.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<JsonFrame>"))]
    #[serde(serialize_with = "frame_list")]
    source: &'a [Rc<JsonFrame>],
    /// The statement is between the comments that enclose inline assembly.
    inline_asm: bool,
}

fn frame_list<S: Serializer>(frames: &[Rc<JsonFrame>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(frames.iter().map(Rc::as_ref))
}

/// The source lines of the statements of a function. Statements share frames, and statements one after the other share lists.
#[derive(Debug)]
pub struct StatementSources<'l, 'm> {
    lines: FunctionLines<'l, 'm>,
    /// The place of the last statement.
    last_place: Option<u32>,
    /// The frames at that place.
    last_frames: Vec<Rc<JsonFrame>>,
    frames: HashMap<FrameId, Rc<JsonFrame>>,
}

/// The escaped paths and names in the frames of a module, each made once.
#[derive(Debug, Default)]
pub struct FrameNames {
    /// The paths of files by their numbers.
    files: HashMap<i64, Option<String>>,
    /// The names of inlined functions, and these names in the source language.
    functions: HashMap<DebugName, (Option<String>, Option<String>)>,
}

impl<'l, 'm> StatementSources<'l, 'm> {
    /// The source lines of a function.
    #[must_use]
    pub fn new(lines: FunctionLines<'l, 'm>) -> Self {
        Self {
            lines,
            last_place: None,
            last_frames: Vec::new(),
            frames: HashMap::new(),
        }
    }

    /// The source lines of a statement, at most [`MAX_FRAMES`]. `names` belongs to the module.
    pub fn get(&mut self, stmt: StmtId, names: &mut FrameNames) -> StatementSource<'_> {
        let place = self.lines.place(stmt);
        if place != self.last_place {
            self.last_place = place;
            self.last_frames.clear();
            for id in self.lines.frame_ids(stmt).take(MAX_FRAMES) {
                let frame = self
                    .frames
                    .entry(id)
                    .or_insert_with(|| Rc::new(names.frame(&self.lines, id)));
                self.last_frames.push(Rc::clone(frame));
            }
        }
        StatementSource {
            source: &self.last_frames,
            inline_asm: self.lines.is_inline_asm(stmt),
        }
    }
}

impl FrameNames {
    /// The frame with cached names.
    fn frame(&mut self, lines: &FunctionLines<'_, '_>, id: FrameId) -> JsonFrame {
        let Some((position, name)) = lines.position(id) else {
            return JsonFrame::new(lines.frame(id));
        };
        let module = lines.module();
        let file = self.files.entry(position.file).or_insert_with(|| {
            let path = module.path(position.file)?;
            Some(clean(&path).into_owned())
        });
        let (function, demangled) = match name {
            Some(name) => self.functions.entry(name).or_insert_with(|| {
                let name = module.name(name);
                let demangled = name.as_deref().and_then(demangle);
                (name.map(|name| clean(&name).into_owned()), demangled)
            }),
            None => &mut (None, None),
        };
        JsonFrame {
            file: file.clone(),
            name: None,
            line: position.line,
            column: position.column,
            function: function.clone(),
            demangled: demangled.clone(),
        }
    }
}

/// The text of a list of frames: `b.h:20:9, inlined at a.cu:11:30`. Of several calls, only the outermost one and their number are shown. Empty
/// without frames.
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
    bodies: Vec<BodyRange<'m>>,
    /// The index of the body of the last offset, and its lines.
    last: Option<(usize, FunctionLines<'m, 'm>)>,
}

/// The offsets of a body.
#[derive(Debug)]
struct BodyRange<'m> {
    start: u32,
    end: u32,
    function: NameId,
    body: &'m Body,
}

impl<'m> Finder<'m> {
    /// Creates a finder for a module. `lines` are the source lines of this module.
    #[must_use]
    pub fn new(module: &'m Module, lines: &'m SourceLines<'m>) -> Self {
        Self {
            lines,
            bodies: module
                .definitions()
                .map(|(_, function, body)| BodyRange {
                    start: body.base(),
                    end: body.base() + body.end(),
                    function: function.name,
                    body,
                })
                .collect(),
            last: None,
        }
    }

    /// The function and the source lines of the statement at an offset.
    pub fn place(&mut self, offset: u32) -> Place {
        let next = self.bodies.partition_point(|body| body.start <= offset);
        let containing = next
            .checked_sub(1)
            .and_then(|index| Some((index, self.bodies.get(index)?)))
            .filter(|(_, range)| offset < range.end);
        let Some((index, &BodyRange { function, body, .. })) = containing else {
            return Place::default();
        };
        let mut place = Place {
            function: Some(clean(self.lines.module().name(function)).into_owned()),
            source: Vec::new(),
        };
        let spans = body.stmt_spans();
        let next = spans.partition_point(|s| body.base() + s.span().start <= offset);
        let Some(stmt) = next.checked_sub(1).map(StmtId::from_index) else {
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
    fn serialized_frames_are_those_of_the_statements() {
        let functions = FUNCTIONS.map(|name| format!(".func {name}{BODY}")).concat();
        let text = format!(".version 8.0\n.target sm_80\n.address_size 64\n{functions}{FILES}");
        let module = ptx_parse::parse_str(&text).module;
        let lines = SourceLines::new(&module);
        let mut names = FrameNames::default();
        let mut most = 0;
        for (_, _, body) in module.definitions() {
            let lines = lines.function(body);
            let mut sources = StatementSources::new(lines.clone());
            for (stmt, _) in body.statements() {
                let source = sources.get(stmt, &mut names);
                let frames = frames(&lines, stmt);
                most = most.max(frames.len());
                let expected = serde_json::json!({ "source": frames, "inline_asm": false });
                assert_eq!(serde_json::to_value(source).unwrap_or_default(), expected);
            }
        }
        assert_eq!(most, 2);
        let demangled: Vec<_> = names.functions.values().map(|(_, name)| name).collect();
        assert!(
            demangled.contains(&&Some("foo(int*)".to_owned())),
            "{demangled:?}"
        );
        assert_eq!((names.files.len(), demangled.len()), (3, 2));
    }
}
