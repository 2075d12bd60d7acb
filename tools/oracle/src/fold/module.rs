//! One module: its text, the constants of ptxas in its machine code, and the comparison.

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

/// The number of cases of a kernel.
const CASES: usize = 12;

/// The programs that are run on a module.
pub(super) struct Tools<'a> {
    pub(super) assemblers: &'a Assemblers,
    pub(super) disassembler: Disassembler,
}

/// A template in a module.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) number: usize,
    pub(super) template: &'a Template,
    /// The seed of the values.
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

/// Assembles a module and compares its constants. If ptxas refuses it, its halves are judged.
pub(super) fn judge<'a>(
    tools: &Tools<'_>,
    version: PtxVersion,
    target: Target,
    parts: &[Part<'a>],
) -> Result<Vec<Judged<'a>>> {
    let written: Vec<Written> = parts.iter().map(write).collect();
    let text = kernel::module(version, target, written.iter().map(|w| &w.kernel));
    let verdict = tools.assemblers.run(text.as_bytes(), Job::Code)?;
    let code = if verdict.accepted {
        tools.disassembler.run(&verdict.cubin)
    } else {
        Err(anyhow!("{}", verdict.reason()))
    };
    if let Err(reason) = &code {
        let [part] = *parts else {
            let (first, second) = parts.split_at(parts.len() / 2);
            let mut judged = judge(tools, version, target, first)?;
            judged.extend(judge(tools, version, target, second)?);
            return Ok(judged);
        };
        let reason = format!("{}: {reason}", part.template.case);
        let outcomes = Err(reason);
        return Ok(vec![Judged { part, outcomes }]);
    }
    let mut theirs = sass::stored(&code?);
    let mut ours = expected::stored(&text);
    let module = ptx_parse::parse(text.as_bytes()).module;
    let mut machine = Machine::new(&module);
    let mut judged = Vec::new();
    for (i, (part, written)) in parts.iter().zip(written).enumerate() {
        let name = kernel::name(i);
        let ours = ours.remove(&name).unwrap_or_default();
        let theirs = theirs.remove(&name).unwrap_or_default();
        let executed = machine::stored(&mut machine, &name, &written.kernel.stores);
        let mut outcomes = compare(&written, target, &ours, &theirs);
        outcomes.extend(compare_execution(&written, target, &ours, executed));
        judged.push(Judged {
            part: *part,
            outcomes: Ok(outcomes),
        });
    }
    Ok(judged)
}

fn write(part: &Part<'_>) -> Written {
    let template = part.template;
    let rng = &mut Rng::with_seed(part.seed);
    let mut kernel = Kernel::default();
    let mut cases = Vec::new();
    for number in 0..CASES {
        let line = template.vary(rng).to_string();
        let sources: Vec<_> = template
            .sources
            .iter()
            .map(|register| (register, value(register, part.edges_only, rng)))
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
fn compare_execution(
    written: &Written,
    target: Target,
    ours: &Known,
    executed: Result<Known, String>,
) -> Vec<Outcome> {
    let executed = match executed {
        Ok(executed) => executed,
        Err(error) => {
            return vec![Outcome::Different(Difference {
                case: error,
                ours: 0,
                theirs: 0,
            })];
        }
    };
    let mut outcomes = Vec::new();
    for store in &written.kernel.stores {
        let (ours, theirs) = (ours.get(&store.offset), executed.get(&store.offset));
        if let (Some(&ours), Some(&theirs)) = (ours, theirs)
            && ours & super::values::mask(store.bits) as u64 != theirs
        {
            let (text, _) = &written.cases[store.case];
            let case = format!("{target} virtual machine: {text}");
            outcomes.push(Outcome::Different(Difference { case, ours, theirs }));
        }
    }
    outcomes
}

/// The outcome of each case of a kernel.
fn compare(written: &Written, target: Target, ours: &Known, theirs: &Stored) -> Vec<Outcome> {
    (0..written.cases.len())
        .map(|case| compare_case(written, case, target, ours, theirs))
        .collect()
}

fn compare_case(
    written: &Written,
    case: usize,
    target: Target,
    ours: &Known,
    theirs: &Stored,
) -> Outcome {
    let (text, is_known_bug) = &written.cases[case];
    let mut outcome = Outcome::Undefined;
    for store in written.kernel.stores.iter().filter(|s| s.case == case) {
        let Some(ours) = ours.get(&store.offset).copied() else {
            continue;
        };
        match assembled(theirs, store) {
            Some(theirs) if theirs == ours => outcome = Outcome::Same,
            Some(_) if *is_known_bug => return Outcome::Bug,
            Some(theirs) => {
                let case = format!("{target} {text}");
                return Outcome::Different(Difference { case, ours, theirs });
            }
            None if matches!(outcome, Outcome::Undefined) => outcome = Outcome::NotFolded,
            None => {}
        }
    }
    outcome
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
