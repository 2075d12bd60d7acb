//! `proxy-fence`: writes through one proxy and reads through another one without a proxy fence, in one thread and after a wait for a flag.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::cfg::BlockId;
use ptx_ir::StmtId;
use ptx_ir::facts::{Facts, Flow, Space};
use ptx_isa::{Modifier, Proxy, StateSpace};

use super::{fence_strength, protocols};
use crate::context::{FunctionContext, Reached};
use crate::{Finding, Lint};

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    protocols::check(cx, Lint::ProxyFence, findings);
    findings.extend(copies_after_flag(cx));
}

/// Returns the finding about asynchronous reads of global memory after a wait for a flag. The threads that set the flag probably wrote the memory through
/// the generic proxy.
fn copies_after_flag(cx: &FunctionContext<'_>) -> Option<Finding> {
    let has_copies = cx
        .instructions()
        .any(|inst| reads_global_asynchronously(inst.facts));
    // A fence anywhere may be that of the threads that write.
    let has_fences = cx.instructions().any(|inst| is_fence(inst.facts));
    if !has_copies || has_fences || !may_be_data_of_generic_proxy(cx) {
        return None;
    }
    let waits = fence_strength::flag_waits(cx);
    let copies: Vec<Reached<'_>> = reachable_copies(cx, &waits);
    let (first, repeats) = copies.split_first()?;
    let message = format!(
        "`{}` may read data through the async proxy that other threads wrote before they set a flag, without a proxy fence",
        cx.mnemonic(first.inst)
    );
    let mut finding = cx
        .finding(Lint::ProxyFence, Certainty::Possible, first.stmt, message)
        .with_help(
            "add `fence.proxy.async` after the wait for the flag, unless the threads that write the data execute it before they set the flag",
        );
    if let Some(wait) = waits.first() {
        finding = finding.with_label(cx.span(*wait), "the thread waits for the flag here");
    }
    for copy in repeats {
        finding.repeat(cx.span(copy.stmt));
    }
    Some(finding)
}

/// Returns the asynchronous reads of global memory to which a path leads from one of the statements, without a call. Linear in the size of the function.
fn reachable_copies<'c>(cx: &FunctionContext<'c>, starts: &[StmtId]) -> Vec<Reached<'c>> {
    let mut blocks: Vec<Vec<Reached<'c>>> = vec![Vec::new(); cx.cfg().len()];
    for inst in cx.instructions() {
        let block = cx.cfg().of_statement(inst.stmt);
        if let Some(instructions) = block.and_then(|b| blocks.get_mut(b.as_u32() as usize)) {
            instructions.push(inst);
        }
    }
    let mut copies: Vec<Reached<'c>> = Vec::new();
    // Adds the copies up to the next call; returns whether the end of the block is reached.
    let mut scan = |instructions: &[Reached<'c>]| {
        for inst in instructions {
            if matches!(inst.facts.flow(), Flow::Call | Flow::Unknown) {
                return false;
            }
            if reads_global_asynchronously(inst.facts)
                && copies.iter().all(|copy| copy.stmt != inst.stmt)
            {
                copies.push(*inst);
            }
        }
        true
    };
    let of_block = |block: BlockId| {
        blocks
            .get(block.as_u32() as usize)
            .map_or(&[][..], Vec::as_slice)
    };
    let mut worklist = Vec::new();
    for &start in starts {
        if let Some(block) = cx.cfg().of_statement(start) {
            let instructions = of_block(block);
            let next = instructions
                .iter()
                .position(|inst| inst.stmt == start)
                .map_or(0, |index| index + 1);
            if scan(instructions.get(next..).unwrap_or_default()) {
                worklist.push(block);
            }
        }
    }
    let mut is_visited = vec![false; cx.cfg().len()];
    while let Some(block) = worklist.pop() {
        for &successor in cx.cfg().successors(block) {
            if let Some(slot @ false) = is_visited.get_mut(successor.as_u32() as usize) {
                *slot = true;
                if scan(of_block(successor)) {
                    worklist.push(successor);
                }
            }
        }
    }
    copies.sort_by(|a, b| cx.order(a.stmt, b.stmt));
    copies
}

/// Returns `true` if the data of a flag may be written through the generic proxy: by other kernels, if this one writes nothing to global memory, or by
/// this kernel itself.
fn may_be_data_of_generic_proxy(cx: &FunctionContext<'_>) -> bool {
    let mut writes = cx
        .instructions()
        .flat_map(|inst| inst.facts.memory().collect::<Vec<_>>())
        .filter(|access| access.writes() && may_be_global(access.space))
        .peekable();
    writes.peek().is_none()
        || writes
            .any(|access| access.proxy == Proxy::Generic && access.order == Some(Modifier::Weak))
}

fn may_be_global(space: Space) -> bool {
    match space {
        Space::State(space) => space.base() == StateSpace::Global,
        Space::Generic => true,
        _ => false,
    }
}

fn reads_global_asynchronously(facts: Facts<'_>) -> bool {
    !facts.asynchronous().is_empty()
        && facts.memory().any(|access| {
            let is_global = matches!(
                access.space,
                Space::State(space) if space.base() == StateSpace::Global
            ) || access.space == Space::Tensor;
            access.proxy == Proxy::Async && access.reads() && is_global
        })
}

/// Returns `true` if an instruction is a fence between the generic and the async proxy for global memory.
fn is_fence(facts: Facts<'_>) -> bool {
    let names_shared =
        facts.has_modifier(Modifier::SharedCta) || facts.has_modifier(Modifier::SharedCluster);
    facts.is_fence()
        && facts.proxy() == Proxy::Async
        && (!names_shared || facts.has_modifier(Modifier::Global))
}
