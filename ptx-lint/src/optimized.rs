//! Guesses from the text of a module whether it was optimized.

use alloc::vec::Vec;

use ptx_ir::facts::{Flow, FunctionFacts, Targets};
use ptx_ir::{EntityId as _, Module, Statement};
use ptx_isa::StateSpace;
use ptx_semantics::fold::conversion;

/// The signatures that convert stack addresses to generic addresses.
pub(crate) fn stack_addresses(module: &Module) -> Vec<bool> {
    let makes = |id| {
        let signature = module.signature(id);
        let modifiers: Vec<_> = signature.modifiers().collect();
        let made = signature.opcode();
        let made = made.and_then(|opcode| conversion(opcode, &modifiers));
        made.is_some_and(|made| made.to_generic && made.space == StateSpace::Local)
    };
    module.signatures().ids().map(makes).collect()
}

/// Whether a module with this function was not optimized: the function converts stack addresses to generic ones, or jumps to the next statement.
pub(crate) fn is_unoptimized(of: FunctionFacts<'_>, stack_addresses: &[bool]) -> bool {
    let mut insts = of.body().insts();
    insts.any(|(_, inst)| stack_addresses.get(inst.sig.index()) == Some(&true)) || jumps_to_next(of)
}

/// Whether an unconditional jump goes to the statement after it.
fn jumps_to_next(of: FunctionFacts<'_>) -> bool {
    let mut target = None;
    for (_, statement) in of.body().statements() {
        match statement {
            Statement::Inst(inst) => {
                let f = of.inst(inst);
                target = match f.targets() {
                    Targets::Label(label) if f.flow() == Flow::Jump && f.guard().is_none() => {
                        Some(label)
                    }
                    _ => None,
                };
            }
            Statement::Label(label) if target == Some(label) => return true,
            _ => {}
        }
    }
    false
}
