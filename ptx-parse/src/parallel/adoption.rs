//! The parser of the whole source adopts bodies that were parsed before it comes to them.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::raw::RawModule;
use ptx_ir::{Body, BodyId, EntityId, Module, NameId, SigId, SymbolId};
use rayon::prelude::*;

use super::ParsedFunctions;
use super::batch::{Batch, Tables};
use crate::parser::Parser;
use crate::scope::{Binding, Meaning, Scopes};

/// Bodies to adopt.
#[derive(Default)]
pub(crate) struct Adoption {
    /// In the order of the source.
    pub(super) batches: Vec<Batch>,
    /// The next function: its batch, and its index there.
    next: (usize, usize),
    /// How many names of the module were looked at, and whether one of them could hide a special register.
    seen: usize,
    hides_special: bool,
}

impl Adoption {
    /// Whether the names of the module could give a function another meaning than its batch could know.
    fn is_unpredictable(&mut self, module: &Module, scopes: &Scopes) -> bool {
        let names = scopes.module_bindings();
        let special = |b: &Binding| module.name_bytes(b.name).starts_with(b"%");
        let mut new = names.get(self.seen..).unwrap_or_default().iter();
        self.hides_special |= new.any(special);
        self.seen = names.len();
        self.hides_special || scopes.has_module_ranges()
    }

    /// The function at `start`, if its body was parsed and is the next to adopt. A function that was passed over ends the
    /// use of its batch.
    fn at(&mut self, start: usize) -> Option<(&mut Batch, usize)> {
        loop {
            let (batch, index) = self.next;
            let functions = &self.batches.get(batch)?.functions;
            match functions.get(index) {
                Some(f) if f.start > start => return None,
                Some(f) if f.start == start => break,
                _ => self.next = (batch + 1, 0),
            }
        }
        let (batch, index) = self.next;
        Some((self.batches.get_mut(batch)?, index))
    }

    /// Gives the adopted bodies to the module.
    pub(crate) fn finish(&mut self, module: &mut Module) {
        let batches = core::mem::take(&mut self.batches);
        if batches.is_empty() {
            // Without starting any threads.
            return;
        }
        let bodies: Vec<Vec<(BodyId, Body)>> = batches.into_par_iter().map(Batch::finish).collect();
        for (id, body) in bodies.into_iter().flatten() {
            if let Some(place) = module.bodies_mut().get_mut(id) {
                *place = body;
            }
        }
    }
}

impl Parser<'_> {
    /// Takes functions to adopt. Those before them are finished.
    pub(crate) fn expect_functions(&mut self, functions: ParsedFunctions) {
        let batches = functions.batches;
        let names = batches.iter().map(|b| b.tables.names.len()).sum();
        self.out.module.names_mut().reserve(names);
        self.adoption.batches = batches;
        self.adoption.next = (0, 0);
    }

    /// Adopts the body at the cursor, which belongs to the function at `start` and whose scope is open, if it was parsed and
    /// would be the same if it were parsed here.
    pub(crate) fn adopt_body(&mut self, start: usize) -> Option<BodyId> {
        if self
            .adoption
            .is_unpredictable(&self.out.module, &self.scopes)
        {
            return None;
        }
        let (batch, index) = self.adoption.at(start)?;
        let (before, rest) = batch.functions.split_at_mut(index);
        let function = rest.first_mut()?;
        let used = before.last().map_or_else(Default::default, |f| f.used);
        let new = New {
            names: used.names..function.used.names,
            signatures: used.signatures..function.used.signatures,
            symbols: used.symbols..function.used.symbols,
            labels: used.labels..function.used.labels,
        };
        let (module, tables, ids) = (&mut self.out.module, &batch.tables, &mut batch.ids);
        let known: Vec<Option<u32>> = (new.names.clone())
            .map(|i| module.names_mut().find_of(&tables.names, i as u32))
            .collect();
        let name = |id: NameId| match id.index().checked_sub(new.names.start) {
            Some(i) => known.get(i).copied().flatten().map(NameId::new),
            None => ids.names.get(id.index()).copied(),
        };
        let same = function.open == self.cursor.pos && is_same(tables, &new, &self.scopes, name);
        let symbols = same.then(|| symbols(tables, new.symbols.clone(), &self.scopes, name));
        let Some(symbols) = symbols.flatten() else {
            self.adoption.next = (self.adoption.next.0 + 1, 0);
            return None;
        };
        ids.symbols.extend(symbols);
        for (i, known) in new.names.zip(known) {
            let id = known.unwrap_or_else(|| module.names_mut().add_of(&tables.names, i as u32));
            ids.names.push(NameId::new(id));
        }
        for i in new.signatures {
            let id = SigId::from_index(i);
            let id = (module.signatures_mut()).intern_of(&tables.signatures, id);
            ids.signatures.push(id);
        }
        let id = module.bodies_mut().push(Body::default());
        function.adopted = Some(id);
        let end = function.end;
        self.adoption.next.1 += 1;
        self.cursor.pos = end;
        self.cursor.last = end;
        Some(id)
    }
}

/// The entries of the tables of a batch that a function adds.
struct New {
    names: Range<usize>,
    signatures: Range<usize>,
    symbols: Range<usize>,
    labels: Range<usize>,
}

/// Whether the names that a function declares mean the same with the module around it; `name` gives the id of a name of the
/// batch in the module, if the module has it.
fn is_same(
    tables: &Tables,
    new: &New,
    scopes: &Scopes,
    name: impl Fn(NameId) -> Option<NameId>,
) -> bool {
    // A label could be used before its definition as the symbol that it hides later.
    let labels = tables.labels.get(new.labels.clone()).unwrap_or_default();
    let hides = |label: &NameId| name(*label).is_some_and(|n| scopes.find_at(n, 0).is_some());
    let numbered = |key: &u64| scopes.is_numbered_in_module(*key);
    !tables.range_keys.iter().any(numbered) && !labels.iter().any(hides)
}

/// The symbols of the module that a function presumes; `None` where the module has no such symbol at this place.
fn symbols(
    tables: &Tables,
    new: Range<usize>,
    scopes: &Scopes,
    name: impl Fn(NameId) -> Option<NameId>,
) -> Option<Vec<SymbolId>> {
    let names = tables.symbols.get(new)?.iter();
    let symbol = |n: &NameId| match scopes.find_at(name(*n)?, 0)?.meaning {
        Meaning::Symbol(symbol) => Some(symbol),
        _ => None,
    };
    names.map(symbol).collect()
}
