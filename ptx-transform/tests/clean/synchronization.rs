//! Fences and barriers that go, and those that stay, in kernels whose warps and CTAs give values to each other.

use ptx_transform::clean::{Options, Pass};

use super::observe::{has_race, observe};

/// A kernel whose threads write to shared and to global memory, and read what others wrote.
fn kernel(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
        .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %d<3>; .shared .align 4 .b32 s[64]; .local .b32 own;\n\
        ld.param.u64 %d0, [p];\ncvta.to.global.u64 %d0, %d0;\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nshl.b32 %r2, %r0, 2;\n\
        mov.u32 %r3, s;\nadd.u32 %r3, %r3, %r2;\nxor.b32 %r4, %r2, 252;\nmov.u32 %r5, s;\nadd.u32 %r4, %r4, %r5;\n\
        mad.lo.u32 %r5, %r1, 256, %r2;\ncvt.u64.u32 %d1, %r5;\nadd.u64 %d1, %d0, %d1;\n{body}\nret;\n}}\n"
    )
}

/// What is written by one warp is read by the other one.
const EXCHANGE: [&str; 2] = [
    "st.shared.u32 [%r3], %r0;\n",
    "ld.shared.u32 %r6, [%r4];\nst.global.u32 [%d1], %r6;\n",
];

/// The text after a clean-up, how many fences and barriers went, and whether the kernel does what it did, without races.
fn removed(body: &str) -> usize {
    let text = kernel(body);
    let original = ptx_parse::parse(text.as_bytes()).module;
    assert!(!has_race(&original, "k", 1), "{body}");
    let (new, report) = super::cleaned(
        text.as_bytes(),
        &Options::default().with_passes([Pass::Synchronization]),
    );
    let cleaned = ptx_parse::parse(&new).module;
    let (before, after) = (observe(&original, "k", 1), observe(&cleaned, "k", 1));
    assert!(before.is_done() && before.agrees(&after), "{body}");
    assert!(!has_race(&cleaned, "k", 1), "{body}");
    report.changes.len()
}

#[test]
fn barriers_between_writes_and_reads_stay() {
    let [write, read] = EXCHANGE;
    let bar = "bar.sync 0;\n";
    // Without any, the kernel has a race.
    let racing = ptx_parse::parse(kernel(&[write, read].concat()).as_bytes()).module;
    assert!(has_race(&racing, "k", 1));
    let uniform = "setp.eq.u32 %p1, %r1, 0;\n";
    for (parts, wanted) in [
        (vec![write, bar, read], 0),
        (vec![write, bar, bar, read], 1),
        (
            vec![
                write,
                bar,
                "add.u32 %r7, %r0, 1;\nst.local.u32 [own], %r7;\n",
                bar,
                read,
            ],
            1,
        ),
        // Another exchange follows: the barrier between the read and the next write stays.
        (vec![write, bar, read, bar, bar, write, bar, read], 1),
        // One CTA takes another way.
        (
            vec![
                uniform,
                write,
                "@%p1 bra L;\n",
                bar,
                "bra M;\nL:\n",
                bar,
                "M:\n",
                bar,
                read,
            ],
            1,
        ),
        (
            vec![uniform, write, "@%p1 bra L;\n", bar, "L:\n", bar, read],
            0,
        ),
        // In a loop, where the barrier at the end orders reads before the writes of the next iteration.
        (
            vec![
                "mov.u32 %r7, 0;\nL:\n",
                write,
                bar,
                read,
                bar,
                "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, 3;\n@%p1 bra L;\n",
            ],
            0,
        ),
        (
            vec![
                "mov.u32 %r7, 0;\nL:\n",
                write,
                bar,
                read,
                bar,
                "add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, 3;\n@%p1 bra L;\n",
                bar,
                write,
            ],
            1,
        ),
    ] {
        let body = parts.concat();
        assert_eq!(removed(&body), wanted, "{body}");
    }
}

#[test]
fn barriers_that_other_warps_meet_elsewhere_stay() {
    let [write, read] = EXCHANGE;
    let warp = "setp.lt.u32 %p1, %r0, 32;\n";
    let bar = "barrier.sync 0;\n";
    // The second barrier of one warp pairs with the first one of the other warp.
    let parts = [
        warp,
        write,
        "@%p1 bra L;\n",
        bar,
        bar,
        "bra M;\nL:\n",
        bar,
        "st.local.u32 [own], %r0;\n",
        bar,
        "M:\n",
        read,
    ];
    assert_eq!(removed(&parts.concat()), 0);
    // Both are executed by all threads, but in the branches they may pair with any other.
    let parts = [
        warp,
        write,
        "@%p1 bra L;\n",
        bar,
        "bra M;\nL:\n",
        bar,
        "M:\n",
        bar,
        read,
    ];
    assert_eq!(removed(&parts.concat()), 0);
}

#[test]
fn fences_that_order_values_for_other_threads_stay() {
    // A message from one warp to the other one.
    let flag = "mov.u32 %r6, s;\n";
    let send = "setp.ne.u32 %p1, %r0, 0;\n@%p1 bra W;\nst.global.u32 [%d1], 7;\n";
    let signal = "st.relaxed.gpu.global.u32 [%d1+128], 1;\n";
    let wait = "W:\nsetp.ne.u32 %p2, %r0, 32;\n@%p2 bra E;\nP:\nld.relaxed.gpu.global.u32 %r7, [%d1];\nsetp.ne.u32 %p2, %r7, 1;\n@%p2 bra P;\n";
    let receive = "ld.global.u32 %r7, [%d1+-128];\nst.global.u32 [%d1+4], %r7;\nE:\n";
    let start = "mov.u32 %r7, 0;\nsetp.eq.u32 %p1, %r0, 0;\n@%p1 st.relaxed.gpu.global.u32 [%d1+128], 0;\nbar.sync 0;\n";
    let fence = "fence.acq_rel.gpu;\n";
    let narrow = "fence.acq_rel.cta;\n";
    for (parts, wanted) in [
        (
            vec![flag, start, send, fence, signal, wait, fence, receive],
            0,
        ),
        (
            vec![
                flag, start, send, narrow, fence, signal, wait, fence, narrow, receive,
            ],
            2,
        ),
        (
            vec![
                flag,
                start,
                send,
                fence,
                "mov.u32 %r6, 4;\n",
                fence,
                signal,
                wait,
                fence,
                receive,
            ],
            1,
        ),
    ] {
        let body = parts.concat();
        assert_eq!(removed(&body), wanted, "{body}");
    }
}
