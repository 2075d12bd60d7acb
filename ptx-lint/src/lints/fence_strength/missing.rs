//! Signals to other threads without a fence between the data and the signal, or with one whose scope is too narrow.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use ptx_analysis::asynchrony::Certainty;
use ptx_analysis::cfg::BlockId;
use ptx_analysis::dataflow::{Analysis, Direction, JoinSemiLattice, solve};
use ptx_analysis::memory_access::Provenance;
use ptx_ir::StmtId;
use ptx_isa::Modifier;

use super::order::{Access, AddressKey, Code, Effect, Level, Step};
use super::signals;
use crate::context::FunctionContext;
use crate::{Finding, Lint};

/// The maximum number of unordered accesses in a state, and of objects that a function writes.
const MOST: usize = 32;

/// The limit of the solver: visits of blocks, for each block of the function.
const VISITS_PER_BLOCK: u64 = 64;

pub(super) fn check(cx: &FunctionContext<'_>, code: &Code, findings: &mut Vec<Finding>) {
    let polled_addresses: BTreeSet<AddressKey> = code
        .steps()
        .filter(|step| step.is_poll)
        .filter_map(|step| step.access()?.address_key())
        .collect();
    let signals: Vec<Vec<Signal>> = code
        .blocks
        .iter()
        .map(|steps| {
            steps
                .iter()
                .map(|step| Signal::new(cx, code, step, &polled_addresses))
                .collect()
        })
        .collect();
    if signals.iter().flatten().all(|s| *s == Signal::None) {
        return;
    }
    let mut written_objects: Vec<Provenance> = Vec::new();
    for access in code.steps().filter_map(Step::access) {
        if access.writes
            && let Some(object) = access.provenance
            && written_objects.len() < MOST
            && !written_objects.contains(&object)
        {
            written_objects.push(object);
        }
    }
    let problem = Ordering {
        code,
        signals: &signals,
        written_objects,
    };
    let most_visits = VISITS_PER_BLOCK * cx.cfg().len() as u64;
    let Ok(solution) = solve(cx.cfg(), &problem, most_visits) else {
        return;
    };
    let mut reported: BTreeSet<StmtId> = BTreeSet::new();
    for (block, _) in cx.cfg().blocks() {
        let Some(state) = solution.state(block) else {
            continue;
        };
        let mut state = state.clone();
        for (index, step) in code.steps_of(block).iter().enumerate() {
            let signal = problem.signal(block, index);
            if let Some(finding) = violation(cx, &problem, step, signal, &state)
                && reported.insert(finding.stmt)
            {
                findings.push(finding);
            }
            problem.transfer(step, signal, &mut state);
        }
    }
}

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
    /// Returns the role of a step. Atomic operations at one of the addresses at which the function waits are signals.
    fn new(
        cx: &FunctionContext<'_>,
        code: &Code,
        step: &Step,
        polled_addresses: &BTreeSet<AddressKey>,
    ) -> Self {
        let Some(access) = step.access().filter(|access| !access.is_shared) else {
            return Self::None;
        };
        if step.is_poll {
            return Self::Receive;
        }
        if signals::is_signal(cx, code, step, access) {
            return Self::Send;
        }
        // A counter.
        if access.is_atomic
            && !access.orders_before()
            && let Some(key) = access.address_key()
            && polled_addresses.contains(&key)
        {
            return Self::Send;
        }
        Self::None
    }
}

/// An access after which no sufficient fence was executed so far.
#[derive(Clone, Debug)]
struct Unordered {
    stmt: StmtId,
    access: Access,
    /// The widest scope of the fences after the access on a path; the narrowest of all paths.
    fence_level: Level,
    /// The fence with this scope.
    fence: Option<StmtId>,
}

/// The state before a step: a join keeps the accesses of all paths.
#[derive(Clone, Debug, Default)]
struct State {
    /// Ordinary writes of data.
    written: Vec<Unordered>,
    /// Polls that ended.
    polled: Vec<Unordered>,
}

