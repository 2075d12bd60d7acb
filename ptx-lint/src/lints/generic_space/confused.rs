//! Addresses in a state space that are used as generic ones, and generic addresses that are used as ones in a state space.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::Access;
use ptx_analysis::values::{Symbol, VariableRef};
use ptx_ir::SymbolKind;
use ptx_ir::facts::Space;
use ptx_isa::StateSpace;

use crate::context::FunctionContext;
use crate::{Finding, Lint};

pub(super) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let all = cx.accesses().map(|a| a.all()).unwrap_or_default();
    for access in all {
        let Some((space, is_generic)) = address(cx, access) else {
            continue;
        };
        let wants_generic = match access.access.space {
            Space::Generic => true,
            Space::State(of) if of.base() == space => false,
            _ => continue,
        };
        if wants_generic != is_generic {
            found.push(finding(cx, access, space, is_generic));
        }
    }
}

/// The state space of the variable that an access is to, and whether the address is a generic one.
fn address(cx: &FunctionContext<'_>, access: &Access) -> Option<(StateSpace, bool)> {
    let (form, values) = (access.address?, cx.values()?);
    let (mut variable, mut is_generic) = (None, false);
    for term in form.terms() {
        match values.symbol(term.symbol)? {
            Symbol::Variable(of) if term.factor == 1 && variable.is_none() => variable = Some(of),
            Symbol::Variable(_) => return None,
            Symbol::Window(_) => is_generic = true,
            // It may be the base of a window that was computed.
            Symbol::Parameter { .. } => return None,
            _ => {}
        }
    }
    let space = space(cx, variable?)?;
    // Generic addresses of global memory are its addresses; those of parameters are taken in several ways.
    let is_distinct = matches!(space, StateSpace::Shared | StateSpace::Local | StateSpace::Const);
    is_distinct.then_some((space, is_generic))
}

fn space(cx: &FunctionContext<'_>, variable: VariableRef) -> Option<StateSpace> {
    match variable {
        VariableRef::Local(id) => Some(cx.body().vars().get(id)?.space.base()),
        VariableRef::Module(id) => match cx.module().symbols().get(id)?.kind {
            SymbolKind::Variable(space, _) => Some(space.base()),
            _ => None,
        },
    }
}

fn finding(
    cx: &FunctionContext<'_>,
    access: &Access,
    space: StateSpace,
    is_generic: bool,
) -> Finding {
    let mnemonic = cx.mnemonic(access.inst);
    let (message, help) = match is_generic {
        false => (
            format!("`{mnemonic}` takes a generic address, but gets one in `{space}`"),
            format!("convert the address with `cvta{space}`, or access `{space}`"),
        ),
        true => (
            format!("`{mnemonic}` takes an address in `{space}`, but gets a generic one"),
            format!("convert the address with `cvta.to{space}`, or access a generic address"),
        ),
    };
    cx.finding(Lint::GenericSpace, Certainty::Definite, access.stmt, message).with_help(help)
}
