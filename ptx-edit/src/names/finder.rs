//! Finds the names of statements and items: which entities they contain, and the tokens that spell them.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::cell::OnceCell;
use core::ops::Range;

use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::ident_tokens::{Text, Words};
use ptx_ir::raw::name::{split_numeric_suffix, suffix_number};
use ptx_ir::raw::{Change, NewText, Patch};
use ptx_ir::{
    Binding, Body, DeclId, Declarations, EntityId, FuncId, Interface, Item, ItemId, Module, NameId,
    Operand, OperandPool, OperandWalk, Span, Statement, StmtId, SymbolId, VarId,
};

use super::{Entity, NameRef, denotes};

/// An entity in a statement.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Leaf {
    pub(crate) entity: Entity,
    pub(crate) name: NameId,
    /// The number of a member of a range.
    pub(crate) member: Option<u32>,
    /// Whether the statement declares the entity.
    pub(crate) declares: bool,
    /// The number of members in the declaration of a range; [`Operand::Absent`] in other leaves.
    pub(crate) count: Operand,
}

/// The largest number of names that [`Search`] compares one by one. More names are sorted.
const FEW: usize = 16;

/// Finds the entities of items and statements, and the tokens that spell them.
pub(crate) struct Finder<'m> {
    module: &'m Module,
    /// For each symbol, the first one of its name.
    symbols: OnceCell<Vec<SymbolId>>,
    body: Option<(FuncId, &'m Body)>,
    /// For each variable of the body, the first one of its range.
    vars: Vec<VarId>,
    /// The entities of the last item or statement.
    leaves: Vec<Leaf>,
}

impl<'m> Finder<'m> {
    pub(crate) fn new(module: &'m Module) -> Self {
        Self {
            module,
            symbols: OnceCell::new(),
            body: None,
            vars: Vec::new(),
            leaves: Vec::new(),
        }
    }

    /// Continues with the statements of a function.
    pub(crate) fn enter(&mut self, f: FuncId) {
        self.body = self.module.body(f).map(|body| (f, body));
        self.vars.clear();
        if let Some((_, body)) = self.body {
            first_vars(body, &mut self.vars);
        }
    }

    /// Appends the names in the source of an item, with the body if it is a function.
    pub(crate) fn whole_item(&mut self, id: ItemId, item: Item, refs: &mut Vec<NameRef>) {
        self.item(id, item, refs);
        let Item::Function(f) = item else { return };
        if let Some(body) = self.module.body(f) {
            self.enter(f);
            for (id, statement) in body.statements() {
                self.statement(id, statement, refs);
            }
        }
    }

    // --- the tokens ---

    /// Appends the names in the source of an item. Of a function, only the header is searched.
    pub(crate) fn item(&mut self, id: ItemId, item: Item, refs: &mut Vec<NameRef>) {
        let mut span = self.module.span(id);
        let text = match item {
            Item::Section(_) => return self.section(span, refs),
            Item::Function(f) => {
                let body = self.module.body(f);
                span.end = body.map_or(span.end, |b| b.base());
                Text::Head
            }
            _ => Text::Other,
        };
        self.item_leaves(item);
        let change = self.module.edits().and_then(|e| e.change(id));
        self.find(span, text, change, refs);
    }

    /// Appends the names in the source of a statement of the function that was entered last.
    pub(crate) fn statement(&mut self, id: StmtId, statement: Statement, refs: &mut Vec<NameRef>) {
        self.leaves_of(statement);
        self.find_in_statement(id, statement, refs);
    }

    /// Appends the names in the source of a statement whose leaves [`leaves_of`](Self::leaves_of) just returned.
    pub(crate) fn find_in_statement(
        &self,
        id: StmtId,
        statement: Statement,
        refs: &mut Vec<NameRef>,
    ) {
        let Some((_, body)) = self.body else { return };
        let text = match statement {
            Statement::Inst(_) => Text::Instruction,
            Statement::Function(_) => Text::Head,
            _ => Text::Other,
        };
        let change = body.edits().and_then(|e| e.change(id));
        self.find(body.source_span(id), text, change, refs);
    }

