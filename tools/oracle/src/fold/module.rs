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

/// A template in a module, with the seed of the values of its operands.
#[derive(Clone, Copy)]
pub(super) struct Sample<'a> {
    pub(super) number: usize,
    pub(super) template: &'a Template,
    /// The seed of the values.
    pub(super) seed: u64,
    /// Whether all values are at the edges of their types.
    pub(super) edges_only: bool,
}

/// The results of a template.
pub(super) struct SampleResults<'a> {
    pub(super) sample: Sample<'a>,
    /// The results, or why ptxas refuses the template.
    pub(super) outcomes: Result<Vec<Outcome>, String>,
}

/// The cases of a template with their texts.
struct TemplateKernel {
    kernel: Kernel,
    /// The text of each case, and whether ptxas is known to be wrong about it.
    cases: Vec<(String, bool)>,
}

/// Assembles a module and compares its constants. If ptxas refuses it, its halves are judged.
pub(super) fn judge<'a>(
    tools: &Tools<'_>,
    version: PtxVersion,
    target: Target,
    samples: &[Sample<'a>],
) -> Result<Vec<SampleResults<'a>>> {
    let template_kernels: Vec<TemplateKernel> = samples.iter().map(write).collect();
    let text = kernel::module(version, target, template_kernels.iter().map(|t| &t.kernel));
    let verdict = tools.assemblers.run(text.as_bytes(), Job::Code)?;
    let code = if verdict.accepted {
        tools.disassembler.run(&verdict.cubin)
    } else {
        Err(anyhow!("{}", verdict.reason()))
    };
    if let Err(reason) = &code {
        let [sample] = *samples else {
            let (first, second) = samples.split_at(samples.len() / 2);
            let mut judged = judge(tools, version, target, first)?;
            judged.extend(judge(tools, version, target, second)?);
            return Ok(judged);
        };
        let reason = format!("{}: {reason}", sample.template.case);
        let outcomes = Err(reason);
        return Ok(vec![SampleResults { sample, outcomes }]);
    }
    let mut found = sass::stored(&code?);
    let mut evaluated = expected::stored(&text);
    let module = ptx_parse::parse(text.as_bytes()).module;
    let mut machine = Machine::new(&module);
    let mut judged = Vec::new();
    for (i, (sample, template_kernel)) in samples.iter().zip(template_kernels).enumerate() {
        let name = kernel::name(i);
        let evaluated = evaluated.remove(&name).unwrap_or_default();
        let found = found.remove(&name).unwrap_or_default();
        let executed = machine::stored(&mut machine, &name, &template_kernel.kernel.stores);
        let mut outcomes = compare(&template_kernel, target, &evaluated, &found);
        outcomes.extend(compare_execution(
            &template_kernel,
            target,
            &evaluated,
            executed,
        ));
        judged.push(SampleResults {
            sample: *sample,
            outcomes: Ok(outcomes),
        });
    }
    Ok(judged)
}

fn write(sample: &Sample<'_>) -> TemplateKernel {
    let template = sample.template;
    let rng = &mut Rng::with_seed(sample.seed);
    let mut kernel = Kernel::default();
    let mut cases = Vec::new();
    for number in 0..CASES {
        let line = template.vary(rng).to_string();
        let sources: Vec<_> = template
            .sources
            .iter()
            .map(|register| (register, value(register, sample.edges_only, rng)))
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
    TemplateKernel { kernel, cases }
}

/// Whether the tables define the results of a template for some values.
pub(super) fn is_computed(template: &Template) -> bool {
    let sample = Sample {
        number: 0,
        template,
        seed: 0,
        edges_only: false,
    };
    let template_kernel = write(&sample);
    let target = template.targets.first().copied().unwrap_or(Target::Sm90);
    let text = kernel::module(
        template.version,
        target,
        std::iter::once(&template_kernel.kernel),
    );
    expected::stored(&text)
        .values()
        .any(|results| !results.is_empty())
}

/// The results of the virtual machine that differ from evaluated.
fn compare_execution(
    template_kernel: &TemplateKernel,
    target: Target,
    evaluated: &Known,
    executed: Result<Known, String>,
) -> Vec<Outcome> {
    let executed = match executed {
        Ok(executed) => executed,
        Err(error) => {
            return vec![Outcome::Different(Difference {
                case: error,
                evaluated: 0,
                found: 0,
            })];
        }
    };
    let mut outcomes = Vec::new();
    for store in &template_kernel.kernel.stores {
        let (evaluated, found) = (evaluated.get(&store.offset), executed.get(&store.offset));
        if let (Some(&evaluated), Some(&found)) = (evaluated, found)
            && evaluated & super::values::mask(store.bits) as u64 != found
        {
            let (text, _) = &template_kernel.cases[store.case];
            let case = format!("{target} virtual machine: {text}");
            outcomes.push(Outcome::Different(Difference {
                case,
                evaluated,
                found,
            }));
        }
    }
    outcomes
}

/// The outcome of each case of a kernel.
fn compare(
    template_kernel: &TemplateKernel,
    target: Target,
    evaluated: &Known,
    found: &Stored,
) -> Vec<Outcome> {
    (0..template_kernel.cases.len())
        .map(|case| compare_case(template_kernel, case, target, evaluated, found))
        .collect()
}

fn compare_case(
    template_kernel: &TemplateKernel,
    case: usize,
    target: Target,
    evaluated: &Known,
    found: &Stored,
) -> Outcome {
    let (text, is_known_bug) = &template_kernel.cases[case];
    let mut outcome = Outcome::Undefined;
    for store in template_kernel
        .kernel
        .stores
        .iter()
        .filter(|s| s.case == case)
    {
        let Some(evaluated) = evaluated.get(&store.offset).copied() else {
            continue;
        };
        match assembled(found, store) {
            Some(found) if found == evaluated => outcome = Outcome::Same,
            Some(_) if *is_known_bug => return Outcome::Bug,
            Some(found) => {
                let case = format!("{target} {text}");
                return Outcome::Different(Difference {
                    case,
                    evaluated,
                    found,
                });
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
