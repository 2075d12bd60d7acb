//! Renaming: the declaration and every use get another name, and keep every other byte.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_isa::SpecialReg;

use super::construct::is_name;
use super::edit_log::Patch;
use super::{EditError, Editor, operand_walk};
use crate::body::{Body, Statement};
use crate::decl::{Binding, Param};
use crate::lex::ident_tokens::{Text, Word, Words};
use crate::operand::Operand;
use crate::{
    FuncId, Item, ItemId, LabelId, Module, NameId, RegDeclId, Span, StmtId, SymbolId, VarId,
};

/// A name in the source: how it is spelled, and whether numbers stand behind it.
struct Spelling {
    old: String,
    new: NameId,
    /// The number of names of a range.
    count: Option<u32>,
}

/// Which words of a statement or item are looked at.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Among {
    All(Text),
    /// Of the head of a function those outside parentheses.
    Outside,
    /// And those inside.
    Inside,
}

impl Among {
    const OTHER: Self = Self::All(Text::Other);

    fn of(statement: Statement) -> Self {
        Self::All(match statement {
            Statement::Inst(_) => Text::Instruction,
            _ => Text::Other,
        })
    }
}

impl Spelling {
    /// The patches of a statement at `span`, some of whose names may have been patched before.
    fn patches(&self, module: &Module, span: Span, earlier: &[Patch], among: Among) -> Vec<Patch> {
        let text = span.of(module.source());
        let mut found = Vec::new();
        let of = match among {
            Among::All(text) => text,
            Among::Outside | Among::Inside => Text::Head,
        };
        let wanted = |w: &Word| match among {
            Among::All(_) => true,
            Among::Outside => w.depth == 0,
            Among::Inside => w.depth > 0,
        };
        for word in Words::new(text, of).filter(wanted) {
            let at = word.span.shifted(span.start);
            let before = earlier.iter().find(|p| p.span.start == at.start);
            if let Some(len) = self.matches(module, word.span.of(text), at, before) {
                found.push(Patch {
                    span: Span::new(at.start, at.start + len as u32),
                    text: self.new,
                });
            }
        }
        found
    }

    /// How many bytes of a word are the name, if it is.
    fn matches(
        &self,
        module: &Module,
        word: &[u8],
        at: Span,
        before: Option<&Patch>,
    ) -> Option<usize> {
        let (name, rest) = match before {
            // Patches of the declaration of a range end before its number.
            Some(patch) => {
                let len = patch.span.len().min(at.len());
                (module.name_bytes(patch.text), word.get(len..)?)
            }
            None => match word.strip_prefix(self.old.as_bytes()) {
                Some(rest) => (self.old.as_bytes(), rest),
                None => return None,
            },
        };
        if name != self.old.as_bytes() {
            return None;
        }
        let numbered = || {
            let n = core::str::from_utf8(rest).ok()?;
            let n = n.bytes().all(|b| b.is_ascii_digit()).then_some(n)?;
            let wraps = n.bytes().fold(0u32, |n, b| {
                n.wrapping_mul(10).wrapping_add(u32::from(b - b'0'))
            });
            (wraps < self.count?).then_some(())
        };
        let fits = rest.is_empty() || numbered().is_some();
        fits.then_some(word.len() - rest.len())
    }
}

