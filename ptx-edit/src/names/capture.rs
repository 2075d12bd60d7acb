//! Whether new names capture others: after a renaming, every name has to denote what it denotes now.
//!
//! The check resolves all names of a function again, as the parser does, with the new names. Only mentions whose spelling is
//! related to a new name are looked up.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::name::{plain_wins, split_numeric_suffix, suffix_number};
use ptx_ir::raw::Interner;
use ptx_ir::{Body, FuncId, Item, LabelId, Module, Operand, ScopeId, Span, Statement};

use super::finder::Leaf;
use super::{Entity, Finder};

/// New names for entities.
pub(crate) struct NewNames<'a>(Vec<(Entity, &'a str)>);

impl<'a> NewNames<'a> {
    /// Collects new names. If an entity has several, the last one counts.
    pub(crate) fn new(mut names: Vec<(Entity, &'a str)>) -> Self {
        names.reverse();
        names.sort_by_key(|(entity, _)| *entity);
        names.dedup_by_key(|(entity, _)| *entity);
        Self(names)
    }

    pub(crate) fn get(&self, entity: Entity) -> Option<&'a str> {
        let at = self.0.binary_search_by_key(&entity, |(e, _)| *e);
        at.ok().and_then(|at| Some(self.0.get(at)?.1))
    }
}

/// A name that would denote something else.
pub(crate) struct Capture {
    /// The entity that the name denotes now.
    pub(crate) entity: Entity,
    /// The statement or item with the name.
    pub(crate) place: Span,
    /// The new spelling of the name.
    pub(crate) name: String,
    /// The new name of the entity that the name would denote; the spelling, if that is undeclared.
    pub(crate) other: String,
}

/// The first name that would denote something else: in one function, whose entities get new names, or in the whole module.
/// O(n log n) in the names that are searched.
pub(crate) fn find_capture(
    module: &Module,
    function: Option<FuncId>,
    new: &NewNames<'_>,
) -> Option<Capture> {
    let mut found = Resolver::new(module, new, Spelled::New).resolve(function);
    if found.is_empty() {
        return None;
    }
    // What is not resolved now, in a text with errors, need not be resolved after the renaming.
    let before = Resolver::new(module, new, Spelled::Old).resolve(function);
    // Both are in the order of the mentions.
    found.retain(|m| before.binary_search_by_key(&m.nth, |b| b.nth).is_err());
    found.into_iter().next().map(|m| m.capture)
}

/// A mention that does not denote what its record says.
struct Mismatch {
    /// The number of the mention.
    nth: usize,
    capture: Capture,
}

/// The names that the resolver uses.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Spelled {
    Old,
    New,
}

/// A spelling: what is before its numeric suffix, and the number.
type Key<'a> = (&'a [u8], Option<u32>);

/// A visible declaration.
#[derive(Copy, Clone)]
struct Bound {
    entity: Entity,
    /// The depth of the scope; 0 is the module.
    depth: u32,
    /// The number of members of a range.
    count: u32,
}

/// A table of declarations, each name with the innermost one last.
type Table<'a> = BTreeMap<Key<'a>, Vec<Bound>>;

/// The tables of a [`Resolver`].
#[derive(Copy, Clone)]
enum Kind {
    /// Registers, variables, symbols, and labels from where they are defined on.
    Plain,
    /// Ranges, by their name without a number.
    Range,
    /// All labels of the open scopes.
    Label,
}

