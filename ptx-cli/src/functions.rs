//! The option `--function`, which several commands have.

use anyhow::{Result, bail};
use ptx_ir::{FuncId, Module};
use wildmatch::WildMatch;

use crate::render::clean;

/// Which functions a command works on.
#[derive(Debug, clap::Args)]
pub(crate) struct Functions {
    /// Only functions of this name; `*` matches any characters, `?` one. May be repeated
    #[arg(long = "function", value_name = "NAME")]
    names: Vec<String>,
}

/// The functions of a module that were chosen.
pub(crate) struct Chosen {
    /// `None` for all.
    functions: Option<Vec<FuncId>>,
    /// For each option whether a function has its name.
    used: Vec<bool>,
}

impl Functions {
    /// Chooses among the functions of a module that have a body.
    pub(crate) fn choose(&self, module: &Module) -> Chosen {
        let patterns = self.names.iter().map(|name| WildMatch::new(name));
        let patterns: Vec<WildMatch> = patterns.collect();
        let mut used = vec![false; patterns.len()];
        let definitions = module.definitions().filter(|(_, function, _)| {
            let name = module.name(function.name);
            let mut wanted = false;
            for (pattern, used) in patterns.iter().zip(&mut used) {
                let matches = pattern.matches(name);
                *used |= matches;
                wanted |= matches;
            }
            wanted
        });
        let functions = (!patterns.is_empty()).then(|| definitions.map(|(id, ..)| id).collect());
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
            Some((name, _)) => bail!("no function {:?} with a body", clean(name)),
            None => Ok(()),
        }
    }
}

impl Chosen {
    /// All functions.
    #[cfg(test)]
    pub(crate) const fn all() -> Self {
        Self {
            functions: None,
            used: Vec::new(),
        }
    }

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
