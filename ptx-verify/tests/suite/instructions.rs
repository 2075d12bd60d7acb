//! Single instructions that were once judged in another way than by ptxas 13.2, whose verdicts these are.

/// Registers, variables and handles as the instructions name them.
const BEFORE: &str = ".address_size 64\n.global .texref t;\n.global .surfref s;\n.global .b32 g;\n.shared .b64 m;\n.func f() { ret; }\n\
    .entry k(.param .b64 p)\n{\n.reg .pred q<4>;\n.reg .b16 h<4>;\n.reg .b32 r<16>;\n.reg .s32 i<16>;\n.reg .f32 f<16>;\n\
    .reg .b64 d<16>;\n.reg .s64 j<4>;\n.reg .f64 e<4>;\n.reg .f16 x<4>;\n.reg .f16x2 y<8>;\n.reg .b128 w<4>;\n.reg .v4 .b32 v;\n.reg .v2 .b16 z;\n\
    .param .b64 a;\n";

fn is_taken(target: &str, instruction: &str) -> bool {
    let text = format!(".version 9.2\n.target {target}\n{BEFORE}{instruction};\nret;\n}}\n");
    let parsed = ptx_parse::parse(text.as_bytes());
    assert!(
        parsed.diagnostics.is_empty(),
        "{instruction}: {:?}",
        parsed.diagnostics
    );
    ptx_verify::verify(&parsed.module, &ptx_verify::Options::default()).is_empty()
}

fn judge(target: &str, taken: &[&str], refused: &[&str]) {
    for instruction in taken {
        assert!(
            is_taken(target, instruction),
            "{target} refused: {instruction}"
        );
    }
    for instruction in refused {
        assert!(
            !is_taken(target, instruction),
            "{target} taken: {instruction}"
        );
    }
}

#[test]
fn the_layer_of_a_texture_is_an_integer_among_coordinates() {
    judge(
        "sm_80",
        &[
            "tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [t, {i0, f4}]",
            "tex.a2d.v4.f32.f32 {f0, f1, f2, f3}, [d0, {r0, f4, f5, f6}]",
            "tex.acube.v4.f32.f32 {f0, f1, f2, f3}, [t, {i0, f4, f5, f6}]",
            "tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [t, {i0, i1}]",
            "tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [t, {1, f4}]",
            "tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [d0, {1, 1.0}]",
            "tex.a2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {1, f4, 1.0, f5}]",
            "tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [t, {WARP_SZ, f4}]",
            "tld4.r.a2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {1, 1.0, 1.0, 1.0}]",
            "tld4.r.a2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {i0, f4, f5, f6}]",
        ],
        &[
            "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {i0, f4}]",
            "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {1, f4}]",
            "tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [t, {1.0, f4}]",
            "tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [t, {1, 1}]",
            "tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [d0, d1, {1, f4}]",
            "tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [t, {f4, f5}]",
            "tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [d0, d1, {i0, f4}]",
            "tex.1d.v4.s32.f32 {f0, f1, f2, f3}, [t, {f4}]",
            "tex.grad.1d.v4.f32.f32 {f0, f1, f2, f3}, [t, {f4}], {f5}, {f6}, i0, f7",
        ],
    );
}

#[test]
fn offsets_of_texels_are_a_scalar_or_as_many_as_dimensions() {
    judge(
        "sm_80",
        &[
            "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {f4, f5}], i0",
            "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {f4, f5}], {i0, i1}",
            "tex.3d.v4.f32.f32 {f0, f1, f2, f3}, [t, {f4, f5, f6, f7}], 3",
            "tex.2dms.v4.f32.s32 {f0, f1, f2, f3}, [t, {i0, i1, i2, i3}], {i0, i1}",
            "tld4.r.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {f4, f5}], i0",
            "tex.grad.cube.v4.f32.f32 {f0, f1, f2, f3}, [t, {f4, f5, f6, f7}], {f4, f5, f6, f7}, {f4, f5, f6, f7}, i0, f8",
        ],
        &[
            "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {f4, f5}], {i0}",
            "tex.3d.v4.f32.f32 {f0, f1, f2, f3}, [t, {f4, f5, f6, f7}], {i0, i1}",
            "tex.2dms.v4.f32.s32 {f0, f1, f2, f3}, [t, {i0, i1, i2, i3}], {i0}",
            "tld4.r.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {f4, f5}], {i0}",
        ],
    );
}

