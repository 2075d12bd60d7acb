//! Items of the module: directives and variables added, and what is there removed.

use alloc::string::{String, ToString};

use ptx_isa::{Directive, DirectivePosition, Ending, ScalarType, StateSpace};

use super::{EditError, operand_walk};
use crate::body::StmtSpan;
use crate::decl::{Binding, Declarator, Symbol, SymbolKind, TableRange, TypeName, VarDecl};
use crate::operand::Operand;
use crate::{DirectiveStmt, Item, ItemId, Module, NameId, Span, SymbolId};

/// The directives that a module begins with.
const HEADER: [Directive; 3] = [
    Directive::Version,
    Directive::Target,
    Directive::AddressSize,
];

impl Module {
    pub(super) fn is_header(&self, item: Item) -> bool {
        match item {
            Item::Directive(id) => {
                let directive = self.directives.get(id).map(|d| d.directive);
                directive.is_some_and(|d| HEADER.contains(&d))
            }
            _ => false,
        }
    }

    pub(super) fn item_or_error(&self, id: ItemId) -> Result<Item, EditError> {
        let item = self.items.get(id).copied();
        item.filter(|i| *i != Item::Removed)
            .ok_or(EditError::NoStatement)
    }

    /// Places a new directive, such as `.file` or `.pragma`, behind an item: see [`DirectiveStmt`] for its arguments.
    pub fn insert_directive(
        &mut self,
        at: ItemId,
        directive: Directive,
        args: &[Operand],
    ) -> Result<ItemId, EditError> {
        let alone = matches!(directive.ending(), Ending::Semicolon | Ending::Open)
            && ptx_isa::StateSpace::from_text(directive.text().as_bytes()).is_none()
            && directive != Directive::Section
            && !HEADER.contains(&directive);
        if !alone || !directive.is_allowed_in(DirectivePosition::Module) {
            let wanted = "directive of a module";
            return Err(EditError::Kind { wanted });
        }
        self.are_arguments(&self.pool, directive, args)?;
        self.may_be_behind(at)?;
        let args = self.pool.extend(args);
        operand_walk::deep_copy(&mut self.pool, args);
        let id = self.directives.push(DirectiveStmt { directive, args });
        let id = self.insert_item(at, Item::Directive(id));
        self.directive_revision = self.revision;
        Ok(id)
    }

    /// Places a new variable, `.space .align n .ty name[elements];`, behind an item. An alignment of 0 is that of the type; `None`
    /// elements make a scalar.
    pub fn insert_variable(
        &mut self,
        at: ItemId,
        space: StateSpace,
        align: u32,
        ty: ScalarType,
        name: &str,
        elements: Option<u32>,
    ) -> Result<(ItemId, SymbolId), EditError> {
        self.may_be_behind(at)?;
        let of_module = [StateSpace::Global, StateSpace::Const, StateSpace::Shared];
        if !of_module.contains(&space) {
            let wanted = "state space of a variable of the module";
            return Err(EditError::Kind { wanted });
        }
        if align > 0 && !align.is_power_of_two() {
            let text = align.to_string();
            let wanted = "alignment";
            return Err(EditError::Spelling { wanted, text });
        }
        self.may_be_named(name)?;
        self.is_free(name, false)?;
        let number = |n: u32| i32::try_from(n).map(Operand::Small);
        let wrong = |n: u32| EditError::Spelling {
            wanted: "size",
            text: n.to_string(),
        };
        let align = match align {
            0 => Operand::Absent,
            n => number(n).map_err(|_| wrong(n))?,
        };
        let dims = match elements {
            None => None,
            Some(n) => Some(number(n).map_err(|_| wrong(n))?),
        };
        let dims = self.pool.extend(dims.as_slice());
        let name = NameId::new(self.names.intern(name.as_bytes()).0);
        let decl = self.declarations.decls.next_id();
        let symbol = self.symbols.push(Symbol {
            name,
            number: None,
            kind: SymbolKind::Variable(space, decl),
        });
        let start = self.declarations.declarators.push(Declarator {
            name,
            binding: Binding::Symbol(symbol),
            count: Operand::Absent,
            dims,
            init: Operand::Absent,
        });
        self.declarations.decls.push(VarDecl {
            linkage: None,
            space,
            bank: Operand::Absent,
            attributes: TableRange::default(),
            align,
            vector: 1,
            ty: TypeName::Known(ty),
            declarators: TableRange {
                start: start as u32,
                len: 1,
            },
        });
        let item = self.insert_item(at, Item::Decl(decl));
        self.symbol_revisions.insert(symbol, self.revision);
        Ok((item, symbol))
    }

