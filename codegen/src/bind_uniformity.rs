//! In which threads the results of a form are the same.

use crate::bind::Binder;
use crate::input::Result;
use crate::notation::Role;
use crate::schema::{Form, Operand};
use crate::vocabulary::ActionResults;

/// The marks of results that are not just a function of the operands.
const UNIFORMITIES: [&str; 4] = ["varying", "warp-uniform", "cta-uniform", "lane-value"];

impl Binder<'_> {
    /// Each result states in which threads it is the same, if and only if its action does not say it.
    pub(crate) fn check_uniformity(&self, form: &Form) -> Result<()> {
        let stated = |o: &Operand| o.marks.iter().any(|m| UNIFORMITIES.contains(&m.as_str()));
        let mut actions = self.vocabulary.actions.iter();
        let action = actions.find(|row| form.performs.as_ref() == Some(&row.name.text));
        let needed = action.is_some_and(|row| row.results == ActionResults::Stated);
        for (operand, at) in form.operands.iter().zip(&self.form.operands) {
            let is_result = matches!(operand.role, Role::Def | Role::ReadWrite);
            if (needed && is_result) == stated(operand) {
                continue;
            }
            let (name, marks) = (&at.name, UNIFORMITIES.join("`, `"));
            return name.error(match is_result && needed {
                true => format!("the result {name} needs one of the marks `{marks}`"),
                false => format!("the action of the form, not {name}, states the uniformity"),
            });
        }
        Ok(())
    }
}
