//! Without the feature `parallel`, no function is parsed before the module around it.

use core::ops::Range;

use ptx_ir::SourceText;

use crate::parser::Parser;

/// Functions for a parser to adopt: none.
pub(crate) type ParsedFunctions = [(); 0];

/// Parses functions before the parser of the whole source comes to them.
pub(crate) struct FunctionParser;

impl FunctionParser {
    pub(crate) const fn new(_: &mut Parser<'_>, _: &SourceText, _: Option<usize>) -> Self {
        Self
    }

    pub(crate) const fn functions(&self, _: Range<usize>) -> ParsedFunctions {
        []
    }
}

impl Parser<'_> {
    pub(crate) const fn expect_functions(&mut self, _: ParsedFunctions) {}
}
