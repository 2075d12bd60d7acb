//! Without the feature `parallel`, no function is parsed before the module around it.

use ptx_ir::SourceText;

use crate::parser::{Parser, is_plain};

/// Functions that were parsed before the module around them, for a parser to adopt: none.
pub(crate) struct ParsedFunctions {
    /// Whether all characters of the source are [plain](is_plain).
    pub(crate) is_plain: bool,
}

pub(crate) const fn part_len(_: usize) -> Option<usize> {
    None
}

pub(crate) fn parse_functions(
    _: &mut Parser<'_>,
    source: &SourceText,
    _: Option<usize>,
) -> ParsedFunctions {
    ParsedFunctions {
        is_plain: is_plain(source),
    }
}

impl Parser<'_> {
    pub(crate) const fn expect_functions(&mut self, _: ParsedFunctions) {}
}
