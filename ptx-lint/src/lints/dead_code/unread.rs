//! Instructions without effects whose results are never read.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::ssa::{Ssa, Value, ValueId};
use ptx_ir::{EntityId, Span, StmtId};

use super::compilers::Leftovers;
use crate::context::{FunctionContext, Reached};
use crate::{Finding, Lint};

/// One finding for each instruction whose results are never read, with the instructions that only compute its operands.
pub(super) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    // Debug code and unoptimized code contain unused results.
    if cx.is_for_debugger() || cx.is_unoptimized() {
        return;
    }
    let (Some(ssa), Some(live)) = (cx.ssa(), cx.live_code()) else {
        return;
    };
    let dead: Vec<Reached<'_>> = cx
        .instructions()
        .filter(|i| !live.contains(i.stmt))
        .collect();
    if dead.is_empty() {
        return;
    }
    let mut groups = Groups::new(cx, ssa, &dead);
    // Operands of dead instructions are reported with them; dead cycles through loops are reported separately.
    let read = groups.read_by_others(&dead);
    let is_read = |i: &&Reached<'_>| read.get(i.stmt.index()) == Some(&true);
    let (inner, last): (Vec<&Reached<'_>>, Vec<_>) = dead.iter().partition(is_read);
    let leftovers = Leftovers::new(cx);
    let (left, reported): (Vec<&Reached<'_>>, Vec<_>) =
        last.into_iter().partition(|i| leftovers.contains(i));
    for inst in reported {
        if let Some(members) = groups.take(inst.stmt) {
            found.push(finding(cx, inst, members));
        }
    }
    // Operands that only these read are not reported.
    for inst in left {
        groups.take(inst.stmt);
    }
    for inst in inner {
        if let Some(members) = groups.take(inst.stmt).filter(|_| !leftovers.contains(inst)) {
            found.push(finding(cx, inst, members));
        }
    }
}

/// The maximum number of instructions that a finding shows. Its fix removes all of them.
const MOST_LABELS: usize = 8;

fn finding(cx: &FunctionContext<'_>, inst: &Reached<'_>, mut members: Vec<StmtId>) -> Finding {
    members.sort_by(|a, b| cx.order(*a, *b));
    let written = inst.facts.registers().filter(|m| !m.usage.reads());
    let names: Vec<String> = written
        .map(|m| cx.body().register_name(cx.module(), m.place.register))
        .collect();
    let message = match &names[..] {
        [] => format!("the result of `{}` is never read", cx.mnemonic(inst.inst)),
        [name] => format!("`{name}` is written here but never read"),
        names => format!("`{}` are written here but never read", names.join("`, `")),
    };
    let mut finding = cx
        .finding(Lint::DeadCode, Certainty::Definite, inst.stmt, message)
        .with_help(match members.len() {
            0 => "remove the instruction",
            _ => "remove the instruction and the instructions that only compute its operands",
        });
    let spans: Vec<Span> = members.iter().map(|stmt| cx.span(*stmt)).collect();
    let removed = spans.iter().copied().chain([cx.span(inst.stmt)]);
    let edits = removed.map(|span| (span, String::new()));
    finding.diagnostic.add_fix(edits);
    for span in spans.into_iter().take(MOST_LABELS) {
        finding = finding.with_label(span, "this only computes an operand of the instruction");
    }
    finding
}

/// The dependences between dead instructions.
struct Groups<'a> {
    cx: &'a FunctionContext<'a>,
    ssa: &'a Ssa,
    is_dead: Vec<bool>,
    taken: Vec<bool>,
    seen: Vec<bool>,
}

impl<'a> Groups<'a> {
    fn new(cx: &'a FunctionContext<'a>, ssa: &'a Ssa, dead: &[Reached<'_>]) -> Self {
        let count = cx.body().statement_table().len();
        let mut is_dead = vec![false; count];
        for inst in dead {
            if let Some(mark) = is_dead.get_mut(inst.stmt.index()) {
                *mark = true;
            }
        }
        Self {
            cx,
            ssa,
            is_dead,
            taken: vec![false; count],
            seen: vec![false; ssa.len()],
        }
    }

    /// The dead statements that define operands of another dead statement.
    fn read_by_others(&mut self, dead: &[Reached<'_>]) -> Vec<bool> {
        let mut read = vec![false; self.is_dead.len()];
        for inst in dead {
            for writer in self.writers(inst.stmt) {
                if let Some(mark) = read.get_mut(writer.index()).filter(|_| writer != inst.stmt) {
                    *mark = true;
                }
            }
        }
        self.seen.fill(false);
        read
    }

    /// The dead statements that only compute operands of a statement, without the statement itself; `None` if it was visited before.
    fn take(&mut self, stmt: StmtId) -> Option<Vec<StmtId>> {
        if self.mark(stmt) {
            return None;
        }
        let (mut members, mut work) = (Vec::new(), vec![stmt]);
        while let Some(next) = work.pop() {
            for writer in self.writers(next) {
                if !self.mark(writer) {
                    members.push(writer);
                    work.push(writer);
                }
            }
        }
        Some(members)
    }

    /// Marks a statement as visited; returns whether it was visited before.
    fn mark(&mut self, stmt: StmtId) -> bool {
        let slot = self.taken.get_mut(stmt.index());
        slot.is_none_or(|taken| core::mem::replace(taken, true))
    }

    /// The dead statements that define values that a statement reads and that were not visited before.
    fn writers(&mut self, stmt: StmtId) -> Vec<StmtId> {
        let mut writers = Vec::new();
        let mut work: Vec<ValueId> = self.ssa.uses(stmt).iter().map(|u| u.value).collect();
        while let Some(value) = work.pop() {
            match self.seen.get_mut(value.as_u32() as usize) {
                Some(seen @ false) => *seen = true,
                _ => continue,
            }
            match self.ssa.value(value) {
                Value::Def { stmt, old, .. } => {
                    work.extend(old);
                    if self.is_dead.get(stmt.index()) == Some(&true) {
                        writers.push(stmt);
                    }
                }
                Value::Phi { .. } => work.extend(self.ssa.args(value)),
                Value::Unknown | Value::Entry { .. } => {}
            }
        }
        writers.sort_by(|a, b| self.cx.order(*a, *b));
        writers
    }
}
