//! Modules taken apart and linked again, and modules that have nothing to do with each other linked: the code is what it was.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::OnceLock;

use anyhow::{Result, bail};
use ptx_ir::{Module, Severity};
use ptx_isa::TypeKind;
use ptx_transform::LinkOptions;

use super::sections::{Original, Sections, kernels};
use crate::assembler::{Assemblers, Job};
use crate::corpus::cubin::{self, Extent, Outcome};
use crate::files;

/// The number of kernels of one file that are split off.
const MOST: usize = 2;

/// The message of ptxas on an internal error.
const BROKEN: &str = "Internal compiler error";

/// Sections that hold code, parameters and data; the order of variables in a section may have changed.
fn code_and_data(section: &str) -> bool {
    let prefixes = [".text.", ".nv.constant", ".nv.shared", ".nv.global"];
    prefixes.iter().any(|p| section.starts_with(p))
}

/// Sections that hold code alone.
fn code(section: &str) -> bool {
    let prefixes = [".text.", ".nv.constant0.", ".nv.constant2."];
    prefixes.iter().any(|p| section.starts_with(p))
}

/// A kernel with what it needs, linked with the rest of its module.
pub(super) fn again(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
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
        let outcome = match linked(&module, name)? {
            Ok(text) => original.compare(&text, code_and_data, code)?,
            Err(how) => Outcome::Different(how),
        };
        found.push((name.to_owned(), outcome));
    }
    Ok(found)
}

/// Parts a module and links the parts.
fn linked(module: &Module, name: &str) -> Result<Result<Vec<u8>, String>> {
    let Ok(split) = ptx_transform::split(module, &[name]) else {
        bail!("there is no `{name}`");
    };
    let parts = [&split.part, &split.rest].map(|p| ptx_parse::parse(&p.rewritten.text));
    let mut said = parts.iter().flat_map(|p| &p.diagnostics);
    if let Some(d) = said.find(|d| d.severity == Severity::Error) {
        return Ok(Err(format!("a part cannot be read: {}", d.message)));
    }
    let [part, rest] = parts.map(|p| p.module);
    let hide: Vec<&str> = split.exported.iter().map(String::as_str).collect();
    let options = LinkOptions::new().with_hidden(&hide);
    Ok(match ptx_transform::link(&[&part, &rest], &options) {
        Ok(linked) => Ok(linked.text),
        Err(found) => Err(found
            .first()
            .map_or(String::new(), |d| d.diagnostic.message.clone())),
    })
}

/// The file linked with another compatible file of the corpus.
pub(super) fn pair(assemblers: &Assemblers, source: &[u8]) -> Result<Vec<(String, Outcome)>> {
    let module = ptx_parse::parse(source).module;
    if changes_others(&module) {
        return Ok(Vec::new());
    }
    let others = others()?;
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    let start = hasher.finish() as usize;
    for i in 0..others.len() {
        let Some((name, other)) = others.get((start + i) % others.len()) else {
            break;
        };
        let second = ptx_parse::parse(other).module;
        if changes_others(&second) {
            continue;
        }
        // Incompatible: kernels of the same name, other targets, other options.
        let Ok(linked) = ptx_transform::link(&[&module, &second], &LinkOptions::default()) else {
            continue;
        };
        let header = ptx_parse::parse(&linked.text).module.header();
        let mut alone = Vec::new();
        for (which, module) in [("first", &module), ("second", &second)] {
            let Some(sections) = under(assemblers, module, &header)? else {
                return Ok(vec![(name.clone(), Outcome::NotAssembled)]);
            };
            alone.push((which, module, sections));
        }
        let together = match Sections::by(assemblers, &linked.text, Job::Relocatable)? {
            Ok(together) => together,
            // ptxas crashes on the concatenated texts, too.
            Err(reason) if reason.contains(BROKEN) => {
                return Ok(vec![(name.clone(), Outcome::NotAssembled)]);
            }
            Err(reason) => {
                let how = Outcome::Different(format!("refused: {reason}"));
                return Ok(vec![(format!("with {name}"), how)]);
            }
        };
        let compare = |(which, module, sections): &(_, &Module, Sections)| {
            let outcome = within(module, sections, &together);
            (format!("with {name}, {which}"), outcome)
        };
        return Ok(alone.iter().map(compare).collect());
    }
    Ok(Vec::new())
}

/// Names of variables that ptxas 13 confuses with its own base of all addresses of a state space: in relocatable code, other addresses become
/// relative to the variable.
const CONFUSED: [&str; 2] = ["GLOBAL", "GENERIC"];

/// Whether variables of a module change the code of modules that it is linked with: those in [`CONFUSED`], and textures, samplers and
/// surfaces, whose handles ptxas places after the largest parameters of all kernels.
fn changes_others(module: &Module) -> bool {
    let opaque = |d: &ptx_ir::VarDecl| d.ty.known().is_some_and(|t| t.kind() == TypeKind::Opaque);
    let confused = |name: &&str| module.find_name(name.as_bytes()).is_some();
    module.declarations().decls.values().any(opaque) || CONFUSED.iter().any(confused)
}

/// The code of a module under another header.
fn under(
    assemblers: &Assemblers,
    module: &Module,
    header: &ptx_ir::Header,
) -> Result<Option<Sections>> {
    let (Some(version), Some(target)) = (header.version, header.target) else {
        return Ok(None);
    };
    let Some(text) = ptx_transform::retarget(module, target, version) else {
        return Ok(None);
    };
    Ok(Sections::by(assemblers, &text, Job::Relocatable)?.ok())
}

/// Whether the code of a module is among other code.
fn within(module: &Module, alone: &Sections, together: &Sections) -> Outcome {
    // What is private may have another name there.
    let kernels = module.definitions().map(|(_, f, _)| f);
    let visible = kernels.filter(|f| f.linkage.is_some());
    let own: Vec<String> = visible
        .flat_map(|f| {
            let name = module.name(f.name);
            [".text.", ".nv.constant0.", ".nv.constant2."].map(|p| format!("{p}{name}"))
        })
        .collect();
    let wanted = |s: &str| own.iter().any(|o| o == s);
    let how = alone.difference(together, wanted);
    how.map_or(Outcome::Same(Extent::Code), Outcome::Different)
}

/// Small files of the repository's corpus to link others with.
fn others() -> Result<&'static [(String, Vec<u8>)]> {
    static OTHERS: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    if let Some(others) = OTHERS.get() {
        return Ok(others);
    }
    let mut found = Vec::new();
    for entry in files::entries(&files::folders(&[]))? {
        if entry.accepted && entry.bytes < 100_000 {
            let text = entry.text()?.to_vec();
            if cubin::info(&text) != cubin::Info::Debug {
                found.push((entry.name(), text));
            }
        }
    }
    Ok(OTHERS.get_or_init(|| found))
}
