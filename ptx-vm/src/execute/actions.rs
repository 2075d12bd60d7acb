//! Actions of the machine: instructions whose results are not a function of their operands.

use ptx_isa::{Action, StateSpace};

use super::execution::{Control, Execution, Failed, Outcome};
use super::groups::State;
use super::location::{Location, generic};
use super::touch::Use;
use crate::error::StopReason;
use crate::lanes::lanes;
use crate::program::{Act, ActOperand, PARAMETERS, SHARED, SHARED_STRIDE, Step, window};

/// A function that performs an action.
type Perform<'e> = fn(&mut Execution<'e>, &Act) -> Outcome;

/// The function that performs an action; `None` if the machine does not perform it.
fn performer<'e>(action: Action) -> Option<Perform<'e>> {
    let perform: Perform<'e> = match action {
        Action::Shuffle
        | Action::Vote
        | Action::Match
        | Action::ActiveLanes
        | Action::WarpReduce
        | Action::Elect => Execution::exchange,
        Action::WarpBarrier => Execution::warp_barrier,
        Action::BarrierSync | Action::BarrierReduce => Execution::wait_at_barrier,
        Action::BarrierArrive => Execution::arrive_at_barrier,
        Action::ClusterArrive | Action::ClusterWait => Execution::cluster_barrier,
        Action::Sleep => |execution, _| {
            execution.warp.is_suspended = true;
            Ok(Control::Next)
        },
        Action::Fence
        | Action::Hint
        | Action::GridDependency
        | Action::CopyCommit
        | Action::CopyWait
        | Action::BulkCommit
        | Action::BulkWait => |_, _| Ok(Control::Next),
        Action::CachePolicy => |execution, act| execution.each(act, |_, _| 0),
        Action::ToGeneric => Execution::add_window,
        Action::FromGeneric => Execution::subtract_window,
        Action::TestSpace => Execution::test_space,
        Action::MapShared => Execution::map_shared,
        Action::SharedRank => Execution::shared_rank,
        Action::StackSave | Action::StackRestore | Action::StackAllocate => Execution::stack,
        Action::CopyAsync => Execution::copy,
        Action::StoreBulk => Execution::fill,
        Action::BulkCopy => Execution::bulk_copy,
        Action::BulkReduce => Execution::bulk_reduce,
        Action::ReduceAsync => Execution::reduce_async,
        Action::StoreAsync => Execution::store_async,
        Action::CancelCluster => Execution::cancel_cluster,
        Action::CancelledCluster => Execution::cancelled_cluster,
        Action::MbarrierInit
        | Action::MbarrierInvalidate
        | Action::MbarrierExpect
        | Action::MbarrierComplete
        | Action::MbarrierArrive
        | Action::MbarrierDrop
        | Action::MbarrierTest
        | Action::MbarrierWait
        | Action::MbarrierPending
        | Action::CopyArrive => Execution::mbarrier,
        Action::MatrixLoad => Execution::load_matrices,
        Action::MatrixStore => Execution::store_matrices,
        Action::MatrixTranspose => Execution::transpose,
        Action::MatrixMultiply => Execution::multiply,
        Action::FragmentLoad => Execution::load_fragment,
        Action::FragmentStore => Execution::store_fragment,
        _ => return None,
    };
    Some(perform)
}

/// Whether the machine supports an action. A run that reaches any other action ends with [`StopReason::Unsupported`].
#[must_use]
pub fn performs(action: Action) -> bool {
    performer(action).is_some()
}

/// Why the machine does not support a step.
pub(crate) fn unsupported(step: &Step) -> Option<String> {
    let reason = match step {
        Step::Unsupported(why) => StopReason::Unsupported(why.to_string()),
        Step::Act(act) if !performs(act.action) => StopReason::unsupported_action(act.action),
        _ => return None,
    };
    match reason {
        StopReason::Unsupported(why) => Some(why),
        _ => None,
    }
}

