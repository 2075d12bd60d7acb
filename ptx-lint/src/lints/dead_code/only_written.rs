//! Variables in shared and local memory that are written but never read: those of the function, and those of the module that no other function uses.
//!
//! The uses of the address of such a variable are followed through the instructions that compute with it. If all of them are addresses of ordinary
//! stores, no thread can read the variable.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::graph::Csr;
use ptx_analysis::ssa::{Ssa, ValueId};
use ptx_analysis::values::VariableRef;
use ptx_ir::facts::{Facts, MemoryAccess};
use ptx_ir::{InstId, Operand, Span, Statement, StmtId, Var};
use ptx_isa::{Access, StateSpace};

use crate::context::FunctionContext;
use crate::declarations::symbol_name;
use crate::{Finding, Lint};

/// The maximum number of variables to which a value may point; beyond that, they are not tracked.
const MOST_VARIABLES: usize = 8;

/// One finding for each variable, at the first store.
pub(super) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let vars = cx.body().vars().iter();
    let own = vars.filter(|(_, var)| is_own(cx, var));
    let own = own.map(|(id, _)| VariableRef::Local(id));
    let shared = cx.own_shared().into_iter().map(VariableRef::Module);
    let candidates: BTreeMap<VariableRef, Vec<StmtId>> =
        own.chain(shared).map(|var| (var, Vec::new())).collect();
    if candidates.is_empty() || !cx.body().opaques().is_empty() {
        return;
    }
    let Some(ssa) = cx.ssa() else { return };
    let mut search = Search::new(cx, ssa, candidates);
    search.run();
    for (var, stores) in search.stores {
        found.extend(finding(cx, var, stores));
    }
}

/// Whether a variable is only referenced by this function.
fn is_own(cx: &FunctionContext<'_>, var: &Var) -> bool {
    let declaration = match var.stmt.and_then(|stmt| cx.body().statement(stmt)) {
        Some(Statement::Decl(id)) => cx.body().declarations().decls.get(id),
        _ => None,
    };
    // Unoptimized code leaves stack arrays that are only written.
    let is_kept = match var.space.base() {
        StateSpace::Shared => false,
        StateSpace::Local => cx.is_for_debugger() || cx.is_unoptimized(),
        _ => true,
    };
    !is_kept && declaration.is_some_and(|d| d.linkage.is_none())
}

fn finding(cx: &FunctionContext<'_>, var: VariableRef, mut stores: Vec<StmtId>) -> Option<Finding> {
    stores.sort_by(|a, b| cx.order(*a, *b));
    stores.dedup();
    let (first, rest) = stores.split_first()?;
    let (name, declared) = declaration(cx, var)?;
    let message = format!("`{name}` is written here but never read");
    let finding = cx.finding(Lint::DeadCode, Certainty::Definite, *first, message);
    let mut finding = finding.with_help("remove the stores and the variable");
    if let Some(declared) = declared {
        finding = finding.with_label(declared, "declared here");
    }
    let rest: Vec<Span> = rest.iter().map(|stmt| cx.span(*stmt)).collect();
    finding.diagnostic.repeats = rest.into();
    Some(finding)
}

/// The name of a variable, and the span of its declaration if that is in the function.
fn declaration<'a>(
    cx: &FunctionContext<'a>,
    var: VariableRef,
) -> Option<(Cow<'a, str>, Option<Span>)> {
    let module = cx.module();
    Some(match var {
        VariableRef::Local(id) => {
            let var = cx.body().vars().get(id)?;
            (
                Cow::Borrowed(module.name(var.name)),
                var.stmt.map(|stmt| cx.span(stmt)),
            )
        }
        VariableRef::Module(symbol) => (symbol_name(module, symbol), None),
    })
}

/// Tracks the addresses of variables.
struct Search<'a> {
    cx: &'a FunctionContext<'a>,
    ssa: &'a Ssa,
    /// The statements that read each value, and the phis.
    readers: Csr<StmtId>,
    phis: Csr<ValueId>,
    /// The stores to each variable without known reads.
    stores: BTreeMap<VariableRef, Vec<StmtId>>,
    /// The variables to which each value may point.
    seen: BTreeMap<ValueId, Vec<VariableRef>>,
    work: Vec<(ValueId, VariableRef)>,
}

impl<'a> Search<'a> {
    fn new(
        cx: &'a FunctionContext<'a>,
        ssa: &'a Ssa,
        stores: BTreeMap<VariableRef, Vec<StmtId>>,
    ) -> Self {
        let uses = ssa.all_uses().iter();
        let uses = uses.map(|u| (u.value.as_u32(), u.stmt));
        let values = (0..ssa.len() as u32).map(ValueId::new);
        let arguments = values.flat_map(|id| ssa.args(id).iter().map(move |a| (a.as_u32(), id)));
        Self {
            cx,
            ssa,
            readers: Csr::new(ssa.len(), uses),
            phis: Csr::new(ssa.len(), arguments),
            stores,
            seen: BTreeMap::new(),
            work: Vec::new(),
        }
    }

