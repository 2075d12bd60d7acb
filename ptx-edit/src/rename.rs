//! Renaming: the declaration and every use get another name; all other bytes are unchanged.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::raw::ident_tokens::{Text, Words};
use ptx_ir::raw::{NewText, Patch, RawBody, RawModule};
use ptx_ir::{
    Binding, FuncId, Item, ItemId, LabelId, Module, NameId, RegDeclId, Span, StmtId, SymbolId,
    VarId,
};

use crate::editor::EditModule as _;
use crate::name_conflicts::{check_declarable, is_new};
use crate::names::{
    Entity, Finder, NameForm, NameRef, NewNames, find_capture, is_debug_name, is_unresolved,
};
use crate::{EditError, Editor, ModuleEditor};

impl Editor<'_> {
    /// Renames a declared register, or a range of them: `%r<9>` to `%x<9>` by the name `%x`. Linear in the body.
    ///
    /// # Errors
    ///
    /// [`EditError::Taken`] and [`EditError::Overlap`] if another name would be captured, [`EditError::Spelling`] for a text
    /// that is not a name, or of a range ends with a digit, [`EditError::Used`] if the old name is also used where names are
    /// not resolved, such as in a debug section.
    pub fn rename_register(&mut self, decl: RegDeclId, name: &str) -> Result<(), EditError> {
        let declaration = *self
            .body()
            .reg_decls()
            .get(decl)
            .ok_or(EditError::UnknownId)?;
        let entity = Entity::Register(self.function, decl);
        let form = NameForm::of(declaration.count);
        let new = self.rename(entity, declaration.name, form, name)?;
        if let Some(decl) = self.body_mut().reg_decls_mut().get_mut(decl) {
            decl.name = new;
        }
        self.rename_binding(Binding::Register(decl), new);
        Ok(())
    }

    /// Renames a label. Linear in the body and in the symbols.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`rename_register`](Self::rename_register).
    pub fn rename_label(&mut self, label: LabelId, name: &str) -> Result<(), EditError> {
        let old = self
            .body()
            .labels()
            .get(label)
            .ok_or(EditError::UnknownId)?
            .name;
        // A symbol has precedence over a label that is defined after its use.
        let mut symbols = self.module.symbols().values();
        if symbols.any(|s| self.module.name(s.name) == name) {
            return Err(EditError::Taken(String::from(name)));
        }
        let entity = Entity::Label(self.function, label);
        let new = self.rename(entity, old, NameForm::Plain, name)?;
        if let Some(label) = self.body_mut().labels_mut().get_mut(label) {
            label.name = new;
        }
        Ok(())
    }

    /// Renames a variable of the body or a parameter, or a range of variables as a whole. Linear in the body.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`rename_register`](Self::rename_register).
    pub fn rename_variable(&mut self, var: VarId, name: &str) -> Result<(), EditError> {
        let old = *self.body().vars().get(var).ok_or(EditError::UnknownId)?;
        // The members of a range have the name, the statement and the scope of its declaration.
        let members: Vec<VarId> = self
            .body()
            .vars()
            .iter()
            .filter(|(_, v)| (v.name, v.stmt, v.scope) == (old.name, old.stmt, old.scope))
            .map(|(id, _)| id)
            .collect();
        let first = match old.number {
            Some(_) => members.first().copied().unwrap_or(var),
            None => var,
        };
        let entity = Entity::Variable(self.function, first);
        let form = NameForm::of(old.number);
        let new = self.rename(entity, old.name, form, name)?;
        for id in members {
            if let Some(v) = self.body_mut().vars_mut().get_mut(id) {
                v.name = new;
            }
        }
        self.rename_binding(Binding::Var(first), new);
        Ok(())
    }

    /// Checks a new name of an entity and patches the statements that contain the entity. The record of its declaration is not
    /// changed.
    fn rename(
        &mut self,
        entity: Entity,
        old: NameId,
        form: NameForm,
        name: &str,
    ) -> Result<NameId, EditError> {
        check_declarable(name, form)?;
        if is_unresolved(self.module, self.body(), old) {
            return Err(EditError::unresolved(self.module, old));
        }
        let function = Some(self.function);
        check_captures(
            self.module,
            function,
            &NewNames::new(vec![(entity, name)]),
            name,
            form,
        )?;
        let new = self.intern(name);
        let header = declares_parameter(self.module, self.function, entity);
        if let Some(item) = header {
            self.module_editor().patch_item(item, entity, old, new);
        }
        self.patch_statements(entity, new);
        self.edits();
        Ok(new)
    }

    /// Patches the statements that contain an entity.
    fn patch_statements(&mut self, entity: Entity, new: NameId) {
        let mut finder = Finder::new(self.module);
        finder.enter(self.function);
        let mut occurrences: Vec<(StmtId, NameRef)> = Vec::new();
        let mut refs = Vec::new();
        for (id, statement) in self.body().statements() {
            if finder
                .leaves_of(statement)
                .iter()
                .any(|l| l.entity == entity)
            {
                finder.find_in_statement(id, statement, &mut refs);
                occurrences.extend(
                    refs.drain(..)
                        .filter(|r| r.entity == entity)
                        .map(|r| (id, r)),
                );
            }
        }
        for (id, name) in occurrences {
            self.edits().patch(id, patch(name, new));
        }
    }

    /// Renames the declarator or the parameter that declares an entity.
    fn rename_binding(&mut self, binding: Binding, new: NameId) {
        let mut declarators = self.body_mut().declarations_mut().declarators.iter_mut();
        if let Some(d) = declarators.find(|d| d.binding == binding) {
            d.name = new;
            return;
        }
        let Some(f) = self.module.functions().get(self.function).copied() else {
            return;
        };
        let params = self.module.params_mut();
        for range in [f.interface.params, f.interface.returns] {
            let list = params
                .get_mut(range.start as usize..(range.start + range.len) as usize)
                .unwrap_or_default();
            if let Some(param) = list.iter_mut().find(|p| p.binding == binding) {
                param.name = Some(new);
            }
        }
    }
}

