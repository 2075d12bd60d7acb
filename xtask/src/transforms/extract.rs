//! Each kernel alone, with what it needs: its code and its constants are what they were.

use anyhow::{Result, bail};
use ptx_ir::FunctionKind;

use super::sections::Sections;
use crate::corpus::cubin::{Extent, Outcome};
use crate::ptxas::{Assemblers, Job};

/// So many kernels of one file.
const MOST: usize = 8;

pub(super) fn check(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    let module = ptx_parse::parse(source).module;
    let kernels = module.definitions().map(|(_, f, _)| f);
    let kernels = kernels.filter(|f| f.kind == FunctionKind::Entry);
    let names: Vec<&str> = kernels.map(|f| module.name(f.name)).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let Some(original) = Sections::of(assemblers, source)? else {
        return Ok(vec![(String::new(), Outcome::NotAssembled)]);
    };
    let step = names.len().div_ceil(MOST);
    let mut found = Vec::new();
    for &name in names.iter().step_by(step) {
        let Ok(part) = ptx_transform::extract(&module, &[name]) else {
            bail!("there is no `{name}`");
        };
        let text = &part.rewritten.text;
        let outcome = match kernel(assemblers, source, &original, text, name)? {
            None => Outcome::Same(Extent::Code),
            Some(how) => Outcome::Different(how),
        };
        found.push((name.to_owned(), outcome));
    }
    Ok(found)
}

/// In what a kernel differs in a part of the module.
fn kernel(
    assemblers: &Assemblers,
    source: &[u8],
    original: &Sections,
    part: &[u8],
    name: &str,
) -> Result<Option<String>> {
    let code = format!(".text.{name}");
    let suffix = format!(".{name}");
    let own = |s: &str| s == code || s.starts_with(".nv.constant") && s.ends_with(&suffix);
    let first = match Sections::by(assemblers, part, original.job())? {
        Ok(sections) => original.difference(&sections, own),
        Err(reason) => return Ok(Some(format!("refused: {reason}"))),
    };
    if first.is_none() || original.job() == Job::Relocatable {
        return Ok(first);
    }
    // Variables in constant memory stand elsewhere when others are gone; before linking, all places are open.
    let relocatable = |text| Sections::by(assemblers, text, Job::Relocatable);
    match (relocatable(source)?, relocatable(part)?) {
        (Ok(a), Ok(b)) if a.difference(&b, own).is_none() => Ok(None),
        _ => Ok(first),
    }
}
