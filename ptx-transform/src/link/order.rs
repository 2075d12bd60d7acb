//! Merges the items of modules in an order in which declarations precede uses, and that keeps the order of each module.

use alloc::vec::Vec;

use ptx_ir::{Body, Item, Module};

use super::shared_symbols::{Name, SharedNames, declared};
use crate::items::ItemText;

/// An item of a module.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) input: usize,
    /// The index of the item; the number of items for the text after the last one.
    pub(super) index: usize,
}

/// For each item of a module the shared names that it declares, each with whether it has the definition that is kept.
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
    for (input, (own, declared)) in items.iter().zip(declares).enumerate() {
        let pieces = (0..=own.len()).map(|index| Piece { input, index });
        if input == 0 {
            order.extend(pieces);
            continue;
        }
        let header = header_end(modules, items);
        // Where each name is declared first.
        let mut placed: Vec<Option<usize>> = vec![None; names.0.len()];
        for (at, piece) in order.iter().enumerate() {
            let of = declares.get(piece.input).and_then(|d| d.get(piece.index));
            for &(name, _) in of.into_iter().flatten() {
                if let Some(place) = placed.get_mut(name) {
                    place.get_or_insert(at);
                }
            }
        }
        // The position that each item must precede.
        let goal = |index: usize| -> Option<usize> {
            let goals = declared.get(index)?.iter().filter_map(|&(name, defined)| {
                let at = (*placed.get(name)?)?;
                Some(if defined { at } else { at + 1 })
            });
            goals.max()
        };
        let first = (0..own.len()).find_map(goal);
        let last = (0..own.len()).rev().find(|&index| goal(index).is_some());
        let mut at = first
            .map_or(order.len(), |f| f.saturating_sub(1))
            .max(header);
        let mut merged = Vec::with_capacity(order.len() + own.len() + 1);
        let mut rest = order.iter().copied();
        for piece in pieces {
            if last.is_some_and(|last| piece.index > last) {
                at = order.len();
            } else if let Some(goal) = goal(piece.index) {
                at = at.max(goal);
            }
            // `piece` is before the old item at `at`.
            let copied = order.len() - rest.len();
            merged.extend(rest.by_ref().take(at.saturating_sub(copied)));
            merged.push(piece);
        }
        merged.extend(rest);
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
    let modules = modules.iter().zip(items).enumerate();
    let of_module = modules.map(|(input, (module, items))| {
        let of_item = items.iter().map(|item| {
            let names = names(module, item.item).into_iter();
            let shared = names.filter_map(|name| {
                let index = shared.find(name)?;
                Some((index, shared.0.get(index)?.winner == Some(input)))
            });
            shared.collect()
        });
        of_item.collect()
    });
    of_module.collect()
}

/// The names that an item declares.
fn names(module: &Module, item: Item) -> Vec<Name<'_>> {
    match item {
        Item::Function(id) => {
            let inner = module.body(id).into_iter().flat_map(Body::functions);
            let all = inner
                .chain([id])
                .filter_map(|id| module.functions().get(id));
            all.map(|f| (module.name(f.name), false)).collect()
        }
        Item::Decl(id) => {
            let all = module.declarations().declarators(id).iter();
            all.map(|d| declared(module, d)).collect()
        }
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
        .take_while(|c| module.is_header(c.item))
        .count()
}
