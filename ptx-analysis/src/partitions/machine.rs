//! Executes the slice of a kernel for the warps of a CTA.
//!
//! Each warp begins as one group of lanes. Groups take turns in the order of an [`Order`]; each runs until it waits.

use alloc::vec::Vec;

use ptx_ir::facts::Flow;
use ptx_ir::{InstId, StmtId};

use super::Problem;
use super::barriers::Barriers;
use super::buffers::{Buffers, Place};
use super::memory::SharedMemory;
use super::objects::{Object, Objects};
use super::slice::{Effect, Slice, Step};
use super::values::{LANES, LaneMask, Value, lanes};
use crate::cfg::{BlockId, Cfg, EdgeKind};
use crate::function_dataflow::FunctionDataflow;

/// The maximum number of groups.
const MOST_GROUPS: usize = 96;

/// The start of the window of shared memory in the generic address space, which is above all assumed addresses.
pub(super) const WINDOW: u64 = 1 << 48;

/// The order in which groups run, and in which copies finish.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Order {
    /// The groups of the last warp run first.
    last_first: bool,
    /// Copies report at once. Otherwise they report when all groups wait.
    pub(super) has_fast_copies: bool,
}

impl Order {
    pub(super) const ALL: [Self; 3] = [
        Self {
            last_first: false,
            has_fast_copies: false,
        },
        Self {
            last_first: true,
            has_fast_copies: false,
        },
        Self {
            last_first: true,
            has_fast_copies: true,
        },
    ];
}

/// What a group waits for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Wait {
    /// Nothing: it can run.
    None,
    /// A change of an object after this number of changes.
    Object {
        stmt: StmtId,
        address: u64,
        changes: u64,
    },
    /// A barrier, until it was complete more often than this.
    Barrier {
        stmt: StmtId,
        barrier: u64,
        completed: u64,
    },
    /// The other lanes of its warp, at a statement.
    Lanes(StmtId),
}

/// Lanes of a warp that execute the slice together.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) warp: u32,
    pub(super) lanes: LaneMask,
    block: BlockId,
    /// The index of the next step in the block.
    position: usize,
    pub(super) registers: Vec<Value>,
    pub(super) wait: Wait,
    /// The statement at which the lanes of the warp met last.
    met: Option<StmtId>,
    /// The waits that returned false, with the number of changes of objects at that time.
    pub(super) failed_waits: Vec<(StmtId, u64)>,
}

/// How an execution ends.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// All threads exited.
    Exited,
    /// Something is not known.
    Unknown,
    /// There are too many steps.
    TooLong,
    Problem(Problem),
}

/// What follows a step.
pub(super) enum Next {
    /// The next step.
    Step,
    /// The group waits, and executes the step again.
    Again,
    /// The group waits before the next step.
    Wait,
    End(End),
}

/// The state of an execution.
pub(super) struct Machine<'a> {
    pub(super) function: &'a FunctionDataflow<'a>,
    pub(super) slice: &'a Slice,
    /// The size of the CTA.
    pub(super) size: [u32; 3],
    /// The number that integer parameters have.
    pub(super) assumed: u64,
    pub(super) order: Order,
    pub(super) groups: Vec<Group>,
    /// The threads of each warp that have not exited.
    pub(super) live: Vec<LaneMask>,
    pub(super) objects: Objects,
    pub(super) barriers: Barriers,
    pub(super) memory: SharedMemory,
    /// The order of what warps do.
    pub(super) buffers: Buffers,
    /// How often an object completed a phase or was initialized.
    pub(super) changes: u64,
    phases: u64,
    steps: usize,
}

impl<'a> Machine<'a> {
    pub(super) fn new(
        function: &'a FunctionDataflow<'a>,
        slice: &'a Slice,
        size: [u32; 3],
        assumed: u64,
        order: Order,
    ) -> Self {
        let threads: u32 = size.into_iter().product();
        let live: Vec<LaneMask> = (0..threads.div_ceil(LANES as u32))
            .map(|warp| match threads - warp * LANES as u32 {
                32.. => LaneMask::MAX,
                count => (1 << count) - 1,
            })
            .collect();
        let groups = (0u32..).zip(&live).map(|(warp, lanes)| Group {
            warp,
            lanes: *lanes,
            block: Cfg::ENTRY,
            position: 0,
            registers: vec![Value::Unknown; slice.slot_count],
            wait: Wait::None,
            met: None,
            failed_waits: Vec::new(),
        });
        Self {
            groups: groups.collect(),
            function,
            slice,
            size,
            assumed,
            order,
            buffers: Buffers::new(live.len()),
            live,
            objects: Objects::default(),
            barriers: Barriers::default(),
            memory: SharedMemory::default(),
            changes: 0,
            phases: 0,
            steps: 0,
        }
    }

