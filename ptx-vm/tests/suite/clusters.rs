//! Addresses of shared memory in a cluster: the rank of the CTA is in the bits from 24 on.

#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{Launch, Machine, RunError, StopReason, TensorElement, TensorMap};

/// Runs a kernel in one cluster of CTAs with one thread. `%r0` is the rank; the result has eight words for each CTA, at `%out`.
fn run(target: &str, count: u32, before: &str, body: &str) -> Result<Vec<u32>, RunError> {
    let text = format!(
        ".version 9.0\n.target {target}\n.address_size 64\n{before}\n\
         .visible .entry k(.param .align 64 .b8 map[128], .param .u64 data) .explicitcluster .reqnctapercluster {count}\n{{\n\
         .reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n.reg .b64 %out;\n\
         ld.param.u64 %out, [data];\nmov.u32 %r0, %cluster_ctarank;\nmul.wide.u32 %rd0, %r0, 32;\nadd.u64 %out, %out, %rd0;\n\
         {body}\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse_str(&text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let errors = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    let errors: Vec<_> = errors.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut machine = Machine::new(&parsed.module);
    let tensor = machine.allocate(64).unwrap();
    let out = machine.allocate(32 * u64::from(count)).unwrap();
    machine.write_slice(tensor, &[99u32; 16])?;
    let map = TensorMap::tiled(TensorElement::U32, tensor, &[16], &[16]);
    let launch = Launch::new("k")
        .shape(count, 1)
        .argument(map.to_bytes().unwrap())
        .argument(out.to_le_bytes());
    machine.launch(&launch)?;
    machine.read_slice(out, 8 * count as usize)
}

/// Synchronizes all threads of the cluster.
const SYNC: &str = "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
/// A word, and an mbarrier object for one arrival.
const SHARED: &str = ".shared .align 128 .b32 words[32];\n.shared .align 8 .b64 object;";

#[test]
fn the_rank_is_in_the_bits_from_24_on() {
    let body = "mov.u32 %r1, words;\nadd.u32 %r2, %r0, 1;\nrem.u32 %r2, %r2, 3;\n\
                mapa.shared::cluster.u32 %r3, %r1, %r2;\nmapa.shared::cluster.u32 %r4, words, %r2;\n\
                getctarank.shared::cluster.u32 %r5, %r3;\n\
                cvta.shared.u64 %rd1, %r1_64;\nmov.u64 %rd2, words;\ncvta.shared.u64 %rd3, %rd2;\n\
                mapa.u64 %rd4, %rd3, %r2;\nsub.u64 %rd5, %rd4, %rd3;\n\
                isspacep.shared::cta %p1, %rd3;\nselp.u32 %r6, 1, 0, %p1;\n\
                isspacep.shared::cta %p2, %rd4;\nselp.u32 %r7, 1, 0, %p2;\n\
                isspacep.shared::cluster %p3, %rd4;\nselp.u32 %r8, 1, 0, %p3;\n\
                st.global.v4.u32 [%out], {%r1, %r3, %r4, %r5};\n\
                cvt.u32.u64 %r9, %rd5;\nst.global.v4.u32 [%out+16], {%r9, %r6, %r7, %r8};";
    let body = body.replace("cvta.shared.u64 %rd1, %r1_64;\n", "");
    let found = run("sm_90", 3, SHARED, &body).unwrap();
    for (rank, words) in (0u32..).zip(found.chunks(8)) {
        let next = (rank + 1) % 3;
        let offset = words[0] - (rank << 24);
        assert!(offset < 1 << 18, "{words:?}");
        let other = (next << 24) + offset;
        let distance = (next << 24).wrapping_sub(rank << 24);
        assert_eq!(words[1..], [other, other, next, distance, 1, 0, 1]);
    }
}

#[test]
fn a_mask_selects_the_first_cta_of_a_pair() {
    // Each CTA adds to the word, and arrives at the object, of the even CTA of its pair.
    let body = format!(
        "st.shared.u32 [words], 0;\nmbarrier.init.shared.b64 [object], 2;\n{SYNC}\
         mov.u32 %r1, words;\nand.b32 %r2, %r1, 0xFEFFFFFF;\nadd.u32 %r3, %r0, 5;\n\
         red.shared::cluster.add.u32 [%r2], %r3;\n\
         mov.u32 %r4, object;\nand.b32 %r4, %r4, -16777217;\n\
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r4];\n{SYNC}\
         mbarrier.test_wait.parity.shared::cta.b64 %p1, [object], 0;\nselp.u32 %r5, 1, 0, %p1;\n\
         ld.shared.u32 %r6, [words];\nld.shared::cluster.u32 %r7, [%r2];\n\
         st.global.v4.u32 [%out], {{%r6, %r5, %r7, 0}};"
    );
    let found = run("sm_90", 4, SHARED, &body).unwrap();
    let found: Vec<&[u32]> = found.chunks(8).map(|words| &words[..3]).collect();
    assert_eq!(found, [[11, 1, 11], [0, 0, 11], [15, 1, 15], [0, 0, 15]]);
}

#[test]
fn copies_of_a_pair_complete_at_the_object_of_the_first_cta() {
    // Both CTAs copy 64 bytes to their own memory, and complete them at the object of the even CTA.
    let body = format!(
        "st.shared.u32 [words], 7;\nmbarrier.init.shared.b64 [object], 1;\n{SYNC}\
         setp.ne.u32 %p1, %r0, 0;\n@!%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [object], 128;\n\
         mov.u32 %r1, words;\nmov.u32 %r2, object;\nand.b32 %r2, %r2, 0xFEFFFFFF;\nmov.u64 %rd1, map;\ncvta.param.u64 %rd1, %rd1;\n\
         cp.async.bulk.tensor.1d.cta_group::2.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {{0}}], [%r2];\n{SYNC}\
         mbarrier.test_wait.parity.shared::cta.b64 %p2, [object], 0;\nselp.u32 %r5, 1, 0, %p2;\n\
         ld.shared.u32 %r6, [words];\nst.global.v2.u32 [%out], {{%r6, %r5}};"
    )
    .replace("tensor.1d.cta_group::2.shared::cluster.global.tile.mbarrier::complete_tx::bytes", "tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2");
    let found = run("sm_100a", 2, SHARED, &body).unwrap();
    assert_eq!([&found[..2], &found[8..10]], [[99, 1], [99, 0]]);
}

#[test]
fn a_commit_arrives_at_the_object_of_the_first_cta() {
    let body = format!(
        "mbarrier.init.shared.b64 [object], 2;\n{SYNC}\
         mov.u32 %r2, object;\nand.b32 %r2, %r2, 0xFEFFFFFF;\n\
         tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%r2];\n{SYNC}\
         mbarrier.test_wait.parity.shared::cta.b64 %p2, [object], 0;\nselp.u32 %r5, 1, 0, %p2;\n\
         st.global.u32 [%out], %r5;"
    );
    let found = run("sm_100a", 2, SHARED, &body).unwrap();
    assert_eq!([found[0], found[8]], [1, 0]);
}

#[test]
fn offsets_are_those_of_the_cta() {
    // A literal offset, an index in an array and a generic address; and memory of another CTA, which is not in the state space of the CTA.
    let body = "mov.u32 %r1, words;\nand.b32 %r2, %r1, 0xFFFFFF;\nadd.u32 %r3, %r0, 40;\nst.shared.u32 [%r2+8], %r3;\n\
                mov.u32 %r4, 2;\nld.shared.u32 %r5, [words+8];\nmov.u32 %r6, words+8;\nld.shared.u32 %r7, [%r6];\n\
                cvt.u64.u32 %rd1, %r6;\ncvta.shared.u64 %rd1, %rd1;\nld.u32 %r8, [%rd1];\n\
                st.shared::cluster.u32 [words+12], %r3;\nld.shared.u32 %r9, [words+12];\n\
                st.global.v4.u32 [%out], {%r5, %r7, %r8, %r9};";
    let found = run("sm_90", 2, SHARED, body).unwrap();
    assert_eq!([&found[..4], &found[8..12]], [[40; 4], [41; 4]]);
    let body = "mov.u32 %r1, 1;\nmapa.shared::cluster.u32 %r2, words, %r1;\nld.shared::cta.u32 %r3, [%r2];";
    let error = run("sm_90", 2, SHARED, body).unwrap_err();
    assert!(
        matches!(error.reason, StopReason::OutOfBounds(_)),
        "{error}"
    );
}

#[test]
fn shared_memory_ends_before_that_of_the_next_cta() {
    let before = ".extern .shared .align 16 .b8 dynamic[];";
    let text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n{before}\n.visible .entry k()\n{{\n.reg .b32 %r1;\nmov.u32 %r1, dynamic;\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse_str(&text);
    let run = |bytes| {
        let mut launch = Launch::new("k");
        launch.shared = bytes;
        launch.limits.shared_bytes = u64::MAX;
        Machine::new(&parsed.module).launch(&launch)
    };
    assert!(run(1 << 24).is_ok());
    let error = run((1 << 24) + 16).unwrap_err();
    assert!(matches!(error.reason, StopReason::Launch(_)), "{error}");
}
