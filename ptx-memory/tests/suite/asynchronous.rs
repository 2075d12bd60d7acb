//! Asynchronous copies, stores and reductions, proxy fences and multimem operations: each kernel is right, and fails without each of the lines that
//! end with `//!`, or with the text after `//!` instead of that line.

use ptx_ir::facts::ModuleFacts;
use ptx_memory::ExploreOptions;
use ptx_memory::kernel::{Kernel, KernelArgument, KernelBuffer, KernelLaunch, KernelReport};

/// A launch of one cluster, whose kernel has two buffers of 64 bytes, 128 bytes of shared memory and two mbarrier objects.
#[derive(Clone, Copy)]
struct Case {
    ctas: u32,
    threads: u32,
    assertion: &'static str,
    code: &'static str,
}

const START: &str = "
.reg .b64 %a<9>; .reg .b32 %r<20>; .reg .pred %p<9>; .reg .b64 %state;
.shared .align 16 .b8 tile[128]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty;
ld.param.u64 %a0, [in]; ld.param.u64 %a1, [out];
mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mov.u32 %r2, tile; mov.u32 %r3, full;
setp.ne.u32 %p0, %r0, 0; setp.ne.u32 %p1, %r1, 0;";

fn explore(case: Case, code: &str, ends_early: bool) -> KernelReport {
    let text = format!(
        ".version 8.7\n.target sm_100\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out) {{\n{START}\n{code}\nret;\n}}\n"
    );
    let module = crate::module(&text);
    let facts = ModuleFacts::new(&module);
    let function = facts.function(module.function("k").unwrap()).unwrap();
    let mut input = KernelBuffer::zeros(64);
    input.initial = (0..64)
        .map(|byte| Some(if byte % 4 == 0 { byte / 4 + 1 } else { 0 }))
        .collect();
    let arguments = vec![
        KernelArgument::Buffer(input),
        KernelArgument::Buffer(KernelBuffer::zeros(64)),
    ];
    let mut launch = KernelLaunch::new(case.ctas, case.threads, arguments);
    launch.cluster = case.ctas;
    let kernel = Kernel::new(function, launch).unwrap();
    let conditions = [kernel.assertion(case.assertion).unwrap()];
    let mut options = ExploreOptions::default();
    options.passes_always = false;
    let report = if ends_early {
        kernel.check_until_failure(&options, &conditions)
    } else {
        kernel.check(&options, &conditions)
    };
    assert_eq!(report.statistics.unsupported, None, "{code}");
    for example in &report.counterexamples {
        let story = kernel.story(example, ptx_memory::Version::Ptx75);
        let count = (case.ctas * case.threads) as usize;
        assert!(story.steps.iter().all(|step| step.thread < count));
    }
    report
}

fn check(case: Case) {
    let lines: Vec<&str> = case.code.lines().collect();
    let code_of = |line: &str| line.split("//!").next().unwrap_or("").to_owned();
    let right_lines: Vec<String> = lines.iter().map(|line| code_of(line)).collect();
    let right = explore(case, &right_lines.join("\n"), false);
    let failures: Vec<_> = right
        .counterexamples
        .iter()
        .map(|example| &example.failure)
        .collect();
    assert!(failures.is_empty(), "{failures:?} of {}", case.code);
    assert!(right.is_complete() && right.statistics.executions > 0);
    let mut weakened = 0;
    for (number, line) in lines.iter().enumerate() {
        let Some((_, replacement)) = line.split_once("//!") else {
            continue;
        };
        let mut changed = right_lines.clone();
        changed[number] = replacement.to_owned();
        let report = explore(case, &changed.join("\n"), true);
        assert!(
            !report.counterexamples.is_empty(),
            "no failure with `{replacement}` instead of `{line}` in {}",
            case.code
        );
        weakened += 1;
    }
    assert!(weakened > 0);
}

