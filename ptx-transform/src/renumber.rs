//! Numbers registers without gaps.

use alloc::vec::Vec;

use ptx_edit::{Entity, EntityMap, NameForm, Names, TakenNames};
use ptx_ir::name::split_numeric_suffix;
use ptx_ir::{Body, EntitySet, Item, Module, NameId, RegDeclId, Rewritten, Span, TextPatches};

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
/// let new = String::from_utf8(ptx_transform::renumber(&module).text).unwrap();
/// assert!(new.ends_with("{\n\t.reg .b32 %r<2>;\n\tmov.b32 %r0, 0;\n\tmov.b32 %r1, %r0;\n}\n"));
/// ```
#[must_use]
pub fn renumber(module: &Module) -> Rewritten {
    rewrite(module, renumber_text)
}

/// [`renumber`] of a module whose source is its text.
fn renumber_text(module: &Module) -> Rewritten {
    let names = Names::of(module);
    let source = module.source();
    let mut outside = TakenNames::default();
    for m in names.refs() {
        if matches!(m.entity, Entity::Symbol(_) | Entity::Unknown(_)) {
            outside.add(m.whole().of(source), NameForm::Plain);
        }
    }
    let usage = Usage::of(module, names.refs(), NumberOrder::FirstUse);
    let mut ambiguous: EntityMap<bool> = EntityMap::new(module);
    let mut patches = TextPatches::new();
    for (_, item) in module.items() {
        let Item::Function(f) = item else {
            continue;
        };
        let Some(body) = module.body(f) else {
            continue;
        };
        for decl in ambiguous_ranges(module, body, &outside).iter() {
            ambiguous.replace(Entity::Register(f, decl), true);
        }
        let pieces = register_use::unused(f, body, source, InnerComments::Keep, |e| {
            usage.is_used(e) || ambiguous.get(e) == Some(&true)
        });
        for piece in pieces {
            patches.remove(whole_lines(source, piece));
        }
    }
    for m in names.refs() {
        let numbers = usage.numbers(m.entity);
        if numbers.is_empty() || ambiguous.get(m.entity) == Some(&true) {
            continue;
        }
        let new = match m.member {
            Some(old) => new_number(numbers, old),
            None => (m.declares && !m.number.is_empty()).then_some(numbers.len() as u32),
        };
        if let Some(new) = new {
            patches.replace(m.number, format!("{new}"));
        }
    }
    patches.apply(source)
}

/// A part of the source, extended to the whole line if nothing else is on it.
pub(crate) fn whole_lines(source: &[u8], piece: Span) -> Span {
    let is_space = |b: &u8| matches!(b, b' ' | b'\t' | b'\r');
    let before = source.get(..piece.start as usize).unwrap_or_default();
    let after = source.get(piece.end as usize..).unwrap_or_default();
    let indent = before.iter().rev().take_while(|b| is_space(b)).count();
    let rest = after.iter().take_while(|b| is_space(b)).count();
    let begins = before.len() == indent || before.get(before.len() - indent - 1) == Some(&b'\n');
    if begins && after.get(rest) == Some(&b'\n') {
        return Span::new(piece.start - indent as u32, piece.end + rest as u32 + 1);
    }
    piece
}

/// Ranges of a function whose members may be spelled like something else that is visible there.
fn ambiguous_ranges(module: &Module, body: &Body, outside: &TakenNames) -> EntitySet<RegDeclId> {
    let ranges = body.reg_decls().iter().filter(|(_, d)| d.count.is_some());
    let mut ranges: Vec<(NameId, RegDeclId)> = ranges.map(|(id, d)| (d.name, id)).collect();
    ranges.sort_unstable();
    let mut found = EntitySet::new();
    for same in ranges.chunk_by(|a, b| a.0 == b.0) {
        let name = same.first().map(|(name, _)| module.name_bytes(*name));
        if same.len() > 1 || name.is_some_and(|name| outside.has_member(name)) {
            found.extend(same.iter().map(|(_, id)| *id));
        }
    }
    let mut add = |name: NameId| {
        let first = ranges.partition_point(|(n, _)| *n < name);
        let same = ranges.iter().skip(first).take_while(|(n, _)| *n == name);
        found.extend(same.map(|(_, id)| *id));
    };
    let decls = body.reg_decls().values().map(|d| d.name);
    let vars = body.vars().values().map(|v| v.name);
    let labels = body.labels().values().map(|l| l.name);
    for name in decls.chain(vars).chain(labels) {
        let (stem, digits) = split_numeric_suffix(module.name_bytes(name));
        if let Some(stem) = module.find_name(stem).filter(|_| !digits.is_empty()) {
            add(stem);
        }
    }
    // Ranges of variables with the same name.
    for var in body.vars().values().filter(|v| v.number.is_some()) {
        add(var.name);
    }
    found
}
