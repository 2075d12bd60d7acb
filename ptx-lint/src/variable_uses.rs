//! The uses of variables in shared and local memory: those of the function, and those of the module that no other function uses.
//!
//! The uses of the address of a variable are followed through the instructions that compute with it.
//!
//! Cost: linear in the size of the function, for a variable.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::internals::Csr;
use ptx_analysis::ssa::{Ssa, ValueId};
use ptx_analysis::values::VariableRef;
use ptx_ir::facts::{Facts, MemoryAccess};
use ptx_ir::{InstId, Operand, Statement, StmtId, Var};
use ptx_isa::{Access, StateSpace};

use crate::context::FunctionContext;

/// The maximum number of variables to which a value may point; beyond that, they are not tracked.
const MOST_VARIABLES: usize = 8;

/// The instructions that may access a variable.
#[derive(Default)]
pub(crate) struct VariableUses {
    pub(crate) stores: Vec<StmtId>,
    pub(crate) loads: Vec<StmtId>,
}

/// Returns the uses of each variable in shared and local memory that only ordinary loads and stores of this function access. The lint must declare
/// `Need::Uses` and `Need::Optimization`.
pub(crate) fn uses_of_private_variables(
    cx: &FunctionContext<'_>,
) -> BTreeMap<VariableRef, VariableUses> {
    let locals = cx
        .body()
        .vars()
        .iter()
        .filter(|(_, variable)| is_candidate(cx, variable))
        .map(|(id, _)| VariableRef::Local(id));
    let shared = cx.unshared_variables().into_iter().map(VariableRef::Module);
    let candidates: BTreeMap<VariableRef, VariableUses> = locals
        .chain(shared)
        .map(|variable| (variable, VariableUses::default()))
        .collect();
    if candidates.is_empty() || !cx.body().opaques().is_empty() {
        return BTreeMap::new();
    }
    let Some(ssa) = cx.ssa() else {
        return BTreeMap::new();
    };
    let mut search = Search::new(cx, ssa, candidates);
    search.run();
    search.uses
}

/// Returns `true` if only this function references a variable of it, and stores to it are not expected.
fn is_candidate(cx: &FunctionContext<'_>, var: &Var) -> bool {
    let declaration = match var.stmt.and_then(|stmt| cx.body().statement(stmt)) {
        Some(Statement::Decl(id)) => cx.body().declarations().decls.get(id),
        _ => None,
    };
    // Unoptimized code leaves stack arrays that are only written.
    let is_checked_space = match var.space.base() {
        StateSpace::Shared => true,
        StateSpace::Local => !cx.is_for_debugger() && !cx.is_unoptimized(),
        _ => false,
    };
    is_checked_space && declaration.is_some_and(|d| d.linkage.is_none())
}

/// Tracks the addresses of variables.
struct Search<'a> {
    cx: &'a FunctionContext<'a>,
    ssa: &'a Ssa,
    /// The statements that read each value, and the phis of which it is an argument.
    readers: Csr<StmtId>,
    phis: Csr<ValueId>,
    /// The uses of each variable that only loads and stores access so far.
    uses: BTreeMap<VariableRef, VariableUses>,
    /// The variables into which each value may point.
    variables_of_value: BTreeMap<ValueId, Vec<VariableRef>>,
    worklist: Vec<(ValueId, VariableRef)>,
}

impl<'a> Search<'a> {
    fn new(
        cx: &'a FunctionContext<'a>,
        ssa: &'a Ssa,
        uses: BTreeMap<VariableRef, VariableUses>,
    ) -> Self {
        let reads = ssa
            .all_uses()
            .iter()
            .map(|read| (read.value.as_u32(), read.stmt));
        let phi_arguments = (0..ssa.len() as u32).map(ValueId::new).flat_map(|phi| {
            ssa.args(phi)
                .iter()
                .map(move |argument| (argument.as_u32(), phi))
        });
        Self {
            cx,
            ssa,
            readers: Csr::new(ssa.len(), reads),
            phis: Csr::new(ssa.len(), phi_arguments),
            uses,
            variables_of_value: BTreeMap::new(),
            worklist: Vec::new(),
        }
    }

    fn run(&mut self) {
        for (stmt, statement) in self.cx.body().statements() {
            if let Statement::Inst(inst) = statement {
                self.visit_references(stmt, inst);
            }
        }
        while let Some((value, variable)) = self.worklist.pop() {
            for &phi in self.phis.row(value.as_u32()).to_vec().iter() {
                self.add_value(phi, variable);
            }
            for &stmt in self.readers.row(value.as_u32()).to_vec().iter() {
                self.visit_reader(stmt, value, variable);
            }
        }
    }

