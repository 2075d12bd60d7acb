//! The work that `ptx_analysis::work` counts in the text of kernels is what a profile counts when they are executed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]

use std::collections::BTreeMap;

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::work::{FunctionWork, Work};
use ptx_ir::Module;
use ptx_ir::facts::{ModuleFacts, Space};
use ptx_isa::StateSpace;
use ptx_vm::{Launch, Machine, Profile};

/// Instructions, multiply-adds, and bytes by the state spaces of profiles.
type Counts = (u64, u64, BTreeMap<StateSpace, u64>);

/// A kernel whose `%a` is the address of words in global memory, `%s` that of a shared array, and `%t` the thread.
fn module(body: &str) -> Module {
    let text = format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 s[16384];\n\
        .visible .entry k(.param .u64 to, .param .u32 n)\n{{\n.reg .b32 %r<16>; .reg .b32 %t; .reg .b32 %s; .reg .b32 %n;\n\
        .reg .b64 %a; .reg .b64 %b; .reg .b64 %d<4>; .reg .f32 %f<8>; .reg .f64 %g<4>; .reg .pred %p<4>;\n\
        ld.param.u64 %a, [to];\nld.param.u32 %n, [n];\nmov.u32 %t, %tid.x;\nmov.u32 %s, s;\n\
        mad.wide.u32 %b, %t, 16, %a;\nmad.lo.u32 %s, %t, 16, %s;\n{body}\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse_str(&text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    parsed.module
}

fn work(module: &Module) -> FunctionWork {
    let facts = ModuleFacts::new(module);
    let facts = facts.function(module.function("k").unwrap()).unwrap();
    let analysis = FunctionAnalysis::new(facts);
    analysis.work().clone()
}

/// What three warps of two blocks execute, for a parameter `n`.
fn profiled(module: &Module, n: u32) -> Counts {
    let mut machine = Machine::new(module);
    let data = machine.allocate(1 << 16).unwrap();
    let mut launch = Launch::new("k").shape(2, 96);
    launch = launch
        .argument(data.to_le_bytes())
        .argument(n.to_le_bytes());
    launch.profile = true;
    machine.launch(&launch).unwrap();
    let Profile { instructions, .. } = machine.profile().unwrap();
    let mut found = Counts::default();
    for count in instructions {
        found.0 += count.executions;
        found.1 += count.matrix.map_or(0, |m| m.multiply_adds);
        for memory in &count.memory {
            *found.2.entry(memory.space).or_default() += memory.bytes;
        }
    }
    found
}

/// The same of work.
fn counted(work: &Work, warps: u64, found: &mut Counts) {
    found.0 += work.instructions * warps;
    found.1 += work.operations.multiply_adds * warps;
    for traffic in &work.traffic {
        assert_eq!(traffic.unknown, 0);
        let space = match traffic.space {
            Space::State(StateSpace::Const) | Space::Generic => StateSpace::Global,
            Space::State(space) => space,
            other => panic!("{other:?}"),
        };
        *found.2.entry(space).or_default() += traffic.bytes() * warps;
    }
}

const WARPS: u64 = 6;

const MATRICES: &str = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%s];\n\
    ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r5, %r6}, [%s];\n\
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f0, %f1, %f2, %f3};\n\
    mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r7, %r8}, {%r1}, {%r2}, {%r7, %r8};\n\
    stmatrix.sync.aligned.m8n8.x1.shared.b16 [%s], {%r1};\n\
    mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6, %r7}, {%r0, %r1, %r2, %r3};\n\
    mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r2, %r3}, {%r4, %r5}, {%r0, %r1}, %r6, 0x0;";

/// Matrices whose rows or columns are at equal distances, of 1024, 512, 512, 128, 256 and 1024 bytes.
const FRAGMENTS: &str = "wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, [s];\n\
    wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [s], 16;\n\
    wmma.load.b.sync.aligned.col.m8n32k16.shared.u8 {%r8, %r9, %r10, %r11}, [s];\n\
    wmma.load.a.sync.aligned.row.m8n8k32.shared.s4 {%r12}, [s];\n\
    wmma.load.b.sync.aligned.col.m8n8k4.shared.f64 {%g0}, [s];\n\
    wmma.store.d.sync.aligned.col.m16n16k16.shared.f32 [s+4096], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7};";