impl ModuleEditor<'_> {
    /// Renames a variable or a function of the module wherever it is declared, defined or used; a range of variables as a
    /// whole. Linear in the module.
    ///
    /// ```
    /// use ptx_edit::EditModule as _;
    /// let text = b".version 8.0\n.target sm_80\n.func  f ( ) { ret; }\n.entry k() { call f; ret; }\n";
    /// let mut module = ptx_parse::parse(text).module;
    /// let f = module.function("f").and_then(|f| module.functions()[f].symbol).ok_or("no function")?;
    /// module.editor().rename_symbol(f, "helper")?;
    /// let now = String::from_utf8(ptx_print::verbatim(&module))?;
    /// assert!(now.ends_with(".func  helper ( ) { ret; }\n.entry k() { call helper; ret; }\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::Taken`] and [`EditError::Overlap`] if another name of the module or of a function would be captured,
    /// [`EditError::Spelling`] for a text that is not a name, [`EditError::Used`] if a debug section mentions the old name.
    pub fn rename_symbol(&mut self, symbol: SymbolId, name: &str) -> Result<(), EditError> {
        let module = &*self.module;
        let old = *module.symbols().get(symbol).ok_or(EditError::UnknownId)?;
        let form = NameForm::of(old.number);
        check_declarable(name, form)?;
        if is_debug_name(module, old.name) {
            return Err(EditError::unresolved(module, old.name));
        }
        // Sorted by id.
        let renamed: Vec<SymbolId> = module
            .symbols()
            .iter()
            .filter(|(_, s)| (s.name, NameForm::of(s.number)) == (old.name, form))
            .map(|(id, _)| id)
            .collect();
        let is_renamed = |id: SymbolId| renamed.binary_search(&id).is_ok();
        let entity = Entity::Symbol(renamed.first().copied().unwrap_or(symbol));
        check_captures(
            module,
            None,
            &NewNames::new(vec![(entity, name)]),
            name,
            form,
        )?;
        let new = self.intern(name);
        self.patch_everywhere(entity, old.name, new);
        for &id in &renamed {
            self.module.symbols_mut()[id].name = new;
            self.symbol_changed(id);
        }
        for function in self.module.functions_mut().values_mut() {
            if function.symbol.is_some_and(is_renamed) {
                function.name = new;
            }
        }
        for d in self.module.declarations_mut().declarators.iter_mut() {
            if d.binding.symbol().is_some_and(is_renamed) {
                d.name = new;
            }
        }
        Ok(())
    }

    /// Patches the items and the statements that contain a symbol.
    fn patch_everywhere(&mut self, entity: Entity, old: NameId, new: NameId) {
        let mut finder = Finder::new(self.module);
        let mut items: Vec<ItemId> = Vec::new();
        let mut functions: Vec<FuncId> = Vec::new();
        for (id, item) in self.module.items() {
            if finder.item_leaves(item).iter().any(|l| l.entity == entity) {
                items.push(id);
            }
            if let Item::Function(f) = item
                && let Some(body) = self.module.body(f)
            {
                finder.enter(f);
                let mut statements = body.statements();
                if statements.any(|(_, s)| finder.leaves_of(s).iter().any(|l| l.entity == entity)) {
                    functions.push(f);
                }
            }
        }
        for item in items {
            self.patch_item(item, entity, old, new);
        }
        for function in functions {
            if let Ok(mut editor) = self.module.edit(function) {
                editor.patch_statements(entity, new);
            }
        }
        self.edits();
    }

    /// Patches the names of an entity in an item. Of a function, only the header is patched.
    fn patch_item(&mut self, id: ItemId, entity: Entity, old: NameId, new: NameId) {
        let module = &*self.module;
        let mut refs = Vec::new();
        if let Some(item) = module.item(id) {
            Finder::new(module).item(id, item, &mut refs);
        }
        let mut patches: Vec<Patch> = refs
            .into_iter()
            .filter(|r| r.entity == entity)
            .map(|r| patch(r, new))
            .collect();
        if !matches!(entity, Entity::Symbol(_)) {
            for (span, text) in renamed_lists(module, id, old, new) {
                let text = NewText::Text(self.intern(&text));
                patches.push(Patch { span, text });
            }
        }
        let edits = self.edits();
        for patch in patches {
            edits.patch(id, patch);
        }
    }
}

