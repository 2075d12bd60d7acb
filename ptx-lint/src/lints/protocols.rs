//! The lints about the protocols of asynchronous operations: they report the violations that `ptx_analysis::asynchrony` finds.
//!
//! * `async-copy-wait`: asynchronous copies whose destination or source is accessed too early
//! * `proxy-fence`: missing proxy fences
//! * `tcgen05-protocol`: tensor memory that is accessed, allocated or freed at the wrong time
//! * `wgmma-protocol`: registers of asynchronous matrix operations that are accessed too early or without a fence
//! * parts of `mbarrier-init` and `barrier-divergence`

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::{Certainty, Rule, Violation};
use ptx_analysis::cfg::BlockId;
use ptx_analysis::graph::LoopId;
use ptx_ir::{InstId, StmtId};
use ptx_isa::Action;

use crate::context::FunctionContext;
use crate::{Finding, Lint};

pub(super) fn check_async_copy_wait(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    check(cx, Lint::AsyncCopyWait, findings);
}

pub(super) fn check_tcgen05_protocol(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    check(cx, Lint::Tcgen05Protocol, findings);
}

pub(super) fn check_wgmma_protocol(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    check(cx, Lint::WgmmaProtocol, findings);
}

/// The texts of the findings about a rule. The message is "`mnemonic` verb object".
struct RuleText {
    lint: Lint,
    /// The verb of a definite finding.
    verb: &'static str,
    /// The verb of a possible finding.
    possible_verb: &'static str,
    object: &'static str,
    help: &'static str,
    /// The label at the instruction that causes the violation; empty if the cause is not shown.
    cause_label: &'static str,
}

/// Returns the texts of a rule, or `None` if no lint reports it.
fn rule_text(rule: Rule) -> Option<RuleText> {
    copy_text(rule)
        .or_else(|| matrix_text(rule))
        .or_else(|| synchronization_text(rule))
        .or_else(|| tensor_memory_text(rule))
}

fn copy_text(rule: Rule) -> Option<RuleText> {
    let lint = Lint::AsyncCopyWait;
    Some(match rule {
        Rule::CopyNotAwaited => RuleText {
            lint,
            verb: "accesses",
            possible_verb: "may access",
            object: "the destination of a pending asynchronous copy",
            help: "first wait for all groups that may contain the copy, or for the phase of the mbarrier object to which the copy reports",
            cause_label: "the copy starts here",
        },
        Rule::CopyNotVisible => RuleText {
            lint,
            verb: "reads",
            possible_verb: "may read",
            object: "data that other threads copied, without a barrier after their waits",
            help: "add a barrier, such as `bar.sync 0`, between the wait and this instruction: a wait covers only copies of the thread that waits",
            cause_label: "the copy starts here",
        },
        Rule::ReadNotFinished => RuleText {
            lint,
            verb: "overwrites",
            possible_verb: "may overwrite",
            object: "memory that other threads read, without a barrier after the reads",
            help: "add a barrier between the last read of the memory and the copy",
            cause_label: "the memory is read here",
        },
        Rule::SourceNotAwaited => RuleText {
            lint,
            verb: "overwrites",
            possible_verb: "may overwrite",
            object: "the source of a pending asynchronous copy",
            help: "first commit the copy to a group and wait for the group; a wait with `.read` returns as soon as the source has been read",
            cause_label: "the copy starts here",
        },
        Rule::ExpectedBytes => RuleText {
            lint,
            verb: "expects",
            possible_verb: "may expect",
            object: "a different number of bytes than the copies that report to the mbarrier object transfer",
            help: "expect the total number of bytes of the copies",
            cause_label: "",
        },
        Rule::ExpectedBytesDiffer => RuleText {
            lint,
            verb: "expects",
            possible_verb: "may expect",
            object: "a different number of bytes than the copies transfer: the same tensor maps are expected to transfer another number elsewhere",
            help: "expect the number of bytes of the boxes of the tensor maps",
            cause_label: "copies by the same tensor maps are expected here",
        },
        _ => return None,
    })
}

