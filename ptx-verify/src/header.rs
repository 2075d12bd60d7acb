//! The header of a module: its target, which the version must have, and the options of the target. Manual 11.1.

use ptx_ir::{DirectiveStmt, Item, Module, Operand, Span};
use ptx_isa::{Directive, PtxVersion, Target, TargetOption};

use crate::context::Context;
use crate::directive::available;
use crate::location::Location;
use crate::problem::feature::Feature;
use crate::problem::module::HeaderProblem;

/// Checks `.target` and `.address_size`.
pub(crate) fn check(context: &mut Context<'_>) {
    let module = context.module;
    for (span, stmt) in directives(module, Directive::Target) {
        check_target(context, span, stmt, module.header().version);
    }
    if let Some((span, _)) = directives(module, Directive::AddressSize).next() {
        let location = Location::exact(span);
        available(context, Directive::AddressSize, location);
    }
}

/// Returns the directives of a kind at module level with their spans.
fn directives(
    module: &Module,
    directive: Directive,
) -> impl Iterator<Item = (Span, DirectiveStmt)> {
    module.items().filter_map(move |(id, item)| match item {
        Item::Directive(directive_id) => {
            let stmt = *module.directives().get(directive_id)?;
            (stmt.directive == directive).then_some((module.span(id), stmt))
        }
        _ => None,
    })
}

fn check_target(
    context: &mut Context<'_>,
    span: Span,
    stmt: DirectiveStmt,
    version: Option<PtxVersion>,
) {
    let module = context.module;
    let operands = module.pool().slice(stmt.args);
    let names = operands.iter().filter_map(|operand| match operand {
        Operand::Name(id) => Some((Location::name(span, *id), module.name_bytes(*id))),
        _ => None,
    });
    if let Some((location, text)) = names.clone().next()
        && let Some(option) = TargetOption::from_text(text)
    {
        context.report(location, HeaderProblem::OptionFirst(option));
        return;
    }
    // `texmode_unified` or `texmode_independent`.
    let mut texture_mode: Option<TargetOption> = None;
    for (location, text) in names {
        if let (Some(target), Some(version)) = (Target::from_text(text), version)
            && let first = target.min_version()
            && version < first
        {
            context.report(
                location,
                HeaderProblem::TargetVersion(target, first, version),
            );
        }
        let Some(option) = TargetOption::from_text(text) else {
            continue;
        };
        context.require(location, Feature::TargetOption(option));
        match option {
            TargetOption::TexmodeUnified | TargetOption::TexmodeIndependent => {
                if let Some(previous) = texture_mode.filter(|mode| *mode != option) {
                    context.report(location, HeaderProblem::OptionConflict(option, previous));
                }
                texture_mode = Some(option);
            }
            TargetOption::Debug if module.sections().is_empty() => {
                context.report(location, HeaderProblem::NoDebugInfo);
            }
            _ => {}
        }
    }
}
