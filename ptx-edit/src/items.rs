//! Items of a module: new directives and variables, and removing items.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::RemovedComments;
use ptx_ir::raw::{self, RawModule};
use ptx_ir::{
    Binding, Declarator, DirectiveStmt, FuncId, Function, Item, ItemId, Module, Operand,
    OperandRange, Span, StmtSpan, Symbol, SymbolId, SymbolKind, TableRange, TypeName, VarDecl,
};
use ptx_isa::{Directive, DirectivePosition, Ending, ScalarType, StateSpace};

use crate::name_conflicts::{Visible, check_new_name};
use crate::names::NameForm;
use crate::operand_grammar::check_arguments;
use crate::{EditError, ModuleEditor};

/// The state spaces of variables of a module.
const MODULE_SPACES: [StateSpace; 3] = [StateSpace::Global, StateSpace::Const, StateSpace::Shared];

/// An item that was not removed.
pub(crate) fn check_item(module: &Module, id: ItemId) -> Result<Item, EditError> {
    let item = module.item(id);
    item.filter(|i| *i != Item::Removed)
        .ok_or(EditError::NoStatement)
}

/// Checks that something can be placed after an item: not in the header or before it.
pub(crate) fn check_place_after(module: &Module, at: ItemId) -> Result<(), EditError> {
    check_item(module, at)?;
    let mut rest = module.items().skip_while(|(id, _)| *id != at).skip(1);
    let is_at_start = module.has_source() && module.span(at).end == 0;
    if is_at_start || rest.any(|(_, item)| module.is_header(item)) {
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
        at: ItemId,
        directive: Directive,
        args: &[Operand],
    ) -> Result<ItemId, EditError> {
        let alone = matches!(directive.ending(), Ending::Semicolon | Ending::Open)
            && StateSpace::from_text(directive.text().as_bytes()).is_none()
            && !matches!(
                directive,
                Directive::Section
                    | Directive::Version
                    | Directive::Target
                    | Directive::AddressSize
            );
        if !alone || !directive.is_allowed_in(DirectivePosition::Module) {
            return EditError::kind("directive of a module");
        }
        check_arguments(self.module, self.module.pool(), directive, args)?;
        check_place_after(self.module, at)?;
        let pool = self.module.pool_mut();
        let args = pool.extend(args);
        pool.deep_copy(args);
        let directives = self.module.directives_mut();
        let id = directives.push(DirectiveStmt::new(directive, args));
        let id = self.insert_item(at, Item::Directive(id));
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
        at: ItemId,
        space: StateSpace,
        align: u32,
        ty: ScalarType,
        name: &str,
        elements: Option<u32>,
    ) -> Result<(ItemId, SymbolId), EditError> {
        check_place_after(self.module, at)?;
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
        let item = self.insert_item(at, Item::Decl(decl));
        self.symbol_changed(symbol);
        Ok((item, symbol))
    }

    fn insert_item(&mut self, at: ItemId, item: Item) -> ItemId {
        self.edits();
        let end = self.module.span(at).end;
        let span = StmtSpan::new(Span::new(end, end), false);
        let id = raw::push_item(self.module, item, span);
        self.edits().insert_after(id, Some(at));
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

    /// Removes an item. `comments` says which comments are removed with it; those inside a function always are. Linear in the
    /// module.
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
    /// [`EditError::Used`] if something uses what it declares and no other item declares it, [`EditError::Immovable`] for the
    /// header.
    pub fn remove_item(&mut self, id: ItemId, comments: RemovedComments) -> Result<(), EditError> {
        let item = check_item(self.module, id)?;
        if self.module.is_header(item) {
            return Err(EditError::Immovable);
        }
        let declared = self.module.declared_symbols(item);
        for &symbol in &declared {
            if is_used(self.module, symbol, item) {
                return Err(EditError::used(self.module, symbol));
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
        self.empty(item);
        Ok(())
    }

    /// Removes what the record of a removed item says, for those who read the tables of the module.
    fn empty(&mut self, item: Item) {
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
        let items = self.module.items();
        let declares = items.filter(|(_, i)| self.module.declared_symbols(*i).contains(&symbol));
        let declares: Vec<ItemId> = declares.map(|(id, _)| id).collect();
        if declares.is_empty() {
            return Err(EditError::NoStatement);
        }
        for item in declares {
            self.remove_item(item, comments)?;
        }
        Ok(())
    }

    /// Replaces an argument of a directive of the module, such as `.file`: see [`DirectiveStmt`].
    ///
    /// # Errors
    ///
    /// [`EditError::Kind`] if the item is not a directive or does not take such an argument, [`EditError::NoPart`] if it has no
    /// such argument, [`EditError::Immovable`] for the header.
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
        let stmt = self.module.directives().get(directive).copied();
        let stmt = stmt.ok_or(EditError::NoStatement)?;
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

fn wrong_number(n: u32, wanted: &'static str) -> EditError {
    EditError::spelling(wanted, n.to_string())
}

fn number(n: u32, wanted: &'static str) -> Result<Operand, EditError> {
    let number = i32::try_from(n).map(Operand::Small);
    number.map_err(|_| wrong_number(n, wanted))
}

/// A string of a directive with its quotes.
pub(crate) fn quote(text: &str) -> Result<String, EditError> {
    let odd = |b: u8| matches!(b, b'"' | b'\n' | b'\r' | 0) || !b.is_ascii();
    if text.bytes().any(odd) {
        return Err(EditError::spelling("string", text));
    }
    Ok(format!("\"{text}\""))
}

/// Whether a body, an initializer or a directive uses a symbol, or the debug information may; `removed` does not count.
fn is_used(module: &Module, symbol: SymbolId, removed: Item) -> bool {
    let Some(wanted) = module.symbols().get(symbol) else {
        return false;
    };
    let is_it = |o: Operand| match o {
        Operand::Symbol(s) => module
            .symbols()
            .get(s)
            .is_some_and(|s| (s.name, s.kind) == (wanted.name, wanted.kind)),
        Operand::Name(n) => n == wanted.name,
        _ => false,
    };
    let bodies = module.definitions();
    let bodies = bodies.filter(|(id, ..)| Item::Function(*id) != removed);
    let pools = core::iter::once(module.pool()).chain(bodies.map(|(_, _, b)| b.pool()));
    let mut pools = pools.map(|pool| (pool.operands(), pool.addresses()));
    pools.any(|(operands, addresses)| {
        operands.iter().any(|o| is_it(*o)) || addresses.iter().any(|a| is_it(a.base))
    })
}
