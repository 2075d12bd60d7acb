//! Transformations of text and names: they leave the machine code as it is.

use anyhow::Result;
use ptx_ir::Module;
use ptx_transform::{Entity, Minify, Names, Renaming};

use crate::corpus::cubin::{self, Extent, Info, Outcome};
use crate::ptxas::Assemblers;

pub(super) fn strip(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    compare(assemblers, source, |m| ptx_transform::strip(m).text)
}

pub(super) fn minify(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    let how = Minify::default();
    compare(assemblers, source, |m| ptx_transform::minify(m, how).text)
}

pub(super) fn renumber(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    compare(assemblers, source, |m| ptx_transform::renumber(m).text)
}

pub(super) fn flatten(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    compare(assemblers, source, |m| ptx_transform::flatten(m).text)
}

/// Every register, label, parameter and variable of a function with something before its name.
pub(super) fn rename(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    compare(assemblers, source, |module| {
        let names = Names::of(module);
        let mut renaming = Renaming::new();
        for mention in names.mentions() {
            if matches!(mention.entity, Entity::Register(..)) {
                let old = String::from_utf8_lossy(mention.name.of(source)).into_owned();
                renaming.set(mention.entity, format!("{old}_renamed_"));
            }
        }
        match renaming.apply(module, &names) {
            Ok(new) => new.text,
            Err(error) => error.to_string().into_bytes(),
        }
    })
}

fn compare(
    assemblers: &Assemblers,
    source: &[u8],
    rewrite: impl Fn(&Module) -> Vec<u8>,
) -> Result<Vec<(String, Outcome)>> {
    let module = ptx_parse::parse(source).module;
    // Symbols of variables inside functions are named, and so ordered, after their names and lines.
    let least = match cubin::info(source) {
        Info::None if !cubin::has_local_variables(&module) => Extent::Everything,
        _ => Extent::Code,
    };
    let outcome = cubin::compare(assemblers, source, &rewrite(&module), least)?;
    Ok(vec![(String::new(), outcome)])
}
