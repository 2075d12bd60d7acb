//! Items of a module: new directives and variables, and removing items.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::RemovedComments;
use ptx_ir::raw::{self, RawModule, StmtSpan};
use ptx_ir::{
    Binding, Declarator, DirectiveStmt, FuncId, Function, Item, ItemId, Module, Operand,
    OperandRange, Span, Symbol, SymbolId, SymbolKind, TableRange, TypeName, VarDecl,
};
use ptx_isa::internals::{DirectivePosition, Ending};
use ptx_isa::{Directive, ScalarType, StateSpace};

use crate::name_conflicts::{Visible, check_new_name};
use crate::names::NameForm;
use crate::operand_grammar::check_arguments;
use crate::used_by::first_place;
use crate::{EditError, ModuleEditor, UsedBy};

/// The state spaces of variables of a module.
const MODULE_SPACES: [StateSpace; 3] = [StateSpace::Global, StateSpace::Const, StateSpace::Shared];

/// Returns an item; an error if it does not exist or was removed.
pub(crate) fn check_item(module: &Module, id: ItemId) -> Result<Item, EditError> {
    module
        .item(id)
        .filter(|i| *i != Item::Removed)
        .ok_or(EditError::NoStatement)
}

/// Checks that a new item can be placed after an item: an error in the header and before it.
pub(crate) fn check_place_after(module: &Module, item: ItemId) -> Result<(), EditError> {
    check_item(module, item)?;
    let is_at_start = module.has_source() && module.span(item).end == 0;
    let is_before_header = module
        .items()
        .skip_while(|(id, _)| *id != item)
        .skip(1)
        .any(|(_, later)| module.is_header(later));
    if is_at_start || is_before_header {
        return Err(EditError::Immovable);
    }
    Ok(())
}