fn matrix_text(rule: Rule) -> Option<RuleText> {
    let lint = Lint::WgmmaProtocol;
    Some(match rule {
        Rule::ProductNotAwaited => RuleText {
            lint,
            verb: "accesses",
            possible_verb: "may access",
            object: "a register of a pending asynchronous matrix operation",
            help: "first commit the operation to a group and wait for the group: `wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;`",
            cause_label: "the operation starts here",
        },
        Rule::WarpgroupFence => RuleText {
            lint,
            verb: "uses",
            possible_verb: "may use",
            object: "registers without a warpgroup fence after their last write",
            help: "add `wgmma.fence.sync.aligned;` between the last write of these registers and this instruction",
            cause_label: "the registers are written here",
        },
        _ => return None,
    })
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn synchronization_text(rule: Rule) -> Option<RuleText> {
    Some(match rule {
        Rule::ClusterBarrier => RuleText {
            lint: Lint::BarrierDivergence,
            verb: "breaks",
            possible_verb: "may break",
            object: "the alternation of arrivals and waits at the cluster barrier",
            help: "execute exactly one `barrier.cluster.wait` after each `barrier.cluster.arrive` in every thread",
            cause_label: "",
        },
        Rule::MbarrierNotInitialized => RuleText {
            lint: Lint::MbarrierInit,
            verb: "uses",
            possible_verb: "may use",
            object: "an mbarrier object that is not initialized, or whose initialization is not visible to this thread",
            help: "first initialize the object in one thread, and add a barrier for all threads after the initialization",
            cause_label: "an object is initialized here",
        },
        Rule::MbarrierInitializedTwice => RuleText {
            lint: Lint::MbarrierInit,
            verb: "initializes",
            possible_verb: "may initialize",
            object: "an mbarrier object that is already initialized",
            help: "use the next phase of the object, or invalidate it with `mbarrier.inval` first",
            cause_label: "it is initialized here first",
        },
        Rule::MbarrierNotArrived => RuleText {
            lint: Lint::MbarrierInit,
            verb: "waits",
            possible_verb: "may wait",
            object: "for ever: no instruction of the kernel arrives at the mbarrier object",
            help: "arrive at the object after the work whose end the phase signals, as with `mbarrier.arrive.expect_tx` before bulk copies or with `tcgen05.commit`",
            cause_label: "",
        },
        Rule::MbarrierNotPublished => RuleText {
            lint: Lint::MbarrierInit,
            verb: "arrives",
            possible_verb: "may arrive",
            object: "without release semantics after initializing an mbarrier object, so the initialization is not guaranteed to be visible to other CTAs of the cluster",
            help: "add `fence.mbarrier_init.release.cluster;` after the initialization",
            cause_label: "the object is initialized here",
        },
        Rule::MbarrierPhase => RuleText {
            lint: Lint::MbarrierInit,
            verb: "returns",
            possible_verb: "may return",
            object: "immediately: the phase of the mbarrier object with this parity is already complete",
            help: "wait for parity 0 first, and invert the parity for each further phase",
            cause_label: "the object is initialized here",
        },
        Rule::MbarrierNotFenced => RuleText {
            lint: Lint::MbarrierInit,
            verb: "reports",
            possible_verb: "may report",
            object: "to an mbarrier object through the async proxy, without a fence after the initialization of the object",
            help: "add `fence.mbarrier_init.release.cluster;` or `fence.proxy.async.shared::cta;` after the initialization",
            cause_label: "the object is initialized here",
        },
        Rule::MbarrierOverwritten => RuleText {
            lint: Lint::MbarrierInit,
            verb: "writes",
            possible_verb: "may write",
            object: "to the memory of an initialized mbarrier object",
            help: "invalidate the object with `mbarrier.inval` first, or use different memory",
            cause_label: "the object is initialized here",
        },
        Rule::ProxyFence => RuleText {
            lint: Lint::ProxyFence,
            verb: "reads",
            possible_verb: "may read",
            object: "data through the async proxy that was written through the generic proxy, without a proxy fence in between",
            help: "add `fence.proxy.async` in the writing threads, after the writes and before the barrier or this instruction",
            cause_label: "the memory is written here",
        },
        Rule::TensorMapFence => RuleText {
            lint: Lint::ProxyFence,
            verb: "uses",
            possible_verb: "may use",
            object: "a modified tensor map without the fences of the tensormap proxy",
            help: "add `fence.proxy.tensormap::generic.release` after the modification and `fence.proxy.tensormap::generic.acquire` of the tensor map before its use",
            cause_label: "",
        },
        _ => return None,
    })
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn tensor_memory_text(rule: Rule) -> Option<RuleText> {
    Some(match rule {
        Rule::TensorLoadNotAwaited => RuleText {
            lint: Lint::Tcgen05Protocol,
            verb: "overwrites",
            possible_verb: "may overwrite",
            object: "a register of a pending load from tensor memory",
            help: "add `tcgen05.wait::ld.sync.aligned;` before this instruction",
            cause_label: "the load starts here",
        },
        Rule::TensorMemoryNotAwaited => RuleText {
            lint: Lint::Tcgen05Protocol,
            verb: "accesses or frees",
            possible_verb: "may access or free",
            object: "tensor memory while an operation on it is pending",
            help: "first wait for the operation: use `tcgen05.wait` for loads and stores, and `tcgen05.commit` with an mbarrier object for other operations",
            cause_label: "the operation starts here",
        },
        Rule::TensorFence => RuleText {
            lint: Lint::Tcgen05Protocol,
            verb: "follows",
            possible_verb: "may follow",
            object: "operations on tensor memory across a barrier or an mbarrier wait, without a fence after the synchronization",
            help: "add `tcgen05.fence::after_thread_sync;` between the synchronization and this instruction",
            cause_label: "the operation starts here",
        },
        Rule::TensorFenceBefore => RuleText {
            lint: Lint::Tcgen05Protocol,
            verb: "synchronizes",
            possible_verb: "may synchronize",
            object: "threads after operations on tensor memory, without a fence in between",
            help: "add `tcgen05.fence::before_thread_sync;` between the operations and this instruction",
            cause_label: "the operation starts here",
        },
        Rule::TensorMemoryNotFreed => RuleText {
            lint: Lint::Tcgen05Protocol,
            verb: "allocates",
            possible_verb: "may allocate",
            object: "tensor memory that is never freed",
            help: "free it after a barrier, before the kernel ends",
            cause_label: "",
        },
        Rule::AllocationAfterRelinquish => RuleText {
            lint: Lint::Tcgen05Protocol,
            verb: "allocates",
            possible_verb: "may allocate",
            object: "tensor memory after the CTA relinquished the allocation permit",
            help: "relinquish the permit after the last allocation",
            cause_label: "",
        },
        Rule::FreeWithoutAllocation => RuleText {
            lint: Lint::Tcgen05Protocol,
            verb: "frees",
            possible_verb: "may free",
            object: "tensor memory that is not allocated",
            help: "free each allocation once, on the paths that allocate it",
            cause_label: "",
        },
        Rule::FreeOfOtherSize => RuleText {
            lint: Lint::Tcgen05Protocol,
            verb: "frees",
            possible_verb: "may free",
            object: "a different number of columns than was allocated",
            help: "use the number of columns of the allocation",
            cause_label: "",
        },
        Rule::FreeWithoutBarrier => RuleText {
            lint: Lint::Tcgen05Protocol,
            verb: "frees",
            possible_verb: "may free",
            object: "tensor memory without a barrier after the accesses of other warps",
            help: "add a barrier for all threads, such as `bar.sync 0`, between the last access and this instruction",
            cause_label: "",
        },
        Rule::AllocationOfMore => RuleText {
            lint: Lint::Tcgen05Protocol,
            verb: "allocates",
            possible_verb: "may allocate",
            object: "more columns than an earlier allocation of the CTA, which is not allowed",
            help: "order the allocations by decreasing number of columns",
            cause_label: "",
        },
        Rule::TensorMemoryFreed => RuleText {
            lint: Lint::Tcgen05Protocol,
            verb: "accesses",
            possible_verb: "may access",
            object: "tensor memory that was freed",
            help: "free the memory after the last access",
            cause_label: "it is freed here",
        },
        Rule::TensorAddressNotVisible => RuleText {
            lint: Lint::Tcgen05Protocol,
            verb: "reads",
            possible_verb: "may read",
            object: "the address of tensor memory without a barrier after another warp allocated it",
            help: "add a barrier between the allocation and this instruction",
            cause_label: "",
        },
        _ => return None,
    })
}

/// The common cause of several violations.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Instruction(InstId),
    /// The copies in an outermost loop, or those outside of loops: one wait with a smaller number of pending groups is missing.
    Copies(Option<LoopId>),
    /// The writes to accumulators in a block: one fence after all of them is missing.
    Block(Option<BlockId>),
}

impl Cause {
    /// Returns the cause of a violation. `inst` is the instruction that causes it, and `stmt` its statement.
    fn new(
        cx: &FunctionContext<'_>,
        violation: &Violation,
        stmt: Option<StmtId>,
        inst: InstId,
    ) -> Self {
        if violation.certainty == Certainty::Definite {
            return Self::Instruction(inst);
        }
        let block = stmt.and_then(|stmt| cx.cfg().of_statement(stmt));
        match violation.rule {
            Rule::CopyNotAwaited | Rule::CopyNotVisible | Rule::ReadNotFinished => {
                let loops = cx.analysis().loops();
                let innermost = block.and_then(|block| loops.innermost(block));
                let enclosing = core::iter::successors(innermost, |id| loops.get(*id)?.parent());
                Self::Copies(enclosing.last())
            }
            Rule::WarpgroupFence => Self::Block(block),
            _ => Self::Instruction(inst),
        }
    }
}

/// A violation that has a finding.
struct Reported<'a> {
    violation: &'a Violation,
    stmt: StmtId,
    /// The index of its finding.
    index: usize,
}

