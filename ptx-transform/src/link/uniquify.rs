//! Prepares each module: removes debug sections that cannot be linked, and renames conflicting names.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::name::split_numeric_suffix_str;
use ptx_ir::{
    Code, Diagnostic, FunctionKind, Item, Module, NameId, OffsetMap, Rewritten, Span, TextPatches,
};

use super::shared_symbols::{self, Globals, Name, Role, SymbolKind};
use super::{LinkDiagnostic, about};
use crate::debug;
use crate::extract::lost_note;
use crate::item_text::items;
use ptx_edit::{Entity, Names, RenameError, Renaming};

/// A module that was changed, or not.
#[derive(Default)]
pub(super) struct Prepared {
    changed: Option<(Module, OffsetMap)>,
}

impl Prepared {
    /// The module to link.
    pub(super) fn module<'m>(&'m self, original: &'m Module) -> &'m Module {
        self.changed.as_ref().map_or(original, |(module, _)| module)
    }

    /// From the original text to that of the module.
    pub(super) fn map(&self) -> Option<&OffsetMap> {
        self.changed.as_ref().map(|(_, map)| map)
    }

    /// A span of the module in the original.
    pub(super) fn to_old(&self, span: Span) -> Span {
        let Some(map) = self.map() else { return span };
        let start = map.to_old(span.start).unwrap_or_default();
        let end = map.to_old(span.end.saturating_sub(1));
        Span::new(start, end.map_or(start, |e| e + 1).max(start))
    }

    fn then(&mut self, next: Rewritten) {
        let map = match self.map() {
            Some(before) => before.then(&next.map),
            None => next.map,
        };
        self.changed = Some((ptx_parse::parse(&next.text).module, map));
    }
}

/// Why debug information is removed.
const SEVERAL: &str = "debug sections of several modules cannot be linked";
const RENAMED: &str = "it refers to names that were renamed";

/// Prepares every module.
pub(super) fn prepare(modules: &[&Module], found: &mut Vec<LinkDiagnostic>) -> Vec<Prepared> {
    let mut all: Vec<Prepared> = modules.iter().map(|_| Prepared::default()).collect();
    let with_sections = |m: &&&Module| !m.sections().is_empty();
    if modules.iter().filter(with_sections).count() > 1 {
        for (input, (module, prepared)) in modules.iter().zip(&mut all).enumerate() {
            if let Some((without, first)) = without_sections(module) {
                prepared.then(without);
                found.push(about(input, lost_note(first, SEVERAL)));
            }
        }
    }
    let current = all.iter().zip(modules).map(|(p, m)| p.module(m));
    let renamings = renamings(&current.collect::<Vec<_>>(), found);
    for (input, (prepared, renaming)) in all.iter_mut().zip(&renamings).enumerate() {
        if let Some(module) = modules.get(input) {
            rename(module, prepared, renaming, input, found);
        }
    }
    all
}

/// The module without debug sections, except those that its code refers to.
fn without_sections(module: &Module) -> Option<(Rewritten, Span)> {
    let needed = debug::needed(module, module.bodies().values(), |_| true);
    let mut patches = TextPatches::new();
    let mut first = None;
    for item in &items(module) {
        if let Item::Section(id) = item.item
            && !needed.contains(&id)
        {
            first.get_or_insert(item.extent.statement);
            patches.remove(item.extent.removal());
        }
    }
    Some((patches.apply(module.source()), first?))
}

