//! Checks the statements of a body, except instructions.

use ptx_ir::{Body, Span, Statement};
use ptx_isa::Directive;

use crate::context::Context;
use crate::directive::available;
use crate::location::Location;
use crate::pragma::{self, Place};
use crate::variable::{self, Scope};
use crate::variable_tables::Tables;
use crate::{debug, parameter, redeclaration, table};

/// Checks one statement that is not an instruction.
pub(crate) fn check(context: &mut Context<'_>, body: &Body, statement: Statement, span: Span) {
    match statement {
        Statement::Decl(id) => {
            if let Some(decl) = body.declarations().decls.get(id) {
                let tables = Tables {
                    declarations: body.declarations(),
                    pool: body.pool(),
                    vars: Some(body.vars()),
                };
                variable::check(context, tables, decl, Scope::Body, span);
            }
        }
        Statement::Function(id) => redeclaration::in_body(context, id, span),
        Statement::Prototype(id) => {
            let directive = Directive::Callprototype;
            available(
                context,
                directive,
                Location::keyword(span, directive.text()),
            );
            if let Some(prototype) = body.prototypes().get(id) {
                parameter::check_prototype(context, &prototype.interface, span);
            }
        }
        Statement::Directive(id) => {
            let Some(stmt) = body.directives().get(id) else {
                return;
            };
            let args = body.pool().slice(stmt.args);
            match stmt.directive {
                Directive::Loc => debug::numbers(context, body.pool(), stmt.directive, args, span),
                Directive::LocIntermediate => {
                    let location = Location::keyword(span, stmt.directive.text());
                    available(context, stmt.directive, location);
                    debug::numbers(context, body.pool(), stmt.directive, args, span);
                }
                Directive::Branchtargets | Directive::Calltargets => {
                    let location = Location::keyword(span, stmt.directive.text());
                    available(context, stmt.directive, location);
                    table::check(context, body, stmt, span);
                }
                _ => pragma::check(context, stmt, body.pool(), Place::Body, span),
            }
        }
        _ => {}
    }
}
