//! Finds the reaching definitions of reads.

use alloc::rc::Rc;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::graph::Csr;
use ptx_analysis::reg_lanes::VariableId;
use ptx_analysis::source_lines::FunctionLines;
use ptx_analysis::ssa::{Ssa, Use, Value, ValueId};
use ptx_ir::{Binding, RegDeclId, Statement, StmtId};

use super::conditions::{Condition, Conditions, with};
use crate::context::FunctionContext;

/// The maximum number of values examined for a read; beyond that, the register is assumed to be written.
const MOST_VALUES: usize = 512;

/// The maximum number of values examined for all reads of a function, for each of its values: the cost stays linear.
const MOST_FOR_EACH: usize = 16;

/// Determines whether values may be the initial values of registers.
pub(super) struct Search<'a> {
    cx: &'a FunctionContext<'a>,
    ssa: &'a Ssa,
    conditions: Conditions<'a>,
    lines: FunctionLines<'a, 'a>,
    /// For each value, whether it may be undefined, ignoring conditions.
    suspects: Vec<bool>,
    /// How many values may still be examined.
    values_left: usize,
    seen: Seen,
}

/// The maximum number of paths on which a value is examined.
const MOST_PATHS: u8 = 4;

/// The values that were seen in a search.
struct Seen {
    /// For each value, the number of the last search in which it was seen.
    last: Vec<u32>,
    /// And how often.
    times: Vec<u8>,
    search: u32,
    count: usize,
}

impl Seen {
    fn new(values: usize) -> Self {
        Self {
            last: vec![0; values],
            times: vec![0; values],
            search: 0,
            count: 0,
        }
    }

    /// Begins a search with a value.
    fn begin(&mut self, value: ValueId) {
        (self.search, self.count) = (self.search.wrapping_add(1), 0);
        self.insert(value);
    }

    /// Adds a value. Gives whether it was not seen in this search before.
    fn insert(&mut self, value: ValueId) -> bool {
        let last = self.last.get_mut(value.as_u32() as usize);
        let is_new = last.is_some_and(|last| core::mem::replace(last, self.search) != self.search);
        self.count += usize::from(is_new);
        is_new
    }

    /// Adds a value for another path. Gives whether it was not seen too often.
    fn insert_again(&mut self, value: ValueId) -> bool {
        let is_new = self.insert(value);
        let Some(times) = self.times.get_mut(value.as_u32() as usize) else {
            return false;
        };
        *times = match is_new {
            true => 1,
            false => times.saturating_add(1),
        };
        *times <= MOST_PATHS
    }
}

impl<'a> Search<'a> {
    pub(super) fn new(cx: &'a FunctionContext<'a>, ssa: &'a Ssa) -> Self {
        Self {
            cx,
            ssa,
            conditions: Conditions::new(cx, ssa),
            lines: cx.source_lines().function(cx.body()),
            suspects: suspects(cx, ssa),
            values_left: ssa.len().max(MOST_VALUES) * MOST_FOR_EACH,
            seen: Seen::new(ssa.len()),
        }
    }

    /// Whether any register may be read before it is written.
    pub(super) fn has_candidates(&self) -> bool {
        self.suspects.contains(&true)
    }

    /// Whether the read value may be undefined or certainly is, and the statement that writes it on other paths.
    pub(super) fn certainty(&mut self, read: &Use) -> Option<(Certainty, Option<StmtId>)> {
        if !self.is_suspect(read.value) {
            return None;
        }
        let known = self.conditions.at(read.stmt);
        let (undefined, written) = self.may_be_undefined(read.value, &known)?;
        if !undefined {
            return None;
        }
        Some(match self.is_undefined(read.value, &known) {
            true => (Certainty::Definite, None),
            false => (Certainty::Possible, written),
        })
    }

