//! Dead code: what nobody reads is not computed.
//!
//! Everything that does something is alive, and with it what it reads, and what the caller reads where the function returns: the writes whose values come to it, what remains
//! where such a write is guarded, and what these read. All else may go, also what only feeds itself around a loop. What lanes
//! of a mask execute together stays: others may wait for it, or read its sources. So does code that control never reaches,
//! whose reads see nothing; it is gone once that is removed.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::ssa::{Value, ValueId};
use ptx_ir::facts::Facts;
use ptx_ir::{EntityId, Statement, StmtId};

use super::function_view::View;
use super::rewrite::{Rewrite, Step};

/// Whether an instruction may go if nobody reads what it writes.
fn may_go(f: &Facts<'_>) -> bool {
    f.may_be_removed() && f.lanes().is_none()
}

pub(super) fn plan(view: &View<'_>) -> Vec<Step> {
    let mut marks = Marks {
        view,
        statements: alloc::vec![false; view.body().statement_table().len()],
        values: alloc::vec![false; view.ssa.len()],
        work: Vec::new(),
    };
    for (stmt, statement) in view.body().statements() {
        match statement {
            Statement::Inst(inst) if may_go(&view.facts.inst(inst)) => {}
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
        let mut names = String::new();
        for mention in written {
            let comma = if names.is_empty() { "" } else { ", " };
            names = names + comma + &view.name(mention.place.register);
        }
        let why = match names.as_str() {
            "" => String::from("it has no result that is read"),
            names => alloc::format!("nobody reads {names}"),
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
    /// A statement that stays, and the values it reads.
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
