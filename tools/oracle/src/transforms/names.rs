//! Transformations of text and names, which do not change the machine code.

use std::collections::BTreeSet;

use anyhow::Result;
use ptx_edit::{Entity, Names, RenameError, Renaming};
use ptx_ir::{Binding, Module};
use ptx_isa::{StateSpace, TypeKind};

use super::Rewrite;
use crate::assembler::Assemblers;
use crate::corpus::cubin::{self, Extent, Info, Outcome};

/// Renames every register, label, parameter and variable of a function.
pub(super) fn rename(module: &Module) -> Vec<u8> {
    let names = Names::of(module);
    let mut excluded: BTreeSet<String> = BTreeSet::new();
    loop {
        let mut renaming = Renaming::new();
        for mention in names.refs().iter().filter(|m| is_local(module, m.entity)) {
            let old = String::from_utf8_lossy(mention.name.of(module.source())).into_owned();
            if !excluded.contains(&old) {
                renaming.set(mention.entity, format!("{old}_renamed_"));
            }
        }
        match renaming.apply(module, &names) {
            Ok(renamed) => return renamed.text().to_vec(),
            // A debug section or a table refers to the name.
            Err(RenameError::Used(name)) if excluded.insert(name.clone()) => {}
            Err(error) => return error.to_string().into_bytes(),
        }
    }
}

/// Whether machine code does not depend on a name: it is neither the name of a texture nor visible to other modules.
fn is_local(module: &Module, entity: Entity) -> bool {
    let Entity::Variable(function, id) = entity else {
        return !matches!(entity, Entity::Symbol(_) | Entity::Unknown(_));
    };
    let params = module.functions().get(function).map(|f| f.interface.params);
    let is_handle = params
        .unwrap_or_default()
        .of(module.params())
        .iter()
        .any(|p| {
            let kind = p.ty.known().map(|t| t.kind());
            p.binding == Binding::Var(id) && kind == Some(TypeKind::Opaque)
        });
    let variable = module.body(function).and_then(|b| b.vars().get(id));
    let is_in_local_space = variable.is_some_and(|v| {
        matches!(
            v.space.base(),
            StateSpace::Param | StateSpace::Shared | StateSpace::Local
        )
    });
    is_in_local_space && !is_handle
}

/// Compares all machine code.
pub(super) fn compare(
    assemblers: &Assemblers,
    source: &[u8],
    rewrite: Rewrite,
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
