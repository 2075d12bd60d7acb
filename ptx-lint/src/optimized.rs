//! Whether a compiler optimized a module, as far as its text shows.

use alloc::vec::Vec;

use ptx_analysis::fold::conversion;
use ptx_ir::facts::{Flow, FunctionFacts, ModuleFacts, Targets};
use ptx_ir::{Module, Statement};
use ptx_isa::StateSpace;

/// Whether no compiler optimized it: it makes generic addresses of the stack, or jumps to the next statement.
pub(crate) fn is_unoptimized(facts: &ModuleFacts<'_>) -> bool {
    let functions = facts.module().definitions();
    let mut functions = functions.filter_map(|(id, ..)| facts.function(id));
    has_generic_stack(facts.module()) || functions.any(jumps_to_next)
}

fn has_generic_stack(module: &Module) -> bool {
    module.signatures().ids().any(|id| {
        let signature = module.signature(id);
        let modifiers: Vec<_> = signature.modifiers().collect();
        let made = signature.opcode();
        let made = made.and_then(|opcode| conversion(opcode, &modifiers));
        made.is_some_and(|made| made.to_generic && made.space == StateSpace::Local)
    })
}

/// Whether a jump without a guard goes to the statement after it.
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
