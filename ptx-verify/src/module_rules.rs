//! The rules that look at more than one function, or at declarations at module level.

use ptx_ir::{Item, Span};
use ptx_isa::Directive;

use crate::context::Context;
use crate::directive::available;
use crate::location::Location;
use crate::pragma::{self, Place};
use crate::variable::{self, Scope};
use crate::variable_tables::Tables;
use crate::{debug, header, interface, redeclaration};

/// Applies all of them.
pub(crate) fn check(context: &mut Context<'_>) {
    header::check(context);
    items(context);
    redeclaration::check(context);
    debug::check(context);
}

fn items(context: &mut Context<'_>) {
    let module = context.module;
    for (id, of_module) in module.items() {
        item(context, of_module, module.span(id));
    }
}

fn item(context: &mut Context<'_>, item: Item, span: Span) {
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
                interface::check(context, id, function, span);
            }
        }
        Item::Directive(id) => {
            if let Some(stmt) = module.directives().get(id) {
                if stmt.directive == Directive::NvIntermediateSourceSection {
                    let location = Location::keyword(span, stmt.directive.text());
                    available(context, stmt.directive, location);
                }
                pragma::check(context, stmt, module.pool(), Place::Outside, span);
            }
        }
        Item::Section(_) => {
            let location = Location::keyword(span, Directive::Section.text());
            available(context, Directive::Section, location);
        }
        _ => {}
    }
}
