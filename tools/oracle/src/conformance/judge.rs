//! The answer of ptxas on each case, in modules with many cases, although some errors abort the whole file.

use std::collections::BTreeMap;

use anyhow::Result;
use ptx_isa::{PtxVersion, Target};

use super::case::Setting;
use super::preamble::Module;
use crate::assembler::{Assembler, Job};
use rayon::prelude::*;

/// The last line of ptxas when it refuses a file.
const THE_END: &str = "Ptx assembly aborted due to errors";

/// The answer on a case.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Answer {
    Accepted,
    /// Refused, with the first message.
    Refused(String),
    /// Refused, but not reported in a module with other cases: ptxas reports errors in the expansion of an instruction once per module.
    Hidden(String),
    /// ptxas could not continue after the case, with the message.
    Fatal(String),
    /// ptxas crashed or reported something unrelated: no verdict.
    Lost,
}

/// The version, target and setting of a module.
#[derive(Copy, Clone)]
pub(crate) struct Place {
    pub(crate) version: PtxVersion,
    pub(crate) target: Target,
    pub(crate) setting: Setting,
}

/// The answers on some cases, in modules of `batch` cases.
pub(crate) fn judge(
    assembler: &Assembler,
    place: Place,
    lines: &[&str],
    batch: usize,
) -> Result<Vec<Answer>> {
    let answers: Vec<Vec<Answer>> = lines
        .par_chunks(batch.max(1))
        .map(|lines| {
            let mut answers = vec![Answer::Accepted; lines.len()];
            let pending = (0..lines.len()).collect();
            judge_some(assembler, place, lines, pending, 0, &mut answers)?;
            Ok(answers)
        })
        .collect::<Result<_>>()?;
    Ok(answers.concat())
}

/// Checks a module with the pending cases, removes the refused ones, and repeats this until ptxas accepts the module.
fn judge_some(
    assembler: &Assembler,
    place: Place,
    lines: &[&str],
    mut pending: Vec<usize>,
    // The number of pending cases that ptxas parsed without an error.
    mut parsed: usize,
    answers: &mut [Answer],
) -> Result<()> {
    while !pending.is_empty() {
        let texts = pending.iter().filter_map(|&i| lines.get(i).copied());
        let module = Module::new(place.version, place.target, place.setting, texts);
        let verdict = assembler.run(module.text.as_bytes(), Job::Check)?;
        if verdict.accepted {
            return Ok(());
        }
        let errors = Errors::parse(&module, &verdict.output, pending.len());
        let mut needs_split = !errors.are_complete || errors.cases.is_empty();
        if needs_split && let [case] = pending[..] {
            set(answers, case, Answer::Lost);
            return Ok(());
        }
        if !needs_split {
            // ptxas parsed the cases up to the first fatal error. No name is undeclared: such an error would be reported at the end.
            let parsed_now = errors
                .cases
                .iter()
                .find(|(_, answer)| matches!(answer, Answer::Fatal(_)))
                .map_or(pending.len(), |(index, _)| index + 1);
            needs_split = errors.cases.keys().any(|&index| index < parsed);
            let mut refused = 0;
            for (&index, answer) in &errors.cases {
                let Some(&case) = pending.get(index) else {
                    continue;
                };
                refused += usize::from(index < parsed_now);
                let answer = match answer {
                    Answer::Refused(message) if index < parsed => Answer::Hidden(message.clone()),
                    answer => answer.clone(),
                };
                set(answers, case, answer);
            }
            parsed = parsed.max(parsed_now) - refused;
            let mut indices = 0..;
            pending.retain(|_| {
                indices
                    .next()
                    .is_some_and(|index| !errors.cases.contains_key(&index))
            });
        }
        if needs_split && pending.len() > 1 {
            let second_half = pending.split_off(pending.len() / 2);
            let parsed_first = parsed.min(pending.len());
            let parsed_second = parsed.saturating_sub(pending.len());
            judge_some(assembler, place, lines, pending, parsed_first, answers)?;
            return judge_some(assembler, place, lines, second_half, parsed_second, answers);
        }
    }
    Ok(())
}

fn set(answers: &mut [Answer], case: usize, answer: Answer) {
    if let Some(entry) = answers.get_mut(case) {
        *entry = answer;
    }
}

/// The errors of ptxas on a module.
struct Errors {
    /// The first error of each case, by the index of the case; a fatal error replaces other errors.
    cases: BTreeMap<usize, Answer>,
    /// Whether ptxas did not crash, and every error belongs to a case.
    are_complete: bool,
}

impl Errors {
    fn parse(module: &Module, output: &str, count: usize) -> Self {
        let mut errors = Self {
            cases: BTreeMap::new(),
            are_complete: output.contains(THE_END),
        };
        for line in output.lines().filter(|l| !l.ends_with(THE_END)) {
            let Some((location, message)) = line.split_once(" : ") else {
                continue;
            };
            let message = message.trim().to_owned();
            let answer = match location.trim_end() {
                l if l.ends_with("fatal") => Answer::Fatal(message),
                l if l.ends_with("error") => Answer::Refused(message),
                _ => continue,
            };
            let case = location
                .strip_prefix("ptxas module.ptx, line ")
                .and_then(|text| module.case_on(text.split_once(';')?.0.parse().ok()?));
            let Some(case) = case.filter(|c| *c < count) else {
                errors.are_complete = false;
                continue;
            };
            match (errors.cases.get(&case), &answer) {
                (None, _) | (_, Answer::Fatal(_)) => drop(errors.cases.insert(case, answer)),
                _ => {}
            }
        }
        errors
    }
}
