//! Parameters and results of functions, kernels and prototypes. Manual 5.1.6, 7.1.

use ptx_ir::{Interface, Operand, Param, Pointer, Span};
use ptx_isa::{Directive, ScalarType, StateSpace, TypeKind};

use crate::alignment::power_of_two;
use crate::context::Context;
use crate::directive::available;
use crate::location::{Location, Part, Word};
use crate::param_layout::is_unsized;
use crate::problem::feature::Feature;
use crate::problem::interface::{InterfaceProblem, Owner};
use crate::problem::variable::VariableProblem;

/// Checks the parameters and results in a header.
pub(crate) fn check(context: &mut Context<'_>, interface: &Interface, owner: Owner, header: Span) {
    let module = context.module;
    let returns = interface.returns.of(module.params());
    let in_memory = returns.iter().any(|r| r.space != StateSpace::Reg);
    for (i, param) in returns.iter().enumerate() {
        let location = location(param, header);
        if !parameter(context, param, owner, header) {
            continue;
        }
        if is_unsized(module, param) {
            context.report(location, InterfaceProblem::UnsizedResult);
        } else if i > 0 && in_memory {
            context.report(location, InterfaceProblem::SeveralResults);
        }
    }
    let params = interface.params.of(module.params());
    for (i, param) in params.iter().enumerate() {
        let legal = parameter(context, param, owner, header);
        if !legal || !is_unsized(module, param) {
            continue;
        }
        let location = location(param, header);
        if owner == Owner::Kernel {
            context.report(location, InterfaceProblem::UnsizedKernelParameter);
        } else if i + 1 < params.len() {
            context.report(location, InterfaceProblem::UnsizedBeforeLast);
        }
    }
}

/// Checks a `.callprototype`.
pub(crate) fn check_prototype(context: &mut Context<'_>, interface: &Interface, whole: Span) {
    check(context, interface, Owner::Prototype, whole);
    let directives = interface.directives;
    for stmt in directives.of(context.module.interface_directives()) {
        let location = Location::keyword(whole, stmt.directive.text());
        available(context, stmt.directive, location);
    }
}

/// The name of a parameter, or the first `_`.
fn location(param: &Param, header: Span) -> Location {
    let word = param.name.map_or(Word::Keyword("_"), Word::Name);
    Location::part(header, Part::Token(word, 0))
}

/// The last alignment of a parameter.
fn alignment(param: &Param, header: Span) -> Location {
    let align = Directive::Align.text();
    let part = match param.name {
        Some(name) => Part::Before(align, name),
        None => Part::After(align),
    };
    Location::part(header, part)
}

/// Checks one parameter; whether it is legal.
fn parameter(context: &mut Context<'_>, param: &Param, owner: Owner, header: Span) -> bool {
    let Some(ty) = param.ty.known() else {
        return true;
    };
    let before = context.problems();
    let location = location(param, header);
    let at_type = Location::keyword(header, ty.text());
    if let Some(problem) = wrong_declaration(context, param, owner) {
        context.report(location, problem);
        return false;
    }
    if ty.kind() != TypeKind::Opaque && !ty.is_register_type() {
        context.report(at_type, InterfaceProblem::InstructionType(ty));
        return false;
    }
    context.require(at_type, Feature::Parameter(ty));
    if let Some(feature) = passing(context, param, owner) {
        context.require(location, feature);
    }
    if let Some(problem) = wrong_type(context, param, ty, owner) {
        context.report(location, problem);
        return false;
    }
    if param.hidden {
        let at_hidden = Location::keyword(header, Directive::Hidden.text());
        if owner == Owner::Function {
            context.report(at_hidden, InterfaceProblem::HiddenInFunction);
            return false;
        }
        available(context, Directive::Hidden, at_hidden);
    }
    if let Some(ptr) = &param.ptr {
        if owner != Owner::Kernel {
            context.report(location, InterfaceProblem::PtrInFunction);
            return false;
        }
        let at_ptr = Location::keyword(header, Directive::Ptr.text());
        available(context, Directive::Ptr, at_ptr);
        pointer(context, ptr, alignment(param, header), header);
    }
    if owner != Owner::Kernel && param.trailing_align != Operand::Absent {
        context.report(location, InterfaceProblem::AlignAfterType);
        return false;
    }
    if let Some(align) = context.module.pool().integer(param.align) {
        power_of_two(context, align, alignment(param, header));
        let of_function = owner != Owner::Kernel && param.space != StateSpace::Reg;
        if of_function && align > 128 && align.count_ones() == 1 {
            context.report(location, VariableProblem::ParameterAlignment(align));
        }
    }
    context.problems() == before
}

/// The problem of name, space or dimensions, if there is one.
fn wrong_declaration(
    context: &Context<'_>,
    param: &Param,
    owner: Owner,
) -> Option<InterfaceProblem> {
    let pool = context.module.pool();
    let sizes = pool.slice(param.dims).iter();
    let mut sizes = sizes.filter_map(|d| pool.integer(*d));
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
        let large = sizes.find(|s| u32::try_from(*s).is_err());
        large.map(InterfaceProblem::TooManyElements)
    }
}

/// The requirements of passing the parameter: kernel parameters, the calling convention with a stack, arrays of any size.
fn passing(context: &Context<'_>, param: &Param, owner: Owner) -> Option<Feature> {
    if owner == Owner::Kernel {
        Some(Feature::KernelParameter)
    } else if is_unsized(context.module, param) {
        Some(Feature::UnsizedParameter)
    } else {
        (param.space == StateSpace::Param).then_some(Feature::FunctionParameter)
    }
}

fn wrong_type(
    context: &Context<'_>,
    param: &Param,
    ty: ScalarType,
    owner: Owner,
) -> Option<InterfaceProblem> {
    let opaque = ty.kind() == TypeKind::Opaque;
    if param.space == StateSpace::Reg {
        let plain = !opaque && param.dims.is_empty();
        (!plain).then_some(InterfaceProblem::RegisterParameter)
    } else if ty == ScalarType::Pred {
        Some(InterfaceProblem::PredicateInParam)
    } else if opaque && owner != Owner::Kernel {
        Some(InterfaceProblem::OpaqueParameter(ty))
    } else if ty == ScalarType::Samplerref && !context.independent_textures() {
        Some(InterfaceProblem::UnifiedSampler)
    } else if !opaque && param.vector > 1 {
        Some(InterfaceProblem::ParamVector(param.vector))
    } else if !opaque && !ty.is_parameter_type() {
        Some(InterfaceProblem::ParamType(ty))
    } else {
        None
    }
}

fn pointer(context: &mut Context<'_>, ptr: &Pointer, location: Location, header: Span) {
    let wrong = |s: &StateSpace| !s.is_generic() && *s != StateSpace::Const;
    if let Some(space) = ptr.space.filter(wrong) {
        let location = Location::keyword(header, space.text());
        context.report(location, InterfaceProblem::PtrSpace(space));
    }
    if let Some(opaque) = ptr.opaque {
        let location = Location::keyword(header, opaque.text());
        context.require(location, Feature::OpaquePointer(opaque));
    }
    if let Some(align) = context.module.pool().integer(ptr.align) {
        power_of_two(context, align, location);
    }
}
