//! Extraction of each kernel with its dependencies: compares its code and its constants.

use anyhow::{Result, bail};

use super::sections::{Original, belongs_to, kernels};
use crate::assembler::Assemblers;
use crate::corpus::cubin::Outcome;

/// The greatest number of kernels that are extracted from one file.
const MAX_KERNELS: usize = 8;

pub(super) fn check(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    let module = ptx_parse::parse(source).module;
    let names = kernels(&module, MAX_KERNELS);
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let Some(original) = Original::of(assemblers, source)? else {
        return Ok(vec![(String::new(), Outcome::NotAssembled)]);
    };
    let mut outcomes = Vec::new();
    for name in names {
        let Ok(part) = ptx_transform::extract(&module, &[name]) else {
            bail!("there is no `{name}`");
        };
        let is_compared = |section: &str| belongs_to(section, name);
        let outcome = original.compare(part.text(), is_compared, is_compared)?;
        outcomes.push((name.to_owned(), outcome));
    }
    Ok(outcomes)
}
