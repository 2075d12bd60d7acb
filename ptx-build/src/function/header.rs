//! What a caller sees of it: linkage, attributes, directives, parameters and results.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::{Code, FunctionKind, Linkage};
use ptx_isa::{Directive, ScalarType, StateSpace};

use super::body::Meaning;
use super::{FunctionBuilder, no_results};
use crate::check;
use crate::declaration::Declaration;
use crate::error::{Error, Kind};
use crate::interface::Interface;
use crate::number::Number;
use crate::operand::{Reg, Var};

impl<'m> FunctionBuilder<'m> {
    pub(super) fn interface(&mut self) -> Option<&mut Interface> {
        let functions = &mut self.module.tables.functions;
        let function = functions.get_mut(self.func.index as usize);
        function.map(|f| &mut f.interface)
    }

    /// `.visible`, `.weak`, …
    pub fn linkage(&mut self, linkage: Linkage) -> &mut Self {
        if let Some(interface) = self.interface() {
            interface.linkage = Some(linkage);
        }
        self
    }

    /// An attribute as it is written: `.unified(1, 2)`.
    pub fn attribute(&mut self, attribute: &str) -> &mut Self {
        if let Some(interface) = self.interface() {
            interface.attributes.push(attribute.to_string());
        }
        self
    }

    /// A directive between parameters and body, such as `.maxntid`, with its numbers.
    pub fn directive(&mut self, directive: Directive, numbers: &[u32]) -> &mut Self {
        let numbers: Vec<Number> = numbers.iter().copied().map(Number::from).collect();
        if let Some(interface) = self.interface() {
            interface.add_directive(directive, &numbers);
        }
        self
    }

    /// Says at once what is to stand before the body. Results and parameters that are registers or have no name get no handle;
    /// [`local`](Self::local) and [`local_reg`](Self::local_reg) find the others by their names.
    pub fn set_interface(&mut self, interface: Interface) -> Result<(), Error> {
        self.module.tables.can_change(self.func)?;
        self.check_interface(&interface)?;
        let own = self.module.tables.functions.get(self.func.index as usize);
        if own.is_some_and(|f| !f.interface.returns.is_empty() || !f.interface.params.is_empty()) {
            let message = format!("`{}` has parameters or results already", self.body.name);
            let help =
                "say all of them at once, or one after the other with `add_param` and `result`";
            return Err(Error::new(Kind::Argument, message, help).code_is(Code::Prototype));
        }
        let parts = interface.returns.iter().chain(&interface.params);
        let mut names: Vec<&str> = parts.map(Declaration::name).filter(|n| *n != "_").collect();
        for name in &names {
            self.can_claim(name, 1)?;
        }
        names.sort_unstable();
        if let Some([name, _]) = names.array_windows().find(|[a, b]| a == b) {
            return Err(self.duplicate(name));
        }
        for (declaration, param) in (interface.returns.iter().map(|d| (d, false)))
            .chain(interface.params.iter().map(|d| (d, true)))
        {
            if declaration.name() == "_" {
                continue;
            }
            match declaration.space {
                StateSpace::Reg => {
                    let name = declaration.name();
                    self.add_register(declaration.ty, declaration.vector_len(), name, true)?;
                }
                _ => {
                    self.add_part(declaration, param)?;
                }
            }
        }
        if let Some(own) = self.interface() {
            *own = interface;
        }
        Ok(())
    }

    /// The variable or parameter that has a name here.
    pub fn local(&self, name: &str) -> Option<Var> {
        match self.body.names.get(name)?.last()? {
            (_, Meaning::Local(index)) => Some(Var {
                owner: self.body.owner,
                index: *index,
            }),
            _ => None,
        }
    }

    /// The register that has a name here, unless it belongs to a range and was never asked for.
    pub fn local_reg(&self, name: &str) -> Option<Reg> {
        match self.body.names.get(name)?.last()? {
            (_, Meaning::Register(index)) => Some(Reg {
                owner: self.body.owner,
                index: *index,
            }),
            _ => None,
        }
    }

