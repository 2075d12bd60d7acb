//! The allocation of tensor memory.

use ptx_vm::{Launch, RunError, StopReason};

use crate::launch_with;

/// Runs code of a CTA of `warps` warps; `%warp` is the index of the warp, and `%out` the address of 32 words.
fn run_launch(body: &str, cluster: u32, launch: Launch) -> Result<Vec<u32>, RunError> {
    let cluster = match cluster {
        1 => String::new(),
        count => format!(".explicitcluster .reqnctapercluster {count}, 1, 1"),
    };
    let text = format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 data) {cluster}\n{{\n\
         .reg .b32 %r<16>; .reg .b64 %rd<4>; .reg .pred %p<8>; .reg .b32 %warp; .reg .b64 %out;\n.shared .align 16 .b32 address[8];\n\
         ld.param.u64 %out, [data];\nmov.u32 %r0, %tid.x;\nshr.u32 %warp, %r0, 5;\n{body}\nEND: ret;\n}}\n"
    );
    let bytes = launch_with(&text, &[0; 128], launch)?;
    let words = bytes.chunks(4);
    Ok(words
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect())
}

fn run(body: &str, warps: u32) -> Result<Vec<u32>, RunError> {
    run_launch(body, 1, Launch::new("k").shape(1, 32 * warps))
}

fn allocate(word: u32, columns: &str) -> String {
    let offset = 4 * word;
    format!(
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address+{offset}], {columns};\nld.shared.b32 %r{word}, [address+{offset}];\n"
    )
}

fn free(word: u32, columns: u32) -> String {
    format!("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r{word}, {columns};\n")
}

#[test]
fn allocations_do_not_overlap() {
    let body = allocate(1, "256")
        + &allocate(2, "128")
        + &allocate(3, "32")
        + &allocate(4, "64")
        + "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\nst.global.v4.b32 [%out], {%r1, %r2, %r3, %r4};\n"
        + &free(3, 32)
        + &free(1, 256)
        + &free(2, 128)
        + &free(4, 64);
    let found = run(&body, 1).unwrap();
    let mut ranges: Vec<_> = [256, 128, 32, 64]
        .into_iter()
        .zip(&found)
        .map(|(size, start)| (*start, *start + size))
        .collect();
    ranges.sort_unstable();
    assert!(
        ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0),
        "{ranges:?}"
    );
    assert!(ranges[3].1 <= 512);
}

#[test]
fn an_allocation_waits_for_columns() {
    // Warp 1 allocates when warp 0 has all columns, which it frees after a while.
    let body = "setp.ne.u32 %p1, %warp, 0;\n@%p1 bra SECOND;\n".to_owned()
        + &allocate(1, "512")
        + "bar.sync 0;\nmov.u32 %r8, 0;\nLOOP: ld.volatile.global.b32 %r9, [%out];\nadd.u32 %r8, %r8, 1;\nsetp.lt.u32 %p2, %r8, 3000;\n@%p2 bra LOOP;\n\
           st.global.b32 [%out+4], 7;\n"
        + &free(1, 512)
        + "bra END;\nSECOND: bar.sync 0;\n"
        + &allocate(2, "128")
        + "ld.global.b32 %r3, [%out+4];\nst.global.b32 [%out+8], %r3;\n"
        + &free(2, 128);
    assert_eq!(run(&body, 2).unwrap()[1..3], [7, 7]);
}

#[test]
fn an_allocation_without_free_columns_is_a_deadlock() {
    let error = run(&(allocate(1, "512") + &allocate(2, "32")), 1).unwrap_err();
    assert_eq!(error.reason, StopReason::Deadlock);
    let wait = &error.waits[0];
    assert_eq!(
        (wait.threads, wait.what.as_str()),
        (
            32,
            "for free columns of tensor memory, where allocated are the columns 0 to 511"
        )
    );
}

