//! The source lines of instructions, from `.loc` and `.file` with the calls that were inlined, and from line markers of a
//! preprocessor; and the instructions of inline assembly.
//!
//! A `.loc` applies to all statements after it, up to the next one of the function (manual 11.5.4). The `.loc_intermediate` directives
//! after it give lines of intermediate sources, such as Tile IR, which the module may contain. Compilers enclose inline assembly in the comments `// begin inline asm` and `// end inline asm`.
//!
//! ```
//! use ptx_dataflow::source_lines::SourceLines;
//!
//! let text = b".version 8.0\n.target sm_80\n.entry k()\n{\n.loc 1 7 3\n// begin inline asm\nbar.sync 0;\n// end inline asm\nret;\n}\n.file 1 \"a.cu\"\n";
//! let module = ptx_parse::parse(text).module;
//! let lines = SourceLines::new(&module);
//! let (_, _, body) = module.definitions().next().unwrap();
//! let lines = lines.function(body);
//! let (barrier, _) = body.statements().find(|(_, s)| matches!(s, ptx_ir::Statement::Inst(_))).unwrap();
//! let frame = lines.frames(barrier).next().unwrap();
//! assert_eq!((frame.file.as_deref(), frame.line, frame.column), (Some("a.cu"), 7, 3));
//! assert!(lines.is_inline_asm(barrier));
//! ```

pub(crate) mod embedded;
pub(crate) mod loc;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Body, EntityId, Item, LineIndex, Module, Span, Statement, StmtId};
use ptx_isa::Directive;

pub use embedded::EmbeddedSource;
pub use loc::file_number;
use loc::{DebugName, Loc, Position, Strings};

/// The files and debug sections of a module, which source lines refer to.
#[derive(Clone, Debug)]
pub struct SourceLines<'m> {
    module: &'m Module,
    /// The numbers and paths of files, sorted by number. If several files have one number, the first one counts.
    files: Vec<(i64, &'m [u8])>,
    strings: Strings,
}

impl<'m> SourceLines<'m> {
    /// Reads the files and debug sections of a module. Linear in their size.
    #[must_use]
    pub fn new(module: &'m Module) -> Self {
        let mut files: Vec<(i64, &[u8])> = module
            .items()
            .filter_map(|(_, item)| {
                let Item::Directive(id) = item else {
                    return None;
                };
                let directive = module.directives().get(id)?;
                let number = file_number(module, directive)?;
                Some((number, loc::file_path(module, directive)?))
            })
            .collect();
        files.sort_by_key(|(number, _)| *number);
        files.dedup_by_key(|(number, _)| *number);
        Self {
            module,
            files,
            strings: Strings::new(module),
        }
    }

    /// The module.
    #[doc(hidden)]
    #[must_use]
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// The path of a file as written in its `.file`.
    #[must_use]
    pub fn path(&self, file: i64) -> Option<Cow<'m, str>> {
        let index = self
            .files
            .binary_search_by_key(&file, |(number, _)| *number)
            .ok()?;
        let (_, path) = self.files.get(index)?;
        Some(String::from_utf8_lossy(path))
    }

    /// The linkage name at a position in a debug section, as the compiler wrote it.
    #[doc(hidden)]
    #[must_use]
    pub fn name(&self, name: DebugName) -> Option<Cow<'_, str>> {
        self.strings.get(name).map(String::from_utf8_lossy)
    }

    /// The sources that the module contains, in order. Linear in the number of its directives and the size of the sources. Manual 11.5.6.
    pub fn embedded(&self) -> impl Iterator<Item = EmbeddedSource<'m>> + use<'m> {
        embedded::sources(self.module)
    }

    /// The source lines of a function. Linear in the length of its text.
    #[must_use]
    pub fn function(&self, body: &'m Body) -> FunctionLines<'_, 'm> {
        let mut reader = Reader::new(self.module, body);
        for (stmt, statement) in body.statements() {
            reader.statement(stmt, statement);
        }
        FunctionLines {
            module: self,
            places: reader.places,
            intermediate: reader.intermediate,
            statements: reader.statements,
        }
    }
}

/// The source lines of the statements of a function.
#[derive(Clone, Debug)]
pub struct FunctionLines<'l, 'm> {
    module: &'l SourceLines<'m>,
    places: Vec<Place<'m>>,
    /// The indices of places with their positions in intermediate sources, in order.
    intermediate: Vec<(u32, Position)>,
    /// The line of each statement.
    statements: Vec<Line>,
}

