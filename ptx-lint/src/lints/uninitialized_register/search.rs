//! Finds the reaching definitions of reads.

use alloc::rc::Rc;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::internals::Csr;
use ptx_analysis::reg_lanes::VariableId;
use ptx_analysis::ssa::{Ssa, Use, Value, ValueId};
use ptx_ir::{Binding, RegDeclId, Statement, StmtId};

use super::conditions::{Condition, Conditions, with_condition};
use crate::context::FunctionContext;

/// The maximum number of values examined for a read; beyond that, the register is assumed to be written.
const MAX_VALUES: usize = 512;

/// The maximum number of values examined for all reads of a function, for each of its values: the cost stays linear.
const MAX_VISITS_PER_VALUE: usize = 16;

/// The maximum number of paths on which a value is examined.
const MAX_PATHS: u8 = 4;

/// Determines whether values may be the initial values of registers.
pub(super) struct Search<'a> {
    cx: &'a FunctionContext<'a>,
    ssa: &'a Ssa,
    conditions: Conditions<'a>,
    /// For each value, whether it may be undefined, ignoring conditions.
    suspects: Vec<bool>,
    /// The number of values that may still be examined.
    values_left: usize,
    visited: Visited,
}

/// The values that a search visited.
struct Visited {
    /// For each value, the number of the last search that visited it.
    last_search: Vec<u32>,
    /// For each value, the number of its visits by that search.
    visits: Vec<u8>,
    search: u32,
    count: usize,
}

impl Visited {
    fn new(values: usize) -> Self {
        Self {
            last_search: vec![0; values],
            visits: vec![0; values],
            search: 0,
            count: 0,
        }
    }

    /// Begins a search with a value.
    fn begin(&mut self, value: ValueId) {
        (self.search, self.count) = (self.search.wrapping_add(1), 0);
        self.insert(value);
    }

    /// Adds a value. Returns whether the search had not visited it before.
    fn insert(&mut self, value: ValueId) -> bool {
        let last = self.last_search.get_mut(value.as_u32() as usize);
        let is_new = last.is_some_and(|last| core::mem::replace(last, self.search) != self.search);
        self.count += usize::from(is_new);
        is_new
    }

    /// Adds a value for another path. Returns whether it was visited on few paths.
    fn insert_again(&mut self, value: ValueId) -> bool {
        let is_new = self.insert(value);
        let Some(visits) = self.visits.get_mut(value.as_u32() as usize) else {
            return false;
        };
        *visits = if is_new { 1 } else { visits.saturating_add(1) };
        *visits <= MAX_PATHS
    }
}

/// A value on a path to a read.
struct PathValue {
    value: ValueId,
    /// The conditions that hold at the read.
    assumptions: Rc<[Condition]>,
    /// The conditions of the path.
    path: Rc<[Condition]>,
}

/// The result of a search for the definitions of a read.
struct Definitions {
    /// The value may be undefined.
    may_be_undefined: bool,
    /// A statement that writes it on other paths.
    written: Option<StmtId>,
}

impl<'a> Search<'a> {
    /// `None` if all registers are written before they are read.
    pub(super) fn new(cx: &'a FunctionContext<'a>, ssa: &'a Ssa) -> Option<Self> {
        let suspects = suspects(cx, ssa);
        suspects.contains(&true).then(|| Self {
            cx,
            ssa,
            conditions: Conditions::new(cx, ssa),
            suspects,
            values_left: ssa.len().max(MAX_VALUES) * MAX_VISITS_PER_VALUE,
            visited: Visited::new(ssa.len()),
        })
    }

    /// The certainty that the read value is undefined, and the statement that writes it on other paths; `None` if it is defined.
    pub(super) fn certainty(&mut self, read: &Use) -> Option<(Certainty, Option<StmtId>)> {
        if !self.is_suspect(read.value) {
            return None;
        }
        let assumptions = self.conditions.at_statement(read.stmt);
        let definitions = self.definitions(read.value, &assumptions)?;
        if !definitions.may_be_undefined {
            return None;
        }
        Some(if self.is_undefined(read.value, &assumptions) {
            (Certainty::Definite, None)
        } else {
            (Certainty::Possible, definitions.written)
        })
    }

