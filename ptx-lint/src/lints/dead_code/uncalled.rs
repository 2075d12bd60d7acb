//! Functions that are neither visible to other modules nor called.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_ir::Span;
use ptx_ir::lex::{Lexer, Token, TokenKind};

use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// One finding for such a function, at its name.
pub(super) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    // Debug code and unoptimized code contain unused functions.
    if !cx.is_uncalled() || cx.is_for_debugger() || cx.is_unoptimized() {
        return;
    }
    let (Some(first), Some(function)) = (
        cx.instructions().next(),
        cx.module().functions().get(cx.id()),
    ) else {
        return;
    };
    let name = cx.module().name(function.name);
    let message = format!("`{name}` is neither visible to other modules nor called");
    let mut finding = cx.finding(Lint::DeadCode, Certainty::Definite, first.stmt, message);
    if let Some(span) = span_of_name(cx, name) {
        finding.diagnostic.span = span;
    }
    found.push(finding.with_help("remove the function or declare it `.visible`"));
}

/// Where the header of the function has its name; `None` if the function is not in the source text.
fn span_of_name(cx: &FunctionContext<'_>, name: &str) -> Option<Span> {
    let module = cx.module();
    let start = module.span(module.item_of(cx.id())?).start;
    let header = Span::new(start, cx.body().base());
    let text = header.of(module.source());
    let is_name =
        |token: &Token| token.kind == TokenKind::Ident && token.span.of(text) == name.as_bytes();
    let token = Lexer::fragment(text).find(is_name)?;
    Some(Span::new(start + token.span.start, start + token.span.end))
}