    /// Whether something may be placed behind an item: nothing stands before the header or in it.
    pub(super) fn may_be_behind(&self, at: ItemId) -> Result<(), EditError> {
        self.item_or_error(at)?;
        let mut behind = self.items().skip_while(|(id, _)| *id != at).skip(1);
        if self.span(at).end == 0 || behind.any(|(_, item)| self.is_header(item)) {
            return Err(EditError::Immovable);
        }
        Ok(())
    }

    fn insert_item(&mut self, at: ItemId, item: Item) -> ItemId {
        self.item_edits();
        let end = self.span(at).end;
        let origin = StmtSpan::new(Span::new(end, end), false);
        let id = self.push_item(item, origin);
        self.item_edits().layout.insert_after(id, Some(at));
        id
    }

    /// A string for a directive of the module; the quotes are added.
    pub fn string(&mut self, text: &str) -> Result<Operand, EditError> {
        if text
            .bytes()
            .any(|b| matches!(b, b'"' | b'\n' | b'\r' | 0) || !b.is_ascii())
        {
            return Err(EditError::Spelling {
                wanted: "string",
                text: String::from(text),
            });
        }
        let text = alloc::format!("\"{text}\"");
        Ok(Operand::Str(NameId::new(
            self.names.intern(text.as_bytes()).0,
        )))
    }

    /// Removes an item; its comments stay, but for those inside a function. Nothing else may mention what it declares. Linear in the module.
    pub fn remove_item(&mut self, id: ItemId) -> Result<(), EditError> {
        let item = self.item_or_error(id)?;
        if self.is_header(item) {
            return Err(EditError::Immovable);
        }
        let declared = self.declared_by(item);
        for &symbol in &declared {
            if self.mentions(symbol) {
                let name = self.symbols.get(symbol).map(|s| self.name(s.name));
                return Err(EditError::Used(String::from(name.unwrap_or_default())));
            }
        }
        let keeps_comments = !matches!(item, Item::Function(_));
        self.item_edits().remove(id, keeps_comments);
        if declared.is_empty() {
            self.directive_revision = self.revision;
        }
        for symbol in declared {
            self.symbol_revisions.insert(symbol, self.revision);
        }
        self.items[id] = Item::Removed;
        Ok(())
    }

    /// Gives a directive of the module, such as `.file`, another argument: see [`DirectiveStmt`].
    pub fn set_argument(
        &mut self,
        id: ItemId,
        index: usize,
        new: Operand,
    ) -> Result<(), EditError> {
        let item = self.item_or_error(id)?;
        let Item::Directive(directive) = item else {
            let wanted = "directive";
            return Err(EditError::Kind { wanted });
        };
        if self.is_header(item) {
            return Err(EditError::Immovable);
        }
        let stmt = *self
            .directives
            .get(directive)
            .ok_or(EditError::NoStatement)?;
        if index >= stmt.args.len() {
            return Err(EditError::NoPart(alloc::format!("argument {index}")));
        }
        let mut args = self.pool.slice(stmt.args).to_vec();
        args.splice(index..=index, [new]);
        self.are_arguments(&self.pool, stmt.directive, &args)?;
        self.pool.set(stmt.args.at(index as u32), new);
        self.item_edits().rewrite(id);
        self.directive_revision = self.revision;
        Ok(())
    }

    /// Whether a function is an item of the module: some are declared inside others.
    pub(super) fn is_item(&self, function: crate::FuncId) -> bool {
        self.items().any(|(_, i)| i == Item::Function(function))
    }

    /// The symbols that an item declares.
    pub(super) fn declared_by(&self, item: Item) -> alloc::vec::Vec<SymbolId> {
        match item {
            Item::Decl(d) => {
                let all = self.declarations.declarators(d).iter();
                let symbol = |b: Binding| match b {
                    Binding::Symbol(s) => Some(s),
                    _ => None,
                };
                all.filter_map(|d| symbol(d.binding)).collect()
            }
            Item::Function(f) => {
                let symbol = self.functions.get(f).and_then(|f| f.symbol);
                symbol.into_iter().collect()
            }
            _ => alloc::vec::Vec::new(),
        }
    }

    /// Whether a body, an initialiser or a directive mentions a name of the module, or the debug information may.
    fn mentions(&self, symbol: SymbolId) -> bool {
        let Some(wanted) = self.symbols.get(symbol) else {
            return false;
        };
        let is_it = |o: Operand| match o {
            Operand::Symbol(s) => self
                .symbols
                .get(s)
                .is_some_and(|s| (s.name, s.kind) == (wanted.name, wanted.kind)),
            Operand::Name(n) => n == wanted.name,
            _ => false,
        };
        let pools = core::iter::once(&self.pool).chain(self.bodies.values().map(|b| &b.pool));
        let mut pools = pools.map(|pool| (pool.operands(), pool.addresses()));
        pools.any(|(operands, addresses)| {
            operands.iter().any(|o| is_it(*o)) || addresses.iter().any(|a| is_it(a.base))
        })
    }
}
