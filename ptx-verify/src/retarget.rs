//! The tokens of the header that another target or version replaces.

use ptx_ir::{Module, Span};
use ptx_isa::Directive;

/// The version and the target in the header.
pub(crate) fn header_tokens(module: &Module) -> Option<(Span, Span)> {
    let (_, number) = module.header_value(Directive::Version)?;
    let (_, name) = module.header_value(Directive::Target)?;
    number.zip(name)
}
