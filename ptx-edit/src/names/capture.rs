//! Finds captures by new names: after a renaming, every name has to denote the entity that it denotes now.
//!
//! The check resolves all names of a function again, as the parser does, with the new names. Only mentions whose spelling is
//! related to a new name are looked up.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::raw::Interner;
use ptx_ir::raw::name::{plain_wins, split_numeric_suffix, suffix_number};
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
        let index = self.0.binary_search_by_key(&entity, |(e, _)| *e).ok()?;
        Some(self.0.get(index)?.1)
    }
}

/// A name that would denote another entity.
pub(crate) struct Capture {
    /// The entity that the name denotes now.
    pub(crate) entity: Entity,
    /// The statement or item with the name.
    pub(crate) place: Span,
    /// The new spelling of the name.
    pub(crate) name: String,
    /// The new name of the entity that the name would denote; equal to `name` if it would be undeclared.
    pub(crate) other: String,
}

/// The first name that would denote another entity: in one function, whose entities get new names, or in the whole module.
/// O(n log n) in the names that are searched.
pub(crate) fn find_capture(
    module: &Module,
    function: Option<FuncId>,
    new: &NewNames<'_>,
) -> Option<Capture> {
    let new_mismatches = Resolver::new(module, new, Spelled::New).resolve(function);
    if new_mismatches.is_empty() {
        return None;
    }
    // In a text with errors, a mention that is not resolved now need not be resolved after the renaming.
    let old_mismatches = Resolver::new(module, new, Spelled::Old).resolve(function);
    // Both are in the order of the mentions.
    new_mismatches
        .into_iter()
        .find(|new| {
            old_mismatches
                .binary_search_by_key(&new.mention, |old| old.mention)
                .is_err()
        })
        .map(|mismatch| mismatch.capture)
}

/// A mention that does not denote the entity of its record.
struct Mismatch {
    /// The index of the mention in the order of the text.
    mention: usize,
    capture: Capture,
}

/// The names that the resolver uses.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Spelled {
    Old,
    New,
}

/// A spelling: the stem before its numeric suffix, and the number.
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

/// The declarations of each name, the innermost one last.
type Table<'a> = BTreeMap<Key<'a>, Vec<Bound>>;

/// The tables of a [`Resolver`].
#[derive(Copy, Clone)]
enum Kind {
    /// Registers, variables and symbols, and each label after its definition.
    Plain,
    /// Ranges of registers and variables, by their name without a number.
    Range,
    /// All labels of the open scopes.
    Label,
}

struct Resolver<'a> {
    module: &'a Module,
    new: &'a NewNames<'a>,
    spelled: Spelled,
    /// The new names without numeric suffixes. The renaming cannot change names with another stem, which are skipped.
    related: Interner,
    tables: [Table<'a>; 3],
    /// The table and the key of each declaration of the open scopes.
    declared: Vec<(usize, Key<'a>)>,
    /// For each open scope, the number of declarations of the outer scopes.
    open: Vec<usize>,
    /// The number of mentions so far.
    mention_count: usize,
    mismatches: Vec<Mismatch>,
    /// The statement or item that is resolved.
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
            mention_count: 0,
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
            // The parameters of a function belong to its scope.
            let leaf_count = function.map_or(usize::MAX, |_| 1);
            for leaf in finder.item_leaves(item).iter().take(leaf_count) {
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
                    if let Some(leaf) = finder.leaves_of(statement).first() {
                        self.leaf(leaf);
                    }
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
        let outer_count = self.open.pop().unwrap_or_default();
        for (table, key) in self.declared.split_off(outer_count) {
            if let Some(declarations) = self.tables.get_mut(table).and_then(|t| t.get_mut(&key)) {
                declarations.pop();
            }
        }
    }

    /// The spelling of an entity with the names that this resolver uses.
    fn name(&self, entity: Entity, old: ptx_ir::NameId) -> &'a [u8] {
        let new = match self.spelled {
            Spelled::Old => None,
            Spelled::New => self.new.get(entity),
        };
        new.map_or_else(|| self.module.name_bytes(old), str::as_bytes)
    }

    fn leaf(&mut self, leaf: &Leaf) {
        self.mention_count += 1;
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
        let in_this_scope = |kind: Kind, key| {
            self.innermost(kind, key)
                .filter(|b| b.depth == depth && b.entity != entity)
        };
        let conflict = match kind {
            Kind::Label => in_this_scope(Kind::Label, key),
            Kind::Plain => in_this_scope(Kind::Plain, key)
                .or_else(|| in_this_scope(Kind::Label, key))
                .or_else(|| {
                    in_this_scope(Kind::Range, (key.0, None)).filter(|r| is_member(r, key.1))
                }),
            // ptxas accepts a range and a plain declaration of the same name.
            Kind::Range => {
                in_this_scope(Kind::Range, key).or_else(|| self.plain_member(name, count, depth))
            }
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
        let Some(declarations) = self
            .tables
            .get_mut(table)
            .map(|t| t.entry(key).or_default())
            .filter(|declarations| declarations.last().is_none_or(|b| b.entity != entity))
        else {
            return;
        };
        if depth == 0 {
            declarations.insert(0, bound);
        } else {
            declarations.push(bound);
            self.declared.push((table, key));
        }
    }

    /// A plain declaration at this depth that has the name of a member of a range.
    fn plain_member(&self, range: &'a [u8], count: u32, depth: u32) -> Option<&Bound> {
        let [plain, ..] = &self.tables;
        let mut members = plain.range((range, Some(0))..(range, Some(count)));
        members.find_map(|(_, declarations)| declarations.last().filter(|b| b.depth == depth))
    }

    fn innermost(&self, kind: Kind, key: Key<'a>) -> Option<&Bound> {
        self.tables.get(kind as usize)?.get(&key)?.last()
    }

    /// Checks that a mention denotes the entity of its record.
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
        let value = match (plain, range) {
            (Some(plain), Some(range)) if !plain_wins(plain.depth, range.depth) => Some(range),
            (Some(plain), _) => Some(plain),
            (None, range) => range,
        };
        let resolved = value
            .or_else(|| self.innermost(Kind::Label, key))
            .map(|b| b.entity);
        let expected = match leaf.entity {
            Entity::Unknown(_) => None,
            Entity::Symbol(_) if !self.with_symbols => None,
            entity => Some(entity),
        };
        if resolved != expected {
            self.mismatch(leaf.entity, name, resolved);
        }
    }

    fn mismatch(&mut self, entity: Entity, name: &[u8], other: Option<Entity>) {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let other_name = other.and_then(|other| {
            let old_name = self.old_name(other)?;
            Some(text(self.name(other, old_name)))
        });
        self.mismatches.push(Mismatch {
            mention: self.mention_count,
            capture: Capture {
                entity,
                place: self.place,
                name: text(name),
                other: other_name.unwrap_or_else(|| text(name)),
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
