//! Renaming: all occurrences of a name get another one, and every name still denotes what it did.

use lsp_types::{PrepareRenameResponse, TextEdit, WorkspaceEdit};
use ptx_edit::{Entity, Names, RenameError, Renaming};

use crate::code_action::changes;
use crate::document::Document;
use crate::names::name_at;

/// The part of the name at an offset that can be renamed: of a member of a range, the name without its number.
pub(crate) fn prepare(document: &Document, offset: u32) -> Option<PrepareRenameResponse> {
    let (_, name) = name_at(document, offset)?;
    (!matches!(name.entity, Entity::Unknown(_))).then(|| {
        PrepareRenameResponse::RangeWithPlaceholder {
            range: document.range(name.name),
            placeholder: document.text(name.name),
        }
    })
}

/// The edits that rename what is at an offset.
///
/// # Errors
///
/// Nothing at the offset can be renamed, or the name is not possible.
pub(crate) fn rename(document: &Document, offset: u32, new: &str) -> Result<WorkspaceEdit, String> {
    let (_, name) = name_at(document, offset).ok_or("there is no name here")?;
    if let Entity::Unknown(_) = name.entity {
        return Err("this name is not declared".to_owned());
    }
    let module = document.module();
    // The name of a member may be given with its number.
    let number = document.text(name.number);
    let new = match name.member {
        Some(_) => new.strip_suffix(&number).unwrap_or(new),
        None => new,
    };
    let names = Names::of(module);
    let mut renaming = Renaming::new();
    renaming.set(name.entity, new);
    renaming
        .apply(module, &names)
        .map_err(|error| message(document, error))?;
    let same = names.refs().iter().filter(|r| r.entity == name.entity);
    let edits = same.map(|r| TextEdit::new(document.range(r.name), new.to_owned()));
    Ok(changes(document, edits.collect()))
}

fn message(document: &Document, error: RenameError) -> String {
    match &error {
        RenameError::Taken(_, span) => {
            format!("{error}: line {}", document.position(span.start).line + 1)
        }
        _ => error.to_string(),
    }
}