    /// All names in a debug section, which are not resolved.
    fn section(&self, span: Span, refs: &mut Vec<NameRef>) {
        let text = span.of(self.module.source());
        for token in Lexer::fragment(text).filter(|t| t.kind == TokenKind::Ident) {
            if let Some(name) = self.module.find_name(token.span.of(text)) {
                let name_span = token.span.shifted(span.start);
                refs.push(NameRef {
                    entity: Entity::Unknown(name),
                    name: name_span,
                    number: Span::new(name_span.end, name_span.end),
                    member: None,
                    declares: false,
                });
            }
        }
    }

    /// Finds the tokens in a span that spell the leaves, with patches of the span applied.
    fn find(&self, span: Span, context: Text, change: Option<&Change>, refs: &mut Vec<NameRef>) {
        let patches = match change {
            _ if self.leaves.is_empty() => return,
            None => &[][..],
            Some(Change::Patched(patches)) => patches,
            Some(_) => return,
        };
        let text = span.of(self.module.source());
        let mut search = Search {
            module: self.module,
            leaves: &self.leaves,
            next: 0,
            sorted: Vec::new(),
        };
        let mut words = Words::new(text, context);
        while let Some(word) = words.next() {
            // The first leaf is the name of a function; its parameters are inside parentheses.
            let candidates = match context {
                Text::Head if word.depth == 0 => 0..1,
                Text::Head => 1..self.leaves.len(),
                _ => 0..self.leaves.len(),
            };
            let token = word.span.shifted(span.start);
            let Some((current, replaced_len)) = self.patched(token, word.span.of(text), patches)
            else {
                continue;
            };
            let Some((leaf, len)) = search.find(&current, candidates) else {
                continue;
            };
            let end = token.start + replaced_len.unwrap_or(len as u32);
            let mut number = Span::new(end, token.end.max(end));
            if leaf.declares
                && let Some(count) = words.range_count()
            {
                number = count.shifted(span.start);
            }
            refs.push(NameRef {
                entity: leaf.entity,
                name: Span::new(token.start, end),
                number,
                member: leaf.member,
                declares: leaf.declares,
            });
        }
    }

