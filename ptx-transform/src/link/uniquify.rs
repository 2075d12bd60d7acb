//! Prepares each module: removes debug sections that cannot be linked, and renames conflicting names.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_edit::{Entity, Names, RenameError, Renaming};
use ptx_ir::raw::{Interner, TextPatches, name::split_numeric_suffix_str};
use ptx_ir::{Code, Diagnostic, EntityId, FunctionKind, Item, Module, Rewritten, Span};

use super::diagnostic::{LinkDiagnostic, about};
use super::shared_symbols::{self, Globals, Name, Role, SymbolKind};
use crate::debug;
use crate::extract::lost_debug_info;
use crate::items::items;
use crate::printed::Printed;

/// The reasons why debug information is removed.
const SEVERAL: &str = "debug sections of several modules cannot be linked";
const RENAMED: &str = "it refers to names that were renamed";

/// Prepares every module.
pub(super) fn prepare<'m>(
    modules: &[&'m Module],
    diagnostics: &mut Vec<LinkDiagnostic>,
) -> Vec<Printed<'m>> {
    let mut all_prepared: Vec<Printed<'m>> = modules.iter().map(|m| Printed::of(m)).collect();
    let modules_with_sections = modules.iter().filter(|m| !m.sections().is_empty());
    if modules_with_sections.count() > 1 {
        for (input, (module, prepared)) in modules.iter().zip(&mut all_prepared).enumerate() {
            if let Some((without, first)) = without_sections(module) {
                prepared.then(without.into());
                diagnostics.push(about(input, lost_debug_info(first, SEVERAL)));
            }
        }
    }
    let current: Vec<&Module> = all_prepared.iter().map(Printed::module).collect();
    let renamings = renamings(&current, diagnostics);
    for (input, (prepared, renaming)) in all_prepared.iter_mut().zip(&renamings).enumerate() {
        rename(prepared, renaming, input, diagnostics);
    }
    all_prepared
}

/// The module without debug sections, except those that its code refers to.
fn without_sections(module: &Module) -> Option<(Rewritten, Span)> {
    let needed = debug::needed(module, module.bodies().values(), |_| true);
    let mut patches = TextPatches::new();
    let mut first = None;
    for item in &items(module) {
        if let Item::Section(id) = item.item
            && !needed.contains(id)
        {
            first.get_or_insert(item.extent.statement);
            patches.remove(item.extent.removal());
        }
    }
    Some((patches.apply(module.source()), first?))
}

/// Finds new names for symbols and labels that would have the same name as those of another module.
struct Conflicts<'m> {
    modules: &'m [&'m Module],
    globals: Vec<Globals<'m>>,
    /// The names of all modules, each with its module, sorted.
    holders: Vec<(Name<'m>, usize)>,
    fresh: FreshNames<'m>,
    renamings: Vec<Renaming>,
}

