//! Completion: what is legal at a place, for the version and the target of the document.

mod context;
mod items;
mod modifiers;
mod operands;

use lsp_types::CompletionList;
use ptx_ir::query::Environment;

use crate::document::Document;
use context::{Context, Wanted};
use items::Items;

/// The most items that are sent at once; the client asks again while the word grows.
const MOST: usize = 400;

/// What may be written at an offset.
pub(crate) fn complete(document: &Document, offset: u32) -> CompletionList {
    let context = Context::at(document, offset);
    let module = document.module();
    let mut items = Items::new(document, context.word, Environment::of(module));
    match context.wanted {
        Wanted::Nothing => {}
        Wanted::ModuleDirective => items.directives(ptx_isa::DirectivePosition::Module),
        Wanted::Version => items.versions(),
        Wanted::Target => items.targets(),
        Wanted::HeaderDirective(position) => items.directives(position),
        Wanted::Statement => {
            items.opcodes();
            items.directives(ptx_isa::DirectivePosition::Body);
        }
        Wanted::Opcode => items.opcodes(),
        Wanted::Guard => operands::predicates(&mut items, context.body),
        Wanted::Modifier { opcode, ref before } => items.modifiers(opcode, before),
        Wanted::DeclaredType => items.types(),
        Wanted::Operand {
            opcode,
            ref modifiers,
            position,
            within,
        } => {
            operands::operand(
                &mut items,
                context.body,
                (opcode, modifiers),
                position,
                within,
            );
        }
    }
    items.finish(MOST)
}
