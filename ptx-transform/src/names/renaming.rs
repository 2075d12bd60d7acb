//! Many names changed in one pass.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use core::fmt;

use ptx_ir::Module;
use ptx_ir::edit::OffsetMap;

use super::{Entity, Name, Taken, each_name};
use crate::{Rewritten, Splices};

/// Why names stay as they are.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refused {
    /// Nothing has this name.
    Missing(String),
    /// It cannot be a name.
    Spelling(String),
    /// Something has the name, or a statement would mean something else by it.
    Taken(String),
    /// Debug information, a table of targets or something not understood speaks of the name.
    Used(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "nothing has the name `{name}`"),
            Self::Spelling(name) => write!(f, "`{name}` can be no name"),
            Self::Taken(name) => write!(f, "the name `{name}` is taken"),
            Self::Used(name) => write!(f, "debug information or a table speaks of `{name}`"),
        }
    }
}

impl core::error::Error for Refused {}

/// New spellings of entities.
#[derive(Default)]
pub(crate) struct Spellings {
    all: BTreeMap<Entity, String>,
}

impl Spellings {
    pub(crate) fn set(&mut self, entity: Entity, name: String) {
        self.all.insert(entity, name);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The first of them that something has, or that means something.
    pub(crate) fn first_clash(&self, module: &Module) -> Option<String> {
        let mut names = alloc::collections::BTreeSet::new();
        each_name(module, |n| {
            names.extend(
                n.entity
                    .name(module)
                    .filter(|_| !self.all.contains_key(&n.entity)),
            );
        });
        let mut taken = Taken::default();
        for name in names {
            taken.add(module.name_bytes(name));
        }
        let mut all = self.all.values();
        let twice = |name: &&String| self.all.values().filter(|n| n == name).count() > 1;
        let clash = all.clone().find(|n| !taken.is_free(n));
        clash.or_else(|| all.find(twice)).cloned()
    }

    /// Writes them wherever a name stands.
    pub(crate) fn splice(&self, module: &Module, splices: &mut Splices) {
        if self.is_empty() {
            return;
        }
        each_name(module, |name| {
            if let Some(new) = self.all.get(&name.entity) {
                match name.number {
                    Some(number) => splices.replace(name.span, format!("{new}{number}")),
                    None => splices.replace(name.span, new),
                }
            }
        });
    }
}

/// A module whose source is its text: itself, or read again where it was edited, with the way there.
pub(crate) fn current(module: &Module) -> (Cow<'_, Module>, Option<OffsetMap>) {
    if !module.is_edited() {
        return (Cow::Borrowed(module), None);
    }
    let (text, map) = ptx_print::verbatim_with_map(module);
    (Cow::Owned(ptx_parse::parse(&text).module), Some(map))
}

/// Rewrites the text of a module, edited or not.
pub(crate) fn rewrite<E>(
    module: &Module,
    how: impl FnOnce(&Module) -> Result<Splices, E>,
) -> Result<Rewritten, E> {
    let (module, before) = current(module);
    let mut new = how(&module)?.apply(module.source());
    if let Some(before) = before {
        new.map = before.then(&new.map);
    }
    Ok(new)
}

/// Whether the same names stand in the same order in two modules: they differ in nothing but spelling.
pub(crate) fn same_names(old: &Module, new: &Module) -> bool {
    let list = |module: &Module| {
        let mut all = alloc::vec::Vec::new();
        // Spellings are numbered too; those of unknown names are compared by where they stand.
        let unnumbered = |entity| match entity {
            Entity::Unknown(_) => None,
            other => Some(other),
        };
        each_name(module, |n: Name| {
            all.push((unnumbered(n.entity), n.declares));
        });
        all
    };
    list(old) == list(new)
}
