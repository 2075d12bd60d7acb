//! Unreachable blocks.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::cfg::BlockId;
use ptx_analysis::constants::Constants;
use ptx_ir::facts::Flow;
use ptx_ir::{Statement, StmtId};

use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// One finding for each run of unreachable blocks: at the branch with the constant condition, or at the first instruction with an effect.
pub(super) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let lines = cx.source_lines().function(cx.body());
    let constants = constants(cx);
    let is_reached = |id| {
        let is_executed = constants.is_none_or(|c| c.is_executable(id));
        cx.analysis().is_reachable(id) && is_executed
    };
    let mut run = Run::default();
    let mut last = None;
    for (id, block) in cx.cfg().blocks().filter(|(_, b)| !b.is_dispatch) {
        if is_reached(id) {
            run.finish(cx, found);
            let statements = cx.body().range(block.first, block.end);
            last = statements.map(|(stmt, _)| stmt).next_back();
            continue;
        }
        run.branch = run.branch.or_else(|| branch(cx, id, is_reached));
        for (stmt, statement) in cx.body().range(block.first, block.end) {
            if let Statement::Inst(inst) = statement {
                let f = cx.facts().inst(inst);
                // A compiler does not know that inline assembly exits the thread.
                let after_asm = last.take().is_some_and(|last| lines.is_inline_asm(last));
                run.after_asm |= after_asm;
                // Compilers end every block with a jump, even if control does not reach its end.
                if !matches!(
                    f.flow(),
                    Flow::Jump | Flow::Return | Flow::Exit | Flow::Trap
                ) {
                    run.first.get_or_insert(stmt);
                    run.has_effect |= !f.may_be_removed();
                }
            }
        }
    }
    run.finish(cx, found);
}

/// The constants of a function; `None` in debug and unoptimized code, and without conditional branches.
fn constants<'c>(cx: &'c FunctionContext<'_>) -> Option<&'c Constants> {
    let branches = cx.cfg().edges().any(|(_, edge)| edge.when.is_some());
    if !branches || cx.is_for_debugger() || cx.is_unoptimized() {
        return None;
    }
    cx.analysis().constants().ok()
}

/// The reachable branch that never goes to a block.
fn branch(
    cx: &FunctionContext<'_>,
    block: BlockId,
    is_reached: impl Fn(BlockId) -> bool,
) -> Option<StmtId> {
    let mut before = cx.cfg().predecessors(block).iter();
    let from = cx.cfg().block(*before.find(|from| is_reached(**from))?)?;
    let mut statements = cx.body().range(from.first, from.end).rev();
    statements.find_map(|(stmt, statement)| matches!(statement, Statement::Inst(_)).then_some(stmt))
}

/// Consecutive unreachable blocks.
#[derive(Default)]
struct Run {
    first: Option<StmtId>,
    branch: Option<StmtId>,
    has_effect: bool,
    after_asm: bool,
}

impl Run {
    fn finish(&mut self, cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
        let run = core::mem::take(self);
        // Compilers do not fold all conditions of special cases in libraries, which only select results.
        let is_left = run.after_asm || run.branch.is_some() && !run.has_effect;
        let Some(stmt) = run.first.filter(|_| !is_left) else {
            return;
        };
        let finding =
            |stmt, message| cx.finding(Lint::DeadCode, Certainty::Definite, stmt, message);
        let unreached = "this instruction is unreachable";
        let help = "remove the code from here to the next label that is used";
        found.push(match run.branch {
            Some(branch) => finding(branch, "the condition of this branch is constant")
                .with_label(cx.span(stmt), unreached)
                .with_help("remove the branch and the unreachable code, or correct the condition"),
            None => finding(stmt, unreached).with_help(help),
        });
    }
}