#[test]
fn elements_of_a_vector_are_of_one_kind() {
    judge(
        "sm_90",
        &[
            "st.global.v2.b32 [d0], {r0, y0}",
            "st.global.v2.b32 [d0], {%laneid, %laneid}",
            "mov.b64 d0, {%laneid, %tid.x}",
            "red.global.add.noftz.v2.f16 [d0], {x0, 0f3F800000}",
            "st.global.v2.b32 [d0], {1.0, f0}",
            "st.global.v2.b32 [d0], {d1, 1.0}",
            "suld.b.2d.b32.trap r0, [s, {y0, r1}]",
            "st.global.v2.b32 [d0], {1, d1}",
            "st.global.v2.b16 [d0], {1.0, h1}",
        ],
        &[
            "st.global.v2.b32 [d0], {i0, y0}",
            "st.global.v2.b32 [d0], {f0, y0}",
            "st.global.v2.b32 [d0], {y0, 1}",
            "st.global.v2.b32 [d0], {1.0, d1}",
            "st.global.v2.b16 [d0], {1.0, f0}",
            "sust.b.1d.v2.b8.trap [s, {r1}], {0f3F800000, r2}",
            "suld.b.2d.b32.trap r0, [s, {y0, y1}]",
            "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {f4, f5}], {y0, y1}",
            "bfe.u32 r0, r1, y0+4, r2",
            "red.global.add.noftz.v2.f16 [d0], {0f3F800000, x0}",
            "mov.v2.u64 {d0, d1}, {d2, _}",
        ],
    );
}

#[test]
fn a_constant_is_not_beside_a_component() {
    judge(
        "sm_90",
        &[
            "mov.v2.b32 {r0, r1}, {v.x, v.y}",
            "mov.v2.b32 {r0, r1}, {1, %clock}",
            "mov.v2.b32 {r0, r1}, {%tid.x, v.y}",
            "st.global.v2.b32 [d0], {v.z, r0}",
            "tex.2d.v4.f32.s32 {f0, f1, f2, f3}, [t, {i1, v.x}]",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0, f1, f2, f3}, {r4, r5, r6, 1}, {r8, v.x}, {f4, f5, f6, f7}",
        ],
        &[
            "mov.v2.b32 {r0, r1}, {1, v.x}",
            "mov.v2.b32 {r0, r1}, {%tid.y, 1}",
            "mov.v4.b32 {r0, r1, r2, r3}, {WARP_SZ, r4, r5, v.y}",
            "mov.b64 d0, {1, v.x}",
            "mov.b32 r0, {z.x, 1}",
            "st.global.v2.b32 [d0], {v.z, 1}",
            "st.global.v4.b32 [d0], {%tid.x, 1, v.x, r1}",
            "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [m], {v.y, 1}",
            "tex.2d.v4.f32.s32 {f0, f1, f2, f3}, [t, {1, v.x}]",
            "sust.b.2d.v2.b32.trap [s, {1, v.x}], {r1, r1}",
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [m], [d1, {1, v.x}], [m]",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0, f1, f2, f3}, {r4, r5, r6, r7}, {1, v.x}, {f4, f5, f6, f7}",
        ],
    );
}

#[test]
fn a_sum_is_a_value_and_no_place() {
    judge(
        "sm_90",
        &["add.u32 r0, r1+4, r2", "st.global.b32 [d0+4], r1+4"],
        &[
            "add.u32 r0+4, r1, r2",
            "ld.global.b32 r0+4, [d0]",
            "mov.b64 d0, {r0+4, r1}",
        ],
    );
}

#[test]
fn fragments_of_matrices() {
    let wmma = |shape: &str, a: &str, b: &str| {
        format!(
            "wmma.mma.sync.aligned.row.col.{shape} {{f0, f1, f2, f3, f4, f5, f6, f7}}, {a}, {b}, {{f8, f9, f10, f11, f12, f13, f14, f15}}"
        )
    };
    let (bits, numbers) = ("{r0, r1, r2, r3}", "{i0, i1, i2, i3}");
    judge(
        "sm_80",
        &[
            &wmma("m16n16k8.f32.tf32.tf32.f32", bits, bits),
            &wmma("m16n16k16.f32.bf16.bf16.f32", "{i0, r1, r2, r3}", bits),
            "mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {i0, i1, i2, i3}, {r0, r1}, {r2, r3}, {i4, i5, i6, i7}, r4, 1",
        ],
        &[
            &wmma("m16n16k8.f32.tf32.tf32.f32", numbers, bits),
            &wmma("m16n16k16.f32.bf16.bf16.f32", bits, numbers),
            "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {i0, i1}, {f0}, {i2}, {i3, i4}",
            "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {i0, i1}, {0}, {i2}, {i3, i4}",
            "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32 {i0, i1, i2, i3}, {r0, r1, r2, r3}, {r4, r5, r6, r7}, {i4, i5, i6, i7}, r8, 1",
        ],
    );
    // Made of other instructions where there is no unit for it.
    let short = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {_, f1, f2, f3}, {r0, r1, r2, r3}, {r4, r5}, {f4, f5, f6, f7}";
    judge("sm_89", &[short], &[]);
    judge("sm_90", &[], &[short]);
    judge("sm_120", &[short], &[]);
}