    /// The text of a token with the patch of its beginning, and the length of the text that the patch replaces. `None` if a
    /// patch prints the token from its record, or replaces it together with other text.
    fn patched<'t>(
        &self,
        token: Span,
        word: &'t [u8],
        patches: &[Patch],
    ) -> Option<(Cow<'t, [u8]>, Option<u32>)> {
        let Some(patch) = patches
            .iter()
            .find(|p| p.span.overlaps(token) && !p.span.is_empty())
        else {
            return Some((Cow::Borrowed(word), None));
        };
        let NewText::Text(text) = patch.text else {
            return None;
        };
        let len = patch.span.len();
        let suffix = word
            .get(len..)
            .filter(|_| patch.span.start == token.start)?;
        let current = [self.module.name_bytes(text), suffix].concat();
        Some((Cow::Owned(current), Some(len as u32)))
    }

    // --- the entities ---

    /// The entities that an item contains. Of a function, only the header is searched.
    pub(crate) fn item_leaves(&mut self, item: Item) -> &[Leaf] {
        self.leaves.clear();
        let module = self.module;
        match item {
            Item::Function(f) => self.header(f),
            Item::Decl(d) => self.declaration(module.declarations(), module.pool(), d, None),
            Item::Directive(d) => {
                // Versions and targets are not names.
                let args = module
                    .directives()
                    .get(d)
                    .filter(|_| !module.is_header(item))
                    .map(|d| d.args)
                    .unwrap_or_default();
                self.operands(module.pool().walk(args), None);
            }
            Item::Opaque(o) => {
                let mentions = module.opaques().get(o).map(|o| o.mentions);
                self.operands(module.pool().walk(mentions.unwrap_or_default()), None);
            }
            _ => {}
        }
        &self.leaves
    }

    /// The entities that a statement of the function that was entered last contains.
    pub(crate) fn leaves_of(&mut self, statement: Statement) -> &[Leaf] {
        self.leaves.clear();
        let Some((f, body)) = self.body else {
            return &[];
        };
        match statement {
            Statement::Label(id) => {
                if let Some(label) = body.labels().get(id) {
                    self.declare(Entity::Label(f, id), label.name, Operand::Absent);
                }
            }
            Statement::Decl(d) => {
                self.declaration(body.declarations(), body.pool(), d, self.body);
            }
            Statement::Function(inner) => self.header(inner),
            Statement::Prototype(id) => {
                if let Some(prototype) = body.prototypes().get(id) {
                    self.interface(prototype.interface, f);
                }
            }
            Statement::Open(_) | Statement::Close(_) | Statement::Removed => {}
            _ => self.operands(body.walk(statement), self.body),
        }
        &self.leaves
    }

    fn header(&mut self, f: FuncId) {
        let Some(function) = self.module.functions().get(f) else {
            return;
        };
        let entity = match function.symbol {
            Some(symbol) => self.symbol(symbol),
            None => Entity::Unknown(function.name),
        };
        self.declare(entity, function.name, Operand::Absent);
        self.interface(function.interface, f);
    }

    fn interface(&mut self, interface: Interface, f: FuncId) {
        for range in [interface.returns, interface.params] {
            for (i, param) in (range.start..).zip(range.of(self.module.params())) {
                if let Some(name) = param.name {
                    let entity = self
                        .bound_entity(param.binding, Some(f))
                        .unwrap_or(Entity::Parameter(i));
                    self.declare(entity, name, Operand::Absent);
                }
            }
        }
    }

    fn declaration(
        &mut self,
        tables: &Declarations,
        pool: &OperandPool,
        id: DeclId,
        body: Option<(FuncId, &Body)>,
    ) {
        for d in tables.declarators(id) {
            if let Some(entity) = self.bound_entity(d.binding, body.map(|(f, _)| f)) {
                self.declare(entity, d.name, d.count);
            }
            self.operands(pool.walk_operand(d.init), body);
        }
    }

    fn declare(&mut self, entity: Entity, name: NameId, count: Operand) {
        self.leaves.push(Leaf {
            entity,
            name,
            member: None,
            declares: true,
            count,
        });
    }

    /// The entity of a symbol: the first symbol of its name.
    pub(crate) fn symbol(&self, id: SymbolId) -> Entity {
        let symbols = self.symbols.get_or_init(|| self.module.first_symbols());
        Entity::Symbol(symbols.get(id.index()).copied().unwrap_or(id))
    }

    /// The entity that a declarator or a parameter declares.
    fn bound_entity(&self, binding: Binding, f: Option<FuncId>) -> Option<Entity> {
        match (binding, f) {
            (Binding::Register(decl), Some(f)) => Some(Entity::Register(f, decl)),
            (Binding::Var(var), Some(f)) => Some(Entity::Variable(f, var)),
            (Binding::Symbol(symbol), _) => Some(self.symbol(symbol)),
            _ => None,
        }
    }

    fn operands(&mut self, walk: OperandWalk<'_>, body: Option<(FuncId, &Body)>) {
        for operand in walk {
            let leaf = self.leaf(operand, body);
            self.leaves.extend(leaf);
        }
    }

    fn leaf(&self, operand: Operand, body: Option<(FuncId, &Body)>) -> Option<Leaf> {
        let (entity, name, member) = match (operand, body) {
            (Operand::Reg(id), Some((f, body))) => {
                let register = body.registers().get(id)?;
                let decl = body.reg_decls().get(register.decl)?;
                let member = decl.count.map(|_| register.number);
                (Entity::Register(f, register.decl), decl.name, member)
            }
            (Operand::Var(id), Some((f, body))) => {
                let var = body.vars().get(id)?;
                let first = self.vars.get(id.index()).copied().unwrap_or(id);
                (Entity::Variable(f, first), var.name, var.number)
            }
            (Operand::Label(id), Some((f, body))) => {
                (Entity::Label(f, id), body.labels().get(id)?.name, None)
            }
            (Operand::Symbol(id), _) => {
                let symbol = self.module.symbols().get(id)?;
                (self.symbol(id), symbol.name, symbol.number)
            }
            (Operand::Name(name), _) => (Entity::Unknown(name), name, None),
            _ => return None,
        };
        Some(Leaf {
            entity,
            name,
            member,
            declares: false,
            count: Operand::Absent,
        })
    }
}

