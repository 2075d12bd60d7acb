//! Determines the verdicts on cases: on all targets, then the lowest version of the accepted cases.

use anyhow::Result;
use ptx_isa::{PtxVersion, Target};

use super::case::{Case, Setting};
use super::judge::{Answer, Place, judge};
use super::verdicts::{Set, Verdict};
use crate::assembler::Assembler;

/// The number of cases in a module: few if errors may abort the file, many if no error does.
const FEW: usize = 60;
const MANY: usize = 1500;

/// The verdicts of ptxas; cases without one are left out.
pub(crate) fn label(set: &Set, assembler: &Assembler, cases: &[Case]) -> Result<Vec<Verdict>> {
    let mut out = Vec::new();
    for setting in Setting::ALL {
        let setting_cases: Vec<Verdict> = cases
            .iter()
            .filter(|c| c.setting() == setting)
            .map(|c| Verdict {
                opcode: c.opcode.text().to_owned(),
                kind: c.kind.to_owned(),
                setting,
                line: c.to_string(),
                targets: Vec::new(),
                lowest: None,
                message: String::new(),
            })
            .collect();
        out.extend(label_setting(set, assembler, setting, setting_cases)?);
    }
    // The order by opcode, the valid cases first, is easier to read and makes the compressed file smaller.
    out.sort_by_cached_key(|v| {
        (
            v.opcode.clone(),
            v.kind != "form",
            v.kind.clone(),
            v.line.clone(),
        )
    });
    Ok(out)
}

fn label_setting(
    set: &Set,
    assembler: &Assembler,
    setting: Setting,
    mut cases: Vec<Verdict>,
) -> Result<Vec<Verdict>> {
    let ask = |target, version, lines: &[&str], batch| {
        let place = Place {
            version,
            target,
            setting,
        };
        judge(assembler, place, lines, batch)
    };
    // Syntax errors do not depend on the target.
    let lines: Vec<&str> = cases.iter().map(|c| &*c.line).collect();
    let first = ask(set.first, set.newest(), &lines, FEW)?;
    let (mut hidden, mut alone, mut together) = (Vec::new(), Vec::new(), Vec::new());
    for (i, answer) in first.iter().enumerate() {
        match answer {
            Answer::Fatal(message) if message.starts_with("Parsing error") => {}
            Answer::Lost => {}
            Answer::Hidden(_) => hidden.push(i),
            Answer::Fatal(_) => alone.push(i),
            _ => together.push(i),
        }
    }
    let mut lost = vec![false; cases.len()];
    for (case, (answer, lost)) in cases.iter_mut().zip(first.iter().zip(&mut lost)) {
        *lost = *answer == Answer::Lost;
        if let Answer::Fatal(message) | Answer::Hidden(message) = answer {
            case.message.clone_from(message);
        }
    }
    for target in set.targets() {
        for (group, batch) in [(&together, MANY), (&alone, FEW), (&hidden, 1)] {
            let lines: Vec<String> = group
                .iter()
                .filter_map(|&i| Some(cases.get(i)?.line.clone()))
                .collect();
            let lines: Vec<&str> = lines.iter().map(|l| &**l).collect();
            let answers = ask(target, set.newest(), &lines, batch)?;
            for (&i, answer) in group.iter().zip(answers) {
                let (Some(case), Some(lost)) = (cases.get_mut(i), lost.get_mut(i)) else {
                    continue;
                };
                match answer {
                    Answer::Accepted => case.targets.push(target),
                    Answer::Lost => *lost = true,
                    Answer::Refused(message) | Answer::Hidden(message) | Answer::Fatal(message) => {
                        // An error on every target is more informative than a missing feature.
                        let had_feature_message =
                            case.message.is_empty() || case.message.contains(".target");
                        let is_informative = !message.is_empty() && !message.contains(".target");
                        if case.message.is_empty() || had_feature_message && is_informative {
                            case.message = message;
                        }
                    }
                }
            }
        }
    }
    let mut lost = lost.iter();
    cases.retain(|_| lost.next() == Some(&false));
    for target in set.targets() {
        lowest(set, target, &mut cases, |version, lines| {
            ask(target, version, lines, MANY)
        })?;
    }
    Ok(cases)
}

/// The lowest version of the cases that have the target as their first.
fn lowest(
    set: &Set,
    target: Target,
    cases: &mut [Verdict],
    ask: impl Fn(PtxVersion, &[&str]) -> Result<Vec<Answer>>,
) -> Result<()> {
    for version in set.versions(target) {
        let mut pending: Vec<&mut Verdict> = cases
            .iter_mut()
            .filter(|c| c.targets.first() == Some(&target) && c.lowest.is_none())
            .collect();
        let lines: Vec<&str> = pending.iter().map(|c| &*c.line).collect();
        let answers = ask(version, &lines)?;
        for (case, answer) in pending.iter_mut().zip(answers) {
            if answer == Answer::Accepted {
                case.lowest = Some(version);
            }
        }
    }
    Ok(())
}
