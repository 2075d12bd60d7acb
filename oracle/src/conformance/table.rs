//! What the table alone says of a case, without the parser: from the operands as they were made.

use std::collections::HashMap;

use super::agreement::Ours;
use super::case::Case;
use super::operand::ask;
use super::verdicts::{Set, Verdict};

pub(crate) fn table(set: &Set, cases: &[Case], verdicts: &[Verdict]) -> Vec<Ours> {
    let by_line: HashMap<String, &Case> = cases.iter().map(|c| (c.to_string(), c)).collect();
    let ours = |v: &Verdict| {
        let Some(case) = by_line.get(&v.line) else {
            return Ours::default();
        };
        ask(case.opcode, &case.modifiers, &case.operands, |request| {
            let legal = request.targets(set.newest());
            Ours {
                targets: set.targets().filter(|t| legal.contains(*t)).collect(),
                lowest: v.targets.first().and_then(|t| request.first_version(*t)),
            }
        })
    };
    verdicts.iter().map(ours).collect()
}
