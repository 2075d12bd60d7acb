//! The sample threads that execute an instruction.

use ptx_analysis::threads::ThreadValues;
use ptx_analysis::uniformity::Uniformity;
use ptx_ir::{EntityId as _, StmtId};

use crate::context::{FunctionContext, Reached};

/// The lanes of a warp.
const LANES: u32 = 32;

/// The sample threads that may execute an instruction. Bit `i` is for sample `i`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct ExecutingThreads {
    pub(crate) set: u128,
    /// The threads of the set execute the instruction together, if any thread does: no other condition divides them.
    pub(crate) is_exact: bool,
}

impl ExecutingThreads {
    /// Returns the sample threads that reach a statement, whatever its guard; `None` if divergence is not computed. `sets` are the sample threads
    /// that reach each block.
    pub(crate) fn reaching(
        cx: &FunctionContext<'_>,
        threads: &mut ThreadValues<'_>,
        sets: &[u128],
        stmt: StmtId,
    ) -> Option<Self> {
        let block = cx.cfg().of_statement(stmt)?;
        let reaching = sets.get(block.index()).copied().unwrap_or(u128::MAX);
        let existing = match threads.samples().len() {
            128.. => u128::MAX,
            count => (1 << count) - 1,
        };
        let is_exact = cx
            .divergence()?
            .causes(block, Uniformity::Cta)
            .into_iter()
            .all(|branch| {
                cx.last_instruction(branch)
                    .is_some_and(|(stmt, facts)| threads.guard(stmt, &facts).is_some())
            });
        Some(Self {
            set: reaching & existing,
            is_exact,
        })
    }

    /// Returns the sample threads that execute an instruction; `None` as for [`reaching`](Self::reaching).
    pub(crate) fn of(
        cx: &FunctionContext<'_>,
        threads: &mut ThreadValues<'_>,
        sets: &[u128],
        inst: &Reached<'_>,
    ) -> Option<Self> {
        let mut executing = Self::reaching(cx, threads, sets, inst.stmt)?;
        match threads.guard(inst.stmt, &inst.facts) {
            Some(guard) => {
                for sample in (0..threads.samples().len()).filter(|s| guard.get(*s) == 0) {
                    executing.set &= !(1 << sample);
                }
            }
            None => {
                executing.is_exact &= inst.facts.guard().is_none()
                    || cx.likely()?.guard(inst.stmt) <= Uniformity::Cta;
            }
        }
        Some(executing)
    }

    /// Returns the indices of the samples in the set.
    pub(crate) fn samples(self) -> impl Iterator<Item = usize> {
        (0..128).filter(move |sample| self.set >> sample & 1 == 1)
    }

    /// Returns two samples of one warp in which a value differs, if there are any.
    pub(crate) fn differing_in_warp(
        self,
        threads: &ThreadValues<'_>,
        value: impl Fn(usize) -> u64,
    ) -> Option<[usize; 2]> {
        let all = threads.samples();
        let mut first_of_warp: Option<usize> = None;
        for sample in self.samples() {
            let warp = |sample: usize| all.get(sample).map(|thread| thread / LANES);
            match first_of_warp.filter(|first| warp(*first) == warp(sample)) {
                Some(first) if value(first) != value(sample) => return Some([first, sample]),
                Some(_) => {}
                None => first_of_warp = Some(sample),
            }
        }
        None
    }
}
