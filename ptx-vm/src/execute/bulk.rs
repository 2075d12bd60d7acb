//! Asynchronous bulk copies and stores, and requests that a cluster is canceled. All of them complete immediately, so waits return at once.

use ptx_isa::Modifier;

use super::execution::{Control, Execution, Failed, Outcome};
use super::location::Location;
use crate::error::StopReason;
use crate::lanes::lanes;
use crate::program::{Act, ActOperand};

impl Act {
    /// Whether the action writes to several CTAs of the cluster.
    pub(super) fn is_multicast(&self) -> bool {
        self.modifiers
            .iter()
            .any(|m| m.text().starts_with(".multicast"))
    }
}

/// The mask of all bytes of a unit of 16 bytes.
const ALL_BYTES: u64 = 0xffff;

/// The answer to a request that is refused.
const REFUSED: u128 = 0;

/// The copy of a lane.
struct BulkCopy {
    source: Location,
    target: Location,
    bytes: u64,
    /// The mbarrier object where the copy completes.
    object: Option<Location>,
    /// The values of the operands after the number of bytes.
    further_operands: Vec<u64>,
}

impl BulkCopy {
    /// The mask of the copied bytes of the unit at an offset.
    fn mask(&self, act: &Act, offset: u64) -> u64 {
        if act.has(Modifier::CpMask) {
            return self
                .further_operands
                .last()
                .map_or(ALL_BYTES, |mask| mask & ALL_BYTES);
        }
        let mut mask = ALL_BYTES;
        if act.has(Modifier::IgnoreOob) {
            let ignored = |operand: usize| {
                let bytes = self.further_operands.get(operand);
                bytes.map_or(0, |bytes| bytes % 16)
            };
            if offset == 0 {
                mask &= ALL_BYTES << ignored(0);
            }
            if offset + 16 >= self.bytes {
                mask &= ALL_BYTES >> ignored(1);
            }
        }
        mask
    }

    /// The ranks of the CTAs to whose shared memory the bytes are copied; `None` for the location that the address names.
    fn target_ranks(&self, act: &Act) -> Vec<Option<usize>> {
        let mask = self.further_operands.first().copied().unwrap_or(0);
        if act.is_multicast() {
            (0..32)
                .filter(|rank| mask >> rank & 1 == 1)
                .map(Some)
                .collect()
        } else {
            vec![None]
        }
    }
}

