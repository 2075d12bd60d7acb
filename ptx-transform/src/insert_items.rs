//! Insertion of functions and variables, given as text, into a module.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ptx_edit::Rewriting;
use ptx_ir::raw::TextPatches;
use ptx_ir::{Diagnostic, Limits, Module, Span};

use crate::printed::Printed;

/// The reason why items were not inserted.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InsertItemsError {
    /// The module already uses a name that the items declare.
    Taken(String),
    /// The module has no header after which items could be inserted.
    NoHeader,
    /// The module with the items has errors. The spans are those of its text.
    Code(Vec<Diagnostic>),
}

impl fmt::Display for InsertItemsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken(name) => write!(f, "the name `{name}` is already in use"),
            Self::NoHeader => f.write_str("the module has no header"),
            Self::Code(diagnostics) => match diagnostics.first() {
                Some(first) => write!(f, "the code has errors: {}", first.message),
                None => f.write_str("the code has errors"),
            },
        }
    }
}

impl core::error::Error for InsertItemsError {}

/// Inserts the text of functions and variables after the header of a module. All other bytes stay unchanged.
///
/// ```
/// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { ret; }\n").module;
/// let module = ptx_transform::insert_items(&module, ".global .u64 counter;")?.module;
/// assert_eq!(module.source(), b".version 8.0\n.target sm_80\n\n.global .u64 counter;\n.entry k() { ret; }\n");
/// # Ok::<(), ptx_transform::InsertItemsError>(())
/// ```
///
/// # Errors
///
/// [`InsertItemsError::Taken`] if the items declare a name that the module uses, [`InsertItemsError::NoHeader`] without a
/// header, and [`InsertItemsError::Code`] if the module or the items have errors.
pub fn insert_items(module: &Module, items: &str) -> Result<Rewriting, InsertItemsError> {
    let printed = Printed::of(module);
    let module = printed.module();
    let inserted = ptx_parse::parse_str(items).module;
    for symbol in inserted.symbols().values() {
        let name = inserted.name(symbol.name);
        if module.find_name(name.as_bytes()).is_some() {
            return Err(InsertItemsError::Taken(String::from(name)));
        }
    }
    let header_end = module
        .items()
        .filter(|(_, item)| module.is_header(*item))
        .map(|(id, _)| module.span(id).end)
        .max()
        .ok_or(InsertItemsError::NoHeader)?;
    let source = module.source();
    let after_header = Span::new(header_end, source.len() as u32).of(source);
    let line_end = after_header
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let mut patches = TextPatches::new();
    let items = items.trim_end();
    match line_end.trim_ascii_start() {
        // A comment after the header, on its line, stays there.
        [] | [b'/', b'/', ..] if line_end.len() < after_header.len() => {
            let next_line = header_end + line_end.len() as u32 + 1;
            patches.insert(next_line, format!("\n{items}\n"));
        }
        _ => patches.insert(header_end, format!("\n\n{items}\n")),
    }
    let rewritten = patches.apply(source);
    let parsed = ptx_parse::parse_with(rewritten.text, &Limits::default());
    if parsed.has_errors() {
        return Err(InsertItemsError::Code(parsed.diagnostics));
    }
    Ok(Rewriting::new(
        parsed.module,
        printed.map_from_original(rewritten.map),
    ))
}
