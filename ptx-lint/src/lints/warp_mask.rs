//! `warp-mask`: member masks that include a lane that does not reach the instruction, or exclude one that does.

mod origin;

use alloc::vec::Vec;

use ptx_analysis::cfg::BlockId;
use ptx_analysis::threads::{PerThread, ThreadValues};
use ptx_analysis::uniformity::{FunctionUniformity, Uniformity};
use ptx_ir::EntityId as _;
use ptx_ir::{Operand, Statement};

use super::barrier_divergence::{Split, last, with_cause};
use crate::context::{FunctionContext, Reached};
use crate::divergence::Divergence;
use crate::{Certainty, Finding, Lint};

/// The number of lanes of a warp, and of the warps whose lanes are all samples.
const LANES: usize = 32;
const WARPS: usize = 2;
/// The maximum number of blocks that are searched for another instruction with the same mask.
const BLOCKS: usize = 64;

pub(crate) fn check(cx: &FunctionContext<'_>, found: &mut Vec<Finding>) {
    let has_mask = |at: &Reached<'_>| at.facts.lanes().is_some();
    if !cx.instructions().any(|at| has_mask(&at)) {
        return;
    }
    let (Some(likely), Some(divergence), Some((mut threads, sets))) =
        (cx.likely(), cx.divergence(), cx.threads())
    else {
        return;
    };
    let mut split = Split::new(cx, divergence);
    for at in cx.instructions().filter(has_mask) {
        let Some(block) = cx.cfg().of_statement(at.stmt) else {
            continue;
        };
        let guard = match at.facts.guard() {
            Some(_) => likely.guard(at.stmt),
            None => Uniformity::Grid,
        };
        let mut check = Check {
            cx,
            likely,
            divergence,
            threads: &mut threads,
            split: &mut split,
            sets,
            causes: divergence.causes(block, Uniformity::Warp),
            is_guarded: guard > Uniformity::Warp,
            at,
            block,
        };
        found.extend(check.finding());
    }
}

/// An instruction with a mask.
struct Check<'a, 't, 'c> {
    cx: &'a FunctionContext<'c>,
    likely: &'a FunctionUniformity,
    divergence: &'a Divergence,
    threads: &'a mut ThreadValues<'t>,
    split: &'a mut Split<'t, 'c>,
    sets: &'a [u128],
    /// The divergent branches that the instruction is control dependent on.
    causes: Vec<BlockId>,
    /// Whether its guard differs between lanes.
    is_guarded: bool,
    at: Reached<'c>,
    block: BlockId,
}

/// An error in a mask.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Wrong {
    /// The mask includes a lane that does not reach the instruction.
    Absent(u32),
    /// The mask excludes a lane that reaches the instruction.
    Outside(u32),
    /// Lanes of the mask may not reach the instruction.
    Unknown,
}