    /// The phases of objects and barriers that were completed.
    pub(super) fn completed_phases(&self) -> u64 {
        let barriers = self.barriers.0.values().map(|barrier| barrier.completed);
        self.phases + barriers.sum::<u64>()
    }

    /// Executes until all threads exited, or none can go on.
    pub(super) fn run(&mut self) -> End {
        loop {
            while let Some(index) = self.runnable() {
                if let Some(end) = self.run_group(index) {
                    return end;
                }
            }
            if self.groups.is_empty() {
                return self.problem_of_waits().map_or(End::Exited, End::Problem);
            }
            if !self.continue_after_stall() {
                return self.stalled();
            }
        }
    }

    /// The group that runs next.
    fn runnable(&mut self) -> Option<usize> {
        self.meet();
        let can_run = |group: &Group| match group.wait {
            Wait::None => true,
            Wait::Object { changes, .. } => changes != self.changes,
            Wait::Barrier {
                barrier, completed, ..
            } => {
                let state = self.barriers.0.get(&barrier);
                state.is_none_or(|state| state.completed != completed)
            }
            Wait::Lanes(_) => false,
        };
        let mut candidates = (0..self.groups.len()).filter(|index| can_run(&self.groups[*index]));
        if self.order.last_first {
            candidates.next_back()
        } else {
            candidates.next()
        }
    }

    /// Joins the groups of each warp whose lanes all wait for each other at one statement.
    fn meet(&mut self) {
        let mut index = 0;
        while index < self.groups.len() {
            let (warp, wait) = (self.groups[index].warp, self.groups[index].wait);
            let Wait::Lanes(stmt) = wait else {
                index += 1;
                continue;
            };
            let of_warp = || self.groups.iter().filter(|group| group.warp == warp);
            if !of_warp().all(|group| group.wait == wait) {
                index += 1;
                continue;
            }
            let joined: Vec<usize> = (index + 1..self.groups.len())
                .filter(|position| self.groups[*position].warp == warp)
                .collect();
            for position in joined.into_iter().rev() {
                let joined_group = self.groups.remove(position);
                self.groups[index].join(&joined_group);
            }
            self.groups[index].wait = Wait::None;
            self.groups[index].met = Some(stmt);
        }
    }

    /// Lets something happen that is later than everything else; returns whether there is anything.
    fn continue_after_stall(&mut self) -> bool {
        if let Some(completed) = self.objects.finish_copies() {
            self.changes += 1;
            self.phases += completed.len() as u64;
            for address in completed {
                self.order_phase(address);
            }
            return true;
        }
        // The lanes of a warp need not execute an instruction together that does not synchronize threads.
        let mut goes_on = false;
        for group in &mut self.groups {
            if let Wait::Lanes(stmt) = group.wait {
                group.wait = Wait::None;
                group.met = Some(stmt);
                goes_on = true;
            }
        }
        if goes_on {
            return true;
        }
        let barriers: Vec<u64> = self.barriers.0.keys().copied().collect();
        barriers
            .into_iter()
            .any(|barrier| self.complete_barrier(barrier, true))
    }

    /// Runs a group until it waits or exits.
    fn run_group(&mut self, index: usize) -> Option<End> {
        let group = &mut self.groups[index];
        if let Wait::Barrier { barrier, .. } = group.wait {
            self.buffers.wait(group.warp, Place::Barrier(barrier));
        }
        group.wait = Wait::None;
        loop {
            self.steps += 1;
            if self.steps > self.slice.most_steps {
                return Some(End::TooLong);
            }
            let (block, position) = (self.groups[index].block, self.groups[index].position);
            let Some(step) = self.slice.step(block, position) else {
                match self.leave_block(index) {
                    Leave::Continues => continue,
                    Leave::Waits => return None,
                    Leave::Exits => {
                        self.exit(index);
                        return None;
                    }
                    Leave::Ends(end) => return Some(end),
                }
            };
            match self.step(index, step) {
                Next::Step => self.groups[index].position += 1,
                Next::Again => return None,
                Next::Wait => {
                    self.groups[index].position += 1;
                    return None;
                }
                Next::End(end) => return Some(end),
            }
        }
    }