struct Resolver<'a> {
    module: &'a Module,
    new: &'a NewNames<'a>,
    spelled: Spelled,
    /// The new names without numeric suffixes: others are not related to a renaming.
    related: Interner,
    tables: [Table<'a>; 3],
    /// The declarations of the open scopes, and their number before each scope.
    declared: Vec<(usize, Key<'a>)>,
    open: Vec<usize>,
    nth: usize,
    mismatches: Vec<Mismatch>,
    place: Span,
    /// Whether symbols are in the tables.
    with_symbols: bool,
}

impl<'a> Resolver<'a> {
    fn new(module: &'a Module, new: &'a NewNames<'a>, spelled: Spelled) -> Self {
        let mut related = Interner::default();
        for (_, name) in &new.0 {
            related.intern(split_numeric_suffix(name.as_bytes()).0);
        }
        Self {
            module,
            new,
            spelled,
            related,
            tables: Default::default(),
            declared: Vec::new(),
            open: Vec::new(),
            nth: 0,
            mismatches: Vec::new(),
            place: Span::default(),
            with_symbols: false,
        }
    }

    /// Resolves the names of a function, or of the module.
    fn resolve(mut self, function: Option<FuncId>) -> Vec<Mismatch> {
        let module = self.module;
        let mut finder = Finder::new(module);
        if let Some(f) = function {
            finder.enter(f);
            self.function(&mut finder, f);
            return self.mismatches;
        }
        self.with_symbols = true;
        for (id, item) in module.items() {
            self.place = module.span(id);
            let function = match item {
                Item::Function(f) => Some(f),
                _ => None,
            };
            let only_name = function.map_or(usize::MAX, |_| 1);
            for leaf in finder.item_leaves(item).iter().take(only_name) {
                self.leaf(leaf);
            }
            if let Some(f) = function {
                finder.enter(f);
                self.function(&mut finder, f);
            }
        }
        self.mismatches
    }

    fn function(&mut self, finder: &mut Finder<'a>, f: FuncId) {
        let Some(body) = self.module.body(f) else {
            return;
        };
        let mut labels: Vec<(ScopeId, LabelId)> = Vec::new();
        for (id, label) in body.labels().iter() {
            if matches!(body.statement(label.stmt), Some(Statement::Label(_))) {
                labels.push((label.scope, id));
            }
        }
        labels.sort_unstable();
        self.open_scope(f, body, &labels, ScopeId::new(0));
        for leaf in finder.item_leaves(Item::Function(f)).iter().skip(1) {
            self.leaf(leaf);
        }
        for (id, statement) in body.statements() {
            self.place = body.source_span(id);
            match statement {
                Statement::Open(scope) => self.open_scope(f, body, &labels, scope),
                Statement::Close(_) => self.close_scope(),
                Statement::Function(_) => {
                    let names = finder.leaves_of(statement).iter().take(1);
                    names.for_each(|leaf| self.leaf(leaf));
                }
                _ => {
                    for leaf in finder.leaves_of(statement) {
                        self.leaf(leaf);
                    }
                }
            }
        }
        while !self.open.is_empty() {
            self.close_scope();
        }
    }

    fn open_scope(
        &mut self,
        f: FuncId,
        body: &Body,
        labels: &[(ScopeId, LabelId)],
        scope: ScopeId,
    ) {
        self.open.push(self.declared.len());
        let first = labels.partition_point(|(s, _)| *s < scope);
        let labels = labels.get(first..).unwrap_or_default();
        for &(_, id) in labels.iter().take_while(|(s, _)| *s == scope) {
            if let Some(label) = body.labels().get(id) {
                let entity = Entity::Label(f, id);
                let name = self.name(entity, label.name);
                self.bind(Kind::Label, entity, name, 0);
            }
        }
    }

    fn close_scope(&mut self) {
        let before = self.open.pop().unwrap_or_default();
        for (table, key) in self.declared.split_off(before) {
            let all = self.tables.get_mut(table).and_then(|t| t.get_mut(&key));
            all.map(Vec::pop);
        }
    }

    /// The name of an entity.
    fn name(&self, entity: Entity, old: ptx_ir::NameId) -> &'a [u8] {
        let new = match self.spelled {
            Spelled::Old => None,
            Spelled::New => self.new.get(entity),
        };
        new.map_or_else(|| self.module.name_bytes(old), str::as_bytes)
    }

    fn leaf(&mut self, leaf: &Leaf) {
        self.nth += 1;
        let name = self.name(leaf.entity, leaf.name);
        match leaf.entity {
            Entity::Parameter(_) => {}
            Entity::Symbol(_) if !self.with_symbols && leaf.declares => {}
            Entity::Unknown(_) if leaf.declares => {}
            _ if !leaf.declares => self.mention(leaf, name),
            entity => {
                let kind = match leaf.count {
                    Operand::Absent => Kind::Plain,
                    _ => Kind::Range,
                };
                let count = match leaf.count {
                    Operand::Small(n) => n.unsigned_abs(),
                    _ => u32::MAX,
                };
                self.bind(kind, entity, name, count);
            }
        }
    }

    /// Declares a name in the innermost scope, which must not have it yet.
    fn bind(&mut self, kind: Kind, entity: Entity, name: &'a [u8], count: u32) {
        let key = match kind {
            Kind::Range => (name, None),
            _ => key(name),
        };
        if self.related.find(key.0).is_none() {
            return;
        }
        let depth = match entity {
            Entity::Symbol(_) => 0,
            _ => self.open.len() as u32,
        };
        let here = |b: &&Bound| b.depth == depth && b.entity != entity;
        let last = |kind: Kind, key| self.innermost(kind, key).filter(here);
        let conflict = match kind {
            Kind::Label => last(Kind::Label, key),
            Kind::Plain => last(Kind::Plain, key)
                .or_else(|| last(Kind::Label, key))
                .or_else(|| last(Kind::Range, (key.0, None)).filter(|r| is_member(r, key.1))),
            // ptxas accepts a range and a plain declaration of the same name.
            Kind::Range => last(Kind::Range, key).or_else(|| self.member_of(name, count, depth)),
        };
        if let Some(other) = conflict.map(|b| b.entity) {
            self.mismatch(entity, name, Some(other));
        }
        let bound = Bound {
            entity,
            depth,
            count,
        };
        let table = kind as usize;
        let all = self
            .tables
            .get_mut(table)
            .map(|t| t.entry(key).or_default());
        let Some(all) = all.filter(|all| all.last().is_none_or(|b| b.entity != entity)) else {
            return;
        };
        if depth == 0 {
            all.insert(0, bound);
        } else {
            all.push(bound);
            self.declared.push((table, key));
        }
    }

    /// A plain name of a scope that a range of it has as a member.
    fn member_of(&self, range: &'a [u8], count: u32, depth: u32) -> Option<&Bound> {
        let [plain, ..] = &self.tables;
        let mut members = plain.range((range, Some(0))..(range, Some(count)));
        members.find_map(|(_, all)| all.last().filter(|b| b.depth == depth))
    }

    fn innermost(&self, kind: Kind, key: Key<'a>) -> Option<&Bound> {
        self.tables.get(kind as usize)?.get(&key)?.last()
    }

    /// Checks that a mention denotes what its record says.
    fn mention(&mut self, leaf: &Leaf, name: &'a [u8]) {
        let key = match leaf.member {
            Some(number) => (name, Some(number)),
            None => key(name),
        };
        if self.related.find(key.0).is_none() {
            return;
        }
        let undeclared = matches!(leaf.entity, Entity::Unknown(_));
        let plain = self.innermost(Kind::Plain, key);
        let range = key.1.and_then(|number| {
            let [_, ranges, _] = &self.tables;
            let mut ranges = ranges.get(&(key.0, None))?.iter().rev();
            ranges.find(|r| number < r.count || undeclared)
        });
        let found = match (plain, range) {
            (Some(plain), Some(range)) if !plain_wins(plain.depth, range.depth) => Some(range),
            (Some(plain), _) => Some(plain),
            (None, range) => range,
        };
        let found = found.or_else(|| self.innermost(Kind::Label, key));
        let found = found.map(|b| b.entity);
        let expected = match leaf.entity {
            Entity::Unknown(_) => None,
            Entity::Symbol(_) if !self.with_symbols => None,
            entity => Some(entity),
        };
        if found != expected {
            self.mismatch(leaf.entity, name, found);
        }
    }

    fn mismatch(&mut self, entity: Entity, name: &[u8], other: Option<Entity>) {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let old = other.and_then(|e| self.old_name(e));
        let other = other.zip(old).map(|(e, old)| text(self.name(e, old)));
        self.mismatches.push(Mismatch {
            nth: self.nth,
            capture: Capture {
                entity,
                place: self.place,
                name: text(name),
                other: other.unwrap_or_else(|| text(name)),
            },
        });
    }

    fn old_name(&self, entity: Entity) -> Option<ptx_ir::NameId> {
        let body = |f| self.module.body(f);
        Some(match entity {
            Entity::Symbol(id) => self.module.symbols().get(id)?.name,
            Entity::Register(f, id) => body(f)?.reg_decls().get(id)?.name,
            Entity::Variable(f, id) => body(f)?.vars().get(id)?.name,
            Entity::Label(f, id) => body(f)?.labels().get(id)?.name,
            Entity::Parameter(_) => return None,
            Entity::Unknown(name) => name,
        })
    }
}

fn is_member(range: &Bound, number: Option<u32>) -> bool {
    number.is_some_and(|n| n < range.count)
}

fn key(name: &[u8]) -> Key<'_> {
    let (stem, digits) = split_numeric_suffix(name);
    match digits {
        [] => (name, None),
        _ => (stem, Some(suffix_number(digits))),
    }
}
