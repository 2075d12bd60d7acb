//! Signals to other threads without a fence between the data and the signal, or with one whose scope is too narrow.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::cfg::BlockId;
use ptx_analysis::dataflow::{Analysis, Direction, JoinSemiLattice, solve};
use ptx_analysis::memory_access::Provenance;
use ptx_analysis::values::SymbolId;
use ptx_ir::StmtId;
use ptx_isa::Modifier;

use super::order::{Access, Act, Code, Level, Step};
use super::signals;
use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// Data and polls that are followed at once.
const MOST: usize = 32;

/// Visits of blocks until the solver gives up, for each block.
const VISITS: u64 = 64;

pub(super) fn check(cx: &FunctionContext<'_>, code: &Code, found: &mut Vec<Finding>) {
    let polls = code
        .steps()
        .filter(|step| step.is_poll)
        .filter_map(Step::access);
    let polls: Polled = polls.filter_map(Access::key).collect();
    let kinds: Vec<Vec<Signal>> = code
        .blocks
        .iter()
        .map(|steps| {
            steps
                .iter()
                .map(|step| Signal::of(cx, code, step, &polls))
                .collect()
        })
        .collect();
    let signals = kinds.iter().flatten().any(|k| *k != Signal::None);
    if !signals {
        return;
    }
    let writes = code.steps().filter_map(Step::access).filter(|a| a.writes);
    let mut written: Vec<Provenance> = Vec::new();
    for of in writes.filter_map(|a| a.provenance) {
        if written.len() < MOST && !written.contains(&of) {
            written.push(of);
        }
    }
    let problem = Ordering {
        code,
        kinds: &kinds,
        written,
    };
    let Ok(solution) = solve(cx.cfg(), &problem, VISITS * cx.cfg().len() as u64) else {
        return;
    };
    let mut reported: BTreeSet<StmtId> = BTreeSet::new();
    for (block, _) in cx.cfg().blocks() {
        let Some(state) = solution.state(block) else {
            continue;
        };
        let mut state = state.clone();
        for (index, step) in code.of(block).iter().enumerate() {
            if let Some(finding) = violation(cx, code, &problem, block, index, &state)
                && reported.insert(finding.stmt)
            {
                found.push(finding);
            }
            problem.step(step, problem.kind(block, index), &mut state);
        }
    }
}

/// Addresses of memory.
type Polled = BTreeSet<(i64, Vec<(SymbolId, i64)>)>;

/// The role of a step in the communication between threads.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Signal {
    None,
    /// It signals that data is available.
    Send,
    /// It waits for a signal.
    Receive,
}

impl Signal {
    /// `polls` are the addresses of the accesses of the function that wait: atomic operations at their addresses are signals.
    fn of(cx: &FunctionContext<'_>, code: &Code, step: &Step, polls: &Polled) -> Self {
        let Some(access) = step.access().filter(|a| !a.is_shared) else {
            return Self::None;
        };
        let is_polled = || access.key().is_some_and(|key| polls.contains(&key));
        let is_counter = || access.is_atomic && is_polled();
        if step.is_poll {
            Self::Receive
        } else if signals::is_signal(cx, code, step, access)
            || (!access.orders_before() && is_counter())
        {
            Self::Send
        } else {
            Self::None
        }
    }
}

/// An access that is not ordered yet, with the scope of the later fences.
#[derive(Clone, Debug)]
struct Open {
    stmt: StmtId,
    access: Access,
    level: Level,
    fence: Option<StmtId>,
}

#[derive(Clone, Debug, Default)]
struct State {
    /// Ordinary writes of data.
    written: Vec<Open>,
    /// Polls that ended.
    polled: Vec<Open>,
}

fn join(ours: &mut Vec<Open>, theirs: &[Open]) -> bool {
    let mut changed = false;
    for open in theirs {
        let is_full = ours.len() >= MOST;
        match ours.iter_mut().find(|o| o.stmt == open.stmt) {
            Some(own) if open.level < own.level => {
                (own.level, own.fence) = (open.level, open.fence);
                changed = true;
            }
            None if !is_full => {
                ours.push(open.clone());
                changed = true;
            }
            _ => {}
        }
    }
    changed
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        join(&mut self.written, &other.written) | join(&mut self.polled, &other.polled)
    }
}

struct Ordering<'a> {
    code: &'a Code,
    kinds: &'a [Vec<Signal>],
    /// What the function writes.
    written: Vec<Provenance>,
}

