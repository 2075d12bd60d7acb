//! Converts violations of the protocols of asynchronous operations into findings of the lints that report them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::{Certainty, Rule, Violation};
use ptx_analysis::cfg::BlockId;
use ptx_analysis::graph::LoopId;
use ptx_ir::{InstId, StmtId};
use ptx_isa::Action;

use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// The texts of a rule.
struct Text {
    lint: Lint,
    /// The verb of a definite and of a possible finding.
    does: [&'static str; 2],
    /// The rest of the message.
    rest: &'static str,
    help: &'static str,
    /// The label of the other instruction.
    cause: &'static str,
}

const fn text(
    lint: Lint,
    does: [&'static str; 2],
    rest: &'static str,
    help: &'static str,
    cause: &'static str,
) -> Text {
    Text {
        lint,
        does,
        rest,
        help,
        cause,
    }
}

/// The texts of a rule, or `None` if no lint reports it.
fn text_of(rule: Rule) -> Option<Text> {
    copies(rule)
        .or_else(|| products(rule))
        .or_else(|| objects(rule))
        .or_else(|| tensor_memory(rule))
}

fn copies(rule: Rule) -> Option<Text> {
    let lint = Lint::AsyncCopyWait;
    Some(match rule {
        Rule::CopyNotAwaited => text(
            lint,
            ["accesses", "may access"],
            "the destination of a pending asynchronous copy",
            "first wait for all groups that may contain the copy, or for the phase of the mbarrier object to which the copy reports",
            "the copy starts here",
        ),
        Rule::CopyNotVisible => text(
            lint,
            ["reads", "may read"],
            "data that other threads copied, without a barrier after their waits",
            "add a barrier, such as `bar.sync 0`, between the wait and this instruction: a wait covers only copies of the thread that waits",
            "the copy starts here",
        ),
        Rule::ReadNotFinished => text(
            lint,
            ["overwrites", "may overwrite"],
            "memory that other threads read, without a barrier after the reads",
            "add a barrier between the last read of the memory and the copy",
            "the memory is read here",
        ),
        Rule::SourceNotAwaited => text(
            lint,
            ["overwrites", "may overwrite"],
            "the source of a pending asynchronous copy",
            "first commit the copy to a group and wait for the group; a wait with `.read` returns as soon as the source has been read",
            "the copy starts here",
        ),
        Rule::ExpectedBytes => text(
            lint,
            ["expects", "may expect"],
            "a different number of bytes than the copies that report to the mbarrier object transfer",
            "expect the total number of bytes of the copies",
            "",
        ),
        Rule::ExpectedBytesDiffer => text(
            lint,
            ["expects", "may expect"],
            "a different number of bytes than the copies transfer: the same tensor maps are expected to transfer another number elsewhere",
            "expect the number of bytes of the boxes of the tensor maps",
            "copies by the same tensor maps are expected here",
        ),
        _ => return None,
    })
}

fn products(rule: Rule) -> Option<Text> {
    let lint = Lint::WgmmaProtocol;
    Some(match rule {
        Rule::ProductNotAwaited => text(
            lint,
            ["accesses", "may access"],
            "a register of a pending asynchronous matrix operation",
            "first commit the operation to a group and wait for the group: `wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;`",
            "the operation starts here",
        ),
        Rule::WarpgroupFence => text(
            lint,
            ["uses", "may use"],
            "registers without a warpgroup fence after their last write",
            "add `wgmma.fence.sync.aligned;` between the last write of these registers and this instruction",
            "the registers are written here",
        ),
        _ => return None,
    })
}

fn objects(rule: Rule) -> Option<Text> {
    Some(match rule {
        Rule::ClusterBarrier => text(
            Lint::BarrierDivergence,
            ["breaks", "may break"],
            "the alternation of arrivals and waits at the cluster barrier",
            "execute exactly one `barrier.cluster.wait` after each `barrier.cluster.arrive` in every thread",
            "",
        ),
        Rule::MbarrierNotInitialized => text(
            Lint::MbarrierInit,
            ["uses", "may use"],
            "an mbarrier object that is not initialized, or whose initialization is not visible to this thread",
            "first initialize the object in one thread, and add a barrier for all threads after the initialization",
            "an object is initialized here",
        ),
        Rule::MbarrierInitializedTwice => text(
            Lint::MbarrierInit,
            ["initializes", "may initialize"],
            "an mbarrier object that is already initialized",
            "use the next phase of the object, or invalidate it with `mbarrier.inval` first",
            "it is initialized here first",
        ),
        Rule::MbarrierNotArrived => text(
            Lint::MbarrierInit,
            ["waits", "may wait"],
            "for ever: no instruction of the kernel arrives at the mbarrier object",
            "arrive at the object after the work whose end the phase signals, as with `mbarrier.arrive.expect_tx` before bulk copies or with `tcgen05.commit`",
            "",
        ),
        Rule::MbarrierNotPublished => text(
            Lint::MbarrierInit,
            ["arrives", "may arrive"],
            "without release semantics after initializing an mbarrier object, so the initialization is not guaranteed to be visible to other CTAs of the cluster",
            "add `fence.mbarrier_init.release.cluster;` after the initialization",
            "the object is initialized here",
        ),
        Rule::MbarrierPhase => text(
            Lint::MbarrierInit,
            ["returns", "may return"],
            "immediately: the phase of the mbarrier object with this parity is already complete",
            "wait for parity 0 first, and invert the parity for each further phase",
            "the object is initialized here",
        ),
        Rule::MbarrierNotFenced => text(
            Lint::MbarrierInit,
            ["reports", "may report"],
            "to an mbarrier object through the async proxy, without a fence after the initialization of the object",
            "add `fence.mbarrier_init.release.cluster;` or `fence.proxy.async.shared::cta;` after the initialization",
            "the object is initialized here",
        ),
        Rule::MbarrierOverwritten => text(
            Lint::MbarrierInit,
            ["writes", "may write"],
            "to the memory of an initialized mbarrier object",
            "invalidate the object with `mbarrier.inval` first, or use different memory",
            "the object is initialized here",
        ),
        Rule::ProxyFence => text(
            Lint::ProxyFence,
            ["reads", "may read"],
            "data through the async proxy that was written through the generic proxy, without a proxy fence in between",
            "add `fence.proxy.async` in the writing threads, after the writes and before the barrier or this instruction",
            "the memory is written here",
        ),
        Rule::TensorMapFence => text(
            Lint::ProxyFence,
            ["uses", "may use"],
            "a modified tensor map without the fences of the tensormap proxy",
            "add `fence.proxy.tensormap::generic.release` after the modification and `fence.proxy.tensormap::generic.acquire` of the tensor map before its use",
            "",
        ),
        _ => return None,
    })
}

fn tensor_memory(rule: Rule) -> Option<Text> {
    let (does, rest, help, cause) = match rule {
        Rule::TensorLoadNotAwaited => (
            ["overwrites", "may overwrite"],
            "a register of a pending load from tensor memory",
            "add `tcgen05.wait::ld.sync.aligned;` before this instruction",
            "the load starts here",
        ),
        Rule::TensorMemoryNotAwaited => (
            ["accesses or frees", "may access or free"],
            "tensor memory while an operation on it is pending",
            "first wait for the operation: use `tcgen05.wait` for loads and stores, and `tcgen05.commit` with an mbarrier object for other operations",
            "the operation starts here",
        ),
        Rule::TensorFence => (
            ["follows", "may follow"],
            "operations on tensor memory across a barrier or an mbarrier wait, without a fence after the synchronization",
            "add `tcgen05.fence::after_thread_sync;` between the synchronization and this instruction",
            "the operation starts here",
        ),
        Rule::TensorFenceBefore => (
            ["synchronizes", "may synchronize"],
            "threads after operations on tensor memory, without a fence in between",
            "add `tcgen05.fence::before_thread_sync;` between the operations and this instruction",
            "the operation starts here",
        ),
        Rule::TensorMemoryNotFreed => (
            ["allocates", "may allocate"],
            "tensor memory that is never freed",
            "free it after a barrier, before the kernel ends",
            "",
        ),
        Rule::AllocationAfterRelinquish => (
            ["allocates", "may allocate"],
            "tensor memory after the CTA relinquished the allocation permit",
            "relinquish the permit after the last allocation",
            "",
        ),
        Rule::FreeWithoutAllocation => (
            ["frees", "may free"],
            "tensor memory that is not allocated",
            "free each allocation once, on the paths that allocate it",
            "",
        ),
        Rule::FreeOfOtherSize => (
            ["frees", "may free"],
            "a different number of columns than was allocated",
            "use the number of columns of the allocation",
            "",
        ),
        Rule::FreeWithoutBarrier => (
            ["frees", "may free"],
            "tensor memory without a barrier after the accesses of other warps",
            "add a barrier for all threads, such as `bar.sync 0`, between the last access and this instruction",
            "",
        ),
        Rule::AllocationOfMore => (
            ["allocates", "may allocate"],
            "more columns than an earlier allocation of the CTA, which is not allowed",
            "order the allocations by decreasing number of columns",
            "",
        ),
        Rule::TensorMemoryFreed => (
            ["accesses", "may access"],
            "tensor memory that was freed",
            "free the memory after the last access",
            "it is freed here",
        ),
        Rule::TensorAddressNotVisible => (
            ["reads", "may read"],
            "the address of tensor memory without a barrier after another warp allocated it",
            "add a barrier between the allocation and this instruction",
            "",
        ),
        _ => return None,
    };
    Some(text(Lint::Tcgen05Protocol, does, rest, help, cause))
}

/// What several violations have in common.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Instruction(InstId),
    /// The copies in a loop, or those outside of loops, whose waits are alike: of those that may not be awaited, one is one too few.
    Copies(Option<LoopId>),
    /// The writes to accumulators in a block: one fence after all of them is missing.
    Block(Option<BlockId>),
}

impl Cause {
    fn of(
        cx: &FunctionContext<'_>,
        violation: &Violation,
        stmt: Option<StmtId>,
        inst: InstId,
    ) -> Self {
        let loops = cx.analysis().loops();
        let is_of_copy = matches!(
            violation.rule,
            Rule::CopyNotAwaited | Rule::CopyNotVisible | Rule::ReadNotFinished
        );
        let block = stmt.and_then(|stmt| cx.cfg().of_statement(stmt));
        let inner = block.and_then(|block| loops.innermost(block));
        let parent = |id: &LoopId| loops.get(*id).and_then(|l| l.parent());
        let is_possible = violation.certainty == Certainty::Possible;
        if is_of_copy && is_possible {
            Self::Copies(core::iter::successors(inner, parent).last())
        } else if violation.rule == Rule::WarpgroupFence && is_possible {
            Self::Block(block)
        } else {
            Self::Instruction(inst)
        }
    }
}

/// What was reported: the violation, and the index of its finding.
struct Reported<'a> {
    violation: &'a Violation,
    stmt: StmtId,
    index: usize,
}

