//! Merges the items of modules in an order in which declarations precede uses, and that keeps the order of each module.

use alloc::vec::Vec;

use ptx_ir::{Body, Item, Module};

use super::shared_symbols::{Name, SharedNames, declared};
use crate::items::ItemText;

/// A piece of the text of the linked module: an item of one of the modules.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) input: usize,
    /// The index of the item; the number of items for the text after the last one.
    pub(super) index: usize,
}

/// For each item of a module, the indices of the shared names that it declares. The flag is set if the module has the
/// definition of the name that is kept.
pub(super) type Declares = Vec<Vec<(usize, bool)>>;

/// Merges the items of the modules. Items next to the declaration of a name in one module are next to its definition in the
/// other.
pub(super) fn merge(
    modules: &[&Module],
    items: &[Vec<ItemText>],
    names: &SharedNames<'_>,
    declares: &[Declares],
) -> Vec<Piece> {
    let mut order: Vec<Piece> = Vec::new();
    for (input, (module_items, declared)) in items.iter().zip(declares).enumerate() {
        let pieces = (0..=module_items.len()).map(|index| Piece { input, index });
        if input == 0 {
            order.extend(pieces);
            continue;
        }
        let header = header_end(modules, items);
        // For each name, the position of its first declaration in `order`.
        let mut first_positions: Vec<Option<usize>> = vec![None; names.0.len()];
        for (position, piece) in order.iter().enumerate() {
            let piece_names = declares.get(piece.input).and_then(|d| d.get(piece.index));
            for &(name, _) in piece_names.into_iter().flatten() {
                if let Some(first_position) = first_positions.get_mut(name) {
                    first_position.get_or_insert(position);
                }
            }
        }
        // The position that each item must precede.
        let goal = |index: usize| -> Option<usize> {
            declared
                .get(index)?
                .iter()
                .filter_map(|&(name, defined)| {
                    let position = (*first_positions.get(name)?)?;
                    Some(if defined { position } else { position + 1 })
                })
                .max()
        };
        let first_goal = (0..module_items.len()).find_map(goal);
        let last = (0..module_items.len())
            .rev()
            .find(|&index| goal(index).is_some());
        let mut position = first_goal
            .map_or(order.len(), |goal| goal.saturating_sub(1))
            .max(header);
        let mut merged = Vec::with_capacity(order.len() + module_items.len() + 1);
        let mut remaining = order.iter().copied();
        for piece in pieces {
            if last.is_some_and(|last| piece.index > last) {
                position = order.len();
            } else if let Some(goal) = goal(piece.index) {
                position = position.max(goal);
            }
            // `piece` precedes the item that `order` has at `position`.
            let copied = order.len() - remaining.len();
            merged.extend(remaining.by_ref().take(position.saturating_sub(copied)));
            merged.push(piece);
        }
        merged.extend(remaining);
        order = merged;
    }
    order
}

/// The shared names that the items of each module declare.
pub(super) fn declares(
    modules: &[&Module],
    items: &[Vec<ItemText>],
    shared: &SharedNames<'_>,
) -> Vec<Declares> {
    let mut declares = Vec::new();
    for (input, (module, items)) in modules.iter().zip(items).enumerate() {
        let module_declares = items.iter().map(|item| {
            names(module, item.item)
                .into_iter()
                .filter_map(|name| {
                    let index = shared.find(name)?;
                    Some((index, shared.0.get(index)?.winner == Some(input)))
                })
                .collect()
        });
        declares.push(module_declares.collect());
    }
    declares
}

/// The names that an item declares.
fn names(module: &Module, item: Item) -> Vec<Name<'_>> {
    match item {
        Item::Function(id) => module
            .body(id)
            .into_iter()
            .flat_map(Body::functions)
            .chain([id])
            .filter_map(|id| module.functions().get(id))
            .map(|function| (module.name(function.name), false))
            .collect(),
        Item::Decl(id) => module
            .declarations()
            .declarators(id)
            .iter()
            .map(|declarator| declared(module, declarator))
            .collect(),
        _ => Vec::new(),
    }
}

/// The number of items in the header of the first module.
fn header_end(modules: &[&Module], items: &[Vec<ItemText>]) -> usize {
    let (Some(module), Some(items)) = (modules.first(), items.first()) else {
        return 0;
    };
    items
        .iter()
        .take_while(|item| module.is_header(item.item))
        .count()
}
