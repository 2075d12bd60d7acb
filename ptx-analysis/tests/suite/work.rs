//! The work of instructions and loops.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::internals::{MatrixProduct, matrix_shape, rows_of_matrix};
use ptx_analysis::work::{Class, FunctionWork, Operations, Work};
use ptx_ir::facts::{ModuleFacts, Space};
use ptx_isa::StateSpace;

const LANES: u64 = 32;

/// The work of a kernel.
fn work(body: &str) -> FunctionWork {
    let target = if body.contains("wgmma") {
        "sm_90a"
    } else {
        "sm_100a"
    };
    let text = format!(
        ".version 8.7\n.target {target}\n.address_size 64\n.shared .align 16 .b8 s[1024];\n\
        .visible .entry k(.param .u64 p, .param .u32 n)\n{{\n.reg .b16 %h<8>; .reg .b32 %r<64>; .reg .b64 %d<8>; .reg .f32 %f<64>; .reg .f64 %g<8>; .reg .pred %p<4>;\n\
        {body}\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse_str(&text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let module = parsed.module;
    let facts = ModuleFacts::new(&module);
    let facts = facts.function(module.function("k").unwrap()).unwrap();
    let analysis = FunctionAnalysis::new(facts);
    analysis.work().clone()
}

/// Operations of half, single and double precision, of integers, multiply-adds, and unknown products.
fn numbers(of: &Operations) -> [u64; 6] {
    [
        of.half,
        of.single,
        of.double,
        of.integer,
        of.multiply_adds,
        of.unknown_products,
    ]
}

#[test]
fn operations_of_instructions() {
    let floats = |n: u64| [0, n * LANES, 0, 0, 0, 0];
    let halves = |n: u64| [n * LANES, 0, 0, 0, 0, 0];
    let doubles = |n: u64| [0, 0, n * LANES, 0, 0, 0];
    let integers = |n: u64| [0, 0, 0, n * LANES, 0, 0];
    let list = |count: usize| {
        (0..count)
            .map(|n| format!("%f{n}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let warpgroup = format!(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{}}}, %d0, %d1, 1, 1, 1, 0, 0;",
        list(32)
    );
    for (instruction, expected) in [
        ("add.f32 %f0, %f1, %f2;", floats(1)),
        ("fma.rn.f32 %f0, %f1, %f2, %f3;", floats(2)),
        ("fma.rn.f32x2 %d0, %d1, %d2, %d3;", floats(4)),
        ("min.f32 %f0, %f1, %f2;", [0; 6]),
        ("ex2.approx.f32 %f0, %f1;", floats(1)),
        ("fma.rn.f16x2 %r0, %r1, %r2, %r3;", halves(4)),
        ("mul.rn.bf16 %h0, %h1, %h2;", halves(1)),
        ("div.rn.f64 %g0, %g1, %g2;", doubles(1)),
        ("mad.lo.s32 %r0, %r1, %r2, %r3;", integers(2)),
        ("addc.u32 %r0, %r1, %r2;", integers(1)),
        ("dp4a.s32.s32 %r0, %r1, %r2, %r3;", integers(8)),
        ("lop3.b32 %r0, %r1, %r2, %r3, 0x80;", integers(1)),
        ("popc.b32 %r0, %r1;", integers(1)),
        ("setp.lt.f32 %p0, %f0, %f1;", [0; 6]),
        ("selp.b32 %r0, %r1, %r2, %p0;", [0; 6]),
        ("cvt.rn.f32.s32 %f0, %r0;", [0; 6]),
        ("mov.b32 %r0, %r1;", [0; 6]),
        ("ld.param.u64 %d0, [p];", [0; 6]),
        ("red.global.add.f32 [%d0], %f0;", floats(1)),
        ("atom.global.add.u32 %r0, [%d0], 1;", integers(1)),
        ("atom.global.exch.b32 %r0, [%d0], 1;", [0; 6]),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};",
            [0, 0, 0, 0, 16 * 8 * 16, 0],
        ),
        (
            "tcgen05.mma.cta_group::1.kind::f16 [%r0], %d0, %d1, %r1, %p0;",
            [0, 0, 0, 0, 0, 1],
        ),
        (warpgroup.as_str(), [0, 0, 0, 0, 64 * 64 * 16 / 4, 0]),
    ] {
        let work = work(instruction);
        assert_eq!(numbers(&work.text.operations), expected, "{instruction}");
    }
}

#[test]
fn classes_and_bytes() {
    let work = work(
        "ld.param.u64 %d0, [p];\nmov.u32 %r0, s;\ncvta.to.global.u64 %d0, %d0;\nld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d0];\nld.f32 %f4, [%d0];\n\
        ld.shared.u16 %h0, [%r0];\nst.shared.v2.b32 [%r0], {%r1, %r2};\natom.shared.add.u32 %r3, [%r0], 1;\n\
        fma.rn.f32 %f0, %f1, %f2, %f3;\nadd.u32 %r1, %r1, 1;\nbar.sync 0;\nmembar.cta;\n\
        cp.async.cg.shared.global [%r0], [%d0], 16;\ncp.async.commit_group;\ncp.async.wait_all;",
    );
    let Work {
        instructions,
        traffic,
        ..
    } = &work.text;
    assert_eq!(*instructions, 16);
    let classes: Vec<(&str, u64)> = Class::ALL
        .iter()
        .map(|&c| (c.name(), work.text.of_class(c)))
        .filter(|(_, n)| *n > 0)
        .collect();
    let expected = [
        ("floating", 1),
        ("integer", 1),
        ("global", 2),
        ("shared", 3),
        ("other_memory", 1),
        ("asynchronous", 3),
        ("synchronization", 2),
        ("control", 1),
        ("other", 2),
    ];
    assert_eq!(classes, expected);
    let bytes = |space: Space| {
        let of = traffic.iter().find(|t| t.space == space).unwrap();
        [of.read, of.written, of.updated, of.unknown].map(|n| n / LANES)
    };
    assert_eq!(bytes(Space::State(StateSpace::Shared)), [2, 8 + 16, 4, 0]);
    assert_eq!(bytes(Space::State(StateSpace::Param)), [8, 0, 0, 0]);
    let global = work.text.global_bytes();
    assert_eq!(global, (16 + 4 + 16) * LANES);
    assert_eq!(work.text.intensity(), Some(2.0 / 36.0));
}

#[test]
fn loops_and_parts() {
    let work = work(
        "ld.param.u32 %r9, [n];\nmov.u32 %r0, 0;\nL: mov.u32 %r1, 0;\nadd.f32 %f0, %f0, %f1;\n\
        M: mul.f32 %f1, %f1, %f1;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p0, %r1, 8;\n@%p0 bra M;\n\
        add.u32 %r0, %r0, 1;\nsetp.lt.u32 %p1, %r0, %r9;\n@%p1 bra L;",
    );
    let [outer, inner] = &work.loops[..] else {
        panic!("{:?}", work.loops)
    };
    let single = |work: &Work| work.operations.single / LANES;
    assert_eq!((single(&outer.own), single(&outer.iteration)), (1, 9));
    assert_eq!((single(&inner.own), single(&inner.iteration)), (1, 1));
    let [once, repeated] = &work.parts[..] else {
        panic!("{:?}", work.parts)
    };
    assert!(once.is_exact && once.factors.is_empty() && repeated.is_exact);
    assert_eq!(repeated.factors.len(), 1);
    assert_eq!(single(&repeated.work), 9);
    assert_eq!(single(&work.total(100)), 900);
    assert_eq!(work.total(100).instructions, 3 + 100 * (5 + 4 * 8));
}

/// What instructions for tensor cores move, in a warp.
#[test]
fn bytes_of_tensor_memory() {
    let tensor = Space::Tensor;
    let shared = Space::State(StateSpace::Shared);
    let global = Space::State(StateSpace::Global);
    for (body, wanted) in [
        (
            "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3];",
            vec![(tensor, [256, 0, 0, 0])],
        ),
        (
            "tcgen05.ld.sync.aligned.16x256b.x1.b32 {%r1, %r2, %r4, %r5}, [%r3];",
            vec![(tensor, [512, 0, 0, 0])],
        ),
        (
            "tcgen05.st.sync.aligned.16x32bx2.x4.b32 [%r3], 4, {%r1, %r2, %r4, %r5};",
            vec![(tensor, [0, 512, 0, 0])],
        ),
        (
            "tcgen05.cp.cta_group::1.128x256b [%r1], %d1;",
            vec![(tensor, [0, 4096, 0, 0]), (shared, [4096, 0, 0, 0])],
        ),
        (
            "tcgen05.cp.cta_group::1.32x128b.warpx4 [%r1], %d1;",
            vec![(tensor, [0, 2048, 0, 0]), (shared, [512, 0, 0, 0])],
        ),
        (
            "tcgen05.cp.cta_group::1.64x128b.warpx2::01_23 [%r1], %d1;",
            vec![(tensor, [0, 2048, 0, 0]), (shared, [1024, 0, 0, 0])],
        ),
        // The tensor map, which is read, says how large the tile is.
        (
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%d1, {%r2, %r3}], [%r4];",
            vec![
                (shared, [0, 0, 8, 1]),
                (global, [0, 0, 0, 1]),
                (Space::Generic, [128, 0, 0, 0]),
            ],
        ),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1], 4096, [%r4];",
            vec![(shared, [0, 4096, 8, 0]), (global, [4096, 0, 0, 0])],
        ),
        // A number of bytes that only the launch knows.
        (
            "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r1], %r2;",
            vec![(shared, [0, 0, 0, 1]), (global, [0, 0, 0, 1])],
        ),
    ] {
        let text = work(body).text;
        assert_eq!(
            text.traffic.len(),
            wanted.len(),
            "{body}: {:?}",
            text.traffic
        );
        for (space, bytes) in wanted {
            let found = text.traffic.iter().find(|t| t.space == space).unwrap();
            let found = [found.read, found.written, found.updated, found.unknown];
            assert_eq!(found, bytes, "{body}: {space:?}");
        }
    }
}

