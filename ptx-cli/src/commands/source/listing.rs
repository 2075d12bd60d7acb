//! The statements of functions with their source lines.

use std::collections::HashMap;

use ptx_analysis::source_lines::{Frame, SourceLines};
use ptx_ir::{Body, DirectiveId, Function, LineIndex, Module, Span, Statement};

use super::schema::JsonInstruction;
use crate::functions::Chosen;
use ptx_report::clean;
use ptx_report::demangle::{demangle, display_name};
use ptx_report::source_frames::{JsonFrame, MAX_FRAMES, file_name};

/// The functions of a module that were chosen.
pub(in crate::commands) struct Listing<'m> {
    module: &'m Module,
    pub(in crate::commands) functions: Vec<Listed<'m>>,
    /// The sources that the module contains, by path.
    pub(in crate::commands) embedded: HashMap<String, String>,
    /// The chains of source lines one after the other, each with the outermost call first.
    places: Vec<Place>,
    /// The paths in the module.
    files: Interned<String>,
    names: Interned<Name>,
}

/// The name of a function that was inlined.
struct Name {
    mangled: String,
    demangled: Option<String>,
    /// The name that people read, cut where it is long.
    short: String,
}

impl Name {
    fn new(name: &str) -> Self {
        let short = display_name(name);
        Self {
            mangled: clean(name).into_owned(),
            demangled: demangle(name),
            short: console::truncate_str(&short, MAX_NAME_LEN, "…").into_owned(),
        }
    }
}

/// The length at which names are cut.
const MAX_NAME_LEN: usize = 60;

/// A function with its statements, without those about debugging.
pub(in crate::commands) struct Listed<'m> {
    pub(in crate::commands) function: &'m Function,
    pub(in crate::commands) name: &'m str,
    pub(in crate::commands) statements: Vec<Row>,
}

impl Listed<'_> {
    pub(in crate::commands) fn instructions(&self) -> impl Iterator<Item = &Row> {
        self.statements
            .iter()
            .filter(|row| row.kind == Kind::Instruction)
    }
}

/// A statement.
#[derive(Copy, Clone)]
pub(in crate::commands) struct Row {
    span: Span,
    /// The line of the statement in the PTX file.
    pub(in crate::commands) line: u32,
    pub(in crate::commands) kind: Kind,
    inline_asm: bool,
    /// The range of its chain of source lines in `places`.
    chain: (u32, u32),
    /// The range of its lines in intermediate sources.
    intermediate: (u32, u32),
}

/// The kind of a statement, as far as that matters here.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(in crate::commands) enum Kind {
    Instruction,
    Label,
    Other,
}

/// A source line.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(in crate::commands) struct Place {
    /// The number of its path; `None` if the module does not have it.
    pub(in crate::commands) file: Option<u32>,
    pub(in crate::commands) line: u32,
    column: u32,
    /// The number of the name of the inlined function that contains the line.
    function: Option<u32>,
}

impl Place {
    /// Whether both are the same line of the same function; the columns do not matter.
    pub(in crate::commands) fn is_same_line(self, other: Self) -> bool {
        Self { column: 0, ..self } == Self { column: 0, ..other }
    }
}

/// Values with numbers in the order in which they were added.
struct Interned<T> {
    values: Vec<T>,
    numbers: HashMap<String, u32>,
}

