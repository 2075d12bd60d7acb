//! Names: their declarations and uses, and renaming.

use lsp_types::{
    DocumentHighlight, DocumentHighlightKind, Location, PrepareRenameResponse, TextEdit,
    WorkspaceEdit,
};
use ptx_edit::{Entity, NameRef, Names, RenameError, Renaming};
use ptx_ir::facts::{ModuleFacts, RegisterComponent};
use ptx_ir::{FuncId, ItemId, Module, Span, Statement, StmtId};

use crate::diagnostics::workspace_edit;
use crate::document::Document;
use crate::place;

/// The name at an offset, and the item that contains it.
pub(crate) fn name_at(document: &Document, offset: u32) -> Option<(ItemId, NameRef)> {
    let module = document.module();
    let (item, _) = place::item_at(module, offset)?;
    let names = Names::of_item(module, item);
    let refs = names.refs();
    let index = refs.partition_point(|r| r.name.start <= offset);
    // An offset between two names belongs to both; the first one is returned.
    let name = refs
        .get(index.saturating_sub(1)..)?
        .iter()
        .find(|r| r.name.start <= offset && offset <= extent(r).end)?;
    Some((item, *name))
}

/// The span of a name with its number, or with the count of its range.
fn extent(name: &NameRef) -> Span {
    if name.number.is_empty() {
        name.name
    } else {
        name.name.join(name.number)
    }
}

/// The function that an entity is local to; `None` for symbols of the module.
const fn function_of(entity: Entity) -> Option<FuncId> {
    match entity {
        Entity::Register(f, _) | Entity::Variable(f, _) | Entity::Label(f, _) => Some(f),
        _ => None,
    }
}

/// All occurrences of an entity. `item` is an item that mentions it; all occurrences of a local entity are in this item.
pub(crate) fn occurrences(module: &Module, item: ItemId, entity: Entity) -> Vec<NameRef> {
    let names = match function_of(entity) {
        Some(_) => Names::of_item(module, item),
        None => Names::of(module),
    };
    names
        .refs()
        .iter()
        .filter(|r| r.entity == entity)
        .copied()
        .collect()
}

/// The declarations of an entity. `item` is an item that mentions it. A declaration inside of another function counts only if there is no other.
pub(crate) fn declarations(module: &Module, item: ItemId, entity: Entity) -> Vec<NameRef> {
    let Entity::Symbol(symbol) = entity else {
        return declarations_in(&Names::of_item(module, item), entity);
    };
    let declarations: Vec<NameRef> = module
        .items()
        .filter(|(_, item)| module.declared_symbols(*item).contains(&symbol))
        .flat_map(|(id, _)| declarations_in(&Names::of_header(module, id), entity))
        .collect();
    if declarations.is_empty() {
        return declarations_in(&Names::of(module), entity);
    }
    declarations
}

fn declarations_in(names: &Names, entity: Entity) -> Vec<NameRef> {
    names
        .refs()
        .iter()
        .filter(|r| r.declares && r.entity == entity)
        .copied()
        .collect()
}

fn location(document: &Document, name: &NameRef) -> Location {
    Location::new(document.uri.clone(), document.range(name.whole()))
}

/// The locations of the declarations of the name at an offset; of a function with a body, only its definition.
pub(crate) fn definition(document: &Document, offset: u32) -> Vec<Location> {
    let module = document.module();
    let Some((item, name)) = name_at(document, offset) else {
        return Vec::new();
    };
    let mut declarations = declarations(module, item, name.entity);
    if matches!(name.entity, Entity::Symbol(_))
        && declarations.iter().any(|r| is_definition(module, r))
    {
        declarations.retain(|r| is_definition(module, r));
    }
    declarations.iter().map(|r| location(document, r)).collect()
}

/// Whether a name is in the header of a function with a body.
fn is_definition(module: &Module, name: &NameRef) -> bool {
    place::function_at(module, name.name.start)
        .and_then(|function| module.body(function))
        .is_some_and(|body| name.name.start < body.base())
}

/// The occurrences of the name at an offset. If it names a register of a range, occurrences of other registers of the range are omitted.
fn occurrences_at(document: &Document, offset: u32) -> Vec<NameRef> {
    let Some((item, name)) = name_at(document, offset) else {
        return Vec::new();
    };
    let mut occurrences = occurrences(document.module(), item, name.entity);
    if name.member.is_some() {
        occurrences.retain(|r| r.declares || r.member == name.member);
    }
    occurrences
}

/// The locations of the uses, and optionally of the declarations, of the name at an offset.
pub(crate) fn references(
    document: &Document,
    offset: u32,
    include_declarations: bool,
) -> Vec<Location> {
    occurrences_at(document, offset)
        .iter()
        .filter(|r| include_declarations || !r.declares)
        .map(|r| location(document, r))
        .collect()
}

