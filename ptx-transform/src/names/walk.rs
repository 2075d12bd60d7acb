//! The walk through a module: each statement's words beside what it mentions.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::lex::ident_tokens::{Text, Words};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{
    Binding, Body, DeclId, Declarations, DirectiveId, EntityId, FuncId, Interface, Item, Module,
    NameId, Operand, OperandPool, Span, Statement, SymbolId, VarId,
};
use ptx_isa::Directive;

use super::{Entity, NameRef};

/// Something that the words of a statement may name.
#[derive(Copy, Clone)]
struct Leaf {
    entity: Entity,
    name: NameId,
    /// Which member of a range.
    member: Option<u32>,
    declares: bool,
}

/// Statements that mention more are searched by a map.
const FEW: usize = 16;

pub(super) struct Walk<'m> {
    module: &'m Module,
    source: &'m [u8],
    found: Vec<NameRef>,
    /// Of each symbol the first of its name.
    symbols: Vec<SymbolId>,
    /// Of each variable of the body the first of its range.
    vars: Vec<VarId>,
    /// What the statement at hand mentions; kept to be used again.
    leaves: Vec<Leaf>,
    operands: Vec<Operand>,
}

/// For each of some rows the first one with the same key; those without a key stand for themselves.
fn firsts<I: EntityId, K: Ord>(keys: impl Iterator<Item = Option<K>>) -> Vec<I> {
    let mut first: BTreeMap<K, I> = BTreeMap::new();
    keys.enumerate()
        .map(|(i, key)| {
            let id = I::from_index(i);
            key.map_or(id, |key| *first.entry(key).or_insert(id))
        })
        .collect()
}

impl<'m> Walk<'m> {
    pub(super) fn new(module: &'m Module) -> Self {
        let symbols = module.symbols().values();
        Self {
            module,
            source: module.source(),
            found: Vec::with_capacity(module.source().len() / 12),
            symbols: firsts(symbols.map(|s| Some((s.name, s.number.is_some())))),
            vars: Vec::new(),
            leaves: Vec::new(),
            operands: Vec::new(),
        }
    }

    pub(super) fn all(mut self) -> Vec<NameRef> {
        let module = self.module;
        for (id, item) in module.items() {
            let span = module.span(id);
            self.leaves.clear();
            match item {
                Item::Function(f) => self.function(f, span),
                Item::Section(_) => self.section(span),
                Item::Decl(d) => {
                    let (tables, pool) = (module.declarations(), module.pool());
                    self.declaration(tables, pool, d, None);
                    self.words(span, Text::Other);
                }
                // Versions and targets have no names.
                Item::Directive(d) if is_header(module, d) => {}
                Item::Directive(d) => {
                    let args = module.directives().get(d).map(|d| d.args);
                    self.module_operands(module.pool().slice(args.unwrap_or_default()));
                    self.words(span, Text::Other);
                }
                Item::Opaque(o) => {
                    let mentions = module.opaques().get(o).map(|o| o.mentions);
                    self.module_operands(module.pool().slice(mentions.unwrap_or_default()));
                    self.words(span, Text::Other);
                }
                _ => {}
            }
        }
        self.found
    }

    fn module_operands(&mut self, operands: &[Operand]) {
        for &operand in operands {
            self.module.pool().parts(operand, &mut self.operands);
        }
        self.leaves_of(None);
    }

    fn function(&mut self, f: FuncId, span: Span) {
        let body = self.module.body(f);
        let header = Span::new(span.start, body.map_or(span.end, |b| b.base()));
        self.header(f, header);
        if let Some(body) = body {
            let range = |v: &ptx_ir::Var| v.number.map(|_| (v.name, v.stmt, v.scope));
            self.vars = firsts(body.vars().values().map(range));
            for (id, statement) in body.statements() {
                self.leaves.clear();
                self.statement(f, body, statement, body.source_span(id));
            }
        }
    }

