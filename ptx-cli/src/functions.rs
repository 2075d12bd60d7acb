//! The option `--function`, which several commands have.

use std::collections::HashSet;

use anyhow::{Result, bail};
use ptx_ir::{FuncId, Module};

use ptx_report::demangle::FunctionPattern;

/// The options that choose functions.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Functions {
    /// Only functions of this name, mangled or demangled; `*` matches any characters, `?` one. May be repeated
    #[arg(long = "function", visible_alias = "kernel", value_name = "NAME")]
    names: Vec<FunctionPattern>,
}

/// The functions of a module that `--function` selects.
pub(crate) struct Chosen {
    /// The selected functions in ascending order; `None` without the option.
    functions: Option<Vec<FuncId>>,
    /// For each occurrence of the option, whether a function has its name.
    used: Vec<bool>,
}

impl Functions {
    /// Whether the option is not given.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Selects functions of a module that have a body.
    pub(crate) fn choose(&self, module: &Module) -> Chosen {
        let definitions: Vec<(FuncId, &str)> = module
            .definitions()
            .map(|(id, function, _)| (id, module.name(function.name)))
            .collect();
        let mut chosen_names = HashSet::new();
        let mut used = Vec::new();
        for pattern in &self.names {
            let names = pattern.matching(definitions.iter().map(|(_, name)| *name));
            used.push(!names.is_empty());
            chosen_names.extend(names);
        }
        let functions = (!self.names.is_empty()).then(|| {
            definitions
                .iter()
                .filter(|(_, name)| chosen_names.contains(name))
                .map(|(id, _)| *id)
                .collect()
        });
        Chosen { functions, used }
    }

    /// Checks that each occurrence of the option selected a function of one of the modules. [`Chosen::note`] collected `used` from the modules.
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
    /// All functions, without the option.
    pub(crate) fn all() -> Self {
        Self {
            functions: None,
            used: Vec::new(),
        }
    }

    /// Whether the function with a name is selected. Without a name, whether everything outside of functions is.
    pub(crate) fn contains_name(&self, module: &Module, name: Option<&str>) -> bool {
        self.functions.is_none()
            || name
                .and_then(|name| module.function(name))
                .is_some_and(|id| self.contains(id))
    }

    /// Marks the occurrences of the option that selected a function.
    pub(crate) fn note(&self, used: &mut Vec<bool>) {
        used.resize(self.used.len(), false);
        for (is_used, used_here) in used.iter_mut().zip(&self.used) {
            *is_used |= used_here;
        }
    }

    pub(crate) fn contains(&self, id: FuncId) -> bool {
        self.functions
            .as_ref()
            .is_none_or(|functions| functions.binary_search(&id).is_ok())
    }
}
