//! The option `--function`, which several commands have.

use std::collections::HashSet;

use anyhow::{Result, bail};
use ptx_ir::{FuncId, Module};

use ptx_report::demangle::Wanted;

/// Which functions a command works on.
#[derive(Debug, clap::Args)]
pub(crate) struct Functions {
    /// Only functions of this name, mangled or demangled; `*` matches any characters, `?` one. May be repeated
    #[arg(long = "function", alias = "kernel", value_name = "NAME")]
    names: Vec<Wanted>,
}

/// The functions of a module that were chosen.
pub(crate) struct Chosen {
    /// `None` for all.
    functions: Option<Vec<FuncId>>,
    /// For each option whether a function has its name.
    used: Vec<bool>,
}

impl Functions {
    /// Whether any are named.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Chooses among the functions of a module that have a body.
    pub(crate) fn choose(&self, module: &Module) -> Chosen {
        let definitions = module.definitions();
        let definitions: Vec<(FuncId, &str)> = definitions
            .map(|(id, function, _)| (id, module.name(function.name)))
            .collect();
        let mut chosen = HashSet::new();
        let mut used = Vec::new();
        for wanted in &self.names {
            let names = wanted.matching(definitions.iter().map(|(_, name)| *name));
            used.push(!names.is_empty());
            chosen.extend(names);
        }
        let chosen = definitions.iter().filter(|(_, name)| chosen.contains(name));
        let functions = (!self.names.is_empty()).then(|| chosen.map(|(id, _)| *id).collect());
        Chosen { functions, used }
    }

    /// Checks that each option chose something in one of the modules; `used` has been given to [`Chosen::note`] for each.
    ///
    /// # Errors
    ///
    /// No function has the name.
    pub(crate) fn check(&self, used: &[bool]) -> Result<()> {
        let mut unused = self.names.iter().zip(used).filter(|(_, used)| !**used);
        match unused.next() {
            Some((name, _)) => bail!("no function `{name}` with a body"),
            None => Ok(()),
        }
    }
}

impl Chosen {
    /// Notes which options chose something.
    pub(crate) fn note(&self, used: &mut Vec<bool>) {
        used.resize(self.used.len(), false);
        for (all, own) in used.iter_mut().zip(&self.used) {
            *all |= own;
        }
    }

    pub(crate) fn contains(&self, id: FuncId) -> bool {
        let chosen = self.functions.as_ref();
        chosen.is_none_or(|ids| ids.binary_search(&id).is_ok())
    }
}