    /// What stands before the body of a function.
    fn header(&mut self, f: FuncId, span: Span) {
        let Some(function) = self.module.functions().get(f) else {
            return;
        };
        let entity = match function.symbol {
            Some(symbol) => self.symbol(symbol),
            None => Entity::Unknown(function.name),
        };
        self.declares(entity, function.name);
        self.interface(function.interface, f);
        self.words(span, Text::Head);
    }

    fn interface(&mut self, interface: Interface, f: FuncId) {
        for range in [interface.returns, interface.params] {
            for (i, param) in (range.start..).zip(range.of(self.module.params())) {
                if let Some(name) = param.name {
                    let entity = self.bound(param.binding, Some(f));
                    self.declares(entity.unwrap_or(Entity::Parameter(i)), name);
                }
            }
        }
    }

    fn statement(&mut self, f: FuncId, body: &Body, statement: Statement, span: Span) {
        let words = match statement {
            Statement::Label(id) => {
                if let Some(label) = body.labels().get(id) {
                    self.declares(Entity::Label(f, id), label.name);
                }
                Text::Other
            }
            Statement::Decl(d) => {
                self.declaration(body.declarations(), body.pool(), d, Some((f, body)));
                Text::Other
            }
            Statement::Function(inner) => return self.header(inner, span),
            Statement::Prototype(id) => {
                if let Some(prototype) = body.prototypes().get(id) {
                    self.interface(prototype.interface, f);
                }
                Text::Other
            }
            Statement::Open(_) | Statement::Close(_) | Statement::Removed => return,
            _ => {
                body.mentions(statement, &mut self.operands);
                self.leaves_of(Some((f, body)));
                match statement {
                    Statement::Inst(_) => Text::Instruction,
                    _ => Text::Other,
                }
            }
        };
        self.words(span, words);
    }

    /// Debug sections are not resolved: every name in them is what its spelling says.
    fn section(&mut self, span: Span) {
        let text = span.of(self.source);
        for token in Lexer::fragment(text).filter(|t| t.kind == TokenKind::Ident) {
            if let Some(name) = self.module.find_name(token.span.of(text)) {
                let name_span = token.span.shifted(span.start);
                self.found.push(NameRef {
                    entity: Entity::Unknown(name),
                    name: name_span,
                    number: Span::new(name_span.end, name_span.end),
                    member: None,
                    declares: false,
                });
            }
        }
    }

    fn declaration(
        &mut self,
        tables: &Declarations,
        pool: &OperandPool,
        id: DeclId,
        of: Option<(FuncId, &Body)>,
    ) {
        for d in tables.declarators(id) {
            if let Some(entity) = self.bound(d.binding, of.map(|(f, _)| f)) {
                self.declares(entity, d.name);
            }
            pool.parts(d.init, &mut self.operands);
            self.leaves_of(of);
        }
    }

    // --- what a statement mentions ---

    fn declares(&mut self, entity: Entity, name: NameId) {
        self.leaves.push(Leaf {
            entity,
            name,
            member: None,
            declares: true,
        });
    }

    fn symbol(&self, id: SymbolId) -> Entity {
        Entity::Symbol(self.symbols.get(id.index()).copied().unwrap_or(id))
    }

    fn bound(&self, binding: Binding, f: Option<FuncId>) -> Option<Entity> {
        match (binding, f) {
            (Binding::Register(decl), Some(f)) => Some(Entity::Register(f, decl)),
            (Binding::Var(var), Some(f)) => Some(Entity::Variable(f, var)),
            (Binding::Symbol(symbol), _) => Some(self.symbol(symbol)),
            _ => None,
        }
    }

    /// Makes leaves of the operands at hand.
    fn leaves_of(&mut self, of: Option<(FuncId, &Body)>) {
        let operands = core::mem::take(&mut self.operands);
        for &operand in &operands {
            let leaf = self.leaf(operand, of);
            self.leaves.extend(leaf);
        }
        self.operands = operands;
        self.operands.clear();
    }

