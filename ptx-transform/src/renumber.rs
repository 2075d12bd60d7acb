//! Numbers registers without gaps.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_ir::name::split_numeric_suffix;
use ptx_ir::{Body, FuncId, Item, Module, Rewritten, Span, TextPatches};

use crate::register_use::{self, InnerComments, NumberOrder, Usage};
use ptx_edit::{Entity, NameForm, Names, TakenNames};

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
    let names = Names::of(module);
    let source = module.source();
    let mut outside = TakenNames::default();
    for m in names.refs() {
        if matches!(m.entity, Entity::Symbol(_) | Entity::Unknown(_)) {
            outside.add(m.whole().of(source), NameForm::Plain);
        }
    }
    let mut patches = TextPatches::new();
    for (id, item) in module.items() {
        let Item::Function(f) = item else {
            continue;
        };
        let Some(body) = module.body(f) else {
            continue;
        };
        let mentions = names.within(module.span(id));
        let usage = Usage::of(mentions);
        let ambiguous = ambiguous(module, f, body, &outside);
        let mut numbers: BTreeMap<Entity, BTreeMap<u32, u32>> = BTreeMap::new();
        for m in mentions {
            if usage.count(m.entity).is_some() && !ambiguous.contains(&m.entity) {
                let numbers = numbers
                    .entry(m.entity)
                    .or_insert_with(|| usage.numbers(m.entity, NumberOrder::FirstUse));
                register_use::renumber(m, numbers, &mut patches);
            }
        }
        let pieces = register_use::unused(f, body, source, InnerComments::Keep, |e| {
            usage.is_used(e) || ambiguous.contains(&e)
        });
        for piece in pieces {
            patches.remove(whole_lines(source, piece));
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
fn ambiguous(module: &Module, f: FuncId, body: &Body, outside: &TakenNames) -> BTreeSet<Entity> {
    let mut ranges: BTreeMap<&[u8], Vec<Entity>> = BTreeMap::new();
    for (id, decl) in body.reg_decls().iter() {
        if decl.count.is_some() {
            let entity = Entity::Register(f, id);
            ranges
                .entry(module.name_bytes(decl.name))
                .or_default()
                .push(entity);
        }
    }
    let mut found = BTreeSet::new();
    for same in ranges.values().filter(|same| same.len() > 1) {
        found.extend(same.iter().copied());
    }
    for (name, same) in &ranges {
        if outside.has_member(name) {
            found.extend(same.iter().copied());
        }
    }
    let decls = body.reg_decls().values().map(|d| d.name);
    let vars = body.vars().values().map(|v| v.name);
    let labels = body.labels().values().map(|l| l.name);
    for name in decls.chain(vars).chain(labels) {
        let (stem, digits) = split_numeric_suffix(module.name_bytes(name));
        if !digits.is_empty() {
            found.extend(ranges.get(stem).into_iter().flatten().copied());
        }
    }
    // Ranges of variables with the same name.
    for var in body.vars().values().filter(|v| v.number.is_some()) {
        let same = ranges.get(module.name_bytes(var.name));
        found.extend(same.into_iter().flatten().copied());
    }
    found
}