/// Adds the findings of a lint. Several violations with the same cause are one finding; less certain ones after it on a path are left out.
pub(crate) fn check(cx: &FunctionContext<'_>, lint: Lint, found: &mut Vec<Finding>) {
    let all = cx.violations().iter();
    let of_lint = all.filter_map(|v| Some((v, text_of(v.rule).filter(|t| t.lint == lint)?)));
    let mut of_lint = of_lint.peekable();
    if of_lint.peek().is_none() {
        return;
    }
    let statements: BTreeMap<InstId, StmtId> =
        cx.instructions().map(|i| (i.inst, i.stmt)).collect();
    let mut reported: BTreeMap<(Rule, Cause), Vec<Reported<'_>>> = BTreeMap::new();
    let mut missing: Vec<(Rule, usize)> = Vec::new();
    for (violation, text) in of_lint {
        let Some(&stmt) = statements.get(&violation.inst) else {
            continue;
        };
        // Where one fence is missing, others usually are.
        if matches!(violation.rule, Rule::TensorFence | Rule::TensorFenceBefore) {
            if missing.iter().any(|(rule, _)| *rule == violation.rule) {
                continue;
            }
            // A kernel without any fence was written without them: the other rule has the same cause.
            if let Some(first) = missing.first().filter(|_| !has_tensor_fence(cx)) {
                if let Some(finding) = found.get_mut(first.1) {
                    finding.repeat(cx.span(stmt));
                }
                continue;
            }
            missing.push((violation.rule, found.len()));
        }
        if let Some(cause) = violation.cause.filter(|_| !text.cause.is_empty()) {
            let cause = Cause::of(cx, violation, statements.get(&cause).copied(), cause);
            let same = reported.entry((violation.rule, cause)).or_default();
            let is_same = |r: &&Reported<'_>| r.violation.certainty == violation.certainty;
            if let Some(first) = same.iter().find(is_same) {
                if let Some(finding) = found.get_mut(first.index) {
                    finding.repeat(cx.span(stmt));
                }
                continue;
            }
            if same.iter().any(|r| follows(cx, r.stmt, stmt)) {
                continue;
            }
            same.push(Reported {
                violation,
                stmt,
                index: found.len(),
            });
        }
        found.push(finding(cx, violation, &text, stmt, &statements));
    }
}

