//! Parses PTX. Any bytes give a [`Module`] that contains all of them, and diagnostics, in one pass.
//!
//! ```
//! let parsed = ptx_parse::parse(b".version 8.0\n.target sm_90\n.address_size 64\n");
//! assert!(parsed.diagnostics.is_empty());
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;
mod body;
mod cascade;
mod constant;
mod cursor;
mod declaration;
mod declared_names;
mod directive;
mod error;
mod function;
mod header;
mod header_state;
mod incremental;
mod initializer;
mod interface;
mod label_resolution;
mod labels;
mod mnemonic;
mod mnemonic_table;
mod module;
mod name_resolution;
mod name_use;
mod operand;
mod output;
mod parser;
mod ranges;
mod record;
mod recovery;
mod repair;
mod reporter;
mod scope;
mod section;
mod statement_extent;
#[doc(hidden)]
pub mod suggest;
mod suppressed_names;
mod swar;
mod undeclared;
mod unfinished;
mod visit;

use alloc::vec::Vec;

pub use error::ParseError;
pub use incremental::{Incremental, Reparsed};
use ptx_ir::{Budget, BudgetExhausted, Diagnostic, Limits, Module, Severity, SourceText};
#[doc(hidden)]
pub use visit::{Division, Visited, visit_bodies};

/// The result of parsing: always a module, and diagnostics.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Parsed {
    /// The module, which contains every byte of the source.
    pub module: Module,
    /// The errors and warnings, in the order of the source.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// Whether there is an error (warnings do not count).
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.errors().next().is_some()
    }

    /// The diagnostics that are errors, in the order of [`diagnostics`](Self::diagnostics).
    pub fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        errors(&self.diagnostics)
    }

    /// The module, if there are only warnings.
    ///
    /// # Errors
    ///
    /// All diagnostics, warnings included, if at least one is an error. A program whose `main` returns the error prints the
    /// lines, columns and messages.
    ///
    /// ```
    /// let module = ptx_parse::parse(b".version 8.0\n.target sm_90\n").into_result()?;
    /// assert!(module.functions().is_empty());
    /// assert!(ptx_parse::parse(b".version 8.0").into_result().is_err());
    /// # Ok::<(), ptx_parse::ParseError>(())
    /// ```
    pub fn into_result(self) -> Result<Module, ParseError> {
        if self.has_errors() {
            Err(ParseError::new(self.diagnostics, self.module.source()))
        } else {
            Ok(self.module)
        }
    }
}

fn errors(diagnostics: &[Diagnostic]) -> impl Iterator<Item = &Diagnostic> {
    diagnostics.iter().filter(|d| d.severity == Severity::Error)
}

/// Parses a module. Never fails and never panics: text that is not PTX becomes opaque statements with
/// diagnostics.
#[must_use]
pub fn parse(source: &[u8]) -> Parsed {
    parse_with(source, &Limits::default())
}

/// Parses a module from text.
#[must_use]
pub fn parse_str(source: &str) -> Parsed {
    parse(source.as_bytes())
}

/// Parses a module with custom limits. A source that is shared or can be taken is not copied.
#[must_use]
pub fn parse_with(source: impl Into<SourceText>, limits: &Limits) -> Parsed {
    let source = source.into();
    let text = source.clone();
    let mut parser = parser::Parser::new(&text, source, *limits);
    parser.source(&text);
    parsed(parser)
}

/// [`parse_with`] as far as a budget allows it, so that another thread can cancel it.
///
/// ```
/// use ptx_ir::{Budget, Limits};
/// let source = b".version 8.0\n.target sm_80\n.entry k() { ret; }\n";
/// let parsed = ptx_parse::parse_within(&source[..], &Limits::default(), &Budget::new(1000))?;
/// assert!(!parsed.has_errors());
/// assert!(ptx_parse::parse_within(&source[..], &Limits::default(), &Budget::new(10)).is_err());
/// # Ok::<(), ptx_ir::BudgetExhausted>(())
/// ```
///
/// # Errors
///
/// The source is at least as long as the budget, or the budget was canceled.
pub fn parse_within(
    source: impl Into<SourceText>,
    limits: &Limits,
    budget: &Budget,
) -> Result<Parsed, BudgetExhausted> {
    let source = source.into();
    let text = source.clone();
    let mut parser = parser::Parser::new(&text, source, *limits);
    parser.limit_work(budget);
    parser.source(&text);
    parser.finish_charges()?;
    Ok(parsed(parser))
}

fn parsed(parser: parser::Parser<'_>) -> Parsed {
    let (module, names, records) = parser.finish();
    let diagnostics = repair::diagnostics(&module, &names, records);
    Parsed {
        module,
        diagnostics,
    }
}
