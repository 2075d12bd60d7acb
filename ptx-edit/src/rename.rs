//! Renaming: the declaration and every use get another name; all other bytes are unchanged.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::edit_log::{NewText, Patch};
use ptx_ir::raw::{RawBody, RawEdits, RawModule};
use ptx_ir::{
    Binding, Body, FuncId, Item, ItemId, LabelId, NameId, Operand, Param, RegDeclId, Statement,
    StmtId, Symbol, SymbolId, Var, VarId,
};

use crate::editor::EditModule as _;
use crate::name_conflicts::{NameForm, Visible, check_new_name};
use crate::name_patches::{Among, Replacement};
use crate::uses::debug_mentions;
use crate::{EditError, Editor, ModuleEditor};

impl Editor<'_> {
    /// Renames a declared register, or a range of them: `%r<9>` to `%x<9>` by the name `%x`. Linear in the body.
    ///
    /// # Errors
    ///
    /// [`EditError::Taken`] and [`EditError::Overlap`] if another name would be captured, [`EditError::Spelling`] for a text
    /// that is not a name, or of a range ends with a digit, [`EditError::Used`] if the old name is ambiguous.
    pub fn rename_register(&mut self, decl: RegDeclId, name: &str) -> Result<(), EditError> {
        let declared = self.body().reg_decls().get(decl);
        let declared = *declared.ok_or(EditError::UnknownId)?;
        let is_it = |body: &Body, o| match o {
            Operand::Reg(id) => body.registers().get(id).is_some_and(|r| r.decl == decl),
            _ => false,
        };
        let replacement = self.replacement(declared.name, name, declared.count)?;
        self.patch_uses(&replacement, declared.stmt, is_it);
        if let Some(decl) = self.body_mut().reg_decls_mut().get_mut(decl) {
            decl.name = replacement.new;
        }
        self.rename_binding(Binding::Register(decl), declared.name, &replacement);
        Ok(())
    }

    /// Renames a label. Linear in the body.
    ///
    /// # Errors
    ///
    /// As for [`rename_register`](Self::rename_register); [`EditError::Used`] if a debug section or a range of labels mentions it.
    pub fn rename_label(&mut self, label: LabelId, name: &str) -> Result<(), EditError> {
        let old = self.body().labels().get(label);
        let old = *old.ok_or(EditError::UnknownId)?;
        if debug_mentions(self.module, old.name) || self.in_label_range(old.name) {
            return Err(EditError::Used(String::from(self.module.name(old.name))));
        }
        let replacement = self.replacement(old.name, name, None)?;
        self.patch_uses(&replacement, Some(old.stmt), |_, o| {
            o == Operand::Label(label)
        });
        if let Some(label) = self.body_mut().labels_mut().get_mut(label) {
            label.name = replacement.new;
        }
        Ok(())
    }

    /// Renames a variable of the body or a parameter, or a range of variables as a whole. Linear in the body.
    ///
    /// # Errors
    ///
    /// As for [`rename_register`](Self::rename_register).
    pub fn rename_variable(&mut self, var: VarId, name: &str) -> Result<(), EditError> {
        let old = self.body().vars().get(var);
        let old = *old.ok_or(EditError::UnknownId)?;
        let same = move |v: &Var| (v.name, v.stmt, v.scope) == (old.name, old.stmt, old.scope);
        let count = old.number.map(|_| u32::MAX);
        let replacement = self.replacement(old.name, name, count)?;
        let is_it = |body: &Body, o| match o {
            Operand::Var(id) => body.vars().get(id).is_some_and(same),
            _ => false,
        };
        self.patch_uses(&replacement, old.stmt, is_it);
        let mut first = var;
        let vars = self.body_mut().vars_mut();
        for id in vars.ids() {
            if let Some(v) = vars.get_mut(id).filter(|v| same(v)) {
                v.name = replacement.new;
                first = first.min(id);
            }
        }
        self.rename_binding(Binding::Var(first), old.name, &replacement);
        Ok(())
    }

    /// Whether a range of labels such as `N<5>` in a table of targets may include a label.
    fn in_label_range(&self, label: NameId) -> bool {
        let text = self.module.name(label);
        let prefix = text.trim_end_matches(|c: char| c.is_ascii_digit());
        let pool = self.body().pool();
        prefix.len() < text.len()
            && pool.operands().iter().any(|o| match *o {
                Operand::Range(at) => match pool.get(at) {
                    Operand::Name(name) => self.module.name(name) == prefix,
                    Operand::Label(_) => true,
                    _ => false,
                },
                _ => false,
            })
    }

    fn replacement(
        &mut self,
        old: NameId,
        new: &str,
        count: Option<u32>,
    ) -> Result<Replacement, EditError> {
        if self.is_ambiguous(old) {
            return Err(EditError::Used(String::from(self.module.name(old))));
        }
        let old = String::from(self.module.name(old));
        let new = self.new_name(new, NameForm::of(count))?;
        Ok(Replacement { old, new, count })
    }

    /// Patches the declaration and all statements that use it.
    fn patch_uses(
        &mut self,
        replacement: &Replacement,
        declaration: Option<StmtId>,
        is_it: impl Fn(&Body, Operand) -> bool,
    ) {
        let body = self.body();
        let uses = |s: Statement| body.walk(s).operands().any(|o| is_it(body, o));
        let users: Vec<(StmtId, Statement)> = body
            .statements()
            .filter(|&(id, s)| declaration == Some(id) || uses(s))
            .collect();
        for (id, statement) in users {
            self.patch_statement(replacement, id, statement);
        }
        if declaration.is_none() {
            // A parameter.
            let function = Item::Function(self.function);
            let item = self.module.items().find(|(_, i)| *i == function);
            if let Some((item, _)) = item {
                self.of_module()
                    .patch_item(replacement, item, Among::HeaderInside);
            }
        }
        self.edits();
    }

    fn patch_statement(&mut self, replacement: &Replacement, id: StmtId, statement: Statement) {
        let body = self.body();
        let span = body.source_span(id);
        let earlier = body.edits().map(|e| RawEdits::patches(e, id));
        let earlier = earlier.unwrap_or_default();
        let among = Among::of(statement);
        for patch in replacement.patches(self.module, span, earlier, among) {
            self.edits().patch(id, patch);
        }
    }

    /// Renames the declarator or the parameter that declares something.
    fn rename_binding(&mut self, binding: Binding, old: NameId, replacement: &Replacement) {
        let declarations = self.body_mut().declarations_mut();
        let mut declarators = declarations.declarators.iter_mut();
        if let Some(d) = declarators.find(|d| d.binding == binding && d.name == old) {
            d.name = replacement.new;
            return;
        }
        let Some(f) = self.module.functions().get(self.function).copied() else {
            return;
        };
        let params = self.module.params_mut();
        for range in [f.interface.params, f.interface.returns] {
            let all = params.get_mut(range.start as usize..(range.start + range.len) as usize);
            let of_binding = |p: &&mut Param| p.binding == binding;
            if let Some(p) = all.unwrap_or_default().iter_mut().find(of_binding) {
                p.name = Some(replacement.new);
            }
        }
    }

    /// A new name for something in this function, which captures no other.
    pub(crate) fn new_name(&mut self, name: &str, form: NameForm) -> Result<NameId, EditError> {
        check_new_name(self.module, name, form, Visible::In(self.body()))?;
        Ok(self.intern(name))
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
        if debug_mentions(module, old.name) {
            return Err(EditError::Used(String::from(module.name(old.name))));
        }
        let same = move |s: &Symbol| (s.name, s.kind) == (old.name, old.kind);
        let symbols = module.symbols().iter().filter(|(_, s)| same(s));
        let all: Vec<SymbolId> = symbols.map(|(i, _)| i).collect();
        let form = NameForm::of(old.number);
        check_new_name(module, name, form, Visible::Everywhere)?;
        let replacement = Replacement {
            old: String::from(module.name(old.name)),
            count: old.number.map(|_| u32::MAX),
            new: self.intern(name),
        };
        self.patch_items(&replacement, &all);
        self.patch_bodies(&replacement, &all);
        for &id in &all {
            self.module.symbols_mut()[id].name = replacement.new;
            self.symbol_changed(id);
        }
        for function in self.module.functions_mut().values_mut() {
            if function.symbol.is_some_and(|s| all.contains(&s)) {
                function.name = replacement.new;
            }
        }
        let bound = |b: Binding| matches!(b, Binding::Symbol(s) if all.contains(&s));
        let declarations = self.module.declarations_mut();
        for d in declarations.declarators.iter_mut() {
            if bound(d.binding) {
                d.name = replacement.new;
            }
        }
        Ok(())
    }

    fn patch_item(&mut self, replacement: &Replacement, id: ItemId, among: Among) {
        let module = &*self.module;
        let mut span = module.span(id);
        if let Some(Item::Function(f)) = module.item(id)
            && let Some(body) = module.body(f)
        {
            span.end = body.base();
        }
        let earlier = module.edits().map(|e| RawEdits::patches(e, id));
        let earlier = earlier.unwrap_or_default();
        let mut patches = replacement.patches(module, span, earlier, among);
        if among == Among::HeaderInside {
            for (span, text) in replacement.lists(module, earlier) {
                let text = NewText::Text(self.intern(&text));
                patches.push(Patch { span, text });
            }
        }
        let edits = self.edits();
        for patch in patches {
            edits.patch(id, patch);
        }
    }

    /// Patches the statements that use a symbol or declare its function.
    fn patch_bodies(&mut self, replacement: &Replacement, all: &[SymbolId]) {
        let is_it = |o: Operand| matches!(o, Operand::Symbol(s) if all.contains(&s));
        let functions: Vec<FuncId> = self.module.definitions().map(|(id, ..)| id).collect();
        for function in functions {
            let Ok(mut editor) = self.module.edit(function) else {
                continue;
            };
            let body = editor.body();
            let declares = |s: Statement| match s {
                Statement::Function(f) => {
                    let symbol = editor.module.functions().get(f).and_then(|f| f.symbol);
                    symbol.is_some_and(|s| all.contains(&s))
                }
                _ => false,
            };
            let users: Vec<(StmtId, Statement)> = body
                .statements()
                .filter(|&(_, s)| declares(s) || body.walk(s).operands().any(is_it))
                .collect();
            for (id, statement) in users {
                editor.patch_statement(replacement, id, statement);
            }
        }
    }

    /// Patches the items that declare or use a symbol.
    fn patch_items(&mut self, replacement: &Replacement, all: &[SymbolId]) {
        let module = &*self.module;
        let is_it = |o: Operand| matches!(o, Operand::Symbol(s) if all.contains(&s));
        let any = |args| module.pool().walk(args).operands().any(is_it);
        let mut users: Vec<(ItemId, Among)> = Vec::new();
        for (id, item) in module.items() {
            let (found, among) = match item {
                Item::Function(f) => {
                    let symbol = module.functions().get(f).and_then(|f| f.symbol);
                    let found = symbol.is_some_and(|s| all.contains(&s));
                    (found, Among::HeaderOutside)
                }
                Item::Decl(d) => {
                    let tables = module.declarations();
                    let mut all_of = tables.declarators(d).iter();
                    let declares = |b| matches!(b, Binding::Symbol(s) if all.contains(&s));
                    let found = all_of.any(|d| declares(d.binding))
                        || tables.walk(d, module.pool()).operands().any(is_it);
                    (found, Among::OTHER)
                }
                Item::Directive(d) => {
                    let args = module.directives().get(d).map(|d| d.args);
                    (args.is_some_and(any), Among::OTHER)
                }
                Item::Opaque(o) => {
                    let mentions = module.opaques().get(o).map(|o| o.mentions);
                    (mentions.is_some_and(any), Among::OTHER)
                }
                _ => (false, Among::OTHER),
            };
            if found {
                users.push((id, among));
            }
        }
        for (id, among) in users {
            self.patch_item(replacement, id, among);
        }
        self.edits();
    }
}