impl Execution<'_> {
    /// Copies bytes; with `.multicast::cluster` to the same offset in several CTAs of the cluster.
    pub(super) fn bulk_copy(&mut self, act: &Act) -> Outcome {
        for lane in lanes(self.active) {
            let copy = self.bulk_copy_of_lane(act, lane)?;
            for rank in copy.target_ranks(act) {
                let target = in_block(copy.target, rank);
                for offset in (0..copy.bytes).step_by(16) {
                    self.handle(16, lane)?;
                    let mask = copy.mask(act, offset);
                    self.copy_unit(copy.source.plus(offset), target.plus(offset), mask, lane)?;
                }
                if let Some(object) = copy.object {
                    let object = in_block(object, rank);
                    self.complete_transactions(object, copy.bytes, lane)?;
                }
            }
        }
        Ok(Control::Next)
    }

    /// Combines the elements at the source with those at the target.
    pub(super) fn bulk_reduce(&mut self, act: &Act) -> Outcome {
        for lane in lanes(self.active) {
            let copy = self.bulk_copy_of_lane(act, lane)?;
            let Some(element) = &act.element else {
                return Err(unsupported_operands(lane));
            };
            for offset in (0..copy.bytes).step_by(element.bytes.max(1).into()) {
                self.handle(element.bytes.into(), lane)?;
                let (target, source) = (copy.target.plus(offset), copy.source.plus(offset));
                self.change(element, target, Some(source), lane)?;
            }
            if let Some(object) = copy.object {
                self.complete_transactions(object, copy.bytes, lane)?;
            }
        }
        Ok(Control::Next)
    }

    /// Performs an atomic operation, and completes its bytes at an mbarrier object if there is one.
    pub(super) fn reduce_async(&mut self, act: &Act) -> Outcome {
        let addresses = act.addresses();
        for lane in lanes(self.active) {
            let (Some(address), Some(element)) = (addresses.first(), &act.element) else {
                return Err(unsupported_operands(lane));
            };
            let target = self.location(address, lane);
            self.change(element, target, None, lane)?;
            if let Some(object) = addresses.get(1) {
                let object = self.location(object, lane);
                self.complete_transactions(object, element.bytes.into(), lane)?;
            }
        }
        Ok(Control::Next)
    }

    /// Writes the answer to a request that a cluster that has not begun is canceled (9.7.13.17), and completes its bytes at an mbarrier object, in this
    /// CTA or in all CTAs of the cluster. The machine refuses all requests, as if all clusters had begun.
    pub(super) fn cancel_cluster(&mut self, act: &Act) -> Outcome {
        let addresses = act.addresses();
        let [target, object] = addresses[..] else {
            return Ok(Control::Next);
        };
        let block_count = self.grid.cluster.iter().product::<u32>() as usize;
        let ranks: Vec<Option<usize>> = if act.is_multicast() {
            (0..block_count).map(Some).collect()
        } else {
            vec![None]
        };
        for lane in lanes(self.active) {
            let target = self.location(&target, lane);
            let object = self.location(&object, lane);
            for &rank in &ranks {
                self.write(in_block(target, rank), 16, REFUSED, lane)?;
                self.complete_transactions(in_block(object, rank), 16, lane)?;
            }
        }
        Ok(Control::Next)
    }

    /// Reads an answer to such a request: no cluster was canceled, so it contains no index of a cluster.
    pub(super) fn canceled_cluster(&mut self, act: &Act) -> Outcome {
        for lane in lanes(self.active) {
            for place in act.all_places(0) {
                self.set(*place, lane, 0);
            }
        }
        Ok(Control::Next)
    }

    fn bulk_copy_of_lane(&self, act: &Act, lane: usize) -> Result<BulkCopy, Failed> {
        let addresses = act.addresses();
        let ([target, source] | [target, source, _]) = &addresses[..] else {
            return Err(unsupported_operands(lane));
        };
        let values = act.values();
        let mut values = values.iter().map(|place| self.get(*place, lane) as u64);
        Ok(BulkCopy {
            source: self.location(source, lane),
            target: self.location(target, lane),
            bytes: values.next().unwrap_or(0),
            object: addresses.get(2).map(|a| self.location(a, lane)),
            further_operands: values.collect(),
        })
    }

    /// Copies the bytes of a mask of a unit of 16 bytes.
    fn copy_unit(
        &mut self,
        source: Location,
        target: Location,
        mask: u64,
        lane: usize,
    ) -> Result<(), Failed> {
        if mask == ALL_BYTES {
            let data = self.read(source, 16, lane)?;
            return self.write(target, 16, data, lane);
        }
        for offset in (0..16).filter(|offset| mask >> offset & 1 == 1) {
            let byte = self.read(source.plus(offset), 1, lane)?;
            self.write(target.plus(offset), 1, byte, lane)?;
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
        let (Some(address), Some(places), Some(ty)) = (addresses.first(), places, types.next())
        else {
            return Err(unsupported_operands(self.first()));
        };
        let bytes = (ty.bits() / 8) as u8;
        for lane in lanes(self.active) {
            let target = self.location(address, lane);
            for (index, place) in (0u64..).zip(places) {
                let bits = self.get(*place, lane);
                let location = target.plus(index * u64::from(bytes));
                self.write(location, bytes, bits, lane)?;
            }
            if let Some(object) = addresses.get(1) {
                let object = self.location(object, lane);
                let stored_bytes = u64::from(bytes) * places.len() as u64;
                self.complete_transactions(object, stored_bytes, lane)?;
            }
        }
        Ok(Control::Next)
    }
}

/// The location with the same offset in the shared memory of the CTA of a rank; without a rank the location itself.
pub(super) const fn in_block(location: Location, rank: Option<usize>) -> Location {
    match (location, rank) {
        (Location::Shared(_, offset), Some(rank)) => Location::Shared(rank, offset),
        _ => location,
    }
}

fn unsupported_operands(lane: usize) -> Failed {
    (StopReason::Unsupported("unsupported operands".into()), lane)
}
