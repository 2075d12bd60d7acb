//! One module: its text, what ptxas makes of it, and the comparison.

use std::fmt::Write as _;

use anyhow::{Result, anyhow};
use fastrand::Rng;
use ptx_isa::{PtxVersion, Target};
use ptx_vm::Machine;

use super::bugs;
use super::disassembler::Disassembler;
use super::expected::{self, Known};
use super::kernel::{self, Kernel, Store, Valued};
use super::machine;
use super::sass::{self, Stored};
use super::tally::{Difference, Outcome};
use super::template::Template;
use super::values::value;
use crate::assembler::{Assemblers, Job};

/// How many cases a kernel has.
const CASES: usize = 12;

/// The programs.
pub(super) struct Tools<'a> {
    pub(super) assemblers: &'a Assemblers,
    pub(super) disassembler: Disassembler,
}

/// A template in a module.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) number: usize,
    pub(super) template: &'a Template,
    /// Selects the values.
    pub(super) seed: u64,
    /// Whether all values are at the edges of their types.
    pub(super) edges_only: bool,
}

/// The results of a template.
pub(super) struct Judged<'a> {
    pub(super) part: Part<'a>,
    /// The results, or why ptxas refuses the template.
    pub(super) outcomes: Result<Vec<Outcome>, String>,
}

/// The cases of a template with their texts.
struct Written {
    kernel: Kernel,
    /// The text of each case, and whether ptxas is known to be wrong about it.
    cases: Vec<(String, bool)>,
}

/// Assembles a module and compares its constants. If ptxas refuses it, its parts are tried alone.
pub(super) fn judge<'a>(
    tools: &Tools<'_>,
    version: PtxVersion,
    target: Target,
    parts: &[Part<'a>],
) -> Result<Vec<Judged<'a>>> {
    let written: Vec<Written> = parts.iter().map(write).collect();
    let text = kernel::module(version, target, written.iter().map(|w| &w.kernel));
    let verdict = tools.assemblers.run(text.as_bytes(), Job::Code)?;
    let code = match verdict.accepted {
        true => tools.disassembler.run(&verdict.cubin),
        false => Err(anyhow!("{}", verdict.reason())),
    };
    if let Err(reason) = &code {
        let [part] = *parts else {
            let (left, right) = parts.split_at(parts.len() / 2);
            let mut all = judge(tools, version, target, left)?;
            all.extend(judge(tools, version, target, right)?);
            return Ok(all);
        };
        let reason = format!("{}: {reason}", part.template.case);
        let outcomes = Err(reason);
        return Ok(vec![Judged { part, outcomes }]);
    }
    let mut theirs = sass::stored(&code?);
    let mut ours = expected::stored(&text);
    let module = ptx_parse::parse(text.as_bytes()).module;
    let mut machine = Machine::new(&module);
    let judged = parts.iter().zip(written).enumerate();
    let judged = judged.map(|(i, (part, written))| {
        let name = kernel::name(i);
        let (ours, theirs) = (ours.remove(&name), theirs.remove(&name));
        let (ours, theirs) = (ours.unwrap_or_default(), theirs.unwrap_or_default());
        let executed = machine::stored(&mut machine, &name, &written.kernel.stores);
        let mut outcomes = compare(&written, target, &ours, &theirs);
        outcomes.extend(execution(&written, target, &ours, executed));
        Judged {
            part: *part,
            outcomes: Ok(outcomes),
        }
    });
    Ok(judged.collect())
}

fn write(part: &Part<'_>) -> Written {
    let template = part.template;
    let rng = &mut Rng::with_seed(part.seed);
    let mut kernel = Kernel::default();
    let mut cases = Vec::new();
    for number in 0..CASES {
        let line = template.vary(rng).to_string();
        let sources = template.sources.iter();
        let sources: Vec<_> = sources
            .map(|r| (r, value(r, part.edges_only, rng)))
            .collect();
        let carry = template.reads_carry.then(|| rng.bool());
        let mut text = line.clone();
        for (register, bits) in &sources {
            let _ = write!(text, " {}={bits:#x}", register.name);
        }
        if let Some(carry) = carry {
            let _ = write!(text, " carry={carry}");
        }
        let values: Vec<u128> = sources.iter().map(|(_, bits)| *bits).collect();
        cases.push((text, bugs::is_known(template, &values)));
        let valued = Valued {
            line: &line,
            sources,
            results: &template.results,
            carry,
            writes_carry: template.writes_carry,
        };
        kernel.add(number, &valued);
    }
    Written { kernel, cases }
}

/// Whether some values of a template have known results.
pub(super) fn is_computed(template: &Template) -> bool {
    let part = Part {
        number: 0,
        template,
        seed: 0,
        edges_only: false,
    };
    let written = write(&part);
    let target = template.targets.first().copied().unwrap_or(Target::Sm90);
    let text = kernel::module(template.version, target, std::iter::once(&written.kernel));
    expected::stored(&text)
        .values()
        .any(|known| !known.is_empty())
}

/// The results of the virtual machine that differ from ours.
fn execution(
    written: &Written,
    target: Target,
    ours: &Known,
    executed: Result<Known, String>,
) -> Vec<Outcome> {
    let mut different = Vec::new();
    let executed = executed.unwrap_or_else(|error| {
        different.push((error, 0, 0));
        Known::new()
    });
    for store in &written.kernel.stores {
        let (ours, theirs) = (ours.get(&store.offset), executed.get(&store.offset));
        if let (Some(&ours), Some(&theirs)) = (ours, theirs)
            && ours & super::values::mask(store.bits) as u64 != theirs
        {
            let (text, _) = &written.cases[store.case];
            different.push((format!("{target} virtual machine: {text}"), ours, theirs));
        }
    }
    let different = different
        .into_iter()
        .map(|(what, ours, theirs)| Difference { what, ours, theirs });
    different.map(Outcome::Different).collect()
}

/// The outcome of each case of a kernel.
fn compare(written: &Written, target: Target, ours: &Known, theirs: &Stored) -> Vec<Outcome> {
    let all = written
        .cases
        .iter()
        .enumerate()
        .map(|(number, (text, is_known_bug))| {
            let stores = written.kernel.stores.iter().filter(|s| s.case == number);
            let mut outcome = Outcome::Undefined;
            for store in stores {
                let Some(ours) = ours.get(&store.offset).copied() else {
                    continue;
                };
                match assembled(theirs, store) {
                    Some(theirs) if theirs == ours => outcome = Outcome::Same,
                    Some(_) if *is_known_bug => return Outcome::Bug,
                    Some(theirs) => {
                        let what = format!("{target} {text}");
                        return Outcome::Different(Difference { what, ours, theirs });
                    }
                    None if matches!(outcome, Outcome::Undefined) => outcome = Outcome::NotFolded,
                    None => {}
                }
            }
            outcome
        });
    all.collect()
}

/// The value of a store in the machine code, if all its bits are constant.
fn assembled(stored: &Stored, store: &Store) -> Option<u64> {
    let mut value = 0;
    for first in (0..store.bits).step_by(32) {
        let word = stored.get(&(store.offset + u32::from(first / 8)))?;
        let used = super::values::mask((store.bits - first).min(32)) as u32;
        if word.known & used != used {
            return None;
        }
        value |= u64::from(word.bits & used) << first;
    }
    Some(value)
}
