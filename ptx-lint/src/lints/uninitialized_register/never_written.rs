//! Variables in shared and local memory that are read, but that no instruction of the function writes.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::values::VariableRef;
use ptx_ir::{Statement, StmtId};

use crate::context::FunctionContext;
use crate::variable_uses::{VariableUses, uses_of_private_variables};
use crate::{Finding, Lint};

/// Adds a finding for each variable, at the first load.
pub(super) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    for (variable, VariableUses { stores, loads }) in uses_of_private_variables(cx) {
        if stores.is_empty() {
            findings.extend(finding(cx, variable, loads));
        }
    }
}

fn finding(
    cx: &FunctionContext<'_>,
    variable: VariableRef,
    mut loads: Vec<StmtId>,
) -> Option<Finding> {
    loads.sort_by(|first, second| cx.order(*first, *second));
    loads.dedup();
    let (first, later) = loads.split_first()?;
    let Some(Statement::Inst(inst)) = cx.body().statement(*first) else {
        return None;
    };
    let (name, declaration) = cx.name_and_declaration(variable)?;
    let message = format!(
        "`{}` reads `{name}`, which no instruction writes",
        cx.mnemonic(inst)
    );
    let mut finding = cx
        .finding(
            Lint::UninitializedRegister,
            Certainty::Definite,
            *first,
            message,
        )
        .with_help("write the variable first: shared and local memory have undefined contents when a kernel starts");
    if let Some(declaration) = declaration {
        finding = finding.with_label(declaration, "declared here");
    }
    for stmt in later {
        finding.repeat(cx.span(*stmt));
    }
    Some(finding)
}
