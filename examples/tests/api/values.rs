//! Operands of forms, arguments of calls, and what is known of values.

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::ssa::Ssa;
use ptx_analysis::values::Values;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Operand, Statement};
use ptx_isa::Modifier;

const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .func (.reg .b32 r) f(.reg .b32 a) { mov.b32 r, a; ret; }\n\
    .entry k() {\n.reg .b32 t, a, b;\n\
    mov.u32 t, 5; shl.b32 a, t, 4; mov.u32 b, %tid.x; shl.b32 b, b, 3; call (t), f, (b); ret;\n}\n";

#[test]
fn forms_of_values_and_lists_of_calls() {
    let module = ptx_parse::parse(TEXT.as_bytes()).module;
    let facts = ModuleFacts::new(&module);
    let facts = facts.function(module.function("k").unwrap()).unwrap();
    let analysis = FunctionAnalysis::new(facts);
    let ssa = Ssa::new(
        facts,
        analysis.cfg(),
        analysis.dominators(),
        analysis.variables(),
    );
    let ssa = ssa.unwrap();
    let values = Values::new(facts, &analysis, &ssa);
    let insts = facts.body().statements().filter_map(|(stmt, s)| match s {
        Statement::Inst(inst) => Some((stmt, facts.inst(inst))),
        _ => None,
    });
    let insts: Vec<_> = insts.collect();
    let form = |at: usize| values.affine(ssa.defs(insts[at].0).next().unwrap());
    assert_eq!(form(1).as_number(), Some(80));
    assert_eq!(form(3).as_number(), None);
    assert_eq!(values.alignment_of(&form(3)).divisor(), 8);
    let shift = insts[1].1;
    assert!(shift.has_modifier(Modifier::B32) && !shift.has_modifier(Modifier::U32));
    assert_eq!(shift.form_operand(2), Some(Operand::Small(4)));
    let lists = insts[4].1.call_lists().map(|(list, _)| list.len());
    assert_eq!(lists.collect::<Vec<_>>(), [1, 1]);
}
