//! Each kernel alone, with what it needs: its code and its constants are what they were.

use anyhow::{Result, bail};

use super::sections::{Original, is_of, kernels};
use crate::assembler::Assemblers;
use crate::corpus::cubin::Outcome;

/// The number of kernels taken from one file.
const MOST: usize = 8;

pub(super) fn check(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    let module = ptx_parse::parse(source).module;
    let names = kernels(&module, MOST);
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let Some(original) = Original::of(assemblers, source)? else {
        return Ok(vec![(String::new(), Outcome::NotAssembled)]);
    };
    let mut found = Vec::new();
    for name in names {
        let Ok(part) = ptx_transform::extract(&module, &[name]) else {
            bail!("there is no `{name}`");
        };
        let own = |section: &str| is_of(name, section);
        let outcome = original.compare(&part.rewritten.text, own, own)?;
        found.push((name.to_owned(), outcome));
    }
    Ok(found)
}
