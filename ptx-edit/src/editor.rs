//! The editors of a module and of a function.

use alloc::boxed::Box;

use hashbrown::HashMap;
use ptx_ir::raw::{self, Edits, EntitySet, RawBody, RawModule};
use ptx_ir::{
    Body, BodyId, FuncId, Inst, InstId, ItemId, Module, NameId, Operand, OperandPool, RegDeclId,
    RegId, Statement, StmtId, SymbolId,
};

use crate::EditError;

mod sealed {
    pub trait Sealed {}
    impl Sealed for ptx_ir::Module {}
}

/// Adds editing to [`Module`].
pub trait EditModule: sealed::Sealed {
    /// Edits the body of a function.
    ///
    /// # Errors
    ///
    /// [`EditError::NoBody`] if the function is only declared, or the module has no such function.
    fn edit(&mut self, function: FuncId) -> Result<Editor<'_>, EditError>;

    /// Edits the parts of a module outside of bodies: the header, declarations, names, the order of items.
    fn editor(&mut self) -> ModuleEditor<'_>;
}

impl EditModule for Module {
    fn edit(&mut self, function: FuncId) -> Result<Editor<'_>, EditError> {
        let body = self
            .functions()
            .get(function)
            .and_then(|f| f.body)
            .filter(|&b| self.bodies().get(b).is_some())
            .ok_or(EditError::NoBody)?;
        Ok(Editor {
            body,
            module: self,
            function,
            registers: None,
            seen: EntitySet::new(),
            undeclared: EntitySet::new(),
            repeated: EntitySet::new(),
        })
    }

    fn editor(&mut self) -> ModuleEditor<'_> {
        ModuleEditor { module: self }
    }
}

/// Edits the items of a module. Created by [`EditModule::editor`].
///
/// ```
/// use ptx_edit::EditModule as _;
/// use ptx_isa::Target;
/// let text = b".version 8.0\n.target sm_80 // Ampere\n";
/// let mut module = ptx_parse::parse(text).module;
/// let target = "sm_90".parse::<Target>()?;
/// module.editor().set_target(target)?;
/// assert_eq!(ptx_print::verbatim(&module), b".version 8.0\n.target sm_90 // Ampere\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ModuleEditor<'m> {
    pub(crate) module: &'m mut Module,
}

/// Edits one function of a module. Created by [`EditModule::edit`].
#[derive(Debug)]
pub struct Editor<'m> {
    pub(crate) module: &'m mut Module,
    pub(crate) function: FuncId,
    pub(crate) body: BodyId,
    /// The registers by declaration and number. Filled by the first call of [`register`](Self::register).
    pub(crate) registers: Option<HashMap<(RegDeclId, u32), RegId>>,
    /// The symbols that were looked up.
    pub(crate) seen: EntitySet<SymbolId>,
    /// The symbols in `seen` that are not declared before this function.
    pub(crate) undeclared: EntitySet<SymbolId>,
    /// The symbols in `seen` that have the name of an entity of the function.
    pub(crate) repeated: EntitySet<SymbolId>,
}

impl ModuleEditor<'_> {
    /// The module as it is now.
    #[must_use]
    pub fn module(&self) -> &Module {
        self.module
    }

    /// The record of the edits, with a new revision.
    pub(crate) fn edits(&mut self) -> &mut Edits<ItemId> {
        let revision = raw::next_revision(self.module);
        let parsed_count = self.module.item_table().len();
        let edits = self
            .module
            .edits_mut()
            .get_or_insert_with(|| Box::new(Edits::new(parsed_count)));
        edits.set_revision(revision);
        edits
    }

    /// Records that the declaration of a symbol changed.
    pub(crate) fn symbol_changed(&mut self, symbol: SymbolId) {
        let revision = self.module.revision();
        self.module.symbol_revisions_mut().insert(symbol, revision);
    }

    /// Records that directives were added or removed.
    pub(crate) fn directives_changed(&mut self) {
        *self.module.directive_revision_mut() = self.module.revision();
    }

    pub(crate) fn intern(&mut self, text: &str) -> NameId {
        intern(self.module, text)
    }
}

impl Editor<'_> {
    ptx_isa::getters! {
        /// The module as it is now.
        module: &Module = module;
        /// The function.
        function: FuncId = function;
    }

    /// The body of the function as it is now.
    #[must_use]
    pub fn body(&self) -> &Body {
        &self.module.bodies()[self.body]
    }

    pub(crate) fn body_mut(&mut self) -> &mut Body {
        &mut self.module.bodies_mut()[self.body]
    }

    pub(crate) fn pool_mut(&mut self) -> &mut OperandPool {
        RawBody::pool_mut(self.body_mut())
    }

    pub(crate) fn module_editor(&mut self) -> ModuleEditor<'_> {
        ModuleEditor {
            module: self.module,
        }
    }

    /// The record of the edits, with a new revision.
    pub(crate) fn edits(&mut self) -> &mut Edits<StmtId> {
        let revision = raw::next_revision(self.module);
        let body = self.body_mut();
        let parsed_count = body.statement_table().len();
        let edits =
            RawBody::edits_mut(body).get_or_insert_with(|| Box::new(Edits::new(parsed_count)));
        edits.set_revision(revision);
        edits
    }

    /// A statement.
    ///
    /// # Errors
    ///
    /// [`EditError::NoStatement`] if it was removed, or the function has no such statement.
    pub fn statement(&self, id: StmtId) -> Result<Statement, EditError> {
        self.body()
            .statement(id)
            .filter(|s| *s != Statement::Removed)
            .ok_or(EditError::NoStatement)
    }

    /// The instruction of a statement.
    pub(crate) fn instruction(&self, id: StmtId) -> Result<(InstId, Inst), EditError> {
        let Statement::Inst(inst_id) = self.statement(id)? else {
            return EditError::kind("instruction");
        };
        let inst = self.body().inst(inst_id).copied();
        Ok((inst_id, inst.ok_or(EditError::NoStatement)?))
    }

    /// Operand `index` of an instruction; its guard is not counted.
    #[must_use]
    pub fn operand(&self, stmt: StmtId, index: usize) -> Option<Operand> {
        let (_, inst) = self.instruction(stmt).ok()?;
        let operands = self.body().pool().slice(inst.operands());
        operands.get(index).copied()
    }

    pub(crate) fn intern(&mut self, text: &str) -> NameId {
        intern(self.module, text)
    }
}

fn intern(module: &mut Module, text: &str) -> NameId {
    NameId::new(module.names_mut().intern(text.as_bytes()).0)
}