#[test]
fn copies_are_complete_after_a_wait_and_visible_to_others_after_a_barrier() {
    for wait in [
        "cp.async.commit_group; cp.async.wait_group 0; //!",
        "cp.async.wait_all; //!",
        "cp.async.commit_group; cp.async.commit_group; cp.async.wait_group 1; //!",
        "cp.async.commit_group; cp.async.wait_group 0; //! cp.async.commit_group; cp.async.wait_group 1;",
    ] {
        let code = format!(
            "mul.lo.u32 %r4, %r1, 4; cvt.u64.u32 %a2, %r4; add.u64 %a2, %a2, %a0; cvta.to.global.u64 %a2, %a2;
add.u32 %r5, %r2, %r4;
cp.async.ca.shared.global [%r5], [%a2], 4;
{wait}
bar.sync 0; //!
xor.b32 %r6, %r4, 4; add.u32 %r6, %r6, %r2; ld.shared.u32 %r7, [%r6];
cvt.u64.u32 %a3, %r4; add.u64 %a3, %a3, %a1; st.global.u32 [%a3], %r7;"
        );
        check(Case {
            ctas: 1,
            threads: 2,
            assertion: "[out] == 2 && [out+4] == 1",
            code: Box::leak(code.into_boxed_str()),
        });
    }
}

#[test]
fn missing_bytes_of_copies_are_zeros() {
    check(Case {
        ctas: 1,
        threads: 1,
        assertion: "[out] == 1 && [out+4] == 0",
        code: "cp.async.ca.shared.global [%r2], [%a0], 8, 4;
cp.async.wait_all; //!
ld.shared.v2.u32 {%r4, %r5}, [%r2]; st.global.v2.u32 [%a1], {%r4, %r5};",
    });
}

#[test]
fn copies_arrive_at_mbarriers() {
    for (count, arrival) in [
        ("1", "cp.async.mbarrier.arrive.noinc.shared.b64 [%r3]; //!"),
        (
            "1",
            "cp.async.mbarrier.arrive.shared.b64 [%r3]; mbarrier.arrive.shared.b64 %state, [%r3]; //! mbarrier.arrive.shared.b64 %state, [%r3];",
        ),
    ] {
        let code = format!(
            "@%p1 bra READER;
mbarrier.init.shared.b64 [%r3], {count};
bar.sync 0;
cp.async.ca.shared.global [%r2], [%a0], 4;
{arrival}
ret;
READER:
bar.sync 0;
WAIT:
mbarrier.test_wait.parity.shared.b64 %p2, [%r3], 0; //! mbarrier.test_wait.parity.relaxed.cta.shared.b64 %p2, [%r3], 0;
@!%p2 bra WAIT; //!
ld.shared.u32 %r4, [%r2]; st.global.u32 [%a1], %r4;"
        );
        check(Case {
            ctas: 1,
            threads: 2,
            assertion: "[out] == 1",
            code: Box::leak(code.into_boxed_str()),
        });
    }
}

#[test]
fn bulk_copies_complete_on_mbarriers() {
    check(Case {
        ctas: 1,
        threads: 2,
        assertion: "[out] == 1 && [out+4] == 6",
        code: "@%p1 bra WAIT;
mbarrier.init.shared.b64 [%r3], 1;
bar.sync 0;
mbarrier.arrive.expect_tx.shared.b64 %state, [%r3], 32;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%a0], 32, [%r3]; //!
ret;
WAIT:
bar.sync 0;
LOOP:
mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; //! mbarrier.try_wait.parity.relaxed.cta.shared.b64 %p2, [%r3], 0;
@!%p2 bra LOOP; //!
ld.shared.u32 %r4, [%r2]; ld.shared.u32 %r5, [%r2+20]; st.global.v2.u32 [%a1], {%r4, %r5};",
    });
}

/// The completion of a copy does not order what the thread did before (8.9.1.1).
#[test]
fn the_completion_of_a_copy_orders_only_the_copy() {
    check(Case {
        ctas: 1,
        threads: 2,
        assertion: "[out] == 1 && [out+4] == 7",
        code: "@%p1 bra WAIT;
mbarrier.init.shared.b64 [%r3], 1;
bar.sync 0;
st.shared.u32 [%r2+64], 7;
mbarrier.arrive.expect_tx.shared.b64 %state, [%r3], 16; //! mbarrier.arrive.expect_tx.relaxed.cta.shared.b64 %state, [%r3], 16;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%a0], 16, [%r3];
ret;
WAIT:
bar.sync 0;
LOOP:
mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;
@!%p2 bra LOOP;
ld.shared.u32 %r4, [%r2]; ld.shared.u32 %r5, [%r2+64]; st.global.v2.u32 [%a1], {%r4, %r5};",
    });
}

