//! Launches that go on where the PTX ISA manual leaves the behavior undefined.

use ptx_ir::Code;
use ptx_vm::{Checker, Device, Launch, RunError, StopReason};

/// Each lane names the lanes before it, and stores how many of them are odd.
const PREFIX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n
.visible .entry prefix(.param .u64 result)\n{\n
    .reg .b32 %r<6>;\n.reg .b64 %rd<4>;\n.reg .pred %p<3>;\n
    ld.param.u64 %rd1, [result];\n
    mov.u32 %r1, %tid.x;\n
    mov.u32 %r2, %lanemask_lt;\n
    and.b32 %r3, %r1, 1;\n
    setp.eq.u32 %p1, %r3, 1;\n
    vote.sync.ballot.b32 %r4, %p1, %r2;\n
    and.b32 %r4, %r4, %r2;\n
    popc.b32 %r5, %r4;\n
    mul.wide.u32 %rd2, %r1, 4;\n
    add.s64 %rd3, %rd1, %rd2;\n
    st.global.u32 [%rd3], %r5;\n
    ret;\n}\n";

/// The words that the launch stores, and the codes of its reports.
fn run(change: impl FnOnce(&mut Launch)) -> Result<(Vec<u32>, Vec<Code>), RunError> {
    let module = ptx_parse::parse_str(PREFIX).module;
    let mut device = Device::new();
    let id = device.load(&module)?;
    let result = device.allocate(128).unwrap_or_default();
    let mut launch = Launch::new("prefix")
        .argument(result.to_le_bytes())
        .shape(1, 32);
    change(&mut launch);
    device.launch(id, &launch)?;
    let codes = device.reports().iter().map(|report| report.code).collect();
    Ok((device.read_slice(result, 32)?, codes))
}

#[test]
fn a_mask_without_its_lane_ends_a_launch() {
    let error = run(|_| ()).map_err(|error| error.reason);
    assert!(matches!(error, Err(StopReason::Invalid(_))), "{error:?}");
}

#[test]
fn a_permissive_launch_has_the_results_of_a_gpu() {
    let expected: Vec<u32> = (0..32).map(|lane| lane / 2).collect();
    let found = run(|launch| launch.permissive = true).map_err(|error| error.reason);
    assert_eq!(found, Ok((expected.clone(), Vec::new())));
    let found = run(|launch| {
        launch.permissive = true;
        launch.checks = launch.checks.with(Checker::Synccheck);
    });
    let found = found.map_err(|error| error.reason);
    assert!(
        matches!(&found, Ok((words, codes)) if *words == expected && !codes.is_empty()),
        "{found:?}"
    );
}
