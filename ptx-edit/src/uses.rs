//! Finds the uses of names. All functions here are linear in the body, or in the module.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{NameId, Operand, Statement, StmtId};

use crate::names::is_debug_name;
use crate::visibility::{declaration_of, name_of};
use crate::{EditError, Editor, UsePlace, UsedBy};

impl Editor<'_> {
    /// The first statement with an operand that `predicate` accepts. Each operand is passed with its statement, in the order
    /// of the text.
    pub(crate) fn first_use(
        &self,
        mut predicate: impl FnMut(StmtId, Operand) -> bool,
    ) -> Option<StmtId> {
        let body = self.body();
        body.statements()
            .find(|&(id, statement)| body.walk(statement).any(|o| predicate(id, o)))
            .map(|(id, _)| id)
    }

    /// Checks that every use of a name that a statement declares still denotes the same entity: the declaration of the
    /// statement, or another one of that name.
    pub(crate) fn check_users_see(&self, statement: Statement) -> Result<(), EditError> {
        let body = self.body();
        let names = self.declared_names(statement);
        if names.is_empty() {
            return Ok(());
        }
        let mut result = Ok(());
        self.first_use(|stmt, operand| {
            if name_of(body, operand).is_some_and(|n| names.contains(&n)) {
                result = self.check_visible(ptx_ir::raw::stmt_key(body, stmt), operand);
            }
            result.is_err()
        });
        result
    }

    /// The names that a statement declares.
    pub(crate) fn declared_names(&self, statement: Statement) -> Vec<NameId> {
        let body = self.body();
        match statement {
            Statement::Label(id) => body.labels().get(id).map(|l| l.name).into_iter().collect(),
            Statement::Decl(id) => {
                let declarators = body.declarations().declarators(id);
                declarators.iter().map(|d| d.name).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Checks that no statement uses a name that a label or a declaration declares.
    pub(crate) fn check_unused(&self, statement: Statement) -> Result<(), EditError> {
        let body = self.body();
        if !matches!(statement, Statement::Label(_) | Statement::Decl(_)) {
            return Ok(());
        }
        let mut name = None;
        let user = self.first_use(|_, operand| {
            let is_declared_here = match (statement, operand) {
                (Statement::Label(label), Operand::Label(used)) => label == used,
                (Statement::Decl(decl), Operand::Reg(_) | Operand::Var(_)) => {
                    declaration_of(body, operand) == Some(decl)
                }
                _ => false,
            };
            if is_declared_here {
                name = name_of(body, operand);
            }
            name.is_some()
        });
        if let (Some(user), Some(name)) = (user, name) {
            let place = UsePlace::statement(self.module, self.function, user);
            return Err(EditError::Used {
                name: String::from(self.module.name(name)),
                by: UsedBy::Use(place),
            });
        }
        let debug_name = match statement {
            Statement::Label(_) => {
                let mut names = self.declared_names(statement).into_iter();
                names.find(|n| is_debug_name(self.module, *n))
            }
            _ => None,
        };
        debug_name.map_or(Ok(()), |name| Err(EditError::unresolved(self.module, name)))
    }
}
