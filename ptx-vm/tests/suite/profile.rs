//! What is counted of a launch.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_isa::StateSpace;
use ptx_vm::{Checker, InstructionProfile, Launch, Machine, MemoryProfile};

/// The counts of the instruction that a comment marks, in a kernel whose `%t` is the thread and `%a` the address of words.
fn counted(block: u32, body: &str) -> InstructionProfile {
    let text = format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 s[8192];\n\
        .visible .entry k(.param .u64 to)\n{{\n\
        .reg .b32 %r<8>; .reg .b32 %t; .reg .b64 %a; .reg .b64 %b; .reg .pred %p;\n\
        ld.param.u64 %a, [to];\nmov.u32 %t, %tid.x;\n{body}\nret;\n}}\n"
    );
    let module = ptx_parse::parse_str(&text).into_result().unwrap();
    let mut machine = Machine::new(&module);
    let data = machine.allocate(1 << 16).unwrap();
    let mut launch = Launch::new("k")
        .shape(2, block)
        .argument(data.to_le_bytes());
    launch.profile = true;
    machine.launch(&launch).unwrap();
    let mark = text.find("/*here*/").unwrap() as u32 + 8;
    let all = &machine.profile().unwrap().instructions;
    let at = all.iter().find(|count| count.span.unwrap().start == mark);
    at.unwrap().clone()
}

/// Bytes, requests, sectors, passes and passes without conflicts.
fn numbers(memory: &MemoryProfile) -> [u64; 5] {
    let MemoryProfile {
        bytes,
        requests,
        sectors,
        passes,
        least_passes,
        ..
    } = *memory;
    [bytes, requests, sectors, passes, least_passes]
}

#[test]
fn executions_and_lanes() {
    let body = "mov.u32 %r1, 0;\nLOOP: /*here*/add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, %t;\n@%p bra LOOP;";
    // The last warp has eight lanes; lane 0 makes one round, as lane 1 does.
    let count = counted(40, body);
    let rounds = |t: u64| t.max(1);
    let executions = rounds(31) + rounds(39);
    let lanes = (0..40).map(rounds).sum::<u64>();
    assert_eq!((count.executions, count.lanes), (2 * executions, 2 * lanes));
    assert!(count.memory.is_empty());
    let count = counted(32, "setp.lt.u32 %p, %t, 5;\n/*here*/@%p mov.u32 %r1, 0;");
    assert_eq!((count.executions, count.lanes), (2, 10));
}

#[test]
fn sectors_of_global_memory() {
    for (stride, access, bytes, sectors) in [
        (4, "ld.global.u32 %r1, [%b];", 4, 4),
        (8, "ld.global.u32 %r1, [%b];", 4, 8),
        (128, "st.u32 [%b], %r1;", 4, 32),
        (0, "ld.global.u32 %r1, [%b];", 4, 1),
        (4, "@%p ld.global.u32 %r1, [%b];", 4, 2),
        (16, "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%b];", 16, 16),
        (4, "atom.global.add.u32 %r1, [%b], 1;", 4, 4),
        (1, "st.global.u8 [%b], %r1;", 1, 1),
    ] {
        let body = format!(
            "setp.lt.u32 %p, %t, 16;\nmov.u32 %r1, 0;\nmul.lo.u32 %r2, %t, {stride};\ncvt.u64.u32 %b, %r2;\nadd.s64 %b, %a, %b;\n/*here*/{access}"
        );
        let count = counted(32, &body);
        let [memory] = &count.memory[..] else {
            panic!("{access}")
        };
        assert_eq!(memory.space, StateSpace::Global);
        let lanes = if access.starts_with('@') { 16 } else { 32 };
        assert_eq!(
            numbers(memory),
            [2 * bytes * lanes, 2, 2 * sectors, 0, 0],
            "{access}"
        );
    }
}

