//! Registers numbered without gaps.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_ir::{Body, FuncId, Item, Module, Span};

use crate::names::{Entity, Names};
use crate::register_use::{self, Usage};
use crate::{Rewritten, Splices};

/// The source with the registers of each range numbered from 0 in the order of their first mention, counts of ranges that are
/// no larger than needed, and no declarations of registers that nothing mentions.
///
/// A range whose members share their spelling with something else, such as `%r<5>` around a scope that declares `%r<3>` or
/// `%r2`, keeps its numbers; [`flatten`](crate::flatten) tells them apart. So does a declaration of several registers with a
/// comment inside. Nearly linear in the source.
///
/// ```
/// let text = ".version 8.0\n.target sm_80\n.entry k()\n{\n\t.reg .pred %p<9>;\n\t.reg .b32 %r<9>;\n\tmov.b32 %r7, 0;\n\tmov.b32 %r2, %r7;\n}\n";
/// let module = ptx_parse::parse_str(text).module;
/// let new = String::from_utf8(ptx_transform::renumber(&module).text).unwrap();
/// assert!(new.ends_with("{\n\t.reg .b32 %r<2>;\n\tmov.b32 %r0, 0;\n\tmov.b32 %r1, %r0;\n}\n"));
/// ```
pub fn renumber(module: &Module) -> Rewritten {
    let names = Names::of(module);
    let source = module.source();
    let outside: Vec<&[u8]> = names
        .mentions()
        .iter()
        .filter(|m| matches!(m.entity, Entity::Symbol(_) | Entity::Unknown(_)))
        .map(|m| m.whole().of(source))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .filter(|n| n.last().is_some_and(u8::is_ascii_digit))
        .collect();
    let mut splices = Splices::new();
    for (id, item) in module.items() {
        let Item::Function(f) = item else {
            continue;
        };
        let Some(body) = module.body(f) else {
            continue;
        };
        let mentions = names.within(module.span(id));
        let usage = Usage::of(mentions);
        let contested = contested(module, f, body, &outside);
        let mut numbers: BTreeMap<Entity, BTreeMap<u32, u32>> = BTreeMap::new();
        for m in mentions {
            if usage.count(m.entity).is_some() && !contested.contains(&m.entity) {
                let numbers = numbers
                    .entry(m.entity)
                    .or_insert_with(|| usage.numbers(m.entity, false));
                register_use::renumber(m, numbers, &mut splices);
            }
        }
        let pieces = register_use::unused(f, body, source, false, |e| {
            usage.is_used(e) || contested.contains(&e)
        });
        for piece in pieces {
            splices.remove(whole_lines(source, piece));
        }
    }
    splices.apply(source)
}

/// A piece with its line, if nothing else stands on it.
pub(crate) fn whole_lines(source: &[u8], piece: Span) -> Span {
    let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\r');
    let before = source.get(..piece.start as usize).unwrap_or_default();
    let after = source.get(piece.end as usize..).unwrap_or_default();
    let indent = before.iter().rev().take_while(|b| blank(b)).count();
    let rest = after.iter().take_while(|b| blank(b)).count();
    let begins = before.len() == indent || before.get(before.len() - indent - 1) == Some(&b'\n');
    if begins && after.get(rest) == Some(&b'\n') {
        return Span::new(piece.start - indent as u32, piece.end + rest as u32 + 1);
    }
    piece
}

/// Ranges whose members may be spelled like something else that is visible there.
fn contested(module: &Module, f: FuncId, body: &Body, outside: &[&[u8]]) -> BTreeSet<Entity> {
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
    let mut others: BTreeSet<&[u8]> = outside.iter().copied().collect();
    let decls = body.reg_decls().values().map(|d| d.name);
    let vars = body.vars().values().map(|v| v.name);
    let labels = body.labels().values().map(|l| l.name);
    others.extend(
        decls
            .chain(vars)
            .chain(labels)
            .map(|n| module.name_bytes(n)),
    );
    for name in others {
        let digits = name.iter().rev().take_while(|b| b.is_ascii_digit()).count();
        for at in name.len() - digits..name.len() {
            if let Some(same) = name.get(..at).and_then(|n| ranges.get(n)) {
                found.extend(same.iter().copied());
                // The longer name may be a range itself.
                found.extend(ranges.get(name).into_iter().flatten().copied());
            }
        }
    }
    // Variables in ranges of the same name.
    for var in body.vars().values().filter(|v| v.number.is_some()) {
        let same = ranges.get(module.name_bytes(var.name));
        found.extend(same.into_iter().flatten().copied());
    }
    found
}
