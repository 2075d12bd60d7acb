//! Properties of a module that lints need: the functions that reference its shared variables, the functions that are never called, and whether the
//! module was optimized.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::calls::CallGraph;
use ptx_ir::facts::{Flow, FunctionFacts, Targets};
use ptx_ir::{Body, EntityId as _, FuncId, FunctionKind, Module, Statement, SymbolId, SymbolKind};
use ptx_isa::StateSpace;
use ptx_semantics::internals::conversion;

/// The numbers of kernels and of other functions that reference a variable.
#[derive(Copy, Clone, Default, Debug)]
struct UserCounts {
    kernels: usize,
    functions: usize,
}

/// The shared variables of a module that are not visible to other modules.
#[derive(Clone, Default, Debug)]
pub(crate) struct SharedVariables {
    /// The variables, in ascending order.
    symbols: Vec<SymbolId>,
}

impl SharedVariables {
    pub(crate) fn new(module: &Module) -> Self {
        Self {
            symbols: module
                .symbols()
                .iter()
                .filter(|(_, symbol)| match symbol.kind {
                    SymbolKind::Variable(space, declaration) => {
                        let declaration = module.declarations().decls.get(declaration);
                        space.base() == StateSpace::Shared
                            && declaration.is_some_and(|declaration| declaration.linkage.is_none())
                    }
                    _ => false,
                })
                .map(|(id, _)| id)
                .collect(),
        }
    }

    /// Returns the variables of this set that a function references, in ascending order.
    pub(crate) fn referenced_by(&self, function: FunctionFacts<'_>) -> Vec<SymbolId> {
        if self.symbols.is_empty() {
            return Vec::new();
        }
        let body = function.body();
        let symbols: BTreeSet<SymbolId> = body
            .statements()
            .flat_map(|(_, statement)| body.walk(statement))
            .filter_map(|operand| operand.symbol())
            .collect();
        symbols
            .into_iter()
            .filter(|symbol| self.symbols.binary_search(symbol).is_ok())
            .collect()
    }
}

/// The uses of the variables and functions of a module.
#[derive(Clone, Default, Debug)]
pub(crate) struct ModuleUses {
    shared: SharedVariables,
    /// The users of the shared variables that are not visible to other modules. A variable is missing if its users are unknown, because its address
    /// is in an initializer or the module has unrecognized statements.
    users: BTreeMap<SymbolId, UserCounts>,
    /// The module has kernels and no unrecognized statements.
    is_program: bool,
}

impl ModuleUses {
    /// Counts the users of shared variables. `references` lists the shared variables that each function references.
    pub(crate) fn new(
        module: &Module,
        shared: SharedVariables,
        references: impl IntoIterator<Item = (FuncId, Vec<SymbolId>)>,
    ) -> Self {
        let mut users: BTreeMap<SymbolId, UserCounts> = BTreeMap::new();
        for (function, symbols) in references {
            for symbol in symbols {
                let counts = users.entry(symbol).or_default();
                if is_kernel(module, function) {
                    counts.kernels += 1;
                } else {
                    counts.functions += 1;
                }
            }
        }
        let is_recognized = module
            .definitions()
            .all(|(.., body)| body.opaques().is_empty());
        if !users.is_empty() {
            // Initializers of other variables may contain addresses.
            for operand in module.pool().operands() {
                if let Some(symbol) = operand.symbol() {
                    users.remove(&symbol);
                }
            }
            if !is_recognized {
                users.clear();
            }
        }
        let has_kernels = module.definitions().any(|(id, ..)| is_kernel(module, id));
        Self {
            shared,
            users,
            is_program: has_kernels && is_recognized,
        }
    }

    pub(crate) fn shared(&self) -> &SharedVariables {
        &self.shared
    }

    /// Returns `true` if only launches of one function access a variable: each launch of a kernel has its own shared memory.
    pub(crate) fn is_only_user(&self, module: &Module, function: FuncId, symbol: SymbolId) -> bool {
        let users = self.users.get(&symbol).copied().unwrap_or_default();
        if is_kernel(module, function) {
            users.kernels > 0 && users.functions == 0
        } else {
            users.kernels == 0 && users.functions == 1
        }
    }

    /// Returns `true` if a function is invisible to other modules, is never called, and its address is never taken.
    pub(crate) fn is_uncalled(&self, module: &Module, calls: &CallGraph, id: FuncId) -> bool {
        let is_private_function = module.functions().get(id).is_some_and(|function| {
            function.kind == FunctionKind::Func
                && function.linkage.is_none()
                && !function.raw_header
        });
        self.is_program
            && is_private_function
            && !calls.is_address_taken(id)
            && calls.callers(id).iter().all(|caller| *caller == id)
    }
}

fn is_kernel(module: &Module, id: FuncId) -> bool {
    let function = module.functions().get(id);
    function.is_some_and(|function| function.kind == FunctionKind::Entry)
}

/// Returns for each signature of a module whether it converts stack addresses to generic addresses.
pub(crate) fn stack_address_conversions(module: &Module) -> Vec<bool> {
    module
        .signatures()
        .ids()
        .map(|id| {
            let signature = module.signature(id);
            let modifiers: Vec<_> = signature.modifiers().collect();
            signature
                .opcode()
                .and_then(|opcode| conversion(opcode, &modifiers))
                .is_some_and(|c| c.to_generic && c.space == StateSpace::Local)
        })
        .collect()
}

/// Returns `true` if a module with this function was not optimized: the function converts stack addresses to generic ones, or jumps to the next
/// statement. `conversions` is the result of [`stack_address_conversions`].
pub(crate) fn is_unoptimized(function: FunctionFacts<'_>, conversions: &[bool]) -> bool {
    function
        .body()
        .insts()
        .any(|(_, inst)| conversions.get(inst.sig.index()) == Some(&true))
        || jumps_to_next(function)
}

/// Returns `true` if an unconditional jump goes to the statement after it.
fn jumps_to_next(function: FunctionFacts<'_>) -> bool {
    let body: &Body = function.body();
    let mut target = None;
    for (_, statement) in body.statements() {
        match statement {
            Statement::Inst(inst) => {
                let facts = function.inst(inst);
                target = match facts.targets() {
                    Targets::Label(label)
                        if facts.flow() == Flow::Jump && facts.guard().is_none() =>
                    {
                        Some(label)
                    }
                    _ => None,
                };
            }
            Statement::Label(label) if target == Some(label) => return true,
            _ => {}
        }
    }
    false
}
