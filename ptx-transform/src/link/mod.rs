//! Links several modules into one.

mod assemble;
mod compat;
mod diagnostic;
mod emit;
mod files;
mod header;
mod order;
mod shared_symbols;
mod uniquify;

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{Limits, Module, OffsetMap, Severity};

pub use self::diagnostic::{Elsewhere, LinkDiagnostic, LinkError};
use crate::printed::Printed;

/// Options of [`link`].
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub struct LinkOptions {
    /// Names that are not used outside of the result; by default none. Their `.visible` is removed, so that ptxas can inline
    /// such functions and remove unused ones.
    pub hidden: Vec<String>,
}

impl LinkOptions {
    /// Sets the names that are not used outside of the result.
    #[must_use]
    pub fn with_hidden(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.hidden = names
            .into_iter()
            .map(|name| String::from(name.as_ref()))
            .collect();
        self
    }
}

/// A linked module.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Linked {
    /// The linked module, parsed from its text.
    pub module: Module,
    /// For each input, the offset map from its source to that of the linked module.
    pub maps: Vec<OffsetMap>,
    /// Warnings.
    pub report: Vec<LinkDiagnostic>,
}

impl Linked {
    /// The text of the linked module.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        self.module.source()
    }
}

/// The text of a linked module.
struct LinkedText {
    text: Vec<u8>,
    /// For each input, the offset map from its source to the text.
    maps: Vec<OffsetMap>,
    warnings: Vec<LinkDiagnostic>,
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
/// let linked = ptx_transform::link(&[&a, &b], &Default::default())?;
/// assert_eq!(linked.text(), b".version 8.0\n.target sm_90\n.address_size 64
/// // the one\n.visible .func f() { ret; }\n.visible .entry k() { call f; ret; }\n");
/// # Ok::<(), ptx_transform::LinkError>(())
/// ```
///
/// # Errors
///
/// All conflicts between the modules. Their codes are PTX1001 to PTX1005, those of [`ptx_verify::verify`] for what is illegal
/// under the new header, and PTX0901.
pub fn link(modules: &[&Module], options: &LinkOptions) -> Result<Linked, LinkError> {
    let printed: Vec<Printed<'_>> = modules.iter().map(|module| Printed::of(module)).collect();
    let current: Vec<&Module> = printed.iter().map(Printed::module).collect();
    let move_to_originals = |mut diagnostics: Vec<LinkDiagnostic>| {
        for diagnostic in &mut diagnostics {
            diagnostic.move_to_original(&printed);
        }
        diagnostics
    };
    let linked = match link_texts(&current, options) {
        Ok(linked) => linked,
        Err(diagnostics) => return Err(LinkError::new(move_to_originals(diagnostics))),
    };
    Ok(Linked {
        module: ptx_parse::parse_with(linked.text, &Limits::default()).module,
        maps: maps_from_originals(linked.maps, &printed),
        report: move_to_originals(linked.warnings),
    })
}

/// The offset maps from the sources of the original modules.
fn maps_from_originals(maps: Vec<OffsetMap>, printed: &[Printed<'_>]) -> Vec<OffsetMap> {
    maps.into_iter()
        .zip(printed)
        .map(|(map, printed)| printed.map_from_original(map))
        .collect()
}

/// [`link`] of modules whose sources are their texts.
fn link_texts(
    modules: &[&Module],
    options: &LinkOptions,
) -> Result<LinkedText, Vec<LinkDiagnostic>> {
    let mut diagnostics = Vec::new();
    let header = header::unite(modules, &mut diagnostics);
    compat::check(modules, &mut diagnostics);
    let Some(header) = header.filter(|_| !has_error(&diagnostics)) else {
        return Err(diagnostics);
    };
    let unique = uniquify::prepare(modules, &mut diagnostics);
    if has_error(&diagnostics) {
        return Err(diagnostics);
    }
    let renamed: Vec<&Module> = unique.iter().map(Printed::module).collect();
    let mut linked = match emit::emit(&renamed, &header, &options.hidden) {
        Ok(linked) => linked,
        Err(diagnostic) => {
            diagnostics.push(*diagnostic);
            return Err(diagnostics);
        }
    };
    for warning in &mut linked.warnings {
        if let Some(unique) = unique.get(warning.input) {
            warning.diagnostic.span = unique.to_original(warning.diagnostic.span);
        }
    }
    diagnostics.append(&mut linked.warnings);
    Ok(LinkedText {
        text: linked.text,
        maps: maps_from_originals(linked.maps, &unique),
        warnings: diagnostics,
    })
}

fn has_error(diagnostics: &[LinkDiagnostic]) -> bool {
    diagnostics
        .iter()
        .any(|d| d.diagnostic.severity == Severity::Error)
}
