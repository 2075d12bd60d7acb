//! `warp-mask`: member masks that include a lane that does not reach the instruction, or exclude one that does.

mod origin;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::threads::{PerThread, ThreadValues};
use ptx_analysis::uniformity::{FunctionUniformity, Uniformity};
use ptx_ir::EntityId as _;
use ptx_ir::{Operand, Statement};

use super::barrier_divergence::{Split, with_cause};
use crate::context::{FunctionContext, Reached};
use crate::divergence::Divergence;
use crate::{Certainty, Finding, Lint};

/// The number of lanes of a warp, and the number of the warps whose lanes are all sample threads.
const LANES: usize = 32;
const WARPS: usize = 2;
/// The maximum number of blocks that are searched for another instruction with the same mask.
const MOST_BLOCKS: usize = 64;

pub(crate) fn check(cx: &FunctionContext<'_>, findings: &mut Vec<Finding>) {
    let masked: Vec<Reached<'_>> = cx
        .instructions()
        .filter(|inst| inst.facts.member_mask().is_some())
        .collect();
    if masked.is_empty() {
        return;
    }
    let (Some(likely), Some(divergence), Some((mut threads, sets))) =
        (cx.likely(), cx.divergence(), cx.threads())
    else {
        return;
    };
    let mut split = Split::new(cx, divergence);
    for inst in masked {
        let Some(block) = cx.cfg().of_statement(inst.stmt) else {
            continue;
        };
        let guard = match inst.facts.guard() {
            Some(_) => likely.guard(inst.stmt),
            None => Uniformity::Grid,
        };
        let mut check = MaskCheck {
            cx,
            likely,
            divergence,
            threads: &mut threads,
            split: &mut split,
            sets,
            causes: divergence.causes(block, Uniformity::Warp),
            is_guarded: guard > Uniformity::Warp,
            inst,
            block,
        };
        findings.extend(check.finding());
    }
}

/// The check of an instruction with a mask.
struct MaskCheck<'a, 't, 'c> {
    cx: &'a FunctionContext<'c>,
    likely: &'a FunctionUniformity,
    divergence: &'a Divergence,
    threads: &'a mut ThreadValues<'t>,
    split: &'a mut Split<'t, 'c>,
    /// By block: the set of the sample threads that reach it.
    sets: &'a [u128],
    /// The divergent branches that the instruction is control dependent on.
    causes: Vec<BlockId>,
    /// The guard of the instruction may differ between lanes.
    is_guarded: bool,
    inst: Reached<'c>,
    block: BlockId,
}

/// An error in a mask.
#[derive(Copy, Clone, PartialEq, Eq)]
enum MaskError {
    /// The mask includes a lane that does not reach the instruction.
    AbsentLane(u32),
    /// The mask excludes a lane that reaches the instruction.
    ExcludedLane(u32),
    /// Lanes of the mask may not reach the instruction.
    Unknown,
}

/// The sample threads that may execute an instruction.
#[derive(Copy, Clone)]
struct ExecutingThreads {
    set: u128,
    /// The set contains no thread that does not execute the instruction.
    is_exact: bool,
}

