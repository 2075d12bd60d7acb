//! Instructions without effects whose results are never read.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::ssa::{Ssa, Value, ValueId};
use ptx_ir::{EntityId, Span, StmtId};

use super::leftovers::Leftovers;
use crate::context::{FunctionContext, Reached};
use crate::{Finding, Lint};

/// Adds a finding for each instruction whose results are never read, with the instructions that only compute its operands.
pub(super) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    // Debug code and unoptimized code contain unused results.
    if cx.is_for_debugger() || cx.is_unoptimized() {
        return;
    }
    let (Some(ssa), Some(live)) = (cx.ssa(), cx.live_code()) else {
        return;
    };
    let dead: Vec<Reached<'_>> = cx
        .instructions()
        .filter(|inst| !live.contains(inst.stmt))
        .collect();
    if dead.is_empty() {
        return;
    }
    let mut groups = Groups::new(cx, ssa, &dead);
    // Operands of dead instructions are reported with them. Instructions of dead cycles through loops are all operands of each other.
    let is_operand = groups.operands_of_others(&dead);
    let (operands, last): (Vec<&Reached<'_>>, Vec<_>) = dead
        .iter()
        .partition(|inst| is_operand.get(inst.stmt.index()) == Some(&true));
    let leftovers = Leftovers::new(cx);
    let (ignored, reported): (Vec<&Reached<'_>>, Vec<_>) =
        last.into_iter().partition(|inst| leftovers.contains(inst));
    for inst in reported {
        if let Some(members) = groups.take(inst.stmt) {
            findings.push(finding(cx, inst, members));
        }
    }
    // Operands that only ignored instructions read are not reported.
    for inst in ignored {
        groups.take(inst.stmt);
    }
    for inst in operands {
        if let Some(members) = groups.take(inst.stmt)
            && !leftovers.contains(inst)
        {
            findings.push(finding(cx, inst, members));
        }
    }
}

/// The maximum number of instructions that a finding shows. Its fix removes all of them.
const MOST_LABELS: usize = 8;

/// Returns the finding about an instruction. `members` are the statements that only compute its operands.
fn finding(cx: &FunctionContext<'_>, inst: &Reached<'_>, mut members: Vec<StmtId>) -> Finding {
    members.sort_by(|a, b| cx.order(*a, *b));
    let names: Vec<String> = inst
        .facts
        .registers()
        .filter(|mention| !mention.usage.reads())
        .map(|mention| cx.body().register_name(cx.module(), mention.place.register))
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
    finding.diagnostic.add_fix(
        spans
            .iter()
            .copied()
            .chain([cx.span(inst.stmt)])
            .map(|span| (span, String::new())),
    );
    for span in spans.into_iter().take(MOST_LABELS) {
        finding = finding.with_label(span, "this only computes an operand of the instruction");
    }
    finding
}

/// Groups of dead instructions: an instruction, and those that only compute its operands. Each instruction and each value is visited once, so the total
/// time is linear.
struct Groups<'a> {
    cx: &'a FunctionContext<'a>,
    ssa: &'a Ssa,
    /// By statement.
    is_dead: Vec<bool>,
    /// By statement: it is in a group.
    is_grouped: Vec<bool>,
    /// By value: its definition was searched.
    is_visited: Vec<bool>,
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
            is_grouped: vec![false; count],
            is_visited: vec![false; ssa.len()],
        }
    }

    /// Returns by statement whether it is dead and defines an operand of another dead statement.
    fn operands_of_others(&mut self, dead: &[Reached<'_>]) -> Vec<bool> {
        let mut is_operand = vec![false; self.is_dead.len()];
        for inst in dead {
            for writer in self.operand_writers(inst.stmt) {
                if writer != inst.stmt
                    && let Some(mark) = is_operand.get_mut(writer.index())
                {
                    *mark = true;
                }
            }
        }
        self.is_visited.fill(false);
        is_operand
    }

    /// Returns the dead statements that only compute operands of a statement, without the statement itself; `None` if it is already in a group.
    fn take(&mut self, stmt: StmtId) -> Option<Vec<StmtId>> {
        if !self.add(stmt) {
            return None;
        }
        let (mut members, mut worklist) = (Vec::new(), vec![stmt]);
        while let Some(member) = worklist.pop() {
            for writer in self.operand_writers(member) {
                if self.add(writer) {
                    members.push(writer);
                    worklist.push(writer);
                }
            }
        }
        Some(members)
    }

    /// Adds a statement to a group; returns `false` if it is already in a group.
    fn add(&mut self, stmt: StmtId) -> bool {
        let is_grouped = self.is_grouped.get_mut(stmt.index());
        is_grouped.is_some_and(|is_grouped| !core::mem::replace(is_grouped, true))
    }

    /// Returns the dead statements that define values that a statement reads. Values that were visited before are left out.
    fn operand_writers(&mut self, stmt: StmtId) -> Vec<StmtId> {
        let mut writers = Vec::new();
        let mut worklist: Vec<ValueId> =
            self.ssa.uses(stmt).iter().map(|read| read.value).collect();
        while let Some(value) = worklist.pop() {
            match self.is_visited.get_mut(value.as_u32() as usize) {
                Some(is_visited @ false) => *is_visited = true,
                _ => continue,
            }
            match self.ssa.value(value) {
                Value::Def { stmt, old, .. } => {
                    worklist.extend(old);
                    if self.is_dead.get(stmt.index()) == Some(&true) {
                        writers.push(stmt);
                    }
                }
                Value::Phi { .. } => worklist.extend(self.ssa.args(value)),
                Value::Unknown | Value::Entry { .. } => {}
            }
        }
        writers.sort_by(|a, b| self.cx.order(*a, *b));
        writers
    }
}
