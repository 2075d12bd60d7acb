//! Checks that the declarations of shared names are compatible. Manual 11.6.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{
    Code, Diagnostic, FuncId, FunctionKind, Interface, Linkage, Module, Param, Severity, Span,
    TypeName,
};
use ptx_isa::{Directive, ScalarType};

use super::diagnostic::{LinkDiagnostic, about};
use super::shared_symbols::{
    Global, Role, SharedName, SharedNames, SymbolKind, Variable, alignment, name_span, sizes,
};

/// A declaration of a shared name in one of the modules.
#[derive(Copy, Clone)]
struct Declaration<'g> {
    input: usize,
    module: &'g Module,
    global: &'g Global,
}

impl<'g> Declaration<'g> {
    fn new(modules: &[&'g Module], (input, global): &'g (usize, Global)) -> Option<Self> {
        Some(Self {
            input: *input,
            module: *modules.get(*input)?,
            global,
        })
    }

    /// The span of the name in the declaration.
    fn name_span(self, name: &str) -> Span {
        name_span(self.module, self.global.item, name)
    }
}

/// Checks the declarations of shared names.
pub(super) fn check(modules: &[&Module], diagnostics: &mut Vec<LinkDiagnostic>) {
    for SharedName {
        name,
        declarations,
        winner,
    } in SharedNames::of(modules).0
    {
        let name = name.0;
        // Without a definition, declarations are compared with the first one.
        let Some(reference) = declarations
            .iter()
            .find(|(input, _)| winner.is_none_or(|winner| winner == *input))
            .and_then(|declaration| Declaration::new(modules, declaration))
        else {
            continue;
        };
        for declaration in declarations
            .iter()
            .filter(|(input, _)| *input != reference.input)
            .filter_map(|declaration| Declaration::new(modules, declaration))
        {
            let strong = Role::Defined(Linkage::Visible);
            if reference.global.role == strong && declaration.global.role == strong {
                let message = format!("`{name}` is defined in two modules");
                let duplicate = Diagnostic::error(
                    Code::DuplicateDefinition,
                    declaration.name_span(name),
                    message,
                )
                .with_help(format!(
                    "make one of them `.weak`, or remove `.visible` if `{name}` is private"
                ));
                diagnostics.push(about(declaration.input, duplicate).with(
                    reference.input,
                    reference.name_span(name),
                    "defined first here",
                ));
                continue;
            }
            let Some((severity, difference)) = difference(reference, declaration) else {
                continue;
            };
            let message = format!("`{name}` {difference}");
            let span = declaration.name_span(name);
            let mut diagnostic = Diagnostic::error(Code::DifferentDeclaration, span, message);
            diagnostic.severity = severity;
            diagnostics.push(about(declaration.input, diagnostic).with(
                reference.input,
                reference.name_span(name),
                "the other module has it here",
            ));
        }
    }
}

/// Describes the first difference of a declaration from the declaration that it is compared with, as the predicate of a
/// sentence about the name.
fn difference(
    reference: Declaration<'_>,
    declaration: Declaration<'_>,
) -> Option<(Severity, String)> {
    match (reference.global.kind, declaration.global.kind) {
        (SymbolKind::Function(reference_id), SymbolKind::Function(id)) => {
            let difference =
                function_difference(reference.module, reference_id, declaration.module, id)?;
            Some((Severity::Error, difference))
        }
        (SymbolKind::Variable(..), SymbolKind::Variable(..)) => {
            variable_difference(reference, declaration)
        }
        (SymbolKind::Function(_), _) => {
            let difference = "is a variable here, and a function in another module";
            Some((Severity::Error, difference.into()))
        }
        _ => {
            let difference = "is a function here, and a variable in another module";
            Some((Severity::Error, difference.into()))
        }
    }
}

/// Compares two functions. In the names, `a` is the module and the function to compare with.
fn function_difference(
    module_a: &Module,
    id_a: FuncId,
    module_b: &Module,
    id_b: FuncId,
) -> Option<String> {
    let function_a = module_a.functions().get(id_a)?;
    let function_b = module_b.functions().get(id_b)?;
    if function_a.raw_header || function_b.raw_header {
        return None;
    }
    if function_a.kind != function_b.kind {
        let kind_a = kind_name(function_a.kind);
        let kind_b = kind_name(function_b.kind);
        return Some(format!("is {kind_b} here, and {kind_a} in another module"));
    }
    match (
        returns(module_a, &function_a.interface),
        returns(module_b, &function_b.interface),
    ) {
        (true, false) => return Some("does not return here, and does in another module".into()),
        (false, true) => return Some("returns here, and does not in another module".into()),
        _ => {}
    }
    let (interface_a, interface_b) = (&function_a.interface, &function_b.interface);
    let lists = [
        (interface_a.returns, interface_b.returns, "results"),
        (interface_a.params, interface_b.params, "parameters"),
    ];
    for (list_a, list_b, noun) in lists {
        if list_a.len != list_b.len {
            let (length_a, length_b) = (list_a.len, list_b.len);
            return Some(format!(
                "has {length_b} {noun} here, and {length_a} in another module"
            ));
        }
        let pairs = list_a
            .of(module_a.params())
            .iter()
            .zip(list_b.of(module_b.params()));
        for (number, (param_a, param_b)) in (1..).zip(pairs) {
            if let Some(difference) = param_difference(module_a, param_a, module_b, param_b) {
                return Some(format!(
                    "differs from that of another module in {noun}, number {number}: {difference}"
                ));
            }
        }
    }
    None
}

const fn kind_name(kind: FunctionKind) -> &'static str {
    match kind {
        FunctionKind::Entry => "a kernel",
        FunctionKind::Func => "a function",
    }
}

