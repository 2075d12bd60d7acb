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
    /// With the first message.
    Refused(String),
    /// The same, but not reported in a module with others: ptxas reports errors in the expansion of an instruction once per module.
    Hidden(String),
    /// ptxas could not continue after it, with the message.
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
    let batches: Vec<&[&str]> = lines.chunks(batch.max(1)).collect();
    let judge = |lines: &&[&str]| {
        let mut answers = vec![Answer::Accepted; lines.len()];
        let all = (0..lines.len()).collect();
        judge_some(assembler, place, lines, all, 0, &mut answers).map(|()| answers)
    };
    let answers: Vec<Vec<Answer>> = batches.par_iter().map(judge).collect::<Result<_>>()?;
    Ok(answers.concat())
}

/// Asks again without what is refused, until nothing is.
fn judge_some(
    assembler: &Assembler,
    place: Place,
    lines: &[&str],
    mut pending: Vec<usize>,
    // How many of them have been read without an error.
    mut seen: usize,
    answers: &mut [Answer],
) -> Result<()> {
    while !pending.is_empty() {
        let texts = pending.iter().filter_map(|&i| lines.get(i).copied());
        let module = Module::new(place.version, place.target, place.setting, texts);
        let verdict = assembler.run(module.text.as_bytes(), Job::Check)?;
        if verdict.accepted {
            return Ok(());
        }
        let (errors, placed) = errors(&module, &verdict.output, pending.len());
        let mut split = !placed || errors.is_empty();
        if split && let [one] = pending[..] {
            set(answers, one, Answer::Lost);
            return Ok(());
        }
        if !split {
            // What comes after a fatal error was not read. What comes before was; no name is unknown, which would be
            // said at the end.
            let fatal = errors.iter().find(|(_, a)| matches!(a, Answer::Fatal(_)));
            let read = fatal.map_or(pending.len(), |(at, _)| at + 1);
            split = errors.keys().any(|&at| at < seen);
            let mut refused = 0;
            for (&at, answer) in &errors {
                let Some(&case) = pending.get(at) else {
                    continue;
                };
                refused += usize::from(at < read);
                let answer = match answer {
                    Answer::Refused(message) if at < seen => Answer::Hidden(message.clone()),
                    answer => answer.clone(),
                };
                set(answers, case, answer);
            }
            seen = seen.max(read) - refused;
            let mut at = 0..;
            pending.retain(|_| at.next().is_some_and(|at| !errors.contains_key(&at)));
        }
        if split && pending.len() > 1 {
            let rest = pending.split_off(pending.len() / 2);
            let (first, second) = (seen.min(pending.len()), seen.saturating_sub(pending.len()));
            judge_some(assembler, place, lines, pending, first, answers)?;
            return judge_some(assembler, place, lines, rest, second, answers);
        }
    }
    Ok(())
}

fn set(answers: &mut [Answer], at: usize, answer: Answer) {
    if let Some(entry) = answers.get_mut(at) {
        *entry = answer;
    }
}

/// The first error of each case, and whether every error is that of a case.
fn errors(module: &Module, output: &str, count: usize) -> (BTreeMap<usize, Answer>, bool) {
    // Without this last line ptxas crashed.
    let (mut out, mut placed) = (BTreeMap::new(), output.contains(THE_END));
    for line in output.lines().filter(|l| !l.ends_with(THE_END)) {
        let Some((place, message)) = line.split_once(" : ") else {
            continue;
        };
        let message = message.trim().to_owned();
        let answer = match place.trim_end() {
            p if p.ends_with("fatal") => Answer::Fatal(message),
            p if p.ends_with("error") => Answer::Refused(message),
            _ => continue,
        };
        let case = place
            .strip_prefix("ptxas module.ptx, line ")
            .and_then(|rest| module.case_on(rest.split_once(';')?.0.parse().ok()?));
        let Some(case) = case.filter(|c| *c < count) else {
            placed = false;
            continue;
        };
        match (out.get(&case), &answer) {
            (None, _) | (_, Answer::Fatal(_)) => drop(out.insert(case, answer)),
            _ => {}
        }
    }
    (out, placed)
}
