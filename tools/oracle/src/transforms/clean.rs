//! Clean-ups: compares the machine code of each kernel. ptxas optimizes, too, so most kernels keep their code; the order of instructions and the
//! register numbers may differ. ptxas only has to accept a file for a debugger.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use anyhow::Result;
use ptx_transform::clean::{Options, Pass};

use crate::assembler::Assemblers;
use crate::corpus::cubin::{self, Info, Outcome};

/// The compared sets of clean-ups: each one, all that ptxas performs as well, and all.
const CHOICES: [(&str, &[Pass]); 10] = [
    ("dead", &[Pass::Dead]),
    ("fold", &[Pass::Fold]),
    ("copies", &[Pass::Copies]),
    ("unreachable", &[Pass::Unreachable]),
    ("dead+fold+copies", &[Pass::Dead, Pass::Fold, Pass::Copies]),
    ("spaces", &[Pass::Spaces]),
    ("synchronization", &[Pass::Synchronization]),
    ("vectorize", &[Pass::Vectorize]),
    ("uniform", &[Pass::Uniform]),
    ("all", Pass::ALL),
];

/// The sets that are meant to change the code.
pub(super) const OTHER_CODE: &[&str] =
    &["spaces", "synchronization", "vectorize", "uniform", "all"];

pub(super) fn check(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    let Some((job, original)) = cubin::code(assemblers, source)? else {
        return Ok(vec![(String::new(), Outcome::NotAssembled)]);
    };
    let mut outcomes = Vec::new();
    // The cubins by text: several clean-ups may have one result.
    let mut cubins: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    cubins.insert(source.to_vec(), original.cubin.clone());
    for (name, passes) in CHOICES {
        let module = ptx_parse::parse(source).module;
        let options = Options::default().with_passes(passes);
        let cleaned = ptx_transform::clean::clean(&module, &options);
        let cubin = match cubins.entry(cleaned.text().to_vec()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let verdict = assemblers.run(entry.key(), job)?;
                if !verdict.accepted {
                    let refusal = format!("refused: {}", verdict.reason());
                    outcomes.push((name.to_owned(), Outcome::Different(refusal)));
                    continue;
                }
                entry.insert(verdict.cubin)
            }
        };
        let outcome = match cubin::info(source) {
            Info::Debug => Outcome::Accepted,
            _ => Outcome::Kernels(cubin::kernels(&original.cubin, cubin)),
        };
        outcomes.push((name.to_owned(), outcome));
    }
    Ok(outcomes)
}
