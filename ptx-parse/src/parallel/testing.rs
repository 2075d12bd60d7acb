//! What the result of a parse does not show: how much of it was parsed in parallel.

use ptx_ir::raw::RawModule as _;
use ptx_ir::{Function, Limits, SourceText};

use super::{Ahead, parse_functions};
use crate::parser::Parser;

/// The number of bodies of a source, divided into parts of this length, that are adopted.
#[must_use]
pub fn adopted_bodies(text: &str, part: usize) -> usize {
    let source = SourceText::from(text.as_bytes());
    let mut parser = Parser::new(&source, source.clone(), Limits::default());
    let functions = parse_functions(&mut parser, &source, Some(part));
    parser.expect_functions(functions);
    parser.module();
    let functions = parser.adoption.batches.iter().flat_map(|b| &b.functions);
    functions.filter(|f| f.adopted.is_some()).count()
}

/// The number of statements of the function at `start` that are parsed before the module around it.
#[must_use]
pub fn statements_ahead(text: &str, start: usize) -> Option<usize> {
    let source = SourceText::from(text.as_bytes());
    let mut parser = Parser::new(&source, source.clone(), Limits::default());
    parser.ahead = Ahead::Yes;
    parser.cursor.pos = start;
    let function = parser.out.module.functions_mut().push(Function::EMPTY);
    parser.header_ahead(start, function)?;
    parser.body_statements();
    Some(parser.out.body.statement_table().len())
}
