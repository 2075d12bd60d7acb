//! Removes the inner scopes of functions.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{FuncId, Item, Module, ScopeId, Statement};

use crate::names::{Entity, Names};
use crate::renumber::whole_lines;
use crate::{Renaming, Rewritten, Splices};

/// Removes the `{ }` of inner scopes. Their declarations stay at their place; a name that is used for something else in the
/// function or the module gets a number: `param0` becomes `param0_1`.
///
/// The time is O(n log n) in the size of the source.
///
/// ```
/// let text = ".version 8.0\n.target sm_80\n.entry k()\n{\n\t{\n\t.reg .b32 a;\n\t}\n\t{\n\t.reg .b32 a;\n\t}\n}\n";
/// let module = ptx_parse::parse_str(text).module;
/// let new = String::from_utf8(ptx_transform::flatten(&module).text).unwrap();
/// assert!(new.ends_with("{\n\t.reg .b32 a;\n\t.reg .b32 a_1;\n}\n"));
/// ```
#[must_use]
pub fn flatten(module: &Module) -> Rewritten {
    let names = Names::of(module);
    let source = module.source();
    let mut renaming = Renaming::new();
    let mut splices = Splices::new();
    // Names of the module, and unresolved ones: a label that a debug section refers to keeps its name.
    let of = |wanted: fn(Entity) -> bool| -> Taken {
        let mentions = names.mentions().iter().filter(|m| wanted(m.entity));
        let all: BTreeSet<&[u8]> = mentions.map(|m| m.whole().of(source)).collect();
        Taken::new(all.into_iter())
    };
    let global = of(|e| matches!(e, Entity::Symbol(_)));
    let unknown = of(|e| matches!(e, Entity::Unknown(_)));
    for (id, item) in module.items() {
        let Item::Function(f) = item else {
            continue;
        };
        let Some(body) = module.body(f) else {
            continue;
        };
        if body.inner_scopes().is_empty() {
            continue;
        }
        let mut local = Taken::new(core::iter::empty());
        // Names in the outermost scope stay, so they are taken first.
        let (mut inner, mut seen) = (Vec::new(), BTreeSet::new());
        for m in names.within(module.span(id)) {
            let Some((scope, range)) = scope_of(module, f, m.entity) else {
                continue;
            };
            if !seen.insert(m.entity) {
                continue;
            }
            match scope.as_u32() {
                0 => local.take(m.name.of(source), range),
                _ => inner.push((m.entity, m.name.of(source), range)),
            }
        }
        // Numbers continue for the same name.
        let mut counters: BTreeMap<&[u8], u32> = BTreeMap::new();
        for (entity, name, range) in inner {
            if !local.has(name, range) && !global.has(name, range) {
                local.take(name, range);
                continue;
            }
            let counter = counters.entry(name).or_insert(0);
            let new = loop {
                *counter += 1;
                let mut new = String::from_utf8_lossy(name).into_owned();
                new.push('_');
                new.push_str(&alloc::format!("{counter}"));
                if range {
                    new.push('_');
                }
                let sets = [&local, &global, &unknown];
                if !sets.iter().any(|t| t.has(new.as_bytes(), range)) {
                    break new;
                }
            };
            local.take(new.as_bytes(), range);
            renaming.set(entity, new);
        }
        for (id, statement) in body.statements() {
            let whole = match statement {
                Statement::Open(scope) => body.scope(scope).is_some_and(|s| s.close.is_some()),
                Statement::Close(_) => true,
                _ => false,
            };
            if whole {
                let brace = body.source_span(id);
                let piece = whole_lines(source, brace);
                splices.replace(piece, if piece == brace { " " } else { "" });
            }
        }
    }
    renaming.splices(&names, &mut splices);
    splices.apply(source)
}

/// The scope that declares something of a function, and whether it is a range.
fn scope_of(module: &Module, f: FuncId, entity: Entity) -> Option<(ScopeId, bool)> {
    let body = module.body(f)?;
    match entity {
        Entity::Register(_, id) => {
            let decl = body.reg_decls().get(id)?;
            Some((decl.scope, decl.count.is_some()))
        }
        Entity::Variable(_, id) => {
            let var = body.vars().get(id)?;
            Some((var.scope, var.number.is_some()))
        }
        Entity::Label(_, id) => Some((body.labels().get(id)?.scope, false)),
        _ => None,
    }
}

/// Names that are taken, alone or as members of ranges.
struct Taken {
    names: BTreeSet<Vec<u8>>,
    /// Names of ranges.
    ranges: BTreeSet<Vec<u8>>,
    /// Names without some of the digits at their end, which ranges must not have.
    prefixes: BTreeSet<Vec<u8>>,
}

impl Taken {
    fn new<'a>(names: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut taken = Self {
            names: BTreeSet::new(),
            ranges: BTreeSet::new(),
            prefixes: BTreeSet::new(),
        };
        names.for_each(|n| taken.take(n, false));
        taken
    }

    fn take(&mut self, name: &[u8], range: bool) {
        for at in splits(name) {
            self.prefixes.extend(name.get(..at).map(<[u8]>::to_vec));
        }
        if range {
            self.ranges.insert(name.to_vec());
        }
        self.names.insert(name.to_vec());
    }

    fn has(&self, name: &[u8], range: bool) -> bool {
        let member = |at: usize| name.get(..at).is_some_and(|n| self.ranges.contains(n));
        self.names.contains(name)
            || splits(name).any(member)
            || range && self.prefixes.contains(name)
    }
}

/// The positions in the digits at the end of a name.
fn splits(name: &[u8]) -> core::ops::Range<usize> {
    let digits = name.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    name.len() - digits..name.len()
}
