//! Finds the kernels that use each shared variable: variables of different kernels have the same addresses.

use std::collections::HashMap;

use ptx_analysis::calls::CallGraph;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, FunctionKind, Module, Operand, SymbolId, SymbolKind};
use ptx_isa::StateSpace;

/// The kernels that use something.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Users {
    /// One kernel, and the functions that only it can reach.
    One(FuncId),
    /// Several kernels, or unknown ones.
    Several,
}

impl Users {
    fn join(self, other: Self) -> Self {
        if self == other { self } else { Self::Several }
    }
}

/// The kernels that use each function and each variable of a module.
#[derive(Debug, Default)]
pub(super) struct UsersOf {
    functions: HashMap<FuncId, Users>,
    symbols: HashMap<SymbolId, Users>,
    /// The first symbol of the range of each symbol.
    first: Vec<SymbolId>,
}

impl UsersOf {
    /// Finds the kernels. Linear.
    pub(super) fn new(facts: &ModuleFacts<'_>) -> Self {
        let module = facts.module();
        let mut users = Self {
            first: module.first_symbols(),
            ..Self::default()
        };
        let definitions = module.definitions();
        let kernels = definitions.filter(|(_, f, _)| f.kind == FunctionKind::Entry);
        let work: Vec<_> = kernels.map(|(id, ..)| (id, Users::One(id))).collect();
        if work.len() > 1 {
            users.reach(&CallGraph::new(facts), work);
        }
        users.look_up(module);
        users
    }

    /// The kernels that use a variable that a function declares.
    pub(super) fn of_function(&self, function: FuncId) -> Users {
        let users = self.functions.get(&function);
        users.copied().unwrap_or(Users::Several)
    }

    /// The kernels that use a variable of the module.
    pub(super) fn of_symbol(&self, symbol: SymbolId) -> Users {
        let first = self.first.get(symbol.as_u32() as usize);
        let users = self.symbols.get(first.unwrap_or(&symbol));
        users.copied().unwrap_or(Users::Several)
    }

    /// Follows calls. What is known of a function changes at most twice.
    fn reach(&mut self, calls: &CallGraph, mut work: Vec<(FuncId, Users)>) {
        while let Some((function, users)) = work.pop() {
            let old = self.functions.get(&function).copied();
            let new = old.map_or(users, |old| old.join(users));
            if old != Some(new) {
                self.functions.insert(function, new);
                work.extend(calls.callees(function).into_iter().map(|to| (to, new)));
            }
        }
    }

    /// Finds the users of the variables that functions and initial values mention.
    fn look_up(&mut self, module: &Module) {
        let declared = module.declarations();
        for (id, _) in declared.decls.iter() {
            for operand in declared.walk(id, module.pool()) {
                self.mention(module, operand, Users::Several);
            }
        }
        for (id, _, body) in module.definitions() {
            let users = self.of_function(id);
            for (_, statement) in body.statements() {
                for operand in body.walk(statement) {
                    self.mention(module, operand, users);
                }
            }
        }
    }

    fn mention(&mut self, module: &Module, operand: Operand, users: Users) {
        let Operand::Symbol(symbol) = operand else {
            return;
        };
        let kind = module.symbols().get(symbol).map(|s| s.kind);
        if matches!(kind, Some(SymbolKind::Variable(space, _)) if space.base() == StateSpace::Shared)
        {
            let first = self.first.get(symbol.as_u32() as usize);
            let symbol = first.copied().unwrap_or(symbol);
            let entry = self.symbols.entry(symbol).or_insert(users);
            *entry = entry.join(users);
        }
    }
}
