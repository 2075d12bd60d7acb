//! Accesses whose address is of the wrong kind: in a state space instead of generic, generic instead of in a state space, or in a different
//! state space.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::memory_access::Access;
use ptx_analysis::provenance::Pointer;
use ptx_ir::facts::Space;
use ptx_ir::{Operand, RegId};
use ptx_isa::StateSpace;

use crate::context::FunctionContext;
use crate::{Finding, Lint};

pub(super) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let Some(accesses) = cx.accesses() else {
        return;
    };
    let mut last = None;
    // By the register of the address and the message: these accesses have the same cause.
    let mut known: BTreeMap<(RegId, String), usize> = BTreeMap::new();
    for access in accesses.all() {
        if last == Some(access.stmt) {
            continue;
        }
        let Some(finding) = access
            .mismatch
            .and_then(|pointer| finding(cx, access, pointer))
        else {
            continue;
        };
        last = Some(access.stmt);
        let Some(Operand::Reg(register)) = access.access.base else {
            found.push(finding);
            continue;
        };
        let key = (register, finding.diagnostic.message.clone());
        match known.get(&key).and_then(|first| found.get_mut(*first)) {
            Some(first) => first.repeat(cx.span(access.stmt)),
            None => {
                known.insert(key, found.len());
                found.push(finding);
            }
        }
    }
}

fn finding(cx: &FunctionContext<'_>, access: &Access, pointer: Pointer) -> Option<Finding> {
    let space = pointer.space?;
    let mnemonic = cx.mnemonic(access.inst);
    let (takes, help) = match access.access.space {
        Space::Generic => (
            String::from("a generic address"),
            format!("convert the address with `cvta{space}`, or use an access with `{space}`"),
        ),
        Space::State(taken) if taken.base() == space => (
            format!("an address in `{taken}`"),
            format!("convert the address with `cvta.to{space}`"),
        ),
        Space::State(taken) => (
            format!("an address in `{taken}`"),
            format!("use an access with `{space}`, or the address of a variable in `{taken}`"),
        ),
        _ => return None,
    };
    let given = match pointer.is_generic && space != StateSpace::Global {
        true => format!("a generic address of memory in `{space}`"),
        false => format!("an address in `{space}`"),
    };
    let message = format!("`{mnemonic}` expects {takes}, but this is {given}");
    let finding = cx.finding(
        Lint::GenericSpace,
        Certainty::Definite,
        access.stmt,
        message,
    );
    Some(finding.with_help(help))
}
