//! What breaks the protocols of asynchronous operations, as findings of the lints that report it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::{Certainty, Rule, Violation};
use ptx_ir::{InstId, StmtId};

use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// What is told about a rule.
struct Text {
    lint: Lint,
    /// What the instruction does, if it is certain and if it is not.
    does: [&'static str; 2],
    /// What it does that to.
    rest: &'static str,
    help: &'static str,
    /// What the other instruction does.
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

/// What is told about a rule; `None` for one that no lint reports.
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
            "the destination of an asynchronous copy before the copy was waited for",
            "wait before it for all groups that the copy may be in, or for the phase of the mbarrier object that the copy reports to",
            "the copy starts here",
        ),
        Rule::CopyNotVisible => text(
            lint,
            ["reads", "may read"],
            "what other threads copied, without a barrier after they waited for their copies",
            "add a barrier, such as `bar.sync 0`, between the wait for the copies and this instruction: the wait covers only copies of the same thread",
            "the copy starts here",
        ),
        Rule::ReadNotFinished => text(
            lint,
            ["overwrites", "may overwrite"],
            "memory that other threads read, without a barrier after their reads",
            "add a barrier between the last read of the memory and the copy",
            "it is read here",
        ),
        Rule::SourceNotAwaited => text(
            lint,
            ["overwrites", "may overwrite"],
            "the source of an asynchronous copy before the copy was waited for",
            "commit the copy to a group and wait for the group before: with `.read`, until the source was read",
            "the copy starts here",
        ),
        Rule::ExpectedBytes => text(
            lint,
            ["lets", "may let"],
            "the object expect another number of bytes than the copies that report to it have",
            "expect the sum of the bytes of the copies",
            "",
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
            "a register of an asynchronous product before the product was waited for",
            "commit the product to a group and wait for the group before: `wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;`",
            "the product starts here",
        ),
        Rule::WarpgroupFence => text(
            lint,
            ["uses", "may use"],
            "registers that were written after the last fence of the warpgroup, or before the first one",
            "add `wgmma.fence.sync.aligned;` between the last write of these registers and the product",
            "",
        ),
        _ => return None,
    })
}

fn objects(rule: Rule) -> Option<Text> {
    Some(match rule {
        Rule::ClusterBarrier => text(
            Lint::BarrierDivergence,
            ["breaks", "may break"],
            "the order of arrivals and waits at the barrier of the cluster",
            "let each thread wait once, with `barrier.cluster.wait`, after each time that it arrives with `barrier.cluster.arrive`",
            "",
        ),
        Rule::MbarrierNotInitialized => text(
            Lint::MbarrierInit,
            ["uses", "may use"],
            "an mbarrier object that is not initialized, as far as this thread knows",
            "initialize the object before, in one thread, and let all threads meet at a barrier after that",
            "",
        ),
        Rule::MbarrierInitializedTwice => text(
            Lint::MbarrierInit,
            ["initializes", "may initialize"],
            "an mbarrier object that is initialized already",
            "use the next phase of the object, or end it with `mbarrier.inval` before",
            "",
        ),
        Rule::MbarrierNotPublished => text(
            Lint::MbarrierInit,
            ["arrives", "may arrive"],
            "without release semantics after an mbarrier object was initialized, so that other CTAs of the cluster need not see it",
            "add `fence.mbarrier_init.release.cluster;` after the initialization",
            "",
        ),
        Rule::MbarrierPhase => text(
            Lint::MbarrierInit,
            ["does", "may"],
            "not wait: the phase of the mbarrier object with this parity is complete already",
            "wait for parity 0 first, and for the other parity each time that the object is used again",
            "",
        ),
        Rule::MbarrierNotFenced => text(
            Lint::MbarrierInit,
            ["reports", "may report"],
            "through the async proxy to an mbarrier object that the thread has just initialized, without a fence between them",
            "add `fence.mbarrier_init.release.cluster;` or `fence.proxy.async.shared::cta;` after the initialization",
            "",
        ),
        Rule::MbarrierOverwritten => text(
            Lint::MbarrierInit,
            ["writes", "may write"],
            "to the memory of an mbarrier object",
            "end the object with `mbarrier.inval` before, or use other memory",
            "",
        ),
        Rule::ProxyFence => text(
            Lint::ProxyFence,
            ["reads", "may read"],
            "through the async proxy what was written through the generic proxy, without a fence between them",
            "add `fence.proxy.async` after the writes, in the threads that write, before the barrier or the instruction",
            "",
        ),
        Rule::TensorMapFence => text(
            Lint::ProxyFence,
            ["uses", "may use"],
            "a tensor map that was changed, without the fences of the tensormap proxy",
            "add `fence.proxy.tensormap::generic.release` after the changes and `fence.proxy.tensormap::generic.acquire` of the map before its use",
            "",
        ),
        _ => return None,
    })
}

