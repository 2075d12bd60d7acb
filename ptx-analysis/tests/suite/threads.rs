//! Values of single threads, and which threads come to blocks.
#![allow(clippy::unwrap_used, reason = "tests")]

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::ssa::ValueId;
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
    let ssa = analysis.ssa().unwrap();
    let all = statements(facts);
    let def = |at: usize| -> ValueId { ssa.defs(all[at]).next().unwrap() };
    let mut threads = ThreadValues::new(&analysis).unwrap();
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
    let mut resumed = ThreadValues::resume(&analysis, &evaluated).unwrap();
    assert_eq!(resumed.value(def(1)), Some(warp));
    assert_eq!(resumed.value(def(2)), Some(lane));
}

#[test]
fn threads_that_come_to_blocks() {
    let module = ptx_parse::parse(TEXT.as_bytes()).module;
    let facts = ModuleFacts::new(&module);
    let facts = facts.function(module.function("k").unwrap()).unwrap();
    let analysis = FunctionAnalysis::new(facts);
    let mut threads = ThreadValues::new(&analysis).unwrap();
    let sets = reaching(&analysis, &mut threads);
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

/// Instructions that compute something of `%t`, `%u`, `%s` and `%q`.
const INSTRUCTIONS: &[&str] = &[
    "add.u32 %r, %t, 7;",
    "add.s32 %r, %t, -7;",
    "sub.u32 %r, 5, %t;",
    "sub.s64 %d, 5, %u;",
    "neg.s32 %r, %t;",
    "abs.s32 %r, %s;",
    "mul.lo.s32 %r, %s, %t;",
    "mul.lo.u64 %d, %u, 0x123456789abcdef;",
    "mul.hi.u64 %d, %u, 0xffffffffffffffff;",
    "mul.hi.s32 %r, %s, 0x40000000;",
    "mul.wide.s32 %d, %s, %t;",
    "mul.wide.u32 %d, %t, 0xffffffff;",
    "mad.lo.s32 %r, %t, %t, %s;",
    "mad.wide.s32 %d, %s, 4, %u;",
    "div.s32 %r, %s, 7;",
    "rem.u32 %r, %t, 5;",
    "div.u32 %r, 100, %t;",
    "min.s32 %r, %s, 3;",
    "max.u32 %r, %s, 3;",
    "and.b32 %r, %s, 0xf0;",
    "or.b64 %d, %u, 0xff00;",
    "xor.b32 %r, %s, %t;",
    "not.b32 %r, %t;",
    "not.pred %o, %p;",
    "and.pred %o, %p, %q;",
    "shl.b32 %r, %t, 30;",
    "shl.b32 %r, 3, %t;",
    "shr.u32 %r, %s, 3;",
    "shr.s32 %r, %s, %t;",
    "shf.l.wrap.b32 %r, %t, %s, 7;",
    "setp.lt.s32 %o, %s, 4;",
    "setp.hi.u32 %o, %s, %t;",
    "setp.eq.and.s32 %o, %t, 9, %p;",
    "setp.ge.u32 %o|%p, %t, 9;",
    "set.lt.u32.s32 %r, %t, 9;",
    "selp.b32 %r, %t, %s, %p;",
    "selp.s64 %d, -1, %u, %q;",
    "slct.s32.s32 %r, %t, 3, %s;",
    "mov.b32 %r, %t;",
    "mov.b64 %d, {%t, %s};",
    "cvt.u64.u32 %d, %t;",
    "cvt.s64.s32 %d, %s;",
    "cvt.u8.u32 %r, %s;",
    "cvt.s16.s32 %h, %s;",
    "cvt.sat.u8.s32 %r, %s;",
    "cvt.rn.f32.s32 %f, %s;",
    "bfe.u32 %r, %s, 3, 5;",
    "bfe.s32 %r, %s, 3, 5;",
    "bfi.b32 %r, %t, %s, 4, 6;",
    "lop3.b32 %r, %t, %s, 0x55, 0x96;",
    "popc.b32 %r, %s;",
    "clz.b32 %r, %t;",
    "brev.b32 %r, %t;",
    "prmt.b32 %r, %t, %s, 0x4140;",
    "sad.u32 %r, %t, 9, 3;",
    "add.cc.u32 %r, %s, %t;",
    "add.sat.s32 %r, %s, 0x7fffffff;",
    "mov.u32 %r, %laneid;",
];

/// A kernel with one of the instructions in which the index of the thread is a number, or that of `%tid.x`.
fn kernel(instruction: &str, index: Option<u32>) -> String {
    let index = index.map_or("%tid.x".to_owned(), |index| index.to_string());
    let instruction = match index.parse::<u32>() {
        Ok(index) => instruction.replace("%laneid", &(index % 32).to_string()),
        Err(_) => instruction.to_owned(),
    };
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{{\n\
        .reg .pred %p, %q, %o; .reg .b16 %h; .reg .b32 %t, %s, %r; .reg .b64 %u, %d; .reg .f32 %f;\n\
        mov.u32 %t, {index};\nsub.u32 %s, %t, 33;\nmul.wide.u32 %u, %t, 12;\nsetp.gt.u32 %p, %t, 40;\nsetp.eq.s32 %q, %s, 1;\n\
        {instruction}\nret;\n}}\n"
    )
}

/// What statement 5 writes.
fn results<T>(text: &str, read: impl Fn(&FunctionAnalysis<'_>, ValueId) -> T) -> Vec<T> {
    let parsed = ptx_parse::parse_str(text);
    assert!(
        parsed.diagnostics.is_empty(),
        "{text}: {:?}",
        parsed.diagnostics
    );
    let module = parsed.module;
    let facts = ModuleFacts::new(&module);
    let facts = facts.function(module.function("k").unwrap()).unwrap();
    let analysis = FunctionAnalysis::new(facts);
    let ssa = analysis.ssa().unwrap();
    let defs = ssa.defs(statements(facts)[5]);
    defs.map(|def| read(&analysis, def)).collect()
}

#[test]
fn values_of_all_threads_are_those_of_each() {
    let mut compared = 0;
    for instruction in INSTRUCTIONS {
        let all = results(&kernel(instruction, None), |analysis, def| {
            let mut threads = ThreadValues::new(analysis).unwrap();
            (threads.value(def), threads.samples().to_vec())
        });
        for sample in [0, 1, 9, 32, 33, 34, 41, 63, 80] {
            for (at, (value, samples)) in all.iter().enumerate() {
                let text = kernel(instruction, Some(samples[sample]));
                let one = results(&text, |analysis, def| {
                    analysis.constants().unwrap().value(def).known()
                });
                if let Some(value) = value {
                    let found = Some(u128::from(value.get(sample)));
                    assert_eq!(found, one[at], "{instruction} in {}", samples[sample]);
                    compared += 1;
                }
            }
        }
    }
    // A division by zero has no result.
    assert_eq!(compared, 9 * (INSTRUCTIONS.len() + 1));
}
