//! Actions of the machine: instructions whose results are not a function of their operands.

use ptx_isa::{Action, StateSpace};

use super::execution::{Control, Execution, Failed, Outcome};
use super::groups::State;
use super::location::{Location, generic, shared_address};
use super::matrix::is_matrix_action;
use crate::error::StopReason;
use crate::lanes::{Place, lanes};
use crate::program::{Act, PARAMETERS, SHARED, SHARED_STRIDE, Step, window};

/// The operands of an instruction with a barrier of the CTA.
pub(crate) struct BarrierOperands {
    pub(crate) id: u32,
    /// The number of threads; 0 for all threads of the CTA.
    pub(crate) threads: u32,
}

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
        Action::WarpBarrier => Execution::exchange_among_members,
        Action::BarrierSync | Action::BarrierReduce => Execution::wait_at_barrier,
        Action::BarrierArrive => Execution::arrive_at_barrier,
        Action::ClusterArrive | Action::ClusterWait => Execution::cluster_barrier,
        Action::Sleep => |execution, _| {
            execution.warp.is_suspended = true;
            Ok(Control::Next)
        },
        Action::TensorAllocate => Execution::tensor_allocate,
        Action::TensorFree => Execution::tensor_free,
        Action::TensorRelinquish => Execution::tensor_relinquish,
        Action::TensorLoad => Execution::tensor_load,
        Action::TensorStore => Execution::tensor_store,
        Action::TensorLoadWait | Action::TensorStoreWait => Execution::tensor_wait,
        Action::TensorMemoryCopy => Execution::tensor_copy,
        Action::TensorMemoryShift => Execution::tensor_shift,
        Action::TensorMultiply => Execution::tensor_multiply,
        Action::TensorCommit => Execution::tensor_commit,
        Action::TensorFenceBefore
        | Action::TensorFenceAfter
        | Action::Fence
        | Action::Hint
        | Action::RegisterRequest
        | Action::RegisterRelease => |_, _| Ok(Control::Next),
        Action::GridDependency => Execution::grid_dependency,
        Action::CopyCommit | Action::BulkCommit => Execution::commit_group,
        Action::CopyWait | Action::BulkWait => Execution::wait_for_groups,
        Action::CachePolicy => |execution, act| execution.for_each_lane(act, |_, _| 0),
        Action::ToGeneric => Execution::add_window,
        Action::FromGeneric => Execution::subtract_window,
        Action::TestSpace => Execution::test_space,
        Action::MapShared => Execution::map_shared,
        Action::SharedRank => Execution::shared_rank,
        Action::StackSave | Action::StackRestore | Action::StackAllocate => Execution::stack,
        Action::CopyAsync => Execution::copy,
        Action::StoreBulk => Execution::fill,
        Action::BulkCopy => Execution::bulk_copy,
        Action::MultimemLoad => Execution::multimem_load,
        Action::MultimemStore => Execution::multimem_store,
        Action::MultimemReduce => Execution::multimem_reduce,
        Action::BulkReduce => Execution::bulk_reduce,
        Action::ReduceAsync => Execution::reduce_async,
        Action::TensorCopy | Action::TensorReduce => Execution::copy_box,
        Action::TensorMapReplace => Execution::replace_in_tensor_map,
        Action::TensorMapCopy => Execution::copy_tensor_map,
        Action::StoreAsync => Execution::store_async,
        Action::CancelCluster => Execution::cancel_cluster,
        Action::CanceledCluster => Execution::canceled_cluster,
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
        action if is_matrix_action(action) => Execution::matrix_instruction,
        Action::TextureFetch => Execution::read_texture,
        Action::OpaqueQuery => Execution::query_object,
        Action::SurfaceAccess => Execution::access_surface,
        _ => return None,
    };
    Some(perform)
}

/// Whether the machine supports an action. A run that reaches any other action ends with [`StopReason::Unsupported`].
#[must_use]
pub fn performs(action: Action) -> bool {
    performer(action).is_some()
}