impl Editor<'_> {
    /// Renames a declared register, or a range of them: `%r<9>` to `%x<9>` by the name `%x`. Linear in the body.
    pub fn rename_register(&mut self, decl: RegDeclId, name: &str) -> Result<(), EditError> {
        let declared = *self
            .body()
            .reg_decls
            .get(decl)
            .ok_or(EditError::UnknownId)?;
        let is_it = |body: &Body, o| match o {
            Operand::Reg(id) => body.registers.get(id).is_some_and(|r| r.decl == decl),
            _ => false,
        };
        let spelling = self.spelling(declared.name, name, declared.count)?;
        self.patch_uses(&spelling, declared.stmt, is_it);
        let body = self.body_mut();
        if let Some(decl) = body.reg_decls.get_mut(decl) {
            decl.name = spelling.new;
        }
        self.rename_binding(Binding::Register(decl), declared.name, &spelling);
        Ok(())
    }

    /// Renames a label. Linear in the body.
    pub fn rename_label(&mut self, label: LabelId, name: &str) -> Result<(), EditError> {
        let old = *self.body().labels.get(label).ok_or(EditError::UnknownId)?;
        if self.module.debug_mentions(old.name) || self.in_label_range(old.name) {
            return Err(EditError::Used(String::from(self.module.name(old.name))));
        }
        let spelling = self.spelling(old.name, name, None)?;
        self.patch_uses(&spelling, Some(old.stmt), |_, o| o == Operand::Label(label));
        if let Some(label) = self.body_mut().labels.get_mut(label) {
            label.name = spelling.new;
        }
        Ok(())
    }

    /// Renames a variable of the body, or a parameter; of a range, all of it. Linear in the body.
    pub fn rename_variable(&mut self, var: VarId, name: &str) -> Result<(), EditError> {
        let old = *self.body().vars.get(var).ok_or(EditError::UnknownId)?;
        let same =
            move |v: &crate::Var| (v.name, v.stmt, v.scope) == (old.name, old.stmt, old.scope);
        let count = old.number.map(|_| u32::MAX);
        let spelling = self.spelling(old.name, name, count)?;
        let is_it = |body: &Body, o| match o {
            Operand::Var(id) => body.vars.get(id).is_some_and(same),
            _ => false,
        };
        self.patch_uses(&spelling, old.stmt, is_it);
        let mut first = var;
        let body = self.body_mut();
        for id in body.vars.ids() {
            if let Some(v) = body.vars.get_mut(id).filter(|v| same(v)) {
                v.name = spelling.new;
                first = first.min(id);
            }
        }
        self.rename_binding(Binding::Var(first), old.name, &spelling);
        Ok(())
    }

    /// Whether a table of targets, `N<5>`, may mean a label.
    fn in_label_range(&self, label: NameId) -> bool {
        let text = self.module.name(label);
        let prefix = text.trim_end_matches(|c: char| c.is_ascii_digit());
        let pool = &self.body().pool;
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

    fn spelling(
        &mut self,
        old: NameId,
        new: &str,
        count: Option<u32>,
    ) -> Result<Spelling, EditError> {
        if self.body().is_contested(self.module, old) {
            return Err(EditError::Used(String::from(self.module.name(old))));
        }
        let old = String::from(self.module.name(old));
        let new = match count {
            Some(_) => self.fresh_range(new)?,
            None => self.fresh(new)?,
        };
        Ok(Spelling { old, new, count })
    }

    /// Patches the declaration and all statements that mention it.
    fn patch_uses(
        &mut self,
        spelling: &Spelling,
        declaration: Option<StmtId>,
        is_it: impl Fn(&Body, Operand) -> bool,
    ) {
        let body = self.body();
        let mut users: Vec<(StmtId, Statement)> = Vec::new();
        for (id, statement) in body.statements() {
            let operands = operand_walk::of_statement(body, statement);
            if declaration == Some(id)
                || operand_walk::any(&body.pool, operands, |o| is_it(body, o))
            {
                users.push((id, statement));
            }
        }
        for (id, statement) in users {
            self.patch_statement(spelling, id, statement);
        }
        if declaration.is_none() {
            self.module.patch_header(spelling, self.function);
        }
        self.edits();
    }

    fn patch_statement(&mut self, spelling: &Spelling, id: StmtId, statement: Statement) {
        let among = Among::of(statement);
        let body = self.body();
        let span = body.source_span(id);
        let earlier = body.edits().and_then(|e| e.patches(id)).unwrap_or_default();
        let patches = spelling.patches(self.module, span, earlier, among);
        for patch in patches {
            self.edits().patch(id, patch);
        }
    }

    /// Gives the declarator or the parameter that made something its name.
    fn rename_binding(&mut self, binding: Binding, old: NameId, spelling: &Spelling) {
        let body = self.body_mut();
        let mut declarators = body.declarations.declarators.iter_mut();
        if let Some(d) = declarators.find(|d| d.binding == binding && d.name == old) {
            d.name = spelling.new;
            return;
        }
        let Some(f) = self.module.functions.get(self.function) else {
            return;
        };
        let params = &mut self.module.params;
        for range in [f.interface.params, f.interface.returns] {
            let all = params.get_mut(range.start as usize..(range.start + range.len) as usize);
            let of_binding = |p: &&mut Param| p.binding == binding;
            if let Some(p) = all.unwrap_or_default().iter_mut().find(of_binding) {
                p.name = Some(spelling.new);
            }
        }
    }

    // --- fresh names ---

    /// A plain name that nothing has which this function sees or may see.
    pub(super) fn fresh(&mut self, name: &str) -> Result<NameId, EditError> {
        let taken = || EditError::Taken(String::from(name));
        self.module.may_be_named(name)?;
        let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let of_range = |text: &str, count: Option<u32>| {
            count.is_some() && text == digits && digits.len() < name.len()
        };
        let (module, body) = (&*self.module, self.body());
        let mut decls = body.reg_decls.values();
        let known = module.names.find(name.as_bytes()).map(NameId::new);
        let prefix = module.names.find(digits.as_bytes()).map(NameId::new);
        if prefix.is_some()
            && (decls.any(|d| of_range(module.name(d.name), d.count))
                || body
                    .vars
                    .values()
                    .any(|v| of_range(module.name(v.name), v.number))
                || module
                    .symbols
                    .values()
                    .any(|s| of_range(module.name(s.name), s.number)))
        {
            return Err(taken());
        }
        if let Some(known) = known
            && (body.has_name(known) || module.has_name(known))
        {
            return Err(taken());
        }
        Ok(self.intern(name))
    }

    /// The name of a range, none of whose members are taken.
    pub(super) fn fresh_range(&mut self, name: &str) -> Result<NameId, EditError> {
        let taken = || EditError::Taken(String::from(name));
        self.module.may_be_named(name)?;
        let (module, body) = (&*self.module, self.body());
        let clashes = |id: NameId| {
            let text = module.name(id);
            let rest = text.strip_prefix(name);
            rest.is_some_and(|r| r.bytes().all(|b| b.is_ascii_digit()))
        };
        if body
            .names()
            .chain(module.symbols.values().map(|s| s.name))
            .any(clashes)
        {
            return Err(taken());
        }
        Ok(self.intern(name))
    }
}

