//! Asynchronous bulk copies, stores and atomic operations.

use ptx_isa::Modifier;

use super::asynchronous::{AsyncOperation, Completes, GroupKind, Pass, SourceRange};
use super::execution::{Control, Execution, Failed, Outcome};
use super::location::Location;
use crate::error::StopReason;
use crate::lanes::{Place, lanes};
use crate::program::{Act, ActOperand, ChangedElement};

impl Act {
    /// Whether the action writes to several CTAs of the cluster.
    pub(super) fn is_multicast(&self) -> bool {
        self.modifiers
            .iter()
            .any(|m| m.text().starts_with(".multicast"))
    }

    /// The rank of the CTA in which the mbarrier object is at which a copy to the CTA of a rank completes. `named_rank` is that of the CTA in which the operand
    /// names the object. With `.multicast`, each CTA of the mask has its own object; with `.cta_group::2`, each pair of CTAs has one, in its CTA of the same
    /// parity as the named one.
    pub(crate) fn rank_of_object(&self, target_rank: usize, named_rank: usize) -> usize {
        if !self.is_multicast() {
            named_rank
        } else if self.has(Modifier::CtaGroup2) {
            target_rank & !1 | named_rank & 1
        } else {
            target_rank
        }
    }

    /// The places of all operands other than addresses.
    fn all_values(&self) -> impl Iterator<Item = Place> + '_ {
        self.operands.iter().flatten().flat_map(|operand| {
            let places: &[Place] = match operand {
                ActOperand::Places(places) => places,
                ActOperand::Address(_) => &[],
            };
            places.iter().copied()
        })
    }
}

/// The mask of all bytes of a unit of 16 bytes.
const ALL_BYTES: u64 = 0xffff;

/// The copy of a block of memory to one CTA or to global memory.
#[derive(Clone, Debug)]
pub(super) struct BulkCopy {
    source: Location,
    target: Location,
    bytes: u64,
    /// The masks of the copied bytes of the first, the inner and the last units of 16 bytes.
    masks: UnitMasks,
    /// The mbarrier object where the copy completes.
    object: Option<Location>,
}

#[derive(Copy, Clone, Debug)]
struct UnitMasks {
    first: u64,
    inner: u64,
    last: u64,
}

impl BulkCopy {
    /// The mask of the copied bytes of the unit at an offset.
    const fn mask(&self, offset: u64) -> u64 {
        let mut mask = self.masks.inner;
        if offset == 0 {
            mask &= self.masks.first;
        }
        if offset + 16 >= self.bytes {
            mask &= self.masks.last;
        }
        mask
    }
}

/// The combination of the elements of a block of memory with those at another place.
#[derive(Clone, Debug)]
pub(super) struct BulkReduction {
    source: Location,
    target: Location,
    bytes: u64,
    element: ChangedElement,
    /// The mbarrier object where the operation completes.
    object: Option<Location>,
}

/// Stores of consecutive elements.
#[derive(Clone, Debug)]
pub(super) struct AsyncStore {
    pub(super) target: Location,
    /// The bytes of an element.
    pub(super) bytes: u8,
    pub(super) elements: Vec<u128>,
    /// The mbarrier object where the stores complete.
    pub(super) object: Option<Location>,
}

impl AsyncStore {
    fn all_bytes(&self) -> u64 {
        u64::from(self.bytes) * self.elements.len() as u64
    }
}

/// An atomic operation on an element in memory.
#[derive(Clone, Debug)]
pub(super) struct AsyncReduction {
    target: Location,
    element: ChangedElement,
    /// The values of the operands.
    values: Vec<(Place, u128)>,
    /// The mbarrier object where the operation completes.
    object: Option<Location>,
}

/// The operands of a bulk operation of a lane.
struct BulkOperands {
    source: Location,
    target: Location,
    bytes: u64,
    object: Option<Location>,
    /// The values of the operands after the number of bytes.
    further_operands: Vec<u64>,
}

