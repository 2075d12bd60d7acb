//! The canonical style.

use anyhow::Result;

use crate::assembler::Assemblers;
use crate::corpus::cubin::{self, Outcome, Rewrite};

pub(super) fn check(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    let outcome = cubin::check(assemblers, source, Rewrite::Canonical)?;
    Ok(vec![(String::new(), outcome)])
}
