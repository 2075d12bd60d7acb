//! Names with their meanings: those of a module, and those of a function, where scopes hide outer ones.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

/// The meaning of a name, by its index among others of this kind.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    Register(u32),
    Local(u32),
    Label(u32),
    /// A member of a range of registers that nothing mentioned yet.
    Member,
    Function(u32),
    /// A variable of the module.
    Global(u32),
    /// A name of an item that was given as text.
    Item,
}

/// A meaning with the number of scopes around its declaration; 0 for the module.
pub(crate) type Declared = (usize, Meaning);

/// Names with the meaning that each has in the innermost scope.
#[derive(Default, Debug)]
pub(crate) struct NameTable(BTreeMap<String, Declared>);

impl NameTable {
    pub(crate) fn get(&self, name: &str) -> Option<Declared> {
        self.0.get(name).copied()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Sets the meaning of a name, or removes it; returns the previous one.
    pub(crate) fn set(&mut self, name: &str, meaning: Option<Declared>) -> Option<Declared> {
        match (self.0.get_mut(name), meaning) {
            (Some(last), Some(meaning)) => Some(core::mem::replace(last, meaning)),
            (None, Some(meaning)) => self.0.insert(name.to_string(), meaning),
            (_, None) => self.0.remove(name),
        }
    }

    /// The names that begin with a prefix.
    pub(crate) fn with_prefix<'t>(
        &'t self,
        prefix: &'t str,
    ) -> impl Iterator<Item = (&'t str, Declared)> + 't {
        let from = self.0.range(prefix.to_string()..);
        from.take_while(move |(name, _)| name.starts_with(prefix))
            .map(|(name, declared)| (name.as_str(), *declared))
    }
}
