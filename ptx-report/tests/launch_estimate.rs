//! Estimates of launches, against counts by hand.

#![allow(clippy::unwrap_used, reason = "tests")]

use ptx_report::launch_estimate::{DEVICES, Device, Launch, LaunchEstimate, Resource};
use ptx_report::occupancy::LaunchSizes;
use ptx_report::report::Report;

const KERNEL: &str = ".version 8.0
.target sm_90
.address_size 64
.entry k(.param .u64 k_p, .param .u32 k_n, .param .u32 k_m)
{
    .reg .pred p; .reg .b32 i, n, t; .reg .b64 a, d; .reg .f32 f, g;
    ld.param.u64 a, [k_p];
    ld.param.u32 n, [k_n];
    mov.u32 t, %tid.x;
    mul.wide.u32 d, t, 4;
    add.u64 a, a, d;
    mov.u32 i, 0;
    mov.f32 f, 0f00000000;
loop:
    ld.global.f32 g, [a];
    fma.rn.f32 f, g, g, f;
    add.u32 i, i, 1;
    setp.lt.u32 p, i, n;
    @p bra loop;
    st.global.f32 [a], f;
    ret;
}";

fn estimate(block: Option<u32>, grid: u64, arguments: &[(&str, i64)]) -> Option<LaunchEstimate> {
    let module = ptx_parse::parse(KERNEL.as_bytes()).module;
    let mut report = Report::new("k.ptx", &module, |_| true);
    let mut sizes = LaunchSizes::default();
    sizes.block = block;
    report.set_launch(sizes);
    let mut launch = Launch::new(Device::named("h100").unwrap(), grid);
    let arguments = arguments.iter();
    launch.arguments = arguments
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect();
    LaunchEstimate::new(&report.functions[0], &launch)
}

#[test]
fn the_work_of_all_warps() {
    for arguments in [[("n", 1000)], [("k_n", 1000)]] {
        let estimate = estimate(Some(256), 264, &arguments).unwrap();
        let warps = 264 * 8;
        assert!(
            estimate.exact && estimate.unknown.is_empty(),
            "{estimate:?}"
        );
        assert_eq!(estimate.instructions, warps * (7 + 5 * 1000 + 2));
        assert_eq!(estimate.flops, warps * 1000 * 64);
        assert_eq!(estimate.global_bytes, warps * 128 * 1001);
        // Eight CTAs of 256 threads on each of 132 multiprocessors.
        assert_eq!(estimate.waves, Some(0.25));
        assert_eq!(estimate.last_wave_percent, Some(25.0));
        let longest = &estimate.times[0];
        assert_eq!(longest.resource, Resource::GlobalMemory);
        let seconds = (warps * 128 * 1001) as f64 / 3350e9;
        assert!((longest.microseconds - seconds * 1e6).abs() < 1e-6);
        let peaks: Vec<Resource> = estimate
            .roofs
            .peaks
            .iter()
            .map(|peak| peak.resource)
            .collect();
        let kinds = [
            Resource::TensorCores,
            Resource::Half,
            Resource::Single,
            Resource::Double,
        ];
        assert_eq!(peaks, kinds);
        assert_eq!(estimate.roofs.bandwidth, 3350.0);
        assert_eq!(estimate.roofs.peaks[2].teraflops, 66.9);
    }
}

#[test]
fn unknown_numbers_are_named() {
    let estimate_without = estimate(Some(256), 1056, &[("m", 7)]).unwrap();
    assert!(!estimate_without.exact);
    assert_eq!(estimate_without.unknown, ["k_n"]);
    assert_eq!(estimate_without.instructions, 1056 * 8 * (7 + 5 + 2));
    assert_eq!(estimate_without.last_wave_percent, Some(100.0));
    assert_eq!(estimate(None, 1, &[]), None);
}

#[test]
fn rates_agree_with_clocks() {
    for device in DEVICES {
        // Multiply-adds of single precision in a cycle.
        let lanes = match device.capability {
            (7, 5) | (8, 0) => 64.0,
            _ => 128.0,
        };
        let cycles = f64::from(device.multiprocessors) * f64::from(device.clock_mhz) * 1e6;
        let peak = cycles * lanes * 2.0 / 1e12;
        assert!(
            (peak / device.single - 1.0).abs() < 0.01,
            "{device:?}: {peak}"
        );
    }
}
