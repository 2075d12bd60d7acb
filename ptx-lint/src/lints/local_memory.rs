//! `local-memory`: variables in local memory that cannot be kept in registers, because an index is only known when the kernel runs or because their
//! address is passed on.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::{Access, Provenance};
use ptx_analysis::ssa::Value;
use ptx_analysis::values::{Affine, AffineSymbol, Values, VariableRef};
use ptx_ir::facts::Space;
use ptx_isa::StateSpace;

use crate::context::FunctionContext;
use crate::{Finding, Lint};

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let (Some(accesses), Some(values)) = (cx.accesses(), cx.values()) else {
        return;
    };
    // Unoptimized code accesses local memory with generic addresses.
    if !cx.has_local() || cx.is_for_debugger() {
        return;
    }
    let mut index_of_variable: BTreeMap<VariableRef, usize> = BTreeMap::new();
    for access in accesses.all() {
        let Some(Provenance::Variable(variable)) = access.provenance else {
            continue;
        };
        let is_local =
            matches!(access.access.space, Space::State(space) if space.base() == StateSpace::Local);
        if !is_local {
            continue;
        }
        let Some(index) = access
            .address
            .and_then(|address| index(cx, values, &address))
        else {
            continue;
        };
        let first = index_of_variable.get(&variable);
        if let Some(first) = first.and_then(|index| findings.get_mut(*index)) {
            first.repeat(cx.span(access.stmt));
            continue;
        }
        if let Some(finding) = finding(cx, access, variable, &index) {
            index_of_variable.insert(variable, findings.len());
            findings.push(finding);
        }
    }
}

fn finding(
    cx: &FunctionContext<'_>,
    access: &Access,
    variable: VariableRef,
    index: &str,
) -> Option<Finding> {
    let (name, declaration) = cx.name_and_declaration(variable)?;
    let size = cx.layout(variable).and_then(|layout| layout.size);
    let size = size.map_or(Cow::Borrowed(""), |size| {
        Cow::Owned(format!(" ({size} bytes)"))
    });
    let message = format!(
        "`{name}`{size} may stay in local memory: `{}` accesses it at an index that depends on {index}",
        cx.mnemonic(access.inst)
    );
    let finding = cx
        .finding(Lint::LocalMemory, Certainty::Possible, access.stmt, message)
        .with_help("use indices that are constants after loops are unrolled, select between the elements, or keep the array in shared memory");
    Some(match declaration {
        Some(span) => finding.with_label(span, "the variable is declared here"),
        None => finding,
    })
}

/// Returns a description of the part of an address that varies; `None` if there is none.
fn index(cx: &FunctionContext<'_>, values: &Values, address: &Affine) -> Option<String> {
    address.terms().iter().find_map(|term| {
        let mut factors = values.factors(term.symbol).into_iter();
        factors.find_map(|symbol| match values.symbol(symbol)? {
            AffineSymbol::Variable(_) | AffineSymbol::Window(_) => None,
            AffineSymbol::Special(register, _) => Some(format!("`{}`", register.text())),
            AffineSymbol::Parameter { variable, .. } => {
                let var = cx.body().vars().get(variable)?;
                Some(format!("`{}`", cx.module().name(var.name)))
            }
            AffineSymbol::Counter(_) => Some(String::from("the iteration of a loop")),
            AffineSymbol::Value { value, .. } => match cx.ssa()?.value(value) {
                Value::Def { variable, .. }
                | Value::Phi { variable, .. }
                | Value::Entry { variable } => {
                    let register = cx.analysis().variables().place(variable).register;
                    let name = cx.body().register_name(cx.module(), register);
                    Some(format!("`{name}`"))
                }
                Value::Unknown => Some(String::from("an unknown value")),
            },
            _ => None,
        })
    })
}
