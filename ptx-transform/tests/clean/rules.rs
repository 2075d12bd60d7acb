//! What clean-ups remove, what they keep, and what they report.

use ptx_analysis::AnalysisError;
use ptx_transform::clean::{Options, Pass};

const HEAD: &str = "\
.version 9.0
.target sm_90a
.address_size 64
.extern .func (.reg .b32 o) f(.reg .b32 i);
.extern .func (.param .b32 o) g(.param .b32 i);
.global .b32 var;
.const .b32 cst;
.entry k(.param .u64 p)
{
.reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<12>; .reg .u32 %u<2>; .reg .b64 %d<8>; .reg .f32 %f<8>; .reg .v2 .b32 V;
.shared .align 16 .b32 sh[64]; .local .b32 lo[4];
";

/// The body of a function after passes until nothing changes, its statements on one line.
fn after(passes: &[Pass], body: &str) -> String {
    let text = format!("{HEAD}{body}\n}}\n");
    let parsed = ptx_parse::parse(text.as_bytes());
    assert!(
        parsed.diagnostics.is_empty(),
        "{:?}\n{text}",
        parsed.diagnostics
    );
    let wrong = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    assert!(wrong.is_empty(), "{wrong:?}\n{text}");
    let passes = passes.to_vec();
    let (text, _) = super::cleaned(text.as_bytes(), &Options::default().with_passes(passes));
    let text = String::from_utf8(text).unwrap();
    let parsed = ptx_parse::parse(text.as_bytes());
    let wrong = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    assert!(
        parsed.diagnostics.is_empty() && wrong.is_empty(),
        "{wrong:?}\n{text}"
    );
    // New registers are declared before the others.
    let (before, declared) = HEAD.split_at(HEAD.find("{\n").unwrap() + 2);
    let rest = text.strip_prefix(before).unwrap();
    let (new, rest) = rest.split_once(declared).unwrap();
    let all = [new, rest.strip_suffix("}\n").unwrap()].concat();
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
pub(super) fn becomes(pass: Pass, table: &[(&str, &str)]) {
    for (body, wanted) in table {
        assert_eq!(after(&[pass], body), *wanted, "{pass} of {body}");
    }
}

#[track_caller]
pub(super) fn stays(pass: Pass, bodies: &[&str]) {
    for body in bodies {
        let whole: Vec<&str> = body.split_whitespace().collect();
        assert_eq!(after(&[pass], body), whole.join(" "), "{pass}");
    }
}

#[test]
fn dead_code_goes() {
    becomes(
        Pass::Dead,
        &[
            ("mov.b32 %r1, 1; ret;", "ret;"),
            ("add.u32 %r1, %r2, %r3; add.u32 %r4, %r1, 1; ret;", "ret;"),
            ("@%p1 mov.b32 %r1, 1; ret;", "ret;"),
            ("ld.global.b32 %r1, [%d1]; ret;", "ret;"),
            ("ld.global.v2.b32 {%r1, _}, [%d1]; ret;", "ret;"),
            ("setp.lt.u32 %p1|%p2, %r1, 3; ret;", "ret;"),
            (
                "mov.b32 V.x, 1; mov.b32 V.y, 2; st.global.b32 [%d1], V.y; ret;",
                "mov.b32 V.y, 2; st.global.b32 [%d1], V.y; ret;",
            ),
            // Overwritten before it is read.
            (
                "mov.b32 %r1, 1; mov.b32 %r1, 2; st.global.b32 [%d1], %r1; ret;",
                "mov.b32 %r1, 2; st.global.b32 [%d1], %r1; ret;",
            ),
            // It only feeds itself.
            ("L: add.u32 %r1, %r1, 1; bra L;", "L: bra L;"),
            ("add.cc.u32 %r1, %r2, %r3; addc.u32 %r4, 0, 0; ret;", "ret;"),
            // All threads of the warp execute it, and none reads the result.
            (
                "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%f0, %f1, %f2, %f3}; ret;",
                "ret;",
            ),
        ],
    );
}

#[test]
fn what_does_something_stays() {
    stays(
        Pass::Dead,
        &[
            "st.global.b32 [%d1], 1; ret;",
            "ld.volatile.global.b32 %r1, [%d1]; ret;",
            "ld.acquire.gpu.global.b32 %r1, [%d1]; ret;",
            "ld.relaxed.gpu.global.b32 %r1, [%d1]; ret;",
            "atom.global.add.u32 %r1, [%d1], 1; ret;",
            "mov.u32 %r1, %clock; ret;",
            "bar.sync 0; membar.gl; ret;",
            "barrier.cta.red.popc.aligned.u32 %r1, 0, %p1; ret;",
            // Others may read its source, and wait for it.
            "shfl.sync.idx.b32 %r1, %r2, 0, 31, -1; ret;",
            "vote.sync.any.pred %p1, %p2, -1; ret;",
            "cp.async.ca.shared.global [%r1], [%d1], 4; cp.async.wait_all; ret;",
            "call (%r1), f, (%r2); ret;",
            "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), g, (a); } ret;",
            // A guarded write keeps what was there.
            "mov.b32 %r1, 1; @%p1 mov.b32 %r1, 2; st.global.b32 [%d1], %r1; ret;",
            "add.cc.u32 %r1, %r2, %r3; addc.u32 %r4, 0, 0; st.global.b32 [%d1], %r4; ret;",
            // ptxas preserves the carry flag of the caller across a call.
            "add.cc.u32 %r1, %r2, %r3; call (%r4), f, (%r2); addc.u32 %r4, %r4, 0; st.global.b32 [%d1], %r4; ret;",
            "setp.lt.u32 %p1|%p2, %r1, 3; @%p2 st.global.b32 [%d1], 1; ret;",
            "ld.global.v2.b32 {%r1, %r2}, [%d1]; st.global.b32 [%d1], %r2; ret;",
            "L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L; ret;",
            "mov.b32 %r1, 1; @%p1 bra L; mov.b32 %r1, 2; L: st.global.b32 [%d1], %r1; ret;",
        ],
    );
}

/// The body of a function with a result in a register, after dead-code elimination.
fn with_result(body: &str) -> String {
    let head = ".version 8.0\n.target sm_80\n.func (.reg .b32 sum) f(.reg .b32 a)\n{\n.reg .b32 r; .reg .pred p;\n";
    let text = format!("{head}{body}\n}}\n");
    let passes = vec![Pass::Dead];
    let (now, _) = super::cleaned(text.as_bytes(), &Options::default().with_passes(passes));
    let now = String::from_utf8(now).unwrap();
    let rest = now.strip_prefix(head).unwrap().strip_suffix("}\n").unwrap();
    rest.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn results_in_registers_are_read_where_the_function_returns() {
    for (body, wanted) in [
        (
            "mov.b32 r, a; add.u32 sum, a, 1; ret;",
            "add.u32 sum, a, 1; ret;",
        ),
        // The end of the function returns as well.
        ("mov.b32 sum, a;", "mov.b32 sum, a;"),
        // The last one that is written is returned, and what remains where it is not.
        (
            "mov.b32 sum, 1; mov.b32 sum, 2; ret;",
            "mov.b32 sum, 2; ret;",
        ),
        (
            "setp.eq.s32 p, a, 0; mov.b32 sum, 1; @p mov.b32 sum, 2; ret;",
            "setp.eq.s32 p, a, 0; mov.b32 sum, 1; @p mov.b32 sum, 2; ret;",
        ),
        (
            "setp.eq.s32 p, a, 0; mov.b32 sum, 1; @p ret; mov.b32 sum, 2; ret;",
            "setp.eq.s32 p, a, 0; mov.b32 sum, 1; @p ret; mov.b32 sum, 2; ret;",
        ),
        // A thread that ends returns nothing.
        ("mov.b32 sum, 1; exit;", "exit;"),
        (
            "setp.eq.s32 p, a, 0; mov.b32 sum, 1; @p exit; mov.b32 sum, 2; ret;",
            "setp.eq.s32 p, a, 0; @p exit; mov.b32 sum, 2; ret;",
        ),
    ] {
        assert_eq!(with_result(body), wanted, "{body}");
    }
}

#[test]
fn constants_are_folded() {
    becomes(
        Pass::Fold,
        &[
            (
                "mov.b32 %r1, 6; mul.lo.u32 %r2, %r1, 7; st.global.b32 [%d1], %r2; ret;",
                "mov.b32 %r1, 6; mov.b32 %r2, 42; st.global.b32 [%d1], 42; ret;",
            ),
            (
                "mov.b32 %r1, -1; add.u32 %r2, %r3, %r1; setp.gt.s32 %p1, %r4, %r1; ret;",
                "mov.b32 %r1, -1; add.u32 %r2, %r3, 4294967295; setp.gt.s32 %p1, %r4, -1; ret;",
            ),
            (
                "mov.f32 %f1, 0f40000000; mul.f32 %f2, %f3, %f1; ret;",
                "mov.f32 %f1, 0f40000000; mul.f32 %f2, %f3, 0f40000000; ret;",
            ),
            (
                "mov.f32 %f1, 0f40000000; mul.f32 %f2, %f1, %f1; ret;",
                "mov.f32 %f1, 0f40000000; mov.f32 %f2, 0f40800000; ret;",
            ),
            // A number of threads has to be that of whole warps.
            (
                "mov.b32 %r1, 5; bar.sync %r1, %r1; ret;",
                "mov.b32 %r1, 5; bar.sync 5, %r1; ret;",
            ),
            // What is stored is narrower than the register.
            (
                "mov.b32 %r1, 300; st.global.u8 [%d1], %r1; ret;",
                "mov.b32 %r1, 300; st.global.u8 [%d1], 44; ret;",
            ),
            (
                "mov.b64 %d2, 0x8000000000000000; st.global.b64 [%d1], %d2; ret;",
                "mov.b64 %d2, 0x8000000000000000; st.global.b64 [%d1], 0x8000000000000000; ret;",
            ),
            (
                "mov.b32 %r1, 3; setp.lt.u32 %p1, %r1, 5; @%p1 st.global.b32 [%d1], 1; @!%p1 st.global.b32 [%d1], 2; ret;",
                "mov.b32 %r1, 3; mov.pred %p1, 1; st.global.b32 [%d1], 1; ret;",
            ),
            (
                "mov.b32 %r1, 3; setp.lt.u32 %p1, %r1, 2; @%p1 bra L; ret; L: trap;",
                "mov.b32 %r1, 3; mov.pred %p1, 0; ret; L: trap;",
            ),
            // Whether it happens or not.
            (
                "mov.b32 %r1, 3; @%p1 mov.b32 %r1, 3; st.global.b32 [%d1], %r1; ret;",
                "mov.b32 %r1, 3; mov.b32 %r1, 3; st.global.b32 [%d1], 3; ret;",
            ),
            (
                "mov.b32 V.x, 3; add.u32 V.y, V.x, 1; st.global.b32 [%d1], V.y; ret;",
                "mov.b32 V.x, 3; mov.b32 V.y, 4; st.global.b32 [%d1], V.y; ret;",
            ),
        ],
    );
    stays(
        Pass::Fold,
        &[
            "mov.b32 %r1, 1; @%p1 mov.b32 %r1, 2; st.global.b32 [%d1], %r1; ret;",
            // No form with a constant there.
            "mov.pred %p1, 1; selp.b32 %r1, %r2, %r3, %p1; ret;",
            "mov.b32 %r1, 1; mov.b64 %d1, {%r1, %r2}; ret;",
            "mov.b16 %h1, 0x3c00; add.f16 %h2, %h3, %h1; ret;",
            // The carry is a result as well.
            "mov.b32 %r1, 1; L: add.u32 %r1, %r1, 1; st.global.b32 [%d1], %r1; bra L;",
            "mov.b32 %r2, %tid.x; div.u32 %r1, 1, 0; st.global.b32 [%d1], %r1; ret;",
        ],
    );
}

#[test]
fn carries_are_results() {
    becomes(
        Pass::Fold,
        &[(
            "mov.b32 %r1, -1; add.cc.u32 %r2, %r1, 1; addc.u32 %r3, %r4, 0; st.global.b32 [%d1], %r3; ret;",
            "mov.b32 %r1, -1; add.cc.u32 %r2, 4294967295, 1; addc.u32 %r3, %r4, 0; st.global.b32 [%d1], %r3; ret;",
        )],
    );
}

#[test]
fn copies_are_read_where_they_come_from() {
    becomes(
        Pass::Copies,
        &[
            (
                "mov.b32 %r1, %r2; st.global.b32 [%d1], %r1; ret;",
                "mov.b32 %r1, %r2; st.global.b32 [%d1], %r2; ret;",
            ),
            (
                "mov.b32 %r1, %r2; mov.b32 %r3, %r1; st.global.b32 [%d1], %r3; ret;",
                "mov.b32 %r1, %r2; mov.b32 %r3, %r2; st.global.b32 [%d1], %r2; ret;",
            ),
            (
                "mov.b64 %d1, %d2; st.global.v2.b32 [%d1+4], {%r1, %r2}; ret;",
                "mov.b64 %d1, %d2; st.global.v2.b32 [%d2+4], {%r1, %r2}; ret;",
            ),
            (
                "mov.b32 %r1, %r2; st.global.v2.b32 [%d1], {%r1, %r3}; ret;",
                "mov.b32 %r1, %r2; st.global.v2.b32 [%d1], {%r2, %r3}; ret;",
            ),
            (
                "mov.pred %p1, %p2; @!%p1 st.global.b32 [%d1], 1; ret;",
                "mov.pred %p1, %p2; @!%p2 st.global.b32 [%d1], 1; ret;",
            ),
            (
                "mov.b32 %r1, %r2; call (%r3), f, (%r1); ret;",
                "mov.b32 %r1, %r2; call (%r3), f, (%r2); ret;",
            ),
            // It is written only afterwards, or by the reader itself.
            (
                "mov.b32 %r1, %r2; add.u32 %r2, %r1, 1; st.global.b32 [%d1], %r2; ret;",
                "mov.b32 %r1, %r2; add.u32 %r2, %r2, 1; st.global.b32 [%d1], %r2; ret;",
            ),
            // Only reads change.
            (
                "mov.b32 %r1, %r2; add.u32 %r1, %r1, 1; st.global.b32 [%d1], %r1; ret;",
                "mov.b32 %r1, %r2; add.u32 %r1, %r2, 1; st.global.b32 [%d1], %r1; ret;",
            ),
            // Across blocks.
            (
                "mov.b32 %r1, %r2; @%p1 bra L; st.global.b32 [%d1], %r1; L: st.global.b32 [%d2], %r1; ret;",
                "mov.b32 %r1, %r2; @%p1 bra L; st.global.b32 [%d1], %r2; L: st.global.b32 [%d2], %r2; ret;",
            ),
            (
                "L: mov.b32 %r1, %r2; st.global.b32 [%d1], %r1; add.u32 %r2, %r2, 1; bra L;",
                "L: mov.b32 %r1, %r2; st.global.b32 [%d1], %r2; add.u32 %r2, %r2, 1; bra L;",
            ),
            ("mov.b32 %r1, %r1; @%p1 mov.b32 %r2, %r2; ret;", "ret;"),
        ],
    );
}

#[test]
fn copies_that_do_not_hold_are_left() {
    stays(
        Pass::Copies,
        &[
            "mov.b32 %r1, %r2; mov.b32 %r2, 7; st.global.b32 [%d1], %r1; ret;",
            "mov.b32 %r1, %r2; @%p1 mov.b32 %r2, 7; st.global.b32 [%d1], %r1; ret;",
            "@%p1 mov.b32 %r1, %r2; st.global.b32 [%d1], %r1; ret;",
            "mov.b32 %r1, %r2; @%p1 mov.b32 %r1, 5; st.global.b32 [%d1], %r1; ret;",
            // Round the loop it has been written.
            "mov.b32 %r1, %r2; L: st.global.b32 [%d1], %r1; add.u32 %r2, %r2, 1; bra L;",
            "mov.b32 %r1, %r2; @%p1 bra L; mov.b32 %r2, 7; L: st.global.b32 [%d1], %r1; ret;",
            // Two copies meet.
            "mov.b32 %r1, %r2; @%p1 bra L; mov.b32 %r1, %r3; L: st.global.b32 [%d1], %r1; ret;",
            // The interface of what is called says what is passed.
            "mov.b32 %r1, %f1; call (%r2), f, (%r1); ret;",
            // Of another type: the bits of a float.
            "mov.b32 %f1, %u1; add.f32 %f2, %f1, %f3; ret;",
            // It is read and written.
            "mov.f32 %f0, %f4; mov.f32 %f1, %f4; mov.f32 %f2, %f4; mov.f32 %f3, %f4; \
             wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d0, %d1, 1, 1, 1, 0, 0; ret;",
        ],
    );
}

#[test]
fn what_is_read_later_keeps_its_registers() {
    // The sources of an asynchronous multiplication are read until it is awaited.
    stays(
        Pass::Copies,
        &[
            "mov.b32 %r1, %r5; mov.b32 %r2, %r6; mov.b32 %r3, %r7; mov.b32 %r4, %r8; \
           wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%r1, %r2, %r3, %r4}, %d1, 1, 1, 1, 0; \
           mov.b32 %r5, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; ret;",
        ],
    );
}

#[test]
fn unreachable_code_goes() {
    becomes(
        Pass::Unreachable,
        &[
            (
                "bra L; mov.b32 %r1, 1; bar.sync 0; L: ret;",
                "bra L; L: ret;",
            ),
            ("ret; M: st.global.b32 [%d1], 1; bra M;", "ret;"),
            ("L: ret;", "ret;"),
            (
                "T: .branchtargets A, B; brx.idx %r1, T; A: ret; B: ret; C: trap;",
                "T: .branchtargets A, B; brx.idx %r1, T; A: ret; B: ret;",
            ),
            (
                "bra L; { .reg .b32 x; mov.b32 x, 1; } L: ret;",
                "bra L; { .reg .b32 x; } L: ret;",
            ),
            (
                "bra L; .local .b32 unused; trap; L: ret;",
                "bra L; .local .b32 unused; L: ret;",
            ),
            // The table is removed with the jump, and the blocks that it named.
            (
                "ret; T: .branchtargets A, B; brx.idx %r1, T; A: ret; B: ret;",
                "ret;",
            ),
            (
                "ret; T: .branchtargets A<2>; brx.idx %r1, T; A0: ret; A1: ret;",
                "ret;",
            ),
        ],
    );
    stays(
        Pass::Unreachable,
        &[
            "@%p1 bra L; st.global.b32 [%d1], 1; L: ret;",
            // What was jumped over may still be declared there.
            "bra L; { .reg .b32 x; } L: ret;",
            "T: .branchtargets A<2>; brx.idx %r1, T; A0: ret; A1: trap;",
            "bra T; T: ret;",
        ],
    );
}

#[test]
fn places_of_unreachable_code_go() {
    let head = ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"a.cu\"\n.entry k()\n{\n";
    let text = format!("{head}.loc 1 2 0\nbra L;\n.loc 1 3 0\ntrap;\nL:\n.loc 1 4 0\nret;\n}}\n");
    let passes = vec![Pass::Unreachable];
    let (new, _) = super::cleaned(text.as_bytes(), &Options::default().with_passes(passes));
    let wanted = text.replace(".loc 1 3 0\ntrap;\n", "");
    assert_eq!(String::from_utf8(new).unwrap(), wanted);
}

#[test]
fn unrecognized_instructions_read_their_operands() {
    let text = format!("{HEAD}mov.b32 %r1, 5;\nfrobnicate.b32 ? %r1;\nmov.b32 %r2, 6;\nret;\n}}\n");
    let passes = vec![Pass::Dead];
    let (new, _) = super::cleaned(text.as_bytes(), &Options::default().with_passes(passes));
    let wanted = text.replace("mov.b32 %r2, 6;\n", "");
    assert_eq!(String::from_utf8(new).unwrap(), wanted);
}

#[test]
fn generic_addresses_become_those_of_their_space() {
    becomes(
        Pass::Spaces,
        &[
            (
                "cvta.global.u64 %d1, %d2; ld.u32 %r1, [%d1+4]; ret;",
                "cvta.global.u64 %d1, %d2; ld.global.u32 %r1, [%d1+4]; ret;",
            ),
            // The address in the space was removed.
            (
                "cvta.shared.u64 %d1, %d2; mov.b64 %d2, %d2; st.u32 [%d1+4], %r1; ret;",
                ".reg .u64 %shared_7; cvta.shared.u64 %d1, %d2; mov.b64 %d2, %d2; cvta.to.shared.u64 %shared_7, %d1; st.shared.u32 [%shared_7+4], %r1; ret;",
            ),
            (
                "cvta.shared.u64 %d1, %d1; @%p1 bra L; ld.u32 %r1, [%d1]; L: ret;",
                ".reg .u64 %shared_7; cvta.shared.u64 %d1, %d1; @%p1 bra L; cvta.to.shared.u64 %shared_7, %d1; ld.shared.u32 %r1, [%shared_7]; L: ret;",
            ),
            (
                "cvta.shared.u64 %d1, %d2; atom.add.u32 %r1, [%d1], 1; ret;",
                "cvta.shared.u64 %d1, %d2; atom.shared.add.u32 %r1, [%d2], 1; ret;",
            ),
            (
                "cvta.shared.u64 %d1, sh; ld.volatile.u32 %r1, [%d1+8]; ret;",
                "cvta.shared.u64 %d1, sh; ld.volatile.shared.u32 %r1, [sh+8]; ret;",
            ),
            (
                "mov.u64 %d2, lo; cvta.local.u64 %d1, %d2; mov.b64 %d3, %d1; st.v2.b32 [%d3], {%r1, %r2}; ret;",
                "mov.u64 %d2, lo; cvta.local.u64 %d1, %d2; mov.b64 %d3, %d1; st.local.v2.b32 [%d2], {%r1, %r2}; ret;",
            ),
            (
                "mov.u64 %d1, var; ld.relaxed.gpu.u32 %r1, [%d1]; ret;",
                "mov.u64 %d1, var; ld.relaxed.gpu.global.u32 %r1, [%d1]; ret;",
            ),
            (
                "cvta.const.u64 %d1, cst; ld.u32 %r1, [%d1]; ret;",
                "cvta.const.u64 %d1, cst; ld.const.u32 %r1, [cst]; ret;",
            ),
            (
                "cvta.shared.u64 %d1, %d2; cvta.to.shared.u64 %d3, %d1; ret;",
                "cvta.shared.u64 %d1, %d2; mov.u64 %d3, %d2; ret;",
            ),
        ],
    );
    stays(
        Pass::Spaces,
        &[
            // It may be another one.
            "cvta.global.u64 %d1, %d2; @%p1 cvta.shared.u64 %d1, %d3; ld.u32 %r1, [%d1]; ret;",
            "@%p1 mov.u64 %d1, var; ld.u32 %r1, [%d1]; ret;",
            "mov.u64 %d1, sh; ld.u32 %r1, [%d1]; ret;",
            // There is no such store.
            "cvta.const.u64 %d1, cst; st.u32 [%d1], %r1; ret;",
            "cvta.shared.u64 %d1, %d2; cvta.to.global.u64 %d3, %d1; ret;",
            "cvta.shared.u64 %d1, %d2; mov.b64 %d2, 0; cvta.to.shared.u64 %d3, %d1; ret;",
            "cvta.local.u64 %d1, %d2; atom.add.u32 %r1, [%d1], 1; ret;",
            // It may not be turned back.
            "cvta.shared.u64 %d1, %d2; @%p1 cvta.to.shared.u64 %d3, %d1; ret;",
        ],
    );
}

#[test]
fn comments_and_places_stay() {
    let text = format!(
        "{HEAD}.file 1 \"a.cu\"\n    // first\n    .loc 1 3 0\n    mov.b32 %r1, 6; // six\n    add.u32 /* sum */ %r2, %r1, %r3;\n    st.global.b32   [%d1], %r2; // out\n\n    ret;\n}}\n"
    )
    .replace(".file 1 \"a.cu\"\n", "")
    .replace(".version 9.0\n", ".version 9.0\n.file 1 \"a.cu\"\n");
    let text = text.replace(
        ".file 1 \"a.cu\"\n.target sm_90a\n",
        ".target sm_90a\n.file 1 \"a.cu\"\n",
    );
    let (now, report) = super::cleaned(text.as_bytes(), &Options::default());
    let now = String::from_utf8(now).unwrap();
    let head = text.split("    // first").next().unwrap();
    assert_eq!(
        now.strip_prefix(head).unwrap(),
        "    // first\n    .loc 1 3 0\n    // six\n    add.u32 /* sum */ %r2, 6, %r3;\n    st.global.b32   [%d1], %r2; // out\n\n    ret;\n}\n"
    );
    assert_eq!((report.count(Pass::Fold), report.count(Pass::Dead)), (1, 1));
}

#[test]
fn labels_of_debug_sections_stay() {
    let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\nL:\nM:\nret;\n}\n.section .debug_loc\n{\n.b64 L\n.b64 L\n}\n";
    let (now, _) = super::cleaned(text, &Options::default());
    let now = String::from_utf8(now).unwrap();
    assert!(now.contains("{\nL:\nret;\n}"), "{now}");
}

/// Nested loops whose headers need a phi for each of the variables: `n * n` phis.
fn nest_of_loops(n: usize) -> String {
    let all = |one: &dyn Fn(usize) -> String| (0..n).map(one).collect::<String>();
    format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.entry k()\n{{\n.reg .b32 %v<{n}>; .reg .pred %p;\n{}setp.eq.s32 %p, %v0, 0;\n{}{}{}ret;\n}}\n",
        all(&|i| format!("mov.u32 %v{i}, %tid.x;\n")),
        all(&|i| format!("L{i}: add.s32 %v{i}, %v{i}, %v{};\n", (i * 7) % n)),
        all(&|i| format!("@%p bra L{};\n", n - 1 - i)),
        all(&|i| format!("st.shared.u32 [%v{i}], %v{};\n", (i + 3) % n)),
    )
}

#[test]
fn functions_with_too_many_phis_are_reported() {
    let text = nest_of_loops(1000);
    let module = ptx_parse::parse_str(&text).module;
    let k = module.function("k").unwrap();
    let report = ptx_transform::clean::clean(&module, &Options::default()).report;
    assert!(report.changes.is_empty());
    let skipped: Vec<_> = report.skipped.iter().map(|s| s.function).collect();
    assert_eq!(skipped, [k]);
    let reason = report.skipped[0].reason;
    let AnalysisError::TooManyPhis { limit } = reason else {
        panic!("{reason}");
    };
    let why = format!("the function needs more than {limit} phis and arguments of phis");
    assert_eq!(reason.to_string(), why);

    let module = ptx_parse::parse_str(&nest_of_loops(10)).module;
    let report = ptx_transform::clean::clean(&module, &Options::default()).report;
    assert!(report.skipped.is_empty());
}