impl<T> Interned<T> {
    fn new() -> Self {
        Self {
            values: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    fn number(&mut self, name: &str, value: impl FnOnce() -> T) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.values.len() as u32;
        self.values.push(value());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    fn get(&self, number: Option<u32>) -> Option<&T> {
        self.values.get(number? as usize)
    }
}

impl<'m> Listing<'m> {
    pub(in crate::commands) fn new(module: &'m Module, chosen: &Chosen) -> Self {
        let lines = LineIndex::new(module.source());
        let source_lines = SourceLines::new(module);
        let embedded = source_lines
            .embedded()
            .filter_map(|source| {
                let path = source_lines.path(source.file)?;
                Some((path.into_owned(), source.text.into_owned()))
            })
            .collect();
        let mut listing = Self {
            module,
            functions: Vec::new(),
            embedded,
            places: Vec::new(),
            files: Interned::new(),
            names: Interned::new(),
        };
        for (_, function, body) in module.definitions().filter(|(id, ..)| chosen.contains(*id)) {
            let statements = listing.statements(body, &lines, &source_lines);
            listing.functions.push(Listed {
                function,
                name: module.name(function.name),
                statements,
            });
        }
        listing
    }

    fn statements(&mut self, body: &Body, lines: &LineIndex, source: &SourceLines<'_>) -> Vec<Row> {
        let source = source.function(body);
        let mut rows = Vec::new();
        let (mut chain, mut intermediate, mut last) = ((0, 0), (0, 0), None);
        for (stmt, statement) in body.statements() {
            let kind = match statement {
                Statement::Directive(id) if is_debug(body, id) => continue,
                Statement::Inst(_) => Kind::Instruction,
                Statement::Label(_) => Kind::Label,
                _ => Kind::Other,
            };
            // The same place has the same chain.
            let place = source.place(stmt);
            if kind == Kind::Instruction && place != last {
                last = place;
                let start = self.places.len();
                for frame in source.frames(stmt).take(MAX_FRAMES) {
                    let place = self.place(&frame);
                    self.places.push(place);
                }
                let new_places = self.places.get_mut(start..).unwrap_or_default();
                new_places.reverse();
                let end = self.places.len();
                if self.places.get(start..) == self.places.get(chain.0 as usize..chain.1 as usize) {
                    self.places.truncate(start);
                } else {
                    chain = (start as u32, end as u32);
                }
                let start = self.places.len();
                for frame in source.intermediate(stmt).take(MAX_FRAMES) {
                    let place = self.place(&frame);
                    self.places.push(place);
                }
                intermediate = (start as u32, self.places.len() as u32);
            }
            let span = body.source_span(stmt);
            rows.push(Row {
                span,
                line: lines.position(span.start).line,
                kind,
                inline_asm: source.is_inline_asm(stmt),
                chain,
                intermediate,
            });
        }
        rows
    }

    fn place(&mut self, frame: &Frame<'_>) -> Place {
        let file = frame.file.as_deref();
        let function = frame.function.as_deref();
        Place {
            file: file.map(|file| self.files.number(file, || file.to_owned())),
            line: frame.line,
            column: frame.column,
            function: function.map(|name| self.names.number(name, || Name::new(name))),
        }
    }

    /// Whether no instruction has a source line.
    pub(in crate::commands) fn has_no_lines(&self) -> bool {
        self.places.is_empty()
    }

    /// The source lines of a statement, the outermost call first.
    pub(in crate::commands) fn chain(&self, row: &Row) -> &[Place] {
        self.range(row.chain)
    }

    /// The lines of a statement in intermediate sources.
    pub(in crate::commands) fn intermediate(&self, row: &Row) -> &[Place] {
        self.range(row.intermediate)
    }

    fn range(&self, range: (u32, u32)) -> &[Place] {
        self.places
            .get(range.0 as usize..range.1 as usize)
            .unwrap_or_default()
    }

    /// The path of a number as the module has it.
    pub(in crate::commands) fn path(&self, file: Option<u32>) -> Option<&str> {
        self.files.get(file).map(String::as_str)
    }

    /// The inlined function that contains a place, for people.
    pub(in crate::commands) fn inlined(&self, place: Place) -> Option<&str> {
        self.names
            .get(place.function)
            .map(|name| name.short.as_str())
    }

    /// The text of a statement with one space between words.
    pub(in crate::commands) fn text(&self, row: &Row) -> String {
        let text = String::from_utf8_lossy(row.span.of(self.module.source()));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub(in crate::commands) fn json(&self, row: &Row) -> JsonInstruction {
        JsonInstruction {
            line: row.line,
            text: clean(&self.text(row)).into_owned(),
            inline_asm: row.inline_asm,
            source: self
                .chain(row)
                .iter()
                .rev()
                .map(|place| self.json_frame(place))
                .collect(),
            intermediate: self
                .intermediate(row)
                .iter()
                .map(|place| self.json_frame(place))
                .collect(),
        }
    }

    fn json_frame(&self, place: &Place) -> JsonFrame {
        let function = self.names.get(place.function);
        JsonFrame {
            name: self.path(place.file).map(file_name),
            file: self.path(place.file).map(|file| clean(file).into_owned()),
            line: place.line,
            column: place.column,
            function: function.map(|name| name.mangled.clone()),
            demangled: function.and_then(|name| name.demangled.clone()),
        }
    }
}

/// Whether a directive is about debugging.
fn is_debug(body: &Body, id: DirectiveId) -> bool {
    body.directives()
        .get(id)
        .is_some_and(|directive| directive.directive.is_debug())
}
