//! Clean-ups that use what is known of values, addresses and synchronization.

use ptx_transform::clean::{Options, Pass};

use super::rules::{becomes, stays};

#[test]
fn comparisons_that_intervals_decide() {
    becomes(
        Pass::Fold,
        &[
            (
                "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 1024; @%p1 st.global.b32 [%d1], %r1; ret;",
                "mov.u32 %r1, %tid.x; mov.pred %p1, 1; st.global.b32 [%d1], %r1; ret;",
            ),
            (
                "mov.u32 %r1, %laneid; shr.u32 %r2, %r1, 5; st.global.b32 [%d1], %r2; ret;",
                "mov.u32 %r1, %laneid; mov.b32 %r2, 0; st.global.b32 [%d1], 0; ret;",
            ),
            (
                "and.b32 %r1, %r2, 7; setp.gt.u32 %p1, %r1, 7; @%p1 bra L; st.global.b32 [%d1], %r1; L: ret;",
                "and.b32 %r1, %r2, 7; mov.pred %p1, 0; st.global.b32 [%d1], %r1; L: ret;",
            ),
        ],
    );
    stays(
        Pass::Fold,
        &[
            "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 1023; @%p1 st.global.b32 [%d1], %r1; ret;",
            "mov.u32 %r1, %ntid.x; setp.eq.u32 %p1, %r1, 1; @%p1 st.global.b32 [%d1], %r1; ret;",
        ],
    );
}

#[test]
fn global_addresses() {
    becomes(
        Pass::Spaces,
        &[
            (
                "ld.param.u64 %d1, [p]; cvta.to.global.u64 %d1, %d1; mov.u32 %r1, %tid.x; mad.wide.u32 %d2, %r1, 4, %d1; ld.u32 %r2, [%d2]; ret;",
                "ld.param.u64 %d1, [p]; cvta.to.global.u64 %d1, %d1; mov.u32 %r1, %tid.x; mad.wide.u32 %d2, %r1, 4, %d1; ld.global.u32 %r2, [%d2]; ret;",
            ),
            (
                "mov.u64 %d1, var; mov.u64 %d3, var; selp.b64 %d2, %d1, %d3, %p1; red.add.u32 [%d2], 1; ret;",
                "mov.u64 %d1, var; mov.u64 %d3, var; selp.b64 %d2, %d1, %d3, %p1; red.global.add.u32 [%d2], 1; ret;",
            ),
        ],
    );
    stays(
        Pass::Spaces,
        &[
            "ld.param.u64 %d1, [p]; ld.u32 %r1, [%d1]; ret;",
            "mov.u64 %d1, var; mov.u64 %d3, sh; cvta.shared.u64 %d3, %d3; selp.b64 %d2, %d1, %d3, %p1; red.add.u32 [%d2], 1; ret;",
        ],
    );
}

