//! Parameters and results of the function, and their handles.

use alloc::vec::Vec;

use ptx_ir::raw::RawBody;
use ptx_ir::{
    Binding, Code, FunctionKind, NameId, Operand, OperandRange, Param, ScopeId, TypeName, Var,
    VarId,
};
use ptx_isa::{ScalarType, StateSpace};
use ptx_verify::Direction;

use super::body::{Body, Parameter};
use super::{FunctionBuilder, no_results};
use crate::declaration::Declaration;
use crate::error::{BuildError, BuildErrorKind};
use crate::handle::{Reg, Variable};
use crate::interface::FunctionHeader;

/// The list of a function header that a declaration belongs to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum List {
    Results,
    Params,
}

impl FunctionHeader {
    fn list_mut(&mut self, list: List) -> &mut Vec<Declaration> {
        match list {
            List::Results => &mut self.returns,
            List::Params => &mut self.params,
        }
    }
}

impl FunctionBuilder<'_> {
    /// Adds a scalar parameter.
    ///
    /// # Errors
    ///
    /// As [`add_param`](Self::add_param).
    pub fn param(&mut self, ty: ScalarType, name: &str) -> Result<Variable, BuildError> {
        self.add_param(Declaration::new(StateSpace::Param, ty, name))
    }

    /// Adds a parameter.
    ///
    /// # Errors
    ///
    /// The name is taken, the declaration is not that of a parameter, or it contradicts an earlier declaration of the function.
    pub fn add_param(&mut self, declaration: Declaration) -> Result<Variable, BuildError> {
        self.interface_part(declaration, List::Params)
    }

    /// Adds a result to a function.
    ///
    /// # Errors
    ///
    /// As [`add_param`](Self::add_param); a kernel has no results.
    pub fn result(&mut self, declaration: Declaration) -> Result<Variable, BuildError> {
        self.interface_part(declaration, List::Results)
    }

    /// Adds a parameter of a function that is a register.
    ///
    /// # Errors
    ///
    /// As [`add_param`](Self::add_param).
    pub fn add_register_param(&mut self, ty: ScalarType, name: &str) -> Result<Reg, BuildError> {
        self.register_part(ty, name, List::Params)
    }

    /// Adds a result of a function that is a register.
    ///
    /// # Errors
    ///
    /// As [`result`](Self::result).
    pub fn add_register_result(&mut self, ty: ScalarType, name: &str) -> Result<Reg, BuildError> {
        self.register_part(ty, name, List::Results)
    }

    /// The parameter at a position, counted from 0; `None` if there is none, if it has no name, or if it is a register.
    #[must_use]
    pub fn param_variable(&self, index: usize) -> Option<Variable> {
        self.variable_of(self.body.params.get(index))
    }

    /// The result at a position, counted from 0; `None` if there is none, if it has no name, or if it is a register.
    #[must_use]
    pub fn result_variable(&self, index: usize) -> Option<Variable> {
        self.variable_of(self.body.results.get(index))
    }

    /// The parameter at a position, counted from 0, if it is a register with a name.
    #[must_use]
    pub fn param_register(&self, index: usize) -> Option<Reg> {
        self.register_of(self.body.params.get(index))
    }

    /// The result at a position, counted from 0, if it is a register with a name.
    #[must_use]
    pub fn result_register(&self, index: usize) -> Option<Reg> {
        self.register_of(self.body.results.get(index))
    }

    fn variable_of(&self, parameter: Option<&Parameter>) -> Option<Variable> {
        let owner = self.body.owner;
        match parameter {
            Some(&Parameter::Variable(index)) => Some(Variable { owner, index }),
            _ => None,
        }
    }

    fn register_of(&self, parameter: Option<&Parameter>) -> Option<Reg> {
        let owner = self.body.owner;
        match parameter {
            Some(&Parameter::Register(index)) => Some(Reg { owner, index }),
            _ => None,
        }
    }

    /// Assigns handles to the parameters and results of the header.
    pub(crate) fn bind_interface(&mut self) -> Result<(), BuildError> {
        let (results, params) = self
            .interface()
            .map(|h| (h.returns.clone(), h.params.clone()))
            .unwrap_or_default();
        let lists = [(List::Results, results), (List::Params, params)];
        for (list, declarations) in lists {
            for declaration in &declarations {
                self.bind_parameter(declaration, list)?;
            }
        }
        Ok(())
    }

    fn bind_parameter(&mut self, declaration: &Declaration, list: List) -> Result<(), BuildError> {
        let parameter = match (declaration.name(), declaration.space) {
            ("_", _) => Parameter::Unnamed,
            (name, StateSpace::Reg) => {
                let vector = declaration.vector_len();
                let register = self.add_register(declaration.ty, vector, name, true)?;
                Parameter::Register(register.index)
            }
            _ => Parameter::Variable(self.add_variable(declaration, list)?.index),
        };
        match list {
            List::Results => self.body.results.push(parameter),
            List::Params => self.body.params.push(parameter),
        }
        Ok(())
    }

    /// Forgets the handles that [`bind_interface`](Self::bind_interface) made, and the header.
    pub(super) fn forget_parameters(&mut self) {
        let names = self.body.take_names();
        self.module.tables.handle_owners.end(self.body.owner, names);
        let (record, kind) = (self.body.record, self.body.kind);
        self.body = Body::new(self.func.index, record, kind, &self.body.name);
        self.module
            .tables
            .handle_owners
            .begin(self.body.owner, &self.body.name);
        if let Some(header) = self.interface() {
            *header = FunctionHeader::default();
        }
    }

    fn interface_part(
        &mut self,
        declaration: Declaration,
        list: List,
    ) -> Result<Variable, BuildError> {
        if declaration.space == StateSpace::Reg {
            let message = format!("`{}` is a register", declaration.name());
            let help = "`add_register_param` and `add_register_result` add registers";
            let error = BuildError::new(BuildErrorKind::Argument, message, help);
            return Err(error.with_code(Code::Parameter));
        }
        self.check_part(&declaration, list)?;
        let variable = self.add_variable(&declaration, list)?;
        self.push_part(declaration, list, Parameter::Variable(variable.index));
        Ok(variable)
    }

    fn register_part(&mut self, ty: ScalarType, name: &str, list: List) -> Result<Reg, BuildError> {
        let declaration = Declaration::new(StateSpace::Reg, ty, name);
        self.check_part(&declaration, list)?;
        let register = self.add_register(ty, 1, name, true)?;
        self.push_part(declaration, list, Parameter::Register(register.index));
        Ok(register)
    }

    fn push_part(&mut self, declaration: Declaration, list: List, parameter: Parameter) {
        match list {
            List::Results => self.body.results.push(parameter),
            List::Params => self.body.params.push(parameter),
        }
        if let Some(header) = self.interface() {
            let declarations = header.list_mut(list);
            // Most functions have few parameters, and a module keeps them all.
            declarations.reserve_exact(1);
            declarations.push(declaration);
        }
    }

    /// Refuses a parameter or result that is illegal together with those added before it, or alone.
    fn check_part(&mut self, declaration: &Declaration, list: List) -> Result<(), BuildError> {
        self.module.tables.check_change(self.func)?;
        let (name, kind) = (declaration.name(), self.body.kind);
        if list == List::Results && kind == FunctionKind::Entry {
            return Err(no_results(&self.body.name, name));
        }
        self.check_undeclared(declaration, list)?;
        let mut alone = FunctionHeader::default();
        *alone.list_mut(list) = vec![declaration.clone()];
        self.check_header(&alone, false).map(drop)
    }

    /// Refuses a further parameter or result of a function that was declared with all of them.
    fn check_undeclared(&self, new: &Declaration, list: List) -> Result<(), BuildError> {
        let function = self.module.tables.functions.get(self.func.index as usize);
        let declared = function
            .filter(|f| !f.declared.is_empty())
            .map(|f| &f.interface)
            .filter(|i| !i.returns.is_empty() || !i.params.is_empty());
        let Some(interface) = declared else {
            return Ok(());
        };
        let (noun, method, parts) = match list {
            List::Results => ("result", "result", &interface.returns),
            List::Params => ("parameter", "param", &interface.params),
        };
        let index = parts.iter().position(|d| d.name() == new.name());
        let index = index.unwrap_or_default();
        let help = match parts.get(index).map(|d| d.space) {
            Some(StateSpace::Reg) => format!("use `{method}_register({index})`"),
            Some(_) => format!("use `{method}_variable({index})`"),
            None => format!("declare the function with this {noun}"),
        };
        let (function, count) = (&self.body.name, parts.len());
        let plural = if count == 1 { "" } else { "s" };
        let message = format!(
            "`{function}` is declared with {count} {noun}{plural}: `{}` cannot be added",
            new.name()
        );
        BuildErrorKind::Argument.refuse(Code::Prototype, message, help)
    }

    fn add_variable(
        &mut self,
        declaration: &Declaration,
        list: List,
    ) -> Result<Variable, BuildError> {
        let text = format!("{};", declaration.parameter()?);
        self.enter();
        let name = self.module.draft.intern(declaration.name());
        let count = self.body.results.len() + self.body.params.len();
        let is_last = list == List::Params || self.body.params.is_empty();
        self.body.is_in_order &= is_last && self.body.records.vars().len() <= count;
        let id = self.body.records.vars_mut().push(Var {
            name,
            number: None,
            space: declaration.space,
            scope: ScopeId::new(0),
            stmt: None,
        });
        let variable = match self.add_local(id, declaration.name(), text, true) {
            Ok(variable) => variable,
            Err(error) => {
                self.body.is_in_order = false;
                return Err(error);
            }
        };
        self.module.draft.checker.extend_body(&self.body.records);
        self.declare_parameter(id, declaration, list);
        Ok(variable)
    }

    /// Declares the current parameters and results in the checker.
    pub(super) fn declare_parameters(&mut self) {
        let Some(header) = self.interface() else {
            return;
        };
        let (results, params) = (header.returns.clone(), header.params.clone());
        let results = results.iter().zip(self.body.results.clone());
        let results = results.map(|(d, p)| (d, p, List::Results));
        let params = params.iter().zip(self.body.params.clone());
        let params = params.map(|(d, p)| (d, p, List::Params));
        for (declaration, parameter, list) in results.chain(params) {
            if let Parameter::Variable(index) = parameter
                && let Some(local) = self.body.locals.get(index as usize)
            {
                self.declare_parameter(local.id, declaration, list);
            }
        }
    }

    fn declare_parameter(&mut self, id: VarId, declaration: &Declaration, list: List) {
        let mut dims = OperandRange::default();
        if declaration.is_array() {
            dims = self.body.records.pool_mut().extend(&[Operand::Absent]);
        }
        let mut param = Param::new(declaration.space, TypeName::Known(declaration.ty));
        param.vector = declaration.vector_len();
        param.binding = Binding::Var(id);
        param.dims = dims;
        let direction = match (self.body.kind, list) {
            (FunctionKind::Entry, _) => None,
            (FunctionKind::Func, List::Results) => Some(Direction::Output),
            (FunctionKind::Func, List::Params) => Some(Direction::Input),
        };
        let checker = &mut self.module.draft.checker;
        checker.declare_parameter(&param, direction);
    }

    /// The names of results and parameters, and what they are to the body, in the order of the header.
    pub(super) fn parameter_bindings(&self) -> Vec<(Option<NameId>, Binding)> {
        let parameters = self.body.results.iter().chain(&self.body.params);
        let bindings = parameters.map(|p| match self.parameter_binding(p) {
            Some((name, binding)) => (Some(name), binding),
            None => (None, Binding::None),
        });
        bindings.collect()
    }

    /// The name of a result or parameter and its record in the body; `None` without a name.
    fn parameter_binding(&self, parameter: &Parameter) -> Option<(NameId, Binding)> {
        let records = &self.body.records;
        match parameter {
            Parameter::Unnamed => None,
            Parameter::Variable(v) => {
                let id = self.body.locals.get(*v as usize)?.id;
                Some((records.vars().get(id)?.name, Binding::Var(id)))
            }
            Parameter::Register(r) => {
                let decl = self.body.registers.get(*r)?.decl;
                let name = records.reg_decls().get(decl)?.name;
                Some((name, Binding::Register(decl)))
            }
        }
    }
}