/// Adds the findings of a lint. Violations with the same cause and certainty are one finding. A violation is not reported if a statement that
/// dominates it is reported with the same cause.
pub(super) fn check(cx: &FunctionContext<'_>, lint: Lint, findings: &mut Vec<Finding>) {
    let violations: Vec<(&Violation, RuleText)> = cx
        .violations()
        .iter()
        .filter_map(|violation| {
            let text = rule_text(violation.rule).filter(|text| text.lint == lint)?;
            Some((violation, text))
        })
        .collect();
    if violations.is_empty() {
        return;
    }
    let statements: BTreeMap<InstId, StmtId> = cx
        .instructions()
        .map(|instruction| (instruction.inst, instruction.stmt))
        .collect();
    let mut reported: BTreeMap<(Rule, Cause), Vec<Reported<'_>>> = BTreeMap::new();
    // The rules about missing fences of tensor memory, and the indices of their findings.
    let mut missing_fences: Vec<(Rule, usize)> = Vec::new();
    for (violation, text) in violations {
        let Some(&stmt) = statements.get(&violation.inst) else {
            continue;
        };
        // Where one fence is missing, others usually are.
        if matches!(violation.rule, Rule::TensorFence | Rule::TensorFenceBefore) {
            if missing_fences
                .iter()
                .any(|(rule, _)| *rule == violation.rule)
            {
                continue;
            }
            // A kernel without any fence was written without them: the other rule has the same cause.
            if let Some((_, index)) = missing_fences.first()
                && !has_tensor_fence(cx)
            {
                if let Some(finding) = findings.get_mut(*index) {
                    finding.repeat(cx.span(stmt));
                }
                continue;
            }
            missing_fences.push((violation.rule, findings.len()));
        }
        if let Some(inst) = violation.cause
            && !text.cause_label.is_empty()
        {
            let cause = Cause::new(cx, violation, statements.get(&inst).copied(), inst);
            let same_cause = reported.entry((violation.rule, cause)).or_default();
            let first = same_cause
                .iter()
                .find(|reported| reported.violation.certainty == violation.certainty);
            if let Some(first) = first {
                if let Some(finding) = findings.get_mut(first.index) {
                    finding.repeat(cx.span(stmt));
                }
                continue;
            }
            if same_cause
                .iter()
                .any(|reported| dominates(cx, reported.stmt, stmt))
            {
                continue;
            }
            same_cause.push(Reported {
                violation,
                stmt,
                index: findings.len(),
            });
        }
        findings.push(finding(cx, violation, &text, stmt, &statements));
    }
}