    fn leaf(&self, operand: Operand, of: Option<(FuncId, &Body)>) -> Option<Leaf> {
        let (entity, name, member) = match (operand, of) {
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
        })
    }

    // --- its words ---

    /// Finds the leaves among the words of a text.
    fn words(&mut self, span: Span, of: Text) {
        if self.leaves.is_empty() {
            return;
        }
        let text = span.of(self.source);
        let mut search = Search {
            module: self.module,
            leaves: &self.leaves,
            next: 0,
            map: None,
        };
        let mut words = Words::new(text, of);
        while let Some(word) = words.next() {
            // The name of a function is the first of its leaves; inside parentheses stand its parameters.
            let range = match of {
                Text::Head if word.depth == 0 => 0..1,
                Text::Head => 1..self.leaves.len(),
                _ => 0..self.leaves.len(),
            };
            let Some((leaf, len)) = search.find(word.span.of(text), range) else {
                continue;
            };
            let at = word.span.shifted(span.start);
            let end = at.start + len as u32;
            let mut number = Span::new(end, at.end);
            if leaf.declares
                && let Some(count) = words.range_count()
            {
                number = count.shifted(span.start);
            }
            self.found.push(NameRef {
                entity: leaf.entity,
                name: Span::new(at.start, end),
                number,
                member: leaf.member,
                declares: leaf.declares,
            });
        }
    }
}

/// A name, and which member of a range.
type Key<'a> = (&'a [u8], Option<u32>);

/// Looks words up among leaves, which come in nearly the same order.
struct Search<'a> {
    module: &'a Module,
    leaves: &'a [Leaf],
    /// Where the next word is expected.
    next: usize,
    map: Option<BTreeMap<Key<'a>, usize>>,
}

impl<'a> Search<'a> {
    /// The leaf that a word names, and how many bytes of the word are without the number.
    fn find(&mut self, word: &[u8], among: core::ops::Range<usize>) -> Option<(Leaf, usize)> {
        let ahead = self.next..self.leaves.len().min(self.next + 4);
        let mut found = self.first_of(word, ahead, &among);
        if found.is_none() && self.leaves.len() <= FEW {
            found = self.first_of(word, 0..self.leaves.len(), &among);
        } else if found.is_none() {
            found = self.find_in_map(word, &among);
        }
        let (index, len) = found?;
        self.next = index + 1;
        Some((*self.leaves.get(index)?, len))
    }

    fn first_of(
        &self,
        word: &[u8],
        mut indices: core::ops::Range<usize>,
        among: &core::ops::Range<usize>,
    ) -> Option<(usize, usize)> {
        indices.find_map(|i| {
            let leaf = self.leaves.get(i).filter(|_| among.contains(&i))?;
            let name = self.module.name_bytes(leaf.name);
            let rest = word.strip_prefix(name)?;
            let fits = match leaf.member {
                None => rest.is_empty(),
                Some(n) => number(rest) == Some(n),
            };
            fits.then_some((i, name.len()))
        })
    }

    fn find_in_map(
        &mut self,
        word: &[u8],
        among: &core::ops::Range<usize>,
    ) -> Option<(usize, usize)> {
        let (module, leaves) = (self.module, self.leaves);
        let map = self.map.get_or_insert_with(|| {
            let keys = leaves.iter().enumerate().rev();
            keys.map(|(i, l)| ((module.name_bytes(l.name), l.member), i))
                .collect()
        });
        let digits = word.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        let splits = (word.len() - digits..=word.len()).rev();
        splits
            .filter_map(|len| {
                let (name, rest) = word.split_at_checked(len)?;
                Some((*map.get(&(name, number(rest)))?, len))
            })
            .find(|(i, _)| among.contains(i))
    }
}

/// The number that digits are, as ranges count: modulo 2³².
fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u32, |n, b| {
        let digit = b.is_ascii_digit().then(|| u32::from(b - b'0'))?;
        Some(n.wrapping_mul(10).wrapping_add(digit))
    })
}

/// Whether a directive says what the module is for.
fn is_header(module: &Module, id: DirectiveId) -> bool {
    let directive = module.directives().get(id).map(|d| d.directive);
    matches!(
        directive,
        Some(Directive::Version | Directive::Target | Directive::AddressSize)
    )
}