#[test]
fn computed_addresses_in_other_spaces() {
    becomes(
        Pass::Spaces,
        &[
            (
                "cvta.shared.u64 %d1, sh; mov.u32 %r1, %tid.x; mad.wide.u32 %d2, %r1, 4, %d1; ld.u32 %r2, [%d2]; st.u32 [%d2+4], %r2; ret;",
                ".reg .u64 %shared_7; cvta.shared.u64 %d1, sh; mov.u32 %r1, %tid.x; mad.wide.u32 %d2, %r1, 4, %d1; cvta.to.shared.u64 %shared_7, %d2; ld.shared.u32 %r2, [%shared_7]; st.shared.u32 [%shared_7+4], %r2; ret;",
            ),
            // An address that is changed between two accesses.
            (
                "cvta.local.u64 %d1, lo; add.u64 %d1, %d1, %d3; ld.u32 %r1, [%d1]; add.u64 %d1, %d1, 4; @%p1 st.u32 [%d1], %r1; ret;",
                ".reg .u64 %local_8; .reg .u64 %local_7; cvta.local.u64 %d1, lo; add.u64 %d1, %d1, %d3; cvta.to.local.u64 %local_7, %d1; ld.local.u32 %r1, [%local_7]; add.u64 %d1, %d1, 4; cvta.to.local.u64 %local_8, %d1; @%p1 st.local.u32 [%local_8], %r1; ret;",
            ),
            // A select of two addresses.
            (
                "cvta.shared.u64 %d1, sh; cvta.shared.u64 %d3, %d4; selp.b64 %d2, %d1, %d3, %p1; atom.add.u32 %r1, [%d2], 1; ret;",
                ".reg .u64 %shared_7; cvta.shared.u64 %d1, sh; cvta.shared.u64 %d3, %d4; selp.b64 %d2, %d1, %d3, %p1; cvta.to.shared.u64 %shared_7, %d2; atom.shared.add.u32 %r1, [%shared_7], 1; ret;",
            ),
            // A loop that adds to an address.
            (
                "cvta.const.u64 %d1, cst; L: ld.u32 %r1, [%d1]; add.u64 %d1, %d1, 4; @%p1 bra L; ret;",
                ".reg .u64 %const_7; cvta.const.u64 %d1, cst; L: cvta.to.const.u64 %const_7, %d1; ld.const.u32 %r1, [%const_7]; add.u64 %d1, %d1, 4; @%p1 bra L; ret;",
            ),
        ],
    );
    stays(
        Pass::Spaces,
        &[
            // Of two spaces.
            "cvta.shared.u64 %d1, sh; cvta.local.u64 %d3, lo; selp.b64 %d2, %d1, %d3, %p1; ld.u32 %r1, [%d2]; ret;",
            // Perhaps in another CTA.
            "cvta.shared.u64 %d1, sh; mapa.u64 %d2, %d1, 1; ld.u32 %r1, [%d2]; ret;",
            // There are no such accesses.
            "cvta.local.u64 %d1, lo; add.u64 %d1, %d1, %d3; atom.add.u32 %r1, [%d1], 1; ret;",
            "cvta.const.u64 %d1, cst; add.u64 %d1, %d1, %d3; st.u32 [%d1], %r1; ret;",
        ],
    );
}

/// What all callers of a function give to it is known.
#[test]
fn addresses_that_are_passed_to_functions() {
    let module = |other: &str| {
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.func add(.param .b64 p, .param .b32 n)\n{{\n\
            .reg .b64 %d; .reg .b32 %r<3>;\nld.param.b64 %d, [p];\nld.param.b32 %r0, [n];\nld.u32 %r1, [%d];\nadd.u32 %r1, %r1, %r0;\n\
            st.u32 [%d], %r1;\nret;\n}}\n.entry k(.param .u64 p)\n{{\n.reg .b64 %d<3>; .shared .b32 s[8]; .param .b64 a; .param .b32 b;\n\
            ld.param.u64 %d2, [p];\ncvta.shared.u64 %d0, s;\nadd.u64 %d1, %d0, 4;\nst.param.b32 [b], 3;\n\
            st.param.b64 [a], %d0;\ncall add, (a, b);\nst.param.b64 [a], {other};\ncall add, (a, b);\nret;\n}}\n"
        )
    };
    let cleaned = |other: &str| {
        let (text, _) = super::cleaned(
            module(other).as_bytes(),
            &Options::default().with_passes([Pass::Spaces]),
        );
        String::from_utf8(text).unwrap()
    };
    let text = cleaned("%d1");
    assert!(
        text.contains("ld.shared.u32") && text.contains("st.shared.u32"),
        "{text}"
    );
    assert_eq!(text.matches("cvta.to.shared").count(), 1, "{text}");
    assert_eq!(cleaned("%d2"), module("%d2"));
}