#[test]
fn banks_of_shared_memory() {
    for (stride, access, bytes, passes, least) in [
        (4, "ld.shared.u32 %r1, [%r2];", 4, 1, 1),
        (0, "ld.shared.u32 %r1, [%r2];", 4, 1, 1),
        (8, "ld.shared.u32 %r1, [%r2];", 4, 2, 1),
        (128, "st.shared.u32 [%r2], %r1;", 4, 32, 1),
        (1, "ld.shared.u8 %r1, [%r2];", 1, 1, 1),
        (8, "ld.shared.v2.u32 {%r3, %r4}, [%r2];", 8, 2, 2),
        (128, "ld.shared.v2.u32 {%r3, %r4}, [%r2];", 8, 32, 2),
        (
            16,
            "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r2];",
            16,
            4,
            4,
        ),
    ] {
        let body = format!(
            "mov.u32 %r1, 0;\nmov.u32 %r2, s;\nmad.lo.u32 %r2, %t, {stride}, %r2;\n/*here*/{access}"
        );
        let count = counted(32, &body);
        let [memory] = &count.memory[..] else {
            panic!("{access}")
        };
        assert_eq!(memory.space, StateSpace::Shared);
        assert_eq!(
            numbers(memory),
            [64 * bytes, 2, 0, 2 * passes, 2 * least],
            "{stride} {access}"
        );
    }
}

#[test]
fn bytes_of_copies() {
    let count = counted(
        1,
        "mov.u32 %r2, s;\n/*here*/cp.async.ca.shared.global [%r2], [%a], 16;\ncp.async.wait_all;",
    );
    let mut spaces: Vec<_> = count.memory.iter().map(|m| (m.space, numbers(m))).collect();
    spaces.sort();
    assert_eq!(
        spaces,
        [
            (StateSpace::Global, [32, 2, 2, 0, 0]),
            (StateSpace::Shared, [32, 2, 0, 2, 2])
        ]
    );
}

#[test]
fn counted_and_checked() {
    let text = ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 to)\n{\n\
        .reg .u32 %r<2>; .reg .u64 %a;\nld.param.u64 %a, [to];\nld.global.u32 %r1, [%a+4];\nret;\n}\n";
    let module = ptx_parse::parse_str(text).into_result().unwrap();
    let mut machine = Machine::new(&module);
    let data = machine.allocate(4).unwrap();
    let mut launch = Launch::new("k").argument(data.to_le_bytes());
    machine
        .launch(&launch.clone().check(Checker::Initcheck))
        .unwrap();
    assert_eq!(machine.profile(), None);
    launch = launch.check(Checker::Memcheck);
    launch.profile = true;
    machine.launch(&launch).unwrap();
    assert_eq!(machine.reports().len(), 1);
    let counts = &machine.profile().unwrap().instructions;
    assert_eq!(counts.len(), 3);
    // The access that is not possible did not happen.
    let bytes: Vec<u64> = counts[1].memory.iter().map(|m| m.bytes).collect();
    assert_eq!(bytes, [0]);
}

/// Shape, products and multiply-adds of the instruction that a comment marks.
fn matrix(body: &str) -> (u64, [u32; 3], u64, u64) {
    let count = counted(32, body);
    let matrix = count.matrix.unwrap();
    (
        count.executions,
        matrix.shape,
        matrix.products,
        matrix.multiply_adds,
    )
}

#[test]
fn products_of_matrices() {
    let dense =
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r2, %r3}, {%r1}, {%r1}, {%r4, %r5};";
    let each = 8 * 8 * 16;
    assert_eq!(
        matrix(&format!("/*here*/{dense}")),
        (2, [8, 8, 16], 2, 2 * each)
    );
    // The halves of the warp come one after the other.
    let divergent =
        format!("setp.lt.u32 %p, %t, 16;\n@%p bra A;\nmov.u32 %r1, 1;\nA: /*here*/{dense}");
    let (executions, _, products, multiply_adds) = matrix(&divergent);
    assert_eq!((products, multiply_adds), (2, 2 * each));
    assert!(executions >= 2);
    let quads = "/*here*/mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6, %r7}, {%r0, %r1, %r2, %r3};";
    assert_eq!(matrix(quads), (2, [8, 8, 4], 2, 2 * 4 * 8 * 8 * 4));
    let sparse = "/*here*/mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r2, %r3}, {%r4, %r5}, {%r0, %r1}, %r6, 0x0;";
    assert_eq!(matrix(sparse), (2, [16, 8, 16], 2, 2 * 16 * 8 * 8));
    assert_eq!(counted(32, "/*here*/mov.u32 %r1, 0;").matrix, None);
}

#[test]
fn products_of_warpgroups() {
    let body = "mov.b64 %b, 0x80000;\nsetp.ne.u32 %p, %t, %t;\n\
        /*here*/wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r0, %r1}, %b, %b, %p, 1, 1, 0, 0;";
    let count = counted(256, body);
    let matrix = count.matrix.unwrap();
    // Two warpgroups in each of two CTAs.
    assert_eq!(count.executions, 16);
    assert_eq!((matrix.shape, matrix.products), ([64, 8, 16], 4));
    assert_eq!(matrix.multiply_adds, 4 * 64 * 8 * 16);
    // Each warp reads its 16 rows and all columns.
    let memory: Vec<_> = count.memory.iter().map(|m| (m.space, m.bytes)).collect();
    assert_eq!(memory, [(StateSpace::Shared, 16 * (16 + 8) * 32)]);
}