impl Body {
    fn names(&self) -> impl Iterator<Item = NameId> + '_ {
        let registers = self.reg_decls.values().map(|d| d.name);
        let vars = self.vars.values().map(|v| v.name);
        registers
            .chain(vars)
            .chain(self.labels.values().map(|l| l.name))
    }

    fn has_name(&self, name: NameId) -> bool {
        let unknown = self.pool.operands().contains(&Operand::Name(name));
        unknown || self.names().any(|n| n == name)
    }
}

impl Module {
    /// Whether a name can be declared at all.
    pub(super) fn may_be_named(&self, name: &str) -> Result<(), EditError> {
        if !is_name(name) {
            return Err(EditError::Spelling {
                wanted: "name",
                text: String::from(name),
            });
        }
        if SpecialReg::from_text(name.as_bytes()).is_some() || name == "WARP_SZ" {
            return Err(EditError::Taken(String::from(name)));
        }
        Ok(())
    }

    fn has_name(&self, name: NameId) -> bool {
        self.symbols.values().any(|s| s.name == name)
    }

    /// Patches the names of parameters before the body of a function.
    fn patch_header(&mut self, spelling: &Spelling, function: FuncId) {
        if let Some(item) = self.item_of(function) {
            self.patch_item(spelling, item, Among::Inside);
        }
    }

    fn item_of(&self, function: FuncId) -> Option<ItemId> {
        let mut items = self.items();
        Some(items.find(|(_, i)| *i == Item::Function(function))?.0)
    }

    fn patch_item(&mut self, spelling: &Spelling, id: ItemId, among: Among) {
        let mut span = self.span(id);
        if let Some(&Item::Function(f)) = self.items.get(id)
            && let Some(body) = self.body(f)
        {
            span.end = body.base;
        }
        let earlier = self.edits().and_then(|e| e.patches(id)).unwrap_or_default();
        let patches = spelling.patches(self, span, earlier, among);
        let edits = self.item_edits();
        for patch in patches {
            edits.patch(id, patch);
        }
    }

