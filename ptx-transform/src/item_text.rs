//! The items of a module with the text that belongs to them.

use alloc::vec::Vec;

use ptx_ir::trivia_map::{Extent, TriviaMap};
use ptx_ir::{EntityId, Item, ItemId, Module};

/// An item of a module.
#[derive(Copy, Clone, Debug)]
pub(crate) struct ItemText {
    pub(crate) id: ItemId,
    pub(crate) item: Item,
    /// Its text, and the comments that belong to it.
    pub(crate) extent: Extent,
}

/// The items of a module whose source is its text, in order.
pub(crate) fn items(module: &Module) -> Vec<ItemText> {
    let trivia = TriviaMap::of_module(module);
    let item = |(id, item): (ItemId, Item)| ItemText {
        id,
        item,
        extent: trivia.extent(id.index()),
    };
    module.items().map(item).collect()
}
