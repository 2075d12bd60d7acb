//! Renaming of module-level names and removal of unused items: the code and the constants of kernels stay the same.
//!
//! The code of functions other than kernels may change, because their names do.

use anyhow::Result;
use ptx_edit::{Names, OwnSymbols, Renaming};
use ptx_ir::Module;

use super::Rewrite;
use super::sections::{Original, belongs_to, kernels};
use crate::assembler::Assemblers;
use crate::corpus::cubin::Outcome;

/// Renames every symbol that no other module can see.
pub(super) fn rename(module: &Module) -> Vec<u8> {
    let names = Names::of(module);
    let renaming = Renaming::prefix(module, &names, "renamed_", OwnSymbols::Private);
    renaming.apply(module, &names).map_or_else(
        |e| e.to_string().into_bytes(),
        |renamed| renamed.text().to_vec(),
    )
}

/// Compares the code and the constants of kernels.
pub(super) fn compare(
    assemblers: &Assemblers,
    source: &[u8],
    rewrite: Rewrite,
) -> Result<Vec<(String, Outcome)>> {
    let module = ptx_parse::parse(source).module;
    let text = rewrite(&module);
    if text == source {
        return Ok(Vec::new());
    }
    let Some(original) = Original::of(assemblers, source)? else {
        return Ok(vec![(String::new(), Outcome::NotAssembled)]);
    };
    let names = kernels(&module, usize::MAX);
    let is_compared = |section: &str| names.iter().any(|name| belongs_to(section, name));
    let outcome = original.compare(&text, is_compared, is_compared)?;
    Ok(vec![(String::new(), outcome)])
}