fn renamings(modules: &[&Module], diagnostics: &mut Vec<LinkDiagnostic>) -> Vec<Renaming> {
    let globals: Vec<Globals<'_>> = modules.iter().map(|m| shared_symbols::globals(m)).collect();
    let mut holders: Vec<(Name<'_>, usize)> = Vec::new();
    for (input, names) in globals.iter().enumerate() {
        holders.extend(names.0.iter().map(|(name, _)| (*name, input)));
    }
    holders.sort_unstable();
    let mut conflicts = Conflicts {
        modules,
        globals,
        holders,
        fresh: FreshNames::new(modules),
        renamings: modules.iter().map(|_| Renaming::new()).collect(),
    };
    for (name, input) in conflicts.symbols() {
        conflicts.rename_symbol(name, input, diagnostics);
    }
    conflicts.rename_labels();
    conflicts.renamings
}

/// The rows of a sorted table that have a key.
fn rows<K: Ord, V>(table: &[(K, V)], key: K) -> &[(K, V)] {
    let first = table.partition_point(|(k, _)| *k < key);
    let suffix = table.get(first..).unwrap_or_default();
    suffix
        .get(..suffix.partition_point(|(k, _)| *k <= key))
        .unwrap_or_default()
}

impl<'m> Conflicts<'m> {
    /// The modules with plain names that a range of another module has as members, such as `t3` for `t<4>`: the name of the
    /// range, and the module.
    fn members(&self) -> Vec<(&'m str, usize)> {
        let mut members: Vec<(&str, usize)> = self
            .holders
            .iter()
            .filter(|((_, range), _)| !range)
            .filter_map(|&((name, _), input)| {
                let (prefix, digits) = split_numeric_suffix_str(name);
                let is_member =
                    !digits.is_empty() && !rows(&self.holders, (prefix, true)).is_empty();
                is_member.then_some((prefix, input))
            })
            .collect();
        members.sort_unstable();
        members
    }

    /// The symbols to rename, each with its module.
    fn symbols(&self) -> Vec<(Name<'m>, usize)> {
        let members = self.members();
        let mut renamed = Vec::new();
        for holders in self.holders.chunk_by(|a, b| a.0 == b.0) {
            let Some(&(name, first)) = holders.first() else {
                continue;
            };
            let plain = if name.1 { rows(&members, name.0) } else { &[] };
            if holders.len() < 2 && !has_other(plain, first) {
                continue;
            }
            let is_private = |input: usize| {
                let global = self.globals.get(input).and_then(|g| g.get(name));
                global.is_some_and(|g| g.role == Role::Private)
            };
            // One of them keeps the name: a visible one, one that debug information refers to, or the first.
            let shared = holders.iter().any(|(_, input)| !is_private(*input));
            let kept = holders
                .iter()
                .map(|(_, input)| *input)
                .find(|input| {
                    let module = self.modules.get(*input);
                    module.is_some_and(|m| !m.sections().is_empty())
                })
                .unwrap_or(first);
            for &(_, input) in holders {
                let keeps = !shared && kept == input && !has_other(plain, input);
                if is_private(input) && !keeps {
                    renamed.push((name, input));
                }
            }
        }
        renamed
    }

    fn rename_symbol(
        &mut self,
        (name, range): Name<'m>,
        input: usize,
        diagnostics: &mut Vec<LinkDiagnostic>,
    ) {
        let global = self.globals.get(input).and_then(|g| g.get((name, range)));
        let (Some(global), Some(module)) = (global, self.modules.get(input)) else {
            return;
        };
        let mut new = self.fresh.name(name, input);
        if range {
            // The numbers of its members follow.
            new.push('$');
        }
        if let SymbolKind::Function(f) = global.kind
            && module.functions().get(f).map(|f| f.kind) == Some(FunctionKind::Entry)
        {
            let message = format!("the kernel `{name}` is renamed to `{new}`");
            let span = shared_symbols::name_span(module, global.item, name);
            let warning = Diagnostic::warning(Code::RenamedKernel, span, message);
            diagnostics.push(about(input, warning));
        }
        if let Some(renaming) = self.renamings.get_mut(input) {
            renaming.set(Entity::Symbol(global.symbol), new);
        }
    }

    /// Renames labels: a name of the module takes precedence over a label further down.
    fn rename_labels(&mut self) {
        let mut debugged: Vec<(&str, usize)> = Vec::new();
        for (input, module) in self.modules.iter().enumerate() {
            for section in module.sections().values() {
                let names = debug::mentions(module.pool(), section).into_iter();
                debugged.extend(names.map(|name| (module.name(name), input)));
            }
        }
        debugged.sort_unstable();
        let modules = self
            .modules
            .iter()
            .zip(&self.globals)
            .zip(&mut self.renamings);
        for (input, ((module, globals), renaming)) in modules.enumerate() {
            // Labels of the same name get the same new name.
            let mut renamed: Vec<Option<String>> = vec![None; module.name_count()];
            for (function, _, body) in module.definitions() {
                for (id, label) in body.labels().iter() {
                    let name = module.name(label.name);
                    let hidden = globals.get((name, false)).is_none()
                        && !rows(&self.holders, (name, false)).is_empty();
                    if (hidden || has_other(rows(&debugged, name), input))
                        && let Some(new) = renamed.get_mut(label.name.index())
                    {
                        let new = new.get_or_insert_with(|| self.fresh.name(name, input));
                        renaming.set(Entity::Label(function, id), new.clone());
                    }
                }
            }
        }
    }
}

/// Whether rows, which are sorted, name another module than this one.
fn has_other<K>(rows: &[(K, usize)], input: usize) -> bool {
    let ends = [rows.first(), rows.last()];
    ends.into_iter().flatten().any(|(_, other)| *other != input)
}

/// Renames names of a module, and removes debug sections that refer to the old ones.
fn rename(
    prepared: &mut Printed<'_>,
    renaming: &Renaming,
    input: usize,
    diagnostics: &mut Vec<LinkDiagnostic>,
) {
    if renaming.is_empty() {
        return;
    }
    let apply_renaming = |module: &Module| renaming.apply(module, &Names::of(module));
    let mut rewritten = apply_renaming(prepared.module());
    if matches!(rewritten, Err(RenameError::Used(_)))
        && let Some((without, first)) = without_sections(prepared.module())
    {
        prepared.then(without.into());
        diagnostics.push(about(input, lost_debug_info(first, RENAMED)));
        rewritten = apply_renaming(prepared.module());
    }
    match rewritten {
        Ok(rewriting) => prepared.then(rewriting),
        Err(error) => {
            let message =
                format!("a name of this module conflicts with one of another module: {error}");
            let conflict = Diagnostic::error(Code::DuplicateDefinition, Span::default(), message);
            diagnostics.push(about(input, conflict));
        }
    }
}

/// Generates names that no module has.
pub(super) struct FreshNames<'m> {
    modules: &'m [&'m Module],
    /// The names that were generated before.
    generated: Interner,
}

impl<'m> FreshNames<'m> {
    pub(super) fn new(modules: &'m [&'m Module]) -> Self {
        Self {
            modules,
            generated: Interner::default(),
        }
    }

    /// Returns a new name for `old` in the module of this index: `old$2` in the second one.
    pub(super) fn name(&mut self, old: &str, input: usize) -> String {
        let mut number = input + 1;
        loop {
            let name = format!("{old}${number}");
            let is_used = self
                .modules
                .iter()
                .any(|module| module.find_name(name.as_bytes()).is_some());
            if !is_used && self.generated.intern(name.as_bytes()).1 {
                return name;
            }
            number += self.modules.len().max(1);
        }
    }
}