#[test]
fn bulk_stores_need_a_proxy_fence_and_a_wait() {
    for (fence, weaker) in [
        ("fence.proxy.async;", ""),
        (
            "fence.proxy.async.shared::cta;",
            "fence.proxy.async.global;",
        ),
        (
            "fence.proxy.async.shared::cluster;",
            "fence.proxy.async.global;",
        ),
        ("fence.proxy.async;", "fence.acq_rel.gpu;"),
    ] {
        let code = format!(
            "st.shared.v4.u32 [%r2], {{%r1, 5, %r1, %r1}};
{fence} //! {weaker}
cp.async.bulk.global.shared::cta.bulk_group [%a1], [%r2], 16;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0; //! cp.async.bulk.wait_group.read 0;
ld.global.u32 %r4, [%a1+4]; st.global.u32 [%a1+16], %r4;"
        );
        check(Case {
            ctas: 1,
            threads: 1,
            assertion: "[out+16] == 5",
            code: Box::leak(code.into_boxed_str()),
        });
    }
}

#[test]
fn the_source_of_a_bulk_store_is_kept_until_it_was_read() {
    check(Case {
        ctas: 1,
        threads: 1,
        assertion: "[out+4] == 5",
        code: "st.shared.v4.u32 [%r2], {%r1, 5, %r1, %r1};
fence.proxy.async.shared::cta;
cp.async.bulk.global.shared::cta.bulk_group [%a1], [%r2], 16;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group.read 0; //!
st.shared.u32 [%r2+4], 6;",
    });
}

#[test]
fn bulk_loads_of_written_memory_need_a_proxy_fence() {
    check(Case {
        ctas: 1,
        threads: 1,
        assertion: "[out] == 9",
        code: "mbarrier.init.shared.b64 [%r3], 1;
st.global.u32 [%a0], 9;
fence.proxy.async.global; //! fence.proxy.async.shared::cta;
mbarrier.arrive.expect_tx.shared.b64 %state, [%r3], 16;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%a0], 16, [%r3];
LOOP:
mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0;
@!%p2 bra LOOP; //!
ld.shared.u32 %r4, [%r2]; st.global.u32 [%a1], %r4;",
    });
}

#[test]
fn bulk_reductions_add_to_each_other() {
    check(Case {
        ctas: 1,
        threads: 2,
        assertion: "[out] == 2 && [out+4] == 10",
        code: "mul.lo.u32 %r4, %r1, 16; add.u32 %r4, %r4, %r2;
st.shared.v4.u32 [%r4], {1, 5, 0, 0};
fence.proxy.async.shared::cta; //!
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%a1], [%r4], 16; //! cp.async.bulk.global.shared::cta.bulk_group [%a1], [%r4], 16;
cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0;",
    });
}

/// Thread 0 of CTA 0 stores to the shared memory of CTA 1 by an asynchronous operation.
#[test]
fn asynchronous_stores_complete_on_mbarriers_of_the_cluster() {
    for (store, value) in [
        (
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r4], 7, [%r5]; //!",
            7,
        ),
        (
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r4], 3, [%r5]; //!",
            5,
        ),
    ] {
        let code = format!(
            "@!%p0 bra WRITER;
st.shared.u32 [%r2], 2;
mbarrier.init.shared.b64 [%r3], 1;
mbarrier.arrive.expect_tx.shared.b64 %state, [%r3], 4;
barrier.cluster.arrive; barrier.cluster.wait; //! barrier.cluster.arrive;
WAIT:
mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [%r3], 0; //! mbarrier.try_wait.parity.acquire.cta.shared.b64 %p2, [%r3], 0;
@!%p2 bra WAIT;
ld.shared.u32 %r6, [%r2]; st.global.u32 [%a1], %r6;
ret;
WRITER:
barrier.cluster.arrive; barrier.cluster.wait; //! barrier.cluster.arrive;
mapa.shared::cluster.u32 %r4, %r2, 1; mapa.shared::cluster.u32 %r5, %r3, 1;
{store}"
        );
        let assertion = format!("[out] == {value}");
        check_some(Case {
            ctas: 2,
            threads: 1,
            assertion: Box::leak(assertion.into_boxed_str()),
            code: Box::leak(code.into_boxed_str()),
        });
    }
}

