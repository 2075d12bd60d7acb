//! Assembles the text of the linked module.

use alloc::format;
use alloc::vec::Vec;

use ptx_ir::OffsetMap;
use ptx_ir::{Code, Diagnostic, Limits, Module, Span};

use super::order::Piece;
use super::{LinkDiagnostic, about};
use crate::Splices;
use crate::item_extents::Chunks;

/// Writes the chunks of modules in their order, each with the changes of its module; returns the text, and an offset map for
/// each module.
pub(super) fn copy(
    modules: &[&Module],
    chunks: &[Chunks],
    order: &[Piece],
    mut splices: Vec<Splices>,
) -> Result<(Vec<u8>, Vec<OffsetMap>), LinkDiagnostic> {
    let mut text = Vec::new();
    let mut maps: Vec<OffsetMap> = modules.iter().map(|_| OffsetMap::new()).collect();
    for splices in &mut splices {
        splices.sort();
    }
    let mut last: Option<usize> = None;
    for piece in order {
        let (Some(chunks), Some(module)) = (chunks.get(piece.input), modules.get(piece.input))
        else {
            continue;
        };
        let source = module.source();
        let mut stretch = match chunks.all.get(piece.chunk) {
            Some(chunk) => chunk.whole(),
            None => Span::new(chunks.tail, source.len() as u32),
        };
        // A byte order mark is only allowed at the beginning of a text.
        if stretch.start == 0 && piece.input > 0 && source.starts_with("\u{feff}".as_bytes()) {
            stretch.start = 3;
        }
        let before = text.len();
        if last.is_some_and(|l| l != piece.input) && text.last().is_some_and(|b| *b != b'\n') {
            text.push(b'\n');
        }
        let start = text.len();
        if let (Some(splices), Some(map)) = (splices.get(piece.input), maps.get_mut(piece.input)) {
            splices.copy(source, stretch, &mut text, map);
        }
        if text.len() == start {
            text.truncate(before);
        } else {
            last = Some(piece.input);
        }
        if text.len() > Limits::default().source_bytes {
            let message = format!("the linked module has more than {} bytes", text.len());
            let d = Diagnostic::error(Code::SourceTooLarge, stretch, message);
            return Err(about(piece.input, d));
        }
    }
    Ok((text, maps))
}
