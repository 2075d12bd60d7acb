//! Operands of forms, arguments of calls, and what is known of values.

use std::sync::Arc;

use ptx_analysis::calls::CallGraph;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::module_analysis::ModuleAnalysis;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Operand, Statement};
use ptx_isa::{Modifier, Opcode};
use ptx_semantics::fold::PerThread;
use ptx_semantics::internals::{evaluate_columns, fold_columns};
use ptx_semantics::{Place, evaluate};

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
    let ssa = analysis.ssa().unwrap();
    let values = analysis.values().unwrap();
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
    let amount = shift.operand(2).unwrap();
    assert_eq!(amount.operand, Operand::Small(4));
    assert!(amount.is_source() && !amount.is_destination());
    assert!(shift.operand(0).unwrap().is_destination());
    let lists = insts[4].1.call_lists().map(|(list, _)| list.len());
    assert_eq!(lists.collect::<Vec<_>>(), [1, 1]);
}

/// `shl.b32` of the thread index by 3, for three threads at once.
#[test]
fn results_for_several_threads() {
    let index = PerThread::from_values(vec![0, 1, 2]);
    let amount = PerThread::from_values(vec![3; 3]);
    let results = fold_columns(Opcode::Shl, &[Modifier::B32], &[index, amount]).unwrap();
    let shifted = |thread| results.get(thread).unwrap().value;
    assert_eq!([0, 1, 2].map(shifted), [0, 8, 16]);
}

/// All threads at once have the results of each thread alone, or none. Each instruction has three registers; the first is written.
#[test]
fn evaluation_of_several_threads_equals_that_of_each() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n\
        .reg .b32 r, a, b;\n.reg .b64 w;\n.reg .pred p, q;\n\
        add.s32 r, a, b; sub.s32 r, a, 7; and.b32 r, a, b; shr.s32 r, a, b; shl.b32 r, a, 3; mul.lo.s32 r, a, b; mad.lo.s32 r, a, b, a;\n\
        mul.wide.s32 w, a, -4; cvt.s64.s32 w, a; bfe.u32 r, a, 3, b; lop3.b32 r, a, b, 12, 0x96; prmt.b32 r, a, b, 0x1032; min.s32 r, a, b;\n\
        setp.lt.s32 p|q, a, b; setp.ne.and.u32 p, a, 1, !q; selp.b32 r, a, b, q; not.b32 r, a; div.u32 r, a, b; mov.b32 r, %tid.x; ret;\n}\n";
    let module = ptx_parse::parse(text.as_bytes()).module;
    let facts = ModuleFacts::new(&module);
    let facts = facts.function(module.function("k").unwrap()).unwrap();
    let value = |place: Place, thread: u64| match place {
        Place::Register(register) => {
            let number = u64::from(register.register.as_u32()) + 1;
            (thread * 0x9e37_79b9 * number) >> (number * 7 % 24)
        }
        _ => thread,
    };
    let mut compared = 0;
    for (id, _) in facts.body().insts() {
        let inst = facts.inst(id);
        let columns = evaluate_columns(&inst, 32, |place| {
            Some(PerThread::from_values(
                (0..32).map(|thread| value(place, thread)).collect(),
            ))
        });
        for (place, column) in columns.into_iter().flatten() {
            for thread in 0..32 {
                let alone = evaluate(&inst, |place| Some(value(place, thread).into())).unwrap();
                assert_eq!(alone.get(place), Some(column.get(thread as usize).into()));
            }
            compared += 1;
        }
    }
    // `bfe`, `lop3`, `prmt` and the division by zero are evaluated for one thread at a time; `setp` with two results counts twice.
    assert_eq!(compared, 16);
}

/// The call graph may be computed once for several analyses.
#[test]
fn analyses_of_a_known_call_graph() {
    let module = ptx_parse::parse(TEXT.as_bytes()).module;
    let facts = ModuleFacts::new(&module);
    let calls = Arc::new(CallGraph::new(&facts));
    let analyses = ModuleAnalysis::with_call_graph(&facts, calls);
    let kernel = module.function("k").unwrap();
    assert!(!analyses.is_alone(kernel));
    let function = analyses.function(kernel).unwrap();
    assert_eq!(function.cfg().len(), 1);
}

#[test]
fn comparisons_that_follow_from_others_and_selections() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n\
        .reg .pred p, q, r;\n.reg .b32 t, s;\n\
        mov.u32 t, %tid.x; setp.lt.s32 p, t, 5; setp.lt.s32 q, t, 9; selp.b32 s, 1, 0, p; setp.eq.s32 r, s, 1; ret;\n}\n";
    let module = ptx_parse::parse(text.as_bytes()).module;
    let facts = ModuleFacts::new(&module);
    let facts = facts.function(module.function("k").unwrap()).unwrap();
    let analysis = FunctionAnalysis::new(facts);
    let ssa = analysis.ssa().unwrap();
    let values = analysis.values().unwrap();
    let statements: Vec<_> = facts
        .body()
        .statements()
        .filter_map(|(stmt, statement)| match statement {
            Statement::Inst(inst) => Some((stmt, facts.inst(inst))),
            _ => None,
        })
        .collect();
    let result = |index: usize| ssa.defs(statements[index].0).next().unwrap();
    let (below_five, below_nine, selected, is_one) = (result(1), result(2), result(3), result(4));
    assert_eq!(values.implied((below_five, true), below_nine), Some(true));
    assert_eq!(values.implied((below_nine, false), below_five), Some(false));
    assert_eq!(values.implied((below_nine, true), below_five), None);
    assert_eq!(
        values.truth_for(is_one, [1, 0]),
        Some((selected, [true, false]))
    );
    let (form, _) = statements[3].1.form().unwrap();
    assert_eq!(ptx_semantics::internals::selection(form), Some([3, 1, 2]));
}
