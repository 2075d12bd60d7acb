//! Compares the accesses of warps with what lints state.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;

use ptx_analysis::memory_access::requests::{LANES, passes, sectors};
use ptx_ir::FuncId;
use ptx_isa::StateSpace;
use ptx_vm::{ExecutedStep, StepAccess, StepObserver, StepPlace, StepState};

use super::claims::{Claim, Fact};
use super::tally::Measured;
use crate::executed::At;

/// The number of the grid of a thread, `%ctaid` of its CTA, its index in the CTA, and in how many calls it is.
type Thread = (u64, [u32; 3], u32, u32);

/// What happened at the place of a claim.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// How often a warp with all of its lanes did what it states.
    pub(crate) whole: u64,
    /// How often fewer lanes did, and how often they needed less.
    pub(crate) partly: u64,
    pub(crate) less: u64,
    /// What contradicts it first.
    pub(crate) wrong: Option<String>,
    /// Why the last run that did not come there ended.
    pub(crate) ended: Option<&'static str>,
    /// The addresses of threads at the parts of a pair.
    parts: HashMap<Thread, Vec<Option<u64>>>,
}

#[derive(Debug, Default)]
struct State {
    run: String,
    seen: Vec<Seen>,
}

/// Observes launches.
#[derive(Debug)]
pub(crate) struct Observer {
    claims: Vec<Claim>,
    /// The claims about each instruction.
    places: HashMap<At, Vec<usize>>,
    state: Mutex<State>,
}

impl Observer {
    pub(crate) fn new(claims: Vec<Claim>) -> Self {
        let mut places: HashMap<At, Vec<usize>> = HashMap::new();
        for (nth, claim) in claims.iter().enumerate() {
            let own = [claim.at.1];
            let parts = match &claim.fact {
                Fact::Adjacent(parts, _) => &parts[..],
                _ => &own,
            };
            for inst in parts {
                places.entry((claim.at.0, *inst)).or_default().push(nth);
            }
        }
        let seen = vec![Seen::default(); claims.len()];
        let run = String::new();
        Self {
            claims,
            places,
            state: Mutex::new(State { run, seen }),
        }
    }

    /// Whether there are claims about these functions.
    pub(crate) fn is_about(&self, functions: &BTreeSet<FuncId>) -> bool {
        self.claims
            .iter()
            .any(|claim| functions.contains(&claim.at.0))
    }

    pub(crate) fn begin(&self, run: &str) {
        self.state.lock().unwrap().run = run.to_owned();
    }

    pub(crate) fn end(&self, stopped: Option<&'static str>, reached: &BTreeSet<FuncId>) {
        let mut state = self.state.lock().unwrap();
        let ended = stopped.unwrap_or("the arguments of the test lead elsewhere");
        for (claim, seen) in self.claims.iter().zip(&mut state.seen) {
            seen.parts.clear();
            if reached.contains(&claim.at.0) {
                seen.ended = Some(ended);
            }
        }
    }

    pub(crate) fn finish(self, name: &str) -> Measured {
        let mut measured = Measured::default();
        let state = self.state.into_inner().unwrap();
        for (claim, seen) in self.claims.iter().zip(&state.seen) {
            measured.note(name, claim, seen);
        }
        measured
    }
}

impl StepObserver for Observer {
    fn lanes(&self, place: &StepPlace) -> u32 {
        match self.places.contains_key(&(place.function, place.inst)) {
            true => place.mask,
            false => 0,
        }
    }

    fn step(&self, step: &ExecutedStep<'_>) {
        let place = &step.place;
        let Some(claims) = self.places.get(&(place.function, place.inst)) else {
            return;
        };
        let mut state = self.state.lock().unwrap();
        let State { run, seen } = &mut *state;
        for &nth in claims {
            let claim = &self.claims[nth];
            if let Some(wrong) = seen[nth].compare(&claim.fact, step) {
                let first = || format!("{run}:{}: {}: {wrong}", claim.line, claim.message);
                seen[nth].wrong.get_or_insert_with(first);
            }
        }
    }
}

