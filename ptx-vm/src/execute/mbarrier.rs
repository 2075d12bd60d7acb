//! mbarrier objects: manual 9.7.13.15.

use ptx_isa::{Action, Modifier};

use super::asynchronous::{AsyncOperation, Completes, Pass};
use super::execution::{Control, Execution, Failed, Outcome};
use super::location::Location;
use super::observer::{MbarrierOperation, PhaseEvent};
use crate::error::StopReason;
use crate::lanes::Place;
use crate::lanes::lanes;
use crate::program::{Act, ActOperand, Address};

/// An mbarrier object. Its 64 bits in memory are, from the lowest: the arrivals that a phase expects, those that are pending, the bytes of
/// pending transactions, and the parity of the phase.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
struct Object {
    expected: u32,
    pending: u32,
    /// At least -(2^20 - 1), at most 2^20 - 1.
    transactions: i32,
    odd: bool,
}

/// The bits of a count.
const COUNT: u64 = (1 << 20) - 1;
/// The bits of the transactions.
const TRANSACTIONS: u64 = (1 << 21) - 1;

impl Object {
    const fn from_bits(bits: u64) -> Self {
        let transactions = bits >> 40 & TRANSACTIONS;
        Self {
            expected: (bits & COUNT) as u32,
            pending: (bits >> 20 & COUNT) as u32,
            transactions: (transactions as i32) << 11 >> 11,
            odd: bits >> 63 != 0,
        }
    }

    const fn bits(self) -> u64 {
        let transactions = self.transactions as u64 & TRANSACTIONS;
        self.expected as u64
            | (self.pending as u64) << 20
            | transactions << 40
            | (self.odd as u64) << 63
    }

    /// An error if an action of a lane needs an object that is initialized.
    fn check_initialized(&self, action: Action, lane: usize) -> Result<(), Failed> {
        let needed = matches!(
            action,
            Action::MbarrierExpect
                | Action::MbarrierComplete
                | Action::MbarrierArrive
                | Action::MbarrierDrop
                | Action::CopyArrive
        );
        if needed && self.expected == 0 {
            Err(uninitialized(lane))
        } else {
            Ok(())
        }
    }

    /// Counts arrivals of a lane, and begins the next phase if nothing is pending.
    fn arrive(&mut self, count: u32, lane: usize) -> Result<(), Failed> {
        let pending = self.pending.checked_sub(count);
        self.pending = pending.ok_or_else(|| too_many_arrivals(lane))?;
        self.complete();
        Ok(())
    }

    /// Adds bytes of transactions.
    const fn add_expected(&mut self, bytes: u64) {
        self.transactions = self.transactions.wrapping_add(bytes as i32);
    }

    /// Removes bytes of transactions, and begins the next phase if nothing is pending.
    const fn perform(&mut self, bytes: u64) {
        self.transactions = self.transactions.wrapping_sub(bytes as i32);
        self.complete();
    }

    /// Completes what an operation that was pending completes.
    const fn complete_pending(&mut self, completes: Completes) {
        match completes {
            Completes::Transactions { bytes, .. } => self.perform(bytes),
            Completes::Arrival(_) => {
                self.pending = self.pending.saturating_sub(1);
                self.complete();
            }
            Completes::Group(_) => {}
        }
    }

    /// Begins the next phase if nothing is pending.
    const fn complete(&mut self) {
        if self.pending == 0 && self.transactions == 0 {
            self.pending = self.expected;
            self.odd = !self.odd;
        }
    }
}

/// Describes what the current phase of an mbarrier object lacks, by its bits.
pub(super) fn pending(bits: u64) -> String {
    let object = Object::from_bits(bits);
    if object.expected == 0 {
        return "which is not initialized".into();
    }
    let (pending, expected) = (object.pending, object.expected);
    let phase = u8::from(object.odd);
    let bytes = object.transactions;
    let surplus = bytes.unsigned_abs();
    let arrivals = format!("{pending} of {expected} arrivals");
    let lacks = match (pending, bytes) {
        (0, 1..) => format!("lacks {bytes} bytes of copies"),
        (0, _) => format!("received {surplus} bytes more than it expects"),
        (_, 0) => format!("lacks {arrivals}"),
        (_, 1..) => format!("lacks {arrivals} and {bytes} bytes of copies"),
        (_, _) => format!("lacks {arrivals} and received {surplus} bytes more than it expects"),
    };
    format!("whose phase of parity {phase} {lacks}")
}

impl Act {
    /// The addresses among the operands.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        let present = self.operands.iter().flatten();
        let addresses = present.filter_map(|operand| match operand {
            ActOperand::Address(address) => Some(*address),
            ActOperand::Places(_) => None,
        });
        addresses.collect()
    }

    /// The first places of the operands after the first address other than addresses.
    pub(super) fn values(&self) -> Vec<Place> {
        let mut operands = self.operands.iter();
        let address = operands.position(|o| matches!(o, Some(ActOperand::Address(_))));
        let after_address = address.unwrap_or(0)..self.operands.len();
        after_address.filter_map(|i| self.place(i)).collect()
    }
}