    fn step(&mut self, index: usize, step: Step) -> Next {
        let facts = self.function.facts().inst(step.inst);
        let converges = step.effect == Effect::Meets
            || facts.convergence().is_some()
            || facts.member_mask().is_some();
        if converges && self.waits_for_lanes(index, step.stmt) {
            return Next::Again;
        }
        match step.effect {
            Effect::Meets => Next::Step,
            Effect::Computes => {
                self.compute(index, facts);
                Next::Step
            }
            Effect::Reads => {
                if let Some(problem) = self.read_shared(index, step, facts) {
                    return Next::End(End::Problem(problem));
                }
                self.compute(index, facts);
                Next::Step
            }
            Effect::Copies => match self.use_groups(index, step.stmt, facts) {
                Some(problem) => Next::End(End::Problem(problem)),
                None => Next::Step,
            },
            Effect::Synchronizes => self.synchronize(index, step.stmt, facts),
        }
    }

    /// Whether a group has to wait for other lanes of its warp at a statement; it waits if it has to.
    fn waits_for_lanes(&mut self, index: usize, stmt: StmtId) -> bool {
        let group = &self.groups[index];
        let is_alone = self
            .groups
            .iter()
            .filter(|other| other.warp == group.warp)
            .count()
            == 1;
        let group = &mut self.groups[index];
        if is_alone || group.met == Some(stmt) {
            group.met = None;
            return false;
        }
        group.wait = Wait::Lanes(stmt);
        true
    }

    /// Ends the threads of a group.
    fn exit(&mut self, index: usize) {
        let group = self.groups.remove(index);
        if let Some(live) = self.live.get_mut(group.warp as usize) {
            *live &= !group.lanes;
        }
        let barriers: Vec<u64> = self.barriers.0.keys().copied().collect();
        for barrier in barriers {
            self.complete_barrier(barrier, false);
        }
    }

    /// Goes to the next block.
    fn leave_block(&mut self, index: usize) -> Leave {
        let block = self.groups[index].block;
        let cfg = self.function.cfg();
        let mut edges = cfg.out_edges(block).map(|(_, edge)| *edge);
        let exits = cfg.block(block).is_none_or(|block| block.exits);
        let (first, further_edges) = (edges.next(), edges.len());
        let Some(first) = first else {
            return Leave::Exits;
        };
        if further_edges == 0 && !exits {
            return self.enter(index, first.to);
        }
        let last = cfg
            .block(block)
            .and_then(|b| b.insts(self.function.body()).next_back());
        let Some((stmt, inst)) = last else {
            return Leave::Ends(End::Unknown);
        };
        if !self.slice.decides(block) {
            if self.slice.has_converged_instructions && self.waits_for_lanes(index, stmt) {
                return Leave::Waits;
            }
            return match self.function.ipdom(block) {
                Some(next) => self.enter(index, next),
                None => Leave::Exits,
            };
        }
        let Some(mut targets) = self.targets(index, block, inst) else {
            return self.leave_unknown(index, block);
        };
        let Some((first_target, lanes)) = targets.pop() else {
            return Leave::Exits;
        };
        for (target, target_lanes) in targets {
            if self.groups.len() == MOST_GROUPS {
                return Leave::Ends(End::Unknown);
            }
            let mut split = self.groups[index].clone();
            split.lanes = target_lanes;
            split.position = 0;
            split.block = target.unwrap_or(block);
            self.groups.push(split);
            if target.is_none() {
                self.exit(self.groups.len() - 1);
            }
        }
        self.groups[index].lanes = lanes;
        match first_target {
            Some(next) => self.enter(index, next),
            None => Leave::Exits,
        }
    }

