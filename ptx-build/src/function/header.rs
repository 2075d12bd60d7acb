//! The header of the function: linkage, attributes, directives, parameters and results.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_ir::{Code, FunctionKind, Linkage};
use ptx_isa::{Directive, StateSpace};

use super::body::FreshRegisters;
use super::{FunctionBuilder, no_results};
use crate::check::{self, Parsed};
use crate::declaration::{Declaration, DeclarationAttribute};
use crate::error::{BuildError, BuildErrorKind};
use crate::handle::{Reg, Variable};
use crate::interface::FunctionHeader;
use crate::name_table::{Meaning, NameTable};
use crate::number::Number;

impl<'m> FunctionBuilder<'m> {
    pub(super) fn interface(&mut self) -> Option<&mut FunctionHeader> {
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

    /// Adds an attribute, such as [`DeclarationAttribute::Unified`].
    pub fn attribute(&mut self, attribute: DeclarationAttribute) -> &mut Self {
        if let Some(interface) = self.interface() {
            interface.attributes.push(attribute);
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

    /// Sets everything before the body at once, instead of what [`define`](crate::ModuleBuilder::define) took from the
    /// declaration. Parameters without a name have no handle.
    ///
    /// # Errors
    ///
    /// The interface is illegal or contradicts the declaration of the function, or the function has statements or parameters
    /// already.
    pub fn set_interface(&mut self, interface: FunctionHeader) -> Result<(), BuildError> {
        self.module.tables.check_change(self.func)?;
        self.check_interface(&interface)?;
        if self.declaration.is_some() && self.body.is_empty() {
            self.forget_parameters();
        }
        let function = self.module.tables.functions.get(self.func.index as usize);
        if function
            .is_some_and(|f| !f.interface.returns.is_empty() || !f.interface.params.is_empty())
        {
            let message = format!("`{}` has parameters or results already", self.body.name);
            let help = "set the interface before anything else, or add parameters one by one with `add_param` and `result`";
            return BuildErrorKind::Argument.refuse(Code::Prototype, message, help);
        }
        let parts = interface.returns.iter().chain(&interface.params);
        let mut names = NameTable::default();
        for name in parts.map(Declaration::name).filter(|n| *n != "_") {
            self.check_parameter_name(name)?;
            if names.set(name, Some((1, Meaning::Item))).is_some() {
                return Err(self.duplicate(name));
            }
        }
        if let Some(header) = self.interface() {
            *header = interface;
        }
        self.bind_interface()
    }

    /// The variable or parameter that has a name here.
    #[must_use]
    pub fn local(&self, name: &str) -> Option<Variable> {
        match self.body.names.get(name)? {
            (_, Meaning::Local(index)) => Some(Variable {
                owner: self.body.owner,
                index,
            }),
            _ => None,
        }
    }

    /// The register that has a name here, unless it belongs to a range and was never asked for.
    #[must_use]
    pub fn local_reg(&self, name: &str) -> Option<Reg> {
        match self.body.names.get(name)? {
            (_, Meaning::Register(index)) => Some(Reg {
                owner: self.body.owner,
                index,
            }),
            _ => None,
        }
    }

    pub(super) fn check_interface(&mut self, interface: &FunctionHeader) -> Result<(), BuildError> {
        if let Some(result) = interface.returns.first()
            && self.body.kind == FunctionKind::Entry
        {
            return Err(no_results(&self.body.name, result.name()));
        }
        self.check_header(interface, false).map(drop)
    }

    /// A header as a record, if it is legal. If `declared`, it is checked together with the declarations of the fresh registers.
    pub(super) fn check_header(
        &mut self,
        interface: &FunctionHeader,
        declared: bool,
    ) -> Result<Arc<Parsed>, BuildError> {
        let header = interface.header(self.body.kind, &self.body.name)?;
        let tables = &self.module.tables;
        let function = tables.functions.get(self.func.index as usize);
        // It has to agree with its earlier declaration.
        let declaration = function.map_or("", |f| &f.declared);
        let mut fresh: Vec<&FreshRegisters> = self.body.fresh.iter().collect();
        fresh.retain(|f| declared && f.highest_used > 0);
        let registers = (fresh.iter()).fold(0, |set, f| set | 1u128 << f.ty.index());
        let header_key = (self.body.kind, interface.unnamed(), registers);
        if declaration.is_empty()
            && let Some((_, parsed)) =
                (self.module.legal_headers.iter()).find(|(key, _)| *key == header_key)
        {
            return Ok(parsed.clone());
        }
        let mut text = format!("{header}\n{{\n");
        for fresh in fresh {
            let (space, count) = (StateSpace::Reg.text(), u64::from(fresh.highest_used) + 1);
            let _ = writeln!(text, "\t{space} {} {}<{count}>;", fresh.ty, fresh.prefix);
        }
        text.push_str("}\n");
        let start = tables.header.len() + declaration.len() + 1;
        let context = format!("{}{declaration}\n{text}", tables.header);
        let end = start + text.len();
        match check::errors(&context, start, end) {
            Ok(module) => {
                let parsed = Arc::new(Parsed { module, start, end });
                if declaration.is_empty() {
                    self.module.note_legal_header(header_key, &parsed);
                }
                Ok(parsed)
            }
            Err(errors) => Err(BuildError::illegal(text, errors)),
        }
    }
}
