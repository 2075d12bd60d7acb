//! Runs random functions on the machine. All registers are set at the start, and each stored word is appended to a log.

use std::fmt::Write as _;

use ptx_vm::{Launch, Machine, StopReason};

use super::program::State;

/// The maximum number of executed instructions, those that write the log included.
const STEPS: u64 = 800;
/// The capacity of the log in words, without its length: more than a run can store.
const LOG: u64 = STEPS;

/// A module whose function first loads its registers from the variable `data`. The first word of `data` is the only memory location
/// that the function uses otherwise.
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
    for register in 0..6 {
        let offset = 4 + 4 * register;
        let _ = writeln!(start, "ld.global.b32 %r{register}, [%d+{offset}];");
    }
    let declaration = ".reg .b64 %d;\n";
    let variable = ".global .align 8 .b8 data[128];\n";
    let text = text.replace(declaration, &format!("{declaration}{start}"));
    let header_end = text.find("\n{").unwrap_or(0);
    let header = text[..header_end].rfind('\n').map_or(0, |end| end + 1);
    let (before, function) = text.split_at(header);
    format!("{before}{variable}{function}")
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

/// The observable effects of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The reason for which the run ended early; `None` if it was completed.
    pub failed: Option<StopReason>,
    /// The words that it stored, and the result of the function.
    pub log: Vec<u32>,
    /// The number of executed instructions; 0 if the run ended early.
    pub steps: u64,
}

impl Run {
    /// Whether the rewritten function has the same effects: it stores the same words as far as both were executed, and does not
    /// execute more instructions.
    pub fn agrees(&self, rewritten: &Self) -> bool {
        let has_same_end = match self.failed {
            Some(StopReason::StepLimit) => rewritten.log.len() >= self.log.len(),
            _ => self.failed == rewritten.failed && self.log.len() == rewritten.log.len(),
        };
        self.has_same_words(rewritten)
            && has_same_end
            && (self.failed.is_some() || rewritten.steps <= self.steps)
    }

    /// Whether both functions store the same words as far as both were executed.
    pub fn same_as_far_as_known(&self, other: &Self) -> bool {
        let is_limited =
            [self, other].map(|run| run.failed == Some(StopReason::StepLimit)) != [false; 2];
        let has_same_end = self.failed == other.failed && self.log.len() == other.log.len();
        self.has_same_words(other) && (is_limited || has_same_end)
    }

    /// Compares the words of the shorter log with the first ones of the longer.
    fn has_same_words(&self, other: &Self) -> bool {
        self.log.iter().zip(&other.log).all(|(a, b)| a == b)
    }
}

/// The text of a module of [`with_values`] whose function `k` appends each word that it stores to a log.
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
        if let Some((guard, operands)) = line.split_once("st.global.b32 ")
            && let Some((_, value)) = operands.split_once("], ")
        {
            append(&mut out, guard, value.trim_end_matches(';'));
        }
    }
    if text.contains(".func") {
        out += ".entry main()\n{\n.reg .b32 %x;\n.reg .b32 %at;\n.reg .b64 %log;\ncall (%x), k;\n";
        append(&mut out, "", "%x");
        out += "ret;\n}\n";
    }
    out
}

/// The instructions that append a word to the log, and then increment its length.
fn append(out: &mut String, guard: &str, value: &str) {
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

/// Runs a function of [`with_values`], which may be rewritten, from each of some states.
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
    let [input, log] =
        ["data", "log"].map(|name| machine.variable(name).map_or(0, |(address, _)| address));
    let mut runs = Vec::new();
    for state in states {
        let _ = machine.write(input, &data(state));
        let _ = machine.write(log, &[0; 4]);
        let result = machine.launch(&launch);
        let count = words(&machine, log, 1).first().copied().unwrap_or(0);
        runs.push(Run {
            log: words(&machine, log + 4, u64::from(count).min(LOG)),
            steps: result.as_ref().map_or(0, |outcome| outcome.steps),
            failed: result.err().map(|error| error.reason),
        });
    }
    runs
}

fn words(machine: &Machine<'_>, address: u64, count: u64) -> Vec<u32> {
    let bytes = machine
        .read(address, 4 * count as usize)
        .unwrap_or_default();
    bytes
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}
