//! Checks that the name of a new declaration is free: no existing name is spelled like it, or like a member of it.

use alloc::string::String;

use ptx_ir::raw::name::split_numeric_suffix_str;
use ptx_ir::{Body, Module, NameId};

use crate::names::{NameForm, TakenNames, body_names, check_spelling, module_names};
use crate::{EditError, Editor};

/// The extent in which a new name is visible.
#[derive(Copy, Clone)]
pub(crate) enum Visible<'m> {
    /// The name is visible in one function.
    In(&'m Body),
    /// The name is visible in the whole module.
    Everywhere,
}

/// Checks that a name can be declared and that no name in the same extent conflicts with it. Linear in
/// the names, unless no name of the module can conflict.
pub(crate) fn check_new_name(
    module: &Module,
    name: &str,
    form: NameForm,
    visible: Visible<'_>,
) -> Result<(), EditError> {
    check_declarable(name, form)?;
    if form == NameForm::Plain && is_new(module, name) {
        return Ok(());
    }
    let mut new = TakenNames::default();
    new.add(name.as_bytes(), form);
    let conflicts =
        |&(other, form): &(NameId, NameForm)| new.conflicts(module.name_bytes(other), form);
    let conflict = module_names(module)
        .find(conflicts)
        .or_else(|| match visible {
            Visible::In(body) => body_names(body).find(conflicts),
            Visible::Everywhere => module
                .bodies()
                .values()
                .flat_map(body_names)
                .find(conflicts),
        });
    match conflict.map(|(other, _)| String::from(module.name(other))) {
        None => Ok(()),
        Some(other) if other == name => Err(EditError::Taken(other)),
        Some(other) => Err(EditError::Overlap {
            name: String::from(name),
            other,
        }),
    }
}

/// Returns whether the module contains no name that a plain name could conflict with: neither the name itself nor the name of
/// a range that could have it as a member.
pub(crate) fn is_new(module: &Module, name: &str) -> bool {
    let stem = split_numeric_suffix_str(name).0;
    [name, stem]
        .iter()
        .all(|name| module.find_name(name.as_bytes()).is_none())
}

/// Checks that a name can be declared at all.
pub(crate) fn check_declarable(name: &str, form: NameForm) -> Result<(), EditError> {
    check_spelling(name.as_bytes(), form).map_err(|wanted| EditError::spelling(wanted, name))
}

impl Editor<'_> {
    /// Interns a new name for a declaration in this function, after a check that it conflicts with no other name.
    pub(crate) fn new_name(&mut self, name: &str, form: NameForm) -> Result<NameId, EditError> {
        check_new_name(self.module, name, form, Visible::In(self.body()))?;
        Ok(self.intern(name))
    }
}
