//! The names that a declaration can mention.

use alloc::vec::Vec;

use crate::error::BuildError;
use crate::function::body::Body;
use crate::handle::{CodeLabel, Dependency, Func, Variable};
use crate::handle_owner::Handle;
use crate::initializer::Names;
use crate::module::tables::Tables;
use crate::refusal::{early, hidden, later};

/// The names of a module and, inside a function, of that function.
pub(crate) struct NameScope<'s> {
    tables: &'s Tables,
    /// `None` outside functions.
    body: Option<&'s Body>,
    /// What was mentioned.
    pub(crate) mentions: Vec<Dependency>,
}

impl<'s> NameScope<'s> {
    pub(crate) fn new(tables: &'s Tables, body: Option<&'s Body>) -> Self {
        let mentions = Vec::new();
        Self {
            tables,
            body,
            mentions,
        }
    }

    fn place(&self) -> Option<&'s str> {
        self.body.map(|b| b.name.as_str())
    }
}

impl Names for NameScope<'_> {
    fn variable(&mut self, var: Variable) -> Result<&str, BuildError> {
        let body = self.body.filter(|b| b.owner == var.owner);
        if let Some(local) = body.and_then(|b| b.locals.get(var.index as usize)) {
            if !local.visible {
                return Err(hidden("variable", &local.name));
            }
            self.mentions.push(Dependency::Local(var.index));
            return Ok(&local.name);
        }
        let name = self.tables.global(var, self.place())?;
        if self.body.is_some_and(|b| b.means(name)) {
            return Err(hidden("variable", name));
        }
        self.mentions.push(Dependency::Global(var.index));
        Ok(name)
    }

    fn function(&mut self, func: Func) -> Result<&str, BuildError> {
        let known = self.tables.func(func, self.place())?;
        if let Some(body) = self.body {
            if !body.knows(func.index, known.written) {
                return Err(later(&known.name));
            }
            if body.shadows(&known.name, func.index) {
                return Err(hidden("function", &known.name));
            }
        }
        self.mentions.push(Dependency::Func(func.index));
        Ok(&known.name)
    }

    fn label(&mut self, label: CodeLabel) -> Result<&str, BuildError> {
        let body = self.body.filter(|b| b.owner == label.owner);
        let known = body.and_then(|b| Some((b, b.labels.get(label.index as usize)?)));
        let Some((body, info)) = known else {
            let past = &self.tables.past;
            return Err(past.refuse(Handle::Label(label), self.place()));
        };
        if !body.reaches(info) {
            return Err(hidden("label", &info.name));
        }
        if info.place.is_none() && self.tables.names.contains(&info.name) {
            return Err(early(&info.name));
        }
        self.mentions.push(Dependency::Label(label.index));
        Ok(&info.name)
    }
}
