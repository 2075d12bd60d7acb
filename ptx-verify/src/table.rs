//! The entries of `.branchtargets` and `.calltargets`. Manual 11.4.8, 11.4.9.

use ptx_ir::{Body, DirectiveStmt, LabelId, Operand, Span, Statement, SymbolKind};
use ptx_isa::Directive;

use crate::context::Context;
use crate::location::{Location, Part};
use crate::problem::call::CallProblem;

/// Checks the entries of a table. ptxas accepts kernels as call targets.
pub(crate) fn check(context: &mut Context<'_>, body: &Body, stmt: &DirectiveStmt, span: Span) {
    let problem = match stmt.directive {
        Directive::Branchtargets => CallProblem::BranchTarget,
        Directive::Calltargets => CallProblem::Target,
        _ => return,
    };
    for (index, &operand) in (0..).zip(body.pool().slice(stmt.args)) {
        let fits = match (operand, stmt.directive) {
            // The parser reports undeclared names.
            (Operand::Name(_), _) => true,
            (Operand::Range(_), directive) => directive == Directive::Branchtargets,
            (Operand::Label(id), Directive::Branchtargets) => !names_functions(body, id),
            (Operand::Symbol(id), Directive::Calltargets) => {
                let symbol = context.module.symbols().get(id);
                symbol.is_some_and(|s| matches!(s.kind, SymbolKind::Function(_)))
            }
            _ => false,
        };
        if !fits {
            context.report(Location::part(span, Part::Operand(index)), problem);
        }
    }
}

/// Whether a table of call targets or a prototype is at the label.
fn names_functions(body: &Body, label: LabelId) -> bool {
    let Some(label) = body.labels().get(label) else {
        return false;
    };
    let placed = matches!(body.statement(label.stmt), Some(Statement::Label(_)));
    let next = placed.then(|| body.after(label.stmt)).flatten();
    match next.and_then(|s| body.statement(s)) {
        Some(Statement::Prototype(_)) => true,
        Some(Statement::Directive(id)) => {
            let stmt = body.directives().get(id);
            stmt.is_some_and(|d| d.directive == Directive::Calltargets)
        }
        _ => false,
    }
}
