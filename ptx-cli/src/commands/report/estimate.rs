//! What a launch takes, as text.

use ptx_report::counted;
use ptx_report::launch_estimate::LaunchEstimate;

/// `264 CTAs on H100 SXM5: 0.25 waves, …; 81.9 µs for global memory, …`
pub(super) fn estimate_text(estimate: &LaunchEstimate, kernel: &str) -> String {
    let mut text = format!(
        "{} on {}",
        counted(estimate.grid as usize, "CTA"),
        estimate.device
    );
    match (estimate.waves, estimate.last_wave_percent) {
        (Some(waves), Some(last)) if waves > 1.0 => {
            text += &format!(": {waves:.2} waves, the last one to {last:.0} %");
        }
        (Some(waves), _) => text += &format!(": {waves:.2} waves"),
        _ => text += ": no CTA fits on a multiprocessor",
    }
    let about = if estimate.exact { "" } else { "about " };
    text += &format!(
        "; {about}{} instructions of warps, {} floating-point operations, {} bytes of global and {} of shared memory",
        estimate.instructions, estimate.flops, estimate.global_bytes, estimate.shared_bytes,
    );
    let times: Vec<String> = estimate
        .times
        .iter()
        .map(|time| format!("{} {}", time.resource.text(), duration(time.microseconds)))
        .collect();
    if !times.is_empty() {
        text += &format!("; time at peak rates: {about}{}", times.join(", "));
    }
    if !estimate.unknown.is_empty() {
        // The name of a kernel is the prefix of the names of its parameters.
        let prefix = format!("{kernel}_");
        let names = estimate.unknown.iter();
        let names: Vec<&str> = names
            .map(|name| name.strip_prefix(&prefix).unwrap_or(name))
            .collect();
        text += &format!("; unknown: {}", names.join(", "));
    }
    text
}

fn duration(microseconds: f64) -> String {
    if microseconds >= 1e3 {
        format!("{:.3} ms", microseconds / 1e3)
    } else {
        format!("{microseconds:.2} µs")
    }
}