impl BulkOperands {
    fn masks(&self, act: &Act) -> UnitMasks {
        let mut masks = UnitMasks {
            first: ALL_BYTES,
            inner: ALL_BYTES,
            last: ALL_BYTES,
        };
        if act.has(Modifier::CpMask)
            && let Some(mask) = self.further_operands.last()
        {
            masks.inner = mask & ALL_BYTES;
        } else if act.has(Modifier::IgnoreOob) {
            let ignored = |operand: usize| {
                let bytes = self.further_operands.get(operand);
                bytes.map_or(0, |bytes| bytes % 16)
            };
            masks.first = ALL_BYTES << ignored(0) & ALL_BYTES;
            masks.last = ALL_BYTES >> ignored(1);
        }
        masks
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

    const fn source_range(&self) -> SourceRange {
        SourceRange {
            start: self.source,
            bytes: self.bytes,
        }
    }
}

/// The completion mechanism of an operation on a number of bytes: an mbarrier object, or without one a bulk group.
const fn completion(object: Option<Location>, bytes: u64) -> Completes {
    match object {
        Some(object) => Completes::Transactions { object, bytes },
        None => Completes::Group(GroupKind::Bulk),
    }
}

impl Execution<'_> {
    /// Starts copies of bytes; with `.multicast::cluster` to the same offset in several CTAs of the cluster.
    pub(super) fn bulk_copy(&mut self, act: &Act) -> Outcome {
        for lane in lanes(self.active) {
            let operands = self.bulk_operands(act, lane)?;
            let locations = self.all_locations(act, operands.target, operands.bytes, lane)?;
            let ranks = operands.target_ranks(act).into_iter();
            for (rank, target) in ranks.flat_map(|rank| locations.iter().map(move |t| (rank, *t))) {
                let copy = BulkCopy {
                    source: operands.source,
                    target: in_block(target, rank),
                    bytes: operands.bytes,
                    masks: operands.masks(act),
                    object: operands.object.map(|object| in_block(object, rank)),
                };
                let completes = completion(copy.object, copy.bytes);
                let source = Some(operands.source_range());
                self.start(AsyncOperation::BulkCopy(copy), completes, source, lane)?;
            }
        }
        Ok(Control::Next)
    }

    pub(super) fn perform_bulk_copy(&mut self, copy: &BulkCopy, lane: usize) -> Result<(), Failed> {
        for offset in (0..copy.bytes).step_by(16) {
            self.handle(16, lane)?;
            let (source, target) = (copy.source.plus(offset), copy.target.plus(offset));
            self.copy_unit(source, target, copy.mask(offset), lane)?;
        }
        self.complete_if_any(copy.object, copy.bytes, lane)
    }

    /// Starts combinations of the elements at the source with those at the target.
    pub(super) fn bulk_reduce(&mut self, act: &Act) -> Outcome {
        for lane in lanes(self.active) {
            let operands = self.bulk_operands(act, lane)?;
            let Some(element) = act.elements.first() else {
                return Err(unsupported_operands(lane));
            };
            for target in self.all_locations(act, operands.target, operands.bytes, lane)? {
                let reduction = BulkReduction {
                    source: operands.source,
                    target,
                    bytes: operands.bytes,
                    element: element.clone(),
                    object: operands.object,
                };
                let completes = completion(operands.object, operands.bytes);
                let operation = AsyncOperation::BulkReduction(reduction);
                self.start(operation, completes, Some(operands.source_range()), lane)?;
            }
        }
        Ok(Control::Next)
    }

    pub(super) fn perform_bulk_reduction(
        &mut self,
        reduction: &BulkReduction,
        lane: usize,
    ) -> Result<(), Failed> {
        let element = &reduction.element;
        for offset in (0..reduction.bytes).step_by(element.bytes.max(1).into()) {
            self.handle(element.bytes.into(), lane)?;
            let (target, source) = (reduction.target.plus(offset), reduction.source.plus(offset));
            self.change(element, target, Some(source), lane)?;
        }
        self.complete_if_any(reduction.object, reduction.bytes, lane)
    }