    fn run(&mut self) {
        for (stmt, statement) in self.cx.body().statements() {
            if let Statement::Inst(inst) = statement {
                self.mentions(stmt, inst);
            }
        }
        while let Some((value, var)) = self.work.pop() {
            for &phi in self.phis.row(value.as_u32()).to_vec().iter() {
                self.value(phi, var);
            }
            for &stmt in self.readers.row(value.as_u32()).to_vec().iter() {
                self.read(stmt, value, var);
            }
        }
    }

    /// The variables that an instruction references.
    fn mentions(&mut self, stmt: StmtId, inst: InstId) {
        let body = self.cx.body();
        let mut elsewhere: Vec<Operand> = Vec::new();
        let mut in_addresses: Vec<Operand> = Vec::new();
        for operand in body.operands(inst) {
            match operand {
                Operand::Address(id) => {
                    in_addresses.extend(body.pool().address(*id).map(|a| a.base))
                }
                operand => elsewhere.push(*operand),
            }
        }
        let mut named: Vec<(VariableRef, bool)> = Vec::new();
        let known = |operand: &Operand| {
            VariableRef::of(*operand).filter(|var| self.stores.contains_key(var))
        };
        named.extend(in_addresses.iter().filter_map(known).map(|var| (var, true)));
        while let Some(operand) = elsewhere.pop() {
            named.extend(known(&operand).map(|var| (var, false)));
            match operand {
                Operand::Vector(id) | Operand::List(id) | Operand::Bracket(id) => {
                    elsewhere.extend(body.pool().list(id));
                }
                Operand::Address(id) => elsewhere.extend(body.pool().address(id).map(|a| a.base)),
                Operand::Pair(at) => {
                    let (first, second) = body.pool().pair(at);
                    elsewhere.extend([first, second]);
                }
                Operand::Not(at) | Operand::Neg(at) | Operand::Lane(_, at) => {
                    elsewhere.push(body.pool().get(at));
                }
                _ => {}
            }
        }
        let f = self.cx.facts().inst(inst);
        for (var, is_address) in named {
            self.instruction(stmt, &f, var, is_address);
        }
    }

    /// Handles a statement that reads a value with the address of a variable.
    fn read(&mut self, stmt: StmtId, value: ValueId, var: VariableRef) {
        let Some(Statement::Inst(inst)) = self.cx.body().statement(stmt) else {
            return self.escapes(var);
        };
        let f = self.cx.facts().inst(inst);
        let variables = self.cx.analysis().variables();
        let holds = |operand: &'a Operand| {
            let all = f.places(operand).flat_map(|place| variables.of(place));
            all.into_iter()
                .any(|v| self.ssa.read(stmt, v) == Some(value))
        };
        let operands = self.cx.body().operands(inst).iter();
        let mut elsewhere = operands.filter(|o| !matches!(o, Operand::Address(_)));
        let is_address = !elsewhere.any(holds);
        self.instruction(stmt, &f, var, is_address);
    }

    /// Handles an instruction that uses the address of a variable: only as the address of an access, or in another operand.
    fn instruction(&mut self, stmt: StmtId, f: &Facts<'_>, var: VariableRef, is_address: bool) {
        let mut accesses = f.memory();
        match (accesses.next(), accesses.next()) {
            (None, None) if f.may_be_removed() && f.lanes().is_none() => {
                for value in self.ssa.defs(stmt) {
                    self.value(value, var);
                }
            }
            (Some(access), None) if is_address && is_store(f, &access) => {
                if let Some(stores) = self.stores.get_mut(&var) {
                    stores.push(stmt);
                }
            }
            _ => self.escapes(var),
        }
    }

    fn value(&mut self, value: ValueId, var: VariableRef) {
        if !self.stores.contains_key(&var) {
            return;
        }
        let seen = self.seen.entry(value).or_default();
        if seen.contains(&var) {
            return;
        }
        if seen.len() >= MOST_VARIABLES {
            return self.escapes(var);
        }
        seen.push(var);
        self.work.push((value, var));
    }

    /// Records that the variable may be read.
    fn escapes(&mut self, var: VariableRef) {
        self.stores.remove(&var);
    }
}

/// Whether an instruction only stores registers.
fn is_store(f: &Facts<'_>, access: &MemoryAccess) -> bool {
    access.access == Access::Write
        && access.data.is_some()
        && f.asynchronous().is_empty()
        && !f.is_volatile()
        && access.scope.is_none()
}
