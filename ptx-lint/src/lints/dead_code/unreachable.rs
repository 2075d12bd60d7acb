//! Blocks that control never reaches.

use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_ir::facts::Flow;
use ptx_ir::{Statement, StmtId};

use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// One finding for each run of such blocks, at its first instruction.
pub(super) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let lines = cx.source_lines().function(cx.body());
    let mut run = Run::default();
    let mut last = None;
    for (id, block) in cx.cfg().blocks().filter(|(_, b)| !b.is_dispatch) {
        if cx.analysis().is_reachable(id) {
            run.finish(cx, found);
            let statements = cx.body().range(block.first, block.end);
            last = statements.map(|(stmt, _)| stmt).next_back();
            continue;
        }
        for (stmt, statement) in cx.body().range(block.first, block.end) {
            if let Statement::Inst(inst) = statement {
                let f = cx.facts().inst(inst);
                // A compiler does not know that inline assembly ends the thread.
                let after_asm = last.take().is_some_and(|last| lines.is_inline_asm(last));
                run.after_asm |= after_asm;
                run.first.get_or_insert(stmt);
                // Compilers end every block with a jump, also one that control never leaves.
                run.does_something |= !matches!(
                    f.flow(),
                    Flow::Jump | Flow::Return | Flow::Exit | Flow::Trap
                );
            }
        }
    }
    run.finish(cx, found);
}

/// Consecutive blocks that control never reaches.
#[derive(Default)]
struct Run {
    first: Option<StmtId>,
    does_something: bool,
    after_asm: bool,
}

impl Run {
    fn finish(&mut self, cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
        let run = core::mem::take(self);
        let Some(stmt) = run.first.filter(|_| run.does_something && !run.after_asm) else {
            return;
        };
        let message = "control never reaches this instruction";
        let help = "remove it and what follows up to the next label that is used";
        let finding = cx.finding(Lint::DeadCode, Certainty::Definite, stmt, message);
        found.push(finding.with_help(help));
    }
}