    /// Starts atomic operations, which complete their bytes at an mbarrier object. Without one, nothing says when they are complete, and they are
    /// performed at once.
    pub(super) fn reduce_async(&mut self, act: &Act) -> Outcome {
        let addresses = act.addresses();
        for lane in lanes(self.active) {
            let (Some(address), Some(element)) = (addresses.first(), act.elements.first()) else {
                return Err(unsupported_operands(lane));
            };
            let target = self.location(address, lane);
            let Some(object) = addresses.get(1) else {
                self.change(element, target, None, lane)?;
                continue;
            };
            let object = self.location(object, lane);
            let reduction = AsyncReduction {
                target,
                element: element.clone(),
                values: act
                    .all_values()
                    .map(|place| (place, self.get(place, lane)))
                    .collect(),
                object: Some(object),
            };
            let completes = completion(Some(object), element.bytes.into());
            self.start(AsyncOperation::Reduction(reduction), completes, None, lane)?;
        }
        Ok(Control::Next)
    }

    pub(super) fn perform_async_reduction(
        &mut self,
        reduction: &AsyncReduction,
        lane: usize,
    ) -> Result<(), Failed> {
        if self.pass == Pass::Perform {
            for (place, value) in &reduction.values {
                self.set(*place, lane, *value);
            }
        }
        let element = &reduction.element;
        self.change(element, reduction.target, None, lane)?;
        self.complete_if_any(reduction.object, element.bytes.into(), lane)
    }

    fn bulk_operands(&self, act: &Act, lane: usize) -> Result<BulkOperands, Failed> {
        let addresses = act.addresses();
        let ([target, source] | [target, source, _]) = &addresses[..] else {
            return Err(unsupported_operands(lane));
        };
        let values = act.values();
        let mut values = values.iter().map(|place| self.get(*place, lane) as u64);
        Ok(BulkOperands {
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

    /// Starts stores of values, which complete their bytes at an mbarrier object. Without one, nothing says when they are complete, and they are
    /// performed at once.
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
        for lane in lanes(self.active) {
            let store = AsyncStore {
                target: self.location(address, lane),
                bytes: (ty.bits() / 8) as u8,
                elements: places.iter().map(|place| self.get(*place, lane)).collect(),
                object: addresses.get(1).map(|object| self.location(object, lane)),
            };
            self.start_store(store, lane)?;
        }
        Ok(Control::Next)
    }

    /// Starts a store; without an mbarrier object it is performed at once.
    pub(super) fn start_store(&mut self, store: AsyncStore, lane: usize) -> Result<(), Failed> {
        if store.object.is_none() {
            return self.perform_async_store(&store, lane);
        }
        let completes = completion(store.object, store.all_bytes());
        self.start(AsyncOperation::Store(store), completes, None, lane)
    }

    pub(super) fn perform_async_store(
        &mut self,
        store: &AsyncStore,
        lane: usize,
    ) -> Result<(), Failed> {
        for (index, bits) in (0u64..).zip(&store.elements) {
            let location = store.target.plus(index * u64::from(store.bytes));
            self.write(location, store.bytes, *bits, lane)?;
        }
        self.complete_if_any(store.object, store.all_bytes(), lane)
    }

    /// Completes bytes at an mbarrier object, if there is one.
    pub(super) fn complete_if_any(
        &mut self,
        object: Option<Location>,
        bytes: u64,
        lane: usize,
    ) -> Result<(), Failed> {
        match object {
            Some(object) => self.complete_transactions(object, bytes, lane),
            None => Ok(()),
        }
    }
}

/// The location with the same offset in the shared memory of the CTA of a rank; without a rank the location itself.
pub(super) const fn in_block(location: Location, rank: Option<usize>) -> Location {
    match (location, rank) {
        (Location::Shared(_, offset), Some(rank)) => Location::Shared(rank, offset),
        _ => location,
    }
}

pub(super) fn unsupported_operands(lane: usize) -> Failed {
    (StopReason::Unsupported("unsupported operands".into()), lane)
}
