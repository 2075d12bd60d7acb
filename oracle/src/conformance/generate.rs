//! All cases: for each form rows that cover it, for each row a few mutations.

use std::collections::HashSet;

use fastrand::Rng;
use ptx_isa::{Form, Instruction, PtxVersion, TargetSet};

use super::case::Case;
use super::coverage::{breaking, cover};
use super::mutations::near;
use super::operand::ask;
use super::verdicts::Set;

/// The seed of the cases in the files of verdicts.
const SEED: u64 = 20;

/// Cases, and the forms for which none was found.
pub(crate) type Generated = (Vec<Case>, Vec<(&'static Instruction, &'static Form)>);

/// The cases of a set of verdicts: of all forms, or, if it does not begin with the first version, of what is new in it.
pub(crate) fn of_set(set: &Set) -> Generated {
    let all = set.versions.contains(&PtxVersion::new(1, 0));
    generate(SEED, &|case| all || is_introduced(case, set))
}

/// Whether a case is legal only above the lowest version of a set.
fn is_introduced(case: &Case, set: &Set) -> bool {
    ask(case.opcode, &case.modifiers, &case.operands, |request| {
        let legal = |version| request.targets(version) != TargetSet::NONE;
        legal(set.newest()) && !legal(*set.versions.start())
    })
}

/// The same cases for the same seed and table: the valid ones that are wanted, and changes of them.
fn generate(seed: u64, wanted: &dyn Fn(&Case) -> bool) -> Generated {
    let mut seen = HashSet::new();
    let (mut cases, mut uncovered) = (Vec::new(), Vec::new());
    for instruction in Instruction::ALL {
        for (i, &form) in instruction.forms().iter().enumerate() {
            // A change of one form leaves the cases of the others alone.
            let name = instruction.name().bytes().chain([i as u8]);
            let own = name.fold(seed, |h, b| h.wrapping_mul(0x100_0000_01b3) ^ u64::from(b));
            let mut rng = Rng::with_seed(own);
            let mut valid = cover(instruction, form, &mut rng);
            if valid.is_empty() {
                uncovered.push((instruction, form));
            }
            let found = valid.len();
            valid.retain(wanted);
            if valid.is_empty() && found > 0 {
                continue;
            }
            let mut new: Vec<Case> = Vec::new();
            for case in valid {
                new.extend(near(&case, &mut rng));
                new.push(case);
            }
            new.extend(breaking(instruction, form, &mut rng));
            // Valid ones first, so that a near miss that happens to be one of them counts as valid.
            new.sort_by_key(|c| c.kind != "form");
            cases.extend(new.into_iter().filter(|c| seen.insert(c.to_string())));
        }
    }
    (cases, uncovered)
}
