//! Without the feature `parallel`, no function is parsed before the module around it.

use core::ops::Range;

use ptx_ir::SourceText;

use crate::parser::{Parser, is_plain};

/// The functions of a range of the source, for a parser to adopt: none.
pub(crate) struct ParsedFunctions {
    /// Whether all characters of the range are [plain](is_plain).
    pub(crate) is_plain: bool,
}

/// Parses functions before the parser of the whole source comes to them.
pub(crate) struct FunctionParser<'s>(&'s SourceText);

impl<'s> FunctionParser<'s> {
    pub(crate) const fn new(_: &mut Parser<'_>, source: &'s SourceText, _: Option<usize>) -> Self {
        Self(source)
    }

    pub(crate) fn functions(&self, range: Range<usize>) -> ParsedFunctions {
        ParsedFunctions {
            is_plain: is_plain(self.0.get(range).unwrap_or_default()),
        }
    }
}

impl Parser<'_> {
    pub(crate) const fn expect_functions(&mut self, _: ParsedFunctions) {}
}