#[test]
fn fences_and_barriers() {
    becomes(
        Pass::Synchronization,
        &[
            (
                "fence.sc.gpu; fence.acq_rel.cta; ret;",
                "fence.sc.gpu; ret;",
            ),
            (
                "fence.acq_rel.cta; add.u32 %r1, %r2, 1; fence.acq_rel.sys; ret;",
                "add.u32 %r1, %r2, 1; fence.acq_rel.sys; ret;",
            ),
            ("membar.gl; membar.gl; ret;", "membar.gl; ret;"),
            (
                "fence.proxy.async; fence.proxy.async; ret;",
                "fence.proxy.async; ret;",
            ),
            (
                "bar.sync 0; mov.u32 %r1, %tid.x; bar.sync 0; bar.sync 0; ret;",
                "bar.sync 0; mov.u32 %r1, %tid.x; ret;",
            ),
            (
                "L: fence.sc.cta; fence.sc.cta; @%p1 bra L; ret;",
                "L: fence.sc.cta; @%p1 bra L; ret;",
            ),
            // After a branch, on all paths.
            (
                "@%p1 bra L; fence.sc.gpu; bra M; L: fence.acq_rel.gpu; M: fence.acq_rel.cta; ret;",
                "@%p1 bra L; fence.sc.gpu; bra M; L: fence.acq_rel.gpu; M: ret;",
            ),
            // Before another one, on all paths.
            (
                "@%p1 bra L; fence.acq_rel.gpu; L: ld.local.b32 %r1, [lo]; fence.sc.gpu; ld.global.b32 %r1, [%d1]; ret;",
                "@%p1 bra L; L: ld.local.b32 %r1, [lo]; fence.sc.gpu; ld.global.b32 %r1, [%d1]; ret;",
            ),
            // In a loop that accesses nothing, before it and after it.
            (
                "fence.acq_rel.sys; L: add.u32 %r1, %r1, 1; fence.acq_rel.gpu; setp.lt.u32 %p1, %r1, 9; @%p1 bra L; fence.acq_rel.cta; ret;",
                "fence.acq_rel.sys; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L; ret;",
            ),
            // Barriers that all threads of the CTA execute.
            (
                "ld.param.u32 %r1, [p]; setp.eq.u32 %p1, %r1, 0; st.shared.b32 [sh], %r1; @%p1 bra L; bar.sync 0; bra M; L: bar.sync 0; M: st.local.b32 [lo], %r1; bar.sync 0; ret;",
                "ld.param.u32 %r1, [p]; setp.eq.u32 %p1, %r1, 0; st.shared.b32 [sh], %r1; @%p1 bra L; bar.sync 0; bra M; L: bar.sync 0; M: st.local.b32 [lo], %r1; ret;",
            ),
            (
                "mov.b32 %r1, 0; L: bar.sync 0; bar.sync 0; st.shared.b32 [sh], %r1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L; ret;",
                "mov.b32 %r1, 0; L: bar.sync 0; st.shared.b32 [sh], %r1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L; ret;",
            ),
        ],
    );
    stays(
        Pass::Synchronization,
        &[
            "fence.sc.cta; ld.global.b32 %r1, [%d1]; fence.sc.cta; ret;",
            "fence.acq_rel.gpu; fence.sc.cta; ret;",
            "fence.sc.gpu; fence.proxy.async; ret;",
            "fence.sc.gpu; @%p1 fence.sc.gpu; ret;",
            "bar.sync 0; st.shared.b32 [sh], %r1; bar.sync 0; ret;",
            "bar.sync 0; bar.sync 1; ret;",
            "L: bar.sync 0; bar.sync 0; @%p1 bra L; ret;",
            "@%p1 bra L; bar.sync 0; bar.sync 0; L: ret;",
            "@%p1 ret; bar.sync 0; bar.sync 0; ret;",
            "bar.arrive 1, 64; bar.arrive 1, 64; ret;",
            "bar.red.popc.u32 %r1, 0, %p1; bar.red.popc.u32 %r2, 0, %p1; ret;",
            "bar.sync 0; fence.sc.cta; bar.sync 0; ret;",
            // On one path only, or weaker on one path.
            "@%p1 bra L; fence.sc.gpu; L: fence.acq_rel.gpu; ld.global.b32 %r1, [%d1]; fence.acq_rel.cta; ret;",
            "@%p1 bra L; fence.sc.gpu; bra M; L: fence.sc.cta; M: fence.acq_rel.gpu; ret;",
            // An access on one path, in the next iteration, or by another thread.
            "fence.sc.gpu; @%p1 bra L; st.global.b32 [%d1], %r1; L: fence.sc.gpu; ret;",
            "L: fence.sc.gpu; st.shared.b32 [sh], %r1; @%p1 bra L; fence.acq_rel.gpu; ret;",
            "st.global.b32 [%d1], %r1; fence.acq_rel.gpu; st.relaxed.gpu.global.b32 [%d1+4], 1; fence.acq_rel.gpu; ret;",
            "st.global.b32 [%d1], %r1; fence.acq_rel.gpu; bar.sync 0; fence.acq_rel.gpu; st.relaxed.gpu.global.b32 [%d2], 1; ret;",
            "fence.sc.gpu; shfl.sync.idx.b32 %r1, %r2, 0, 31, -1; fence.sc.gpu; ret;",
            // Nothing after it on a path to the end, or never.
            "fence.acq_rel.gpu; @%p1 bra L; fence.sc.gpu; L: ret;",
            "L: fence.acq_rel.gpu; @%p1 fence.sc.gpu; bra L;",
            // Of registers of tensor cores, which are written in between.
            "wgmma.fence.sync.aligned; mov.f32 %f1, 0f00000000; wgmma.fence.sync.aligned; ret;",
            // Threads of a CTA that execute barriers in different places.
            "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra L; barrier.sync 0; L: barrier.sync 0; barrier.sync 0; ret;",
            "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 barrier.sync 0; barrier.sync 0; barrier.sync 0; ret;",
            "call (%r1), f, (%r2); bar.sync 0; bar.sync 0; ret;",
            "bar.sync 0, 64; bar.sync 0, 64; ret;",
            // Between a write and a read.
            "bar.sync 0; st.shared.b32 [sh], %r1; @%p1 bra L; L: bar.sync 0; ld.shared.b32 %r2, [sh+4]; ret;",
            "mov.b32 %r1, 0; L: bar.sync 0; st.shared.b32 [sh], %r1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L; ret;",
        ],
    );
}

