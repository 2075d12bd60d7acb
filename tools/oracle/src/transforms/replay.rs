//! Modules that are rebuilt by calls of `ptx-build`.

use anyhow::Result;
use ptx_ir::{Module, compare};
use ptx_print::Style;

use crate::assembler::Assemblers;
use crate::corpus::cubin::{self, Extent, Info, Outcome};
use crate::rebuild::rebuild;

/// The text of the rebuilt module, or its difference from the original.
pub(crate) fn rebuilt_text(module: &Module) -> Result<Vec<u8>, String> {
    let rebuilt = rebuild(module).map_err(|e| {
        format!(
            "the builder refuses it: {}",
            e.to_string().replace('\n', "↵")
        )
    })?;
    match compare::compare(module, &rebuilt) {
        Ok(()) => Ok(ptx_print::canonical(&rebuilt, &Style::default())),
        Err(difference) => {
            let old = excerpt(difference.left.of(module.source()));
            let new = excerpt(difference.right.of(rebuilt.source()));
            Err(format!("rebuilt: {difference}: `{old}` became `{new}`"))
        }
    }
}

fn excerpt(text: &[u8]) -> String {
    String::from_utf8_lossy(text).chars().take(80).collect()
}

pub(super) fn check(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    let module = ptx_parse::parse(source).module;
    let outcome = match rebuilt_text(&module) {
        Ok(text) => {
            let least = match cubin::info(source) {
                Info::None if cubin::has_local_variables(&module) => Extent::AllButNames,
                Info::None => Extent::Everything,
                Info::Lines | Info::Debug => Extent::Code,
            };
            cubin::compare(assemblers, source, &text, least)?
        }
        Err(difference) => Outcome::Different(difference),
    };
    Ok(vec![(String::new(), outcome)])
}