impl ModuleEditor<'_> {
    /// Inserts a directive, such as `.file` or `.pragma`, after an item: see [`DirectiveStmt`] for its arguments.
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] for directives that are not items or take other arguments, [`EditError::Immovable`] before the
    /// end of the header.
    pub fn insert_directive(
        &mut self,
        predecessor: ItemId,
        directive: Directive,
        args: &[Operand],
    ) -> Result<ItemId, EditError> {
        let is_statement = matches!(directive.ending(), Ending::Semicolon | Ending::Open)
            && StateSpace::from_text(directive.text().as_bytes()).is_none()
            && !matches!(
                directive,
                Directive::Section
                    | Directive::Version
                    | Directive::Target
                    | Directive::AddressSize
            );
        if !is_statement || !directive.is_allowed_in(DirectivePosition::Module) {
            return EditError::kind("directive of a module");
        }
        check_arguments(self.module, self.module.pool(), directive, args)?;
        check_place_after(self.module, predecessor)?;
        let pool = self.module.pool_mut();
        let args = pool.extend(args);
        pool.deep_copy(args);
        let directives = self.module.directives_mut();
        let id = directives.push(DirectiveStmt::new(directive, args));
        let id = self.insert_item(predecessor, Item::Directive(id));
        self.directives_changed();
        Ok(id)
    }

    /// Inserts a variable, `.space .align n .ty name[elements];`, after an item. An alignment of 0 is the natural one of the
    /// type; `None` elements declare a scalar.
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] unless the state space is `.global`, `.const` or `.shared`; [`EditError::Taken`] and
    /// [`EditError::Overlap`] if the name conflicts with another; [`EditError::Spelling`] for an alignment that is not a power
    /// of two.
    pub fn insert_variable(
        &mut self,
        predecessor: ItemId,
        space: StateSpace,
        align: u32,
        ty: ScalarType,
        name: &str,
        elements: Option<u32>,
    ) -> Result<(ItemId, SymbolId), EditError> {
        check_place_after(self.module, predecessor)?;
        if !MODULE_SPACES.contains(&space) {
            return EditError::kind("state space of a variable of the module");
        }
        let align = match align {
            0 => Operand::Absent,
            n if n.is_power_of_two() => number(n, "alignment")?,
            n => return Err(wrong_number(n, "alignment")),
        };
        let elements = elements.map(|n| number(n, "size")).transpose()?;
        check_new_name(self.module, name, NameForm::Plain, Visible::Everywhere)?;
        let dims = self.module.pool_mut().extend(elements.as_slice());
        let name = self.intern(name);
        let decl = self.module.declarations().decls.next_id();
        let symbol = self
            .module
            .symbols_mut()
            .push(Symbol::new(name, SymbolKind::Variable(space, decl)));
        let tables = self.module.declarations_mut();
        let mut declarator = Declarator::new(name, Binding::Symbol(symbol));
        declarator.dims = dims;
        let start = tables.declarators.push(declarator) as u32;
        let mut statement = VarDecl::new(space, TypeName::Known(ty));
        statement.align = align;
        statement.declarators = TableRange { start, len: 1 };
        tables.decls.push(statement);
        let item = self.insert_item(predecessor, Item::Decl(decl));
        self.symbol_changed(symbol);
        Ok((item, symbol))
    }

    fn insert_item(&mut self, predecessor: ItemId, item: Item) -> ItemId {
        self.edits();
        let end = self.module.span(predecessor).end;
        let span = StmtSpan::new(Span::new(end, end), false);
        let id = raw::push_item(self.module, item, span);
        self.edits().insert_after(id, Some(predecessor));
        id
    }

    /// A string for a directive of the module; the quotes are added.
    ///
    /// # Errors
    ///
    /// [`EditError::Spelling`] if the text has quotes, line breaks, or bytes that are not ASCII.
    pub fn string(&mut self, text: &str) -> Result<Operand, EditError> {
        let quoted = quote(text)?;
        Ok(Operand::Str(self.intern(&quoted)))
    }

    /// Removes an item. `comments` selects the comments that are removed with it; comments inside a function are always
    /// removed. Linear in the module.
    ///
    /// ```
    /// use ptx_edit::{EditModule as _, RemovedComments};
    /// let text = b".version 8.0\n.target sm_80\n// Not used any more.\n.func f()\n{\n\tret;\n} // f\n.entry k() { ret; }\n";
    /// let mut module = ptx_parse::parse(text).module;
    /// let f = module.function("f").ok_or("no function")?;
    /// module.editor().remove_function(f, RemovedComments::All)?;
    /// assert_eq!(ptx_print::verbatim(&module), b".version 8.0\n.target sm_80\n.entry k() { ret; }\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::Used`] if a symbol that only this item declares is still used, [`EditError::Immovable`] for the
    /// header.
    pub fn remove_item(&mut self, id: ItemId, comments: RemovedComments) -> Result<(), EditError> {
        let item = check_item(self.module, id)?;
        if self.module.is_header(item) {
            return Err(EditError::Immovable);
        }
        let declared = self.module.declared_symbols(item);
        for &symbol in &declared {
            if let Some(by) = find_use(self.module, symbol, item) {
                return Err(EditError::used(self.module, symbol, by));
            }
        }
        let comments = match (item, comments) {
            (Item::Function(_), RemovedComments::None) => RemovedComments::Inside,
            (_, other) => other,
        };
        self.edits().remove(id, comments);
        if declared.is_empty() {
            self.directives_changed();
        }
        for symbol in declared {
            self.symbol_changed(symbol);
        }
        self.module.items_mut()[id] = Item::Removed;
        self.clear_record(item);
        Ok(())
    }

    /// Clears the record of a removed item, which other code can still find in the tables of the module.
    fn clear_record(&mut self, item: Item) {
        match item {
            Item::Function(id) => {
                if let Some(function) = self.module.functions_mut().get_mut(id) {
                    *function = Function::EMPTY;
                }
            }
            Item::Decl(id) => {
                if let Some(decl) = self.module.declarations_mut().decls.get_mut(id) {
                    decl.declarators.len = 0;
                }
            }
            Item::Directive(id) => {
                if let Some(directive) = self.module.directives_mut().get_mut(id) {
                    directive.args = OperandRange::default();
                }
            }
            Item::Section(id) => {
                if let Some(section) = self.module.sections_mut().get_mut(id) {
                    section.entries.clear();
                }
            }
            _ => {}
        }
    }

    /// Removes all declarations and the definition of a function: see [`remove_item`](Self::remove_item).
    ///
    /// # Errors
    ///
    /// [`EditError::Used`] if it is used, [`EditError::NoStatement`] if the module has no such function.
    pub fn remove_function(
        &mut self,
        function: FuncId,
        comments: RemovedComments,
    ) -> Result<(), EditError> {
        let record = self.module.functions().get(function);
        let symbol = record
            .and_then(|f| f.symbol)
            .ok_or(EditError::NoStatement)?;
        let declarations: Vec<ItemId> = self
            .module
            .items()
            .filter(|(_, item)| self.module.declared_symbols(*item).contains(&symbol))
            .map(|(id, _)| id)
            .collect();
        if declarations.is_empty() {
            return Err(EditError::NoStatement);
        }
        for item in declarations {
            self.remove_item(item, comments)?;
        }
        Ok(())
    }

    /// Replaces an argument of a directive of the module, such as `.file`: see [`DirectiveStmt`].
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the item is not a directive or does not take such an argument, [`EditError::NoPart`] if it has
    /// no such argument, [`EditError::Immovable`] for the header.
    pub fn set_argument(
        &mut self,
        id: ItemId,
        index: usize,
        new: Operand,
    ) -> Result<(), EditError> {
        let item = check_item(self.module, id)?;
        let Item::Directive(directive) = item else {
            return EditError::kind("directive");
        };
        if self.module.is_header(item) {
            return Err(EditError::Immovable);
        }
        let stmt = *self
            .module
            .directives()
            .get(directive)
            .ok_or(EditError::NoStatement)?;
        if index >= stmt.args.len() {
            return Err(EditError::NoPart(format!("argument {index}")));
        }
        let mut args = self.module.pool().slice(stmt.args).to_vec();
        args.splice(index..=index, [new]);
        check_arguments(self.module, self.module.pool(), stmt.directive, &args)?;
        self.module.pool_mut().set(stmt.args.at(index as u32), new);
        self.edits().rewrite(id);
        self.directives_changed();
        Ok(())
    }
}

