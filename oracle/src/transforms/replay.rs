//! A module rebuilt by calls of `ptx-build`.

use anyhow::Result;
use ptx_ir::{Module, compare};
use ptx_print::Style;

use crate::assembler::Assemblers;
use crate::corpus::cubin::{self, Extent, Info, Outcome};
use crate::rebuild::rebuild;

/// The text of the rebuilt module, or the difference.
pub(crate) fn again(module: &Module) -> Result<Vec<u8>, String> {
    let made = rebuild(module).map_err(|e| {
        format!(
            "the builder refuses it: {}",
            e.to_string().replace('\n', "↵")
        )
    })?;
    match compare::compare(module, &made) {
        Ok(()) => Ok(ptx_print::canonical(&made, &Style::default())),
        Err(difference) => {
            let left = difference.left.of(module.source());
            let right = difference.right.of(made.source());
            let text = |t: &[u8]| {
                String::from_utf8_lossy(t)
                    .chars()
                    .take(80)
                    .collect::<String>()
            };
            Err(format!(
                "rebuilt: {difference}: `{}` became `{}`",
                text(left),
                text(right)
            ))
        }
    }
}

pub(super) fn check(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    let module = ptx_parse::parse(source).module;
    let outcome = match again(&module) {
        Ok(text) => {
            let least = match cubin::info(source) {
                Info::None if cubin::has_local_variables(&module) => Extent::AllButNames,
                Info::None => Extent::Everything,
                Info::Lines | Info::Debug => Extent::Code,
            };
            cubin::compare(assemblers, source, &text, least)?
        }
        Err(why) => Outcome::Different(why),
    };
    Ok(vec![(String::new(), outcome)])
}
