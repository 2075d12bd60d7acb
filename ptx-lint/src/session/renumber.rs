//! Maps functions of a module that was parsed again to their previous ids.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::calls::CallGraph;
use ptx_ir::{EntityId as _, FuncId, Item, Module, SymbolId};

use super::digest::{Digest, Digests};
use super::places::{Moves, Places};
use super::{Function, LintSession, Linted};
use crate::declarations::symbol_name;

/// The names of all symbols.
pub(super) fn symbol_names(module: &Module) -> Vec<Box<str>> {
    let ids = (0..module.symbols().len() as u32).map(SymbolId::new);
    ids.map(|id| symbol_name(module, id).into()).collect()
}

/// The digests of the functions of a module, by id.
fn digests(module: &Module) -> Vec<Option<Digest>> {
    let all = Digests::new(module);
    let mut found = vec![None; module.functions().len()];
    for (item, kind) in module.items() {
        if let Item::Function(id) = kind
            && module.body(id).is_some()
        {
            let text = ptx_print::verbatim_item(module, item);
            found[id.index()] = Some(all.of(id, &text));
        }
    }
    found
}

/// The functions of a module by the names that calls of them have.
pub(super) fn by_name<'m>(module: &'m Module, calls: &CallGraph) -> BTreeMap<&'m str, FuncId> {
    let all = module.functions().iter();
    let named = all.filter(|(id, f)| f.symbol.and_then(|s| calls.function(s)) == Some(*id));
    named.map(|(id, f)| (module.name(f.name), id)).collect()
}

impl Linted {
    fn renumber(mut self, function: &impl Fn(FuncId) -> Option<FuncId>) -> Option<Self> {
        for id in &mut self.inputs.waiting {
            *id = function(*id)?;
        }
        self.inputs.waiting.sort_unstable();
        Some(self)
    }
}

impl LintSession {
    /// Recognizes functions that are the same as before in a module that was parsed again.
    pub(super) fn renumber(&mut self, module: &Module) {
        let digests = digests(module);
        let names = by_name(module, &CallGraph::without_calls(module));
        let old = core::mem::take(&mut self.functions);
        let old_symbols = core::mem::take(&mut self.symbols);
        let new_symbols = symbol_names(module);
        let symbols = (0..).map(SymbolId::new);
        let symbols: BTreeMap<&str, SymbolId> = new_symbols
            .iter()
            .map(|name| &**name)
            .zip(symbols)
            .collect();
        let function = |id: FuncId| names.get(old.get(id.index())?.name.as_deref()?).copied();
        let symbol = |id: SymbolId| symbols.get(&**old_symbols.get(id.index())?).copied();
        let is_same = |id: FuncId| {
            let (before, new) = (old.get(id.index()), function(id));
            let digest = new.and_then(|new| digests.get(new.index()).copied().flatten());
            before.is_some_and(|f| f.digest.is_some() && f.digest == digest && !f.is_changed)
        };
        self.likely.renumber(function, is_same);
        self.summaries.renumber(function, symbol, is_same);
        self.kernels.renumber(function, is_same);
        let places = Places::new(module);
        let moves = Moves::new(&self.places, &places, function);
        let mut functions = vec![Function::default(); module.functions().len()];
        for id in (0..old.len() as u32)
            .map(FuncId::new)
            .filter(|id| is_same(*id))
        {
            if let Some(new) = function(id)
                && let Some(of) = old.get(id.index())
            {
                let mut of = of.clone();
                of.linted = of.linted.and_then(|linted| linted.renumber(&function));
                for finding in of.linted.iter_mut().flat_map(|l| &mut l.found) {
                    finding.function = new;
                    moves.apply(finding);
                }
                functions[new.index()] = of;
            }
        }
        self.kernels.each_finding(|finding| moves.apply(finding));
        let ids = (0..).map(FuncId::new);
        for ((id, of), digest) in ids.zip(&mut functions).zip(digests) {
            of.is_changed |= of.digest.is_none();
            of.digest = digest;
            if of.is_changed {
                self.kernels.change(id);
            }
        }
        self.functions = functions;
        self.places = places;
    }
}
