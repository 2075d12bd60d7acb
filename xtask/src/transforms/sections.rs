//! Some sections of two cubins side by side, whatever else is in them: where modules are taken apart and put together, the
//! order of the rest may change.

use std::collections::BTreeMap;

use anyhow::Result;
use object::{Object as _, ObjectSection as _};

use crate::ptxas::{Assemblers, Job};

/// The sections with code and data of a cubin, by name.
pub(super) struct Sections {
    job: Job,
    bytes: BTreeMap<String, (u64, Vec<u8>)>,
}

impl Sections {
    /// Assembles a text with all names resolved, else a relocatable one; `None` where neither can be made.
    pub(super) fn of(assemblers: &Assemblers, text: &[u8]) -> Result<Option<Self>> {
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
            return Ok(Err("a cubin is no ELF file".to_owned()));
        };
        let named = |s: object::Section<'_, '_>| {
            let name = s.name().ok()?.to_owned();
            Some((name, (s.size(), s.data().unwrap_or_default().to_vec())))
        };
        let bytes = file.sections().filter_map(named).collect();
        Ok(Ok(Self { job, bytes }))
    }

    /// How it was made.
    pub(super) fn job(&self) -> Job {
        self.job
    }

    /// The first difference between the wanted sections of two cubins.
    pub(super) fn difference(&self, other: &Self, wanted: impl Fn(&str) -> bool) -> Option<String> {
        let names = self.bytes.keys().chain(other.bytes.keys());
        names.filter(|n| wanted(n)).find_map(|name| {
            match (self.bytes.get(name), other.bytes.get(name)) {
                (Some(_), None) => Some(format!("section {name} is gone")),
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