/// The reason why the machine does not support a step; `None` if it supports the step.
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
    /// Counts bytes that the step handles one after the other; an error if the launch has to end.
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
        self.for_each_lane(act, |a, _| a.wrapping_add(base))
    }

    fn subtract_window(&mut self, act: &Act) -> Outcome {
        let base = space(act).map_or(0, window);
        self.for_each_lane(act, |a, _| a.wrapping_sub(base))
    }

    fn map_shared(&mut self, act: &Act) -> Outcome {
        self.for_each_lane(act, |a, b| {
            let offset = a.wrapping_sub(window_base(a)) % SHARED_STRIDE;
            window_base(a).wrapping_add(shared_address(b as usize, offset))
        })
    }

    fn shared_rank(&mut self, act: &Act) -> Outcome {
        self.for_each_lane(act, |a, _| a.wrapping_sub(window_base(a)) / SHARED_STRIDE)
    }

    /// Arrives at the barrier of the cluster, or waits for it.
    fn cluster_barrier(&mut self, act: &Act) -> Outcome {
        let phase = self.block.cluster_state.phase;
        if act.action == Action::ClusterArrive {
            for lane in lanes(self.active) {
                self.warp.arrived[lane] = Some(phase);
            }
            self.block.cluster_state.arrived += self.active.count_ones();
            return Ok(Control::Next);
        }
        let arrived = &mut self.warp.arrived;
        if !lanes(self.active).all(|lane| arrived[lane].is_some_and(|p| p < phase)) {
            return Ok(Control::Wait(State::Cluster));
        }
        for lane in lanes(self.active) {
            arrived[lane] = None;
        }
        Ok(Control::Next)
    }

    /// Computes the first operand from the second and the third, for each lane.
    fn for_each_lane(&mut self, act: &Act, compute: impl Fn(u64, u64) -> u64) -> Outcome {
        let Some(result) = act.place(0) else {
            return Ok(Control::Next);
        };
        for lane in lanes(self.active) {
            let a = self.operand(act, 1, lane).unwrap_or(0);
            let b = self.operand(act, 2, lane).unwrap_or(0);
            self.set(result, lane, compute(a, b).into());
        }
        Ok(Control::Next)
    }

    /// The value of an operand in a lane; `None` if the operand is absent.
    pub(super) fn operand(&self, act: &Act, index: usize, lane: usize) -> Option<u64> {
        Some(self.get(act.place(index)?, lane) as u64)
    }

    fn test_space(&mut self, act: &Act) -> Outcome {
        let (Some(result), Some(address)) = (act.place(0), act.place(1)) else {
            return Ok(Control::Next);
        };
        let space = space(act);
        let includes_cluster = act
            .modifiers
            .iter()
            .any(|m| m.text().ends_with("::cluster"));
        for lane in lanes(self.active) {
            let location = generic(self.get(address, lane) as u64);
            let holds = match (location, space) {
                (Location::Shared(rank, _), Some(StateSpace::Shared)) => {
                    includes_cluster || rank == self.block.rank
                }
                (Location::Local(_), Some(StateSpace::Local))
                | (Location::Global(_), Some(StateSpace::Global))
                | (Location::Parameter(_), Some(StateSpace::Param)) => true,
                _ => false,
            };
            self.set(result, lane, holds.into());
        }
        Ok(Control::Next)
    }

    fn wait_at_barrier(&mut self, act: &Act) -> Outcome {
        let BarrierOperands { id, threads } = self.barrier(act)?;
        if let Some(barrier) = self.block.barriers.get_mut(id as usize) {
            barrier.expected = threads;
        }
        Ok(Control::Wait(State::Barrier(id)))
    }

    fn arrive_at_barrier(&mut self, act: &Act) -> Outcome {
        let BarrierOperands { id, threads } = self.barrier(act)?;
        if let Some(barrier) = self.block.barriers.get_mut(id as usize) {
            barrier.expected = threads;
            barrier.arrived += self.active.count_ones();
        }
        Ok(Control::Next)
    }

    /// The operands of an instruction with a barrier; `None` if they are invalid.
    pub(crate) fn barrier_operands(&self, act: &Act) -> Option<BarrierOperands> {
        self.barrier(act).ok()
    }

    fn barrier(&self, act: &Act) -> Result<BarrierOperands, Failed> {
        let first = self.first();
        let id_index = usize::from(act.action == Action::BarrierReduce);
        let id = self.operand(act, id_index, first).unwrap_or(0) as u32;
        let threads = self.operand(act, id_index + 1, first);
        let threads = threads.filter(|_| is_word(act, id_index + 1)).unwrap_or(0) as u32;
        if id > 15 || !threads.is_multiple_of(32) {
            let reason =
                "the barrier does not exist, or its number of threads is not a multiple of 32";
            return Err((StopReason::Invalid(reason.into()), first));
        }
        Ok(BarrierOperands { id, threads })
    }

    /// Saves, restores or moves the end of the stack.
    fn stack(&mut self, act: &Act) -> Outcome {
        let first = self.first();
        let Some(call) = self.warp.call(self.call) else {
            return Ok(Control::Next);
        };
        let top = call.top;
        match act.action {
            Action::StackSave => return self.for_each_lane(act, |_, _| top),
            Action::StackRestore => {
                let saved = self.operand(act, 0, first);
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
        let align = self.operand(act, 2, first).unwrap_or(8).clamp(1, 1 << 20);
        let start = top.div_ceil(align) * align;
        let mut end = start;
        for lane in lanes(self.active) {
            let size = self.operand(act, 1, lane).unwrap_or(0);
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
        self.for_each_lane(act, |_, _| start)
    }
}

fn is_word(act: &Act, index: usize) -> bool {
    matches!(act.place(index), Some(Place::Word(_)))
}

/// The state space that a modifier names.
fn space(act: &Act) -> Option<StateSpace> {
    let mut spaces = act.modifiers.iter().filter_map(|m| m.state_space());
    spaces.next().map(StateSpace::base)
}

/// The base of the window that contains an address of shared memory: that of generic addresses, or 0.
const fn window_base(address: u64) -> u64 {
    if address >= SHARED && address < PARAMETERS {
        SHARED
    } else {
        0
    }
}
