//! The declaration of variables and functions in a function, and unused names.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::raw::RawBody;
use ptx_ir::{Binding, FunctionKind, Statement, Var, VarId};
use ptx_isa::StateSpace;

use super::FunctionBuilder;
use crate::declaration::Declaration;
use crate::declared::Local;
use crate::error::{BuildError, BuildErrorKind, no_variables};
use crate::handle::{Dependency, Func, Variable};
use crate::interface::FunctionHeader;
use crate::module::tables::DeclState;
use crate::name_scope::NameScope;
use crate::name_table::Meaning;

impl<'m> FunctionBuilder<'m> {
    pub(super) fn add_local(
        &mut self,
        id: VarId,
        name: &str,
        text: String,
        is_parameter: bool,
    ) -> Result<Variable, BuildError> {
        let index = self.body.locals.len() as u32;
        if is_parameter {
            self.claim_parameter(name, Meaning::Local(index))?;
        } else {
            self.claim(name, Meaning::Local(index))?;
        }
        self.body.locals.push(Local {
            id,
            name: name.to_string(),
            text,
            visible: true,
            is_parameter,
        });
        Ok(Variable {
            owner: self.body.owner,
            index,
        })
    }

    /// Declares a variable here, in the scope that is open; the handle is that of its first name.
    ///
    /// # Errors
    ///
    /// The declaration is illegal in a function, or a name is invalid or taken.
    pub fn declare(&mut self, declaration: Declaration) -> Result<Variable, BuildError> {
        declaration.check_members()?;
        let variables = self.declare_all(declaration)?;
        variables.first().copied().ok_or_else(|| no_variables(""))
    }

    /// Declares variables here: all names of a declaration, of a [range](Declaration::range) each member.
    ///
    /// # Errors
    ///
    /// As [`declare`](Self::declare).
    pub fn declare_all(&mut self, declaration: Declaration) -> Result<Vec<Variable>, BuildError> {
        if declaration.space == StateSpace::Reg {
            return Err(BuildError::new(
                BuildErrorKind::Argument,
                format!("`{}` is a register and no variable", declaration.name()),
                "registers are made by `reg`, or declared by `registers`, `named_reg` and their like",
            ));
        }
        let mut names = NameScope::new(&self.module.tables, Some(&self.body));
        let text = declaration.statement(&mut names)?;
        let mentions = names.mentions;
        let mut members: Vec<(String, String)> = Vec::new();
        for name in declaration.names() {
            if name.count.is_some() && self.body.has_range(&name.text) {
                return Err(self.duplicate(&name.text));
            }
            for member in name.members()? {
                self.check_claim(&member, self.body.depth())?;
                let bare = declaration.bare(name, &member)?;
                members.push((member, bare));
            }
        }
        let parsed = self.check(&text, &mentions)?;
        self.with_declarations(|f| f.import(&parsed, &|_| true));
        let ids = self.declared_vars();
        let variables = (members.into_iter().zip(ids))
            .map(|((name, text), id)| self.add_local(id, &name, text, false))
            .collect::<Result<Vec<Variable>, BuildError>>()?;
        for mention in mentions {
            if let Dependency::Label(l) = mention {
                self.body.wait(l);
            }
        }
        Ok(variables)
    }

    /// The variables of the last declaration: for a range, its members.
    fn declared_vars(&mut self) -> Vec<VarId> {
        let records = &mut self.body.records;
        let Some(last) = records.declarations().decls.ids().next_back() else {
            return Vec::new();
        };
        let mut vars = Vec::new();
        for declarator in records.declarations().declarators(last).to_vec() {
            let Binding::Var(first) = declarator.binding else {
                continue;
            };
            let var = records.vars().get(first).copied();
            match (var, records.pool().integer(declarator.count)) {
                (Some(var), Some(count)) => {
                    self.body.is_in_order = false;
                    for number in 0..count as u32 {
                        let number = Some(number);
                        vars.push(records.vars_mut().push(Var { number, ..var }));
                    }
                }
                _ => vars.push(first),
            }
        }
        self.module.draft.checker.extend_body(records);
        vars
    }

    /// Whether the scope that is open has a name.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        let meaning = self.body.names.get(name);
        meaning.is_some_and(|(depth, _)| depth >= self.body.depth())
    }

    /// Declares a function in the body of this one, for later calls.
    ///
    /// # Errors
    ///
    /// As [`ModuleBuilder::declare_function`](crate::ModuleBuilder::declare_function); also if the name has another
    /// meaning here.
    pub fn declare_function(
        &mut self,
        kind: FunctionKind,
        name: &str,
        interface: FunctionHeader,
    ) -> Result<Func, BuildError> {
        let last = self.body.names.get(name);
        let depth = self.body.depth();
        let existing = match last {
            Some((d, Meaning::Function(f))) => (d == depth).then_some(f),
            _ if self.is_taken(name) || self.body.has_meaning(name) => {
                return Err(self.duplicate(name));
            }
            _ => None,
        };
        let (func, id) = self.module.declaration_of(kind, name, interface)?;
        self.body.is_in_order = false;
        if existing.is_none() {
            self.bind(name, Meaning::Function(func.index), depth);
        }
        let (owner, scope) = (self.body.owner, self.body.scope());
        let function = self.module.tables.functions.get_mut(func.index as usize);
        if let Some(f) = function.filter(|f| f.declaration_state != DeclState::Declared) {
            f.declaration_state = DeclState::Nested { owner, scope };
            self.body.declared.push(func.index);
        }
        self.with_declarations(|f| f.body.push_statement(Statement::Function(id)));
        Ok(func)
    }

    /// A name that has no meaning in the function.
    pub(crate) fn fresh_name(&self, stem: &str) -> String {
        let mut n = self.body.locals.len();
        loop {
            let name = format!("{stem}{n}");
            if !self.body.has_meaning(&name) && !self.module.tables.names.contains(&name) {
                return name;
            }
            n += 1;
        }
    }
}
