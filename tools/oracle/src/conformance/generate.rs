//! Generates all cases: rows that cover each form, and a few mutations of each row.

use std::collections::HashSet;

use fastrand::Rng;
use ptx_isa::internals::TargetSet;
use ptx_isa::{Form, Instruction, PtxVersion};

use super::case::Case;
use super::coverage::{breaking, cover};
use super::mutations::near;
use super::operand::ask;
use super::verdicts::Set;

/// The seed of the cases in the files of verdicts.
const SEED: u64 = 20;

/// Cases, and the forms without a case.
pub(crate) type Generated = (Vec<Case>, Vec<(&'static Instruction, &'static Form)>);

/// The cases of a set of verdicts: of all forms, or, if the set does not begin with the first version, of the instructions that it introduces.
pub(crate) fn of_set(set: &Set) -> Generated {
    let includes_all = set.versions.contains(&PtxVersion::new(1, 0));
    generate(SEED, &|case| includes_all || is_introduced(case, set))
}

/// Whether a case is legal only above the lowest version of a set.
fn is_introduced(case: &Case, set: &Set) -> bool {
    ask(case.opcode, &case.modifiers, &case.operands, |request| {
        let is_legal = |version| request.targets(version) != TargetSet::NONE;
        is_legal(set.newest()) && !is_legal(*set.versions.start())
    })
}

/// Valid cases that pass the test, and their mutations. The seed and the tables determine the cases.
fn generate(seed: u64, is_included: &dyn Fn(&Case) -> bool) -> Generated {
    let mut seen = HashSet::new();
    let (mut cases, mut uncovered) = (Vec::new(), Vec::new());
    for instruction in Instruction::ALL {
        for (i, &form) in instruction.forms().iter().enumerate() {
            // The seed depends on the form, so that a change of one form does not change the cases of the others.
            let form_seed = instruction
                .name()
                .bytes()
                .chain([i as u8])
                .fold(seed, |h, b| h.wrapping_mul(0x100_0000_01b3) ^ u64::from(b));
            let mut rng = Rng::with_seed(form_seed);
            let mut valid = cover(instruction, form, &mut rng);
            if valid.is_empty() {
                uncovered.push((instruction, form));
            }
            let has_cases = !valid.is_empty();
            valid.retain(is_included);
            if valid.is_empty() && has_cases {
                continue;
            }
            let mut new: Vec<Case> = Vec::new();
            for case in valid {
                new.extend(near(&case, &mut rng));
                new.push(case);
            }
            new.extend(breaking(instruction, form, &mut rng));
            // Valid cases come first, so that an equal mutation counts as valid.
            new.sort_by_key(|c| c.kind != "form");
            cases.extend(new.into_iter().filter(|c| seen.insert(c.to_string())));
        }
    }
    (cases, uncovered)
}
