//! Values of single threads, and which threads come to blocks.
#![allow(clippy::unwrap_used, reason = "tests")]

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::ssa::{Ssa, ValueId};
use ptx_analysis::threads::{PerThread, ThreadValues, reaching};
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{Statement, StmtId};
use ptx_isa::SpecialReg;

const TEXT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u32 n)\n{\n\
    .reg .pred %p; .reg .b32 %t, %w, %x, %n, %s;\n\
    mov.u32 %t, %tid.x;\nshr.u32 %w, %t, 5;\nxor.b32 %x, %t, 3;\nld.param.u32 %n, [n];\nadd.u32 %s, %t, %n;\n\
    setp.lt.u32 %p, %t, 16;\n@!%p bra DONE;\nmov.b32 %w, 1;\nDONE:\nret;\n}\n";

/// The statements of the instructions.
fn statements(facts: FunctionFacts<'_>) -> Vec<StmtId> {
    let all = facts.body().statements();
    let insts = all.filter(|(_, s)| matches!(s, Statement::Inst(_)));
    insts.map(|(stmt, _)| stmt).collect()
}

#[test]
fn values_follow_from_the_index_of_the_thread() {
    let module = ptx_parse::parse(TEXT.as_bytes()).module;
    let facts = ModuleFacts::new(&module);
    let facts = facts.function(module.function("k").unwrap()).unwrap();
    let analysis = FunctionAnalysis::new(facts);
    let (cfg, variables) = (analysis.cfg(), analysis.variables());
    let ssa = Ssa::new(facts, cfg, analysis.dominators(), variables).unwrap();
    let all = statements(facts);
    let def = |at: usize| -> ValueId { ssa.defs(all[at]).next().unwrap() };
    let mut threads = ThreadValues::new(facts, variables, &ssa);
    assert_eq!(threads.shape().threads, [1024, 1, 1]);
    assert!(!threads.shape().is_required);
    assert_eq!(threads.samples().len(), 124);
    assert_eq!(threads.samples()[65], 95);
    let warp = threads.value(def(1)).unwrap();
    assert_eq!((warp.get(0), warp.get(65)), (0, 2));
    assert_eq!(threads.uniformity(&warp), Uniformity::Warp);
    let lane = threads.value(def(2)).unwrap();
    assert_eq!(
        (lane.get(5), threads.uniformity(&lane)),
        (6, Uniformity::Varying)
    );
    // A parameter is not known, unless it is assumed.
    assert_eq!(threads.value(def(4)), None);
    let mut assuming = threads.assuming(def(3), 100);
    let sum = assuming.value(def(4)).unwrap();
    assert_eq!(sum.get(7), 107);
    assert_eq!(assuming.uniformity(&PerThread::Same(100)), Uniformity::Grid);
    assert_eq!(threads.special(SpecialReg::Laneid, 0, 33), Some(1));
    assert_eq!(threads.special(SpecialReg::Ctaid, 0, 33), None);
    let evaluated = threads.into_evaluated();
    let mut resumed = ThreadValues::new(facts, variables, &ssa).resume(&evaluated);
    assert_eq!(resumed.value(def(1)), Some(warp));
    assert_eq!(resumed.value(def(2)), Some(lane));
}

#[test]
fn threads_that_come_to_blocks() {
    let module = ptx_parse::parse(TEXT.as_bytes()).module;
    let facts = ModuleFacts::new(&module);
    let facts = facts.function(module.function("k").unwrap()).unwrap();
    let analysis = FunctionAnalysis::new(facts);
    let (cfg, variables) = (analysis.cfg(), analysis.variables());
    let ssa = Ssa::new(facts, cfg, analysis.dominators(), variables).unwrap();
    let mut threads = ThreadValues::new(facts, variables, &ssa);
    let sets = reaching(cfg, facts, &mut threads);
    let everyone = (1u128 << 124) - 1;
    assert_eq!(sets, [everyone, 0xffff, everyone]);
    let branch = statements(facts)[6];
    let Some(Statement::Inst(inst)) = facts.body().statement(branch) else {
        unreachable!("it is an instruction")
    };
    // The branch has a `!`.
    let guard = threads.guard(branch, &facts.inst(inst)).unwrap();
    assert_eq!((guard.get(15), guard.get(16)), (0, 1));
}