impl Seen {
    /// What contradicts a fact.
    fn compare(&mut self, fact: &Fact, step: &ExecutedStep<'_>) -> Option<String> {
        if let StepState::Failed(_, why) = &step.state {
            let is_expected = match fact {
                Fact::Residue(..) => why.contains("align"),
                Fact::Wrong => true,
                _ => false,
            };
            self.whole += u64::from(is_expected);
            return None;
        }
        match fact {
            Fact::Sectors(least) => self.at_least(*least, step, |space, at, bytes, mask| {
                (space == StateSpace::Global).then(|| sectors(at, bytes, mask))
            }),
            Fact::Passes(least) => self.at_least(*least, step, |space, at, bytes, mask| {
                (space == StateSpace::Shared).then(|| passes(at, bytes, mask).all)
            }),
            Fact::Adjacent(parts, bytes) => self.adjacent((parts, *bytes), step),
            Fact::Space(space) => {
                // The machine has constants in global memory.
                let space = match space {
                    StateSpace::Const => StateSpace::Global,
                    other => *other,
                };
                self.all(step, &|a| a.space == space)
            }
            Fact::Residue(residue, modulus) => self.all(step, &|a| a.address % modulus == *residue),
            Fact::Wrong => None,
        }
    }

    /// Counts what all of the lanes access with a function, if it is in the right state space.
    fn at_least(
        &mut self,
        least: u64,
        step: &ExecutedStep<'_>,
        count: impl Fn(StateSpace, &[u64; LANES], u64, u32) -> Option<u64>,
    ) -> Option<String> {
        let (mut at, mut mask) = ([0; LANES], 0);
        let mut counted = None;
        for access in step.accesses {
            if count(access.space, &at, access.bytes, 0).is_none() {
                continue;
            }
            at[access.lane] = access.address;
            mask |= 1 << access.lane;
            counted = Some((access.space, access.bytes));
        }
        let (space, bytes) = counted?;
        let needed = count(space, &at, bytes, mask)?;
        if step.place.active != u32::MAX {
            self.partly += 1;
            self.less += u64::from(needed < least);
            return None;
        }
        self.whole += 1;
        (needed < least).then(|| format!("{needed} for {at:x?}"))
    }

    /// Whether the addresses of each thread at the parts are adjacent.
    fn adjacent(
        &mut self,
        (parts, bytes): (&[ptx_ir::InstId], u64),
        step: &ExecutedStep<'_>,
    ) -> Option<String> {
        let part = parts.iter().position(|inst| *inst == step.place.inst)?;
        let size = bytes / parts.len() as u64;
        for access in step.accesses {
            let thread = step.place.first_thread + access.lane as u32;
            let thread = (
                step.place.grid.number,
                step.place.block,
                thread,
                step.place.depth,
            );
            let of = self.parts.entry(thread).or_default();
            of.resize(parts.len(), None);
            if of[part].replace(access.address).is_some() {
                return Some(format!("{access:?} again before the others"));
            }
            let known: Option<Vec<u64>> = of.iter().copied().collect();
            let Some(mut known) = known else { continue };
            of.fill(None);
            known.sort_unstable();
            let start = known[0];
            let expected = (0..).map(|nth| start + nth * size);
            let is_right = start.is_multiple_of(bytes)
                && known.iter().copied().zip(expected).all(|(a, b)| a == b);
            if !is_right || access.bytes != size {
                return Some(format!("{known:x?} of {} bytes", access.bytes));
            }
            self.whole += 1;
        }
        None
    }

    /// Whether something holds for each access.
    fn all(
        &mut self,
        step: &ExecutedStep<'_>,
        holds: &dyn Fn(&StepAccess) -> bool,
    ) -> Option<String> {
        self.whole += u64::from(!step.accesses.is_empty());
        let wrong = step.accesses.iter().find(|access| !holds(access));
        wrong.map(|access| format!("{access:?}"))
    }
}
