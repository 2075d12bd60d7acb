//! A step of a trace as lines of text.

use std::fmt::Write as _;

use ptx_report::clean;
use ptx_report::source_frames::JsonFrame;

use super::record::{JsonAccess, JsonStep, JsonThread, JsonValue};

/// A line for the step, and one for each thread that has something to show.
pub(super) fn lines(file: &str, step: &JsonStep<'_>) -> Vec<String> {
    let [x, y, z] = step.block;
    let mut first = format!("{file}:{}", step.line);
    if let Some(line) = step.source.first().map(JsonFrame::short) {
        let _ = write!(first, " ({line})");
    }
    let _ = write!(first, ": {}", clean(step.instruction));
    let _ = write!(first, "  block ({x}, {y}, {z}), warp {}", step.warp);
    let _ = write!(first, ", lanes {:08x}", step.active);
    if step.active != step.mask {
        let _ = write!(first, " of {:08x}", step.mask);
    }
    match (step.state, &step.failure) {
        (_, Some(why)) => {
            let _ = write!(first, ": {why}");
        }
        ("done", _) => {}
        ("resumed", _) => first.push_str(", resumed"),
        (state, _) => {
            let _ = write!(first, ", {state}");
        }
    }
    let mut all = vec![first];
    all.extend(step.threads.iter().filter_map(thread));
    all
}

fn thread(of: &JsonThread) -> Option<String> {
    let [x, y, z] = of.thread;
    let mut parts = Vec::new();
    if !of.reads.is_empty() || !of.writes.is_empty() {
        let mut registers = values(&of.reads);
        if !of.writes.is_empty() {
            let space = if of.reads.is_empty() { "" } else { " " };
            let _ = write!(registers, "{space}-> {}", values(&of.writes));
        }
        parts.push(registers);
    }
    if !of.active {
        parts.push("not executed".to_owned());
    }
    parts.extend(of.accesses.iter().map(access));
    (!parts.is_empty()).then(|| format!("    ({x}, {y}, {z}) {}", parts.join("; ")))
}

fn values(all: &[JsonValue]) -> String {
    let one = |value: &JsonValue| format!("{} = {}", clean(&value.register), value.text);
    let all: Vec<String> = all.iter().map(one).collect();
    all.join(", ")
}

fn access(of: &JsonAccess) -> String {
    let space = of.space.trim_start_matches('.');
    let mut text = format!("{}s {} {}", of.usage, space, of.address);
    let values = [&of.before, &of.after].into_iter().flatten();
    let values: Vec<&str> = values.map(|bytes| &*bytes.text).collect();
    if !values.is_empty() {
        let _ = write!(text, ": {}", values.join(" to "));
    }
    let shown = of
        .before
        .as_ref()
        .or(of.after.as_ref())
        .map_or(0, |b| b.count());
    if shown < of.bytes {
        let _ = write!(text, " ... ({} bytes)", of.bytes);
    }
    text
}
