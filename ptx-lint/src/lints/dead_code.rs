//! `dead-code`: unreachable code, results that are never read, variables that are only written, and functions that are never called.

mod leftovers;
mod only_written;
mod unread;

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::cfg::BlockId;
use ptx_analysis::constants::Constants;
use ptx_ir::facts::Flow;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Span, Statement, StmtId};

use crate::context::FunctionContext;
use crate::{Finding, Lint};

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    check_unreachable(cx, findings);
    unread::check(cx, findings);
    only_written::check(cx, findings);
    check_uncalled(cx, findings);
}

/// Adds a finding for each run of unreachable blocks: at the branch with the constant condition, or at the first instruction with an effect.
fn check_unreachable(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let assembly = cx.inline_assembly();
    let constants = constants(cx);
    let is_reachable = |block| {
        cx.analysis().is_reachable(block)
            && constants.is_none_or(|constants| constants.is_executable(block))
    };
    let mut run = UnreachableRun::default();
    let mut last_reachable = None;
    for (id, block) in cx.cfg().blocks().filter(|(_, block)| !block.is_dispatch) {
        let statements = cx.body().range(block.first, block.end);
        if is_reachable(id) {
            findings.extend(core::mem::take(&mut run).finding(cx));
            last_reachable = statements.map(|(stmt, _)| stmt).next_back();
            continue;
        }
        run.branch = run
            .branch
            .or_else(|| reachable_branch(cx, id, is_reachable));
        for (stmt, statement) in statements {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            let facts = cx.facts().inst(inst);
            // A compiler does not know that inline assembly exits the thread.
            run.follows_assembly |= last_reachable
                .take()
                .is_some_and(|last| assembly.contains(last));
            // Compilers end every block with a jump, even if control does not reach its end.
            if !matches!(
                facts.flow(),
                Flow::Jump | Flow::Return | Flow::Exit | Flow::Trap
            ) {
                run.first.get_or_insert(stmt);
                run.has_effect |= !facts.may_be_removed();
            }
        }
    }
    findings.extend(run.finding(cx));
}

/// Returns the constants of a function; `None` in debug and unoptimized code, and without conditional branches.
fn constants<'c>(cx: &'c FunctionContext<'_>) -> Option<&'c Constants> {
    let has_branches = cx.cfg().edges().any(|(_, edge)| edge.when.is_some());
    if !has_branches || cx.is_for_debugger() || cx.is_unoptimized() {
        return None;
    }
    cx.analysis().constants().ok()
}

/// Returns the last instruction of a reachable predecessor of an unreachable block: a branch that never leads to the block.
fn reachable_branch(
    cx: &FunctionContext<'_>,
    block: BlockId,
    is_reachable: impl Fn(BlockId) -> bool,
) -> Option<StmtId> {
    let mut predecessors = cx.cfg().predecessors(block).iter();
    let predecessor = predecessors.find(|id| is_reachable(**id))?;
    let predecessor = cx.cfg().block(*predecessor)?;
    cx.body()
        .range(predecessor.first, predecessor.end)
        .rev()
        .find_map(|(stmt, statement)| matches!(statement, Statement::Inst(_)).then_some(stmt))
}

/// Consecutive unreachable blocks.
#[derive(Default)]
struct UnreachableRun {
    /// The first instruction that is not a jump.
    first: Option<StmtId>,
    /// The reachable branch that never leads to the blocks.
    branch: Option<StmtId>,
    has_effect: bool,
    /// The last reachable statement is inline assembly.
    follows_assembly: bool,
}

impl UnreachableRun {
    /// Returns the finding about the blocks; `None` if compilers typically leave such blocks.
    fn finding(self, cx: &FunctionContext<'_>) -> Option<Finding> {
        let first = self.first?;
        // Compilers do not fold all conditions of special cases in libraries, which only select results.
        if self.follows_assembly || self.branch.is_some() && !self.has_effect {
            return None;
        }
        let finding =
            |stmt, message| cx.finding(Lint::DeadCode, Certainty::Definite, stmt, message);
        Some(match self.branch {
            Some(branch) => finding(branch, "the condition of this branch is constant")
                .with_label(cx.span(first), "this instruction is unreachable")
                .with_help("remove the branch and the unreachable code, or correct the condition"),
            None => finding(first, "this instruction is unreachable")
                .with_help("remove the code from here to the next label that is used"),
        })
    }
}

/// Adds a finding at the name of a function that is neither visible to other modules nor called.
fn check_uncalled(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    // Debug code and unoptimized code contain unused functions.
    if !cx.is_uncalled() || cx.is_for_debugger() || cx.is_unoptimized() {
        return;
    }
    let (Some(first), Some(function)) = (
        cx.instructions().next(),
        cx.module().functions().get(cx.id()),
    ) else {
        return;
    };
    let name = cx.module().name(function.name);
    let message = format!("`{name}` is neither visible to other modules nor called");
    let mut finding = cx.finding(Lint::DeadCode, Certainty::Definite, first.stmt, message);
    if let Some(span) = name_span(cx, name) {
        finding.diagnostic.span = span;
    }
    findings.push(finding.with_help("remove the function or declare it `.visible`"));
}

/// Returns the span of the name in the header of the function; `None` if the function is not in the source text.
fn name_span(cx: &FunctionContext<'_>, name: &str) -> Option<Span> {
    let module = cx.module();
    let start = module.span(module.item_of(cx.id())?).start;
    let header = Span::new(start, cx.body().base()).of(module.source());
    let token = Lexer::fragment(header)
        .find(|token| token.kind == TokenKind::Ident && token.span.of(header) == name.as_bytes())?;
    Some(token.span.shifted(start))
}
