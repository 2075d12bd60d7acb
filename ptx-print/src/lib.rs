//! Prints a [`Module`] as text: verbatim, byte for byte as it was parsed, or in one canonical style.
//!
//! # The canonical style
//!
//! * One statement per line; statements of a function are indented by one level (a tab, or as many
//!   spaces as [`Style`] says), those of an inner block by one more up to 32, labels by one less.
//! * One space after a mnemonic and after each comma; none around `|` and inside braces and brackets.
//! * Modifiers are in the order of the PTX ISA manual.
//! * The parameters of a function are on a line each, and so are its directives, before the `{`.
//! * Initializers of more than sixteen elements break after every sixteen.
//! * Comments are kept: one after a statement on its line, others on separate lines before the
//!   statement that follows them, also those inside the statement. Of consecutive blank lines one is
//!   kept.
//! * Numbers, names and strings keep their spelling. Register numbers lose leading zeros.
//! * A statement that could not be parsed is kept as it was written, from its first to its last byte.
//!
//! A module that was built and not parsed has no source: both ways print it in the canonical style, from its records and their
//! comments.
//!
//! Parsing canonical text and printing it again gives the same text.
//!
//! ```
//! let module = ptx_parse::parse(b".version 8.0\n.target   sm_90 // Hopper\n").module;
//! let text = ptx_print::canonical(&module, &ptx_print::Style::default());
//! assert_eq!(text, b".version 8.0\n.target sm_90 // Hopper\n");
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

use alloc::borrow::Cow;
use alloc::string::ToString as _;
use alloc::vec::Vec;
use ptx_ir::{Body, FuncId, Item, ItemId, Module, OffsetMap, Operand, Rewritten, Span, StmtId};

mod buffer;
mod built;
mod canonical;
mod canonical_edited;
mod display;
mod operand;
mod sink;
mod splice;
mod trivia;

pub use display::{Display, display, display_function, display_statement};
#[cfg(feature = "std")]
pub use sink::IoSink;
pub use sink::Sink;

use sink::FmtSink;

use buffer::Out;
use canonical::Printer;

/// The layout of the canonical printer.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Style {
    /// The indentation of one level of nesting.
    pub indent: Indent,
}

/// One level of indentation.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Indent {
    /// A tab.
    Tab,
    /// This many spaces.
    Spaces(u8),
}

impl Style {
    /// Sets the indentation of one level of nesting.
    #[must_use]
    pub const fn with_indent(mut self, indent: Indent) -> Self {
        self.indent = indent;
        self
    }
}

impl Default for Style {
    fn default() -> Self {
        Self {
            indent: Indent::Tab,
        }
    }
}

/// The module's text, byte for byte as it was parsed except for what was edited; the canonical text of a module without a
/// source.
#[must_use]
pub fn verbatim(module: &Module) -> Vec<u8> {
    if !module.has_source() {
        return canonical(module, &Style::default());
    }
    if module.is_edited() {
        return splice::print(module).text;
    }
    module.source().to_vec()
}

/// [`verbatim`], and where the bytes of the source are in it.
#[must_use]
pub fn verbatim_with_map(module: &Module) -> Rewritten {
    if !module.has_source() {
        return Rewritten::new(verbatim(module), OffsetMap::new());
    }
    if module.is_edited() {
        return splice::print(module);
    }
    let source = module.source();
    Rewritten::new(source.to_vec(), OffsetMap::identity(source.len() as u32))
}

/// [`verbatim`] to a sink.
///
/// # Errors
///
/// The errors of the sink.
pub fn write_verbatim<S: Sink>(module: &Module, sink: &mut S) -> Result<(), S::Error> {
    if !module.has_source() {
        return write_canonical(module, &Style::default(), sink);
    }
    if module.is_edited() {
        return sink.put(&splice::print(module).text);
    }
    sink.put(module.source())
}

/// The text of one item as it is now, without the comments before and after it; empty if it was removed. Only the text of an item that was
/// edited or built is copied. [`Module::item_of`] returns the item of a function.
#[must_use]
pub fn verbatim_item(module: &Module, item: ItemId) -> Cow<'_, [u8]> {
    let record = module.item(item).unwrap_or(Item::Removed);
    if record == Item::Removed {
        return Cow::default();
    }
    if !module.has_source() {
        let mut text = Vec::new();
        let style = Style::default();
        let mut printer = Printer::new(module, &style, Out::new(&mut text));
        printer.new_item(record);
        return match printer.finish() {
            Ok(()) => Cow::Owned(text),
            Err(never) => match never {},
        };
    }
    if is_item_edited(module, item, record) {
        return Cow::Owned(splice::print_item(module, item, record));
    }
    Cow::Borrowed(module.span(item).of(module.source()))
}