/// An error for a number that is not valid as `meaning`, such as `alignment`.
fn wrong_number(n: u32, meaning: &'static str) -> EditError {
    EditError::spelling(meaning, n.to_string())
}

/// The operand of a number below 2³¹.
fn number(n: u32, meaning: &'static str) -> Result<Operand, EditError> {
    i32::try_from(n)
        .map(Operand::Small)
        .map_err(|_| wrong_number(n, meaning))
}

/// A string of a directive with its quotes.
pub(crate) fn quote(text: &str) -> Result<String, EditError> {
    if text
        .bytes()
        .any(|b| matches!(b, b'"' | b'\n' | b'\r' | 0) || !b.is_ascii())
    {
        return Err(EditError::spelling("string", text));
    }
    Ok(format!("\"{text}\""))
}

/// Finds a use of a symbol by an item except `removed`, or by the debug information.
fn find_use(module: &Module, symbol: SymbolId, removed: Item) -> Option<UsedBy> {
    let symbol = module.symbols().get(symbol)?;
    let is_use = |operand: Operand| match operand {
        Operand::Symbol(used) => module
            .symbols()
            .get(used)
            .is_some_and(|used| (used.name, used.kind) == (symbol.name, symbol.kind)),
        Operand::Name(name) => name == symbol.name,
        _ => false,
    };
    let body_pools = module
        .definitions()
        .filter(|(id, ..)| Item::Function(*id) != removed)
        .map(|(_, _, body)| body.pool());
    let is_used = core::iter::once(module.pool())
        .chain(body_pools)
        .any(|pool| {
            pool.operands().iter().any(|o| is_use(*o))
                || pool.addresses().iter().any(|a| is_use(a.base))
        });
    is_used.then(|| first_place(module, removed, is_use).map_or(UsedBy::Unresolved, UsedBy::Use))
}