/// Returns `true` if the function contains a fence of tensor memory.
fn has_tensor_fence(cx: &FunctionContext<'_>) -> bool {
    cx.instructions().any(|instruction| {
        matches!(
            instruction.facts.action(),
            Some(Action::TensorFenceBefore | Action::TensorFenceAfter)
        )
    })
}

/// Returns `true` if the block of `first` dominates the block of `second`.
fn dominates(cx: &FunctionContext<'_>, first: StmtId, second: StmtId) -> bool {
    let block = |stmt| cx.cfg().of_statement(stmt);
    let (Some(first), Some(second)) = (block(first), block(second)) else {
        return false;
    };
    cx.analysis().dominators().dominates(first, second)
}

fn finding(
    cx: &FunctionContext<'_>,
    violation: &Violation,
    text: &RuleText,
    stmt: StmtId,
    statements: &BTreeMap<InstId, StmtId>,
) -> Finding {
    let verb = match violation.certainty {
        Certainty::Definite => text.verb,
        Certainty::Possible => text.possible_verb,
    };
    let mnemonic = cx.mnemonic(violation.inst);
    let message = format!("`{mnemonic}` {verb} {}", text.object);
    let finding = cx
        .finding(text.lint, violation.certainty, stmt, message)
        .with_help(text.help);
    let cause = violation.cause.and_then(|inst| statements.get(&inst));
    match cause {
        Some(&cause) if cause != stmt && !text.cause_label.is_empty() => {
            finding.with_label(cx.span(cause), text.cause_label)
        }
        _ => finding,
    }
}