/// The counts of global and of shared memory of an instruction in a kernel whose `%r3` is the address of `s`.
fn both_memories(before: &str, instruction: &str, after: &str) -> [[u64; 5]; 2] {
    let body = format!("mov.u32 %r3, s;\n{before}\n/*here*/{instruction}\n{after}");
    let count = counted(32, &body);
    [StateSpace::Global, StateSpace::Shared].map(|space| {
        let memory = count.memory.iter().find(|memory| memory.space == space);
        memory.map_or([0; 5], numbers)
    })
}

#[test]
fn sectors_and_conflicts_of_copies() {
    // 16 bytes of each lane: consecutive ones, and in shared memory with a stride.
    for (stride, passes) in [(16, 4), (32, 8), (128, 32)] {
        let before = format!(
            "mul.lo.u32 %r2, %t, 16;\ncvt.u64.u32 %b, %r2;\nadd.s64 %b, %a, %b;\nmad.lo.u32 %r3, %t, {stride}, %r3;"
        );
        let copy = "cp.async.cg.shared.global [%r3], [%b], 16;";
        let [global, shared] = both_memories(&before, copy, "cp.async.wait_all;");
        assert_eq!(global, [1024, 2, 32, 0, 0]);
        assert_eq!(shared, [1024, 2, 0, 2 * passes, 8], "{stride}");
    }
    // Half of the lanes copy four bytes, which are in one sector for four lanes.
    let before = "setp.lt.u32 %p, %t, 16;\nmul.lo.u32 %r2, %t, 8;\ncvt.u64.u32 %b, %r2;\nadd.s64 %b, %a, %b;\nmad.lo.u32 %r3, %t, 128, %r3;";
    let copy = "@%p cp.async.ca.shared.global [%r3], [%b], 4;";
    let [global, shared] = both_memories(before, copy, "cp.async.wait_all;");
    assert_eq!(global, [128, 2, 8, 0, 0]);
    assert_eq!(shared, [128, 2, 0, 32, 2]);
}

#[test]
fn conflicts_of_matrix_rows() {
    for (number, lanes, registers) in [
        ("x1", 8, "%r4"),
        ("x2", 16, "%r4, %r5"),
        ("x4", 32, "%r4, %r5, %r6, %r7"),
    ] {
        for (stride, conflicts) in [(16, 1), (32, 2), (128, 8), (144, 1)] {
            let before = format!(
                "mad.lo.u32 %r3, %t, {stride}, %r3;\nmov.u32 %r4, 0;\nmov.u32 %r5, 0;\nmov.u32 %r6, 0;\nmov.u32 %r7, 0;"
            );
            for instruction in [
                format!("ldmatrix.sync.aligned.m8n8.{number}.shared.b16 {{{registers}}}, [%r3];"),
                format!("stmatrix.sync.aligned.m8n8.{number}.shared.b16 [%r3], {{{registers}}};"),
            ] {
                let [_, shared] = both_memories(&before, &instruction, "");
                let matrices = lanes / 8;
                let expected = [32 * lanes, 2, 0, 2 * matrices * conflicts, 2 * matrices];
                assert_eq!(shared, expected, "{instruction} {stride}");
            }
        }
    }
}

#[test]
fn sectors_of_bulk_copies() {
    // Two threads of each CTA copy 1040 bytes, from addresses in the middle of a sector and at its start.
    let before = "setp.lt.u32 %p, %t, 2;\nmul.lo.u32 %r2, %t, 2064;\ncvt.u64.u32 %b, %r2;\nadd.s64 %b, %a, %b;\nadd.s64 %b, %b, 16;\nmad.lo.u32 %r3, %t, 2048, %r3;";
    let copy = "@%p cp.async.bulk.global.shared::cta.bulk_group [%b], [%r3], 1040;";
    let [global, shared] = both_memories(before, copy, "");
    assert_eq!(global, [4 * 1040, 4, 2 * (33 + 33), 0, 0]);
    // Eight passes of 128 bytes and one of 16.
    assert_eq!(shared, [4 * 1040, 4, 0, 4 * 9, 4 * 9]);
}
