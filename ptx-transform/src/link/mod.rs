//! Links several modules into one.

mod assemble;
mod compat;
mod diagnostic;
mod emit;
mod files;
mod fresh_names;
mod header;
mod order;
mod shared_symbols;
mod uniquify;
mod variable;

use alloc::vec::Vec;

use ptx_ir::{Module, OffsetMap, Severity};

pub use self::diagnostic::{Elsewhere, LinkDiagnostic};
use crate::printed::Printed;

/// Options of [`link`].
#[derive(Copy, Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct LinkOptions<'a> {
    hidden: &'a [&'a str],
}

impl<'a> LinkOptions<'a> {
    /// The default options.
    #[must_use]
    pub const fn new() -> Self {
        Self { hidden: &[] }
    }

    /// Sets names that are not used outside of the result: their `.visible` is removed, so that ptxas can inline such
    /// functions and remove unused ones.
    #[must_use]
    pub const fn with_hidden(mut self, names: &'a [&'a str]) -> Self {
        self.hidden = names;
        self
    }

    /// The names that are not used outside of the result.
    #[must_use]
    pub const fn hidden(&self) -> &'a [&'a str] {
        self.hidden
    }
}

/// A linked module.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Linked {
    /// The text.
    pub text: Vec<u8>,
    /// For each module, the offset map from its source to the text.
    pub maps: Vec<OffsetMap>,
    /// Warnings.
    pub notes: Vec<LinkDiagnostic>,
}

/// Links modules that were parsed without errors. Manual 11.6.
///
/// * The header has the highest version, and a target that supports all modules.
/// * `.extern` declarations are removed if another module defines the name. A `.weak` definition is removed if there is a
///   strong or an earlier weak one. Of `.common` variables, the largest is kept, with the largest alignment.
/// * Two strong definitions and incompatible declarations are errors with both spans.
/// * A name without linkage is private to its module: if several modules have it, all but one are renamed (`name$2` in the
///   second module). Labels that names of another module would shadow are renamed as well.
/// * Numbers of `.file` are made unique. Debug sections are kept if only one module has any; otherwise only those that a `.loc`
///   refers to.
/// * The order of each module is kept, and everything is declared before it is used. Comments are kept, except those directly
///   above a definition that is removed. Undefined names stay external.
///
/// The time is linear in the size of the text.
///
/// ```
/// let a = b".version 7.8\n.target sm_80\n.address_size 64\n.extern .func f();\n.visible .entry k() { call f; ret; }\n";
/// let b = b".version 8.0\n.target sm_90\n.address_size 64\n// the one\n.visible .func f() { ret; }\n";
/// let (a, b) = (ptx_parse::parse(a).module, ptx_parse::parse(b).module);
/// let linked = ptx_transform::link(&[&a, &b], &Default::default()).expect("the modules are compatible");
/// assert_eq!(linked.text, b".version 8.0\n.target sm_90\n.address_size 64
/// // the one\n.visible .func f() { ret; }\n.visible .entry k() { call f; ret; }\n");
/// ```
///
/// # Errors
///
/// All conflicts between the modules. Their codes are PTX1001 to PTX1005, those of [`ptx_verify::verify`] for what is illegal
/// under the new header, and PTX0901.
pub fn link(modules: &[&Module], options: &LinkOptions<'_>) -> Result<Linked, Vec<LinkDiagnostic>> {
    let printed: Vec<Printed<'_>> = modules.iter().map(|m| Printed::of(m)).collect();
    let current: Vec<&Module> = printed.iter().map(Printed::module).collect();
    let to_original = |mut found: Vec<LinkDiagnostic>| {
        found.iter_mut().for_each(|d| d.move_to_original(&printed));
        found
    };
    let mut linked = link_texts(&current, options).map_err(to_original)?;
    linked.notes = to_original(linked.notes);
    let maps = linked.maps.into_iter().zip(&printed);
    linked.maps = maps
        .map(|(map, printed)| printed.map_from_original(map))
        .collect();
    Ok(linked)
}

/// [`link`] of modules whose sources are their texts.
fn link_texts(
    modules: &[&Module],
    options: &LinkOptions<'_>,
) -> Result<Linked, Vec<LinkDiagnostic>> {
    let mut found = Vec::new();
    let header = header::unite(modules, &mut found);
    compat::check(modules, &mut found);
    let errors =
        |all: &[LinkDiagnostic]| all.iter().any(|d| d.diagnostic.severity == Severity::Error);
    let Some(header) = header.filter(|_| !errors(&found)) else {
        return Err(found);
    };
    let unique = uniquify::prepare(modules, &mut found);
    if errors(&found) {
        return Err(found);
    }
    let renamed: Vec<&Module> = unique.iter().map(Printed::module).collect();
    let mut linked = match emit::emit(&renamed, &header, options.hidden) {
        Ok(linked) => linked,
        Err(diagnostic) => {
            found.push(*diagnostic);
            return Err(found);
        }
    };
    for note in &mut linked.notes {
        if let Some(unique) = unique.get(note.input) {
            note.diagnostic.span = unique.to_original(note.diagnostic.span);
        }
    }
    let maps = linked.maps.into_iter().zip(&unique);
    linked.maps = maps
        .map(|(map, unique)| unique.map_from_original(map))
        .collect();
    found.append(&mut linked.notes);
    linked.notes = found;
    Ok(linked)
}
