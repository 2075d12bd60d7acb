//! The steps of a trace as lines of text.

use std::fmt::Write as _;

use ptx_report::clean;
use ptx_report::source_frames::JsonFrame;

use crate::output;

use super::record::{JsonAccess, JsonBytes, JsonStep, JsonThread, JsonValue};

/// A line for the step, and one for each thread with values or accesses.
pub(super) fn lines(file: &str, step: &JsonStep<'_>) -> Vec<String> {
    let [x, y, z] = step.block;
    let mut first = output::name(format_args!("{file}:{}", step.line));
    if let Some(line) = step.source.first().map(JsonFrame::short) {
        let _ = write!(first, " ({line})");
    }
    let instruction = output::heading(clean(step.instruction));
    let _ = write!(first, ": {instruction}");
    first.push_str("  ");
    if step.grid > 0 {
        let _ = write!(first, "grid {}, ", step.grid);
    }
    let _ = write!(first, "block ({x}, {y}, {z}), warp {}", step.warp);
    let _ = write!(first, ", lanes {:08x}", step.active);
    if step.active != step.mask {
        let _ = write!(first, " of {:08x}", step.mask);
    }
    match (step.state, &step.failure) {
        (_, Some(failure)) => {
            let _ = write!(first, ": {failure}");
        }
        ("done", _) => {}
        ("resumed", _) => first.push_str(", resumed"),
        (state, _) => {
            let _ = write!(first, ", {state}");
        }
    }
    let mut lines = vec![first];
    lines.extend(step.threads.iter().filter_map(thread));
    lines
}

fn thread(thread: &JsonThread) -> Option<String> {
    let [x, y, z] = thread.thread;
    let mut parts = Vec::new();
    if !thread.reads.is_empty() || !thread.writes.is_empty() {
        let mut registers = values(&thread.reads);
        if !thread.writes.is_empty() {
            let space = if thread.reads.is_empty() { "" } else { " " };
            let _ = write!(registers, "{space}-> {}", values(&thread.writes));
        }
        parts.push(registers);
    }
    if !thread.active {
        parts.push("not executed".to_owned());
    }
    parts.extend(thread.accesses.iter().map(access));
    (!parts.is_empty()).then(|| format!("    ({x}, {y}, {z}) {}", parts.join("; ")))
}

fn values(values: &[JsonValue]) -> String {
    let texts: Vec<String> = values
        .iter()
        .map(|value| format!("{} = {}", clean(&value.register), value.text))
        .collect();
    texts.join(", ")
}

fn access(access: &JsonAccess) -> String {
    let space = access.space.trim_start_matches('.');
    let mut text = format!("{}s {} {}", access.usage, space, access.address);
    let contents: Vec<&str> = [&access.before, &access.after]
        .into_iter()
        .flatten()
        .map(|contents| &*contents.text)
        .collect();
    if !contents.is_empty() {
        let _ = write!(text, ": {}", contents.join(" to "));
    }
    let recorded = access.before.as_ref().or(access.after.as_ref());
    if recorded.map_or(0, JsonBytes::count) < access.bytes {
        let _ = write!(text, " ... ({} bytes)", access.bytes);
    }
    text
}
