//! The interface of functions, kernels and prototypes: linkage, attributes, parameters and results. Manual 5.1.6, 7.1, 11.2, 11.4, 11.6.

use ptx_ir::{
    Attribute, FuncId, Function, FunctionKind, Interface, Linkage, Operand, Param,
    PointerAttribute, Span,
};
use ptx_isa::{Directive, ScalarType, StateSpace, TypeKind};

use crate::context::Context;
use crate::directive::{self, available};
use crate::layout::{check_alignment, is_unsized, size_and_align};
use crate::location::{FunctionSpans, Location, Part, Word};
use crate::problem::feature::Feature;
use crate::problem::interface::{InterfaceProblem, MOST_PARAMETER_BYTES, Owner};
use crate::problem::variable::VariableProblem;

/// Checks the header of one function. `item` is the span of the function with its body.
pub(crate) fn check(context: &mut Context<'_>, id: FuncId, function: &Function, item: Span) {
    if function.raw_header {
        return;
    }
    let spans = FunctionSpans::new(context.module, id, item);
    let keyword = |text| Location::keyword(spans.header, text);
    if function.linkage == Some(Linkage::Weak) {
        let location = keyword(Directive::Weak.text());
        available(context, Directive::Weak, location);
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
    check_parameters(context, &function.interface, owner, spans.header);
    if owner == Owner::Kernel && spans.is_defined {
        check_parameter_bytes(context, function, &spans);
    }
    directive::check(context, &function.interface, owner, &spans);
}

/// Checks the size of all parameters of a kernel together.
fn check_parameter_bytes(context: &mut Context<'_>, function: &Function, spans: &FunctionSpans) {
    /// The limit of all versions and targets.
    const BYTES_EVERYWHERE: i64 = 4352;
    let mut end = 0i64;
    for param in function.interface.params.of(context.module.params()) {
        let Some((size, align)) = param.layout(context.module.pool()).and_then(size_and_align)
        else {
            return;
        };
        let start = end.saturating_add(align - 1) / align * align;
        end = start.saturating_add(size);
    }
    let location = Location::exact(spans.close);
    if end > MOST_PARAMETER_BYTES {
        context.report(
            location,
            InterfaceProblem::ParameterBytes(function.name, end),
        );
    } else if end > BYTES_EVERYWHERE {
        context.require(location, Feature::ParameterBytes(end));
    }
}

/// Checks the parameters and results in a header.
fn check_parameters(context: &mut Context<'_>, interface: &Interface, owner: Owner, header: Span) {
    let module = context.module;
    let results = interface.returns.of(module.params());
    let has_result_in_memory = results.iter().any(|result| result.space != StateSpace::Reg);
    for (index, result) in results.iter().enumerate() {
        if !check_parameter(context, result, owner, header) {
            continue;
        }
        let location = parameter_location(result, header);
        if is_unsized(module, result) {
            context.report(location, InterfaceProblem::UnsizedResult);
        } else if index > 0 && has_result_in_memory {
            context.report(location, InterfaceProblem::SeveralResults);
        }
    }
    let params = interface.params.of(module.params());
    for (index, param) in params.iter().enumerate() {
        let is_legal = check_parameter(context, param, owner, header);
        if !is_legal || !is_unsized(module, param) {
            continue;
        }
        let location = parameter_location(param, header);
        if owner == Owner::Kernel {
            context.report(location, InterfaceProblem::UnsizedKernelParameter);
        } else if index + 1 < params.len() {
            context.report(location, InterfaceProblem::UnsizedBeforeLast);
        }
    }
}

/// Checks a `.callprototype`.
pub(crate) fn check_prototype(context: &mut Context<'_>, interface: &Interface, span: Span) {
    check_parameters(context, interface, Owner::Prototype, span);
    let directives = interface.directives;
    for stmt in directives.of(context.module.interface_directives()) {
        let location = Location::keyword(span, stmt.directive.text());
        available(context, stmt.directive, location);
    }
}

/// Returns the location of the name of a parameter, or of the first `_`.
fn parameter_location(param: &Param, header: Span) -> Location {
    let word = param.name.map_or(Word::Keyword("_"), Word::Name);
    Location::part(header, Part::Token(word, 0))
}

/// Returns the location of the last alignment of a parameter.
fn alignment_location(param: &Param, header: Span) -> Location {
    let align = Directive::Align.text();
    let part = match param.name {
        Some(name) => Part::Before(align, name),
        None => Part::After(align),
    };
    Location::part(header, part)
}

/// Checks a parameter or result; returns `true` if it is legal.
fn check_parameter(context: &mut Context<'_>, param: &Param, owner: Owner, header: Span) -> bool {
    let Some(ty) = param.ty.known() else {
        return true;
    };
    let problems_before = context.problems();
    let location = parameter_location(param, header);
    let type_location = Location::keyword(header, ty.text());
    if let Some(problem) = wrong_declaration(context, param, owner) {
        context.report(location, problem);
        return false;
    }
    if ty.kind() != TypeKind::Opaque && !ty.is_register_type() {
        context.report(type_location, InterfaceProblem::InstructionType(ty));
        return false;
    }
    context.require(type_location, Feature::Parameter(ty));
    if let Some(feature) = passing_feature(context, param, owner) {
        context.require(location, feature);
    }
    if let Some(problem) = wrong_type(context, param, ty, owner) {
        context.report(location, problem);
        return false;
    }
    if param.hidden {
        let hidden_location = Location::keyword(header, Directive::Hidden.text());
        if owner == Owner::Function {
            context.report(hidden_location, InterfaceProblem::HiddenInFunction);
            return false;
        }
        available(context, Directive::Hidden, hidden_location);
    }
    if let Some(ptr) = &param.ptr {
        if owner != Owner::Kernel {
            context.report(location, InterfaceProblem::PtrInFunction);
            return false;
        }
        let ptr_location = Location::keyword(header, Directive::Ptr.text());
        available(context, Directive::Ptr, ptr_location);
        check_pointer(context, ptr, alignment_location(param, header), header);
    }
    if owner != Owner::Kernel && param.trailing_align != Operand::Absent {
        context.report(location, InterfaceProblem::AlignAfterType);
        return false;
    }
    if let Some(align) = context.module.pool().integer(param.align) {
        check_alignment(context, align, alignment_location(param, header));
        let is_passed_in_memory = owner != Owner::Kernel && param.space != StateSpace::Reg;
        if is_passed_in_memory && align > 128 && align.count_ones() == 1 {
            context.report(location, VariableProblem::ParameterAlignment(align));
        }
    }
    context.problems() == problems_before
}

/// Returns the problem of the name, space or dimensions, if there is one.
fn wrong_declaration(
    context: &Context<'_>,
    param: &Param,
    owner: Owner,
) -> Option<InterfaceProblem> {
    let pool = context.module.pool();
    if owner == Owner::Function && param.name.is_none() {
        Some(InterfaceProblem::UnnamedParameter)
    } else if owner == Owner::Kernel && param.space != StateSpace::Param {
        Some(InterfaceProblem::KernelParameterSpace(param.space))
    } else if !matches!(param.space, StateSpace::Param | StateSpace::Reg) {
        Some(InterfaceProblem::ParameterSpace(param.space))
    } else if param.dims.len() > 1 {
        let count = param.dims.len() as u32;
        Some(InterfaceProblem::Dimensions(count))
    } else {
        pool.slice(param.dims)
            .iter()
            .filter_map(|dim| pool.integer(*dim))
            .find(|size| u32::try_from(*size).is_err())
            .map(InterfaceProblem::TooManyElements)
    }
}

/// Returns the feature that passing the parameter requires: kernel parameters, the calling convention with a stack, or arrays of any size.
fn passing_feature(context: &Context<'_>, param: &Param, owner: Owner) -> Option<Feature> {
    if owner == Owner::Kernel {
        Some(Feature::KernelParameter)
    } else if is_unsized(context.module, param) {
        Some(Feature::UnsizedParameter)
    } else {
        (param.space == StateSpace::Param).then_some(Feature::FunctionParameter)
    }
}

/// Returns the problem of the type, if there is one.
fn wrong_type(
    context: &Context<'_>,
    param: &Param,
    ty: ScalarType,
    owner: Owner,
) -> Option<InterfaceProblem> {
    let is_opaque = ty.kind() == TypeKind::Opaque;
    if param.space == StateSpace::Reg {
        let is_scalar = !is_opaque && param.dims.is_empty();
        (!is_scalar).then_some(InterfaceProblem::RegisterParameter)
    } else if ty == ScalarType::Pred {
        Some(InterfaceProblem::PredicateInParam)
    } else if is_opaque && owner != Owner::Kernel {
        Some(InterfaceProblem::OpaqueParameter(ty))
    } else if ty == ScalarType::Samplerref && !context.independent_textures() {
        Some(InterfaceProblem::UnifiedSampler)
    } else if !is_opaque && param.vector > 1 {
        Some(InterfaceProblem::ParamVector(param.vector))
    } else if !is_opaque && !ty.is_parameter_type() {
        Some(InterfaceProblem::ParamType(ty))
    } else {
        None
    }
}

/// Checks `.ptr`. `alignment` is the location of its alignment.
fn check_pointer(
    context: &mut Context<'_>,
    ptr: &PointerAttribute,
    alignment: Location,
    header: Span,
) {
    if let Some(space) = ptr.space
        && !space.is_generic()
        && space != StateSpace::Const
    {
        let location = Location::keyword(header, space.text());
        context.report(location, InterfaceProblem::PtrSpace(space));
    }
    if let Some(opaque) = ptr.opaque {
        let location = Location::keyword(header, opaque.text());
        context.require(location, Feature::OpaquePointer(opaque));
    }
    if let Some(align) = context.module.pool().integer(ptr.align) {
        check_alignment(context, align, alignment);
    }
}