#[test]
fn uniform_branches() {
    becomes(
        Pass::Uniform,
        &[
            (
                "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra L; st.global.b32 [%d1], %r1; L: ret;",
                "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra.uni L; st.global.b32 [%d1], %r1; L: ret;",
            ),
            (
                "ld.param.u32 %r1, [p]; setp.eq.u32 %p1, %r1, 0; @!%p1 ret; st.global.b32 [%d1], %r1; ret;",
                "ld.param.u32 %r1, [p]; setp.eq.u32 %p1, %r1, 0; @!%p1 ret.uni; st.global.b32 [%d1], %r1; ret;",
            ),
            (
                "mov.b32 %r1, 0; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L; ret;",
                "mov.b32 %r1, 0; L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra.uni L; ret;",
            ),
        ],
    );
    stays(
        Pass::Uniform,
        &[
            "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra L; st.global.b32 [%d1], %r1; L: ret;",
            "ld.global.u32 %r1, [%d1]; setp.eq.u32 %p1, %r1, 0; @%p1 ret; st.global.b32 [%d1], %r1; ret;",
            // The same in a warp, not in the CTA.
            "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; vote.sync.any.pred %p2, %p1, -1; @%p2 ret; ret;",
            // As often as each thread likes.
            "mov.u32 %r1, %tid.x; mov.b32 %r2, 0; L: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L; setp.eq.u32 %p2, %r2, 4; @%p2 ret; ret;",
            "bra L; L: ret;",
            "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 bra.uni L; st.global.b32 [%d1], %r1; L: ret;",
            "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; @%p1 exit; ret;",
        ],
    );
}

