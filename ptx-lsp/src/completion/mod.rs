//! Completion: the words that are legal at an offset, for the PTX version and the target of the document.

mod context;
mod items;
mod modifiers;
mod operands;

use lsp_types::CompletionList;
use ptx_ir::raw::query::Environment;

use crate::document::Document;
use context::{Context, Expectation};
use items::Items;

/// The maximum number of items that are sent at once. If there are more, the client asks again after each character.
const MAX_ITEMS: usize = 400;

/// The words that may be written at an offset.
pub(crate) fn complete(document: &Document, offset: u32) -> CompletionList {
    let context = Context::at(document, offset);
    let module = document.module();
    let mut items = Items::new(document, context.word, Environment::of(module));
    match context.expectation {
        Expectation::Nothing => {}
        Expectation::ModuleDirective => {
            items.add_directives(ptx_isa::internals::DirectivePosition::Module)
        }
        Expectation::Version => items.add_versions(),
        Expectation::Target => items.add_targets(),
        Expectation::HeaderDirective(position) => items.add_directives(position),
        Expectation::Statement => {
            items.add_opcodes();
            items.add_directives(ptx_isa::internals::DirectivePosition::Body);
        }
        Expectation::Opcode => items.add_opcodes(),
        Expectation::Guard => operands::add_predicates(&mut items, context.body),
        Expectation::Modifier {
            opcode,
            ref preceding,
        } => items.add_modifiers(opcode, preceding),
        Expectation::DeclaredType => items.add_types(),
        Expectation::Operand(ref position) => {
            operands::add_operands(&mut items, context.body, position);
        }
    }
    items.finish(MAX_ITEMS)
}
