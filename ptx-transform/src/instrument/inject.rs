//! Inserts functions and variables for probes into a module.

use alloc::string::String;

use ptx_ir::{Module, Operand, SymbolId, TextPatches};

use super::error::Error;

/// Inserts code after the header of a module: variables and functions for probes to use. All other bytes stay unchanged, and
/// previous edits are kept.
///
/// # Errors
///
/// [`Error::Taken`] if `code` declares a name that the module uses, [`Error::NoHeader`] without a header, and [`Error::Code`]
/// if the module or the code has errors.
pub fn with_code(module: &Module, code: &str) -> Result<Module, Error> {
    let text = ptx_print::verbatim(module);
    // A module that was parsed and not edited is parsed only once, with the code.
    let is_changed = !module.has_current_source();
    let again = is_changed.then(|| ptx_parse::parse(&text).module);
    let read = again.as_ref().unwrap_or(module);
    let alone = ptx_parse::parse(code.as_bytes()).module;
    for symbol in alone.symbols().values() {
        let name = alone.name(symbol.name);
        if read.find_name(name.as_bytes()).is_some() {
            return Err(Error::Taken(String::from(name)));
        }
    }
    let mut patches = TextPatches::new();
    let header = read.items().filter(|(_, item)| read.is_header(*item));
    let end = header.map(|(id, _)| read.span(id).end).max();
    let at = end.ok_or(Error::NoHeader)?;
    // A comment after the header, on its line, stays there.
    let rest = text.get(at as usize..).unwrap_or_default();
    let line = rest.split(|&b| b == b'\n').next().unwrap_or_default();
    match line.trim_ascii_start() {
        [] | [b'/', b'/', ..] if line.len() < rest.len() => {
            patches.insert(
                at + line.len() as u32 + 1,
                format!("\n{}\n", code.trim_end()),
            );
        }
        _ => patches.insert(at, format!("\n\n{}\n", code.trim_end())),
    }
    let parsed = ptx_parse::parse(&patches.apply(&text).text);
    match parsed.has_errors() {
        true => Err(Error::Code(parsed.diagnostics)),
        false => Ok(parsed.module),
    }
}

/// A variable or a function of a module, as an operand; `None` if there is no such name.
#[must_use]
pub fn symbol(module: &Module, name: &str) -> Option<Operand> {
    let mut symbols = module.symbols().iter();
    let found: Option<(SymbolId, _)> = symbols.find(|(_, s)| module.name(s.name) == name);
    found.map(|(id, _)| Operand::Symbol(id))
}