/// A name, and the number of a member of a range.
type Key<'a> = (&'a [u8], Option<u32>);

/// Finds the leaf that a word spells. The leaves are in nearly the same order as the words of the source.
struct Search<'a> {
    module: &'a Module,
    leaves: &'a [Leaf],
    /// The index of the leaf after the one that was found last.
    next: usize,
    /// The leaves with their indices, sorted. Filled when a word is first not found near `next`.
    sorted: Vec<(Key<'a>, usize)>,
}

impl Search<'_> {
    /// The leaf that a word spells, and the length of the word without the number.
    fn find(&mut self, word: &[u8], candidates: Range<usize>) -> Option<(Leaf, usize)> {
        let next_leaves = self.next..self.leaves.len().min(self.next + 4);
        let mut search_result = self.find_linear(word, next_leaves, &candidates);
        if search_result.is_none() {
            search_result = if self.leaves.len() <= FEW {
                self.find_linear(word, 0..self.leaves.len(), &candidates)
            } else {
                self.find_sorted(word, &candidates)
            };
        }
        let (index, len) = search_result?;
        self.next = index + 1;
        Some((*self.leaves.get(index)?, len))
    }

    /// The first leaf in `indices` that a word spells.
    fn find_linear(
        &self,
        word: &[u8],
        mut indices: Range<usize>,
        candidates: &Range<usize>,
    ) -> Option<(usize, usize)> {
        indices.find_map(|i| {
            let leaf = self.leaves.get(i).filter(|_| candidates.contains(&i))?;
            let name = self.module.name_bytes(leaf.name);
            denotes(word, name, leaf.member).then_some((i, name.len()))
        })
    }

    /// A leaf that a word spells, by binary search.
    fn find_sorted(&mut self, word: &[u8], candidates: &Range<usize>) -> Option<(usize, usize)> {
        if self.sorted.is_empty() {
            self.sorted = self
                .leaves
                .iter()
                .enumerate()
                .map(|(i, leaf)| ((self.module.name_bytes(leaf.name), leaf.member), i))
                .collect();
            self.sorted.sort_unstable();
        }
        let (stem, digits) = split_numeric_suffix(word);
        let member = (!digits.is_empty()).then(|| (stem, Some(suffix_number(digits))));
        let mut keys = [Some((word, None)), member].into_iter().flatten();
        keys.find_map(|key| {
            let first = self.sorted.partition_point(|(k, _)| *k < key);
            let (leaf_key, index) = self.sorted.get(first)?;
            (*leaf_key == key && candidates.contains(index)).then_some((*index, key.0.len()))
        })
    }
}

/// Appends the first variable of the range of each variable of a body; a variable outside of ranges is its own.
fn first_vars(body: &Body, first_ids: &mut Vec<VarId>) {
    first_ids.extend(body.vars().ids());
    let mut members: Vec<_> = body
        .vars()
        .iter()
        .filter(|(_, v)| v.number.is_some())
        .map(|(id, v)| (v.name, v.stmt, v.scope, id))
        .collect();
    members.sort_unstable();
    for range in members.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)) {
        for (.., id) in range {
            if let (Some(entry), Some((.., first))) = (first_ids.get_mut(id.index()), range.first())
            {
                *entry = *first;
            }
        }
    }
}
