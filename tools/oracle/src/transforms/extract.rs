//! Extraction of each kernel with its dependencies: compares its code and its constants.

use anyhow::{Result, bail};

use super::sections::{belongs_to, for_kernels};
use crate::assembler::Assemblers;
use crate::corpus::cubin::Outcome;

/// The greatest number of kernels that are extracted from one file.
const MAX_KERNELS: usize = 8;

pub(super) fn check(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    for_kernels(assemblers, source, MAX_KERNELS, |original, module, name| {
        let Ok(part) = ptx_transform::extract(module, &[name]) else {
            bail!("there is no `{name}`");
        };
        let is_compared = |section: &str| belongs_to(section, name);
        original.compare(part.text(), is_compared, is_compared)
    })
}
