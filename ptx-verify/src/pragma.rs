//! Pragmas. Manual 11.4.7, 12.

use ptx_ir::{DirectiveStmt, Operand, OperandPool, Span};
use ptx_isa::Directive;

use crate::context::Context;
use crate::location::Location;
use crate::problem::feature::{Feature, Pragma};
use crate::problem::header::HeaderProblem;

/// Where a pragma is.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// At module level, or in the header of a function.
    Outside,
    Body,
}

/// Checks a directive if it is a `.pragma`.
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
    for operand in pool.slice(stmt.args) {
        let Operand::Str(id) = *operand else { continue };
        let text = context.module.name(id).trim_matches('"');
        let word = text.split_ascii_whitespace().next().unwrap_or("");
        let at = Location::name(span, id);
        match Pragma::from_name(word) {
            Some(known) if known.is_for_bodies() && place == Place::Outside => {
                context.report(at, HeaderProblem::PragmaPlace(known));
            }
            Some(known) => context.require(at, Feature::Pragma(known)),
            None => {
                context.report(at, HeaderProblem::UnknownPragma(id));
            }
        }
    }
}
