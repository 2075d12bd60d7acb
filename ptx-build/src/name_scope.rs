//! The meaning of handles at the place where they are used.

use alloc::vec::Vec;

use ptx_ir::Operand;

use crate::error::{BuildError, hidden, not_finished, unplaced_label};
use crate::function::body::Body;
use crate::handle::{CodeLabel, Dependency, Func, Variable};
use crate::handle_owner::Handle;
use crate::module::tables::Tables;

/// The name and the record of a handle.
pub(crate) struct Named<'s> {
    pub(crate) name: &'s str,
    /// Its record; [`Operand::Absent`] for a label, which gets it when it is used.
    pub(crate) operand: Operand,
    pub(crate) dependency: Dependency,
}

/// The names of a module and, inside a function, of that function.
pub(crate) struct NameScope<'s> {
    tables: &'s Tables,
    /// `None` outside functions.
    body: Option<&'s Body>,
    /// The names that were mentioned.
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

    /// Records an entity that a text mentions; returns its name.
    pub(crate) fn mention(&mut self, named: Named<'s>) -> &'s str {
        self.mentions.push(named.dependency);
        named.name
    }

    pub(crate) fn variable(&self, var: Variable) -> Result<Named<'s>, BuildError> {
        let body = self.body.filter(|b| b.owner == var.owner);
        if let Some(local) = body.and_then(|b| b.locals.get(var.index as usize)) {
            if !local.visible {
                return Err(hidden("variable", &local.name));
            }
            return Ok(Named {
                name: &local.name,
                operand: Operand::Var(local.id),
                dependency: Dependency::Local(var.index),
            });
        }
        let global = self.tables.global(var, self.place())?;
        if self.body.is_some_and(|b| b.has_meaning(&global.name)) {
            return Err(hidden("variable", &global.name));
        }
        Ok(Named {
            name: &global.name,
            operand: Operand::Symbol(global.symbol),
            dependency: Dependency::Global(var.index),
        })
    }

    pub(crate) fn function(&self, func: Func) -> Result<Named<'s>, BuildError> {
        let function = self.tables.func(func, self.place())?;
        if let Some(body) = self.body {
            if !body.is_declared_before(func.index, function.declaration_state) {
                return Err(not_finished(&function.name));
            }
            if body.shadows(&function.name, func.index) {
                return Err(hidden("function", &function.name));
            }
        }
        Ok(Named {
            name: &function.name,
            operand: Operand::Symbol(function.symbol),
            dependency: Dependency::Func(func.index),
        })
    }

    pub(crate) fn label(&self, label: CodeLabel) -> Result<Named<'s>, BuildError> {
        let Some((body, info)) = self.body.and_then(|b| Some((b, b.label(label)?))) else {
            let owners = &self.tables.handle_owners;
            return Err(owners.refuse(Handle::Label(label), self.place()));
        };
        if !body.reaches(info) {
            return Err(hidden("label", &info.name));
        }
        if info.place.is_none() && self.tables.names.contains(&info.name) {
            return Err(unplaced_label(&info.name));
        }
        Ok(Named {
            name: &info.name,
            operand: Operand::Absent,
            dependency: Dependency::Label(label.index),
        })
    }
}