/// The text of a function before its `{` as it is now; the text of another item.
#[doc(hidden)]
#[must_use]
pub fn verbatim_header(module: &Module, item: ItemId) -> Cow<'_, [u8]> {
    let Some(Item::Function(function)) = module.item(item) else {
        return verbatim_item(module, item);
    };
    let Some(body) = module.body(function) else {
        return verbatim_item(module, item);
    };
    let change = module.edits().map(|e| (e.was_read(item), e.change(item)));
    if !module.has_source() || matches!(change, Some((false, _))) {
        let mut text = Vec::new();
        let style = Style::default();
        let mut printer = Printer::new(module, &style, Out::new(&mut text));
        printer.function_header(function);
        return match printer.finish() {
            Ok(()) => Cow::Owned(text),
            Err(never) => match never {},
        };
    }
    let header = Span::new(module.span(item).start, body.base());
    match change {
        Some((_, Some(change))) => Cow::Owned(splice::print_header(module, header, change)),
        _ => Cow::Borrowed(header.of(module.source())),
    }
}

/// Whether the text of an item is not that of the source.
fn is_item_edited(module: &Module, item: ItemId, record: Item) -> bool {
    let edits = module.edits();
    let is_changed = edits.is_some_and(|e| !e.was_read(item) || e.change(item).is_some());
    let body = match record {
        Item::Function(function) => module.body(function),
        _ => None,
    };
    is_changed || body.is_some_and(|b| b.edits().is_some())
}

/// The text of one statement as it is now; empty if it was removed. Only the text of a statement that was edited or built is copied.
#[must_use]
pub fn verbatim_statement<'m>(
    module: &'m Module,
    body: &'m Body,
    statement: StmtId,
) -> Cow<'m, [u8]> {
    if !body.is_in_source() {
        return Cow::Owned(
            display_statement(module, body, statement)
                .to_string()
                .into_bytes(),
        );
    }
    if body
        .edits()
        .is_some_and(|e| !e.was_read(statement) || e.change(statement).is_some())
    {
        return Cow::Owned(splice::print_statement(module, body, statement));
    }
    Cow::Borrowed(body.source_span(statement).of(module.source()))
}

fn item_of(module: &Module, function: FuncId) -> Option<ItemId> {
    let mut items = module.items();
    Some(items.find(|(_, item)| *item == Item::Function(function))?.0)
}

fn function_span(module: &Module, function: FuncId) -> Span {
    item_of(module, function).map_or(Span::default(), |id| module.span(id))
}

/// The module's text in the canonical style.
#[must_use]
pub fn canonical(module: &Module, style: &Style) -> Vec<u8> {
    let mut text = Vec::with_capacity(expected_len(module));
    match write_canonical(module, style, &mut text) {
        Ok(()) => text,
        Err(never) => match never {},
    }
}

/// The approximate length of the text of a module.
fn expected_len(module: &Module) -> usize {
    if module.has_source() {
        return module.source().len();
    }
    // An instruction is about this long.
    let statements = module.bodies().values().map(|b| b.statement_table().len());
    32 * statements.sum::<usize>()
}

/// [`canonical`] to a sink.
///
/// # Errors
///
/// The errors of the sink.
pub fn write_canonical<S: Sink>(
    module: &Module,
    style: &Style,
    sink: &mut S,
) -> Result<(), S::Error> {
    let mut printer = Printer::new(module, style, Out::new(sink));
    printer.module();
    printer.finish()
}

/// One function in the canonical style, without the comments before it.
///
/// # Errors
///
/// The errors of the sink.
pub fn write_canonical_function<S: Sink>(
    module: &Module,
    function: FuncId,
    style: &Style,
    sink: &mut S,
) -> Result<(), S::Error> {
    let mut printer = Printer::new(module, style, Out::new(sink));
    printer.function(function, function_span(module, function));
    printer.finish()
}

/// One statement of a body in the canonical style, without indentation, newline and comments.
///
/// # Errors
///
/// The errors of the sink.
pub fn write_canonical_statement<S: Sink>(
    module: &Module,
    body: &Body,
    statement: StmtId,
    style: &Style,
    sink: &mut S,
) -> Result<(), S::Error> {
    let mut printer = Printer::new(module, style, Out::short_text(sink));
    printer.enter(body);
    printer.statement(body, statement);
    printer.finish()
}

/// One operand of a body in the canonical style.
///
/// ```
/// let module = ptx_parse::parse(b".version 8.0\n.target sm_90\n.entry k() { .reg .b64 a; ld.b64 a, [ a + 4 ]; }").module;
/// let (_, _, body) = module.definitions().next().unwrap();
/// let (inst, _) = body.insts().next().unwrap();
/// let text = body.operands(inst).iter().map(|o| ptx_print::canonical_operand(&module, body, *o));
/// assert!(text.eq([b"a".to_vec(), b"[a+4]".to_vec()]));
/// ```
#[must_use]
pub fn canonical_operand(module: &Module, body: &Body, operand: Operand) -> Vec<u8> {
    let mut text = Vec::new();
    let style = Style::default();
    let mut printer = Printer::new(module, &style, Out::short_text(&mut text));
    printer.enter(body);
    printer.operand(body.pool(), Some(body), operand);
    match printer.finish() {
        Ok(()) => text,
        Err(never) => match never {},
    }
}
