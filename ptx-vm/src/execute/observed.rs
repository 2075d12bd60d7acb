//! Steps that an observer sees: what they access and perform.

use super::addresses::Addresses;
use super::execution::{Control, Execution, Outcome};
use super::groups::CallFrame;
use super::location::{Location, Memory};
use super::observer::Observer;
use super::touch::{Touch, Use};
use crate::lanes::{LANES, lanes, lanes_where};
use crate::program::{Act, Address, Step};

impl Execution<'_> {
    /// The lanes of a mask whose accesses are within the memory.
    pub(crate) fn lanes_within_memory(&self, touch: &Touch<'_>, mask: u32) -> u32 {
        lanes_where(mask, |lane| {
            let end = touch.addresses[lane].checked_add(touch.bytes);
            end.is_some_and(|end| end <= self.end_of_memory(touch.memory, lane))
        })
    }

    /// One past the last address of a memory, as a lane sees it.
    fn end_of_memory(&self, memory: Memory, lane: usize) -> u64 {
        match memory {
            Memory::Global => self.grid.device.end().next_multiple_of(4),
            Memory::Shared(rank) => self.block.shared(rank).map_or(0, |m| m.len() as u64),
            Memory::Local => self.warp.stacks.get(lane).map_or(0, |s| s.len() as u64),
            Memory::Parameter => self.grid.parameters.len() as u64,
        }
    }

    /// The address of the end of the stack of the call.
    pub(crate) fn top(&self) -> u64 {
        self.call_frame(self.call).map_or(0, |c| c.top)
    }

    /// A call of the warp.
    pub(crate) fn call_frame(&self, call: usize) -> Option<&CallFrame> {
        self.warp.groups.calls.get(call)?.as_ref()
    }

    /// The calls that lanes have just begun at this step, with their lanes.
    pub(crate) fn callees(&self) -> impl Iterator<Item = (usize, u32)> {
        let begun = self.warp.groups.all.iter().filter(|group| {
            let call = self.call_frame(group.call);
            let called_here =
                call.is_some_and(|c| c.caller == Some(self.call) && c.call_step == self.step_index);
            called_here && group.step_index == 0 && group.mask & !self.active == 0
        });
        begun.map(|group| (group.call, group.mask))
    }

    /// The action that is performed.
    pub(crate) fn action(&self) -> Option<&Act> {
        match &self.function.steps.get(self.step_index as usize)?.step {
            Step::Act(act) => Some(act),
            _ => None,
        }
    }

    /// A byte of memory that all lanes have.
    pub(crate) fn byte(&self, memory: Memory, address: u64) -> Option<u8> {
        match memory {
            Memory::Global => self.grid.device.read(address, 1).ok().map(|v| v as u8),
            Memory::Shared(rank) => self.block.shared(rank)?.get(address as usize).copied(),
            Memory::Local | Memory::Parameter => None,
        }
    }

    /// Calls the observer with this execution, if there is an observer.
    pub(super) fn observe<R>(&self, ask: impl FnOnce(&mut dyn Observer, &Self) -> R) -> Option<R> {
        let observer = self.block.cluster_state.observer.as_ref()?;
        let mut observer = observer.try_borrow_mut().ok()?;
        Some(ask(&mut **observer, self))
    }

    /// Executes a step that is observed.
    pub(super) fn observed_step(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Load(access) => {
                let element = access.bytes.into();
                let bytes = element * access.places.len() as u64;
                self.touch(&access.address, Use::Read, bytes, element);
            }
            Step::Store(access) => {
                let element = access.bytes.into();
                let bytes = element * access.places.len() as u64;
                self.touch(&access.address, Use::Write, bytes, element);
            }
            Step::Atomic(atomic) => {
                let bytes = atomic.elements.iter().map(|e| u64::from(e.bytes)).sum();
                self.touch(&atomic.address, Use::ReadWrite, bytes, bytes);
            }
            Step::Act(act) => {
                self.observe(|observer, execution| observer.act(execution, act));
                self.by_byte = true;
            }
            Step::Call(_) => self.by_byte = true,
            _ => {}
        }
        if self.active == 0 {
            return Ok(Control::Next);
        }
        let outcome = self.step(step);
        self.by_byte = false;
        let control = match outcome {
            Ok(control) => control,
            Err(failed) => {
                let goes_on =
                    self.observe(|observer, execution| observer.failed(execution, &failed));
                return match goes_on {
                    Some(true) => Ok(Control::Next),
                    _ => Err(failed),
                };
            }
        };
        match step {
            Step::Act(act) => {
                let waits = matches!(control, Control::Wait(_));
                self.observe(|observer, execution| observer.acted(execution, act, waits));
            }
            Step::Call(_) => {
                self.observe(|observer, execution| observer.called(execution));
            }
            _ => {}
        }
        Ok(control)
    }

    /// Shows accesses of all lanes to the observer; lanes that may not access memory do not execute the step.
    fn touch(&mut self, address: &Address, usage: Use, bytes: u64, element: u64) {
        let mut remaining = self.active;
        let mut allowed = 0;
        let mut addresses = [0; LANES];
        let mut memories = [Memory::Global; LANES];
        let mut all = Addresses::default();
        if self.find_addresses(address, &mut all) {
            (addresses, memories) = (all.offsets, [all.memory; LANES]);
        } else {
            for lane in lanes(remaining) {
                let location = self.location(address, lane);
                (addresses[lane], memories[lane]) = (location.address(), location.memory());
            }
        }
        while remaining != 0 {
            let memory = memories[remaining.trailing_zeros() as usize % LANES];
            let in_memory = lanes_where(remaining, |lane| memories[lane] == memory);
            remaining &= !in_memory;
            let touch = Touch {
                usage,
                memory,
                addresses: &addresses,
                bytes,
                element,
                align: bytes,
                lanes: in_memory,
                value: None,
            };
            let answer = self.observe(|observer, execution| observer.access(execution, &touch));
            allowed |= answer.unwrap_or(in_memory) & in_memory;
        }
        self.active = allowed;
    }

    /// Shows an access of one lane to the observer, if it sees them one by one, and returns whether it may happen.
    pub(super) fn touch_one(&self, to: Location, usage: Use, bytes: u8, lane: usize) -> bool {
        self.touch_value(to, usage, (bytes, None), lane)
    }

    /// Shows an access of one lane to a number of bytes to the observer, with the value that it writes if that is known.
    pub(super) fn touch_value(
        &self,
        to: Location,
        usage: Use,
        (bytes, value): (u8, Option<u128>),
        lane: usize,
    ) -> bool {
        let addresses = [to.address(); LANES];
        let touch = Touch {
            usage,
            memory: to.memory(),
            addresses: &addresses,
            bytes: bytes.into(),
            element: bytes.into(),
            align: bytes.into(),
            lanes: 1 << lane,
            value,
        };
        self.observe(|observer, execution| observer.access(execution, &touch))
            .is_none_or(|allowed| allowed != 0)
    }
}
