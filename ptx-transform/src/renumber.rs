//! Numbers registers without gaps.

use alloc::vec::Vec;

use ptx_edit::raw::{EntityMap, NameForm, TakenNames};
use ptx_edit::{Entity, Names, Rewriting};
use ptx_ir::raw::{EntitySet, TextPatches, name::split_numeric_suffix};
use ptx_ir::{Body, Module, NameId, RegDeclId, Rewritten, Span};

use crate::printed::rewrite;
use crate::register_use::{self, InnerComments, NumberOrder, Usage, new_number};

/// Numbers the registers of each range from 0 in the order of their first mention, reduces the counts of ranges, and removes
/// declarations of unused registers.
///
/// A range with members that are spelled like something else, such as `%r<5>` around a scope that declares `%r<3>` or `%r2`,
/// keeps its numbers; run [`flatten`](crate::flatten) before. A declaration of several registers with a comment inside
/// stays, too. The time is O(n log n) in the size of the source.
///
/// ```
/// let text = ".version 8.0\n.target sm_80\n.entry k()\n{\n\t.reg .pred %p<9>;\n\t.reg .b32 %r<9>;\n\tmov.b32 %r7, 0;\n\tmov.b32 %r2, %r7;\n}\n";
/// let module = ptx_parse::parse_str(text).module;
/// let new = ptx_transform::renumber(&module);
/// assert!(new.text().ends_with(b"{\n\t.reg .b32 %r<2>;\n\tmov.b32 %r0, 0;\n\tmov.b32 %r1, %r0;\n}\n"));
/// ```
#[must_use]
pub fn renumber(module: &Module) -> Rewriting {
    rewrite(module, renumber_text)
}

/// [`renumber`] of a module whose source is its text.
fn renumber_text(module: &Module) -> Rewritten {
    let names = Names::of(module);
    let source = module.source();
    // The names that a member of a range could be confused with: those of the module and unresolved ones.
    let mut module_names = TakenNames::default();
    for name in names.refs() {
        if matches!(name.entity, Entity::Symbol(_) | Entity::Unknown(_)) {
            module_names.add(name.whole().of(source), NameForm::Plain);
        }
    }
    let usage = Usage::of(module, names.refs(), NumberOrder::FirstUse);
    let mut ambiguous: EntityMap<bool> = EntityMap::new(module);
    let mut patches = TextPatches::new();
    for (function, _, body) in module.definitions() {
        for range in ambiguous_ranges(module, body, &module_names).iter() {
            ambiguous.replace(Entity::Register(function, range), true);
        }
        let is_used = |entity| usage.is_used(entity) || ambiguous.get(entity) == Some(&true);
        let unused = register_use::unused(function, body, source, InnerComments::Keep, is_used);
        for span in unused {
            patches.remove(whole_lines(source, span));
        }
    }
    for name in names.refs() {
        let numbers = usage.numbers(name.entity);
        if numbers.is_empty() || ambiguous.get(name.entity) == Some(&true) {
            continue;
        }
        let number = match name.member {
            Some(old) => new_number(numbers, old),
            None => (name.declares && !name.number.is_empty()).then_some(numbers.len() as u32),
        };
        if let Some(number) = number {
            patches.replace(name.number, format!("{number}"));
        }
    }
    patches.apply(source)
}

/// A span of the source, extended to the whole line if nothing else is on it.
pub(crate) fn whole_lines(source: &[u8], span: Span) -> Span {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let text_before = source.get(..span.start as usize).unwrap_or_default();
    let text_after = source.get(span.end as usize..).unwrap_or_default();
    let indent = text_before.iter().rev().take_while(|b| is_space(b)).count();
    let trailing = text_after.iter().take_while(|b| is_space(b)).count();
    let starts_line = text_before.len() == indent
        || text_before.get(text_before.len() - indent - 1) == Some(&b'\n');
    if starts_line && text_after.get(trailing) == Some(&b'\n') {
        return Span::new(span.start - indent as u32, span.end + trailing as u32 + 1);
    }
    span
}

/// The ranges of a function whose members may be spelled like another name that is visible there.
fn ambiguous_ranges(
    module: &Module,
    body: &Body,
    module_names: &TakenNames,
) -> EntitySet<RegDeclId> {
    let mut ranges: Vec<(NameId, RegDeclId)> = body
        .reg_decls()
        .iter()
        .filter(|(_, declaration)| declaration.count.is_some())
        .map(|(id, declaration)| (declaration.name, id))
        .collect();
    ranges.sort_unstable();
    let mut ambiguous = EntitySet::new();
    for namesakes in ranges.chunk_by(|a, b| a.0 == b.0) {
        let name = namesakes.first().map(|(name, _)| module.name_bytes(*name));
        if namesakes.len() > 1 || name.is_some_and(|name| module_names.has_member(name)) {
            ambiguous.extend(namesakes.iter().map(|(_, id)| *id));
        }
    }
    let mut add_ranges_named = |name: NameId| {
        let first = ranges.partition_point(|(range_name, _)| *range_name < name);
        let namesakes = ranges
            .iter()
            .skip(first)
            .take_while(|(range_name, _)| *range_name == name);
        ambiguous.extend(namesakes.map(|(_, id)| *id));
    };
    let registers = body.reg_decls().values().map(|d| d.name);
    let variables = body.vars().values().map(|v| v.name);
    let labels = body.labels().values().map(|l| l.name);
    for name in registers.chain(variables).chain(labels) {
        let (stem, digits) = split_numeric_suffix(module.name_bytes(name));
        if let Some(stem) = module.find_name(stem).filter(|_| !digits.is_empty()) {
            add_ranges_named(stem);
        }
    }
    for variable_range in body.vars().values().filter(|v| v.number.is_some()) {
        add_ranges_named(variable_range.name);
    }
    ambiguous
}
