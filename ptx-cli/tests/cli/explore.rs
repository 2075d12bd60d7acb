//! `explore` and `litmus`.

use crate::support::{objects, ptx, with_input};

const VOLATILE: &str = "ptx-memory/tests/kernels/volatile_flag.ptx";
const RELEASED: &str = "ptx-memory/tests/kernels/released_flag.ptx";

/// A path in the repository.
fn path(name: &str) -> String {
    format!("{}/../{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_volatile_flag_is_a_race_that_is_repaired() {
    let file = path(VOLATILE);
    let run = ptx(&["explore", &file, "--threads", "2x1", "--repair", "zero:4"]);
    assert_eq!(run.status, 1, "{}", run.out);
    for text in [
        "error: data-race between",
        "neither a release operation nor preceded by a fence (8.8)",
        "volatile_flag_param_0 = 0, data = 42, flag = 1",
        "help: no execution fails with:",
        "`ld.volatile.global.u32` -> `ld.acquire.gpu.global.u32`",
        "`st.volatile.global.u32` -> `st.release.gpu.global.u32`",
    ] {
        assert!(run.out.contains(text), "{text}\n{}", run.out);
    }
    let run = ptx(&["explore", "--json", &file, "zero:4"]);
    let object = &objects(&run.out)[0];
    assert_eq!(object["complete"], true);
    assert_eq!(object["failures"].as_array().unwrap().len(), 1);
}

/// A weak flag needs two changes, among many that are not legal.
#[test]
fn a_weak_flag_is_repaired_by_two_orders() {
    let text = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry publish(.param .u64 data, .param .u64 flag, .param .u64 out)
{
    .reg .pred %p<3>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [data];
    ld.param.u64 %rd2, [flag];
    ld.param.u64 %rd3, [out];
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra READ;
    st.global.u32 [%rd1], 42;
    st.global.u32 [%rd2], 1;
    ret;
READ:
    ld.global.u32 %r2, [%rd2];
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra READ;
    ld.global.u32 %r3, [%rd1];
    st.global.u32 [%rd3], %r3;
    ret;
}
";
    let arguments = ["explore", "-", "--repair", "zero:4", "zero:4", "zero:4"];
    let run = with_input(&arguments, text.as_bytes());
    let expected = "\
help: no execution fails with:
  line 16: `st.global.u32` -> `st.release.gpu.global.u32`
  line 19: `ld.global.u32` -> `ld.acquire.gpu.global.u32`
";
    assert!(run.out.ends_with(expected), "{}", run.out);
}

#[test]
fn conditions_decide_the_exit_status() {
    let file = path(RELEASED);
    let explore = |options: &[&str]| {
        let mut arguments = vec!["explore", &*file, "zero:4"];
        arguments.extend(options);
        ptx(&arguments)
    };
    assert_eq!(
        explore(&["--assert", "[released_flag_param_0] == 42"]).status,
        0
    );
    assert_eq!(explore(&["--forbid", "[data] == 42"]).status, 1);
    // Block 1 alone waits forever, and block 0 alone does not.
    assert_eq!(explore(&["--threads", "1x1"]).status, 0);
    let race = explore(&["--threads", "3x1", "--init", "flag=1"]);
    assert!(race.out.contains("data-race"), "{}", race.out);
    for wrong in [
        &["--assert", "[none] == 1"][..],
        &["--init", "flag"],
        &["--threads", "0x1"],
        &["--threads", "100x100"],
        &["zero:4"],
    ] {
        assert_eq!(explore(wrong).status, 2, "{wrong:?}");
    }
}

#[test]
fn what_was_not_explored_is_said() {
    let file = path(VOLATILE);
    let run = ptx(&["explore", &file, "--max-executions", "1", "zero:4"]);
    assert!(
        run.err.contains("the limit of executions was reached"),
        "{}",
        run.err
    );
    let vecadd = path("corpus/compiled/nvcc/vecadd.O3.sm_80.ptx");
    let run = ptx(&[
        "explore", &vecadd, "--kernel", "vecadd", "zero:16", "zero:16", "zero:16", "2",
    ]);
    assert_eq!(
        (run.status, run.out.contains("error")),
        (0, false),
        "{}{}",
        run.out,
        run.err
    );
}

#[test]
fn litmus_tests_are_decided() {
    let folder = path("ptx-memory/tests/litmus");
    let run = ptx(&["litmus", &folder]);
    assert_eq!(run.status, 0, "{}", run.out);
    assert!(
        run.out.contains("message-passing: ~exists holds\n"),
        "{}",
        run.out
    );
    assert!(
        run.out
            .contains("message-passing-relaxed: exists holds, with P1:r0=1 P1:r1=0"),
        "{}",
        run.out
    );
    let run = ptx(&["litmus", "--json", "--model", "6.0", &folder]);
    assert_eq!(objects(&run.out).len(), 2);
    assert_eq!(ptx(&["litmus", "none.litmus"]).status, 2);
}
