//! Maps functions of a module that was parsed again to their previous ids.
//!
//! A function is recognized by its name and by a digest of its text and of the declarations that it references.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::calls::CallGraph;
use ptx_ir::{Body, EntityId as _, FuncId, Item, Module, SymbolId};
use ptx_isa::Directive;
use ptx_print::verbatim_item;

use super::moves::{FunctionSpans, Moves};
use super::{FunctionState, LintResult, LintSession};
use crate::declarations::{Declarations, ItemPart, symbol_name};

/// The digest of a text. The digests of two different texts are equal with a probability of 2^-128.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Digest([u64; 2]);

impl Digest {
    const EMPTY: Self = Self([0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f]);

    fn add(&mut self, text: &[u8]) {
        for chunk in text.chunks(8) {
            let mut word = [0; 8];
            if let Some(bytes) = word.get_mut(..chunk.len()) {
                bytes.copy_from_slice(chunk);
            }
            self.mix(u64::from_le_bytes(word));
        }
        self.mix(text.len() as u64);
    }

    fn mix(&mut self, word: u64) {
        const FACTORS: [u64; 2] = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53];
        for (state, factor) in self.0.iter_mut().zip(FACTORS) {
            let product = u128::from(*state ^ word).wrapping_mul(u128::from(factor));
            *state = (product as u64 ^ (product >> 64) as u64).rotate_left(23) ^ word;
        }
    }
}

/// Computes the digests of the functions of a module.
struct DigestBuilder<'m> {
    module: &'m Module,
    declarations: Declarations<'m>,
    /// The digest of the directives that concern all functions.
    common: Digest,
    /// The digest of the declarations of source lines.
    source_lines: Digest,
}

impl<'m> DigestBuilder<'m> {
    fn new(module: &'m Module) -> Self {
        let (mut common, mut source_lines) = (Digest::EMPTY, Digest::EMPTY);
        for (id, item) in module.items() {
            match item {
                Item::Directive(_) if module.directive(item) == Some(Directive::File) => {
                    source_lines.add(&verbatim_item(module, id));
                }
                Item::Directive(_) | Item::Opaque(_) => common.add(&verbatim_item(module, id)),
                Item::Section(_) => source_lines.add(&verbatim_item(module, id)),
                _ => {}
            }
        }
        Self {
            module,
            declarations: Declarations::new(module),
            common,
            source_lines,
        }
    }

    /// Returns the digest of a function. `text` is its current text.
    fn digest(&self, function: FuncId, text: &[u8]) -> Digest {
        let mut digest = self.common;
        digest.add(text);
        for item in self.declarations.dependencies(text, ItemPart::Header) {
            digest.add(&self.declarations.text(item, ItemPart::Header));
        }
        if self.module.body(function).is_some_and(has_source_lines) {
            let Digest([a, b]) = self.source_lines;
            digest.mix(a);
            digest.mix(b);
        }
        digest
    }
}

/// Returns `true` if directives of a body refer to source files and sections.
fn has_source_lines(body: &Body) -> bool {
    body.directives()
        .values()
        .any(|d| matches!(d.directive, Directive::Loc | Directive::LocIntermediate))
}

/// Returns the digests of the functions of a module, by function id.
fn digests(module: &Module) -> Vec<Option<Digest>> {
    let builder = DigestBuilder::new(module);
    let mut digests = vec![None; module.functions().len()];
    for (id, item) in module.items() {
        if let Item::Function(function) = item
            && module.body(function).is_some()
        {
            let text = verbatim_item(module, id);
            digests[function.index()] = Some(builder.digest(function, &text));
        }
    }
    digests
}

/// Returns the names of all symbols, by symbol id.
pub(super) fn symbol_names(module: &Module) -> Vec<Box<str>> {
    (0..module.symbols().len() as u32)
        .map(|index| symbol_name(module, SymbolId::new(index)).into())
        .collect()
}

/// Returns the functions of a module by the names in calls of them.
pub(super) fn functions_by_name<'m>(
    module: &'m Module,
    calls: &CallGraph,
) -> BTreeMap<&'m str, FuncId> {
    module
        .functions()
        .iter()
        .filter(|(id, function)| {
            function.symbol.and_then(|symbol| calls.function(symbol)) == Some(*id)
        })
        .map(|(id, function)| (module.name(function.name), id))
        .collect()
}

impl LintResult {
    /// Replaces the ids of functions. Returns `None` if a callee has no new id.
    fn renumber(mut self, new_id: &impl Fn(FuncId) -> Option<FuncId>) -> Option<Self> {
        for id in &mut self.inputs.waiting_callees {
            *id = new_id(*id)?;
        }
        self.inputs.waiting_callees.sort_unstable();
        Some(self)
    }
}

impl LintSession {
    /// Recognizes functions in a module that was parsed again, and keeps their findings.
    pub(super) fn renumber(&mut self, module: &Module) {
        let digests = digests(module);
        let new_functions = functions_by_name(module, &CallGraph::without_calls(module));
        let old_states = core::mem::take(&mut self.functions);
        let old_symbols = core::mem::take(&mut self.symbol_names);
        let new_symbol_names = symbol_names(module);
        let new_symbols: BTreeMap<&str, SymbolId> = new_symbol_names
            .iter()
            .map(|name| &**name)
            .zip((0..).map(SymbolId::new))
            .collect();
        let new_id = |id: FuncId| {
            let name = old_states.get(id.index())?.name.as_deref()?;
            new_functions.get(name).copied()
        };
        let new_symbol = |id: SymbolId| new_symbols.get(&**old_symbols.get(id.index())?).copied();
        let is_unchanged = |id: FuncId| {
            let digest = new_id(id).and_then(|id| digests.get(id.index()).copied().flatten());
            old_states.get(id.index()).is_some_and(|state| {
                state.digest.is_some() && state.digest == digest && !state.is_changed
            })
        };
        self.likely.renumber(new_id, is_unchanged);
        self.summaries.renumber(new_id, new_symbol, is_unchanged);
        self.kernels.renumber(new_id, is_unchanged);
        let spans = FunctionSpans::new(module);
        let moves = Moves::new(&self.spans, &spans, new_id);
        let mut states = vec![FunctionState::default(); module.functions().len()];
        for (id, old_state) in (0..).map(FuncId::new).zip(&old_states) {
            if is_unchanged(id)
                && let Some(new_id_of_function) = new_id(id)
            {
                let mut state = old_state.clone();
                state.result = state.result.and_then(|result| result.renumber(&new_id));
                for finding in state.result.iter_mut().flat_map(|r| &mut r.findings) {
                    finding.function = new_id_of_function;
                    moves.apply(finding);
                }
                states[new_id_of_function.index()] = state;
            }
        }
        self.kernels
            .for_each_finding(|finding| moves.apply(finding));
        for ((id, state), digest) in (0..).map(FuncId::new).zip(&mut states).zip(digests) {
            state.is_changed |= state.digest.is_none();
            state.digest = digest;
            if state.is_changed {
                self.kernels.change(id);
            }
        }
        self.functions = states;
        self.spans = spans;
    }
}
