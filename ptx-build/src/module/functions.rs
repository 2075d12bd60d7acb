//! Functions and kernels of the module.

use alloc::string::{String, ToString};

use ptx_ir::{FuncId, FunctionKind, Linkage, SymbolId};

use super::ModuleBuilder;
use super::tables::{DeclState, Function};
use crate::declaration::Declaration;
use crate::error::{BuildError, BuildErrorKind, discarded, taken_name};
use crate::function::body::Body;
use crate::function::{FunctionBuilder, no_results};
use crate::handle::Func;
use crate::handle_owner::Handle;
use crate::interface::FunctionHeader;
use crate::lexical;
use crate::name_table::Meaning;

impl ModuleBuilder {
    /// Begins a kernel.
    ///
    /// # Errors
    ///
    /// The name is invalid or taken.
    pub fn kernel(&mut self, name: &str) -> Result<FunctionBuilder<'_>, BuildError> {
        self.begin(name, FunctionKind::Entry)
    }

    /// Begins a function. One that was [declared](Self::declare_func) before is begun with [`define`](Self::define).
    ///
    /// # Errors
    ///
    /// The name is invalid or taken.
    pub fn func(&mut self, name: &str) -> Result<FunctionBuilder<'_>, BuildError> {
        self.begin(name, FunctionKind::Func)
    }

    fn begin(&mut self, name: &str, kind: FunctionKind) -> Result<FunctionBuilder<'_>, BuildError> {
        self.claim(name)?;
        let (record, symbol) = self.draft.begin_function(name, kind, None);
        let func = self.add_function(name, kind, FunctionHeader::default(), record, symbol);
        if let Some(f) = self.tables.functions.get_mut(func.index as usize) {
            f.is_defined = true;
            f.lacks_header = true;
        }
        Ok(FunctionBuilder::new(self, func, record, kind, name, None))
    }

    fn add_function(
        &mut self,
        name: &str,
        kind: FunctionKind,
        interface: FunctionHeader,
        record: FuncId,
        symbol: SymbolId,
    ) -> Func {
        let index = self.tables.functions.len() as u32;
        self.tables.functions.push(Function {
            name: name.to_string(),
            kind,
            interface,
            declared: String::new(),
            is_defined: false,
            is_fixed: false,
            declaration_state: DeclState::Open,
            symbol,
            record,
            lacks_header: false,
        });
        let meaning = (0, Meaning::Function(index));
        self.tables.names.set(name, Some(meaning));
        Func {
            owner: self.tables.owner,
            index,
        }
    }

    /// Declares a function that is defined further down or, with `.extern`, in another module.
    ///
    /// # Errors
    ///
    /// As [`declare_function`](Self::declare_function).
    pub fn declare_func(
        &mut self,
        name: &str,
        linkage: Option<Linkage>,
        returns: &[Declaration],
        params: &[Declaration],
    ) -> Result<Func, BuildError> {
        let header = FunctionHeader {
            linkage,
            returns: returns.to_vec(),
            params: params.to_vec(),
            ..FunctionHeader::default()
        };
        self.declare_function(FunctionKind::Func, name, header)
    }

    /// Declares a function or a kernel with any header. It can be declared repeatedly.
    ///
    /// # Errors
    ///
    /// The header is illegal or contradicts an earlier declaration, or the name is invalid or taken.
    pub fn declare_function(
        &mut self,
        kind: FunctionKind,
        name: &str,
        interface: FunctionHeader,
    ) -> Result<Func, BuildError> {
        let (func, id) = self.declaration_of(kind, name, interface)?;
        if let Some(f) = self.tables.functions.get_mut(func.index as usize) {
            f.declaration_state = DeclState::Declared;
        }
        self.draft.push_function(id);
        Ok(func)
    }

    /// Records a function that is declared here or inside another one.
    pub(crate) fn declaration_of(
        &mut self,
        kind: FunctionKind,
        name: &str,
        interface: FunctionHeader,
    ) -> Result<(Func, FuncId), BuildError> {
        lexical::module_name(name)?;
        if let Some(result) = interface.returns.first()
            && kind == FunctionKind::Entry
        {
            return Err(no_results(name, result.name()));
        }
        let text = format!("{};", interface.header(kind, name)?);
        let declared = match self.tables.names.get(name) {
            Some((_, Meaning::Function(index))) => Some(index),
            _ => None,
        };
        let last = match declared.and_then(|f| self.tables.functions.get(f as usize)) {
            Some(f) if f.kind != kind => return Err(taken_name(name)),
            Some(f) if f.is_defined && f.declaration_state == DeclState::Declared => {
                format!("{}\n{{\n}}", f.interface.header(f.kind, name)?)
            }
            Some(f) if f.declared.is_empty() => format!("{};", f.interface.header(f.kind, name)?),
            Some(f) => f.declared.clone(),
            None => String::new(),
        };
        let context = format!("{}{last}\n{text}\n", self.tables.header);
        let start = context.len() - text.len() - 1;
        let parsed = self.verify(&context, start, &text)?;
        if declared.is_none() {
            self.claim(name)?;
        }
        let symbol = self.tables.symbol(name);
        let added = self.draft.import_function(&parsed, start, symbol);
        let Some((id, symbol)) = added else {
            return Err(taken_name(name));
        };
        let func = match declared {
            Some(index) => Func {
                owner: self.tables.owner,
                index,
            },
            None => self.add_function(name, kind, interface, id, symbol),
        };
        if let Some(f) = self.tables.functions.get_mut(func.index as usize) {
            f.declared = text;
            f.lacks_header = false;
        }
        Ok((func, id))
    }

    /// Begins the body of a function that was declared. The definition has the results, parameters, attributes and directives of
    /// the declaration, and its linkage unless that is `.extern`; [`FunctionBuilder::param_variable`] and its siblings give the
    /// handles of parameters and results, and [`FunctionBuilder::set_interface`] replaces all of it.
    ///
    /// ```
    /// # use ptx_build::{Declaration, ModuleBuilder, at};
    /// # use ptx_isa::{PtxVersion, ScalarType as T, StateSpace, Target};
    /// # let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    /// let param = |name| Declaration::new(StateSpace::Param, T::B32, name);
    /// let f = m.declare_func("f", None, &[param("r")], &[param("x")])?;
    /// let mut b = m.define(f)?;
    /// if let (Some(r), Some(x)) = (b.result_variable(0), b.param_variable(0)) {
    ///     let value = b.reg(T::B32);
    ///     b.ld().param().b32((value, at(x)))?;
    ///     b.st().param().b32((at(r), value))?;
    /// }
    /// b.ret().emit(())?;
    /// b.finish()?;
    /// # m.finish()?;
    /// # Ok::<(), ptx_build::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The function is already defined ([`Duplicate`](BuildErrorKind::Duplicate)), or belongs to another module or was discarded
    /// ([`Foreign`](BuildErrorKind::Foreign)).
    pub fn define(&mut self, func: Func) -> Result<FunctionBuilder<'_>, BuildError> {
        let declaration = self.tables.functions.get(func.index as usize);
        let declaration = declaration
            .filter(|_| func.owner == self.tables.owner)
            .ok_or_else(|| self.tables.handle_owners.refuse(Handle::Func(func), None))?
            .clone();
        if declaration.declaration_state == DeclState::Discarded {
            return Err(discarded(&declaration.name));
        }
        if declaration.is_defined {
            let message = format!("`{}` is already defined", declaration.name);
            let help = "a function has one body: give the other one another name";
            return Err(BuildError::new(BuildErrorKind::Duplicate, message, help));
        }
        if let Some(f) = self.tables.functions.get_mut(func.index as usize) {
            f.interface.linkage = f.interface.linkage.filter(|l| *l != Linkage::Extern);
            f.is_defined = true;
            f.is_fixed = false;
        }
        let (kind, name) = (declaration.kind, declaration.name.clone());
        let (record, _) = self
            .draft
            .begin_function(&name, kind, Some(declaration.symbol));
        if let Some(f) = self.tables.functions.get_mut(func.index as usize) {
            f.record = record;
        }
        let mut builder = FunctionBuilder::new(self, func, record, kind, &name, Some(declaration));
        builder.bind_interface()?;
        Ok(builder)
    }

    /// Restores the declaration of a discarded function, and removes the functions that were declared inside it.
    pub(crate) fn restore(&mut self, func: u32, declaration: Option<Function>, nested: &[u32]) {
        match declaration {
            Some(declaration) => {
                if let Some(f) = self.tables.functions.get_mut(func as usize) {
                    *f = declaration;
                }
            }
            None => self.tables.remove_function(func),
        }
        for function in nested.iter().filter(|f| **f != func) {
            self.tables.remove_function(*function);
        }
    }

    /// Adds a finished function and the functions that it declared inside to the known functions.
    pub(crate) fn add_definition(&mut self, body: &Body) {
        for function in &body.declared {
            if let Some(f) = self.tables.functions.get_mut(*function as usize) {
                f.declaration_state = DeclState::Declared;
                f.lacks_header = false;
            }
        }
        self.places.extend(&body.places);
        for [file, ..] in &body.places {
            if !self.mentioned_files.iter().any(|(f, _)| f == file) {
                self.mentioned_files.push((*file, body.name.clone()));
            }
        }
    }

    /// Records the current header of an unfinished function that is mentioned.
    pub(crate) fn record_header(&mut self, func: u32) {
        let Some(f) = self.tables.functions.get(func as usize) else {
            return;
        };
        if !f.lacks_header {
            return;
        }
        let record = f.record;
        let text = format!("{}{}", self.tables.header, self.tables.prototype(func));
        let parsed = ptx_parse::parse_str(&text).module;
        self.draft.set_function_header(&parsed, 0, record, []);
    }
}