impl Check<'_, '_, '_> {
    fn finding(&mut self) -> Option<Finding> {
        let operand = self.at.facts.lanes()?;
        let Some(mask) = self.mask(operand) else {
            let (certainty, message) = self.origin(operand)?;
            return Some(self.report(certainty, message.into()));
        };
        let (set, is_exact) = self.executing();
        let wrong = self.examine(&mask, set).or_else(|| {
            // A mask of a single lane is correct whenever the instruction is executed.
            let single = (0..LANES).all(|lane| mask.get(lane).count_ones() <= 1);
            (!is_exact && !single).then_some(Wrong::Unknown)
        })?;
        if !matches!(wrong, Wrong::Outside(_)) && self.has_partner() {
            return None;
        }
        let is_certain = is_exact && self.is_there(wrong) && self.is_certain();
        let certainty = match is_certain {
            true => Certainty::Definite,
            false => Certainty::Possible,
        };
        let message = match (wrong, certainty) {
            (Wrong::Absent(lane), Certainty::Definite) => {
                format!("the mask includes lane {lane}, which does not reach the instruction")
            }
            (Wrong::Absent(lane), _) => {
                format!("the mask includes lane {lane}, which may not reach the instruction")
            }
            (Wrong::Outside(lane), Certainty::Definite) => {
                format!("lane {lane} executes the instruction but is not in the mask")
            }
            (Wrong::Outside(lane), _) => {
                format!("lane {lane} may execute the instruction but is not in the mask")
            }
            (Wrong::Unknown, _) => {
                "the mask includes lanes that may not reach the instruction".into()
            }
        };
        Some(self.report(certainty, message))
    }

    fn report(&self, certainty: Certainty, message: alloc::string::String) -> Finding {
        let finding = self
            .cx
            .finding(Lint::WarpMask, certainty, self.at.stmt, message);
        with_cause(self.cx, finding, &self.causes)
            .with_help("use a mask of exactly the lanes that reach the instruction, for example from a vote before the branch")
    }

    /// The mask, if it is a function of the thread index.
    fn mask(&mut self, operand: Operand) -> Option<PerThread> {
        if let Some(mask) = self.cx.integer(operand) {
            return Some(PerThread::Same(mask as u64 & 0xffff_ffff));
        }
        let value = self.cx.read(self.at.stmt, operand)?;
        self.threads.value(value)
    }

    /// The samples that may execute the instruction, and whether all of them do.
    fn executing(&mut self) -> (u128, bool) {
        let set = self.sets.get(self.block.index()).copied();
        let mut set = set.unwrap_or(u128::MAX);
        let mut is_exact =
            self.divergence.level(self.block) <= Uniformity::Warp || !self.causes.is_empty();
        for branch in &self.causes {
            let guard = last(self.cx, *branch);
            let guard = guard.and_then(|(stmt, facts)| self.threads.guard(stmt, &facts));
            is_exact &= guard.is_some();
        }
        if self.is_guarded {
            match self.threads.guard(self.at.stmt, &self.at.facts) {
                Some(guard) => {
                    let samples = (0..self.threads.samples().len()).filter(|s| guard.get(*s) == 0);
                    set = samples.fold(set, |set, sample| set & !(1 << sample));
                }
                None => is_exact = false,
            }
        }
        (set, is_exact)
    }

    /// Compares the mask with the lanes that execute the instruction.
    fn examine(&self, mask: &PerThread, set: u128) -> Option<Wrong> {
        let count = self.threads.samples().len();
        let there = match count {
            128.. => u128::MAX,
            _ => (1 << count) - 1,
        };
        let mut found: Option<Wrong> = None;
        // Code for CTAs of one warp may not say so.
        let warps = match self.threads.shape().is_required {
            true => WARPS,
            false => 1,
        };
        for warp in 0..warps {
            let lanes = (set & there) >> (LANES * warp);
            let exist = there >> (LANES * warp);
            let (lanes, exist) = (lanes as u32, exist as u32);
            for lane in (0..LANES).filter(|lane| lanes >> lane & 1 == 1) {
                let mask = mask.get(LANES * warp + lane) as u32;
                let absent = mask & exist & !lanes;
                let wrong = match absent {
                    _ if mask >> lane & 1 == 0 => Wrong::Outside(lane as u32),
                    0 => continue,
                    _ => Wrong::Absent(absent.trailing_zeros()),
                };
                // Of several lanes, the first one surely exists.
                found = match found {
                    Some(Wrong::Outside(_)) => found,
                    Some(_) if !matches!(wrong, Wrong::Outside(_)) => found,
                    _ => Some(wrong),
                };
            }
        }
        found
    }

    /// Whether the lane that is wrong exists in every launch: a CTA may have fewer threads than a warp has lanes.
    fn is_there(&self, wrong: Wrong) -> bool {
        match wrong {
            Wrong::Absent(lane) | Wrong::Outside(lane) => {
                lane == 0 || self.threads.shape().is_required
            }
            Wrong::Unknown => false,
        }
    }

    /// Whether the instruction is executed by these lanes in every launch.
    fn is_certain(&mut self) -> bool {
        match self.causes.as_slice() {
            [] => true,
            [branch] => self.split.decides(*branch, self.block),
            _ => false,
        }
    }

    /// Whether the other lanes execute the same instruction with the same mask elsewhere.
    fn has_partner(&self) -> bool {
        let &[branch] = self.causes.as_slice() else {
            return false;
        };
        let (cx, stop) = (self.cx, self.divergence.meets(branch));
        let wanted = (cx.mnemonic(self.at.inst), self.at.facts.lanes());
        let mut work: Vec<BlockId> = cx.cfg().successors(branch).to_vec();
        let mut seen: Vec<BlockId> = Vec::new();
        while let Some(block) = work.pop() {
            if Some(block) == stop || block == self.block || seen.contains(&block) {
                continue;
            }
            if seen.len() >= BLOCKS {
                return true;
            }
            seen.push(block);
            let Some(of) = cx.cfg().block(block) else {
                continue;
            };
            for (_, statement) in cx.body().range(of.first, of.end) {
                if let Statement::Inst(inst) = statement
                    && (cx.mnemonic(inst), cx.facts().inst(inst).lanes()) == wanted
                {
                    return true;
                }
            }
            work.extend(cx.cfg().successors(block));
        }
        false
    }
}
