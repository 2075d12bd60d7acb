//! Bytes → [`Module`] and diagnostics: total, lossless, in one pass.
//!
//! ```
//! let parsed = ptx_parse::parse(b".version 8.0\n.target sm_90\n.address_size 64\n");
//! assert!(parsed.diagnostics.is_empty());
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod body;
mod cascade;
mod declaration;
mod directive;
mod function;
mod mnemonic;
mod module;
mod name_resolution;
mod operand;
mod parser;
mod recovery;
mod scope;
mod section;
pub mod suggest;
mod suppressed_names;
mod swar;

use alloc::sync::Arc;
use alloc::vec::Vec;
use ptx_ir::{Diagnostic, Limits, Module};

/// What reading a source gives: always a module, and what is wrong with the text.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// Everything that was read, every byte of it.
    pub module: Module,
    /// What is wrong, in the order of the source.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// Whether there is an error (warnings do not count).
    pub fn has_errors(&self) -> bool {
        self.diagnostics
            .iter()
            .any(|d| d.severity == ptx_ir::Severity::Error)
    }
}

/// Reads a module. Never fails and never panics: what is not PTX becomes opaque statements and
/// diagnostics.
pub fn parse(source: &[u8]) -> Parsed {
    parse_shared(Arc::from(source), &Limits::default())
}

/// [`parse`] for text.
pub fn parse_str(source: &str) -> Parsed {
    parse(source.as_bytes())
}

/// [`parse`] for a source that is already shared, which spares a copy, with limits of your own.
pub fn parse_shared(source: Arc<[u8]>, limits: &Limits) -> Parsed {
    let text = source.clone();
    let mut parser = parser::Parser::new(&text, source, *limits);
    if text.len() > limits.source_bytes {
        parser.too_large();
    } else {
        parser.module();
    }
    parser.finish()
}
