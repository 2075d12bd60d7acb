//! Variables in shared and local memory that are written but never read: those of the function, and those of the module that no other function uses.
//!
//! If all uses of the address of such a variable are addresses of ordinary stores, no thread can read the variable.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::values::VariableRef;
use ptx_ir::StmtId;

use crate::context::FunctionContext;
use crate::variable_uses::{VariableUses, uses_of_private_variables};
use crate::{Finding, Lint};

/// Adds a finding for each variable, at the first store.
pub(super) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    for (variable, VariableUses { stores, loads }) in uses_of_private_variables(cx) {
        if loads.is_empty() {
            findings.extend(finding(cx, variable, stores));
        }
    }
}

fn finding(
    cx: &FunctionContext<'_>,
    variable: VariableRef,
    mut stores: Vec<StmtId>,
) -> Option<Finding> {
    stores.sort_by(|a, b| cx.order(*a, *b));
    stores.dedup();
    let (first, later) = stores.split_first()?;
    let (name, declaration) = cx.name_and_declaration(variable)?;
    let message = format!("`{name}` is written here but never read");
    let mut finding = cx
        .finding(Lint::DeadCode, Certainty::Definite, *first, message)
        .with_help("remove the stores and the variable");
    if let Some(declaration) = declaration {
        finding = finding.with_label(declaration, "declared here");
    }
    finding.diagnostic.repeats = later.iter().map(|stmt| cx.span(*stmt)).collect();
    Some(finding)
}
