//! The header of a function: linkage, attributes, parameters, directives. Manual 7.1, 11.2, 11.4, 11.6.

use ptx_ir::{Attribute, FuncId, Function, FunctionKind, Linkage, Span};
use ptx_isa::Directive;

use crate::context::Context;
use crate::header_ends::Ends;
use crate::location::Location;
use crate::problem::feature::Feature;
use crate::problem::interface::{InterfaceProblem, MOST_PARAMETER_BYTES, Owner};
use crate::{directive, param_layout, parameter};

/// Checks the header of one function.
pub(crate) fn check(context: &mut Context<'_>, id: FuncId, function: &Function, whole: Span) {
    if function.raw_header {
        return;
    }
    let ends = Ends::new(context.module, id, whole);
    let keyword = |text| Location::keyword(ends.header, text);
    if function.linkage == Some(Linkage::Weak) {
        let location = keyword(Directive::Weak.text());
        directive::available(context, Directive::Weak, location);
    }
    if function.linkage == Some(Linkage::Common) {
        let location = keyword(Directive::Common.text());
        context.report(location, InterfaceProblem::CommonFunction);
    }
    let attributes = function.attributes;
    for attribute in attributes.of(context.module.declarations().attributes()) {
        match attribute {
            Attribute::Unified(..) => context.require(keyword(".unified"), Feature::Unified),
            Attribute::Managed => {
                context.report(keyword(".managed"), InterfaceProblem::ManagedFunction);
            }
            _ => {}
        }
    }
    let owner = match function.kind {
        FunctionKind::Entry => Owner::Kernel,
        FunctionKind::Func => Owner::Function,
    };
    parameter::check(context, &function.interface, owner, ends.header);
    if owner == Owner::Kernel && ends.defined {
        parameter_bytes(context, function, &ends);
    }
    directive::check(context, &function.interface, owner, &ends);
}

/// Checks the size of all parameters of a kernel together.
fn parameter_bytes(context: &mut Context<'_>, function: &Function, ends: &Ends) {
    /// The limit that every version and target has.
    const FEW: i64 = 4352;
    let mut end = 0i64;
    for param in function.interface.params.of(context.module.params()) {
        let layout = param.layout(context.module.pool());
        let Some((size, align)) = layout.and_then(param_layout::size_and_align) else {
            return;
        };
        let start = end.saturating_add(align - 1) / align * align;
        end = start.saturating_add(size);
    }
    let location = Location::exact(ends.close);
    if end > MOST_PARAMETER_BYTES {
        context.report(
            location,
            InterfaceProblem::ParameterBytes(function.name, end),
        );
    } else if end > FEW {
        context.require(location, Feature::ParameterBytes(end));
    }
}