#[test]
fn vectors() {
    becomes(
        Pass::Vectorize,
        &[
            (
                "ld.shared.u32 %r1, [sh]; ld.shared.u32 %r2, [sh+4]; ret;",
                "ld.shared.v2.u32 {%r1, %r2}, [sh]; ret;",
            ),
            (
                "ld.shared.u32 %r2, [sh+12]; ld.shared.u32 %r1, [sh+8]; add.u32 %r3, %r2, %r1; ret;",
                "ld.shared.v2.u32 {%r1, %r2}, [sh+8]; add.u32 %r3, %r2, %r1; ret;",
            ),
            (
                "st.shared.f32 [sh], %f1; mul.f32 %f5, %f1, %f2; st.shared.f32 [sh+4], %f2; st.shared.f32 [sh+8], %f3; st.shared.f32 [sh+12], %f5; ret;",
                "mul.f32 %f5, %f1, %f2; st.shared.v4.f32 [sh], {%f1, %f2, %f3, %f5}; ret;",
            ),
            (
                "ld.shared.v2.u32 {%r1, %r2}, [sh]; ld.shared.v2.u32 {%r3, %r4}, [sh+8]; ret;",
                "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [sh]; ret;",
            ),
            (
                "ld.shared.u16 %h0, [sh]; ld.shared.u16 %h1, [sh+2]; ret;",
                "ld.shared.v2.u16 {%h0, %h1}, [sh]; ret;",
            ),
            (
                "ld.local.b64 %d1, [lo+8]; ld.shared.b64 %d2, [sh+16]; ld.shared.b64 %d3, [sh+24]; ret;",
                "ld.local.b64 %d1, [lo+8]; ld.shared.v2.b64 {%d2, %d3}, [sh+16]; ret;",
            ),
            (
                "mov.u64 %d1, sh; and.b64 %d2, %d3, -64; add.u64 %d1, %d1, %d2; ld.shared.u32 %r1, [%d1]; ld.shared.u32 %r2, [%d1+4]; ret;",
                "mov.u64 %d1, sh; and.b64 %d2, %d3, -64; add.u64 %d1, %d1, %d2; ld.shared.v2.u32 {%r1, %r2}, [%d1]; ret;",
            ),
        ],
    );
    stays(
        Pass::Vectorize,
        &[
            // Not adjacent, or not aligned.
            "ld.shared.u32 %r1, [sh]; ld.shared.u32 %r2, [sh+8]; ret;",
            "ld.shared.u32 %r1, [sh+4]; ld.shared.u32 %r2, [sh+8]; ret;",
            "ld.global.u32 %r1, [%d1]; ld.global.u32 %r2, [%d1+4]; ret;",
            // Something between.
            "ld.shared.u32 %r1, [sh]; bar.sync 0; ld.shared.u32 %r2, [sh+4]; ret;",
            "ld.shared.u32 %r1, [sh]; st.shared.u32 [%d1], %r3; ld.shared.u32 %r2, [sh+4]; ret;",
            "st.shared.u32 [sh], %r1; ld.shared.u32 %r3, [%d1]; st.shared.u32 [sh+4], %r2; ret;",
            "ld.shared.u32 %r1, [sh]; st.global.u32 [%d1], %r2; ld.shared.u32 %r2, [sh+4]; ret;",
            "st.shared.u32 [sh], %r1; add.u32 %r1, %r1, 1; st.shared.u32 [sh+4], %r2; ret;",
            "ld.shared.u32 %r1, [sh]; mov.b32 %r3, %r2; ld.shared.u32 %r2, [sh+4]; ret;",
            // The same register, guards, orders and kinds.
            "ld.shared.u32 %r1, [sh]; ld.shared.u32 %r1, [sh+4]; ret;",
            "@%p1 ld.shared.u32 %r1, [sh]; @%p1 ld.shared.u32 %r2, [sh+4]; ret;",
            "ld.volatile.shared.u32 %r1, [sh]; ld.volatile.shared.u32 %r2, [sh+4]; ret;",
            "ld.relaxed.cta.shared.u32 %r1, [sh]; ld.relaxed.cta.shared.u32 %r2, [sh+4]; ret;",
            "ld.shared.u16 %h0, [sh]; ld.shared.s16 %h1, [sh+2]; ret;",
            "atom.shared.add.u32 %r1, [sh], 1; atom.shared.add.u32 %r2, [sh+4], 1; ret;",
        ],
    );
}
