//! The statements of a body, each held against its rules.

use ptx_ir::{Body, Statement};
use ptx_isa::Directive;

use crate::context::Context;
use crate::instruction::Instructions;
use crate::pragma;
use crate::variable::{self, Scope, Tables};
use crate::{call, debug, interface};

/// Checks the statements of one body.
pub(crate) fn check<'m>(
    context: &mut Context<'m>,
    instructions: &mut Instructions,
    body: &'m Body,
) {
    let tables = Tables {
        declarations: body.declarations(),
        pool: body.pool(),
        vars: Some(body.vars()),
    };
    for (stmt, statement) in body.statements() {
        match statement {
            Statement::Inst(id) => {
                if let Some(inst) = body.inst(id) {
                    instructions.check(context, body, stmt, id, inst);
                }
            }
            Statement::Decl(id) => {
                if let Some(decl) = body.declarations().decls.get(id) {
                    let span = body.source_span(stmt);
                    context.check_without_spans(|c| {
                        variable::check(c, tables, decl, Scope::Body, span)
                    });
                }
            }
            Statement::Prototype(id) => {
                if let Some(prototype) = body.prototypes().get(id) {
                    let span = body.source_span(stmt);
                    context.check_without_spans(|c| {
                        interface::check_prototype(c, &prototype.interface, span);
                    });
                }
            }
            Statement::Directive(id) => {
                let Some(directive) = body.directives().get(id) else {
                    continue;
                };
                match directive.directive {
                    Directive::Loc => {
                        let args = body.pool().slice(directive.args);
                        debug::numbers(context, body.pool(), args, body.source_span(stmt));
                    }
                    Directive::Calltargets => {
                        let args = body.pool().slice(directive.args);
                        call::targets(context, args, body.source_span(stmt));
                    }
                    _ => {
                        let span = body.source_span(stmt);
                        pragma::check(context, directive, body.pool(), pragma::Place::Body, span);
                    }
                }
            }
            _ => {}
        }
    }
}
