//! Findings whose cause is the declaration of a variable of the module: one for each variable, at the declaration, with the places of all functions.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::{Binding, Item, Module, Span};

use crate::declarations::symbol_name;
use crate::{Finding, Lint};

/// Moves findings to the declarations that cause them, and merges those of one declaration. The order of the others is kept.
pub(crate) fn at_declarations(module: &Module, found: Vec<Finding>) -> Vec<Finding> {
    if found.iter().all(|finding| finding.declaration.is_none()) {
        return found;
    }
    let spans = spans(module);
    let mut known: BTreeMap<(Lint, Box<str>), usize> = BTreeMap::new();
    let mut all: Vec<Finding> = Vec::new();
    let mut repeats: Vec<Vec<Span>> = Vec::new();
    for mut finding in found {
        let name = finding.declaration.take();
        let declared = name.and_then(|name| Some((*spans.get(&name)?, name)));
        let Some((span, name)) = declared else {
            all.push(finding);
            repeats.push(Vec::new());
            continue;
        };
        let places = [finding.diagnostic.span].into_iter();
        let places = places.chain(core::mem::take(&mut finding.diagnostic.repeats));
        let places: Vec<Span> = places.filter(|place| *place != span).collect();
        let key = (finding.lint, name);
        match known.get(&key).and_then(|at| repeats.get_mut(*at)) {
            Some(of) => of.extend(places),
            None => {
                known.insert(key, all.len());
                finding.diagnostic.span = span;
                all.push(finding);
                repeats.push(places);
            }
        }
    }
    for at in known.into_values() {
        if let (Some(finding), Some(places)) = (all.get_mut(at), repeats.get_mut(at)) {
            places.sort_unstable_by_key(|span| span.start);
            places.dedup();
            finding.diagnostic.repeats = core::mem::take(places).into();
        }
    }
    all
}

/// The declarations of the variables of a module, by their names.
fn spans(module: &Module) -> BTreeMap<Box<str>, Span> {
    let mut spans = BTreeMap::new();
    for (item, kind) in module.items() {
        let Item::Decl(id) = kind else { continue };
        for declarator in module.declarations().declarators(id) {
            if let Binding::Symbol(symbol) = declarator.binding {
                let name: Box<str> = symbol_name(module, symbol).into();
                spans.entry(name).or_insert_with(|| module.span(item));
            }
        }
    }
    spans
}
