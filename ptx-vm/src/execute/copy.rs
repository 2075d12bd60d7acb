//! Copies of a few bytes to shared memory (`cp.async`), and fills of shared memory.

use super::asynchronous::{AsyncOperation, Completes, GroupKind};
use super::execution::{Control, Execution, Failed, Outcome};
use super::location::Location;
use super::touch::Use;
use crate::error::StopReason;
use crate::lanes::{Place, lanes};
use crate::program::{Act, ActOperand};

/// A copy of a lane.
#[derive(Clone, Debug)]
pub(super) struct CopyToShared {
    source: Location,
    target: Location,
    /// The number of bytes that are read; zeros follow them.
    read_bytes: u64,
    /// The number of bytes that are written.
    size: u64,
}

impl Execution<'_> {
    /// Starts copies to shared memory.
    pub(super) fn copy(&mut self, act: &Act) -> Outcome {
        let first = self.first();
        let addresses = act.addresses();
        let [target, source] = addresses[..] else {
            return Err((
                StopReason::Unsupported("unsupported addresses".into()),
                first,
            ));
        };
        let operands: Vec<Place> = (2..act.operands.len())
            .filter_map(|index| act.place(index))
            .collect();
        for lane in lanes(self.active) {
            let mut values = operands.iter().map(|place| self.get(*place, lane) as u64);
            let size = values.next().unwrap_or(0);
            let value_after_size = values.next().unwrap_or(0);
            // The operand after the size is the number of bytes that are read, or a predicate that all are ignored.
            let read_bytes = match operands.get(1) {
                Some(Place::Predicate(_)) if value_after_size != 0 => 0,
                Some(Place::Word(_)) => value_after_size.min(size),
                _ => size,
            };
            let copy = CopyToShared {
                source: self.location(&source, lane),
                target: self.location(&target, lane),
                read_bytes,
                size,
            };
            let completes = Completes::Group(GroupKind::Copies);
            self.start(AsyncOperation::Copy(copy), completes, None, lane)?;
        }
        Ok(Control::Next)
    }

    /// Performs a copy: it is one access to each memory.
    pub(super) fn perform_copy(&mut self, copy: &CopyToShared, lane: usize) -> Result<(), Failed> {
        let CopyToShared {
            source,
            target,
            mut read_bytes,
            size,
        } = *copy;
        let is_observed = core::mem::replace(&mut self.by_byte, false);
        if is_observed {
            let accessed = |count: u64| count.min(u8::MAX.into()) as u8;
            if read_bytes > 0 && !self.touch_one(source, Use::Read, accessed(read_bytes), lane) {
                read_bytes = 0;
            }
            if !self.touch_one(target, Use::Write, accessed(size), lane) {
                self.by_byte = is_observed;
                return Ok(());
            }
        }
        let copied = (0..size).try_for_each(|offset| {
            let byte = if offset < read_bytes {
                self.read(source.plus(offset), 1, lane)?
            } else {
                0
            };
            self.write(target.plus(offset), 1, byte, lane)
        });
        self.by_byte = is_observed;
        copied
    }

    /// Writes a byte to all bytes of a range.
    pub(super) fn fill(&mut self, act: &Act) -> Outcome {
        for lane in lanes(self.active) {
            let Some(Some(ActOperand::Address(address))) = act.operands.first() else {
                continue;
            };
            let size = self.operand(act, 1, lane).unwrap_or(0);
            let value = u128::from(self.operand(act, 2, lane).unwrap_or(0) & 0xff);
            let target = self.location(address, lane);
            for offset in 0..size {
                self.handle(1, lane)?;
                self.write(target.plus(offset), 1, value, lane)?;
            }
        }
        Ok(Control::Next)
    }
}