/// The assembly statements of a function: see [`FunctionLines::inline_assembly`].
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct InlineAssembly {
    /// For each statement, the number of the assembly statement, counted from 1; 0 outside of them.
    statements: Vec<u32>,
}

impl InlineAssembly {
    /// Whether a statement is inside of inline assembly.
    #[must_use]
    pub fn contains(&self, stmt: StmtId) -> bool {
        self.assembly(stmt).is_some()
    }

    /// The number of the assembly statement that an instruction comes from.
    #[must_use]
    pub fn assembly(&self, stmt: StmtId) -> Option<u32> {
        let number = *self.statements.get(stmt.index())?;
        (number != 0).then_some(number)
    }
}

/// The origin of a statement.
#[derive(Copy, Clone, Default, Debug)]
struct Line {
    /// The index of its place + 1; 0 if it has none.
    place: u32,
    /// The number of the assembly statement, counted from 1; 0 outside of them.
    assembly: u32,
}

/// The origin of consecutive statements.
#[derive(Clone, Debug)]
enum Place<'m> {
    /// A `.loc`, and for inlined code the index of the place of the call, if a `.loc` of the function names it.
    Loc(Loc, Option<u32>),
    /// A line of a file that a line marker names.
    Marked(&'m [u8], u32),
    /// A `.loc_intermediate` without a `.loc` before it.
    Unknown,
}

/// The number of a frame in its function, or the position of a call that no `.loc` describes.
#[doc(hidden)]
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum FrameId {
    /// A place of the function: see [`FunctionLines::place`].
    Place(u32),
    /// A call that no `.loc` of the function describes.
    Call(Position),
}

/// A source line, and the function that contains it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Frame<'m> {
    /// The path of the file; `None` if the module has no `.file` of its number.
    pub file: Option<Cow<'m, str>>,
    /// The line, from 1; 0 for code without one.
    pub line: u32,
    /// The column, from 1; 0 where it is not known.
    pub column: u32,
    /// The linkage name of the inlined function that contains the line, as the compiler wrote it; `None` for the PTX function
    /// itself, and where the name is not in the module.
    pub function: Option<String>,
}

impl<'l, 'm> FunctionLines<'l, 'm> {
    /// The source line of a statement, then the lines of the calls through which it was inlined, from the innermost to the one
    /// in the PTX function itself. Nothing before the first `.loc`.
    pub fn frames(&self, stmt: StmtId) -> impl Iterator<Item = Frame<'m>> + use<'_, 'l, 'm> {
        self.frame_ids(stmt).map(|id| self.frame(id))
    }