#[test]
fn copied_handles_are_not_addresses() {
    let copy =
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [d0], [t], r0, [d1]";
    judge(
        "sm_90",
        &[
            copy,
            "cp.async.mbarrier.arrive.shared.b64 [t]",
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32 [d0], r0, [t]",
            "mov.u64 d0, t",
            "txq.width.b32 r0, [d0]",
        ],
        &[
            "cp.async.mbarrier.arrive.b64 [t]",
            "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.inc.u32 [d0], r0, [t]",
            "mov.b64 d0, t",
            "mov.u32 r0, s",
            "txq.width.b32 r0, [d0+16]",
            "suq.width.b32 r0, [d0+0]",
        ],
    );
    judge("sm_120", &[], &[copy]);
}

#[test]
fn constants_and_results_in_their_bounds() {
    judge(
        "sm_90",
        &[
            "cp.async.bulk.global.shared::cta.bulk_group [d0], [d1], 1048560",
            "match.all.sync.b32 _, r0, r1",
            "mov.u16 h0, %tid.x",
            "mov.u32 r0, %gridid",
            "cvt.rna.tf32.f32 r0, 0f3F800000",
            "ldmatrix.sync.aligned.m8n8.x1.b16 {r0}, [d0].unified",
            "atom.add.u32 r0, [d0].unified, r1",
        ],
        &[
            "cp.async.bulk.global.shared::cta.bulk_group [d0], [d1], 1048576",
            "match.any.sync.b32 _, r0, r1",
            "mov.u16 h0, %laneid",
            "cvt.rna.tf32.f32 r0, 1.0",
            "cvt.f32.f16 f0, 1.0",
            "suld.b.1d.v4.b64.trap {d0, d1, d2, d3}, [s, {i0}]",
            "prefetch.param.tensormap [a]",
            "st.async.weak.mbarrier::complete_tx::bytes.b32 [d0], {r0}",
            "atom.add.u32 r0, [g].unified, r1",
            "atom.global.add.noftz.bf16 _, [d0], h0",
        ],
    );
}

#[test]
fn a_trailing_s8_operand_is_not_mistaken_for_a_missing_one() {
    let text = ".version 8.0 .target sm_80 .address_size 64\n\
        .entry k() { .reg .s8 c; bar.sync 0;\nbar.sync 0, c;\nret; }";
    let parsed = ptx_parse::parse(text.as_bytes());
    let found = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    let codes: Vec<String> = found.iter().map(|d| d.code.to_string()).collect();
    assert_eq!(codes, ["PTX0506"], "{found:?}");
}

#[test]
fn a_sampler_or_a_texture_in_its_place_is_judged_as_a_register() {
    judge(
        "sm_90",
        &[
            "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, t, {f4, f5}]",
            "tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [t, t, {f4, f5}]",
            "tex.a2d.v4.f32.f32 {f0, f1, f2, f3}, [t, t, {r0, f4, f5, f6}]",
            "tex.cube.v4.f32.f32 {f0, f1, f2, f3}, [t, {f4, f5, f6, f7}]",
            "tex.level.cube.v4.f32.f32 {f0, f1, f2, f3}, [t, t, {f4, f5, f6, f7}], f8",
            "tld4.r.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, t, {f4, f5}]",
            "tld4.r.a2d.v4.f32.f32 {f0, f1, f2, f3}, [t, t, {f4, f5, f6, f7}]",
            "tld4.r.a2d.v4.f32.f32 {f0, f1, f2, f3}, [d0, d1, {f4, f5, f6, f7}]",
        ],
        &[
            "tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [t, t, {i0, f5}]",
            "tex.cube.v4.f32.f32 {f0, f1, f2, f3}, [t, t, {f4, f5, f6, f7}]",
            "tex.level.3d.v4.f32.f32 {f0, f1, f2, f3}, [d0, t, {f4, f5, f6, f7}], f8",
            "tex.grad.3d.v4.f32.f32 {f0, f1, f2, f3}, [t, t, {f4, f5, f6, f7}], {f0, f1, f2, f3}, {f0, f1, f2, f3}",
            "tld4.r.a2d.v4.f32.f32 {f0, f1, f2, f3}, [t, t, {i0, f5, f6, f7}]",
            "tld4.r.a2d.v4.f32.f32 {f0, f1, f2, f3}, [t, {f4, f5, f6, f7}]",
            "tld4.r.cube.v4.f32.f32 {f0, f1, f2, f3}, [t, t, {f4, f5, f6, f7}]",
        ],
    );
}