impl Execution<'_> {
    /// Executes an operation on mbarrier objects, one lane after the other.
    pub(super) fn mbarrier(&mut self, act: &Act) -> Outcome {
        let values = act.values();
        let address = act.addresses().first().copied();
        // The observer sees the operation instead.
        self.by_byte = false;
        if matches!(act.action, Action::MbarrierTest | Action::MbarrierWait) {
            // A wait that a checker reports as impossible ends, so that the launch goes on.
            lanes(self.active).for_each(|lane| self.set_result(act, lane, 1));
        }
        for lane in lanes(self.active) {
            if act.action == Action::MbarrierPending {
                let state = act.place(1).map(|p| self.get(p, lane) as u64);
                let pending = Object::from_bits(state.unwrap_or(0)).pending;
                self.set_result(act, lane, pending.into());
                continue;
            }
            let Some(address) = &address else { continue };
            let location = self.location(address, lane);
            self.perform_for(act.action, location, lane)?;
            let old = self.read(location, 8, lane);
            let old = old? as u64;
            let mut object = Object::from_bits(old);
            let first = values.first().map(|place| self.get(*place, lane) as u64);
            let operation = self.observed_operation(act, lane, location, object, first);
            if !self.is_possible(operation.as_ref()) {
                continue;
            }
            object.check_initialized(act.action, lane)?;
            match act.action {
                Action::MbarrierInit => {
                    let count = first.unwrap_or(1) as u32 & COUNT as u32;
                    object = Object {
                        expected: count,
                        pending: count,
                        ..Object::default()
                    };
                }
                Action::MbarrierInvalidate => object = Object::default(),
                Action::MbarrierExpect => object.add_expected(first.unwrap_or(0)),
                Action::MbarrierComplete => {
                    object.perform(first.unwrap_or(0));
                }
                Action::MbarrierArrive | Action::MbarrierDrop => {
                    self.set_result(act, lane, old.into());
                    let expects = act.has(Modifier::ExpectTx);
                    let count = first.filter(|_| !expects).unwrap_or(1) as u32;
                    if expects {
                        object.add_expected(first.unwrap_or(0));
                    }
                    if act.action == Action::MbarrierDrop {
                        object.expected = object.expected.saturating_sub(count);
                    }
                    object.arrive(count, lane)?;
                }
                Action::CopyArrive => {
                    self.start_arrival(location, object, act.has(Modifier::Noinc), lane)?;
                    continue;
                }
                _ => {
                    let odd = if act.has(Modifier::Parity) {
                        first.unwrap_or(0) & 1 != 0
                    } else {
                        Object::from_bits(first.unwrap_or(0)).odd
                    };
                    let is_complete = object.odd != odd;
                    self.set_result(act, lane, is_complete.into());
                    // The other warps that wait for the phase run before this one completes the next phase.
                    self.warp.is_suspended = true;
                    if is_complete {
                        self.show_phase_event(operation.as_ref(), PhaseEvent::Tested);
                    }
                    continue;
                }
            }
            if object.odd != Object::from_bits(old).odd {
                self.show_phase_event(operation.as_ref(), PhaseEvent::Completed);
            }
            self.write(location, 8, object.bits().into(), lane)?;
        }
        Ok(Control::Next)
    }

    fn set_result(&mut self, act: &Act, lane: usize, bits: u128) {
        if let Some(place) = act.place(0) {
            self.set(place, lane, bits);
        }
    }

    /// Performs pending operations before an operation on the mbarrier object at which they complete: those that complete its phase before a test, and
    /// all before the object is initialized or invalidated.
    fn perform_for(
        &mut self,
        action: Action,
        location: Location,
        lane: usize,
    ) -> Result<(), Failed> {
        let Some(queue) = &self.block.cluster_state.queue else {
            return Ok(());
        };
        let last = match action {
            Action::MbarrierInit | Action::MbarrierInvalidate => Some(u64::MAX),
            Action::MbarrierTest | Action::MbarrierWait => {
                let mut object = Object::from_bits(self.read(location, 8, lane)? as u64);
                let odd = object.odd;
                let mut pending = queue.completing_at(location);
                pending
                    .find(|(_, completes)| {
                        object.complete_pending(*completes);
                        object.odd != odd
                    })
                    .map(|(number, _)| number)
            }
            _ => None,
        };
        match last {
            Some(last) => self.perform_at_object(location, last),
            None => Ok(()),
        }
    }

    /// Starts an arrival after the earlier copies of a lane. Without `.noinc` the arrival is first added to the pending ones.
    fn start_arrival(
        &mut self,
        location: Location,
        object: Object,
        is_counted: bool,
        lane: usize,
    ) -> Result<(), Failed> {
        let mut announced = object;
        if is_counted {
            announced.arrive(1, lane)?;
        } else {
            announced.pending += 1;
            self.write(location, 8, announced.bits().into(), lane)?;
        }
        let completes = Completes::Arrival(location);
        self.start(AsyncOperation::Arrival(location), completes, None, lane)
    }

    /// Arrives at an mbarrier object when the earlier copies of the thread are complete.
    pub(super) fn arrive_after_copies(
        &mut self,
        location: Location,
        lane: usize,
    ) -> Result<(), Failed> {
        if self.pass == Pass::Announce {
            return Ok(());
        }
        let by_byte = core::mem::take(&mut self.by_byte);
        let object_before = Object::from_bits(self.read(location, 8, lane)? as u64);
        let mut object = object_before;
        let arrived = object.arrive(1, lane);
        if self.pass == Pass::Whole {
            arrived?;
        }
        self.change_object(Action::CopyArrive, location, object_before, object, lane)?;
        self.by_byte = by_byte;
        Ok(())
    }

    /// Writes an mbarrier object after an operation, and shows to the observer that its phase is complete.
    fn change_object(
        &mut self,
        action: Action,
        location: Location,
        before: Object,
        object: Object,
        lane: usize,
    ) -> Result<(), Failed> {
        if object.odd != before.odd {
            let operation = MbarrierOperation::new(action, lane, location, before.pending, 1);
            self.show_phase_event(operation.as_ref(), PhaseEvent::Completed);
        }
        self.write(location, 8, object.bits().into(), lane)
    }

    /// Completes bytes of the pending transactions of an mbarrier object.
    pub(super) fn complete_transactions(
        &mut self,
        location: Location,
        bytes: u64,
        lane: usize,
    ) -> Result<(), Failed> {
        let by_byte = core::mem::take(&mut self.by_byte);
        let old = self.read(location, 8, lane);
        let object_before = Object::from_bits(old? as u64);
        let operation = MbarrierOperation::new(
            Action::MbarrierComplete,
            lane,
            location,
            object_before.pending,
            bytes,
        );
        let action = Action::MbarrierComplete;
        let is_possible = match self.pass {
            Pass::Perform => object_before.expected != 0,
            Pass::Whole | Pass::Announce => self.is_possible(operation.as_ref()),
        };
        if is_possible {
            object_before.check_initialized(action, lane)?;
        }
        if is_possible && self.pass != Pass::Announce {
            let mut object = object_before;
            object.perform(bytes);
            self.change_object(action, location, object_before, object, lane)?;
        }
        self.by_byte = by_byte;
        Ok(())
    }

    /// Arrives once at an mbarrier object, as operations on tensor memory that are complete do.
    pub(super) fn complete_arrival(
        &mut self,
        location: Location,
        lane: usize,
    ) -> Result<(), Failed> {
        let by_byte = core::mem::take(&mut self.by_byte);
        let object_before = Object::from_bits(self.read(location, 8, lane)? as u64);
        let action = Action::TensorCommit;
        let pending = object_before.pending;
        let operation = MbarrierOperation::new(action, lane, location, pending, 1);
        let is_possible = match self.pass {
            Pass::Perform => object_before.pending != 0,
            Pass::Whole | Pass::Announce => self.is_possible(operation.as_ref()),
        };
        if is_possible {
            object_before.check_initialized(Action::MbarrierArrive, lane)?;
        }
        if is_possible && self.pass != Pass::Announce {
            let mut object = object_before;
            object.arrive(1, lane)?;
            self.change_object(action, location, object_before, object, lane)?;
        }
        self.by_byte = by_byte;
        Ok(())
    }

    /// Shows an operation on an mbarrier object to the observer, and returns whether it is possible.
    fn is_possible(&self, operation: Option<&MbarrierOperation>) -> bool {
        let Some(operation) = operation else {
            return true;
        };
        self.observe(|observer, execution| observer.mbarrier(execution, operation))
            .unwrap_or(true)
    }

    /// Shows an event of the phase of an mbarrier object to the observer.
    fn show_phase_event(&self, operation: Option<&MbarrierOperation>, event: PhaseEvent) {
        if let Some(operation) = operation {
            self.observe(|observer, execution| {
                observer.mbarrier_phase(execution, operation, event);
            });
        }
    }

    /// The operation of a lane on an mbarrier object, if there is an observer to see it.
    fn observed_operation(
        &self,
        act: &Act,
        lane: usize,
        location: Location,
        object: Object,
        first: Option<u64>,
    ) -> Option<MbarrierOperation> {
        let count = if act.has(Modifier::ExpectTx) {
            1
        } else {
            first.unwrap_or(1)
        };
        self.block.cluster_state.observer.as_ref()?;
        MbarrierOperation::new(act.action, lane, location, object.pending, count)
    }
}

fn uninitialized(lane: usize) -> Failed {
    let reason = "the mbarrier object is not initialized";
    (StopReason::Invalid(reason.into()), lane)
}

fn too_many_arrivals(lane: usize) -> Failed {
    let reason = "there are more arrivals at the mbarrier object than the phase expects";
    (StopReason::Invalid(reason.into()), lane)
}