/// Kernels whose loops are repeated a number of times that the text says.
fn known() -> Vec<String> {
    let at_end = "mov.u32 %r0, 0;\nL: ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%b];\nst.shared.u32 [%s], %r1;\n\
        add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p0, %r0, 7;\n@%p0 bra L;";
    let at_start = "mov.u32 %r0, 0;\nL: setp.ge.u32 %p0, %r0, 5;\n@%p0 bra E;\nld.f64 %g0, [%b];\nst.shared.f64 [%s], %g0;\n\
        add.u32 %r0, %r0, 1;\nbra L;\nE: atom.global.add.u32 %r1, [%b], 1;";
    let nested = "mov.u32 %r0, 0;\nL: mov.u32 %r1, 10;\nst.shared.u16 [%s], 1;\n\
        M: ld.global.nc.u8 %r2, [%b];\ncp.async.cg.shared.global [%s], [%b], 16;\nsub.s32 %r1, %r1, 3;\nsetp.gt.s32 %p0, %r1, 0;\n@%p0 bra M;\n\
        add.u32 %r0, %r0, 2;\nsetp.lt.u32 %p1, %r0, 12;\n@%p1 bra L;\ncp.async.wait_all;\nred.shared.add.u32 [%s], 1;";
    let after_exit = "mov.u32 %r0, 0;\nL: setp.ge.u32 %p0, %r0, 3;\n@%p0 bra E;\nmov.u32 %r1, 0;\n\
        M: setp.ge.u32 %p1, %r1, 4;\n@%p1 bra F;\nld.shared.u32 %r2, [%s];\nadd.u32 %r1, %r1, 1;\nbra M;\n\
        F: add.u32 %r0, %r0, 1;\nbra L;\nE: st.global.u32 [%b], %r0;";
    let matrix_loop = format!(
        "mov.u32 %r9, 0;\nL: {MATRICES}\nadd.u32 %r9, %r9, 1;\nsetp.lt.u32 %p0, %r9, 3;\n@%p0 bra L;"
    );
    let plain = [
        at_end, at_start, nested, after_exit, MATRICES, FRAGMENTS, "",
    ];
    plain
        .into_iter()
        .map(str::to_owned)
        .chain([matrix_loop])
        .collect()
}

#[test]
fn known_trip_counts() {
    for body in known() {
        let module = module(&body);
        let work = work(&module);
        let [part] = &work.parts[..] else {
            panic!("{body}: {:?}", work.parts)
        };
        assert!(part.is_exact && part.factors.is_empty(), "{body}");
        let mut found = Counts::default();
        counted(&part.work, WARPS, &mut found);
        assert_eq!(found, profiled(&module, 0), "{body}");
    }
}

/// One lane issues them, with a number of bytes that is written or in a register.
#[test]
fn bulk_copies_count_once() {
    let issue = |copy: &str| {
        format!(
            "mov.u32 %r0, %laneid;\nsetp.ne.u32 %p0, %r0, 0;\nmov.u32 %r1, 192;\n@%p0 bra E;\n{copy}\n\
            cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nE:"
        )
    };
    for (copy, bytes) in [
        (
            "cp.async.bulk.global.shared::cta.bulk_group [%a], [s], 64;",
            64,
        ),
        (
            "cp.async.bulk.global.shared::cta.bulk_group [%a], [s], %r1;",
            192,
        ),
    ] {
        let module = module(&issue(copy));
        let mut found = Counts::default();
        counted(&work(&module).total(1), WARPS, &mut found);
        let profiled = profiled(&module, 0);
        assert_eq!(found, profiled, "{copy}");
        assert_eq!(found.2.get(&StateSpace::Shared), Some(&(bytes * WARPS)));
    }
}

#[test]
fn trip_counts_of_parameters() {
    let body = "ld.global.u32 %r1, [%b];\nmov.u32 %r0, 0;\nL: setp.ge.u32 %p0, %r0, %n;\n@%p0 bra E;\nst.shared.u64 [%s], %a;\n\
        mov.u32 %r2, 0;\nM: ld.shared.u8 %r3, [%s];\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, %n;\n@%p1 bra M;\n\
        add.u32 %r0, %r0, 1;\nbra L;\nE: st.global.u32 [%b], %r0;";
    let module = module(body);
    let work = work(&module);
    // What is done once, in the header of the outer loop, after its exit, and in the inner loop.
    assert_eq!(work.parts.len(), 4);
    for n in [1, 2, 9] {
        let mut found = Counts::default();
        for part in &work.parts {
            assert!(part.is_exact);
            let times = part
                .factors
                .iter()
                .map(|f| match (f.of.as_u32(), f.without_last) {
                    (0, false) => u64::from(n) + 1,
                    (0, true) | (1, false) => u64::from(n),
                    other => panic!("{other:?}"),
                });
            counted(&part.work, WARPS * times.product::<u64>(), &mut found);
        }
        assert_eq!(found, profiled(&module, n), "{n}");
    }
}

#[test]
fn guards_and_branches_are_not_exact() {
    for body in [
        "setp.lt.u32 %p0, %t, 5;\n@%p0 st.global.u32 [%b], 1;",
        "setp.lt.u32 %p0, %t, 5;\n@%p0 bra E;\nst.global.u32 [%b], 1;\nE:",
        "L: setp.lt.u32 %p0, %t, 5;\n@%p0 bra E;\nst.global.u32 [%b], 1;\nE: ld.global.u32 %r0, [%b];\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 bra L;",
    ] {
        let module = module(body);
        let work = work(&module);
        assert!(work.parts.iter().any(|p| !p.is_exact), "{body}");
    }
}