#[test]
fn a_register_holds_a_sampler_where_samplers_are_independent() {
    let independent = [
        "tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [d0, d1, {i0, f4}]",
        "tex.a2d.v4.f32.f32 {f0, f1, f2, f3}, [t, d1, {1, f4, f5, f6}]",
        "tex.cube.v4.f32.f32 {f0, f1, f2, f3}, [d0, d1, {f4, f5, f6, f7}]",
        "tex.base.acube.v4.f32.f32 {f0, f1, f2, f3}, [d0, d1, {i0, f5, f6, f7}]",
        "tex.level.3d.v4.f32.f32 {f0, f1, f2, f3}, [d0, d1, {f4, f5, f6, f7}], f8",
        "tex.level.2d.v4.f32.s32 {f0, f1, f2, f3}, [d0, d1, {i4, i5}], i6",
        "tex.level.2d.v4.f32.f32 {f0, f1, f2, f3}, [d0, d1, {f4, f5}], f6, {i0, i1}",
        "tex.grad.1d.v4.f32.f32 {f0, f1, f2, f3}, [d0, d1, {f4}], {f5}, {f6}, i0, f7",
        "tex.grad.a1d.v4.f32.f32 {f0, f1, f2, f3}, [d0, d1, {i0, f4}], {f5}, {f6}, f7",
        "tld4.r.a2d.v4.f32.f32 {f0, f1, f2, f3}, [d0, d1, {i0, f4, f5, f6}]",
    ];
    judge("sm_90", &[], &independent);
    let illegal = [
        "tex.a1d.v4.f32.f32 {f0, f1, f2, f3}, [d0, d1, {f4, f5}]",
        "tex.a2d.v4.f32.f32 {f0, f1, f2, f3}, [d0, d1, {f4, f5, f6, f7}]",
        "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [d0, d1, {i0, f4}]",
        "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [d0, {f4, f5}]",
        "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [t, t, {f4, f5}]",
    ];
    judge("sm_90, texmode_independent", &independent, &illegal);
}

#[test]
fn conversions_with_ftz_take_no_registers_of_128_bits() {
    judge(
        "sm_90",
        &[
            "cvt.f64.f32 w0, f0",
            "cvt.f64.f32 d0, w0",
            "cvt.ftz.f64.f32 d0, f0",
            "cvt.rn.f32.f64 w0, d0",
            "cvt.rn.ftz.f32.f64 f0, d0",
            "cvt.rzi.s64.f32 w0, f0",
        ],
        &[
            "cvt.ftz.f64.f32 w0, f0",
            "cvt.ftz.f64.f32 d0, w0",
            "cvt.rn.ftz.f32.f64 w0, d0",
            "cvt.rn.ftz.f32.f64 f0, w0",
            "cvt.rzi.ftz.s64.f32 w0, f0",
        ],
    );
}

#[test]
fn vectors_of_multimem_stores_end_with_the_bits_of_a_constant() {
    judge(
        "sm_90",
        &[
            "multimem.st.relaxed.sys.global.v2.f32 [d0], {f0, 0f3F800000}",
            "multimem.st.relaxed.sys.global.v2.f32 [d0], {1.0, 0f3F800000}",
            "multimem.st.relaxed.sys.global.f32 [d0], 1.0",
        ],
        &[
            "multimem.st.relaxed.sys.global.v2.f32 [d0], {1.0, 1.0}",
            "multimem.st.relaxed.sys.global.v2.f32 [d0], {0f3F800000, 1.0}",
        ],
    );
}