fn patch(name: NameRef, new: NameId) -> Patch {
    Patch {
        span: name.name,
        text: NewText::Text(new),
    }
}

/// Checks that the new name `name` captures no other name, and is not captured.
fn check_captures(
    module: &Module,
    function: Option<FuncId>,
    new: &NewNames<'_>,
    name: &str,
    form: NameForm,
) -> Result<(), EditError> {
    if form == NameForm::Plain && is_new(module, name) {
        return Ok(());
    }
    match find_capture(module, function, new) {
        None => Ok(()),
        Some(c) if c.name == c.other || c.other.is_empty() => Err(EditError::Taken(c.other)),
        Some(c) if c.other == name => Err(EditError::Overlap {
            name: c.other,
            other: c.name,
        }),
        Some(c) => Err(EditError::Overlap {
            name: c.name,
            other: c.other,
        }),
    }
}

/// The item of a function, if the entity is one of its parameters.
fn declares_parameter(module: &Module, function: FuncId, entity: Entity) -> Option<ItemId> {
    let body = module.body(function)?;
    let stmt = match entity {
        Entity::Register(_, id) => body.reg_decls().get(id)?.stmt,
        Entity::Variable(_, id) => body.vars().get(id)?.stmt,
        _ => return None,
    };
    module.item_of(function).filter(|_| stmt.is_none())
}

/// The patches of earlier edits that contain a parameter list with the old name, with the new name in it.
fn renamed_lists(module: &Module, id: ItemId, old: NameId, new: NameId) -> Vec<(Span, String)> {
    module
        .edits()
        .map(|e| e.patches(id))
        .unwrap_or_default()
        .iter()
        .filter_map(|patch| {
            let NewText::Text(text) = patch.text else {
                return None;
            };
            let text = module.name(text);
            if !text.trim_ascii_start().starts_with('(') {
                return None;
            }
            let old_name = Words::new(text.as_bytes(), Text::Head)
                .find(|w| w.span.of(text.as_bytes()) == module.name_bytes(old))?;
            let prefix = text.get(..old_name.span.start as usize)?;
            let suffix = text.get(old_name.span.end as usize..)?;
            Some((patch.span, [prefix, module.name(new), suffix].concat()))
        })
        .collect()
}