/// Adds accesses; returns `true` if the list changed.
fn join(accesses: &mut Vec<Unordered>, new_accesses: &[Unordered]) -> bool {
    let mut changed = false;
    for new in new_accesses {
        let is_full = accesses.len() >= MOST;
        match accesses.iter_mut().find(|access| access.stmt == new.stmt) {
            Some(access) if new.fence_level < access.fence_level => {
                (access.fence_level, access.fence) = (new.fence_level, new.fence);
                changed = true;
            }
            None if !is_full => {
                accesses.push(new.clone());
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

/// The dataflow problem: the accesses that are not ordered by fences.
struct Ordering<'a> {
    code: &'a Code,
    /// By block and step.
    signals: &'a [Vec<Signal>],
    /// The objects that the function writes; incomplete if there are `MOST`.
    written_objects: Vec<Provenance>,
}

impl Ordering<'_> {
    fn signal(&self, block: BlockId, index: usize) -> Signal {
        self.signals
            .get(block.as_u32() as usize)
            .and_then(|signals| signals.get(index))
            .copied()
            .unwrap_or(Signal::None)
    }

    /// Returns `true` if a load may read the data of a signal. If the kernel stores the signal, its threads also write the data.
    fn may_read_signaled_data(&self, load: &Access, signal: &Access) -> bool {
        let is_written = |access: &Access| {
            access
                .provenance
                .is_none_or(|object| self.written_objects.contains(&object))
        };
        self.written_objects.len() >= MOST || !is_written(signal) || is_written(load)
    }

    /// Applies the effect of a step to a state.
    fn transfer(&self, step: &Step, signal: Signal, state: &mut State) {
        let access = match &step.effect {
            Effect::Fence(fence) => {
                if fence.releases() {
                    add_fence(&mut state.written, fence.level, step.stmt);
                }
                if fence.acquires() {
                    add_fence(&mut state.polled, fence.level, step.stmt);
                }
                return;
            }
            Effect::Other => {
                *state = State::default();
                return;
            }
            Effect::Barrier => return,
            Effect::Access(access) => access,
        };
        match signal {
            Signal::Receive => add_access(&mut state.polled, step.stmt, access),
            // One finding for each missing fence.
            Signal::Send => state.written.clear(),
            Signal::None => {
                if is_data(access) && access.reads {
                    state
                        .polled
                        .retain(|poll| !self.may_read_signaled_data(access, &poll.access));
                }
                if access.orders_before() {
                    state.written.clear();
                }
                if access.orders_after() {
                    state.polled.clear();
                }
                if access.writes && is_data(access) {
                    add_access(&mut state.written, step.stmt, access);
                }
            }
        }
    }
}

/// Records a fence after accesses.
fn add_fence(accesses: &mut [Unordered], level: Level, fence: StmtId) {
    for access in accesses {
        if level > access.fence_level {
            (access.fence_level, access.fence) = (level, Some(fence));
        }
    }
}

/// Adds an access without a fence after it.
fn add_access(accesses: &mut Vec<Unordered>, stmt: StmtId, access: &Access) {
    accesses.retain(|access| access.stmt != stmt);
    if accesses.len() < MOST {
        accesses.push(Unordered {
            stmt,
            access: access.clone(),
            fence_level: Level::None,
            fence: None,
        });
    }
}

/// Returns `true` if an access is an ordinary one to memory that other CTAs reach.
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
        self.code.steps_of(block).len() as u32
    }

    fn effect(&self, block: BlockId, index: u32, state: &mut State) {
        if let Some(step) = self.code.steps_of(block).get(index as usize) {
            self.transfer(step, self.signal(block, index as usize), state);
        }
    }
}

/// Returns the finding about a step with the role `signal` in a state.
fn violation(
    cx: &FunctionContext<'_>,
    problem: &Ordering<'_>,
    step: &Step,
    signal: Signal,
    state: &State,
) -> Option<Finding> {
    let access = step.access()?;
    match signal {
        Signal::Send => {
            let needed = access.scope();
            let data = state
                .written
                .iter()
                .find(|data| data.fence_level < needed && data.access.is_apart(access))?;
            Some(send_finding(cx, step, data, needed))
        }
        Signal::None if is_data(access) && access.reads => {
            let poll = state.polled.iter().find(|poll| {
                poll.fence_level < poll.access.scope()
                    && poll.access.is_apart(access)
                    && poll.stmt != step.stmt
                    && problem.may_read_signaled_data(access, &poll.access)
            })?;
            Some(receive_finding(cx, step, poll, poll.access.scope()))
        }
        _ => None,
    }
}

fn send_finding(cx: &FunctionContext<'_>, step: &Step, data: &Unordered, needed: Level) -> Finding {
    if let Some(fence) = data.fence {
        return narrow_finding(cx, fence, step.stmt, needed);
    }
    let message = format!(
        "`{}` may become visible to other threads before the data that is written before it",
        cx.mnemonic(step.inst)
    );
    cx.finding(Lint::FenceStrength, Certainty::Possible, step.stmt, message)
        .with_label(cx.span(data.stmt), "the data is written here")
        .with_help(format!(
            "add a fence with scope {} between them, or give the signal release semantics",
            needed.name()
        ))
}

fn receive_finding(
    cx: &FunctionContext<'_>,
    step: &Step,
    poll: &Unordered,
    needed: Level,
) -> Finding {
    if let Some(fence) = poll.fence {
        return narrow_finding(cx, fence, poll.stmt, needed);
    }
    let message = format!(
        "`{}` may be reordered before the preceding wait for a signal",
        cx.mnemonic(step.inst)
    );
    cx.finding(Lint::FenceStrength, Certainty::Possible, step.stmt, message)
        .with_label(cx.span(poll.stmt), "the thread waits here")
        .with_help(format!(
            "add a fence with scope {} between them, or give the wait acquire semantics",
            needed.name()
        ))
}

fn narrow_finding(
    cx: &FunctionContext<'_>,
    fence: StmtId,
    signal: StmtId,
    needed: Level,
) -> Finding {
    let message = format!(
        "the scope of the fence may be too narrow: the signal requires scope {}",
        needed.name()
    );
    cx.finding(Lint::FenceStrength, Certainty::Possible, fence, message)
        .with_label(cx.span(signal), "the signal")
        .with_help(format!("use a fence with scope {}", needed.name()))
}