impl MaskCheck<'_, '_, '_> {
    fn finding(&mut self) -> Option<Finding> {
        let operand = self.inst.facts.member_mask()?;
        let Some(mask) = self.mask(operand) else {
            let (certainty, message) = self.origin(operand)?;
            return Some(self.report(certainty, message.into()));
        };
        let executing = self.executing_threads();
        let error = self.mask_error(&mask, executing.set).or_else(|| {
            // A mask of a single lane is correct whenever the instruction is executed.
            let is_single_lane = (0..LANES).all(|lane| mask.get(lane).count_ones() <= 1);
            (!executing.is_exact && !is_single_lane).then_some(MaskError::Unknown)
        })?;
        if !matches!(error, MaskError::ExcludedLane(_)) && self.has_counterpart() {
            return None;
        }
        let is_definite =
            executing.is_exact && self.lane_always_exists(error) && self.is_always_executed();
        let (certainty, message) = if is_definite {
            (Certainty::Definite, definite_message(error))
        } else {
            (Certainty::Possible, possible_message(error))
        };
        Some(self.report(certainty, message))
    }

    fn report(&self, certainty: Certainty, message: String) -> Finding {
        let finding = self
            .cx
            .finding(Lint::WarpMask, certainty, self.inst.stmt, message);
        with_cause(self.cx, finding, &self.causes)
            .with_help("use a mask of exactly the lanes that reach the instruction, for example from a vote before the branch")
    }

    /// Returns the mask, if it is a function of the thread index.
    fn mask(&mut self, operand: Operand) -> Option<PerThread> {
        if let Some(mask) = self.cx.integer(operand) {
            return Some(PerThread::Same(mask as u64 & 0xffff_ffff));
        }
        let value = self.cx.read(self.inst.stmt, operand)?;
        self.threads.value(value)
    }

    /// Returns the sample threads that may execute the instruction.
    fn executing_threads(&mut self) -> ExecutingThreads {
        let reaching = self.sets.get(self.block.index()).copied();
        let mut set = reaching.unwrap_or(u128::MAX);
        let mut is_exact =
            self.divergence.level(self.block) <= Uniformity::Warp || !self.causes.is_empty();
        for branch in &self.causes {
            is_exact &= self
                .cx
                .last_instruction(*branch)
                .and_then(|(stmt, facts)| self.threads.guard(stmt, &facts))
                .is_some();
        }
        if self.is_guarded {
            match self.threads.guard(self.inst.stmt, &self.inst.facts) {
                Some(guard) => {
                    for sample in 0..self.threads.samples().len() {
                        if guard.get(sample) == 0 {
                            set &= !(1 << sample);
                        }
                    }
                }
                None => is_exact = false,
            }
        }
        ExecutingThreads { set, is_exact }
    }

    /// Compares the mask with the lanes that execute the instruction. Returns the first excluded lane, and if there is none, the first absent lane.
    fn mask_error(&self, mask: &PerThread, executing: u128) -> Option<MaskError> {
        let existing = match self.threads.samples().len() {
            128.. => u128::MAX,
            count => (1 << count) - 1,
        };
        // Code for CTAs of one warp may not declare their size.
        let warps = if self.threads.shape().is_required {
            WARPS
        } else {
            1
        };
        let mut absent_lane = None;
        for warp in 0..warps {
            let executing_lanes = ((executing & existing) >> (LANES * warp)) as u32;
            let existing_lanes = (existing >> (LANES * warp)) as u32;
            for lane in (0..LANES).filter(|lane| executing_lanes >> lane & 1 == 1) {
                let mask = mask.get(LANES * warp + lane) as u32;
                if mask >> lane & 1 == 0 {
                    return Some(MaskError::ExcludedLane(lane as u32));
                }
                let absent_lanes = mask & existing_lanes & !executing_lanes;
                if absent_lanes != 0 && absent_lane.is_none() {
                    absent_lane = Some(MaskError::AbsentLane(absent_lanes.trailing_zeros()));
                }
            }
        }
        absent_lane
    }

    /// Returns `true` if the lane of an error exists in every launch: a CTA may have fewer threads than a warp has lanes.
    fn lane_always_exists(&self, error: MaskError) -> bool {
        match error {
            MaskError::AbsentLane(lane) | MaskError::ExcludedLane(lane) => {
                lane == 0 || self.threads.shape().is_required
            }
            MaskError::Unknown => false,
        }
    }

    /// Returns `true` if the lanes that the branches lead to the instruction execute it in every launch.
    fn is_always_executed(&mut self) -> bool {
        match self.causes.as_slice() {
            [] => true,
            [branch] => self.split.decides(*branch, self.block),
            _ => false,
        }
    }

    /// Returns `true` if the other lanes may execute the same instruction with the same mask elsewhere.
    fn has_counterpart(&self) -> bool {
        let &[branch] = self.causes.as_slice() else {
            return false;
        };
        let cx = self.cx;
        let post_dominator = self.divergence.meets(branch);
        let mut worklist: Vec<BlockId> = cx.cfg().successors(branch).to_vec();
        let mut visited: Vec<BlockId> = Vec::new();
        while let Some(id) = worklist.pop() {
            if Some(id) == post_dominator || id == self.block || visited.contains(&id) {
                continue;
            }
            if visited.len() >= MOST_BLOCKS {
                return true;
            }
            visited.push(id);
            let Some(block) = cx.cfg().block(id) else {
                continue;
            };
            for (_, statement) in cx.body().range(block.first, block.end) {
                if let Statement::Inst(inst) = statement
                    && cx.mnemonic(inst) == cx.mnemonic(self.inst.inst)
                    && cx.facts().inst(inst).member_mask() == self.inst.facts.member_mask()
                {
                    return true;
                }
            }
            worklist.extend(cx.cfg().successors(id));
        }
        false
    }
}

fn definite_message(error: MaskError) -> String {
    match error {
        MaskError::AbsentLane(lane) => {
            format!("the mask includes lane {lane}, which does not reach the instruction")
        }
        MaskError::ExcludedLane(lane) => {
            format!("lane {lane} executes the instruction but is not in the mask")
        }
        MaskError::Unknown => possible_message(error),
    }
}

fn possible_message(error: MaskError) -> String {
    match error {
        MaskError::AbsentLane(lane) => {
            format!("the mask includes lane {lane}, which may not reach the instruction")
        }
        MaskError::ExcludedLane(lane) => {
            format!("lane {lane} may execute the instruction but is not in the mask")
        }
        MaskError::Unknown => "the mask includes lanes that may not reach the instruction".into(),
    }
}
