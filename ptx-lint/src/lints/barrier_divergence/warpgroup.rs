//! Instructions of a warpgroup in code that only some of its warps reach.

use alloc::format;
use alloc::vec::Vec;

use ptx_analysis::threads::ThreadValues;
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::EntityId as _;
use ptx_isa::{Action, ConvergenceScope, Role};

use super::with_cause;
use crate::context::{FunctionContext, Reached};
use crate::{Certainty, Finding, Lint};

/// The threads of a warpgroup.
const THREADS: u32 = 128;

/// The maximum number of kinds of instructions at which warps meet at different places.
const MOST_MEETINGS: usize = 64;

/// An instruction that all warps of a warpgroup execute together.
struct WarpgroupInst<'c> {
    inst: Reached<'c>,
    meeting: Meeting,
    /// The set of the sample threads that may execute it.
    threads: u128,
}

/// The instructions at which the warps of a warpgroup meet.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Meeting {
    /// All warps execute the same instruction.
    SameInstruction,
    /// Each warp executes an instruction with this action and this constant, perhaps at different places.
    AnyInstruction(Option<Action>, Option<i64>),
}

impl Meeting {
    /// Returns `None` if the instruction is not executed by a warpgroup.
    fn new(cx: &FunctionContext<'_>, inst: &Reached<'_>) -> Option<Self> {
        use Action::{WarpgroupCommit, WarpgroupFence, WarpgroupMultiply, WarpgroupWait};
        match inst.facts.action() {
            Some(WarpgroupMultiply | WarpgroupFence | WarpgroupCommit | WarpgroupWait) => {
                Some(Self::SameInstruction)
            }
            _ if inst.facts.convergence() == Some(ConvergenceScope::Warpgroup) => {
                let constant = inst.facts.operands().find(|o| o.role == Role::Imm);
                Some(Self::AnyInstruction(
                    inst.facts.action(),
                    constant.and_then(|constant| cx.integer(constant.operand)),
                ))
            }
            _ => None,
        }
    }
}

pub(super) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    if !cx
        .instructions()
        .any(|inst| inst.facts.convergence() == Some(ConvergenceScope::Warpgroup))
    {
        return;
    }
    let (Some((mut threads, sets)), Some(divergence)) = (cx.threads(), cx.divergence()) else {
        return;
    };
    let warpgroups = warpgroups(threads.samples());
    let instructions: Vec<WarpgroupInst<'_>> = cx
        .instructions()
        .filter_map(|inst| {
            Some(WarpgroupInst {
                meeting: Meeting::new(cx, &inst)?,
                threads: executing_threads(cx, &mut threads, sets, &inst)?,
                inst,
            })
        })
        .collect();
    let meetings = threads_of_meetings(&instructions);
    for WarpgroupInst {
        inst,
        meeting,
        threads,
    } in &instructions
    {
        let meeting_threads = match meeting {
            Meeting::SameInstruction => *threads,
            Meeting::AnyInstruction(..) => {
                let entry = meetings.iter().find(|(other, _)| other == meeting);
                entry.map_or(u128::MAX, |(_, threads)| *threads)
            }
        };
        let is_partial = warpgroups
            .iter()
            .any(|warpgroup| threads & warpgroup != 0 && meeting_threads & warpgroup != *warpgroup);
        if !is_partial || findings.iter().any(|finding| finding.stmt == inst.stmt) {
            continue;
        }
        let mnemonic = cx.mnemonic(inst.inst);
        let message = format!(
            "some warps of a warpgroup may not reach `{mnemonic}`, which all warps of the warpgroup must execute together"
        );
        let finding = cx.finding(
            Lint::BarrierDivergence,
            Certainty::Possible,
            inst.stmt,
            message,
        );
        let causes = cx
            .cfg()
            .of_statement(inst.stmt)
            .map_or_else(Vec::new, |block| divergence.causes(block, Uniformity::Cta));
        let help = "let whole warpgroups, 128 threads from a multiple of 128 on, take the branch";
        findings.push(with_cause(cx, finding, &causes).with_help(help));
    }
}

/// Returns the threads that may execute one of the instructions of each kind. Further kinds than the first ones are left out.
fn threads_of_meetings(instructions: &[WarpgroupInst<'_>]) -> Vec<(Meeting, u128)> {
    let mut meetings: Vec<(Meeting, u128)> = Vec::new();
    for instruction in instructions {
        let mut entries = meetings.iter_mut();
        if let Some((_, threads)) = entries.find(|(meeting, _)| *meeting == instruction.meeting) {
            *threads |= instruction.threads;
        } else if meetings.len() < MOST_MEETINGS {
            meetings.push((instruction.meeting, instruction.threads));
        }
    }
    meetings
}

/// Returns the set of the sample threads of each warpgroup.
fn warpgroups(samples: &[u32]) -> Vec<u128> {
    let mut groups: Vec<u128> = Vec::new();
    for (sample, thread) in samples.iter().enumerate() {
        let group = (thread / THREADS) as usize;
        if groups.len() <= group {
            groups.resize(group + 1, 0);
        }
        if let Some(set) = groups.get_mut(group) {
            *set |= 1 << sample;
        }
    }
    groups
}

/// Returns the set of the sample threads that may execute an instruction. `sets` are the sample threads that reach each block.
fn executing_threads(
    cx: &FunctionContext<'_>,
    threads: &mut ThreadValues<'_>,
    sets: &[u128],
    inst: &Reached<'_>,
) -> Option<u128> {
    let block = cx.cfg().of_statement(inst.stmt)?;
    let reaching = sets.get(block.index()).copied().unwrap_or(u128::MAX);
    let Some(guard) = threads.guard(inst.stmt, &inst.facts) else {
        return Some(reaching);
    };
    let excluded = (0..threads.samples().len()).filter(|sample| guard.get(*sample) == 0);
    Some(excluded.fold(reaching, |set, sample| set & !(1 << sample)))
}
