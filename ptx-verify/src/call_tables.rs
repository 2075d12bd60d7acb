//! Tables of branch and call targets: their entries, and the interfaces that a call through an address may have, which are a prototype or a list of
//! functions. Manual 11.4.8, 11.4.9.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use hashbrown::HashSet;
use ptx_ir::{
    Body, DirectiveStmt, FuncId, FunctionKind, Interface, LabelId, Module, Operand, Param, Span,
    Statement, SymbolKind, TypeName,
};
use ptx_isa::{Directive, StateSpace};

use crate::context::Context;
use crate::layout::is_unsized;
use crate::location::{Location, Part};
use crate::problem::call::CallProblem;

/// Returns the interface of a function that can be called by name.
pub(crate) fn function_interface(module: &Module, id: FuncId) -> Option<Interface> {
    let function = module.functions().get(id)?;
    target_interface(module, id).filter(|_| function.kind == FunctionKind::Func)
}

/// Returns the interface of a function or kernel in a list of call targets.
fn target_interface(module: &Module, id: FuncId) -> Option<Interface> {
    let function = module.functions().get(id)?;
    (!function.raw_header).then_some(function.interface)
}

/// The interfaces of the tables of a body, which are computed once for all calls through a table.
#[derive(Clone, Default, Debug)]
pub(crate) struct CallTables(BTreeMap<LabelId, Vec<Interface>>);

impl CallTables {
    /// Removes the tables of the last body.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Removes a table that is defined or changed.
    pub(crate) fn remove(&mut self, label: LabelId) {
        self.0.remove(&label);
    }

    /// Returns the interfaces of the table with a label. Of those that accept the same arguments, only the first one is returned.
    pub(crate) fn interfaces(
        &mut self,
        module: &Module,
        body: &Body,
        label: LabelId,
    ) -> &[Interface] {
        self.0
            .entry(label)
            .or_insert_with(|| interfaces(module, body, label))
    }
}

fn interfaces(module: &Module, body: &Body, label: LabelId) -> Vec<Interface> {
    let next = body
        .labels()
        .get(label)
        .and_then(|label| body.after(label.stmt));
    match next.and_then(|stmt| body.statement(stmt)) {
        Some(Statement::Prototype(id)) => {
            let prototype = body.prototypes().get(id);
            prototype.map(|p| p.interface).into_iter().collect()
        }
        Some(Statement::Directive(id)) => {
            let stmt = body.directives().get(id);
            let Some(stmt) = stmt.filter(|s| s.directive == Directive::Calltargets) else {
                return Vec::new();
            };
            let mut seen = HashSet::new();
            body.pool()
                .slice(stmt.args)
                .iter()
                .filter_map(|operand| match operand {
                    Operand::Symbol(id) => match module.symbols().get(*id)?.kind {
                        SymbolKind::Function(function) => target_interface(module, function),
                        _ => None,
                    },
                    _ => None,
                })
                .filter(|interface| seen.insert(accepted_arguments(module, interface)))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The properties of a parameter that decide whether an argument is accepted: all but its name.
#[derive(PartialEq, Eq, Hash)]
struct AcceptedArgument {
    space: StateSpace,
    ty: TypeName,
    vector: u8,
    is_unsized: bool,
    /// The dimensions and the alignment.
    sizes: Vec<Option<i64>>,
}

impl AcceptedArgument {
    fn new(module: &Module, param: &Param) -> Self {
        let pool = module.pool();
        Self {
            space: param.space,
            ty: param.ty,
            vector: param.vector,
            is_unsized: is_unsized(module, param),
            sizes: pool
                .slice(param.dims)
                .iter()
                .chain([&param.align])
                .map(|size| pool.integer(*size))
                .collect(),
        }
    }
}

/// Returns a key of the accepted results and arguments: interfaces with equal keys accept the same ones.
fn accepted_arguments(module: &Module, interface: &Interface) -> [Vec<AcceptedArgument>; 2] {
    [interface.returns, interface.params].map(|list| {
        list.of(module.params())
            .iter()
            .map(|param| AcceptedArgument::new(module, param))
            .collect()
    })
}

/// Checks the entries of a table. ptxas accepts kernels as call targets.
pub(crate) fn check_entries(
    context: &mut Context<'_>,
    body: &Body,
    stmt: &DirectiveStmt,
    span: Span,
) {
    let problem = match stmt.directive {
        Directive::Branchtargets => CallProblem::BranchTarget,
        Directive::Calltargets => CallProblem::Target,
        _ => return,
    };
    for (index, &operand) in (0..).zip(body.pool().slice(stmt.args)) {
        let is_target = match (operand, stmt.directive) {
            // The parser reports undeclared names.
            (Operand::Name(_), _) => true,
            (Operand::Range(_), directive) => directive == Directive::Branchtargets,
            (Operand::Label(id), Directive::Branchtargets) => !labels_functions(body, id),
            (Operand::Symbol(id), Directive::Calltargets) => {
                let symbol = context.module.symbols().get(id);
                symbol.is_some_and(|s| matches!(s.kind, SymbolKind::Function(_)))
            }
            _ => false,
        };
        if !is_target {
            context.report(Location::part(span, Part::Operand(index)), problem);
        }
    }
}

/// Returns `true` if a label is that of a table of call targets or of a prototype.
fn labels_functions(body: &Body, label: LabelId) -> bool {
    let Some(label) = body.labels().get(label) else {
        return false;
    };
    if !matches!(body.statement(label.stmt), Some(Statement::Label(_))) {
        return false;
    }
    match body.after(label.stmt).and_then(|stmt| body.statement(stmt)) {
        Some(Statement::Prototype(_)) => true,
        Some(Statement::Directive(id)) => body
            .directives()
            .get(id)
            .is_some_and(|d| d.directive == Directive::Calltargets),
        _ => false,
    }
}
