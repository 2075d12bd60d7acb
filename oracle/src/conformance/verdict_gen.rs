//! Verdicts on cases: all targets, then the lowest version of the accepted ones.

use anyhow::Result;
use ptx_isa::{PtxVersion, Target};

use super::case::{Case, Setting};
use super::judge::{Answer, Place, judge};
use super::verdicts::{Set, Verdict};
use crate::assembler::Assembler;

/// The number of cases in a module: few where errors may abort the file, many where that is known not to happen.
const FEW: usize = 60;
const MANY: usize = 1500;

/// The verdicts of ptxas; cases without one are left out.
pub(crate) fn label(set: &Set, assembler: &Assembler, cases: &[Case]) -> Result<Vec<Verdict>> {
    let mut out = Vec::new();
    for setting in Setting::ALL {
        let own: Vec<Verdict> = cases
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
        out.extend(label_setting(set, assembler, setting, own)?);
    }
    // Cases of an opcode together, valid ones first: easier to read, and smaller when compressed.
    out.sort_by(|a, b| {
        let key = |v: &Verdict| {
            (
                v.opcode.clone(),
                v.kind != "form",
                v.kind.clone(),
                v.line.clone(),
            )
        };
        key(a).cmp(&key(b))
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
    let syntax = |message: &str| message.starts_with("Parsing error");
    let (mut hidden, mut alone, mut together) = (Vec::new(), Vec::new(), Vec::new());
    for (i, answer) in first.iter().enumerate() {
        match answer {
            Answer::Fatal(message) if syntax(message) => {}
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
                        let lacks = |m: &str| m.is_empty() || m.contains(".target");
                        if case.message.is_empty() || lacks(&case.message) && !lacks(&message) {
                            case.message = message;
                        }
                    }
                }
            }
        }
    }
    let mut kept = lost.iter();
    cases.retain(|_| kept.next() == Some(&false));
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
        let pending = |c: &Verdict| c.targets.first() == Some(&target) && c.lowest.is_none();
        let mut open: Vec<&mut Verdict> = cases.iter_mut().filter(|c| pending(c)).collect();
        let lines: Vec<String> = open.iter().map(|c| c.line.clone()).collect();
        let lines: Vec<&str> = lines.iter().map(|l| &**l).collect();
        let answers = ask(version, &lines)?;
        for (case, answer) in open.iter_mut().zip(answers) {
            if answer == Answer::Accepted {
                case.lowest = Some(version);
            }
        }
    }
    Ok(())
}