/// Whether the function has no `.noreturn`.
fn returns(module: &Module, interface: &Interface) -> bool {
    !interface
        .directives
        .of(module.interface_directives())
        .iter()
        .any(|record| record.directive == Directive::Noreturn)
}

fn param_difference(
    module_a: &Module,
    param_a: &Param,
    module_b: &Module,
    param_b: &Param,
) -> Option<&'static str> {
    let dims = |module: &Module, param: &Param| sizes(module, module.pool().slice(param.dims));
    if !is_passable(param_a.ty, param_b.ty)
        || param_a.vector != param_b.vector
        || dims(module_a, param_a) != dims(module_b, param_b)
    {
        return Some("another type");
    }
    if param_a.space != param_b.space {
        return Some("another state space");
    }
    let param_alignment =
        |module: &Module, param: &Param| alignment(module, param.align, param.ty, param.vector);
    (param_alignment(module_a, param_a) != param_alignment(module_b, param_b))
        .then_some("another alignment")
}

/// Whether an argument of one type can be passed to a parameter of the other type.
fn is_passable(a: TypeName, b: TypeName) -> bool {
    let (Some(a), Some(b)) = (a.known(), b.known()) else {
        return a == b;
    };
    let is_untyped = |ty: ScalarType| !ty.is_integer() && !ty.is_float();
    let are_alike = is_untyped(a) || is_untyped(b) || a.is_integer() && b.is_integer();
    a == b || a.bits() == b.bits() && are_alike && a != ScalarType::Pred && b != ScalarType::Pred
}

fn variable_difference(
    reference: Declaration<'_>,
    declaration: Declaration<'_>,
) -> Option<(Severity, String)> {
    let a = Variable::of(reference.module, reference.global)?;
    let b = Variable::of(declaration.module, declaration.global)?;
    if a.decl.space.base() != b.decl.space.base() {
        let (space_a, space_b) = (a.decl.space.text(), b.decl.space.text());
        let difference = format!("is in `{space_b}` here, and in `{space_a}` in another module");
        return Some((Severity::Error, difference));
    }
    let common = Role::Defined(Linkage::Common);
    let are_common = reference.global.role == common && declaration.global.role == common;
    if let (Some(size_a), Some(size_b)) = (a.size(), b.size())
        && size_a != size_b
        && !are_common
    {
        let difference = format!("has {size_b} bytes here, and {size_a} in another module");
        return Some((Severity::Error, difference));
    }
    let have_no_size = a.size().is_none() && b.size().is_none();
    if have_no_size || are_common || a.is_like(&b) {
        return None;
    }
    let difference = "has another type here than in another module";
    Some((Severity::Warning, difference.into()))
}