impl Execution<'_> {
    /// Counts bytes that the step handles one after the other.
    #[inline]
    pub(super) fn handle(&mut self, bytes: u64, lane: usize) -> Result<(), Failed> {
        let handled = self.warp.handle(bytes, self.grid);
        handled.map_err(|reason| (reason, lane))
    }

    /// Executes an action.
    pub(super) fn act(&mut self, act: &Act) -> Outcome {
        match performer(act.action) {
            Some(perform) => perform(self, act),
            None => Err((StopReason::unsupported_action(act.action), self.first())),
        }
    }

    fn add_window(&mut self, act: &Act) -> Outcome {
        let base = space(act).map_or(0, window);
        self.each(act, |a, _| a.wrapping_add(base))
    }

    fn subtract_window(&mut self, act: &Act) -> Outcome {
        let base = space(act).map_or(0, window);
        self.each(act, |a, _| a.wrapping_sub(base))
    }

    fn map_shared(&mut self, act: &Act) -> Outcome {
        self.each(act, |a, b| {
            let offset = a.wrapping_sub(base_of(a)) % SHARED_STRIDE;
            base_of(a) + (b + 1) * SHARED_STRIDE + offset
        })
    }

    fn shared_rank(&mut self, act: &Act) -> Outcome {
        let rank = self.block.rank as u64;
        self.each(act, |a, _| {
            match a.wrapping_sub(base_of(a)) / SHARED_STRIDE {
                0 => rank,
                other => other - 1,
            }
        })
    }

    /// Arrives at the barrier of the cluster, or waits for it.
    fn cluster_barrier(&mut self, act: &Act) -> Outcome {
        let phase = self.block.together.phase;
        if act.action == Action::ClusterArrive {
            lanes(self.active).for_each(|l| self.warp.arrived[l] = Some(phase));
            self.block.together.arrived += self.active.count_ones();
            return Ok(Control::Next);
        }
        if !lanes(self.active).all(|l| self.warp.arrived[l].is_some_and(|p| p < phase)) {
            return Ok(Control::Wait(State::Cluster));
        }
        lanes(self.active).for_each(|l| self.warp.arrived[l] = None);
        Ok(Control::Next)
    }

    /// Computes the first operand from the second and the third, for each lane.
    fn each(&mut self, act: &Act, f: impl Fn(u64, u64) -> u64) -> Outcome {
        let Some(to) = act.place(0) else {
            return Ok(Control::Next);
        };
        for lane in lanes(self.active) {
            let get = |i: usize| act.place(i).map_or(0, |p| self.get(p, lane) as u64);
            let value = f(get(1), get(2));
            self.set(to, lane, value.into());
        }
        Ok(Control::Next)
    }

    fn test_space(&mut self, act: &Act) -> Outcome {
        let (Some(to), Some(from)) = (act.place(0), act.place(1)) else {
            return Ok(Control::Next);
        };
        let space = space(act);
        let cluster = act
            .modifiers
            .iter()
            .any(|m| m.text().ends_with("::cluster"));
        for lane in lanes(self.active) {
            let location = generic(self.get(from, lane) as u64, self.block.rank);
            let holds = match (location, space) {
                (Location::Shared(rank, _), Some(StateSpace::Shared)) => {
                    cluster || rank == self.block.rank
                }
                (Location::Local(_), Some(StateSpace::Local))
                | (Location::Global(_), Some(StateSpace::Global))
                | (Location::Parameter(_), Some(StateSpace::Param)) => true,
                _ => false,
            };
            self.set(to, lane, holds.into());
        }
        Ok(Control::Next)
    }

    fn wait_at_barrier(&mut self, act: &Act) -> Outcome {
        let reduces = act.action == Action::BarrierReduce;
        let first = usize::from(reduces);
        let (id, count) = self.barrier(act, first)?;
        if let Some(barrier) = self.block.barriers.get_mut(id as usize) {
            barrier.expected = count;
        }
        Ok(Control::Wait(State::Barrier(id)))
    }

    fn arrive_at_barrier(&mut self, act: &Act) -> Outcome {
        let (id, count) = self.barrier(act, 0)?;
        if let Some(barrier) = self.block.barriers.get_mut(id as usize) {
            barrier.expected = count;
            barrier.arrived += self.active.count_ones();
        }
        Ok(Control::Next)
    }

    /// The barrier of an instruction and the number of its threads.
    pub(crate) fn barrier_operands(&self, act: &Act) -> Option<(u32, u32)> {
        let first = usize::from(act.action == Action::BarrierReduce);
        self.barrier(act, first).ok()
    }

    /// The barrier and the number of threads of an instruction.
    fn barrier(&self, act: &Act, at: usize) -> Result<(u32, u32), Failed> {
        let first = self.first();
        let get = |i: usize| act.place(i).map(|p| self.get(p, first) as u32);
        let id = get(at).unwrap_or(0);
        let count = get(at + 1).filter(|_| is_word(act, at + 1)).unwrap_or(0);
        if id > 15 || count % 32 != 0 {
            let what =
                "the barrier does not exist, or its number of threads is not a multiple of 32";
            return Err((StopReason::Invalid(what.into()), first));
        }
        Ok((id, count))
    }

    fn stack(&mut self, act: &Act) -> Outcome {
        let first = self.first();
        let Some(call) = self.warp.call(self.call) else {
            return Ok(Control::Next);
        };
        let top = call.top;
        match act.action {
            Action::StackSave => return self.each(act, |_, _| top),
            Action::StackRestore => {
                let saved = act.place(0).map(|p| self.get(p, first) as u64);
                if saved.is_some_and(|saved| saved > self.grid.limits.stack_bytes) {
                    return Err((StopReason::StackLimit, first));
                }
                if let (Some(call), Some(saved)) = (self.warp.call(self.call), saved) {
                    call.top = saved;
                }
                return Ok(Control::Next);
            }
            _ => {}
        }
        let value = |of: &Self, i: usize, lane: usize| act.place(i).map(|p| of.get(p, lane) as u64);
        let align = value(self, 2, first).unwrap_or(8).clamp(1, 1 << 20);
        let start = top.div_ceil(align) * align;
        let mut end = start;
        for lane in lanes(self.active) {
            let size = value(self, 1, lane).unwrap_or(0);
            end = end.max(start.saturating_add(size));
        }
        if end > self.grid.limits.stack_bytes {
            return Err((StopReason::StackLimit, first));
        }
        let grown = self.warp.grow_stacks(self.active, end, self.grid);
        grown.map_err(|reason| (reason, first))?;
        if let Some(call) = self.warp.call(self.call) {
            call.top = end;
        }
        self.each(act, |_, _| start)
    }

    /// Copies bytes to shared memory; they are there at once.
    fn copy(&mut self, act: &Act) -> Outcome {
        let first = self.first();
        let addresses = act.addresses();
        let [to, from] = addresses[..] else {
            return Err((
                StopReason::Unsupported("unsupported addresses".into()),
                first,
            ));
        };
        for lane in lanes(self.active) {
            let places: Vec<crate::lanes::Place> = (2..act.operands.len())
                .filter_map(|i| act.place(i))
                .collect();
            let value = |n: usize| places.get(n).map(|p| (*p, self.get(*p, lane) as u64));
            let size = value(0).map_or(0, |(_, size)| size);
            // What follows the size: the bytes that are read, or a predicate that they are ignored.
            let read = match value(1) {
                Some((crate::lanes::Place::Predicate(_), ignored)) if ignored != 0 => 0,
                Some((crate::lanes::Place::Word(_), read)) => read.min(size),
                _ => size,
            };
            let source = self.location(&from, lane);
            let target = self.location(&to, lane);
            self.copy_block(source, target, (read, size), lane)?;
        }
        Ok(Control::Next)
    }

    /// Copies bytes, with zeros after those that are read. It is one access to each memory.
    fn copy_block(
        &mut self,
        source: Location,
        target: Location,
        (mut read, size): (u64, u64),
        lane: usize,
    ) -> Result<(), Failed> {
        let seen = core::mem::replace(&mut self.by_byte, false);
        if seen {
            let bytes = |count: u64| count.min(u8::MAX.into()) as u8;
            if read > 0 && !self.touch_one(source, Use::Read, bytes(read), lane) {
                read = 0;
            }
            if !self.touch_one(target, Use::Write, bytes(size), lane) {
                self.by_byte = seen;
                return Ok(());
            }
        }
        let copied = (0..size).try_for_each(|at| {
            let byte = if at < read {
                self.read(source.plus(at), 1, lane)
            } else {
                Ok(0)
            };
            byte.and_then(|b| self.write(target.plus(at), 1, b, lane))
        });
        self.by_byte = seen;
        copied
    }

    fn fill(&mut self, act: &Act) -> Outcome {
        for lane in lanes(self.active) {
            let Some(Some(ActOperand::Address(to))) = act.operands.first() else {
                continue;
            };
            let get = |i: usize| act.place(i).map_or(0, |p| self.get(p, lane));
            let (size, value) = (get(1) as u64, get(2) & 0xff);
            let target = self.location(to, lane);
            for at in 0..size {
                self.handle(1, lane)?;
                self.write(target.plus(at), 1, value, lane)?;
            }
        }
        Ok(Control::Next)
    }
}

fn is_word(act: &Act, index: usize) -> bool {
    matches!(act.place(index), Some(crate::lanes::Place::Word(_)))
}

/// The state space that a modifier names.
fn space(act: &Act) -> Option<StateSpace> {
    let mut spaces = act.modifiers.iter().filter_map(|m| m.state_space());
    spaces.next().map(StateSpace::base)
}

/// The base of the window that an address of shared memory is in.
const fn base_of(address: u64) -> u64 {
    if address >= SHARED && address < PARAMETERS {
        SHARED
    } else {
        0
    }
}