/// Whether the function contains a fence of tensor memory.
fn has_tensor_fence(cx: &FunctionContext<'_>) -> bool {
    let is_fence = |action| {
        matches!(
            action,
            Some(Action::TensorFenceBefore | Action::TensorFenceAfter)
        )
    };
    cx.instructions().any(|at| is_fence(at.facts.action()))
}

/// Whether `before` dominates `after`.
fn follows(cx: &FunctionContext<'_>, before: StmtId, after: StmtId) -> bool {
    let block = |stmt| cx.cfg().of_statement(stmt);
    let (Some(a), Some(b)) = (block(before), block(after)) else {
        return false;
    };
    cx.analysis().dominators().dominates(a, b)
}

fn finding(
    cx: &FunctionContext<'_>,
    violation: &Violation,
    text: &Text,
    stmt: StmtId,
    statements: &BTreeMap<InstId, StmtId>,
) -> Finding {
    let does = match violation.certainty {
        Certainty::Definite => text.does[0],
        Certainty::Possible => text.does[1],
    };
    let message = format!("`{}` {does} {}", cx.mnemonic(violation.inst), text.rest);
    let mut finding = cx
        .finding(text.lint, violation.certainty, stmt, message)
        .with_help(text.help);
    let cause = violation.cause.and_then(|inst| statements.get(&inst));
    if let Some(&cause) = cause.filter(|c| **c != stmt && !text.cause.is_empty()) {
        finding = finding.with_label(cx.span(cause), text.cause);
    }
    finding
}
