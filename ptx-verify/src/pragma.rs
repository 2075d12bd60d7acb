//! Pragmas that mean something only in certain places. Manual 11.4.7, 12.

use alloc::format;
use ptx_ir::{Code, Diagnostic, DirectiveStmt, Operand, OperandPool, Span};
use ptx_isa::Directive;

use crate::context::Context;

/// Where a pragma stands.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Outside of a body.
    Outside,
    Body,
}

/// The pragmas of the manual, and whether they stand in bodies alone.
const KNOWN: [(&str, bool); 4] = [
    ("nounroll", false),
    ("used_bytes_mask", true),
    ("enable_smem_spilling", true),
    ("frequency", true),
];

/// Checks one `.pragma`.
pub(crate) fn check(
    context: &mut Context<'_>,
    stmt: &DirectiveStmt,
    pool: &OperandPool,
    place: Place,
    span: Span,
) {
    if stmt.directive != Directive::Pragma {
        return;
    }
    let module = context.module;
    for operand in pool.slice(stmt.args) {
        let Operand::Str(id) = *operand else { continue };
        let text = module.name(id);
        let word = text
            .trim_matches('"')
            .split_ascii_whitespace()
            .next()
            .unwrap_or("");
        match KNOWN.iter().find(|(name, _)| *name == word) {
            Some((_, true)) if place == Place::Outside => {
                let at = context.statement(span).find(text);
                let message = format!("the pragma `{word}` stands in the body of a function");
                context.error(Code::PragmaPlace, at, message);
            }
            Some(_) => {}
            None => {
                let at = context.statement(span).find(text);
                let message = format!("the pragma `{word}` is not known and is ignored");
                context
                    .found
                    .push(Diagnostic::warning(Code::UnknownPragma, at, message));
            }
        }
    }
}