    /// The numbers of the [`frames`](Self::frames) of a statement. Statements with different lines share the calls through which they were inlined.
    #[doc(hidden)]
    pub fn frame_ids(&self, stmt: StmtId) -> impl Iterator<Item = FrameId> + use<'_, 'l, 'm> {
        let mut next = self.place(stmt).map(FrameId::Place);
        core::iter::from_fn(move || {
            let id = next?;
            next = match id {
                FrameId::Call(_) => None,
                FrameId::Place(index) => match self.places.get(index as usize)? {
                    Place::Unknown => return None,
                    Place::Marked(..) => None,
                    Place::Loc(_, Some(call)) => Some(FrameId::Place(*call)),
                    Place::Loc(loc, None) => loc.inlined.map(|(_, call)| FrameId::Call(call)),
                },
            };
            Some(id)
        })
    }

    /// The lines of a statement in intermediate sources. Manual 11.5.5.
    #[doc(hidden)]
    pub fn intermediate(&self, stmt: StmtId) -> impl Iterator<Item = Frame<'m>> + use<'_, 'l, 'm> {
        let place = self.place(stmt).unwrap_or(u32::MAX);
        let first = self
            .intermediate
            .partition_point(|(index, _)| *index < place);
        self.intermediate
            .get(first..)
            .unwrap_or_default()
            .iter()
            .take_while(move |(index, _)| *index == place)
            .map(|(_, position)| self.frame_at(*position, None))
    }

    /// The number of the place of a statement. Statements with the same number have the same [`frames`](Self::frames) and
    /// [`intermediate`](Self::intermediate) lines. `None` for a statement without lines.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn place(&self, stmt: StmtId) -> Option<u32> {
        self.statements
            .get(stmt.index())
            .and_then(|line| line.place.checked_sub(1))
    }

    /// Returns whether a statement is inside of inline assembly.
    #[must_use]
    pub fn is_inline_asm(&self, stmt: StmtId) -> bool {
        self.statements
            .get(stmt.index())
            .is_some_and(|line| line.assembly != 0)
    }

    /// The number of the assembly statement that an instruction comes from.
    #[doc(hidden)]
    #[must_use]
    pub fn assembly(&self, stmt: StmtId) -> Option<u32> {
        let line = self.statements.get(stmt.index())?;
        (line.assembly != 0).then_some(line.assembly)
    }

    /// The assembly statements, without the source lines.
    #[doc(hidden)]
    #[must_use]
    pub fn inline_assembly(&self) -> InlineAssembly {
        InlineAssembly {
            statements: self.statements.iter().map(|line| line.assembly).collect(),
        }
    }

    /// The files and debug sections of the module.
    #[doc(hidden)]
    #[must_use]
    pub fn module(&self) -> &'l SourceLines<'m> {
        self.module
    }

    /// The position of a frame according to its `.loc`, and the name of the function that was inlined. `None` for a line that a line marker names.
    #[doc(hidden)]
    #[must_use]
    pub fn position(&self, id: FrameId) -> Option<(Position, Option<DebugName>)> {
        match id {
            FrameId::Call(position) => Some((position, None)),
            FrameId::Place(index) => match self.places.get(index as usize)? {
                Place::Loc(loc, _) => Some((loc.position, loc.inlined.map(|(name, _)| name))),
                Place::Marked(..) | Place::Unknown => None,
            },
        }
    }

    /// The frame with a number that [`frame_ids`](Self::frame_ids) returned; an empty one for other numbers.
    #[doc(hidden)]
    #[must_use]
    pub fn frame(&self, id: FrameId) -> Frame<'m> {
        if let Some((position, name)) = self.position(id) {
            let name = name.and_then(|name| self.module.name(name));
            return self.frame_at(position, name.map(Cow::into_owned));
        }
        let marked = match id {
            FrameId::Place(index) => self.places.get(index as usize),
            FrameId::Call(_) => None,
        };
        let (file, line) = match marked {
            Some(Place::Marked(path, line)) => (Some(String::from_utf8_lossy(path)), *line),
            _ => (None, 0),
        };
        Frame {
            file,
            line,
            column: 0,
            function: None,
        }
    }

    fn frame_at(&self, position: Position, function: Option<String>) -> Frame<'m> {
        Frame {
            file: self.module.path(position.file),
            line: position.line,
            column: position.column,
            function,
        }
    }
}

/// A line marker: the line after it is line `number` of the file `path`.
#[derive(Copy, Clone)]
struct Marker<'m> {
    /// The line of the module after the marker.
    next_line: u32,
    path: &'m [u8],
    number: u32,
}

/// Reads the statements of a function in order.
struct Reader<'m> {
    module: &'m Module,
    body: &'m Body,
    places: Vec<Place<'m>>,
    /// The positions of inlined calls, sorted, each with the last place whose `.loc` has this position.
    calls: Vec<(Position, Option<u32>)>,
    statements: Vec<Line>,
    intermediate: Vec<(u32, Position)>,
    /// The line of the statements that follow.
    line: Line,
    /// No instruction follows the last place.
    is_new_place: bool,
    /// The number of assembly statements before the position.
    assemblies: u32,
    /// The last line marker, unless a `.loc` follows it.
    marker: Option<Marker<'m>>,
    /// The lines of the source, if it has a line marker.
    lines: Option<LineIndex>,
    /// The end of the last statement.
    end: u32,
}

impl<'m> Reader<'m> {
    fn new(module: &'m Module, body: &'m Body) -> Self {
        Self {
            module,
            body,
            places: Vec::new(),
            calls: calls(body),
            statements: vec![Line::default(); body.statement_table().len()],
            intermediate: Vec::new(),
            line: Line::default(),
            is_new_place: false,
            assemblies: 0,
            marker: None,
            lines: None,
            end: body.base(),
        }
    }