/// The wait of the reader at the cluster barrier is not needed, so only the other lines are removed.
fn check_some(case: Case) {
    let code = case.code.replacen(
        "barrier.cluster.wait; //! barrier.cluster.arrive;",
        "barrier.cluster.wait;",
        1,
    );
    check(Case {
        code: Box::leak(code.into_boxed_str()),
        ..case
    });
}

/// A release store that is asynchronous orders what the thread did before.
#[test]
fn asynchronous_releases_order_earlier_operations() {
    for (store, weaker) in [
        (
            "st.async.release.gpu.global.u32 [%a1+4], 1;",
            "st.relaxed.gpu.global.u32 [%a1+4], 1;",
        ),
        (
            "red.async.release.gpu.global.add.u32 [%a1+4], 1;",
            "red.relaxed.gpu.global.add.u32 [%a1+4], 1;",
        ),
        (
            "multimem.st.release.gpu.global.u32 [%a1+4], 1;",
            "multimem.st.relaxed.gpu.global.u32 [%a1+4], 1;",
        ),
        (
            "multimem.red.release.gpu.global.add.u32 [%a1+4], 1;",
            "multimem.red.relaxed.gpu.global.add.u32 [%a1+4], 1;",
        ),
        (
            "multimem.red.release.gpu.global.add.u32 [%a1+4], 1;",
            "multimem.red.release.cta.global.add.u32 [%a1+4], 1;",
        ),
    ] {
        for (load, weaker_load) in [
            (
                "ld.acquire.gpu.global.u32 %r4, [%a1+4];",
                "ld.relaxed.gpu.global.u32 %r4, [%a1+4];",
            ),
            (
                "multimem.ld_reduce.acquire.gpu.global.add.u32 %r4, [%a1+4];",
                "multimem.ld_reduce.relaxed.gpu.global.add.u32 %r4, [%a1+4];",
            ),
        ] {
            let code = format!(
                "@%p0 bra READER;
st.global.u32 [%a1], 7;
{store} //! {weaker}
ret;
READER:
{load} //! {weaker_load}
setp.eq.u32 %p2, %r4, 0; @%p2 bra READER;
ld.global.u32 %r5, [%a1]; st.global.u32 [%a1+8], %r5;"
            );
            check(Case {
                ctas: 2,
                threads: 1,
                assertion: "[out+8] == 7",
                code: Box::leak(code.into_boxed_str()),
            });
        }
    }
}

/// A copy whose size is known only after a read, and one whose address is.
#[test]
fn operands_of_copies_may_depend_on_reads() {
    check(Case {
        ctas: 2,
        threads: 1,
        assertion: "[out+8] == 0 || [out+8] == 1 || [out+8] == 3",
        code: "@%p0 bra READER;
st.relaxed.gpu.global.u32 [%a1], 8;
ret;
READER:
ld.relaxed.gpu.global.u32 %r4, [%a1];
cvt.u64.u32 %a2, %r4; add.u64 %a2, %a2, %a0;
cp.async.ca.shared.global [%r2], [%a2], 4; //! cp.async.ca.shared.global [%r2], [%a2], 4; st.shared.u32 [%r2], 1;
cp.async.wait_all;
ld.shared.u32 %r5, [%r2]; st.global.u32 [%a1+8], %r5;",
    });
}

