//! Linking: compares the code of modules that are split and linked again, and of unrelated modules that are linked.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::OnceLock;

use anyhow::{Result, bail};
use ptx_ir::{Module, Severity};
use ptx_isa::TypeKind;
use ptx_transform::LinkOptions;

use super::sections::{Sections, for_kernels};
use crate::assembler::{Assemblers, Job};
use crate::corpus::cubin::{self, Extent, Outcome};
use crate::files;

/// The greatest number of kernels that are split off one file.
const MAX_KERNELS: usize = 2;

/// The message of ptxas on an internal error.
const INTERNAL_ERROR: &str = "Internal compiler error";

/// Whether a section contains code, parameters or data. The order of variables in a section may have changed.
fn code_and_data(section: &str) -> bool {
    let prefixes = [".text.", ".nv.constant", ".nv.shared", ".nv.global"];
    prefixes.iter().any(|p| section.starts_with(p))
}

/// Whether a section contains only code.
fn code(section: &str) -> bool {
    let prefixes = [".text.", ".nv.constant0.", ".nv.constant2."];
    prefixes.iter().any(|p| section.starts_with(p))
}

/// Links a kernel and its dependencies with the other parts of its module.
pub(super) fn relink(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    for_kernels(
        assemblers,
        source,
        MAX_KERNELS,
        |original, module, name| match split_and_link(module, name)? {
            Ok(text) => original.compare(&text, code_and_data, code),
            Err(error) => Ok(Outcome::Different(error)),
        },
    )
}

/// Splits a kernel off a module and links the parts. Returns the text, or the message of the first error.
fn split_and_link(module: &Module, name: &str) -> Result<Result<Vec<u8>, String>> {
    let Ok(split) = ptx_transform::split(module, &[name]) else {
        bail!("there is no `{name}`");
    };
    let parts = [&split.part, &split.rest].map(|p| ptx_parse::parse(p.text()));
    for diagnostic in parts.iter().flat_map(|p| &p.diagnostics) {
        if diagnostic.severity == Severity::Error {
            return Ok(Err(format!(
                "a part cannot be read: {}",
                diagnostic.message
            )));
        }
    }
    let [part, rest] = parts.map(|p| p.module);
    let options = LinkOptions::default().with_hidden(&split.exported);
    Ok(match ptx_transform::link(&[&part, &rest], &options) {
        Ok(linked) => Ok(linked.text().to_vec()),
        Err(error) => Err(error.to_string()),
    })
}

/// Links the file with another compatible file of the corpus.
pub(super) fn pair(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    let module = ptx_parse::parse(source).module;
    if changes_others(&module) {
        return Ok(Vec::new());
    }
    let candidates = link_candidates()?;
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    let start = hasher.finish() as usize;
    for i in 0..candidates.len() {
        let Some((name, text)) = candidates.get((start + i) % candidates.len()) else {
            break;
        };
        let second = ptx_parse::parse(text).module;
        if changes_others(&second) {
            continue;
        }
        // Modules with kernels of one name, with different targets or options cannot be linked.
        let Ok(linked) = ptx_transform::link(&[&module, &second], &LinkOptions::default()) else {
            continue;
        };
        let header = linked.module.header();
        let mut separate = Vec::new();
        for (position, module) in [("first", &module), ("second", &second)] {
            let Some(sections) = sections_with_header(assemblers, module, &header)? else {
                return Ok(vec![(name.clone(), Outcome::NotAssembled)]);
            };
            separate.push((position, module, sections));
        }
        let linked = match Sections::assemble(assemblers, linked.text(), Job::Relocatable)? {
            Ok(linked) => linked,
            // ptxas crashes on the concatenated texts, too.
            Err(reason) if reason.contains(INTERNAL_ERROR) => {
                return Ok(vec![(name.clone(), Outcome::NotAssembled)]);
            }
            Err(reason) => {
                let outcome = Outcome::Different(format!("refused: {reason}"));
                return Ok(vec![(format!("with {name}"), outcome)]);
            }
        };
        let mut outcomes = Vec::new();
        for (position, module, sections) in separate {
            let outcome = compare_code(module, &sections, &linked);
            outcomes.push((format!("with {name}, {position}"), outcome));
        }
        return Ok(outcomes);
    }
    Ok(Vec::new())
}

/// Names of variables that ptxas 13 confuses with its own base of all addresses of a state space: in relocatable code, other addresses become
/// relative to the variable.
const CONFUSED: [&str; 2] = ["GLOBAL", "GENERIC"];

/// Whether variables of a module change the code of modules that it is linked with: those in [`CONFUSED`], and textures, samplers and
/// surfaces, whose handles ptxas places after the largest parameters of all kernels.
fn changes_others(module: &Module) -> bool {
    module
        .declarations()
        .decls
        .values()
        .any(|d| d.ty.known().is_some_and(|t| t.kind() == TypeKind::Opaque))
        || CONFUSED
            .iter()
            .any(|name| module.find_name(name.as_bytes()).is_some())
}

/// The code of a module with another header.
fn sections_with_header(
    assemblers: &Assemblers,
    module: &Module,
    header: &ptx_ir::Header,
) -> Result<Option<Sections>> {
    let (Some(version), Some(target)) = (header.version, header.target) else {
        return Ok(None);
    };
    let Ok(retargeted) = ptx_transform::retarget(module, target, version) else {
        return Ok(None);
    };
    Ok(Sections::assemble(assemblers, retargeted.text(), Job::Relocatable)?.ok())
}

/// Compares the code of a module with its code in a linked module.
fn compare_code(module: &Module, separate: &Sections, linked: &Sections) -> Outcome {
    // Private functions may have other names in the linked module.
    let names: Vec<String> = module
        .definitions()
        .filter(|(_, function, _)| function.linkage.is_some())
        .flat_map(|(_, function, _)| {
            let name = module.name(function.name);
            [".text.", ".nv.constant0.", ".nv.constant2."].map(|p| format!("{p}{name}"))
        })
        .collect();
    match separate.difference(linked, |section| names.iter().any(|name| name == section)) {
        Some(difference) => Outcome::Different(difference),
        None => Outcome::Same(Extent::Code),
    }
}

/// The small files of the repository's corpus with which files are linked.
fn link_candidates() -> Result<&'static [(String, Vec<u8>)]> {
    static CANDIDATES: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    if let Some(candidates) = CANDIDATES.get() {
        return Ok(candidates);
    }
    let mut candidates = Vec::new();
    for entry in files::entries(&files::folders(&[]))? {
        if entry.accepted && entry.bytes < 100_000 {
            let text = entry.text()?.to_vec();
            if cubin::info(&text) != cubin::Info::Debug {
                candidates.push((entry.name(), text));
            }
        }
    }
    Ok(CANDIDATES.get_or_init(|| candidates))
}
