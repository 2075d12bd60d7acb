//! The header: whether the version knows the target, and what goes with it. Manual 11.1.

use alloc::format;
use ptx_ir::{Code, DirectiveStmt, Item, ItemId, Module, Operand, Span};
use ptx_isa::{Directive, PtxVersion, Target, TargetOption};

use crate::context::Context;
use crate::interface::floor;

/// Every directive of a kind at module level.
fn each(module: &Module, directive: Directive) -> alloc::vec::Vec<(Span, DirectiveStmt)> {
    let find = |(id, item): (ItemId, Item)| match item {
        Item::Directive(at) => {
            let stmt = *module.directives().get(at)?;
            (stmt.directive == directive).then_some((module.span(id), stmt))
        }
        _ => None,
    };
    module.items().filter_map(find).collect()
}

/// Checks `.target` and `.address_size`.
pub(crate) fn check(context: &mut Context<'_>) {
    let version = context.module.header().version;
    for (span, stmt) in each(context.module, Directive::Target) {
        target(context, span, stmt, version);
    }
    if let Some((span, _)) = each(context.module, Directive::AddressSize).first() {
        floor(context, Directive::AddressSize, *span);
    }
}

/// Whether each texture goes with a sampler of its own.
pub(crate) fn independent_textures(module: &Module) -> bool {
    let option = |operand: &Operand| match operand {
        Operand::Name(id) => TargetOption::from_text(module.name_bytes(*id)),
        _ => None,
    };
    let wanted = Some(TargetOption::TexmodeIndependent);
    let targets = each(module, Directive::Target);
    targets.iter().any(|(_, stmt)| {
        let args = module.pool().slice(stmt.args);
        args.iter().any(|a| option(a) == wanted)
    })
}

fn name<'m>(context: &Context<'m>, operand: Operand) -> Option<&'m [u8]> {
    match operand {
        Operand::Name(id) => Some(context.module.name_bytes(id)),
        _ => None,
    }
}

fn target(context: &mut Context<'_>, span: Span, stmt: DirectiveStmt, version: Option<PtxVersion>) {
    let args = context.module.pool().slice(stmt.args);
    let statement = context.statement(span);
    let mut textures: Option<TargetOption> = None;
    let first = args.first().and_then(|o| name(context, *o));
    if let Some(option) = first.and_then(TargetOption::from_text) {
        let at = statement.find(option.text());
        let message = format!("`{option}` is an option; the architecture stands before it");
        context.error(Code::TargetOption, at, message).help =
            Some(format!("write `.target sm_90, {option}`"));
        return;
    }
    for &operand in args {
        let Some(text) = name(context, operand) else {
            continue;
        };
        let at = statement.find(core::str::from_utf8(text).unwrap_or_default());
        if let (Some(target), Some(version)) = (Target::from_name(text), version) {
            known_by(context, target, version, at);
        }
        let Some(option) = TargetOption::from_text(text) else {
            continue;
        };
        let what = format!("`{option}`");
        context.need(
            Code::TargetOption,
            |_| at,
            &what,
            option.since(),
            option.target(),
        );
        match option {
            TargetOption::TexmodeUnified | TargetOption::TexmodeIndependent => {
                if let Some(other) = textures.filter(|t| *t != option) {
                    let message = format!("`{option}` contradicts `{other}`");
                    context.error(Code::TargetOption, at, message);
                }
                textures = Some(option);
            }
            TargetOption::MapF64ToF32 if !context.until(at, &what, Target::Sm13) => {
                let message =
                    format!("`{option}` is for targets without double precision, before `sm_13`");
                context.error(Code::TargetOption, at, message).help =
                    Some(format!("leave `{option}` out"));
            }
            TargetOption::Debug => debug(context, at),
            _ => {}
        }
    }
}

fn known_by(context: &mut Context<'_>, target: Target, version: PtxVersion, at: Span) {
    let first = target.min_version();
    if version < first {
        let message =
            format!("PTX {version} does not have `{target}`, which begins with PTX {first}");
        context.error(Code::TargetVersion, at, message).help = Some(format!(
            "write `.version {first}` or a target that PTX {version} has"
        ));
    }
}

/// With `debug` there must be debug information.
fn debug(context: &mut Context<'_>, at: Span) {
    if context.module.sections().is_empty() {
        let message = "`debug` needs debug information, and there is no `.section` with any";
        context.error(Code::TargetOption, at, message.into()).help =
            Some("leave `debug` out".into());
    }
}
