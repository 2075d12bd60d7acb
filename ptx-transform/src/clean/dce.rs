//! Dead-code elimination: instructions whose results are never read are removed.
//!
//! Instructions with effects are live, and so are the registers that hold the results of the function where it returns. What
//! a live instruction reads is live as well: all writes that reach it, and the old value if such a write is guarded. All other
//! instructions are removed, including those that only feed each other around a loop. Instructions that the lanes of a mask
//! execute together stay, since other lanes may wait for them or read their sources. Unreachable code stays; it is the
//! business of unreachable-code elimination.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::ssa::{Value, ValueId};
use ptx_ir::facts::Facts;
use ptx_ir::{EntityId, Statement, StmtId};

use super::definition::Definition;
use super::function_view::View;
use super::rewrite::{Rewrite, Step};

pub(super) const DEFINITION: Definition = Definition {
    name: "dead",
    term: "dead-code elimination",
    summary: "Remove instructions whose results are never read",
    plan,
    finish: None,
};

/// Whether an instruction can be removed if its results are not read.
fn is_removable(f: &Facts<'_>) -> bool {
    f.may_be_removed() && f.lanes().is_none()
}

pub(super) fn plan(view: &View<'_>) -> Vec<Step> {
    let mut marks = Marks {
        view,
        statements: vec![false; view.body().statement_table().len()],
        values: vec![false; view.ssa.len()],
        work: Vec::new(),
    };
    for (stmt, statement) in view.body().statements() {
        match statement {
            Statement::Inst(inst) if is_removable(&view.facts.inst(inst)) => {}
            Statement::Inst(_) | Statement::Opaque(_) => marks.statement(stmt),
            _ => {}
        }
    }
    let returned = view.ssa.returned().iter();
    marks.work.extend(returned.map(|r| r.value));
    marks.run();
    let dead = |stmt: StmtId| marks.statements.get(stmt.index()) == Some(&false);
    let mut steps = Vec::new();
    for (stmt, _, facts) in view.reached().filter(|(stmt, ..)| dead(*stmt)) {
        let written = facts.registers().filter(|m| !m.usage.reads());
        let names: Vec<String> = written.map(|m| view.name(m.place.register)).collect();
        let why = match &names[..] {
            [] => String::from("its result is never read"),
            [name] => format!("{name} is never read"),
            names => format!("{} are never read", names.join(", ")),
        };
        let act = Rewrite::Remove;
        steps.push(Step { stmt, act, why });
    }
    steps
}

struct Marks<'a> {
    view: &'a View<'a>,
    statements: Vec<bool>,
    values: Vec<bool>,
    work: Vec<ValueId>,
}

impl Marks<'_> {
    /// Marks a statement as live, and with it the values it reads.
    fn statement(&mut self, stmt: StmtId) {
        if let Some(seen @ false) = self.statements.get_mut(stmt.index()) {
            *seen = true;
            let uses = self.view.ssa.uses(stmt).iter();
            self.work.extend(uses.map(|u| u.value));
        }
    }

    fn run(&mut self) {
        while let Some(value) = self.work.pop() {
            match self.values.get_mut(value.as_u32() as usize) {
                Some(seen @ false) => *seen = true,
                _ => continue,
            }
            match self.view.ssa.value(value) {
                Value::Def { stmt, old, .. } => {
                    self.work.extend(old);
                    self.statement(stmt);
                }
                Value::Phi { .. } => self.work.extend(self.view.ssa.args(value)),
                Value::Unknown | Value::Entry { .. } => {}
            }
        }
    }
}