    /// Whether a statement is part of inline assembly and writes a register that is declared outside of it.
    fn writes_result_of_assembly(&self, stmt: StmtId) -> bool {
        self.cx.inline_assembly().contains(stmt)
            && self
                .ssa
                .defs(stmt)
                .all(|value| match self.ssa.value(value) {
                    Value::Def { variable, .. } => !is_of_assembly(self.cx, variable),
                    _ => true,
                })
    }

    fn is_suspect(&self, value: ValueId) -> bool {
        self.suspects.get(value.as_u32() as usize) == Some(&true)
    }

    /// The guard of the definition of a value.
    fn guard(&self, stmt: StmtId) -> Option<Condition> {
        match self.cx.body().statement(stmt) {
            Some(Statement::Inst(inst)) => self.conditions.guard(stmt, inst),
            _ => None,
        }
    }

    /// The later one of two statements in the text.
    fn later(&self, first: Option<StmtId>, second: StmtId) -> Option<StmtId> {
        first
            .filter(|first| self.cx.body().precedes(second, *first))
            .or(Some(second))
    }

    /// The definitions of a value that reach a read where these conditions hold; `None` if there are too many.
    fn definitions(
        &mut self,
        value: ValueId,
        assumptions: &Rc<[Condition]>,
    ) -> Option<Definitions> {
        self.visited.begin(value);
        let mut worklist = vec![PathValue {
            value,
            assumptions: assumptions.clone(),
            path: Rc::default(),
        }];
        let mut definitions = Definitions {
            may_be_undefined: false,
            written: None,
        };
        let mut sources = Vec::new();
        while let Some(current) = worklist.pop() {
            self.values_left = self.values_left.checked_sub(1)?;
            match self.ssa.value(current.value) {
                Value::Entry { .. } => {
                    definitions.may_be_undefined |= self.is_suspect(current.value);
                }
                Value::Def { stmt, old, .. } => {
                    definitions.written = self.later(definitions.written, stmt);
                    sources.extend(old.and_then(|old| self.old_value(stmt, old, current)));
                }
                Value::Phi { .. } => self.add_arguments(&current, &mut sources),
                Value::Unknown => {}
            }
            for source in sources.drain(..) {
                if self.is_suspect(source.value) && self.visited.insert_again(source.value) {
                    worklist.push(source);
                } else if let Value::Def { stmt, .. } = self.ssa.value(source.value) {
                    definitions.written = self.later(definitions.written, stmt);
                }
            }
            if self.visited.count > MAX_VALUES {
                return None;
            }
        }
        Some(definitions)
    }

    /// The old value of a register that a statement may keep.
    fn old_value(&self, stmt: StmtId, old: ValueId, current: PathValue) -> Option<PathValue> {
        let guard = self.guard(stmt);
        let is_executed = guard.is_some_and(|guard| {
            self.conditions.implied(&current.assumptions, guard) == Some(true)
        });
        // An assembly statement writes its results, as far as the code around it needs them.
        if is_executed || self.writes_result_of_assembly(stmt) {
            return None;
        }
        Some(PathValue {
            value: old,
            // The old value is kept if the guard does not hold.
            assumptions: with_condition(current.assumptions, guard.map(Condition::inverted)),
            path: current.path,
        })
    }

    /// Adds the arguments of a phi that may reach the read.
    fn add_arguments(&mut self, phi: &PathValue, sources: &mut Vec<PathValue>) {
        let Value::Phi { block, .. } = self.ssa.value(phi.value) else {
            return;
        };
        let PathValue {
            assumptions, path, ..
        } = phi;
        let mut edges = self.cx.cfg().in_edges(block);
        for (position, &argument) in self.ssa.args(phi.value).iter().enumerate() {
            // At the function entry, the last argument is the initial value.
            let edge = edges.next().map(|(_, edge)| edge);
            let conditions = &mut self.conditions;
            if conditions.exclude_argument(block, position, assumptions)
                || conditions.exclude_argument(block, position, path)
                || edge.is_some_and(|edge| {
                    conditions.exclude(edge, assumptions) || conditions.exclude(edge, path)
                })
            {
                continue;
            }
            let path = match edge {
                Some(edge) if self.is_suspect(argument) => self.conditions.extend_path(edge, path),
                _ => Rc::default(),
            };
            sources.push(PathValue {
                value: argument,
                assumptions: assumptions.clone(),
                path,
            });
        }
    }