    /// Renames a variable or a function of the module, wherever it is declared, defined or mentioned; of a range, all of it.
    /// Linear in the module.
    pub fn rename_symbol(&mut self, symbol: SymbolId, name: &str) -> Result<(), EditError> {
        let old = *self.symbols.get(symbol).ok_or(EditError::UnknownId)?;
        self.may_be_named(name)?;
        if self.debug_mentions(old.name) {
            return Err(EditError::Used(String::from(self.name(old.name))));
        }
        let same = move |s: &crate::Symbol| (s.name, s.kind) == (old.name, old.kind);
        let all: Vec<SymbolId> = self
            .symbols
            .iter()
            .filter(|(_, s)| same(s))
            .map(|(i, _)| i)
            .collect();
        self.is_free(name, old.number.is_some())?;
        let spelling = Spelling {
            old: String::from(self.name(old.name)),
            new: NameId::new(self.names.intern(name.as_bytes()).0),
            count: old.number.map(|_| u32::MAX),
        };
        let is_it = |o: Operand| matches!(o, Operand::Symbol(s) if all.binary_search(&s).is_ok());
        self.patch_items_of(&spelling, &is_it, &all);
        let functions: Vec<FuncId> = self.definitions().map(|(id, ..)| id).collect();
        for function in functions {
            let Ok(mut editor) = self.edit(function) else {
                continue;
            };
            let body = editor.body();
            let inner = |s: Statement| match s {
                Statement::Function(f) => {
                    let symbol = editor.module.functions.get(f).and_then(|f| f.symbol);
                    symbol.is_some_and(|s| all.contains(&s))
                }
                _ => false,
            };
            let users: Vec<(StmtId, Statement)> = body
                .statements()
                .filter(|&(_, s)| {
                    inner(s)
                        || operand_walk::any(&body.pool, operand_walk::of_statement(body, s), is_it)
                })
                .collect();
            for (id, statement) in users {
                editor.patch_statement(&spelling, id, statement);
            }
        }
        for &id in &all {
            self.symbols[id].name = spelling.new;
            self.symbol_revisions.insert(id, self.revision);
        }
        for function in self.functions.values_mut() {
            if function.symbol.is_some_and(|s| all.contains(&s)) {
                function.name = spelling.new;
            }
        }
        let bound = |b: Binding| matches!(b, Binding::Symbol(s) if all.contains(&s));
        for d in self
            .declarations
            .declarators
            .iter_mut()
            .filter(|d| bound(d.binding))
        {
            d.name = spelling.new;
        }
        Ok(())
    }

    /// Whether no name of the module or of a body is like this one, or like one of a range of this name.
    pub(super) fn is_free(&self, name: &str, range: bool) -> Result<(), EditError> {
        let clashes = |id: NameId| {
            let text = self.name(id);
            let digits = |rest: &str| rest.bytes().all(|b| b.is_ascii_digit());
            match range {
                false => text == name || name.strip_prefix(text).is_some_and(digits),
                true => text.strip_prefix(name).is_some_and(digits),
            }
        };
        let of_bodies = self.bodies.values().flat_map(|b| b.names());
        let of_module = self.symbols.values().map(|s| s.name);
        if of_bodies.chain(of_module).any(clashes) {
            return Err(EditError::Taken(String::from(name)));
        }
        Ok(())
    }

    /// Patches the items that declare or mention a symbol.
    fn patch_items_of(
        &mut self,
        spelling: &Spelling,
        is_it: &impl Fn(Operand) -> bool,
        all: &[SymbolId],
    ) {
        let mut users: Vec<(ItemId, Among)> = Vec::new();
        for (id, item) in self.items() {
            let (found, among) = match item {
                Item::Function(f) => {
                    let symbol = self.functions.get(f).and_then(|f| f.symbol);
                    (symbol.is_some_and(|s| all.contains(&s)), Among::Outside)
                }
                Item::Decl(d) => {
                    let declared = self
                        .declarations
                        .declarators(d)
                        .iter()
                        .any(|d| matches!(d.binding, Binding::Symbol(s) if all.contains(&s)));
                    let todo = operand_walk::of_declaration(&self.declarations, d);
                    (
                        declared || operand_walk::any(&self.pool, todo, is_it),
                        Among::OTHER,
                    )
                }
                Item::Directive(d) => {
                    let args = self.directives.get(d).map(|d| self.pool.slice(d.args));
                    (
                        args.unwrap_or_default().iter().any(|o| is_it(*o)),
                        Among::OTHER,
                    )
                }
                Item::Opaque(o) => {
                    let mentions = self.opaques.get(o).map(|o| self.pool.slice(o.mentions));
                    (
                        mentions.unwrap_or_default().iter().any(|o| is_it(*o)),
                        Among::OTHER,
                    )
                }
                _ => (false, Among::OTHER),
            };
            if found {
                users.push((id, among));
            }
        }
        for (id, among) in users {
            self.patch_item(spelling, id, among);
        }
        self.item_edits();
    }
}
