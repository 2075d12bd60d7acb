//! Applies the rules to the items of a module and to statements that are not instructions.

use ptx_ir::{Body, Item, Span, Statement};
use ptx_isa::Directive;

use crate::context::Context;
use crate::directive::{PragmaPlace, available, check_pragma};
use crate::location::Location;
use crate::variable::{self, Scope, Tables};
use crate::{call_tables, debug, header, interface, redeclaration};

/// Applies all rules about the items of a module, including those about several functions.
pub(crate) fn check_module(context: &mut Context<'_>) {
    let module = context.module;
    header::check(context);
    for (id, item) in module.items() {
        check_item(context, item, module.span(id));
    }
    redeclaration::check(context);
    debug::check(context);
}

fn check_item(context: &mut Context<'_>, item: Item, span: Span) {
    let module = context.module;
    match item {
        Item::Decl(id) => {
            if let Some(decl) = module.declarations().decls.get(id) {
                let tables = Tables {
                    declarations: module.declarations(),
                    pool: module.pool(),
                    vars: None,
                };
                variable::check(context, tables, decl, Scope::Module, span);
            }
        }
        Item::Function(id) => {
            if let Some(function) = module.functions().get(id) {
                context.enter_function(Some(id));
                interface::check(context, id, function, span);
                context.enter_function(None);
            }
        }
        Item::Directive(id) => {
            if let Some(stmt) = module.directives().get(id) {
                if stmt.directive == Directive::NvIntermediateSourceSection {
                    check_keyword(context, stmt.directive, span);
                }
                check_pragma(context, stmt, module.pool(), PragmaPlace::Outside, span);
            }
        }
        Item::Section(_) => check_keyword(context, Directive::Section, span),
        _ => {}
    }
}

/// Checks a statement of a body that is not an instruction.
pub(crate) fn check_statement(
    context: &mut Context<'_>,
    body: &Body,
    statement: Statement,
    span: Span,
) {
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
        Statement::Function(id) => redeclaration::check_in_body(context, id, span),
        Statement::Prototype(id) => {
            check_keyword(context, Directive::Callprototype, span);
            if let Some(prototype) = body.prototypes().get(id) {
                interface::check_prototype(context, &prototype.interface, span);
            }
        }
        Statement::Directive(id) => {
            let Some(stmt) = body.directives().get(id) else {
                return;
            };
            let args = body.pool().slice(stmt.args);
            match stmt.directive {
                Directive::Loc => {
                    debug::check_loc(context, body.pool(), stmt.directive, args, span);
                }
                Directive::LocIntermediate => {
                    check_keyword(context, stmt.directive, span);
                    debug::check_loc(context, body.pool(), stmt.directive, args, span);
                }
                Directive::Branchtargets | Directive::Calltargets => {
                    check_keyword(context, stmt.directive, span);
                    call_tables::check_entries(context, body, stmt, span);
                }
                _ => check_pragma(context, stmt, body.pool(), PragmaPlace::Body, span),
            }
        }
        _ => {}
    }
}

/// Checks that the version and target have a directive.
fn check_keyword(context: &mut Context<'_>, directive: Directive, span: Span) {
    available(
        context,
        directive,
        Location::keyword(span, directive.text()),
    );
}
