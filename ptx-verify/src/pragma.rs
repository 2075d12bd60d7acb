//! Pragmas. Manual 11.4.7, 12.

use ptx_ir::{DirectiveStmt, Operand, OperandPool, Span};
use ptx_isa::Directive;

use crate::context::Context;
use crate::location::Location;
use crate::problem::feature::{Feature, Pragma};
use crate::problem::header::HeaderProblem;

/// The place of a pragma.
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
        let location = Location::name(span, id);
        match Pragma::of(text) {
            Some((known, _)) if known.is_for_bodies() && place == Place::Outside => {
                context.report(location, HeaderProblem::PragmaPlace(known));
            }
            Some((Pragma::Frequency, value)) if !is_frequency(value) => {
                context.report(location, HeaderProblem::PragmaFrequency);
            }
            Some((known, _)) => context.require(location, Feature::Pragma(known)),
            None => {
                context.report(location, HeaderProblem::UnknownPragma(id));
            }
        }
    }
}

/// Whether a text is a positive integer, decimal or hexadecimal.
fn is_frequency(text: &str) -> bool {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    number.is_ok_and(|n| n > 0)
}