fn tensor_memory(rule: Rule) -> Option<Text> {
    let (does, rest, help, cause) = match rule {
        Rule::TensorLoadNotAwaited => (
            ["accesses", "may access"],
            "a register that is loaded from tensor memory before the load was waited for",
            "add `tcgen05.wait::ld.sync.aligned;` before it",
            "the load starts here",
        ),
        Rule::TensorMemoryNotAwaited => (
            ["accesses or frees", "may access or free"],
            "tensor memory while an operation on it is pending",
            "wait before: for loads and stores with `tcgen05.wait`, for other operations with `tcgen05.commit` and the mbarrier object",
            "the operation starts here",
        ),
        Rule::TensorFence => (
            ["follows", "may follow"],
            "operations on tensor memory from which a barrier or an mbarrier object separates it, without a fence between that and this instruction",
            "add `tcgen05.fence::after_thread_sync;` after the synchronization of threads, before this instruction",
            "",
        ),
        Rule::TensorFenceBefore => (
            ["synchronizes", "may synchronize"],
            "threads after operations on tensor memory without a fence between them",
            "add `tcgen05.fence::before_thread_sync;` after the operations, before this instruction",
            "",
        ),
        Rule::TensorMemoryNotFreed => (
            ["allocates", "may allocate"],
            "tensor memory that is never freed",
            "free it before the kernel ends, after a barrier",
            "",
        ),
        Rule::AllocationAfterRelinquish => (
            ["allocates", "may allocate"],
            "tensor memory after the CTA gave up the right to do so",
            "allocate first, and give up the right after the last allocation",
            "",
        ),
        Rule::FreeWithoutAllocation => (
            ["frees", "may free"],
            "tensor memory that is not allocated",
            "free each allocation once, on the paths where it was made",
            "",
        ),
        Rule::FreeOfOtherSize => (
            ["frees", "may free"],
            "another number of columns than was allocated",
            "give the number of columns of the allocation",
            "",
        ),
        Rule::FreeWithoutBarrier => (
            ["frees", "may free"],
            "tensor memory that other warps still access: there is no barrier after their accesses",
            "let all threads meet at a barrier, such as `bar.sync 0`, between the last access and this instruction",
            "",
        ),
        Rule::AllocationOfMore => (
            ["allocates", "may allocate"],
            "more columns than an earlier allocation, which the CTA must not do",
            "allocate in the order of decreasing numbers of columns",
            "",
        ),
        Rule::TensorMemoryFreed => (
            ["accesses", "may access"],
            "tensor memory that was freed",
            "free it after the last access",
            "",
        ),
        Rule::TensorAddressNotVisible => (
            ["reads", "may read"],
            "the address of tensor memory before a barrier after another warp allocated it",
            "add a barrier between the allocation and this instruction",
            "",
        ),
        _ => return None,
    };
    Some(text(Lint::Tcgen05Protocol, does, rest, help, cause))
}

/// Adds what a lint reports: of what has one cause, only the first on a path.
pub(crate) fn check(cx: &FunctionContext<'_>, lint: Lint, found: &mut Vec<Finding>) {
    let all = cx.violations().iter();
    let of_lint = all.filter_map(|v| Some((v, text_of(v.rule).filter(|t| t.lint == lint)?)));
    let mut of_lint = of_lint.peekable();
    if of_lint.peek().is_none() {
        return;
    }
    let statements: BTreeMap<InstId, StmtId> =
        cx.instructions().map(|i| (i.inst, i.stmt)).collect();
    let mut reported: Vec<(InstId, StmtId)> = Vec::new();
    let mut missing: Vec<Rule> = Vec::new();
    for (violation, text) in of_lint {
        let Some(&stmt) = statements.get(&violation.inst) else {
            continue;
        };
        // Where one fence is missing, others usually are.
        if matches!(violation.rule, Rule::TensorFence | Rule::TensorFenceBefore) {
            if missing.contains(&violation.rule) {
                continue;
            }
            missing.push(violation.rule);
        }
        let cause = violation.cause.filter(|_| !text.cause.is_empty());
        if let Some(cause) = cause {
            let follows =
                |&(other, before): &(InstId, StmtId)| other == cause && follows(cx, before, stmt);
            if reported.iter().any(follows) {
                continue;
            }
            reported.push((cause, stmt));
        }
        found.push(finding(cx, violation, &text, stmt, &statements));
    }
}

/// Whether a statement is on every path to another one that comes later.
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