#[test]
fn products_and_rows() {
    use ptx_isa::Modifier as M;
    let quads = [M::M8n8k4, M::Row, M::Col, M::F32, M::F16, M::F16, M::F32];
    let product = MatrixProduct::of(&quads).unwrap();
    assert!(product.quads());
    assert_eq!((product.stored(), product.multiply_adds()), (4, 4 * 256));
    let sparse = [M::Sp, M::M16n8k32, M::Row, M::Col, M::F16, M::F16];
    let product = MatrixProduct::of(&sparse).unwrap();
    assert_eq!((product.stored(), product.warps), (16, 1));
    assert_eq!(matrix_shape(&sparse), Some([16, 8, 32]));
    assert_eq!(matrix_shape(&[M::Row]), None);
    assert_eq!(rows_of_matrix(&[M::M16n16, M::Trans]), Some(16));
    assert_eq!(rows_of_matrix(&[M::M8n8, M::X4]), Some(8));
}

#[test]
fn deep_nests_of_loops() {
    const DEPTH: usize = 100;
    let starts: String = (0..DEPTH)
        .map(|n| format!("L{n}: add.s32 %r1, %r1, 1;\n"))
        .collect();
    let ends: String = (0..DEPTH)
        .rev()
        .map(|n| format!("@%p1 bra L{n};\n"))
        .collect();
    let found = work(&format!("setp.eq.s32 %p1, %r0, 0;\n{starts}{ends}"));
    // Loops further inside count once, and are not a part of the iterations of those far outside.
    let factors = found.parts.iter().map(|part| part.factors.len());
    assert_eq!(factors.max(), Some(32));
    assert_eq!(found.loops[0].iteration.instructions, 2 * 64);
    assert_eq!(found.loops[DEPTH - 1].iteration.instructions, 2);
    assert_eq!(found.text.instructions, 2 * DEPTH as u64 + 2);
    let last = found
        .parts
        .iter()
        .find(|part| part.factors.len() == 32)
        .unwrap();
    assert!(!last.is_exact);
    assert_eq!(last.work.instructions, 2 * (DEPTH as u64 - 31));
}