fn renamings(modules: &[&Module], found: &mut Vec<LinkDiagnostic>) -> Vec<Renaming> {
    let globals: Vec<Globals<'_>> = modules.iter().map(|m| shared_symbols::of(m)).collect();
    let mut holders: BTreeMap<Name<'_>, Vec<usize>> = BTreeMap::new();
    for (input, names) in globals.iter().enumerate() {
        for name in names.keys() {
            holders.entry(*name).or_default().push(input);
        }
    }
    let mut all: Vec<Renaming> = modules.iter().map(|_| Renaming::new()).collect();
    let mut fresh = Fresh {
        modules,
        taken: BTreeSet::new(),
    };
    // A range `t<4>` also conflicts with a plain `t3` of another module.
    let mut members: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for ((name, range), inputs) in &holders {
        let (prefix, digits) = split_numeric_suffix_str(name);
        if !range && !digits.is_empty() && holders.contains_key(&(prefix, true)) {
            members.entry(prefix).or_default().extend(inputs);
        }
    }
    for (name, inputs) in &holders {
        let plain = members.get(name.0).filter(|_| name.1);
        let clashes = |i: &usize| plain.is_some_and(|p| p.iter().any(|j| j != i));
        if inputs.len() < 2 && !inputs.iter().any(clashes) {
            continue;
        }
        let role = |input: usize| globals.get(input).and_then(|g| g.get(name));
        let is_private = |input: usize| role(input).is_some_and(|g| g.role == Role::Private);
        // One of them keeps the name: a visible one, one that debug information refers to, or the first.
        let shared = inputs.iter().any(|i| !is_private(*i));
        let spoken = |i: &&usize| modules.get(**i).is_some_and(|m| !m.sections().is_empty());
        let kept = inputs.iter().find(spoken).or(inputs.first());
        for &input in inputs {
            let keeps = !shared && kept == Some(&input) && !clashes(&input);
            if !is_private(input) || keeps {
                continue;
            }
            let Some(global) = role(input) else { continue };
            let (name, range) = *name;
            let mut new = fresh.name(name, input);
            if range {
                // The numbers of its members follow.
                new.push('$');
            }
            if let (Some(module), SymbolKind::Function(f)) = (modules.get(input), global.what) {
                let kind = module.functions().get(f).map(|f| f.kind);
                if kind == Some(FunctionKind::Entry) {
                    let message = format!("the kernel `{name}` is renamed to `{new}`");
                    let at = shared_symbols::place(module, global.item, name);
                    let d = Diagnostic::warning(Code::RenamedKernel, at, message);
                    found.push(about(input, d));
                }
            }
            if let Some(renaming) = all.get_mut(input) {
                renaming.set(Entity::Symbol(global.symbol), new);
            }
        }
    }
    // A name of the module takes precedence over a label further down.
    for (input, (module, renaming)) in modules.iter().zip(&mut all).enumerate() {
        let spoken = spoken(modules, input);
        // Labels of the same name get the same new name.
        let mut renamed: BTreeMap<NameId, String> = BTreeMap::new();
        for (function, _, body) in module.definitions() {
            for (id, label) in body.labels().iter() {
                let name = module.name(label.name);
                let plain = (name, false);
                let own = globals.get(input).is_some_and(|g| g.contains_key(&plain));
                if holders.contains_key(&plain) && !own || spoken.contains(name) {
                    let fresh = || fresh.name(name, input);
                    let new = renamed.entry(label.name).or_insert_with(fresh);
                    renaming.set(Entity::Label(function, id), new.clone());
                }
            }
        }
    }
    all
}

/// The names that the debug sections of other modules refer to.
fn spoken<'m>(modules: &[&'m Module], input: usize) -> BTreeSet<&'m str> {
    let others = modules.iter().enumerate().filter(|(i, _)| *i != input);
    let mut names = BTreeSet::new();
    for (_, module) in others {
        for section in module.sections().values() {
            let mentioned = debug::mentions(module.pool(), section);
            names.extend(mentioned.into_iter().map(|n| module.name(n)));
        }
    }
    names
}

/// Generates unused names.
struct Fresh<'m> {
    modules: &'m [&'m Module],
    taken: BTreeSet<String>,
}

impl Fresh<'_> {
    fn name(&mut self, old: &str, input: usize) -> String {
        let mut number = input + 1;
        loop {
            let name = format!("{old}${number}");
            let mut modules = self.modules.iter();
            let known = modules.any(|m| m.find_name(name.as_bytes()).is_some());
            if !known && self.taken.insert(name.clone()) {
                return name;
            }
            number += self.modules.len().max(1);
        }
    }
}

/// Renames names of a module, and removes debug sections that refer to the old ones.
fn rename(
    original: &Module,
    prepared: &mut Prepared,
    renaming: &Renaming,
    input: usize,
    found: &mut Vec<LinkDiagnostic>,
) {
    if renaming.is_empty() {
        return;
    }
    let apply = |module: &Module| renaming.apply(module, &Names::of(module));
    let mut rewritten = apply(prepared.module(original));
    if matches!(rewritten, Err(RenameError::Used(_)))
        && let Some((without, first)) = without_sections(prepared.module(original))
    {
        prepared.then(without);
        found.push(about(input, lost_note(first, RENAMED)));
        rewritten = apply(prepared.module(original));
    }
    match rewritten {
        Ok(rewritten) => prepared.then(rewritten),
        Err(error) => {
            let message =
                format!("a name of this module conflicts with one of another module: {error}");
            let d = Diagnostic::error(Code::DuplicateDefinition, Span::default(), message);
            found.push(about(input, d));
        }
    }
}