    /// Adds a scalar parameter.
    pub fn param(&mut self, ty: ScalarType, name: &str) -> Result<Var, Error> {
        self.add_param(Declaration::new(StateSpace::Param, ty, name))
    }

    /// Adds a parameter.
    pub fn add_param(&mut self, declaration: Declaration) -> Result<Var, Error> {
        self.interface_part(declaration, true)
    }

    /// Adds a result of a function.
    pub fn result(&mut self, declaration: Declaration) -> Result<Var, Error> {
        self.interface_part(declaration, false)
    }

    /// Adds a parameter (or a result) that is a register, which functions may have.
    pub fn register_param(
        &mut self,
        ty: ScalarType,
        name: &str,
        result: bool,
    ) -> Result<Reg, Error> {
        let declaration = Declaration::new(StateSpace::Reg, ty, name);
        self.check_part(&declaration, !result)?;
        let reg = self.add_register(ty, 1, name, true)?;
        self.push_part(declaration, !result);
        Ok(reg)
    }

    pub(super) fn push_part(&mut self, declaration: Declaration, param: bool) {
        if let Some(interface) = self.interface() {
            match param {
                true => interface.params.push(declaration),
                false => interface.returns.push(declaration),
            }
        }
    }

    pub(super) fn interface_part(
        &mut self,
        declaration: Declaration,
        param: bool,
    ) -> Result<Var, Error> {
        if declaration.space == StateSpace::Reg {
            let message = format!("`{}` is a register", declaration.name());
            let help = "`register_param` adds parameters and results that are registers";
            return Err(Error::new(Kind::Argument, message, help).code_is(Code::Parameter));
        }
        self.check_part(&declaration, param)?;
        let var = self.add_part(&declaration, param)?;
        self.push_part(declaration, param);
        Ok(var)
    }

    /// Whether a parameter or result is legal with no other beside it.
    pub(super) fn check_part(&self, declaration: &Declaration, param: bool) -> Result<(), Error> {
        self.module.tables.can_change(self.func)?;
        let (name, kind) = (declaration.name(), self.body.kind);
        if !param && kind == FunctionKind::Entry {
            return Err(no_results(&self.body.name, name));
        }
        let alone = Interface::default();
        let alone = match param {
            true => alone.param(declaration.clone()),
            false => alone.result(declaration.clone()),
        };
        self.check_header(&alone, "").map(drop)
    }

    pub(super) fn check_interface(&self, interface: &Interface) -> Result<(), Error> {
        if let Some(result) = interface.returns.first()
            && self.body.kind == FunctionKind::Entry
        {
            return Err(no_results(&self.body.name, result.name()));
        }
        self.check_header(interface, "").map(drop)
    }

    /// What stands before the statements, if it is legal: the interface, and declarations inside.
    pub(super) fn check_header(
        &self,
        interface: &Interface,
        inside: &str,
    ) -> Result<String, Error> {
        let header = interface.header(self.body.kind, &self.body.name)?;
        let mut text = format!("{header}\n{{\n{inside}}}\n");
        let tables = &self.module.tables;
        let known = tables.functions.get(self.func.index as usize);
        // It has to agree with what was said of it before.
        let declared = known.map_or("", |f| &f.declared);
        let start = tables.header.len() + declared.len() + 1;
        let whole = format!("{}{declared}\n{text}", tables.header);
        match check::errors(&whole, start, start + text.len()) {
            Ok(_) => {
                text.truncate(text.len().saturating_sub("}\n".len()));
                Ok(text)
            }
            Err(found) => Err(Error::illegal(text, found)),
        }
    }

    pub(super) fn add_part(
        &mut self,
        declaration: &Declaration,
        param: bool,
    ) -> Result<Var, Error> {
        let kind = if param { "parameter" } else { "result" };
        let class = format!("{kind} {}", declaration.nameless()?);
        let text = format!("{};", declaration.parameter()?);
        self.add_local(declaration.name(), text, &class, true)
    }
}