/// The occurrences of the name at an offset in the same item. Declarations and results of instructions are highlighted as writes.
pub(crate) fn highlights(document: &Document, offset: u32) -> Vec<DocumentHighlight> {
    let Some((item, name)) = name_at(document, offset) else {
        return Vec::new();
    };
    let item_span = document.module().span(item);
    let writes = offsets_of_writes(document.module(), item, &name);
    occurrences_at(document, offset)
        .iter()
        .filter(|r| item_span.start <= r.name.start && r.name.end <= item_span.end)
        .map(|r| {
            let is_write = r.declares || writes.contains(&r.name.start);
            DocumentHighlight {
                range: document.range(r.whole()),
                kind: Some(if is_write {
                    DocumentHighlightKind::WRITE
                } else {
                    DocumentHighlightKind::READ
                }),
            }
        })
        .collect()
}

/// The offsets of the occurrences at which instructions write a register; empty for other names.
fn offsets_of_writes(module: &Module, item: ItemId, name: &NameRef) -> Vec<u32> {
    let Entity::Register(function, _) = name.entity else {
        return Vec::new();
    };
    let Some(body) = module.body(function) else {
        return Vec::new();
    };
    let names = Names::of_item(module, item);
    register_accesses(module, name.entity, name.member)
        .into_iter()
        .filter(|access| access.is_write)
        .filter_map(|access| {
            // Results precede sources, so the first occurrence in the statement is the result.
            let span = body.source_span(access.stmt);
            let result = names
                .within(span)
                .iter()
                .find(|r| r.entity == name.entity && r.member == name.member)?;
            Some(result.name.start)
        })
        .collect()
}

/// A statement that reads or writes a register.
pub(crate) struct RegisterAccess {
    pub(crate) stmt: StmtId,
    /// The statement may write the register. It may read it as well.
    pub(crate) is_write: bool,
}

/// The instructions that access a register, in the order of the text. Without a member, these are the instructions that access any register of a range.
pub(crate) fn register_accesses(
    module: &Module,
    entity: Entity,
    member: Option<u32>,
) -> Vec<RegisterAccess> {
    let Entity::Register(function, decl) = entity else {
        return Vec::new();
    };
    let facts = ModuleFacts::of(module, |f| f == function);
    let (Some(facts), Some(body)) = (facts.function(function), module.body(function)) else {
        return Vec::new();
    };
    let is_accessed = |lane: RegisterComponent| {
        let register = body.registers().get(lane.register);
        register.is_some_and(|r| r.decl == decl && member.is_none_or(|m| m == r.number))
    };
    let mut accesses = Vec::new();
    for (stmt, statement) in body.statements() {
        if let Statement::Inst(inst) = statement {
            let facts = facts.inst(inst);
            let mut writes = facts.writes().chain(facts.conditional_writes());
            let is_write = writes.any(is_accessed);
            if is_write || facts.reads().any(is_accessed) {
                accesses.push(RegisterAccess { stmt, is_write });
            }
        }
    }
    accesses
}

/// The range of the name at an offset that renaming replaces. The number of a register of a range stays.
pub(crate) fn prepare_rename(document: &Document, offset: u32) -> Option<PrepareRenameResponse> {
    let (_, name) = name_at(document, offset)?;
    if let Entity::Unknown(_) = name.entity {
        return None;
    }
    Some(PrepareRenameResponse::RangeWithPlaceholder {
        range: document.range(name.name),
        placeholder: document.text(name.name),
    })
}

/// The edits that rename all occurrences of the name at an offset, so that every name still denotes the same entity.
///
/// # Errors
///
/// There is no name that can be renamed at the offset, or the new name is not possible.
pub(crate) fn rename(
    document: &Document,
    offset: u32,
    new_name: &str,
) -> Result<WorkspaceEdit, String> {
    let (_, name) = name_at(document, offset).ok_or("there is no name here")?;
    if let Entity::Unknown(_) = name.entity {
        return Err("this name is not declared".to_owned());
    }
    let module = document.module();
    // The new name of a register of a range may contain the number of the register.
    let number = document.text(name.number);
    let new_name = match name.member {
        Some(_) => new_name.strip_suffix(&number).unwrap_or(new_name),
        None => new_name,
    };
    let names = Names::of(module);
    let mut renaming = Renaming::new();
    renaming.set(name.entity, new_name);
    renaming
        .apply(module, &names)
        .map_err(|error| rename_message(document, &error))?;
    let edits = names
        .refs()
        .iter()
        .filter(|r| r.entity == name.entity)
        .map(|r| TextEdit::new(document.range(r.name), new_name.to_owned()))
        .collect();
    Ok(workspace_edit(document, edits))
}

fn rename_message(document: &Document, error: &RenameError) -> String {
    match error {
        RenameError::Taken(_, span) => {
            format!("{error}: line {}", document.position(span.start).line + 1)
        }
        _ => error.to_string(),
    }
}
