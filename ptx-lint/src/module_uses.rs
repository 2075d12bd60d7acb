//! Finds the functions that reference shared variables of a module, and the functions that are never called.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::calls::CallGraph;
use ptx_ir::facts::FunctionFacts;
use ptx_ir::{FuncId, FunctionKind, Module, Operand, SymbolId, SymbolKind};
use ptx_isa::StateSpace;

/// The functions that reference a variable.
#[derive(Copy, Clone, Default, Debug)]
struct Mentioned {
    kernels: usize,
    others: usize,
}

/// The shared variables of a module that are not visible to other modules.
#[derive(Clone, Default, Debug)]
pub(crate) struct SharedVariables {
    /// In order.
    symbols: Vec<SymbolId>,
}

impl SharedVariables {
    pub(crate) fn new(module: &Module) -> Self {
        let is_shared = |kind: SymbolKind| {
            let SymbolKind::Variable(space, decl) = kind else {
                return false;
            };
            let decl = module.declarations().decls.get(decl);
            space.base() == StateSpace::Shared && decl.is_some_and(|d| d.linkage.is_none())
        };
        let shared = module.symbols().iter().filter(|(_, s)| is_shared(s.kind));
        Self {
            symbols: shared.map(|(id, _)| id).collect(),
        }
    }

    /// Those that a function references, in order.
    pub(crate) fn mentions(&self, of: FunctionFacts<'_>) -> Vec<SymbolId> {
        if self.symbols.is_empty() {
            return Vec::new();
        }
        let mut mentioned: Vec<Operand> = Vec::new();
        for (_, statement) in of.body().statements() {
            mentioned.extend(of.body().walk(statement));
        }
        let all: BTreeSet<SymbolId> = mentioned.iter().filter_map(|o| o.symbol()).collect();
        let is_shared = |symbol: &SymbolId| self.symbols.binary_search(symbol).is_ok();
        all.into_iter().filter(is_shared).collect()
    }
}

/// The uses of the variables and functions of a module.
#[derive(Clone, Default, Debug)]
pub(crate) struct ModuleUses {
    shared: SharedVariables,
    /// The shared variables that are not visible to other modules.
    variables: BTreeMap<SymbolId, Mentioned>,
    /// Whether there are kernels and no unrecognized statements.
    is_program: bool,
}

impl ModuleUses {
    /// Of the shared variables that each function mentions.
    pub(crate) fn new(
        module: &Module,
        shared: SharedVariables,
        mentions: impl IntoIterator<Item = (FuncId, Vec<SymbolId>)>,
    ) -> Self {
        let mut variables: BTreeMap<SymbolId, Mentioned> = BTreeMap::new();
        for (id, symbols) in mentions {
            for symbol in symbols {
                let of = variables.entry(symbol).or_default();
                match is_kernel(module, id) {
                    true => of.kernels += 1,
                    false => of.others += 1,
                }
            }
        }
        if !variables.is_empty() {
            // Initializers of other variables may contain addresses.
            for operand in module.pool().operands() {
                if let Some(symbol) = operand.symbol() {
                    variables.remove(&symbol);
                }
            }
            let is_known = |body: &ptx_ir::Body| body.opaques().is_empty();
            if !module.definitions().all(|(.., body)| is_known(body)) {
                variables.clear();
            }
        }
        let mut definitions = module.definitions();
        let has_kernels = module.definitions().any(|(id, ..)| is_kernel(module, id));
        Self {
            shared,
            variables,
            is_program: has_kernels && definitions.all(|(.., body)| body.opaques().is_empty()),
        }
    }

    pub(crate) fn shared(&self) -> &SharedVariables {
        &self.shared
    }

    /// Whether only launches of one function access a variable: each launch of a kernel has its own shared memory.
    pub(crate) fn is_own(&self, module: &Module, id: FuncId, symbol: SymbolId) -> bool {
        let of = self.variables.get(&symbol).copied().unwrap_or_default();
        match is_kernel(module, id) {
            true => of.kernels > 0 && of.others == 0,
            false => of.kernels == 0 && of.others == 1,
        }
    }

    /// Whether a function is invisible to other modules, never called, and its address is never taken.
    pub(crate) fn is_uncalled(&self, module: &Module, calls: &CallGraph, id: FuncId) -> bool {
        let function = module.functions().get(id);
        let is_own = function
            .is_some_and(|f| f.kind == FunctionKind::Func && f.linkage.is_none() && !f.raw_header);
        self.is_program
            && is_own
            && !calls.is_address_taken(id)
            && calls.callers(id).iter().all(|caller| *caller == id)
    }
}

fn is_kernel(module: &Module, id: FuncId) -> bool {
    let function = module.functions().get(id);
    function.is_some_and(|f| f.kind == FunctionKind::Entry)
}
