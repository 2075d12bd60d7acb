//! Shapes of launches that kernels declare.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{Launch, Machine, RunError, StopReason};

/// The ranks of the CTAs in their clusters.
fn ranks(declared: &str, grid: u32, cluster: [u32; 3]) -> Result<Vec<u8>, RunError> {
    let text = format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 data)\n{declared}\n{{\n\
         .reg .b32 %r<4>;\n.reg .b64 %out, %at;\nld.param.u64 %out, [data];\nmov.u32 %r0, %ctaid.x;\n\
         cvt.u64.u32 %at, %r0;\nadd.u64 %out, %out, %at;\nmov.u32 %r1, %cluster_ctarank;\nst.global.u8 [%out], %r1;\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse_str(&text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(16).unwrap();
    let mut launch = Launch::new("k").shape(grid, 1).argument(data.to_le_bytes());
    launch.cluster = cluster;
    machine.launch(&launch)?;
    machine.read(data, grid as usize)
}

#[test]
fn a_kernel_declares_its_clusters() {
    let declared = ".reqnctapercluster 2, 1, 1";
    assert_eq!(ranks(declared, 4, [1; 3]).unwrap(), [0, 1, 0, 1]);
    assert_eq!(ranks("", 4, [1; 3]).unwrap(), [0; 4]);
    // What the launch says counts.
    assert_eq!(ranks(declared, 4, [4, 1, 1]).unwrap(), [0, 1, 2, 3]);
    let error = ranks(declared, 3, [1; 3]).unwrap_err();
    assert!(matches!(error.reason, StopReason::Launch(_)), "{error}");
}

/// Why a launch is impossible.
fn refusal(declared: &str, grid: [u32; 3], block: [u32; 3]) -> Option<String> {
    let text = format!(
        ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry k()\n{declared}\n{{\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse_str(&text);
    let mut machine = Machine::new(&parsed.module);
    let mut launch = Launch::new("k");
    (launch.grid, launch.block) = (grid, block);
    launch.limits.steps = 10;
    match machine.launch(&launch) {
        Err(RunError {
            reason: StopReason::Launch(why),
            ..
        }) => Some(why),
        _ => None,
    }
}

#[test]
fn launches_have_the_limits_of_gpus_and_of_the_kernel() {
    let one = [1; 3];
    let grids = [
        ([0x7fff_ffff, 1, 1], true),
        ([0x8000_0000, 1, 1], false),
        ([1, 65535, 1], true),
        ([1, 65536, 1], false),
        ([1, 1, 65536], false),
    ];
    for (grid, possible) in grids {
        assert_eq!(refusal("", grid, one).is_none(), possible, "{grid:?}");
    }
    let blocks = [
        ("", [1, 1, 64], true),
        ("", [1, 1, 65], false),
        (".reqntid 8, 4", [8, 4, 1], true),
        (".reqntid 8, 4", [4, 8, 1], false),
    ];
    for (declared, block, possible) in blocks {
        let why = refusal(declared, one, block);
        assert_eq!(why.is_none(), possible, "{declared} {block:?} {why:?}");
    }
}
