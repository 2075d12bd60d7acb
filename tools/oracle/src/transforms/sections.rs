//! Comparison of some sections of two cubins. If modules are split and linked, the order of the other sections may
//! change.

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
    /// Assembles a text with all names resolved, else as a relocatable cubin; `None` if ptxas refuses both.
    fn of(assemblers: &Assemblers, text: &[u8]) -> Result<Option<Self>> {
        for job in [Job::Code, Job::Relocatable] {
            if let Ok(sections) = Self::assemble(assemblers, text, job)? {
                return Ok(Some(sections));
            }
        }
        Ok(None)
    }

    /// Assembles a text. Returns its sections, or the reason why it has no sections.
    pub(super) fn assemble(
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
        let mut bytes = BTreeMap::new();
        for section in file.sections() {
            if let Ok(name) = section.name() {
                let data = section.data().unwrap_or_default().to_vec();
                bytes.insert(name.to_owned(), (section.size(), data));
            }
        }
        Ok(Ok(Self { job, bytes }))
    }

    /// The first difference between the compared sections of two cubins.
    pub(super) fn difference(
        &self,
        other: &Self,
        is_compared: impl Fn(&str) -> bool,
    ) -> Option<String> {
        self.bytes
            .keys()
            .chain(other.bytes.keys())
            .filter(|name| is_compared(name))
            .find_map(|name| self.section_difference(other, name))
    }

    fn section_difference(&self, other: &Self, name: &str) -> Option<String> {
        match (self.bytes.get(name), other.bytes.get(name)) {
            (Some(_), None) => Some(format!("section {name} is missing")),
            (None, Some(_)) => Some(format!("section {name} is new")),
            (Some((m, _)), Some((n, _))) if m != n => {
                Some(format!("section {name}: {m} bytes became {n}"))
            }
            (Some((_, a)), Some((_, b))) => {
                let offset = a.iter().zip(b).position(|(x, y)| x != y)?;
                Some(format!(
                    "section {name}: byte {offset:#x} is the first to differ"
                ))
            }
            (None, None) => None,
        }
    }
}

/// A file with which rewritten texts are compared.
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

    /// The first difference in the compared sections. Removing or reordering variables changes addresses, so the relocatable cubins are
    /// compared, too: it is sufficient that the sections that pass `is_compared_relocatable` are equal there.
    pub(super) fn compare(
        &self,
        text: &[u8],
        is_compared: impl Fn(&str) -> bool,
        is_compared_relocatable: impl Fn(&str) -> bool,
    ) -> Result<Outcome> {
        let assemble = |text, job| Sections::assemble(self.assemblers, text, job);
        let difference = match assemble(text, self.sections.job)? {
            Ok(sections) => self.sections.difference(&sections, is_compared),
            Err(reason) => Some(format!("refused: {reason}")),
        };
        let Some(difference) = difference else {
            return Ok(Outcome::Same(Extent::Code));
        };
        let original = assemble(self.source, Job::Relocatable)?;
        let rewritten = assemble(text, Job::Relocatable)?;
        if let (Ok(original), Ok(rewritten)) = (original, rewritten)
            && original
                .difference(&rewritten, is_compared_relocatable)
                .is_none()
        {
            return Ok(Outcome::Same(Extent::Code));
        }
        Ok(Outcome::Different(difference))
    }
}

/// The names of at most `max` kernels of a module, evenly chosen.
pub(super) fn kernels(module: &Module, max: usize) -> Vec<&str> {
    let names: Vec<&str> = module
        .definitions()
        .filter(|(_, function, _)| function.kind == FunctionKind::Entry)
        .map(|(_, function, _)| module.name(function.name))
        .collect();
    let step = names.len().div_ceil(max).max(1);
    names.into_iter().step_by(step).collect()
}

/// Compares each of at most `max` kernels of a text with its rewritten form, by a function that gets the original, its module and the kernel.
pub(super) fn for_kernels(
    assemblers: &Assemblers,
    source: &[u8],
    max: usize,
    compare: impl Fn(&Original<'_>, &Module, &str) -> Result<Outcome>,
) -> Result<Vec<(String, Outcome)>> {
    let module = ptx_parse::parse(source).module;
    let names = kernels(&module, max);
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let Some(original) = Original::of(assemblers, source)? else {
        return Ok(vec![(String::new(), Outcome::NotAssembled)]);
    };
    names
        .into_iter()
        .map(|name| Ok((name.to_owned(), compare(&original, &module, name)?)))
        .collect()
}

/// Whether a section contains the code or the constants of a kernel.
pub(super) fn belongs_to(section: &str, kernel: &str) -> bool {
    if let Some(name) = section.strip_prefix(".text.") {
        return name == kernel;
    }
    section
        .strip_prefix(".nv.constant")
        .and_then(|suffix| suffix.split_once('.'))
        .is_some_and(|(_, name)| name == kernel)
}
