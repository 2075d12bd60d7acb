//! Comparison of machine code: the cubin of a rewritten text with that of the original.
//!
//! Cubins without line info have to be identical: the output of ptxas depends neither on the folder nor on whitespace. Two exceptions: the
//! symbols of variables inside functions are named after their lines, so names may differ; with `.loc` or sections of debug information
//! only code and data are compared. Modules with `.target … debug` are left out.

use std::sync::Arc;

use anyhow::Result;
use object::{Object as _, ObjectSection as _};
use ptx_ir::Module;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_isa::StateSpace;
use ptx_print::Style;

use super::trivia;
use crate::assembler::{Assemblers, Job, Verdict};

/// The result for one text.
pub(crate) enum Outcome {
    /// The cubins agree to this extent.
    Same(Extent),
    /// ptxas accepts the text, and it contains what it must; the code need not be the same.
    Accepted,
    /// The cubins differ; the first difference.
    Different(String),
    /// ptxas generates no code from the original.
    NotAssembled,
    /// ptxas generates different code each time.
    Random,
    /// Each kernel or function with code, and the difference of its code, if there is one.
    Kernels(Vec<(String, Option<String>)>),
}

/// The parts of two cubins that are compared.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Extent {
    Everything,
    /// All but the names of symbols.
    AllButNames,
    /// The sections with code and data.
    Code,
}

/// The texts to compare with the original.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Rewrite {
    Canonical,
    /// Comments and whitespace between all tokens.
    Mangled,
}

impl Rewrite {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Rewrite::Canonical => "canonical",
            Rewrite::Mangled => "mangled",
        }
    }
}

/// The debug information in a text.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Info {
    None,
    Lines,
    Debug,
}

/// Compares the cubin of a file with that of its rewritten text.
pub(crate) fn check(assemblers: &Assemblers, source: &[u8], rewrite: Rewrite) -> Result<Outcome> {
    let module = ptx_parse::parse(source).module;
    let text = match rewrite {
        Rewrite::Canonical => ptx_print::canonical(&module, &Style::default()),
        Rewrite::Mangled => trivia::mangle(source, trivia::Between::Names),
    };
    let least = match info(source) {
        Info::None if has_local_variables(&module) => Extent::AllButNames,
        Info::None => Extent::Everything,
        Info::Lines | Info::Debug => Extent::Code,
    };
    compare(assemblers, source, &text, least)
}

/// Compares the cubins of two texts, which have to agree at least to the given extent.
pub(crate) fn compare(
    assemblers: &Assemblers,
    source: &[u8],
    text: &[u8],
    least: Extent,
) -> Result<Outcome> {
    let Some((job, original)) = code(assemblers, source)? else {
        return Ok(Outcome::NotAssembled);
    };
    let rewritten = assemblers.run(text, job)?;
    if !rewritten.accepted {
        return Ok(Outcome::Different(format!(
            "refused: {}",
            rewritten.reason()
        )));
    }
    if original.cubin == rewritten.cubin {
        return Ok(Outcome::Same(Extent::Everything));
    }
    let Some(description) = difference(&original.cubin, &rewritten.cubin, least) else {
        return Ok(Outcome::Same(least));
    };
    for _ in 0..REPEATED {
        let again = assemblers.run(source, job)?;
        if difference(&original.cubin, &again.cubin, least).is_some() {
            return Ok(Outcome::Random);
        }
    }
    Ok(Outcome::Different(description))
}

/// The number of times that an original is assembled again before a difference counts. For some initializers ptxas leaves part of an address in the cubin,
/// about nine random bits, so two runs may agree by chance.
const REPEATED: usize = 16;

/// The cubin of an original: with all names resolved if possible, else a relocatable one.
pub(crate) fn code(assemblers: &Assemblers, source: &[u8]) -> Result<Option<(Job, Arc<Verdict>)>> {
    for job in [Job::Code, Job::Relocatable] {
        let verdict = assemblers.run_cached(source, job)?;
        if verdict.accepted {
            return Ok(Some((job, verdict)));
        }
    }
    Ok(None)
}

