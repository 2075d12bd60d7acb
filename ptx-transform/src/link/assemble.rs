//! Assembles the text of the linked module.

use alloc::boxed::Box;
use alloc::vec::Vec;

use ptx_ir::raw::{TextPatches, trivia_map::TriviaMap};
use ptx_ir::{Code, Diagnostic, Limits, Module, OffsetMap};

use super::diagnostic::{LinkDiagnostic, about};
use super::order::Piece;
use crate::items::ItemText;

/// Writes the items of modules in their order, each with the changes of its module; returns the text, and an offset map for
/// each module.
pub(super) fn copy(
    modules: &[&Module],
    items: &[Vec<ItemText>],
    order: &[Piece],
    mut patches: Vec<TextPatches>,
) -> Result<(Vec<u8>, Vec<OffsetMap>), Box<LinkDiagnostic>> {
    let mut text = Vec::new();
    let mut maps: Vec<OffsetMap> = modules.iter().map(|_| OffsetMap::new()).collect();
    for patches in &mut patches {
        patches.sort();
    }
    // A byte order mark is only allowed at the beginning of a text.
    if let (Some(first), Some(map)) = (modules.first(), maps.first_mut()) {
        let head = TriviaMap::of_module(first).head();
        map.push(head.start, 0, head.len() as u32);
        text.extend_from_slice(head.of(first.source()));
    }
    let mut last_input: Option<usize> = None;
    for piece in order {
        let (Some(items), Some(module)) = (items.get(piece.input), modules.get(piece.input)) else {
            continue;
        };
        let source = module.source();
        let span = match items.get(piece.index) {
            Some(item) => item.extent.whole(),
            None => TriviaMap::of_module(module).tail(),
        };
        let separator_start = text.len();
        if last_input.is_some_and(|input| input != piece.input)
            && text.last().is_some_and(|b| *b != b'\n')
        {
            text.push(b'\n');
        }
        let start = text.len();
        if let (Some(patches), Some(map)) = (patches.get(piece.input), maps.get_mut(piece.input)) {
            patches.copy(source, span, (&mut text, map));
        }
        if text.len() == start {
            text.truncate(separator_start);
        } else {
            last_input = Some(piece.input);
        }
        if text.len() > Limits::default().source_bytes {
            let message = format!("the linked module has more than {} bytes", text.len());
            let error = Diagnostic::error(Code::SourceTooLarge, span, message);
            return Err(Box::new(about(piece.input, error)));
        }
    }
    Ok((text, maps))
}