    /// Handles the variables that an instruction references by name.
    fn visit_references(&mut self, stmt: StmtId, inst: InstId) {
        let body = self.cx.body();
        let mut other_operands: Vec<Operand> = Vec::new();
        let mut bases: Vec<Operand> = Vec::new();
        for operand in body.operands(inst) {
            match operand {
                Operand::Address(id) => {
                    bases.extend(body.pool().address(*id).map(|address| address.base));
                }
                operand => other_operands.push(*operand),
            }
        }
        let candidate = |operand: &Operand| {
            VariableRef::of(*operand).filter(|variable| self.uses.contains_key(variable))
        };
        let mut uses: Vec<(VariableRef, AddressUse)> = bases
            .iter()
            .filter_map(candidate)
            .map(|variable| (variable, AddressUse::OnlyAddress))
            .collect();
        while let Some(operand) = other_operands.pop() {
            uses.extend(candidate(&operand).map(|variable| (variable, AddressUse::Operand)));
            match operand {
                Operand::Vector(id) | Operand::List(id) | Operand::Bracket(id) => {
                    other_operands.extend(body.pool().list(id));
                }
                Operand::Address(id) => {
                    other_operands.extend(body.pool().address(id).map(|address| address.base));
                }
                Operand::Pair(id) => {
                    let (first, second) = body.pool().pair(id);
                    other_operands.extend([first, second]);
                }
                Operand::Not(id) | Operand::Neg(id) | Operand::Component(_, id) => {
                    other_operands.push(body.pool().get(id));
                }
                _ => {}
            }
        }
        let facts = self.cx.facts().inst(inst);
        for (variable, address_use) in uses {
            self.visit_use(stmt, &facts, variable, address_use);
        }
    }

    /// Handles a statement that reads a value with the address of a variable.
    fn visit_reader(&mut self, stmt: StmtId, value: ValueId, variable: VariableRef) {
        let Some(Statement::Inst(inst)) = self.cx.body().statement(stmt) else {
            return self.stop_tracking(variable);
        };
        let facts = self.cx.facts().inst(inst);
        let variables = self.cx.analysis().variables();
        let is_operand = self
            .cx
            .body()
            .operands(inst)
            .iter()
            .filter(|operand| !matches!(operand, Operand::Address(_)))
            .flat_map(|operand| facts.places(operand))
            .flat_map(|place| variables.of(place))
            .any(|register| self.ssa.read(stmt, register) == Some(value));
        let address_use = if is_operand {
            AddressUse::Operand
        } else {
            AddressUse::OnlyAddress
        };
        self.visit_use(stmt, &facts, variable, address_use);
    }

    /// Handles an instruction that uses the address of a variable.
    fn visit_use(
        &mut self,
        stmt: StmtId,
        facts: &Facts<'_>,
        variable: VariableRef,
        address_use: AddressUse,
    ) {
        let mut accesses = facts.memory();
        match (accesses.next(), accesses.next()) {
            (None, None) if facts.may_be_removed() && facts.member_mask().is_none() => {
                for value in self.ssa.defs(stmt) {
                    self.add_value(value, variable);
                }
            }
            (Some(access), None)
                if address_use == AddressUse::OnlyAddress && is_of_registers(facts, &access) =>
            {
                if let Some(uses) = self.uses.get_mut(&variable) {
                    let statements = if access.writes() {
                        &mut uses.stores
                    } else {
                        &mut uses.loads
                    };
                    statements.push(stmt);
                }
            }
            _ => self.stop_tracking(variable),
        }
    }

    /// Records that a value may point into a variable.
    fn add_value(&mut self, value: ValueId, variable: VariableRef) {
        if !self.uses.contains_key(&variable) {
            return;
        }
        let variables = self.variables_of_value.entry(value).or_default();
        if variables.contains(&variable) {
            return;
        }
        if variables.len() >= MOST_VARIABLES {
            return self.stop_tracking(variable);
        }
        variables.push(variable);
        self.worklist.push((value, variable));
    }

    /// Removes a variable that other instructions may access.
    fn stop_tracking(&mut self, variable: VariableRef) {
        self.uses.remove(&variable);
    }
}

/// The operands of an instruction that contain the address of a variable.
#[derive(Copy, Clone, PartialEq, Eq)]
enum AddressUse {
    /// Only the address of an access.
    OnlyAddress,
    /// Another operand.
    Operand,
}

/// Returns `true` if an instruction only stores registers, or only loads them.
fn is_of_registers(facts: &Facts<'_>, access: &MemoryAccess) -> bool {
    matches!(access.access, Access::Write | Access::Read)
        && access.data.is_some()
        && !access.is_mbarrier
        && facts.asynchronous().is_empty()
        && !facts.is_volatile()
        && access.scope.is_none()
}
