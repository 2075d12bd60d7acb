//! Runs random functions on the machine. All registers get values at the start, and each store is noted in a log.

use std::fmt::Write as _;

use ptx_vm::{Launch, Machine, StopReason};

use super::program::State;

/// Steps after which a run ends, those that write the log included.
const STEPS: u64 = 800;
/// Words of the log, without its length; more than can be stored.
const LOG: u64 = STEPS;

/// A function that first takes the values of its registers from the variable `data`, whose first word is the only memory that it uses.
pub fn with_values(text: &str) -> String {
    let mut start = String::from("mov.u64 %d, data;\nld.global.b32 %r0, [%d+28];\n");
    for p in 0..3 {
        let bit = 1 << p;
        let _ = write!(
            start,
            "and.b32 %r1, %r0, {bit};\nsetp.ne.u32 %p{p}, %r1, 0;\n"
        );
    }
    start += "ld.global.b32 %r0, [%d+32];\nadd.cc.u32 %r0, %r0, -1;\n";
    for r in 0..6 {
        let at = 4 + 4 * r;
        let _ = writeln!(start, "ld.global.b32 %r{r}, [%d+{at}];");
    }
    let declared = ".reg .b64 %d;\n";
    let variable = ".global .align 8 .b8 data[128];\n";
    let text = text.replace(declared, &format!("{declared}{start}"));
    let at = text
        .find("\n{")
        .map_or(0, |at| text[..at].rfind('\n').map_or(0, |at| at + 1));
    format!("{}{variable}{}", &text[..at], &text[at..])
}

/// The bytes of `data` for a state.
pub fn data(state: &State) -> Vec<u8> {
    let mut words = vec![state.cell];
    words.extend(state.regs);
    let bits = (0..3).map(|p| u32::from(state.preds[p]) << p);
    words.push(bits.sum());
    words.push(state.carry.into());
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// What a run did that others can see.
#[derive(Clone, Debug)]
pub struct Run {
    /// Why it ended, unless it came to its end.
    pub failed: Option<StopReason>,
    /// The words that it stored; at the end, what the function returned.
    pub log: Vec<u32>,
    /// The executed instructions; only known at the end.
    pub steps: u64,
}

impl Run {
    /// Whether the rewritten function does what this one does: it stores the same words, as far as both were followed. It takes no more steps.
    pub fn agrees(&self, rewritten: &Self) -> bool {
        let mut pairs = self.log.iter().zip(&rewritten.log);
        let same = pairs.all(|(a, b)| a == b);
        let ended = match self.failed {
            Some(StopReason::StepLimit) => rewritten.log.len() >= self.log.len(),
            _ => self.failed == rewritten.failed && self.log.len() == rewritten.log.len(),
        };
        same && ended && (self.failed.is_some() || rewritten.steps <= self.steps)
    }
}

impl Run {
    /// Whether both functions store the same words, as far as they were followed.
    pub fn same_as_far_as_known(&self, other: &Self) -> bool {
        let mut pairs = self.log.iter().zip(&other.log);
        let limited = [self, other].map(|r| r.failed == Some(StopReason::StepLimit));
        let whole = self.failed == other.failed && self.log.len() == other.log.len();
        pairs.all(|(a, b)| a == b) && (limited.contains(&true) || whole)
    }
}

/// The text of a module with [`with_values`] whose function `k` notes each word that it stores.
fn logged(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line.starts_with(".entry k(") || line.starts_with(".func (.reg .b32 out) k(") {
            let _ = writeln!(out, ".global .align 4 .b32 log[{}];", LOG + 1);
        }
        let _ = writeln!(out, "{line}");
        if line == "{" {
            out += ".reg .b32 %at;\n.reg .b64 %log;\n";
        }
        let store = line
            .split_once("st.global.b32 ")
            .and_then(|(guard, rest)| Some((guard, rest.split_once("], ")?.1)));
        if let Some((guard, value)) = store {
            note(&mut out, guard, value.trim_end_matches(';'));
        }
    }
    if text.contains(".func") {
        out += ".entry main()\n{\n.reg .b32 %x;\n.reg .b32 %at;\n.reg .b64 %log;\ncall (%x), k;\n";
        note(&mut out, "", "%x");
        out += "ret;\n}\n";
    }
    out
}

/// Appends a word to the log, and then counts it.
fn note(out: &mut String, guard: &str, value: &str) {
    for line in [
        "mov.u64 %log, log;",
        "ld.global.b32 %at, [%log];",
        "add.u32 %at, %at, 1;",
        "mad.wide.u32 %log, %at, 4, %log;",
        &format!("st.global.b32 [%log], {value};"),
        "mov.u64 %log, log;",
        "st.global.b32 [%log], %at;",
    ] {
        let _ = writeln!(out, "{guard}{line}");
    }
}

/// Runs a function with [`with_values`], perhaps rewritten, from each of some states.
pub fn runs(text: &str, states: &[State]) -> Vec<Run> {
    let text = logged(text);
    let parsed = ptx_parse::parse_str(&text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let mut machine = Machine::new(&parsed.module);
    let kernel = if text.contains(".func") { "main" } else { "k" };
    let mut launch = Launch::new(kernel);
    launch.limits.steps = STEPS;
    launch.limits.heap_bytes = 0;
    let address = |machine: &Machine<'_>, name| machine.variable(name).map_or(0, |(at, _)| at);
    let (input, log) = (address(&machine, "data"), address(&machine, "log"));
    let mut run = |state: &State| {
        let _ = machine.write(input, &data(state));
        let _ = machine.write(log, &[0; 4]);
        let result = machine.launch(&launch);
        let words = |at: u64, count: u64| {
            let bytes = machine.read(at, 4 * count as usize).unwrap_or_default();
            let words = bytes.chunks_exact(4).map(|w| [w[0], w[1], w[2], w[3]]);
            words.map(u32::from_le_bytes).collect::<Vec<_>>()
        };
        let count = words(log, 1).first().copied().unwrap_or(0);
        Run {
            log: words(log + 4, u64::from(count).min(LOG)),
            steps: result.as_ref().map_or(0, |outcome| outcome.steps),
            failed: result.err().map(|error| error.reason),
        }
    };
    states.iter().map(&mut run).collect()
}
