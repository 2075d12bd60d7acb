//! Execution of instructions that use barriers.

use alloc::vec::Vec;

use ptx_ir::facts::Facts;
use ptx_ir::{Operand, StmtId};
use ptx_isa::{Action, AsyncPhase, Completion, Marks, Modifier};

use super::barriers::CLUSTER;
use super::buffers::Place;
use super::machine::{End, Machine, Next, WINDOW, Wait};
use super::objects::{Object, WaitKey};
use super::values::{LaneMask, Value, lanes};
use super::{Problem, ProblemKind, Relation};

/// The number of failed waits that are remembered for a group.
const MOST_FAILED_WAITS: usize = 16;

impl Machine<'_> {
    /// Executes an instruction that uses a barrier.
    pub(super) fn synchronize(&mut self, index: usize, stmt: StmtId, facts: Facts<'_>) -> Next {
        let Some(mask) = self.guarded_lanes(index, facts) else {
            return Next::End(End::Unknown);
        };
        if mask == 0 {
            return Next::Step;
        }
        let result = match facts.action() {
            Some(Action::BarrierSync | Action::BarrierReduce | Action::BarrierArrive) => {
                self.named_barrier(index, stmt, facts, mask)
            }
            Some(Action::ClusterArrive) => self.arrive_at_cluster(index, stmt, mask),
            Some(Action::ClusterWait) => Some(self.wait_for_cluster(index, stmt)),
            Some(Action::MbarrierTest | Action::MbarrierWait) => {
                self.wait_for_phase(index, stmt, facts, mask)
            }
            _ => self.use_object(index, stmt, facts, mask),
        };
        result.unwrap_or(Next::End(End::Unknown))
    }

    /// An operand that an instruction reads, by its number; the address is number 0.
    pub(super) fn read_operand(&self, facts: Facts<'_>, number: usize) -> Option<Operand> {
        let mut reads = facts.parts().filter(|(_, usage)| usage.reads());
        reads.nth(number).map(|(operand, _)| operand)
    }

    /// The address of the mbarrier object in each lane, in shared memory.
    fn object_address(&self, index: usize, facts: Facts<'_>, mask: LaneMask) -> Option<Value> {
        let access = facts.memory().find(|access| access.is_mbarrier)?;
        let base = self.operand(index, facts, access.base?);
        let offset = access.offset?;
        let address = Value::of_lanes(mask, |lane| {
            let address = base.get(lane)?.wrapping_add_signed(offset);
            Some(if address >= WINDOW {
                address - WINDOW
            } else {
                address
            })
        });
        (address != Value::Unknown).then_some(address)
    }

    /// Initializes, ends, arrives at, or expects bytes of an object, or starts a copy that reports to it.
    fn use_object(
        &mut self,
        index: usize,
        stmt: StmtId,
        facts: Facts<'_>,
        mask: LaneMask,
    ) -> Option<Next> {
        let addresses = self.object_address(index, facts, mask)?;
        let action = facts.action();
        let number = |machine: &Self, lane| {
            let operand = machine.read_operand(facts, 1)?;
            machine.operand(index, facts, operand).get(lane)
        };
        self.groups[index].failed_waits.clear();
        let warp = self.groups[index].warp;
        for lane in lanes(mask) {
            let address = addresses.get(lane)?;
            if action == Some(Action::MbarrierInit) {
                let count = number(self, lane)?;
                self.initialize(warp, address, Object::new(stmt, count));
                continue;
            }
            if action == Some(Action::MbarrierInvalidate) {
                self.objects.by_address.remove(&address);
                continue;
            }
            let Some(object) = self.objects.by_address.get(&address) else {
                return self.not_initialized(stmt);
            };
            if !self.buffers.is_initialized_for(warp, address) {
                return Some(early_use(stmt, object));
            }
            let phase = object.phase;
            match action {
                Some(Action::MbarrierExpect) => {
                    self.expect_bytes(address, stmt, number(self, lane))
                }
                Some(Action::MbarrierComplete) => {
                    let bytes = number(self, lane);
                    self.start_copy(warp, address, bytes)?;
                }
                Some(Action::MbarrierArrive | Action::MbarrierDrop) => {
                    let mut arrivals = 1;
                    if facts.has_modifier(Modifier::ExpectTx) {
                        self.expect_bytes(address, stmt, number(self, lane));
                    } else if self.read_operand(facts, 1).is_some() {
                        arrivals = number(self, lane)?;
                    }
                    self.arrive(warp, address, stmt, arrivals, action)?;
                }
                Some(Action::CopyArrive) if !facts.has_modifier(Modifier::Noinc) => {
                    self.use_groups(index, stmt, facts);
                }
                Some(Action::CopyArrive | Action::TensorCommit) => {
                    // What the copies report happens after them.
                    self.use_groups(index, stmt, facts);
                    self.arrive(warp, address, stmt, 1, action)?;
                }
                _ => {
                    if let Some(problem) = self.write_buffer(index, stmt, facts, lane, address) {
                        return Some(Next::End(End::Problem(problem)));
                    }
                    let bytes = self.copied_bytes(index, facts, lane);
                    self.start_copy(warp, address, bytes)?;
                }
            }
            if let Some((operand, _)) = facts.results().next()
                && let Some(place) = facts.place(operand)
            {
                self.set_register(index, place, &Value::Uniform(phase), 1 << lane);
            }
            if let Some(problem) = self.arrival_in_full_phase(stmt, address) {
                return Some(Next::End(End::Problem(problem)));
            }
        }
        let problem = self
            .too_many_arrivals(stmt, facts, &addresses, mask)
            .or_else(|| self.repeated_copy(index, stmt, facts, &addresses, mask));
        if let Some(problem) = problem {
            return Some(Next::End(End::Problem(problem)));
        }
        Some(Next::Step)
    }

    fn initialize(&mut self, warp: u32, address: u64, object: Object) {
        self.objects.waits.retain(|key, _| key.address != address);
        self.objects.by_address.insert(address, object);
        self.buffers.initialize(warp, address);
        self.changes += 1;
    }

    /// The problem of more arrivals at an object than its phase has.
    fn arrival_in_full_phase(&self, stmt: StmtId, address: u64) -> Option<Problem> {
        let object = self.objects.by_address.get(&address)?;
        (object.pending < 0).then(|| Problem {
            stmt,
            kind: ProblemKind::ArrivalInFullPhase {
                count: object.count,
            },
            related: vec![(object.initialization, Relation::Initializes)],
        })
    }

    /// The end of an execution that uses an object which is not initialized, although others are.
    fn not_initialized(&self, stmt: StmtId) -> Option<Next> {
        if self.objects.by_address.is_empty() {
            return None;
        }
        Some(Next::End(End::Problem(Problem {
            stmt,
            kind: ProblemKind::NotInitialized,
            related: Vec::new(),
        })))
    }

    /// The problem of an instruction by which lanes of a warp arrive more often than a phase expects.
    fn too_many_arrivals(
        &self,
        stmt: StmtId,
        facts: Facts<'_>,
        addresses: &Value,
        mask: LaneMask,
    ) -> Option<Problem> {
        let arrives = matches!(
            facts.action(),
            Some(Action::MbarrierArrive | Action::TensorCommit)
        ) || facts.action() == Some(Action::CopyArrive)
            && facts.has_modifier(Modifier::Noinc);
        let address = addresses.uniform(mask)?;
        let arrived = u64::from(mask.count_ones());
        let object = self.objects.by_address.get(&address)?;
        let is_single = self.read_operand(facts, 1).is_none()
            || facts.has_modifier(Modifier::ExpectTx)
            || facts.action() == Some(Action::TensorCommit);
        (arrives && is_single && arrived > object.count).then(|| Problem {
            stmt,
            kind: ProblemKind::TooManyArrivals {
                count: object.count,
                arrived,
            },
            related: vec![(object.initialization, Relation::Initializes)],
        })
    }

    /// The problem of a copy of unknown size that several lanes of a warp start, to the same memory and with the same object. Copies of known sizes are
    /// compared with the bytes that the object expects.
    fn repeated_copy(
        &self,
        index: usize,
        stmt: StmtId,
        facts: Facts<'_>,
        addresses: &Value,
        mask: LaneMask,
    ) -> Option<Problem> {
        let starts_copy = facts
            .asynchronous()
            .contains(&(Completion::Mbarrier, AsyncPhase::Start));
        if !starts_copy || mask.count_ones() == 1 {
            return None;
        }
        let written = facts
            .memory()
            .find(|access| !access.is_mbarrier && access.writes())?;
        let address = addresses.uniform(mask)?;
        self.operand(index, facts, written.base?).uniform(mask)?;
        written.offset?;
        let lane = mask.trailing_zeros() as usize;
        if self.copied_bytes(index, facts, lane).is_some() {
            return None;
        }
        let object = self.objects.by_address.get(&address)?;
        Some(Problem {
            stmt,
            kind: ProblemKind::RepeatedCopy {
                copies: u64::from(mask.count_ones()),
            },
            related: vec![(object.initialization, Relation::Initializes)],
        })
    }

    /// The bytes of a copy that reports to an object, if they are known.
    pub(super) fn copied_bytes(&self, index: usize, facts: Facts<'_>, lane: usize) -> Option<u64> {
        let written = facts
            .memory()
            .find(|access| !access.is_mbarrier && access.writes())?;
        match written.size {
            Some(size) => self.operand(index, facts, size).get(lane),
            None => written.bytes.filter(|_| written.data.is_some()),
        }
    }

    fn expect_bytes(&mut self, address: u64, stmt: StmtId, bytes: Option<u64>) {
        if let Some(object) = self.objects.by_address.get_mut(&address) {
            let bytes = bytes.and_then(|bytes| i64::try_from(bytes).ok());
            object.bytes = object
                .bytes
                .zip(bytes)
                .map(|(expected, bytes)| expected.saturating_add(bytes));
            object.expectation = Some(stmt);
        }
    }

    fn arrive(
        &mut self,
        warp: u32,
        address: u64,
        stmt: StmtId,
        arrivals: u64,
        action: Option<Action>,
    ) -> Option<()> {
        let object = self.objects.by_address.get_mut(&address)?;
        object.pending = object.pending.saturating_sub(i64::try_from(arrivals).ok()?);
        object.arrival = Some(stmt);
        if action == Some(Action::MbarrierDrop) {
            object.count = object.count.saturating_sub(arrivals);
        }
        self.buffers.arrive(warp, Place::Object(address), stmt);
        self.complete(address);
        Some(())
    }

    fn start_copy(&mut self, warp: u32, address: u64, bytes: Option<u64>) -> Option<()> {
        let has_fast_copies = self.order.has_fast_copies;
        let object = self.objects.by_address.get_mut(&address)?;
        object.copying_warps |= 1 << warp.min(31);
        object.copies.push(bytes);
        if has_fast_copies
            && bytes.is_some()
            && object.copies.iter().all(Option::is_some)
            && object.bytes.is_some()
        {
            object.finish_copies();
            self.complete(address);
        }
        Some(())
    }

    /// Tests whether a phase of an object is complete.
    fn wait_for_phase(
        &mut self,
        index: usize,
        stmt: StmtId,
        facts: Facts<'_>,
        mask: LaneMask,
    ) -> Option<Next> {
        let addresses = self.object_address(index, facts, mask)?;
        let awaited = self.operand(index, facts, self.read_operand(facts, 1)?);
        let is_parity = facts.has_modifier(Modifier::Parity);
        let warp = self.groups[index].warp;
        let mut complete_lanes = 0;
        let mut pending_address = None;
        for lane in lanes(mask) {
            let address = addresses.get(lane)?;
            let Some(object) = self.objects.by_address.get(&address) else {
                return self.not_initialized(stmt);
            };
            if !self.buffers.is_initialized_for(warp, address) {
                return Some(early_use(stmt, object));
            }
            let is_complete = if is_parity {
                object.phase & 1 != awaited.get(lane)? & 1
            } else {
                object.phase > awaited.get(lane)?
            };
            if is_complete {
                complete_lanes |= 1 << lane;
            } else {
                pending_address = Some(address);
            }
        }
        let changes = self.changes;
        let group = &mut self.groups[index];
        if let Some(address) = pending_address
            && complete_lanes == 0
        {
            if group.failed_waits.contains(&(stmt, changes)) {
                group.wait = Wait::Object {
                    stmt,
                    address,
                    changes,
                };
                group.failed_waits.clear();
                return Some(Next::Again);
            }
            if group.failed_waits.len() == MOST_FAILED_WAITS {
                group.failed_waits.clear();
            }
            group.failed_waits.push((stmt, changes));
        }
        for lane in lanes(complete_lanes) {
            let key = WaitKey {
                warp,
                stmt,
                address: addresses.get(lane)?,
            };
            self.objects.record_wait(key, 1 << lane);
            self.buffers.wait(warp, Place::Object(key.address));
        }
        if let Some((operand, _)) = facts.results().next()
            && let Some(place) = facts.place(operand)
        {
            let result = Value::of_lanes(mask, |lane| Some(u64::from(complete_lanes >> lane & 1)));
            self.set_register(index, place, &result, mask);
        }
        Some(Next::Step)
    }

    /// Arrives at a named barrier, and waits.
    fn named_barrier(
        &mut self,
        index: usize,
        stmt: StmtId,
        facts: Facts<'_>,
        mask: LaneMask,
    ) -> Option<Next> {
        let waits = facts.action() != Some(Action::BarrierArrive);
        let is_reduction = facts.action() == Some(Action::BarrierReduce);
        let mut sources = facts
            .sources()
            .filter(|source| !is_reduction || !source.marks.contains(Marks::THREAD_COUNT));
        let barrier = self
            .operand(index, facts, sources.next()?.operand)
            .uniform(mask)?;
        let count_operand = if is_reduction {
            facts.marked(Marks::THREAD_COUNT).next()
        } else {
            sources.next().map(|source| source.operand)
        };
        let count = match count_operand {
            Some(operand) => Some(self.operand(index, facts, operand).uniform(mask)?),
            None => None,
        };
        let group = &mut self.groups[index];
        let warp = group.warp;
        self.buffers.arrive(warp, Place::Barrier(barrier), stmt);
        let state = self.barriers.0.entry(barrier).or_default();
        let completed = state.completed;
        if state.arrive(warp, mask, count.filter(|count| *count > 0), stmt) {
            return Some(Next::End(End::Problem(Problem {
                stmt,
                kind: ProblemKind::ArrivalTwice { barrier },
                related: Vec::new(),
            })));
        }
        group.failed_waits.clear();
        let is_complete = self.complete_barrier(barrier, false);
        if is_complete && waits {
            self.buffers.wait(warp, Place::Barrier(barrier));
        }
        if is_reduction {
            for place in facts.writes() {
                self.set_register(index, place, &Value::Unknown, mask);
            }
        }
        if !waits || is_complete {
            return Some(Next::Step);
        }
        self.groups[index].wait = Wait::Barrier {
            stmt,
            barrier,
            completed,
        };
        Some(Next::Wait)
    }

    fn arrive_at_cluster(&mut self, index: usize, stmt: StmtId, mask: LaneMask) -> Option<Next> {
        let warp = self.groups[index].warp;
        self.buffers.arrive(warp, Place::Barrier(CLUSTER), stmt);
        let state = self.barriers.0.entry(CLUSTER).or_default();
        state.arrive(warp, mask, None, stmt);
        self.complete_barrier(CLUSTER, false);
        Some(Next::Step)
    }

    /// Waits until all threads have arrived at the barrier of the cluster that this one arrived at.
    fn wait_for_cluster(&mut self, index: usize, stmt: StmtId) -> Next {
        let group = &mut self.groups[index];
        let state = self.barriers.0.entry(CLUSTER).or_default();
        if !state.has_arrived(group.warp, group.lanes) {
            self.buffers.wait(group.warp, Place::Barrier(CLUSTER));
            return Next::Step;
        }
        group.wait = Wait::Barrier {
            stmt,
            barrier: CLUSTER,
            completed: state.completed,
        };
        Next::Wait
    }
}

/// The end of an execution in which a warp uses an object that another warp initializes, without a barrier in between.
fn early_use(stmt: StmtId, object: &Object) -> Next {
    Next::End(End::Problem(Problem {
        stmt,
        kind: ProblemKind::UseBeforeInitialization,
        related: vec![(object.initialization, Relation::Initializes)],
    }))
}
