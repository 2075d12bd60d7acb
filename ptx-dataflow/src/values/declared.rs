//! The alignment of variables and parameters.

use alloc::collections::BTreeMap;

use ptx_ir::facts::FunctionFacts;
use ptx_ir::{Binding, Module, SymbolId, SymbolKind, VarId};

use super::symbol::VariableRef;

/// A power of two that divides the addresses at which windows of state spaces begin.
pub(super) const WINDOW: u64 = 256;

/// The alignment of what a function declares and mentions.
#[derive(Clone, Debug)]
pub(super) struct Declared<'a> {
    module: &'a Module,
    /// The alignments of the variables of the function.
    variables: BTreeMap<VarId, u64>,
    /// The alignments of the memory that parameters point to.
    pointers: BTreeMap<VarId, u64>,
}

impl<'a> Declared<'a> {
    pub(super) fn new(facts: FunctionFacts<'a>) -> Self {
        let (module, body) = (facts.module(), facts.body());
        let mut declared = Self {
            module,
            variables: BTreeMap::new(),
            pointers: BTreeMap::new(),
        };
        let declarations = body.declarations();
        for (id, decl) in declarations.decls.iter() {
            for declarator in declarations.declarators(id) {
                let layout = decl.layout(declarator, body.pool());
                if let (Binding::Var(variable), Some(layout)) = (declarator.binding, layout) {
                    declared.variables.insert(variable, layout.align);
                }
            }
        }
        let function = module.functions().get(facts.id());
        let interface = function.map(|f| f.interface).unwrap_or_default();
        for param in interface.params.of(module.params()) {
            let Binding::Var(variable) = param.binding else {
                continue;
            };
            if let Some(layout) = param.layout(module.pool()) {
                declared.variables.insert(variable, layout.align);
            }
            let align = param.ptr.and_then(|p| module.pool().integer(p.align));
            if let Some(align @ 1..) = align {
                declared.pointers.insert(variable, align as u64);
            }
        }
        declared
    }

    fn of_module(&self, symbol: SymbolId) -> Option<u64> {
        let SymbolKind::Variable(_, decl) = self.module.symbols().get(symbol)?.kind else {
            return None;
        };
        let all = self.module.declarations();
        let mut declarators = all.declarators(decl).iter();
        let declarator = declarators.find(|d| d.binding == Binding::Symbol(symbol))?;
        let layout = all
            .decls
            .get(decl)?
            .layout(declarator, self.module.pool())?;
        Some(layout.align)
    }

    pub(super) fn alignment(&self, variable: VariableRef) -> u64 {
        let align = match variable {
            VariableRef::Module(symbol) => self.of_module(symbol),
            VariableRef::Local(variable) => self.variables.get(&variable).copied(),
        };
        align.filter(|a| a.is_power_of_two()).unwrap_or(1)
    }

    pub(super) fn pointer_alignment(&self, variable: VarId) -> u64 {
        let align = self.pointers.get(&variable).copied();
        align.filter(|a| a.is_power_of_two()).unwrap_or(1)
    }
}
