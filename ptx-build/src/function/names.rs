//! The meanings of names in the scopes of a function.

use alloc::string::ToString;

use ptx_isa::SpecialReg;

use super::FunctionBuilder;
use crate::error::{BuildError, BuildErrorKind};
use crate::lexical;
use crate::name_table::{Declared, Meaning};

impl<'m> FunctionBuilder<'m> {
    pub(super) fn duplicate(&self, name: &str) -> BuildError {
        let message = format!("`{}` has a `{name}` already", self.body.name);
        let help = "use another name, or declare it in a separate scope (`open`, `close`)";
        BuildError::new(BuildErrorKind::Duplicate, message, help)
    }

    /// Sets the meaning of a name in the open scope.
    pub(super) fn claim(&mut self, name: &str, meaning: Meaning) -> Result<(), BuildError> {
        self.claim_at(name, meaning, self.body.depth())
    }

    /// Sets the meaning of a name in the whole function.
    pub(super) fn claim_outside(&mut self, name: &str, meaning: Meaning) -> Result<(), BuildError> {
        self.claim_at(name, meaning, 1)
    }

    /// Sets the name of a parameter in the whole function, including the part that is built already.
    pub(super) fn claim_parameter(
        &mut self,
        name: &str,
        meaning: Meaning,
    ) -> Result<(), BuildError> {
        self.check_parameter_name(name)?;
        self.claim_outside(name, meaning)
    }

    /// Refuses a name that a parameter cannot have.
    pub(super) fn check_parameter_name(&self, name: &str) -> Result<(), BuildError> {
        let is_special = SpecialReg::from_text(name.as_bytes()).is_some();
        // ptxas takes a local variable for the parameter of the same name.
        let mut locals = self.body.locals.iter();
        let taken =
            is_special || self.module.tables.names.contains(name) || locals.any(|l| l.name == name);
        if taken && self.body.has_statements() {
            return Err(self.duplicate(name));
        }
        self.check_claim(name, 1)
    }

    pub(super) fn claim_at(
        &mut self,
        name: &str,
        meaning: Meaning,
        depth: usize,
    ) -> Result<(), BuildError> {
        self.check_claim(name, depth)?;
        self.bind(name, meaning, depth);
        Ok(())
    }

    /// Refuses an invalid name, and one that has a meaning in the scope at this depth or in one inside it.
    pub(super) fn check_claim(&self, name: &str, depth: usize) -> Result<(), BuildError> {
        lexical::name(name)?;
        let outer = self.body.names.get(name);
        let scopes = self.body.scopes.get(depth.wrapping_sub(1)..);
        let mut ranges = scopes.unwrap_or_default().iter().flat_map(|s| &s.ranges);
        let in_range = |r: &u32| {
            self.body
                .ranges
                .get(*r as usize)
                .is_some_and(|r| r.contains(name))
        };
        if outer.is_some_and(|(d, _)| d >= depth)
            || (self.body.fresh.iter()).any(|fresh| fresh.contains(name))
            || ranges.any(in_range)
        {
            return Err(self.duplicate(name));
        }
        Ok(())
    }

    /// Sets the only meaning of a name in an open scope.
    pub(super) fn bind(&mut self, name: &str, meaning: Meaning, depth: usize) {
        let outer = self.body.names.set(name, Some((depth, meaning)));
        if let Some(scope) = self.body.scopes.get_mut(depth.wrapping_sub(1)) {
            scope.names.push((name.to_string(), outer));
        }
        if let Some((_, outer)) = outer {
            self.show(outer, false);
        }
    }

    /// A name has the meaning again that its scope hid.
    pub(super) fn unbind(&mut self, name: &str, outer: Option<Declared>) {
        let inner = self.body.names.set(name, outer);
        if let Some((_, inner)) = inner {
            self.show(inner, false);
        }
        if let Some((_, outer)) = outer {
            self.show(outer, true);
        }
    }

    fn show(&mut self, meaning: Meaning, visible: bool) {
        match meaning {
            Meaning::Register(r) => {
                if let Some(r) = self.body.registers.get_mut(r) {
                    r.visible = visible;
                }
            }
            Meaning::Local(v) => {
                if let Some(v) = self.body.locals.get_mut(v as usize) {
                    v.visible = visible;
                }
            }
            Meaning::Label(l) => {
                if let Some(l) = self.body.labels.get_mut(l as usize) {
                    l.visible = visible;
                }
            }
            _ => {}
        }
    }
}
