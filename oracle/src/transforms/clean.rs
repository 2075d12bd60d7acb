//! Clean-ups: the machine code of each kernel. ptxas optimizes, too, so most kernels keep their code; the order of instructions and the
//! register numbers may differ. A file for a debugger only has to be accepted.

use anyhow::Result;
use ptx_transform::clean::{Options, Pass};

use crate::assembler::Assemblers;
use crate::corpus::cubin::{self, Info, Outcome};

/// Each clean-up alone, those that ptxas does as well together, and all.
const CHOICES: [(&str, &[Pass]); 10] = [
    ("dead", &[Pass::Dead]),
    ("fold", &[Pass::Fold]),
    ("copies", &[Pass::Copies]),
    ("unreachable", &[Pass::Unreachable]),
    ("dead+fold+copies", &[Pass::Dead, Pass::Fold, Pass::Copies]),
    ("spaces", &[Pass::Spaces]),
    ("synchronization", &[Pass::Synchronization]),
    ("vectorise", &[Pass::Vectorise]),
    ("uniform", &[Pass::Uniform]),
    ("all", Pass::ALL),
];

/// Those that are meant to change the code.
pub(super) const OTHER_CODE: &[&str] =
    &["spaces", "synchronization", "vectorise", "uniform", "all"];

pub(super) fn check(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    let Some((job, original)) = cubin::code(assemblers, source)? else {
        return Ok(vec![(String::new(), Outcome::NotAssembled)]);
    };
    let mut outcomes = Vec::new();
    let mut before: Vec<(Vec<u8>, Option<Vec<u8>>)> = vec![(source.to_vec(), None)];
    for (name, passes) in CHOICES {
        let mut module = ptx_parse::parse(source).module;
        ptx_transform::clean::clean(&mut module, &Options::new(passes));
        let text = ptx_print::verbatim(&module);
        // A text that was assembled before is not assembled again.
        let known = before.iter().find(|(t, _)| *t == text);
        let cubin = match known {
            Some((_, cubin)) => cubin.clone().unwrap_or_else(|| original.cubin.clone()),
            None => {
                let verdict = assemblers.run(&text, job)?;
                if !verdict.accepted {
                    let how = format!("refused: {}", verdict.reason());
                    outcomes.push((name.to_owned(), Outcome::Different(how)));
                    continue;
                }
                before.push((text, Some(verdict.cubin.clone())));
                verdict.cubin
            }
        };
        let outcome = match cubin::info(source) {
            Info::Debug => Outcome::Accepted,
            _ => Outcome::Kernels(cubin::kernels(&original.cubin, &cubin)),
        };
        outcomes.push((name.to_owned(), outcome));
    }
    Ok(outcomes)
}