impl Ordering<'_> {
    fn kind(&self, block: BlockId, index: usize) -> Signal {
        let of = self.kinds.get(block.as_u32() as usize);
        of.and_then(|k| k.get(index))
            .copied()
            .unwrap_or(Signal::None)
    }

    /// Whether a load may read the data of a signal: the threads of a kernel that stores the signal write the data, too.
    fn is_signalled(&self, load: &Access, signal: &Access) -> bool {
        let writes = |access: &Access| {
            access
                .provenance
                .is_none_or(|of| self.written.contains(&of))
        };
        self.written.len() >= MOST || !writes(signal) || writes(load)
    }

    fn step(&self, step: &Step, kind: Signal, state: &mut State) {
        let fence = |open: &mut Open, level: Level, stmt: Option<StmtId>| {
            if level > open.level {
                (open.level, open.fence) = (level, stmt);
            }
        };
        match &step.act {
            Act::Fence(of) => {
                if of.releases() {
                    state
                        .written
                        .iter_mut()
                        .for_each(|o| fence(o, of.level, Some(step.stmt)));
                }
                if of.acquires() {
                    state
                        .polled
                        .iter_mut()
                        .for_each(|o| fence(o, of.level, Some(step.stmt)));
                }
            }
            Act::Other => *state = State::default(),
            Act::Barrier => {}
            Act::Access(access) => {
                let open = |access: &Access| Open {
                    stmt: step.stmt,
                    access: access.clone(),
                    level: Level::None,
                    fence: None,
                };
                let add = |list: &mut Vec<Open>| {
                    list.retain(|o| o.stmt != step.stmt);
                    if list.len() < MOST {
                        list.push(open(access));
                    }
                };
                match kind {
                    Signal::Receive => add(&mut state.polled),
                    // One finding for each missing fence.
                    Signal::Send => state.written.clear(),
                    Signal::None => {
                        if is_data(access) && access.reads {
                            state
                                .polled
                                .retain(|o| !self.is_signalled(access, &o.access));
                        }
                        if access.orders_before() {
                            state.written.clear();
                        }
                        if access.orders_after() {
                            state.polled.clear();
                        }
                        if access.writes && is_data(access) {
                            add(&mut state.written);
                        }
                    }
                }
            }
        }
    }
}

/// Whether an access is an ordinary one of memory that other CTAs reach.
fn is_data(access: &Access) -> bool {
    !access.is_shared && !access.is_atomic && access.order == Some(Modifier::Weak)
}

impl Analysis for Ordering<'_> {
    type Node = BlockId;
    type Domain = State;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> State {
        State::default()
    }

    fn boundary(&self) -> State {
        State::default()
    }

    fn len(&self, block: BlockId) -> u32 {
        self.code.of(block).len() as u32
    }

    fn effect(&self, block: BlockId, index: u32, state: &mut State) {
        if let Some(step) = self.code.of(block).get(index as usize) {
            self.step(step, self.kind(block, index as usize), state);
        }
    }
}

fn violation(
    cx: &FunctionContext<'_>,
    code: &Code,
    problem: &Ordering<'_>,
    block: BlockId,
    index: usize,
    state: &State,
) -> Option<Finding> {
    let step = code.of(block).get(index)?;
    let Act::Access(access) = &step.act else {
        return None;
    };
    match problem.kind(block, index) {
        Signal::Send => {
            let needed = access.scope();
            let mut written = state.written.iter();
            let open = written.find(|o| o.level < needed && o.access.is_apart(access))?;
            Some(sent(cx, step, open, needed))
        }
        Signal::None if is_data(access) && access.reads => {
            let mut polled = state.polled.iter();
            let open = polled.find(|o| {
                o.level < o.access.scope()
                    && o.access.is_apart(access)
                    && o.stmt != step.stmt
                    && problem.is_signalled(access, &o.access)
            })?;
            Some(received(cx, step, open, open.access.scope()))
        }
        _ => None,
    }
}

fn sent(cx: &FunctionContext<'_>, step: &Step, open: &Open, needed: Level) -> Finding {
    if let Some(fence) = open.fence {
        return narrow(cx, fence, step.stmt, needed);
    }
    let message = format!(
        "`{}` may become visible to other threads before the data that is written before it",
        cx.mnemonic(step.inst)
    );
    cx.finding(Lint::FenceStrength, Certainty::Possible, step.stmt, message)
        .with_label(cx.span(open.stmt), "the data is written here")
        .with_help(format!(
            "add a fence with scope {} between them, or give the signal release semantics",
            needed.name()
        ))
}

fn received(cx: &FunctionContext<'_>, step: &Step, open: &Open, needed: Level) -> Finding {
    if let Some(fence) = open.fence {
        return narrow(cx, fence, open.stmt, needed);
    }
    let message = format!(
        "`{}` may be reordered before the preceding wait for a signal",
        cx.mnemonic(step.inst)
    );
    cx.finding(Lint::FenceStrength, Certainty::Possible, step.stmt, message)
        .with_label(cx.span(open.stmt), "the thread waits here")
        .with_help(format!(
            "add a fence with scope {} between them, or give the wait acquire semantics",
            needed.name()
        ))
}

fn narrow(cx: &FunctionContext<'_>, fence: StmtId, signal: StmtId, needed: Level) -> Finding {
    let message = format!(
        "the scope of the fence may be too narrow: the signal requires scope {}",
        needed.name()
    );
    cx.finding(Lint::FenceStrength, Certainty::Possible, fence, message)
        .with_label(cx.span(signal), "the signal")
        .with_help(format!("use a fence with scope {}", needed.name()))
}