/// A relaxed arrival at the barrier of the cluster orders what a fence before it orders.
#[test]
fn relaxed_arrivals_need_a_fence() {
    for fence in [
        "fence.acq_rel.cluster; //!",
        "fence.acq_rel.cluster; //! fence.acq_rel.cta;",
    ] {
        let code = format!(
            "@%p0 bra READER;
st.global.u32 [%a0], 9;
{fence}
barrier.cluster.arrive.relaxed; barrier.cluster.wait;
ret;
READER:
barrier.cluster.arrive; barrier.cluster.wait; //! barrier.cluster.arrive;
ld.global.u32 %r4, [%a0]; st.global.u32 [%a1], %r4;"
        );
        check(Case {
            ctas: 2,
            threads: 1,
            assertion: "[out] == 9",
            code: Box::leak(code.into_boxed_str()),
        });
    }
}

/// `fence.mbarrier_init` orders the initialization of mbarrier objects, and nothing else.
#[test]
fn initializations_of_mbarriers_have_their_own_fence() {
    let code = "@%p0 bra ARRIVE;
mbarrier.init.shared.b64 [%r3], 1;
fence.mbarrier_init.release.cluster; //!
barrier.cluster.arrive.relaxed; barrier.cluster.wait;
WAIT:
mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p2, [%r3], 0;
@!%p2 bra WAIT;
ret;
ARRIVE:
barrier.cluster.arrive.relaxed; barrier.cluster.wait;
mapa.shared::cluster.u32 %r5, %r3, 0;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5];";
    let case = Case {
        ctas: 2,
        threads: 1,
        assertion: "1 == 1",
        code,
    };
    check(case);
    let fenced = "@%p0 bra READER;
st.global.u32 [%a0], 9;
fence.mbarrier_init.release.cluster;
barrier.cluster.arrive.relaxed; barrier.cluster.wait;
ret;
READER:
barrier.cluster.arrive.relaxed; barrier.cluster.wait;
ld.global.u32 %r4, [%a0];";
    assert!(!explore(case, fenced, true).counterexamples.is_empty());
}

#[test]
fn no_time_passes() {
    let case = Case {
        ctas: 1,
        threads: 1,
        assertion: "[out] == 0",
        code: "",
    };
    let code = "mov.u64 %a2, %globaltimer; st.global.u64 [%a1], %a2;";
    let report = explore(case, code, false);
    assert!(report.counterexamples.is_empty() && !report.is_complete());
}

/// What barriers of all CTAs are kept in is memory that contains zeros.
#[test]
fn the_grid_workspace_is_memory() {
    let case = Case {
        ctas: 2,
        threads: 1,
        assertion: "[out] == 0 || [out] == 1",
        code: "",
    };
    let code = "mov.u32 %r4, %envreg1; mov.u32 %r5, %envreg2; mov.b64 %a2, {%r5, %r4};
atom.relaxed.gpu.add.u32 %r6, [%a2+4], 1; @%p0 st.global.u32 [%a1], %r6;";
    let report = explore(case, code, false);
    assert!(report.counterexamples.is_empty() && report.is_complete());
    assert_eq!(report.outcomes.len(), 2);
}

/// Where data-races are ignored, the outcomes of racing reads are those that the axioms allow.
#[test]
fn races_may_be_ignored() {
    let text = ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {
.reg .b64 %a<3>; .reg .b32 %r<4>; .reg .pred %p0;
ld.param.u64 %a0, [p]; mov.u32 %r0, %ctaid.x; setp.ne.u32 %p0, %r0, 0;
@%p0 bra READER;
st.global.u32 [%a0], 1; ret;
READER: ld.global.u32 %r1, [%a0]; st.global.u32 [%a0+4], %r1; ret;\n}\n";
    let module = ptx_parse::parse(text.as_bytes()).module;
    let facts = ModuleFacts::new(&module);
    let function = facts.function(module.function("k").unwrap()).unwrap();
    let arguments = vec![KernelArgument::Buffer(KernelBuffer::zeros(8))];
    let mut launch = KernelLaunch::new(2, 1, arguments);
    for ignores_races in [false, true] {
        launch.ignores_races = ignores_races;
        let kernel = Kernel::new(function, launch.clone()).unwrap();
        let report = kernel.check(&ExploreOptions::default(), &[]);
        assert_eq!(report.counterexamples.is_empty(), ignores_races);
        assert_eq!(report.outcomes.len(), 2);
    }
}
