//! Asynchronous bulk copies and stores. They complete immediately, so waits return at once.

use ptx_isa::Modifier;

use super::execution::{Control, Execution, Failed, Outcome};
use super::location::Location;
use crate::error::StopReason;
use crate::lanes::lanes;
use crate::program::{Act, ActOperand};

impl Act {
    /// Whether it writes to several CTAs of the cluster.
    pub(super) fn is_multicast(&self) -> bool {
        let mut texts = self.modifiers.iter().map(|m| m.text());
        texts.any(|text| text.starts_with(".multicast"))
    }
}

/// The bytes of 16 that are copied, one bit for each.
const WHOLE: u64 = 0xffff;

/// The bytes that a lane copies.
struct Block {
    from: Location,
    to: Location,
    bytes: u64,
    /// The mbarrier object where the copy completes.
    object: Option<Location>,
    /// The operands after the number of bytes.
    others: Vec<u64>,
}

impl Block {
    /// The bytes that are copied of the 16 at an offset.
    fn mask(&self, act: &Act, at: u64) -> u64 {
        if act.has(Modifier::CpMask) {
            return self.others.last().map_or(WHOLE, |mask| mask & WHOLE);
        }
        let mut mask = WHOLE;
        if act.has(Modifier::IgnoreOob) {
            let ignored = |n: usize| self.others.get(n).map_or(0, |bytes| bytes % 16);
            if at == 0 {
                mask &= WHOLE << ignored(0);
            }
            if at + 16 >= self.bytes {
                mask &= WHOLE >> ignored(1);
            }
        }
        mask
    }

    /// The CTAs of the cluster to whose shared memory it is copied; `None` for the place that the address names.
    fn targets(&self, act: &Act) -> Vec<Option<usize>> {
        let mask = self.others.first().copied().unwrap_or(0);
        if act.is_multicast() {
            (0..32).filter(|r| mask >> r & 1 == 1).map(Some).collect()
        } else {
            vec![None]
        }
    }
}

impl Execution<'_> {
    /// Copies a block; with `.multicast::cluster` to the same place in several CTAs of the cluster.
    pub(super) fn bulk_copy(&mut self, act: &Act) -> Outcome {
        for lane in lanes(self.active) {
            let block = self.block_of(act, lane)?;
            for rank in block.targets(act) {
                let to = in_block(block.to, rank);
                for at in (0..block.bytes).step_by(16) {
                    self.handle(16, lane)?;
                    let mask = block.mask(act, at);
                    self.copy_16(block.from.plus(at), to.plus(at), mask, lane)?;
                }
                if let Some(object) = block.object {
                    let object = in_block(object, rank);
                    self.complete_transactions(object, block.bytes, lane)?;
                }
            }
        }
        Ok(Control::Next)
    }

    /// Combines the elements of a block with those at the destination.
    pub(super) fn bulk_reduce(&mut self, act: &Act) -> Outcome {
        for lane in lanes(self.active) {
            let block = self.block_of(act, lane)?;
            let Some(element) = &act.element else {
                return Err(operands(lane));
            };
            for at in (0..block.bytes).step_by(element.bytes.max(1).into()) {
                self.handle(element.bytes.into(), lane)?;
                self.change(element, block.to.plus(at), Some(block.from.plus(at)), lane)?;
            }
            if let Some(object) = block.object {
                self.complete_transactions(object, block.bytes, lane)?;
            }
        }
        Ok(Control::Next)
    }

    /// Performs an atomic operation, and completes its bytes at an mbarrier object if there is one.
    pub(super) fn reduce_async(&mut self, act: &Act) -> Outcome {
        let addresses = act.addresses();
        for lane in lanes(self.active) {
            let (Some(to), Some(element)) = (addresses.first(), &act.element) else {
                return Err(operands(lane));
            };
            let to = self.location(to, lane);
            self.change(element, to, None, lane)?;
            if let Some(object) = addresses.get(1) {
                let object = self.location(object, lane);
                self.complete_transactions(object, element.bytes.into(), lane)?;
            }
        }
        Ok(Control::Next)
    }

    fn block_of(&self, act: &Act, lane: usize) -> Result<Block, Failed> {
        let addresses = act.addresses();
        let ([to, from] | [to, from, _]) = &addresses[..] else {
            return Err(operands(lane));
        };
        let values = act.values();
        let mut values = values.iter().map(|place| self.get(*place, lane) as u64);
        Ok(Block {
            from: self.location(from, lane),
            to: self.location(to, lane),
            bytes: values.next().unwrap_or(0),
            object: addresses.get(2).map(|a| self.location(a, lane)),
            others: values.collect(),
        })
    }

    /// Copies the bytes of a mask.
    fn copy_16(
        &mut self,
        from: Location,
        to: Location,
        mask: u64,
        lane: usize,
    ) -> Result<(), Failed> {
        if mask == WHOLE {
            let data = self.read(from, 16, lane)?;
            return self.write(to, 16, data, lane);
        }
        for at in (0..16).filter(|at| mask >> at & 1 == 1) {
            let byte = self.read(from.plus(at), 1, lane)?;
            self.write(to.plus(at), 1, byte, lane)?;
        }
        Ok(())
    }

    /// Stores values, and completes their bytes at an mbarrier object.
    pub(super) fn store_async(&mut self, act: &Act) -> Outcome {
        let addresses = act.addresses();
        let places = act.operands.iter().find_map(|o| match o {
            Some(ActOperand::Places(places)) => Some(places),
            _ => None,
        });
        let mut types = act.modifiers.iter().rev().filter_map(|m| m.scalar_type());
        let (Some(to), Some(places), Some(ty)) = (addresses.first(), places, types.next()) else {
            return Err(operands(self.first()));
        };
        let bytes = (ty.bits() / 8) as u8;
        for lane in lanes(self.active) {
            let target = self.location(to, lane);
            for (n, place) in (0u64..).zip(places) {
                let bits = self.get(*place, lane);
                let location = target.plus(n * u64::from(bytes));
                self.write(location, bytes, bits, lane)?;
            }
            if let Some(object) = addresses.get(1) {
                let object = self.location(object, lane);
                let all = u64::from(bytes) * places.len() as u64;
                self.complete_transactions(object, all, lane)?;
            }
        }
        Ok(Control::Next)
    }
}

/// The location with the same offset in the shared memory of another CTA of the cluster.
pub(super) const fn in_block(location: Location, rank: Option<usize>) -> Location {
    match (location, rank) {
        (Location::Shared(_, at), Some(rank)) => Location::Shared(rank, at),
        _ => location,
    }
}

fn operands(lane: usize) -> Failed {
    (StopReason::Unsupported("unsupported operands".into()), lane)
}