    /// Whether a value is undefined on every path on which these conditions hold.
    fn is_undefined(&mut self, value: ValueId, assumptions: &[Condition]) -> bool {
        // Conditions refer to the last writes of the predicates, not to earlier iterations.
        self.visited.begin(value);
        let mut worklist = vec![(value, true)];
        while let Some((value, is_same_iteration)) = worklist.pop() {
            match self.ssa.value(value) {
                Value::Entry { .. } if self.is_suspect(value) => {}
                Value::Def {
                    stmt,
                    old: Some(old),
                    ..
                } if is_same_iteration => {
                    let skips = self.guard(stmt).map(Condition::inverted);
                    if !skips.is_some_and(|skips| assumptions.contains(&skips)) {
                        return false;
                    }
                    if self.visited.insert(old) {
                        worklist.push((old, true));
                    }
                }
                Value::Phi { .. } => {
                    for &argument in self.ssa.args(value) {
                        if self.visited.insert(argument) {
                            worklist.push((argument, false));
                        }
                    }
                }
                _ => return false,
            }
            if self.visited.count > MAX_VALUES {
                return false;
            }
        }
        true
    }
}

/// For each value, whether it may be the initial value of a register on any path. Parameters are written by the caller.
fn suspects(cx: &FunctionContext<'_>, ssa: &Ssa) -> Vec<bool> {
    let parameters = parameters(cx);
    let variables = cx.analysis().variables();
    let is_parameter = |variable: VariableId| {
        if variable == ssa.carry() {
            return false;
        }
        let place = variables.place(variable);
        let register = cx.body().registers().get(place.register);
        register.is_some_and(|register| parameters.binary_search(&register.decl).is_ok())
    };
    let sources = |id: ValueId| {
        let old = match ssa.value(id) {
            Value::Def { stmt, old, .. } => old.filter(|_| is_known(cx, stmt)),
            _ => None,
        };
        let sources = ssa.args(id).iter().copied().chain(old);
        sources.map(move |source| (source.as_u32(), id))
    };
    let values = (0..ssa.len() as u32).map(ValueId::new);
    let successors: Csr<ValueId> = Csr::new(ssa.len(), values.flat_map(sources));
    let mut suspects = vec![false; ssa.len()];
    let mut worklist: Vec<ValueId> = ssa
        .values()
        .filter(|(_, value)| match value {
            Value::Entry { variable } => !is_parameter(*variable),
            _ => false,
        })
        .map(|(id, _)| id)
        .collect();
    while let Some(value) = worklist.pop() {
        if let Some(is_suspect @ false) = suspects.get_mut(value.as_u32() as usize) {
            *is_suspect = true;
            worklist.extend(successors.row(value.as_u32()));
        }
    }
    suspects
}

/// Whether a variable of the dataflow analyses is a register that inline assembly declares for itself.
pub(super) fn is_of_assembly(cx: &FunctionContext<'_>, variable: VariableId) -> bool {
    let register = cx.analysis().variables().place(variable).register;
    let register = cx.body().registers().get(register);
    let declaration = register.and_then(|r| cx.body().reg_decls().get(r.decl)?.stmt);
    declaration.is_some_and(|stmt| cx.inline_assembly().contains(stmt))
}

/// Whether the writes of a statement are known, under its guard if it has one.
fn is_known(cx: &FunctionContext<'_>, stmt: StmtId) -> bool {
    cx.inst_at(stmt).is_some_and(|facts| facts.is_known())
}

/// The declarations of registers that are parameters of the function, in order.
fn parameters(cx: &FunctionContext<'_>) -> Vec<RegDeclId> {
    let function = cx.module().functions().get(cx.id());
    let params = function.map(|f| f.interface.params).unwrap_or_default();
    let mut declarations: Vec<RegDeclId> = params
        .of(cx.module().params())
        .iter()
        .filter_map(|param| match param.binding {
            Binding::Register(declaration) => Some(declaration),
            _ => None,
        })
        .collect();
    declarations.sort_unstable();
    declarations
}
