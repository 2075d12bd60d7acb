//! Names: where they are declared and used.

use lsp_types::{DocumentHighlight, DocumentHighlightKind, Location};
use ptx_edit::{Entity, NameRef, Names};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, ItemId, Module, Span, Statement, StmtId};

use crate::document::Document;
use crate::place;

/// The name at an offset, with the item that it is in.
pub(crate) fn name_at(document: &Document, offset: u32) -> Option<(ItemId, NameRef)> {
    let module = document.module();
    let (item, _) = place::item_at(module, offset)?;
    let names = Names::of_item(module, item);
    let refs = names.refs();
    let index = refs.partition_point(|r| r.name.start <= offset);
    let around = refs.get(index.saturating_sub(1)..)?;
    let found = around
        .iter()
        .find(|r| r.name.start <= offset && offset <= extent(r).end)?;
    Some((item, *found))
}

/// A name with its number, or with the count of its range.
fn extent(name: &NameRef) -> Span {
    match name.number.is_empty() {
        true => name.name,
        false => name.name.join(name.number),
    }
}

/// The function that an entity belongs to; `None` for names of the module.
const fn function_of(entity: Entity) -> Option<FuncId> {
    match entity {
        Entity::Register(f, _) | Entity::Variable(f, _) | Entity::Label(f, _) => Some(f),
        _ => None,
    }
}

/// All occurrences of an entity. Those of a local one are in its function.
pub(crate) fn occurrences(module: &Module, item: ItemId, entity: Entity) -> Vec<NameRef> {
    let names = match function_of(entity) {
        Some(_) => Names::of_item(module, item),
        None => Names::of(module),
    };
    let refs = names.refs().iter();
    refs.filter(|r| r.entity == entity).copied().collect()
}

/// The declarations of an entity: of a name of the module, those in items that declare it.
pub(crate) fn declarations(module: &Module, item: ItemId, entity: Entity) -> Vec<NameRef> {
    let declaring = |names: Names| {
        let refs = names.refs().iter();
        let found = refs.filter(|r| r.declares && r.entity == entity).copied();
        found.collect::<Vec<_>>()
    };
    match entity {
        Entity::Symbol(symbol) => {
            let items = module.items();
            let items = items.filter(|(_, i)| module.declared_symbols(*i).contains(&symbol));
            let found: Vec<_> = items
                .flat_map(|(id, _)| Names::of_header(module, id).refs().to_vec())
                .collect();
            let found = found
                .into_iter()
                .filter(|r| r.declares && r.entity == entity);
            let found: Vec<_> = found.collect();
            match found.is_empty() {
                // A function that is declared inside of another one.
                true => declaring(Names::of(module)),
                false => found,
            }
        }
        _ => declaring(Names::of_item(module, item)),
    }
}

fn location(document: &Document, name: &NameRef) -> Location {
    Location::new(document.uri.clone(), document.range(name.whole()))
}

/// Where the name at an offset is declared; a function that is defined, at its definition.
pub(crate) fn definition(document: &Document, offset: u32) -> Vec<Location> {
    let module = document.module();
    let Some((item, name)) = name_at(document, offset) else {
        return Vec::new();
    };
    let mut found = declarations(module, item, name.entity);
    let defines = |r: &NameRef| {
        let body = place::function_at(module, r.name.start).and_then(|f| module.body(f));
        body.is_some_and(|b| r.name.start < b.base())
    };
    if matches!(name.entity, Entity::Symbol(_)) && found.iter().any(defines) {
        found.retain(defines);
    }
    found.iter().map(|r| location(document, r)).collect()
}

/// The occurrences of the name at an offset: of a member of a range, those of this member and the declaration of the range.
fn same(document: &Document, offset: u32) -> Vec<NameRef> {
    let Some((item, name)) = name_at(document, offset) else {
        return Vec::new();
    };
    let mut all = occurrences(document.module(), item, name.entity);
    if name.member.is_some() {
        all.retain(|r| r.declares || r.member == name.member);
    }
    all
}

/// All uses of the name at an offset, and its declarations if they are wanted.
pub(crate) fn references(document: &Document, offset: u32, declarations: bool) -> Vec<Location> {
    let all = same(document, offset).into_iter();
    let wanted = all.filter(|r| declarations || !r.declares);
    wanted.map(|r| location(document, &r)).collect()
}

/// The occurrences of the name at an offset in the same item: declarations and results of instructions as writes.
pub(crate) fn highlights(document: &Document, offset: u32) -> Vec<DocumentHighlight> {
    let module = document.module();
    let Some((item, _)) = name_at(document, offset) else {
        return Vec::new();
    };
    let here = module.span(item);
    let writes = writes_of(document, offset);
    let all = same(document, offset).into_iter();
    all.filter(|r| here.start <= r.name.start && r.name.end <= here.end)
        .map(|r| DocumentHighlight {
            range: document.range(r.whole()),
            kind: Some(match r.declares || writes.contains(&r.name.start) {
                true => DocumentHighlightKind::WRITE,
                false => DocumentHighlightKind::READ,
            }),
        })
        .collect()
}

/// Where the register at an offset is written by an instruction: the beginnings of these occurrences.
fn writes_of(document: &Document, offset: u32) -> Vec<u32> {
    let Some((item, name)) = name_at(document, offset) else {
        return Vec::new();
    };
    let Entity::Register(function, _) = name.entity else {
        return Vec::new();
    };
    let module = document.module();
    let Some(body) = module.body(function) else {
        return Vec::new();
    };
    let names = Names::of_item(module, item);
    let writers = accesses(module, name.entity, name.member).into_iter();
    let first = writers
        .filter(|(_, writes)| *writes)
        .filter_map(|(stmt, _)| {
            let refs = names.within(body.source_span(stmt)).iter();
            // Results come before what is read.
            let mut same = refs.filter(|r| r.entity == name.entity && r.member == name.member);
            same.next()
        });
    first.map(|r| r.name.start).collect()
}

/// The instructions of its function that mention a register, and whether each one writes it.
pub(crate) fn accesses(
    module: &Module,
    entity: Entity,
    member: Option<u32>,
) -> Vec<(StmtId, bool)> {
    let Entity::Register(function, decl) = entity else {
        return Vec::new();
    };
    let facts = ModuleFacts::of(module, |f| f == function);
    let (Some(facts), Some(body)) = (facts.function(function), module.body(function)) else {
        return Vec::new();
    };
    let registers = body.registers();
    let is_it = |r: ptx_ir::facts::RegLane| {
        let register = registers.get(r.register);
        register.is_some_and(|r| r.decl == decl && member.is_none_or(|m| m == r.number))
    };
    let of_statement = |(stmt, statement)| match statement {
        Statement::Inst(inst) => {
            let facts = facts.inst(inst);
            let writes = facts.writes().chain(facts.conditional_writes()).any(is_it);
            (writes || facts.reads().any(is_it)).then_some((stmt, writes))
        }
        _ => None,
    };
    body.statements().filter_map(of_statement).collect()
}
