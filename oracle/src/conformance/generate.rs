//! All cases: for each form rows that cover it, for each row a few mutations.

use std::collections::HashSet;

use fastrand::Rng;
use ptx_isa::{Form, Instruction};

use super::case::Case;
use super::coverage::{breaking, cover};
use super::mutations::near;

/// The same cases for the same seed and table. The second: forms for which no case was found.
pub(crate) fn generate(seed: u64) -> (Vec<Case>, Vec<(&'static Instruction, &'static Form)>) {
    let mut seen = HashSet::new();
    let (mut cases, mut uncovered) = (Vec::new(), Vec::new());
    for instruction in Instruction::ALL {
        for (i, &form) in instruction.forms().iter().enumerate() {
            // A change of one form leaves the cases of the others alone.
            let name = instruction.name().bytes().chain([i as u8]);
            let own = name.fold(seed, |h, b| h.wrapping_mul(0x100_0000_01b3) ^ u64::from(b));
            let mut rng = Rng::with_seed(own);
            let valid = cover(instruction, form, &mut rng);
            if valid.is_empty() {
                uncovered.push((instruction, form));
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