    /// Whether a statement is part of inline assembly and writes a register that is declared outside of it.
    fn is_of_assembly(&self, stmt: StmtId) -> bool {
        let mut written = self.ssa.defs(stmt);
        self.lines.is_inline_asm(stmt)
            && written.all(|value| match self.ssa.value(value) {
                Value::Def { variable, .. } => !is_of_assembly(self.cx, &self.lines, variable),
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
        let is_later = |first: &StmtId| self.cx.body().precedes(second, *first);
        first.filter(is_later).or(Some(second))
    }

    /// Whether a value may be undefined where these conditions hold, and a statement that writes it on other paths; `None` if
    /// that takes too long.
    fn may_be_undefined(
        &mut self,
        value: ValueId,
        known: &Rc<[Condition]>,
    ) -> Option<(bool, Option<StmtId>)> {
        self.seen.begin(value);
        let mut work = vec![(value, known.clone(), Rc::default())];
        let (mut undefined, mut written) = (false, None);
        let mut next = Vec::new();
        while let Some((value, known, path)) = work.pop() {
            self.values_left = self.values_left.checked_sub(1)?;
            match self.ssa.value(value) {
                Value::Entry { .. } => undefined |= self.is_suspect(value),
                Value::Def { stmt, old, .. } => {
                    written = self.later(written, stmt);
                    let guard = self.guard(stmt);
                    let is_certain = guard
                        .is_some_and(|guard| self.conditions.implied(&known, guard) == Some(true));
                    // An assembly statement writes its results, as far as the code around it needs them.
                    if !is_certain && !self.is_of_assembly(stmt) {
                        // The old value is kept if the guard does not hold.
                        let opposite = guard.map(|(guard, is)| (guard, !is));
                        next.extend(old.map(|old| (old, with(known, opposite), path)));
                    }
                }
                Value::Phi { block, .. } => {
                    let mut edges = self.cx.cfg().in_edges(block);
                    for (position, &argument) in self.ssa.args(value).iter().enumerate() {
                        // At the function entry, the last argument is the initial value.
                        let edge = edges.next();
                        let conditions = &self.conditions;
                        if [&known, &path]
                            .iter()
                            .any(|of| conditions.exclude_argument((block, position), of))
                        {
                            continue;
                        }
                        let excludes = |this: &mut Self, of: &[Condition]| {
                            edge.is_some_and(|(_, edge)| this.conditions.exclude(edge, of))
                        };
                        if excludes(self, &known) || excludes(self, &path) {
                            continue;
                        }
                        let before = match edge {
                            Some((_, edge)) if self.is_suspect(argument) => {
                                self.conditions.before(edge, &path)
                            }
                            _ => Rc::default(),
                        };
                        next.push((argument, known.clone(), before));
                    }
                }
                Value::Unknown => {}
            }
            for (value, known, path) in next.drain(..) {
                if self.is_suspect(value) && self.seen.insert_again(value) {
                    work.push((value, known, path));
                } else if let Value::Def { stmt, .. } = self.ssa.value(value) {
                    written = self.later(written, stmt);
                }
            }
            if self.seen.count > MOST_VALUES {
                return None;
            }
        }
        Some((undefined, written))
    }

    /// Whether a value is undefined on every path on which these conditions hold.
    fn is_undefined(&mut self, value: ValueId, known: &[Condition]) -> bool {
        // Conditions refer to the last writes of the predicates, not to earlier iterations.
        self.seen.begin(value);
        let mut work = vec![(value, true)];
        while let Some((value, same_iteration)) = work.pop() {
            match self.ssa.value(value) {
                Value::Entry { .. } if self.is_suspect(value) => {}
                Value::Def {
                    stmt,
                    old: Some(old),
                    ..
                } if same_iteration => {
                    let guard = self.guard(stmt).map(|(guard, is)| (guard, !is));
                    if !guard.is_some_and(|guard| known.contains(&guard)) {
                        return false;
                    }
                    if self.seen.insert(old) {
                        work.push((old, true));
                    }
                }
                Value::Phi { .. } => {
                    for &argument in self.ssa.args(value) {
                        if self.seen.insert(argument) {
                            work.push((argument, false));
                        }
                    }
                }
                _ => return false,
            }
            if self.seen.count > MOST_VALUES {
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
        let register = cx
            .body()
            .registers()
            .get(variables.place(variable).register);
        let decl = register.map(|r| r.decl);
        variable != ssa.carry() && decl.is_some_and(|decl| parameters.binary_search(&decl).is_ok())
    };
    let sources = |id: ValueId| {
        let old = match ssa.value(id) {
            Value::Def { stmt, old, .. } => old.filter(|_| is_known(cx, stmt)),
            _ => None,
        };
        let all = ssa.args(id).iter().copied().chain(old);
        all.map(move |from| (from.as_u32(), id))
    };
    let values = (0..ssa.len() as u32).map(ValueId::new);
    let reaches: Csr<ValueId> = Csr::new(ssa.len(), values.flat_map(sources));
    let mut suspects = vec![false; ssa.len()];
    let starts = ssa.values().filter(|(_, value)| match value {
        Value::Entry { variable } => !is_parameter(*variable),
        _ => false,
    });
    let mut work: Vec<ValueId> = starts.map(|(id, _)| id).collect();
    while let Some(value) = work.pop() {
        match suspects.get_mut(value.as_u32() as usize) {
            Some(seen @ false) => *seen = true,
            _ => continue,
        }
        work.extend(reaches.row(value.as_u32()));
    }
    suspects
}

/// Whether a variable of the dataflow analyses is a register that inline assembly declares for itself.
pub(super) fn is_of_assembly(
    cx: &FunctionContext<'_>,
    lines: &FunctionLines<'_, '_>,
    variable: VariableId,
) -> bool {
    let register = cx.analysis().variables().place(variable).register;
    let register = cx.body().registers().get(register);
    let declaration = register.and_then(|r| cx.body().reg_decls().get(r.decl)?.stmt);
    declaration.is_some_and(|stmt| lines.is_inline_asm(stmt))
}

/// Whether the writes of a statement are known, under its guard if it has one.
fn is_known(cx: &FunctionContext<'_>, stmt: StmtId) -> bool {
    match cx.body().statement(stmt) {
        Some(Statement::Inst(inst)) => cx.facts().inst(inst).is_known(),
        _ => false,
    }
}

/// The declarations of registers that are parameters of the function, in order.
fn parameters(cx: &FunctionContext<'_>) -> Vec<RegDeclId> {
    let function = cx.module().functions().get(cx.id());
    let params = function.map(|f| f.interface.params).unwrap_or_default();
    let declared = params.of(cx.module().params()).iter();
    let mut declared: Vec<RegDeclId> = declared
        .filter_map(|p| match p.binding {
            Binding::Register(decl) => Some(decl),
            _ => None,
        })
        .collect();
    declared.sort_unstable();
    declared
}
