//! The header: whether the version has the target, and which options it may have. Manual 11.1.

use ptx_ir::{DirectiveStmt, Operand, Span};
use ptx_isa::{Directive, PtxVersion, Target, TargetOption};

use crate::context::Context;
use crate::directive::available;
use crate::location::Location;
use crate::module_directives::each;
use crate::problem::feature::Feature;
use crate::problem::header::HeaderProblem;

/// Checks `.target` and `.address_size`.
pub(crate) fn check(context: &mut Context<'_>) {
    let module = context.module;
    for (span, stmt) in each(module, Directive::Target) {
        target(context, span, stmt, module.header().version);
    }
    if let Some((span, _)) = each(module, Directive::AddressSize).next() {
        let location = Location::exact(span);
        available(context, Directive::AddressSize, location);
    }
}

fn target(context: &mut Context<'_>, span: Span, stmt: DirectiveStmt, version: Option<PtxVersion>) {
    let module = context.module;
    let names = module.pool().slice(stmt.args).iter();
    let names = names.filter_map(|operand| match operand {
        Operand::Name(id) => Some((Location::name(span, *id), module.name_bytes(*id))),
        _ => None,
    });
    if let Some((location, text)) = names.clone().next()
        && let Some(option) = TargetOption::from_text(text)
    {
        context.report(location, HeaderProblem::OptionFirst(option));
        return;
    }
    let mut textures: Option<TargetOption> = None;
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
                if let Some(other) = textures.filter(|t| *t != option) {
                    context.report(location, HeaderProblem::OptionConflict(option, other));
                }
                textures = Some(option);
            }
            TargetOption::Debug if module.sections().is_empty() => {
                context.report(location, HeaderProblem::NoDebugInfo);
            }
            _ => {}
        }
    }
}
