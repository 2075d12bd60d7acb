//! Some sections of two cubins side by side, whatever else is in them: where modules are taken apart and put together, the
//! order of the rest may change.

use std::collections::BTreeMap;

use anyhow::Result;
use object::{Object as _, ObjectSection as _};
use ptx_ir::{FunctionKind, Module};

use crate::assembler::{Assemblers, Job};
use crate::corpus::cubin::{Extent, Outcome};

/// The sections with code and data of a cubin, by name.
pub(super) struct Sections {
    job: Job,
    bytes: BTreeMap<String, (u64, Vec<u8>)>,
}

impl Sections {
    /// Assembles a text with all names resolved, else a relocatable one; `None` where neither can be made.
    fn of(assemblers: &Assemblers, text: &[u8]) -> Result<Option<Self>> {
        for job in [Job::Code, Job::Relocatable] {
            if let Ok(sections) = Self::by(assemblers, text, job)? {
                return Ok(Some(sections));
            }
        }
        Ok(None)
    }

    /// The same in one way, or why not.
    pub(super) fn by(
        assemblers: &Assemblers,
        text: &[u8],
        job: Job,
    ) -> Result<Result<Self, String>> {
        let verdict = assemblers.run(text, job)?;
        if !verdict.accepted {
            return Ok(Err(verdict.reason().to_owned()));
        }
        let Ok(file) = object::File::parse(&*verdict.cubin) else {
            return Ok(Err("a cubin is not an ELF file".to_owned()));
        };
        let named = |s: object::Section<'_, '_>| {
            let name = s.name().ok()?.to_owned();
            Some((name, (s.size(), s.data().unwrap_or_default().to_vec())))
        };
        let bytes = file.sections().filter_map(named).collect();
        Ok(Ok(Self { job, bytes }))
    }

    /// The first difference between the wanted sections of two cubins.
    pub(super) fn difference(&self, other: &Self, wanted: impl Fn(&str) -> bool) -> Option<String> {
        let names = self.bytes.keys().chain(other.bytes.keys());
        names.filter(|n| wanted(n)).find_map(|name| {
            match (self.bytes.get(name), other.bytes.get(name)) {
                (Some(_), None) => Some(format!("section {name} is missing")),
                (None, Some(_)) => Some(format!("section {name} is new")),
                (Some((m, _)), Some((n, _))) if m != n => {
                    Some(format!("section {name}: {m} bytes became {n}"))
                }
                (Some((_, a)), Some((_, b))) => {
                    let at = a.iter().zip(b).position(|(x, y)| x != y)?;
                    Some(format!(
                        "section {name}: byte {at:#x} is the first to differ"
                    ))
                }
                (None, None) => None,
            }
        })
    }
}

/// A file beside which rewritten texts are put.
pub(super) struct Original<'a> {
    assemblers: &'a Assemblers,
    source: &'a [u8],
    sections: Sections,
}

impl<'a> Original<'a> {
    /// `None` if ptxas generates no code from it.
    pub(super) fn of(assemblers: &'a Assemblers, source: &'a [u8]) -> Result<Option<Self>> {
        let sections = Sections::of(assemblers, source)?;
        Ok(sections.map(|sections| Self {
            assemblers,
            source,
            sections,
        }))
    }

    /// The first difference in the wanted sections. Removing or reordering variables changes addresses, so the relocatable cubins are
    /// compared too: sections wanted by `open` that are equal there are equal.
    pub(super) fn compare(
        &self,
        text: &[u8],
        wanted: impl Fn(&str) -> bool,
        open: impl Fn(&str) -> bool,
    ) -> Result<Outcome> {
        let by = |text, job| Sections::by(self.assemblers, text, job);
        let how = match by(text, self.sections.job)? {
            Ok(sections) => self.sections.difference(&sections, wanted),
            Err(reason) => Some(format!("refused: {reason}")),
        };
        let Some(how) = how else {
            return Ok(Outcome::Same(Extent::Code));
        };
        let relocatable = |text| by(text, Job::Relocatable);
        Ok(match (relocatable(self.source)?, relocatable(text)?) {
            (Ok(a), Ok(b)) if a.difference(&b, open).is_none() => Outcome::Same(Extent::Code),
            _ => Outcome::Different(how),
        })
    }
}

/// Some kernels of a module, as many as `most`, evenly chosen.
pub(super) fn kernels(module: &Module, most: usize) -> Vec<&str> {
    let all = module.definitions().map(|(_, f, _)| f);
    let all = all.filter(|f| f.kind == FunctionKind::Entry);
    let names: Vec<&str> = all.map(|f| module.name(f.name)).collect();
    let step = names.len().div_ceil(most).max(1);
    names.into_iter().step_by(step).collect()
}

/// Whether a section holds the code of a kernel, or its constants.
pub(super) fn is_of(kernel: &str, section: &str) -> bool {
    let constants = section.strip_prefix(".nv.constant");
    let of = constants.and_then(|rest| rest.split_once('.'));
    section.strip_prefix(".text.") == Some(kernel) || of.is_some_and(|(_, name)| name == kernel)
}
