//! Checks that the declarations of shared names are compatible. Manual 11.6.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{
    Code, Diagnostic, FuncId, FunctionKind, Interface, Linkage, Module, Param, Severity, TypeName,
};
use ptx_isa::{Directive, ScalarType};

use super::diagnostic::{LinkDiagnostic, about};
use super::shared_symbols::{Global, Role, SharedName, SharedNames, SymbolKind, place};
use super::variable::{Variable, alignment, sizes};

/// Checks the declarations of shared names.
pub(super) fn check(modules: &[&Module], found: &mut Vec<LinkDiagnostic>) {
    for SharedName { name, all, winner } in SharedNames::of(modules).0 {
        let name = name.0;
        // Without a definition, declarations are compared with the first one.
        let chosen = all.iter().find(|(i, _)| winner.is_none_or(|w| w == *i));
        let Some(&(first, model)) = chosen else {
            continue;
        };
        let Some(a) = modules.get(first) else {
            continue;
        };
        let at = || place(a, model.item, name);
        for &(other, global) in all.iter().filter(|(i, _)| *i != first) {
            let Some(b) = modules.get(other) else {
                continue;
            };
            let here = || place(b, global.item, name);
            let strong = Role::Defined(Linkage::Visible);
            if model.role == strong && global.role == strong {
                let message = format!("`{name}` is defined in two modules");
                let d = Diagnostic::error(Code::DuplicateDefinition, here(), message).with_help(
                    format!(
                        "make one of them `.weak`, or remove `.visible` if `{name}` is private"
                    ),
                );
                found.push(about(other, d).with(first, at(), "defined first here"));
                continue;
            }
            let Some((severity, how)) = difference((a, &model), (b, &global)) else {
                continue;
            };
            let message = format!("`{name}` {how}");
            let mut d = Diagnostic::error(Code::DifferentDeclaration, here(), message);
            d.severity = severity;
            found.push(about(other, d).with(first, at(), "the other module has it here"));
        }
    }
}

type SharedDecl<'g> = (&'g Module, &'g Global);

/// How the second differs from the first.
fn difference(a: SharedDecl<'_>, b: SharedDecl<'_>) -> Option<(Severity, String)> {
    match (a.1.what, b.1.what) {
        (SymbolKind::Function(f), SymbolKind::Function(g)) => {
            functions((a.0, f), (b.0, g)).map(|how| (Severity::Error, how))
        }
        (SymbolKind::Variable(..), SymbolKind::Variable(..)) => variables(a, b),
        (SymbolKind::Function(_), _) => {
            let how = "is a variable here, and a function in another module";
            Some((Severity::Error, how.into()))
        }
        _ => {
            let how = "is a function here, and a variable in another module";
            Some((Severity::Error, how.into()))
        }
    }
}

fn functions((m, f): (&Module, FuncId), (n, g): (&Module, FuncId)) -> Option<String> {
    let (f, g) = (m.functions().get(f)?, n.functions().get(g)?);
    if f.raw_header || g.raw_header {
        return None;
    }
    if f.kind != g.kind {
        let name = |kind| match kind {
            FunctionKind::Entry => "a kernel",
            FunctionKind::Func => "a function",
        };
        let (a, b) = (name(f.kind), name(g.kind));
        return Some(format!("is {b} here, and {a} in another module"));
    }
    let returns = |m: &Module, i: &Interface| {
        let mut all = i.directives.of(m.interface_directives()).iter();
        !all.any(|d| d.directive == Directive::Noreturn)
    };
    match (returns(m, &f.interface), returns(n, &g.interface)) {
        (true, false) => return Some("does not return here, and does in another module".into()),
        (false, true) => return Some("returns here, and does not in another module".into()),
        _ => {}
    }
    let pairs = [
        (f.interface.returns, g.interface.returns, "results"),
        (f.interface.params, g.interface.params, "parameters"),
    ];
    for (a, b, what) in pairs {
        if a.len != b.len {
            let (a, b) = (a.len, b.len);
            return Some(format!("has {b} {what} here, and {a} in another module"));
        }
        let all = a.of(m.params()).iter().zip(b.of(n.params()));
        for (nth, (a, b)) in (1..).zip(all) {
            if let Some(how) = params((m, a), (n, b)) {
                return Some(format!(
                    "differs from that of another module in {what}, number {nth}: {how}"
                ));
            }
        }
    }
    None
}

fn params((m, a): (&Module, &Param), (n, b): (&Module, &Param)) -> Option<&'static str> {
    let dims = |m: &Module, p: &Param| sizes(m, m.pool().slice(p.dims));
    if !compatible(a.ty, b.ty) || a.vector != b.vector || dims(m, a) != dims(n, b) {
        return Some("another type");
    }
    if a.space != b.space {
        return Some("another state space");
    }
    let align = |m: &Module, p: &Param| alignment(m, p.align, p.ty, p.vector);
    (align(m, a) != align(n, b)).then_some("another alignment")
}

/// Whether an argument of one type can be passed to a parameter of another one.
fn compatible(a: TypeName, b: TypeName) -> bool {
    match (a.known(), b.known()) {
        (Some(a), Some(b)) => {
            let untyped = |t: ScalarType| !t.is_integer() && !t.is_float();
            let alike = untyped(a) || untyped(b) || a.is_integer() && b.is_integer();
            a == b
                || a.bits() == b.bits() && alike && a != ScalarType::Pred && b != ScalarType::Pred
        }
        _ => a == b,
    }
}

fn variables(a: SharedDecl<'_>, b: SharedDecl<'_>) -> Option<(Severity, String)> {
    let (x, y) = (Variable::of(a.0, a.1)?, Variable::of(b.0, b.1)?);
    if x.decl.space.base() != y.decl.space.base() {
        let (x, y) = (x.decl.space.text(), y.decl.space.text());
        let how = format!("is in `{y}` here, and in `{x}` in another module");
        return Some((Severity::Error, how));
    }
    let common = Role::Defined(Linkage::Common);
    let both = a.1.role == common && b.1.role == common;
    if let (Some(m), Some(n)) = (x.size(), y.size())
        && m != n
        && !both
    {
        let how = format!("has {n} bytes here, and {m} in another module");
        return Some((Severity::Error, how));
    }
    // Dynamic shared memory has no type except its alignment.
    let dynamic = x.size().is_none() && y.size().is_none();
    if dynamic || both || x.is_like(&y) {
        return None;
    }
    let how = "has another type here than in another module";
    Some((Severity::Warning, how.into()))
}
