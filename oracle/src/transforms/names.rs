//! Transformations of text and names: they leave the machine code as it is.

use std::collections::BTreeSet;

use anyhow::Result;
use ptx_edit::{Entity, Names, RenameError, Renaming};
use ptx_ir::{Binding, Module};
use ptx_isa::{StateSpace, TypeKind};

use super::Rewrite;
use crate::assembler::Assemblers;
use crate::corpus::cubin::{self, Extent, Info, Outcome};

/// Every register, label, parameter and variable of a function with something before its name.
pub(super) fn rename(module: &Module) -> Vec<u8> {
    let names = Names::of(module);
    let mut stays: BTreeSet<String> = BTreeSet::new();
    loop {
        let mut renaming = Renaming::new();
        for mention in names.refs().iter().filter(|m| is_local(module, m.entity)) {
            let old = String::from_utf8_lossy(mention.name.of(module.source())).into_owned();
            if !stays.contains(&old) {
                renaming.set(mention.entity, format!("{old}_renamed_"));
            }
        }
        match renaming.apply(module, &names) {
            Ok(new) => return new.text,
            // A debug section or a table speaks of it.
            Err(RenameError::Used(name)) if stays.insert(name.clone()) => {}
            Err(error) => return error.to_string().into_bytes(),
        }
    }
}

/// Whether a name is one of which machine code knows nothing: not that of a texture, and nothing that other modules see.
fn is_local(module: &Module, entity: Entity) -> bool {
    let Entity::Variable(function, id) = entity else {
        return !matches!(entity, Entity::Symbol(_) | Entity::Unknown(_));
    };
    let params = module.functions().get(function).map(|f| f.interface.params);
    let mut params = params.unwrap_or_default().of(module.params()).iter();
    let opaque = params.any(|p| {
        let ty = p.ty.known().map(|t| t.kind());
        p.binding == Binding::Var(id) && ty == Some(TypeKind::Opaque)
    });
    let var = module.body(function).and_then(|b| b.vars().get(id));
    let inside = var.is_some_and(|v| {
        let space = v.space.base();
        matches!(
            space,
            StateSpace::Param | StateSpace::Shared | StateSpace::Local
        )
    });
    inside && !opaque
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