/// Whether a function contains variables that may become symbols.
pub(crate) fn has_local_variables(module: &Module) -> bool {
    module
        .bodies()
        .values()
        .flat_map(|b| b.vars().values())
        .any(|v| {
            matches!(
                v.space,
                StateSpace::Global | StateSpace::Const | StateSpace::Shared
            )
        })
}

/// Whether a text has line info or is compiled for a debugger.
pub(crate) fn info(source: &[u8]) -> Info {
    let mut lines = false;
    let mut in_target = false;
    for token in Lexer::new(source).filter(|t| !t.kind.is_trivia()) {
        let text = token.span.of(source);
        if token.kind == TokenKind::DotWord {
            in_target = text == b".target";
            lines |= text == b".loc" || text == b".section";
        } else if in_target && text == b"debug" {
            return Info::Debug;
        }
    }
    if lines { Info::Lines } else { Info::None }
}

impl Extent {
    /// Whether a section has to be the same.
    fn includes(self, section: &str) -> bool {
        match self {
            Extent::Everything => true,
            Extent::AllButNames => !matches!(section, ".strtab" | ".symtab"),
            Extent::Code => {
                let prefixes = [".text.", ".nv.constant", ".nv.shared", ".nv.global"];
                prefixes.iter().any(|p| section.starts_with(p))
            }
        }
    }
}

/// The sections with code of a cubin, each with its difference from the section of another cubin.
pub(crate) fn kernels(left: &[u8], right: &[u8]) -> Vec<(String, Option<String>)> {
    let (Ok(a), Ok(b)) = (object::File::parse(left), object::File::parse(right)) else {
        return vec![(String::new(), Some("a cubin is not an ELF file".to_owned()))];
    };
    a.sections()
        .filter_map(|section| {
            let name = section.name().ok()?.strip_prefix(".text.")?.to_owned();
            let old = section.data().unwrap_or_default();
            let new = b.section_by_name(section.name().ok()?);
            let difference = match new.map(|s| s.data().unwrap_or_default()) {
                None => Some("missing".to_owned()),
                Some(new) if new == old => None,
                Some(new) => Some(format!("{} bytes became {}", old.len(), new.len())),
            };
            Some((name, difference))
        })
        .collect()
}

/// The first section that differs although it must not.
fn difference(left: &[u8], right: &[u8], extent: Extent) -> Option<String> {
    let (Ok(a), Ok(b)) = (object::File::parse(left), object::File::parse(right)) else {
        return Some("a cubin is not an ELF file".to_owned());
    };
    let names = |file: &object::File<'_>| -> Vec<String> {
        let mut names: Vec<String> = file
            .sections()
            .filter_map(|s| s.name().ok().map(str::to_owned))
            .filter(|name| extent.includes(name))
            .collect();
        if extent == Extent::Code {
            // The order of sections follows from names.
            names.sort();
        }
        names
    };
    let (left_names, right_names) = (names(&a), names(&b));
    if left_names != right_names {
        let unmatched: Vec<_> = (left_names.iter().chain(&right_names))
            .filter(|n| left_names.contains(n) != right_names.contains(n))
            .take(5)
            .map(String::as_str)
            .collect();
        return Some(format!(
            "other sections or another order: {}",
            unmatched.join(", ")
        ));
    }
    for name in left_names {
        let (Some(old), Some(new)) = (a.section_by_name(&name), b.section_by_name(&name)) else {
            continue;
        };
        let size = old.size();
        if size != new.size() {
            let new_size = new.size();
            return Some(format!("section {name}: {size} bytes became {new_size}"));
        }
        // Shared memory has no initial contents: in newer files its sections share the bytes of other sections.
        if name.starts_with(".nv.shared") {
            continue;
        }
        let (old, new) = (
            old.data().unwrap_or_default(),
            new.data().unwrap_or_default(),
        );
        if let Some(offset) = old.iter().zip(new).position(|(a, b)| a != b) {
            return Some(format!(
                "section {name}: byte {offset:#x} of {size:#x} is the first to differ"
            ));
        }
    }
    (extent == Extent::Everything && left != right).then(|| "headers".to_owned())
}
