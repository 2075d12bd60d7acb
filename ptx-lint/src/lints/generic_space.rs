//! `generic-space`: generic accesses whose address is proven to be in one state space.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::{Access, Provenance};
use ptx_analysis::values::VariableRef;
use ptx_ir::facts::Space;
use ptx_ir::SymbolKind;
use ptx_isa::StateSpace;

use crate::context::FunctionContext;
use crate::{Finding, Lint};

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    // Code for a debugger and code that is not optimized name no state space.
    if cx.is_for_debugger() || cx.is_unoptimized() {
        return;
    }
    let Some(accesses) = cx.accesses() else {
        return;
    };
    let lines = cx.source_lines().function(cx.body());
    for access in accesses.all() {
        let Some(space) = known_space(cx, access) else {
            continue;
        };
        if lines.is_inline_asm(access.stmt) || access.access.data.is_none() {
            continue;
        }
        let message = format!("this generic access is to `{space}` memory");
        let help = match space {
            StateSpace::Global => format!("add `{space}`; the address stays the same"),
            _ => format!("add `{space}`, with the address in this state space"),
        };
        let finding = cx.finding(
            Lint::GenericSpace,
            Certainty::Definite,
            access.stmt,
            message,
        );
        found.push(finding.with_help(help));
    }
}

/// The state space of a generic access, if it is known.
fn known_space(cx: &FunctionContext<'_>, access: &Access) -> Option<StateSpace> {
    if access.access.space != Space::Generic {
        return None;
    }
    if let Space::State(space) = access.space {
        return Some(space);
    }
    // The generic address of a global variable is its address in the state space.
    let space = match access.provenance? {
        Provenance::Variable(VariableRef::Local(var)) => cx.body().vars().get(var)?.space,
        Provenance::Variable(VariableRef::Module(symbol)) => {
            let module = cx.module();
            match module.symbols().get(symbol)?.kind {
                SymbolKind::Variable(_, id) => module.declarations().decls.get(id)?.space,
                _ => return None,
            }
        }
        _ => return None,
    };
    (space == StateSpace::Global).then_some(space)
}
