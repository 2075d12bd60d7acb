//! Merges the items of modules in an order in which declarations precede uses, and that keeps the order of each module.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::{Item, Module, Statement};

use super::shared_symbols::{Name, declared};
use crate::extract::directive;
use crate::item_text::ItemText;

/// An item of a module.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) input: usize,
    /// The index of the item; the number of items for the text after the last one.
    pub(super) index: usize,
}

/// The shared names that an item declares, each with whether it has the definition that is kept.
pub(super) type Declares<'m> = Vec<BTreeMap<usize, Vec<(Name<'m>, bool)>>>;

/// Merges the items of the modules. Items next to the declaration of a name in one module are next to its definition in the
/// other.
pub(super) fn merge(
    modules: &[&Module],
    items: &[Vec<ItemText>],
    declares: &Declares<'_>,
) -> Vec<Piece> {
    let mut order: Vec<Piece> = Vec::new();
    for (input, (own, names)) in items.iter().zip(declares).enumerate() {
        let pieces = (0..=own.len()).map(|index| Piece { input, index });
        if input == 0 {
            order.extend(pieces);
            continue;
        }
        let header = header_end(modules, items);
        let mut placed: BTreeMap<Name<'_>, usize> = BTreeMap::new();
        for (at, piece) in order.iter().enumerate() {
            let of = declares.get(piece.input).and_then(|d| d.get(&piece.index));
            for (name, _) in of.into_iter().flatten() {
                placed.entry(*name).or_insert(at);
            }
        }
        // The position that each item must precede.
        let goal = |index: usize| -> Option<usize> {
            let of = names.get(&index)?.iter();
            let goals = of.filter_map(|(name, defined)| {
                let at = *placed.get(name)?;
                Some(if *defined { at } else { at + 1 })
            });
            goals.max()
        };
        let first = names.keys().find_map(|&c| goal(c));
        let last = names.keys().rev().copied().find(|&c| goal(c).is_some());
        let mut at = first
            .map_or(order.len(), |f| f.saturating_sub(1))
            .max(header);
        let mut inserted: BTreeMap<usize, Vec<Piece>> = BTreeMap::new();
        for piece in pieces {
            if last.is_some_and(|last| piece.index > last) {
                at = order.len();
            } else if let Some(goal) = goal(piece.index) {
                at = at.max(goal);
            }
            inserted.entry(at).or_default().push(piece);
        }
        let mut merged = Vec::with_capacity(order.len() + own.len());
        for (i, piece) in order.iter().enumerate() {
            merged.extend(inserted.remove(&i).into_iter().flatten());
            merged.push(*piece);
        }
        merged.extend(inserted.into_values().flatten());
        order = merged;
    }
    order
}

/// The items that declare shared names.
pub(super) fn declares<'m>(
    modules: &[&'m Module],
    items: &[Vec<ItemText>],
    winners: &BTreeMap<Name<'m>, Option<usize>>,
) -> Declares<'m> {
    let mut all = Declares::new();
    for (input, (module, items)) in modules.iter().zip(items).enumerate() {
        let mut of: BTreeMap<usize, Vec<(Name<'_>, bool)>> = BTreeMap::new();
        for (i, item) in items.iter().enumerate() {
            for name in names(module, item.item) {
                if let Some(winner) = winners.get(&name) {
                    of.entry(i)
                        .or_default()
                        .push((name, *winner == Some(input)));
                }
            }
        }
        all.push(of);
    }
    all
}

/// The names that an item declares.
fn names(module: &Module, item: Item) -> Vec<Name<'_>> {
    match item {
        Item::Function(id) => {
            let inner = module.body(id).into_iter().flat_map(|b| b.statements());
            let inner = inner.filter_map(|(_, s)| match s {
                Statement::Function(id) => Some(id),
                _ => None,
            });
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
    let of_header = |item: Item| directive(module, item).is_some_and(super::emit::is_header);
    items.iter().take_while(|c| of_header(c.item)).count()
}