    /// Reads a statement and the text before it.
    fn statement(&mut self, stmt: StmtId, statement: Statement) {
        let span = self.body.source_span(stmt);
        // Statements that were inserted have no place in the source.
        if span.end > span.start && span.start >= self.end {
            self.comments(Span::new(self.end, span.start));
            self.end = span.end;
            if let (Some(marker), Some(lines)) = (self.marker, &self.lines) {
                let line = lines.position(span.start).line;
                let distance = line.saturating_sub(marker.next_line);
                self.push_place(Place::Marked(
                    marker.path,
                    marker.number.saturating_add(distance),
                ));
            }
        }
        match statement {
            Statement::Inst(_) => self.is_new_place = false,
            Statement::Directive(id) => {
                if let Some(directive) = self.body.directives().get(id)
                    && let Some(loc) = Loc::read(self.body.pool(), directive)
                {
                    match directive.directive {
                        Directive::Loc => self.loc(loc),
                        Directive::LocIntermediate => self.intermediate(loc.position),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        if let Some(line) = self.statements.get_mut(stmt.index()) {
            *line = self.line;
        }
    }

    /// Adds the place of a `.loc`.
    fn loc(&mut self, loc: Loc) {
        let call = loc.inlined.and_then(|(_, call)| *self.last_place(call)?);
        self.marker = None;
        let place = self.push_place(Place::Loc(loc, call));
        if let Some(last_place) = self.last_place(loc.position) {
            *last_place = Some(place);
        }
    }

    /// Adds a position in an intermediate source to those of the `.loc` before it; after an instruction it replaces them.
    fn intermediate(&mut self, position: Position) {
        if !self.is_new_place {
            let last = self.places.last().cloned();
            self.push_place(last.unwrap_or(Place::Unknown));
        }
        self.intermediate.push((self.line.place - 1, position));
    }

    /// The last place with the position of a call; `None` if no call is inlined at the position.
    fn last_place(&mut self, call: Position) -> Option<&mut Option<u32>> {
        let index = self
            .calls
            .binary_search_by_key(&call, |(position, _)| *position)
            .ok()?;
        self.calls.get_mut(index).map(|(_, place)| place)
    }

    /// Adds the place of the statements that follow.
    fn push_place(&mut self, place: Place<'m>) -> u32 {
        self.places.push(place);
        self.line.place = self.places.len() as u32;
        self.is_new_place = true;
        self.line.place - 1
    }

    /// Reads the comments and line markers between two statements.
    fn comments(&mut self, gap: Span) {
        let source = self.module.source();
        let text = gap.of(source);
        for token in Lexer::fragment(text) {
            let word = token.span.of(text);
            match token.kind {
                TokenKind::LineComment => match word.get(2..).unwrap_or_default().trim_ascii() {
                    b"begin inline asm" => {
                        self.assemblies += 1;
                        self.line.assembly = self.assemblies;
                    }
                    b"end inline asm" => self.line.assembly = 0,
                    _ => {}
                },
                TokenKind::LineMarker => {
                    let lines = self.lines.get_or_insert_with(|| LineIndex::new(source));
                    let line = lines.position(gap.start + token.span.start).line;
                    self.marker = Marker::read(word, line + 1);
                }
                _ => {}
            }
        }
    }
}

/// The positions of the calls that the `.loc` directives of a function name, sorted.
fn calls(body: &Body) -> Vec<(Position, Option<u32>)> {
    let mut calls: Vec<(Position, Option<u32>)> = body
        .directives()
        .values()
        .filter(|directive| directive.directive == Directive::Loc)
        .filter_map(|directive| Loc::read(body.pool(), directive)?.inlined)
        .map(|(_, call)| (call, None))
        .collect();
    calls.sort_unstable();
    calls.dedup();
    calls
}

impl<'m> Marker<'m> {
    /// Reads `# 7 "a.cu"` or `#line 7 "a.cu"`.
    fn read(text: &'m [u8], next_line: u32) -> Option<Self> {
        let directive = text.strip_prefix(b"#")?.trim_ascii();
        let operands = directive
            .strip_prefix(b"line")
            .unwrap_or(directive)
            .trim_ascii();
        let digit_count = operands.iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, path) = operands.split_at_checked(digit_count)?;
        let path = path.trim_ascii().strip_prefix(b"\"")?;
        let path_len = path.iter().position(|b| *b == b'"')?;
        Some(Self {
            next_line,
            path: path.get(..path_len)?,
            number: core::str::from_utf8(digits).ok()?.parse().ok()?,
        })
    }
}