    /// The blocks to which the lanes of a group go from the end of a block, with these lanes; the function ends where there is no block. `None` if they
    /// are unknown.
    fn targets(
        &self,
        index: usize,
        block: BlockId,
        inst: InstId,
    ) -> Option<Vec<(Option<BlockId>, LaneMask)>> {
        let facts = self.function.facts().inst(inst);
        let mask = self.groups[index].lanes;
        let edges = || self.function.cfg().out_edges(block).map(|(_, edge)| *edge);
        if facts.flow() == Flow::Table && facts.guard().is_none() {
            let numbers = self.operand(index, facts, self.read_operand(facts, 0)?);
            let mut targets: Vec<(Option<BlockId>, LaneMask)> = Vec::new();
            for lane in lanes(mask) {
                let number = numbers.get(lane)?;
                let is_entry =
                    |kind| matches!(kind, EdgeKind::Table(entry) if u64::from(entry) == number);
                let to = edges().find(|edge| is_entry(edge.kind))?.to;
                match targets.iter_mut().find(|(block, _)| *block == Some(to)) {
                    Some((_, lanes)) => *lanes |= 1 << lane,
                    None => targets.push((Some(to), 1 << lane)),
                }
            }
            return Some(targets);
        }
        let (place, _) = facts.guard_register()?;
        let true_lanes = self.register(index, place).true_lanes(mask)?;
        let mut targets = Vec::new();
        for (value, lanes) in [(false, mask & !true_lanes), (true, true_lanes)] {
            let mut edges = edges().filter(|edge| edge.when == Some(value));
            let target = edges.next().map(|edge| edge.to);
            if edges.next().is_some() {
                return None;
            }
            if lanes != 0 {
                targets.push((target, lanes));
            }
        }
        Some(targets)
    }

    /// Leaves a block whose branch has an unknown condition: only possible if all but one of its targets abort the kernel.
    fn leave_unknown(&mut self, index: usize, block: BlockId) -> Leave {
        let cfg = self.function.cfg();
        let aborts = |block: BlockId| {
            let last = cfg
                .block(block)
                .and_then(|b| b.insts(self.function.body()).next_back());
            last.is_some_and(|(_, inst)| self.function.facts().inst(inst).flow() == Flow::Trap)
        };
        let mut targets = cfg.successors(block).iter().filter(|to| !aborts(**to));
        match (targets.next(), targets.next()) {
            (Some(next), None) => self.enter(index, *next),
            _ => Leave::Ends(End::Unknown),
        }
    }

    fn enter(&mut self, index: usize, block: BlockId) -> Leave {
        let group = &mut self.groups[index];
        group.block = block;
        group.position = 0;
        Leave::Continues
    }

    /// Records that an object may have completed a phase; returns whether it did.
    pub(super) fn complete(&mut self, address: u64) -> bool {
        let object = self.objects.by_address.get_mut(&address);
        let is_complete = object.is_some_and(Object::complete);
        if is_complete {
            self.changes += 1;
            self.phases += 1;
            self.order_phase(address);
        }
        is_complete
    }

    /// Records that an object completed a phase.
    fn order_phase(&mut self, address: u64) {
        if let Some(object) = self.objects.by_address.get(&address) {
            self.buffers.complete(Place::Object(address), object.phase);
        }
    }

    /// Completes a barrier if all threads arrived; returns whether it is complete.
    pub(super) fn complete_barrier(&mut self, barrier: u64, by_warp: bool) -> bool {
        let state = self.barriers.0.get_mut(&barrier);
        let is_complete = state.is_some_and(|state| state.complete(&self.live, by_warp));
        if is_complete {
            self.buffers.complete(Place::Barrier(barrier), 0);
        }
        is_complete
    }
}

impl Group {
    /// Adds the lanes of another group of the warp, which is at the same statement.
    fn join(&mut self, other: &Self) {
        for (register, other_register) in self.registers.iter_mut().zip(&other.registers) {
            if register != other_register {
                *register = register.joined(self.lanes, other_register, other.lanes);
            }
        }
        self.lanes |= other.lanes;
        self.failed_waits.clear();
    }
}

/// How a group leaves a block.
enum Leave {
    Continues,
    Waits,
    Exits,
    Ends(End),
}