#[test]
fn wrong_allocations_are_errors() {
    let error = |body: &str| match run(body, 1).unwrap_err().reason {
        StopReason::Invalid(reason) => reason,
        reason => panic!("{reason:?}"),
    };
    assert!(error(&("mov.u32 %r8, 48;\n".to_owned() + &allocate(1, "%r8"))).contains("48"));
    assert!(error(&("mov.u32 %r8, 16;\n".to_owned() + &allocate(1, "%r8"))).contains("16"));
    assert!(error(&("mov.u32 %r8, 1024;\n".to_owned() + &allocate(1, "%r8"))).contains("1024"));
    let body = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n".to_owned()
        + &allocate(1, "32");
    assert!(error(&body).contains("gave up"));
    assert!(error(&(allocate(1, "64") + &free(1, 32))).contains("columns 0 to 63"));
    assert!(error(&(allocate(1, "64") + &free(1, 64) + &free(1, 64))).contains("no columns"));
    let body = "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [address], 32;\n";
    assert!(error(body).contains("a pair of CTAs"));
}

#[test]
fn a_pair_of_blocks_allocates_the_same_columns() {
    // The odd CTA allocates separate columns first.
    let body = "mov.u32 %r10, %cluster_ctarank;\n".to_owned()
        + "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [address], 64;\nld.shared.b32 %r1, [address];\n\
           tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [address], 32;\nld.shared.b32 %r2, [address];\n\
           mul.wide.u32 %rd1, %r10, 8;\nadd.s64 %rd1, %rd1, %out;\nst.global.v2.b32 [%rd1], {%r1, %r2};\n\
           tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r2, 32;\ntcgen05.dealloc.cta_group::2.sync.aligned.b32 %r1, 64;\n\
           tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;\n";
    let found = run_launch(&body, 2, Launch::new("k").shape(4, 32)).unwrap();
    assert_eq!(found[..2], found[2..4]);
    assert_ne!(found[0], found[1]);
    // Only one of them allocates.
    let body = "mov.u32 %r10, %cluster_ctarank;\nsetp.eq.u32 %p1, %r10, 0;\n@%p1 bra END;\n\
                tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [address], 64;\n";
    let error = run_launch(body, 2, Launch::new("k").shape(2, 32)).unwrap_err();
    assert_eq!(error.reason, StopReason::Deadlock);
    assert!(
        error.waits[0].what.contains("the other CTA of the pair"),
        "{:?}",
        error.waits
    );
}

#[test]
fn a_pair_of_blocks_allocates_columns_that_are_free_in_both() {
    // Each CTA has freed another half of the columns that both have allocated.
    let one = |operation: &str, word: u32| {
        format!("tcgen05.{operation}.cta_group::2.sync.aligned.b32 %r{word}, 64;\n")
    };
    let allocate = |word: u32| {
        format!(
            "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [address], 64;\nld.shared.b32 %r{word}, [address];\n"
        )
    };
    let body = "mov.u32 %r10, %cluster_ctarank;\nsetp.eq.u32 %p1, %r10, 0;\n".to_owned()
        + &allocate(1)
        + &allocate(2)
        + "@%p1 bra EVEN;\n"
        + &one("dealloc", 1)
        + "bra BOTH;\nEVEN:\n"
        + &one("dealloc", 2)
        + "BOTH:\n"
        + &allocate(3)
        + "mul.wide.u32 %rd1, %r10, 16;\nadd.s64 %rd1, %rd1, %out;\nst.global.v4.b32 [%rd1], {%r1, %r2, %r3, %r3};\n"
        + &one("dealloc", 3)
        + "@%p1 bra LAST;\n"
        + &one("dealloc", 2)
        + "bra END;\nLAST:\n"
        + &one("dealloc", 1);
    let found = run_launch(&body, 2, Launch::new("k").shape(2, 32)).unwrap();
    let [first, second, third] = [found[0], found[1], found[2]];
    assert_eq!(found[..3], found[4..7]);
    assert!(third != first && third != second, "{found:?}");
}

#[test]
fn tensor_memory_counts_for_the_memory_limit() {
    let mut launch = Launch::new("k").shape(1, 32);
    launch.limits.memory_bytes = 200 << 10;
    let error = run_launch(&(allocate(1, "32") + &free(1, 32)), 1, launch).unwrap_err();
    assert!(
        matches!(&error.reason, StopReason::MemoryLimit(what) if what.contains("tensor memory")),
        "{error}"
    );
}
