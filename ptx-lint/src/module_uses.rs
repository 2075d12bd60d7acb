//! Finds the functions that reference shared variables of a module, and the functions that are never called.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::calls::CallGraph;
use ptx_ir::facts::FunctionFacts;
use ptx_ir::{FuncId, FunctionKind, Module, Operand, SymbolId, SymbolKind};
use ptx_isa::StateSpace;

use crate::{Lint, LintOptions};

/// Whether an enabled lint needs this.
pub(crate) fn asks_for_uses(options: &LintOptions) -> bool {
    options.lints.contains(&Lint::DeadCode)
}

/// The functions that reference a variable.
#[derive(Copy, Clone, Default, Debug)]
struct Mentioned {
    kernels: usize,
    others: usize,
}

/// The uses of the variables and functions of a module.
#[derive(Clone, Default, Debug)]
pub(crate) struct ModuleUses {
    /// The shared variables that are not visible to other modules.
    variables: BTreeMap<SymbolId, Mentioned>,
    /// Whether there are kernels and no unrecognized statements.
    is_program: bool,
}

impl ModuleUses {
    /// Of the variables that each function mentions.
    pub(crate) fn new(
        module: &Module,
        mentions: impl Iterator<Item = (FuncId, Vec<SymbolId>)>,
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
            variables,
            is_program: has_kernels && definitions.all(|(.., body)| body.opaques().is_empty()),
        }
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

/// The shared variables of the module that a function references and that are not visible to other modules, in order.
pub(crate) fn shared_mentions(of: FunctionFacts<'_>) -> Vec<SymbolId> {
    let (module, body) = (of.module(), of.body());
    let mut symbols = module.symbols().values();
    let is_shared = |kind: SymbolKind| {
        let SymbolKind::Variable(space, decl) = kind else {
            return false;
        };
        let decl = module.declarations().decls.get(decl);
        space.base() == StateSpace::Shared && decl.is_some_and(|d| d.linkage.is_none())
    };
    if !symbols.any(|s| is_shared(s.kind)) {
        return Vec::new();
    }
    let mut mentioned: Vec<Operand> = Vec::new();
    for (_, statement) in body.statements() {
        body.mentions(statement, &mut mentioned);
    }
    let all: BTreeSet<SymbolId> = mentioned.iter().filter_map(|o| o.symbol()).collect();
    let is_kept = |symbol: &SymbolId| {
        let symbol = module.symbols().get(*symbol);
        symbol.is_some_and(|s| is_shared(s.kind))
    };
    all.into_iter().filter(is_kept).collect()
}
