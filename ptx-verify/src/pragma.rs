//! Pragmas that mean something only in certain places. Manual 11.4.7, 12.

use alloc::format;
use ptx_ir::{Code, Diagnostic, DirectiveStmt, Operand, OperandPool, Span};
use ptx_isa::{Directive, PtxVersion, Target};

use crate::context::Context;

/// Where a pragma stands.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// Outside of a body.
    Outside,
    Body,
}

/// A pragma of the manual.
struct Pragma {
    name: &'static str,
    /// Whether it stands in bodies alone.
    in_body: bool,
    since: PtxVersion,
    target: Option<Target>,
}

const KNOWN: [Pragma; 4] = [
    Pragma {
        name: "nounroll",
        in_body: false,
        since: PtxVersion::new(2, 0),
        target: None,
    },
    Pragma {
        name: "used_bytes_mask",
        in_body: true,
        since: PtxVersion::new(8, 3),
        target: Some(Target::Sm50),
    },
    Pragma {
        name: "enable_smem_spilling",
        in_body: true,
        since: PtxVersion::new(8, 7),
        target: Some(Target::Sm75),
    },
    Pragma {
        name: "frequency",
        in_body: true,
        since: PtxVersion::new(9, 0),
        target: None,
    },
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
        match KNOWN.iter().find(|p| p.name == word) {
            Some(known) if known.in_body && place == Place::Outside => {
                let at = context.statement(span).find(text);
                let message = format!("the pragma `{word}` stands in the body of a function");
                context.error(Code::PragmaPlace, at, message);
            }
            Some(known) => {
                let at = |c: &Context<'_>| c.statement(span).find(text);
                let what = format!("the pragma `{word}`");
                context.need(Code::PragmaPlace, at, &what, known.since, known.target);
            }
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
