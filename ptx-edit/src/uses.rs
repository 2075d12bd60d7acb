//! Finds the uses of names. All functions here are linear in the body, or in the module.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{NameId, Operand, Statement, StmtId};

use crate::names::is_debug_name;
use crate::visibility::{declaration_of, name_of};
use crate::{EditError, Editor};

impl Editor<'_> {
    /// The first statement with an operand that is `wanted`.
    pub(crate) fn first_use(
        &self,
        mut wanted: impl FnMut(StmtId, Operand) -> bool,
    ) -> Option<StmtId> {
        let body = self.body();
        let mut all = body.statements();
        let found = all.find(|&(id, s)| body.walk(s).any(|o| wanted(id, o)));
        found.map(|(id, _)| id)
    }

    /// Checks that all uses of what a statement declares can see it, and all other uses of its names what they mean.
    pub(crate) fn check_users_see(&self, statement: Statement) -> Result<(), EditError> {
        let body = self.body();
        let names = self.declared_names(statement);
        if names.is_empty() {
            return Ok(());
        }
        let mut found = Ok(());
        self.first_use(|stmt, operand| {
            if name_of(body, operand).is_some_and(|n| names.contains(&n)) {
                found = self.check_visible(ptx_ir::raw::stmt_key(body, stmt), operand);
            }
            found.is_err()
        });
        found
    }

    /// The names that a statement declares.
    pub(crate) fn declared_names(&self, statement: Statement) -> Vec<NameId> {
        let body = self.body();
        match statement {
            Statement::Label(id) => body.labels().get(id).map(|l| l.name).into_iter().collect(),
            Statement::Decl(id) => {
                let all = body.declarations().declarators(id).iter();
                all.map(|d| d.name).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Checks that nothing uses what a label or a declaration declares.
    pub(crate) fn check_unused(&self, statement: Statement) -> Result<(), EditError> {
        let body = self.body();
        let declares = |o: Operand| match (statement, o) {
            (Statement::Label(l), Operand::Label(m)) => l == m,
            (Statement::Decl(d), Operand::Reg(_) | Operand::Var(_)) => {
                declaration_of(body, o) == Some(d)
            }
            _ => false,
        };
        if !matches!(statement, Statement::Label(_) | Statement::Decl(_)) {
            return Ok(());
        }
        let mut name = None;
        self.first_use(|_, o| {
            name = declares(o).then(|| name_of(body, o)).flatten();
            name.is_some()
        });
        if let Statement::Label(_) = statement {
            let mut names = self.declared_names(statement).into_iter();
            name = name.or_else(|| names.find(|n| is_debug_name(self.module, *n)));
        }
        match name {
            Some(name) => Err(EditError::Used(String::from(self.module.name(name)))),
            None => Ok(()),
        }
    }
}
