//! Where a label most likely is missing: at the only statement that control does not reach.

use ptx_ir::{Inst, Module, Statement};
use ptx_isa::{Control, EffectKind};

use crate::output::Output;

/// The start of the only instruction after one that ends a path and before a label.
pub(crate) fn place(out: &Output) -> Option<u32> {
    let mut ended = false;
    let mut found = None;
    for (id, statement) in out.body.statements() {
        match statement {
            Statement::Inst(inst) => {
                let start = out.body.source_span(id).start;
                if ended && found.replace(start).is_some() {
                    return None;
                }
                ended = out.body.inst(inst).is_some_and(|i| ends(&out.module, i));
            }
            Statement::Directive(_) | Statement::Decl(_) => {}
            _ => ended = false,
        }
    }
    found
}

/// Whether control never reaches the next instruction.
fn ends(module: &Module, inst: &Inst) -> bool {
    let instruction = module.signature(inst.sig).instruction();
    let mut forms = instruction.map_or(&[][..], |i| i.forms()).iter();
    let leaves = |kind: EffectKind| match kind {
        EffectKind::Control(control) => control != Control::Call,
        _ => false,
    };
    inst.guard().is_none() && forms.any(|f| f.effects().iter().any(|e| leaves(e.kind())))
}
