//! The interfaces that a call through an address may have: a prototype, or a list of functions.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use hashbrown::HashSet;
use ptx_ir::{
    Body, FuncId, FunctionKind, Interface, LabelId, Module, Operand, Param, Statement, SymbolKind,
};
use ptx_isa::{Directive, StateSpace};

use crate::param_layout::is_unsized;

/// The interface of a function that can be called by name.
pub(crate) fn function(module: &Module, id: FuncId) -> Option<Interface> {
    let function = module.functions().get(id)?;
    listed(module, id).filter(|_| function.kind == FunctionKind::Func)
}

/// The interface of a function or kernel in a list of call targets.
fn listed(module: &Module, id: FuncId) -> Option<Interface> {
    let function = module.functions().get(id)?;
    (!function.raw_header).then_some(function.interface)
}

/// The interfaces of the tables of a body, found once for all calls through a table.
#[derive(Clone, Default, Debug)]
pub(crate) struct CallTables(BTreeMap<LabelId, Vec<Interface>>);

impl CallTables {
    /// Forgets the tables of the last body.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets a table that is defined or changed.
    pub(crate) fn remove(&mut self, label: LabelId) {
        self.0.remove(&label);
    }

    /// The interfaces of the table with a label; of those that accept the same arguments, the first.
    pub(crate) fn interfaces(
        &mut self,
        module: &Module,
        body: &Body,
        label: LabelId,
    ) -> &[Interface] {
        let new = || interfaces(module, body, label);
        self.0.entry(label).or_insert_with(new)
    }
}

fn interfaces(module: &Module, body: &Body, label: LabelId) -> Vec<Interface> {
    let next = body.labels().get(label).and_then(|l| body.after(l.stmt));
    match next.and_then(|s| body.statement(s)) {
        Some(Statement::Prototype(id)) => {
            let prototype = body.prototypes().get(id);
            prototype.map(|p| p.interface).into_iter().collect()
        }
        Some(Statement::Directive(id)) => {
            let stmt = body.directives().get(id);
            let Some(stmt) = stmt.filter(|s| s.directive == Directive::Calltargets) else {
                return Vec::new();
            };
            let of = |o: &Operand| match o {
                Operand::Symbol(id) => match module.symbols().get(*id)?.kind {
                    SymbolKind::Function(f) => listed(module, f),
                    _ => None,
                },
                _ => None,
            };
            let mut seen = HashSet::new();
            let all = body.pool().slice(stmt.args).iter().filter_map(of);
            all.filter(|i| seen.insert(accepted(module, i))).collect()
        }
        _ => Vec::new(),
    }
}

/// The properties of a parameter that decide whether an argument is accepted: all but its name.
type Accepted = (StateSpace, ptx_ir::TypeName, u8, bool, Vec<Option<i64>>);

/// Two interfaces for which this is equal accept the same results and arguments.
fn accepted(module: &Module, interface: &Interface) -> [Vec<Accepted>; 2] {
    let pool = module.pool();
    let of = |p: &Param| {
        let sizes = pool.slice(p.dims).iter().chain([&p.align]);
        let sizes = sizes.map(|d| pool.integer(*d)).collect();
        (p.space, p.ty, p.vector, is_unsized(module, p), sizes)
    };
    let lists = [interface.returns, interface.params];
    lists.map(|list| list.of(module.params()).iter().map(of).collect())
}
