//! [`Module`] → text: verbatim, byte for byte as it was read, or in one canonical style.
//!
//! # The canonical style
//!
//! * One statement a line; statements of a function are indented by one level (a tab, or as many
//!   spaces as [`Style`] says), those of an inner block by one more up to 32, labels by one less.
//! * One blank after a mnemonic, after each comma, around `|` none, inside braces and brackets none.
//! * Modifiers stand in the order of the manual.
//! * The parameters of a function stand one a line; its directives too, before the `{`.
//! * Initialisers of more than sixteen elements break after every sixteen.
//! * Comments stay: one behind a statement on its line, others on lines of their own before the
//!   statement they stood before, also those that stood inside it. Blank lines stay, one at most.
//! * Spellings of numbers, names and strings stay. Register numbers lose leading zeros.
//! * A statement that was not understood stays as it was written, from its first to its last byte.
//!
//! Printing what was parsed from canonical text gives the same text again.
//!
//! ```
//! let module = ptx_parse::parse(b".version 8.0\n.target   sm_90 // Hopper\n").module;
//! let text = ptx_print::canonical(&module, &ptx_print::Style::default());
//! assert_eq!(text, b".version 8.0\n.target sm_90 // Hopper\n");
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

use alloc::borrow::Cow;
use alloc::vec::Vec;
use ptx_ir::edit::OffsetMap;
use ptx_ir::{Body, FuncId, Item, ItemId, Module, Span, StmtId};

mod buffer;
mod canonical;
mod canonical_edited;
mod operand;
mod sink;
mod splice;
mod trivia;
mod trivia_map;

#[cfg(feature = "std")]
pub use sink::IoSink;
pub use sink::{FmtSink, Sink};

use buffer::Out;
use canonical::Printer;

/// How the canonical printer lays out statements.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Style {
    /// What one level of nesting is indented by.
    pub indent: Indent,
}

/// One level of indentation.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Indent {
    /// A tab.
    Tab,
    /// This many spaces.
    Spaces(u8),
}

impl Style {
    /// The default style with another indentation.
    pub const fn with_indent(indent: Indent) -> Self {
        Self { indent }
    }
}

impl Default for Style {
    fn default() -> Self {
        Self {
            indent: Indent::Tab,
        }
    }
}

/// The module's text, byte for byte as it was read but for what was [edited](ptx_ir::edit).
pub fn verbatim(module: &Module) -> Vec<u8> {
    if module.is_edited() {
        return splice::print(module).0;
    }
    module.source().to_vec()
}

/// [`verbatim`], and where the bytes of the source are in it.
pub fn verbatim_with_map(module: &Module) -> (Vec<u8>, OffsetMap) {
    if module.is_edited() {
        return splice::print(module);
    }
    let source = module.source();
    (source.to_vec(), OffsetMap::identity(source.len() as u32))
}

/// [`verbatim`] to a sink.
pub fn write_verbatim<S: Sink>(module: &Module, sink: &mut S) -> Result<(), S::Error> {
    if module.is_edited() {
        return sink.put(&splice::print(module).0);
    }
    sink.put(module.source())
}

/// The text of one function, from its linkage to its `}` or `;`.
pub fn verbatim_function(module: &Module, function: FuncId) -> Cow<'_, [u8]> {
    let Some(item) = item_of(module, function) else {
        return Cow::default();
    };
    if module.is_edited() {
        return Cow::Owned(splice::print_function(module, item, function));
    }
    Cow::Borrowed(module.span(item).of(module.source()))
}

/// The text of one statement.
pub fn verbatim_statement<'m>(
    module: &'m Module,
    body: &'m Body,
    statement: StmtId,
) -> Cow<'m, [u8]> {
    if body.edits().is_some() {
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
pub fn canonical(module: &Module, style: &Style) -> Vec<u8> {
    let mut text = Vec::with_capacity(module.source().len());
    match write_canonical(module, style, &mut text) {
        Ok(()) => text,
        Err(never) => match never {},
    }
}

/// [`canonical`] to a sink.
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
pub fn write_canonical_statement<S: Sink>(
    module: &Module,
    body: &Body,
    statement: StmtId,
    style: &Style,
    sink: &mut S,
) -> Result<(), S::Error> {
    let mut printer = Printer::new(module, style, Out::new(sink));
    printer.enter(body);
    printer.statement(body, statement);
    printer.finish()
}
