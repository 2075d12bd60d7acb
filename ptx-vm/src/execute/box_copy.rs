//! Asynchronous copies and reductions of parts of tensors: manual 9.7.9.25.5.

use core::ops::Range;

use ptx_isa::{Action, Modifier};

use super::asynchronous::{AsyncOperation, Completes, GroupKind, SourceRange};
use super::bulk::{in_block, unsupported_operands};
use super::execution::{Control, Execution, Failed, Outcome};
use super::location::Location;
use crate::error::StopReason;
use crate::lanes::{Place, lanes};
use crate::memory::Swizzle;
use crate::program::{Act, ActOperand};
use crate::tensor::boxes::{Area, Row, Rows, Selection};
use crate::tensor::element::TensorElement;
use crate::tensor::map::{Mode, TensorMap};
use crate::tensor::reduce::Reduction;

/// The bytes of most accesses.
const CHUNK: u64 = 16;
/// The alignment of maps, in bytes.
const MAP_ALIGN: u64 = 64;
/// The alignment of boxes in shared memory, in bytes.
const SHARED_ALIGN: u64 = 128;

/// A copy of a lane, with the values of its operands.
#[derive(Clone, Debug)]
pub(super) struct BoxCopy {
    map: TensorMap,
    area: Area,
    transfer: Transfer,
}

/// The direction of a copy.
#[derive(Copy, Clone, Debug)]
enum Transfer {
    /// To shared memory.
    Load(Destination),
    /// From shared memory.
    Store(Location),
    /// From shared memory; the elements are combined with those of the tensor.
    Reduce(Location, Reduction),
}

/// The shared memory that elements are copied to, and the mbarrier object where the copy completes.
#[derive(Copy, Clone, Debug)]
struct Destination {
    shared: Location,
    object: Location,
}

/// The operands of an instruction: the addresses in the order of the form, and the values after the map and after the last address.
struct BoxOperands {
    addresses: Vec<Location>,
    coordinates: Vec<Place>,
    address: Option<Place>,
    further: Vec<Vec<Place>>,
}

fn invalid(reason: impl Into<String>, lane: usize) -> Failed {
    (StopReason::Invalid(reason.into()), lane)
}

impl Execution<'_> {
    /// Starts copies of parts of tensors, or combinations of elements with them. The map is read at once.
    pub(super) fn copy_box(&mut self, act: &Act) -> Outcome {
        for lane in lanes(self.active) {
            for copy in self.box_copies_of_lane(act, lane)? {
                let rows = Rows::new(&copy.map, &copy.area).map_err(|why| invalid(why, lane))?;
                let (completes, source) = match copy.transfer {
                    Transfer::Load(Destination { object, .. }) => {
                        let bytes = rows.bytes();
                        (Completes::Transactions { object, bytes }, None)
                    }
                    Transfer::Store(start) | Transfer::Reduce(start, _) => {
                        // A swizzle permutes lines of 128 bytes.
                        let bytes = rows.shared_bytes().next_multiple_of(SHARED_ALIGN);
                        let source = SourceRange { start, bytes };
                        (Completes::Group(GroupKind::Bulk), Some(source))
                    }
                };
                let operation = AsyncOperation::BoxCopy(Box::new(copy));
                self.start(operation, completes, source, lane)?;
            }
        }
        Ok(Control::Next)
    }

    fn box_operands(&self, act: &Act, lane: usize) -> Option<BoxOperands> {
        let mut addresses = Vec::new();
        let mut further: Vec<Vec<Place>> = Vec::new();
        let mut after_map = Vec::new();
        for operand in act.operands.iter().flatten() {
            match operand {
                ActOperand::Address(address) => {
                    if !further.is_empty() {
                        after_map = core::mem::take(&mut further);
                    }
                    addresses.push(self.location(address, lane));
                }
                ActOperand::Places(places) => further.push(places.clone()),
            }
        }
        let replaces_address = act.has(Modifier::OverrideGlobalAddress);
        Some(BoxOperands {
            addresses,
            coordinates: after_map.last()?.clone(),
            address: after_map
                .first()
                .filter(|_| replaces_address)
                .and_then(|places| places.first().copied()),
            further,
        })
    }

    /// The copies that a lane starts: one for each CTA that receives elements.
    fn box_copies_of_lane(&self, act: &Act, lane: usize) -> Result<Vec<BoxCopy>, Failed> {
        let operands = self
            .box_operands(act, lane)
            .ok_or_else(|| unsupported_operands(lane))?;
        let value = |place: &Place| self.get(*place, lane) as u64;
        let coordinates = operands.coordinates.iter().map(|p| value(p) as i32);
        let coordinates: Vec<i32> = coordinates.collect();
        let mut further = operands.further.iter();
        let has_offsets = [Modifier::Im2col, Modifier::Im2colW, Modifier::Im2colW128]
            .iter()
            .any(|modifier| act.has(*modifier));
        let offsets = further.next().filter(|_| has_offsets);
        let offsets: Vec<u32> = offsets
            .into_iter()
            .flatten()
            .map(|place| u32::from(value(place) as u16))
            .collect();
        let (map, transfers) = match operands.addresses[..] {
            [shared, map, object] => {
                let mask_operand = if has_offsets {
                    further.next()
                } else {
                    operands.further.first()
                };
                let mask = mask_operand.and_then(|places| places.first()).map(value);
                let destination = Destination { shared, object };
                let destinations = self.destinations(act, destination, mask, lane)?;
                let loads = destinations.into_iter().map(Transfer::Load);
                (map, loads.collect())
            }
            [map, shared] if act.action == Action::TensorReduce => {
                let reduction = act.modifiers.iter().find_map(|m| Reduction::of(*m));
                let reduction = reduction.ok_or_else(|| unsupported_operands(lane))?;
                (map, vec![Transfer::Reduce(shared, reduction)])
            }
            [map, shared] => (map, vec![Transfer::Store(shared)]),
            _ => return Err(unsupported_operands(lane)),
        };
        let mut map = self.tensor_map_at(map, lane)?;
        map.address = operands.address.as_ref().map_or(map.address, value);
        let area = Area {
            selection: selection(act, &coordinates, offsets),
            coordinates,
        };
        transfers
            .into_iter()
            .map(|transfer: Transfer| {
                let copy = BoxCopy {
                    map: map.clone(),
                    area: area.clone(),
                    transfer,
                };
                check_transfer(&copy).map_err(|why| invalid(why, lane))?;
                Ok(copy)
            })
            .collect()
    }

    /// The valid tensor map at a location.
    fn tensor_map_at(&self, location: Location, lane: usize) -> Result<TensorMap, Failed> {
        if !location.address().is_multiple_of(MAP_ALIGN) {
            let found = location.address();
            return Err(invalid(
                format!(
                    "the address of the tensor map is {found:#x}, but a multiple of {MAP_ALIGN} is expected"
                ),
                lane,
            ));
        }
        let bytes = self.read_tensor_map(location, lane)?;
        TensorMap::from_bytes(&bytes).map_err(|why| invalid(why.to_string(), lane))
    }

    /// The shared memory that a copy writes: the destination, or with `.multicast::cluster` the same offset in the CTAs of a mask.
    fn destinations(
        &self,
        act: &Act,
        destination: Destination,
        mask: Option<u64>,
        lane: usize,
    ) -> Result<Vec<Destination>, Failed> {
        let (Location::Shared(target_rank, _), Location::Shared(object_rank, _)) =
            (destination.shared, destination.object)
        else {
            return Err(unsupported_operands(lane));
        };
        let of_pair = act.has(Modifier::CtaGroup2);
        if !act.is_multicast() {
            // The CTAs of a pair differ in the lowest bit of their ranks.
            let is_allowed =
                target_rank == object_rank || of_pair && target_rank ^ object_rank == 1;
            return if is_allowed {
                Ok(vec![destination])
            } else {
                Err(invalid(
                    format!(
                        "the mbarrier object is in CTA {object_rank} of the cluster, but it is expected in the CTA of the destination, CTA {target_rank}"
                    ),
                    lane,
                ))
            };
        }
        let width = if act.has(Modifier::MulticastCluster32b) {
            32
        } else {
            16
        };
        let mask = mask.unwrap_or(0);
        let ranks = (0..width).filter(|rank| mask >> rank & 1 == 1);
        ranks
            .map(|rank| {
                if self.block.shared(rank).is_none() {
                    return Err(invalid(
                        format!("the mask selects CTA {rank}, which the cluster does not have"),
                        lane,
                    ));
                }
                let rank_of_object = Some(act.rank_of_object(rank, object_rank));
                Ok(Destination {
                    shared: in_block(destination.shared, Some(rank)),
                    object: in_block(destination.object, rank_of_object),
                })
            })
            .collect()
    }

    /// Performs a copy of a lane.
    pub(super) fn perform_box_copy(&mut self, copy: &BoxCopy, lane: usize) -> Result<(), Failed> {
        let map = &copy.map;
        let rows = Rows::new(map, &copy.area).map_err(|why| invalid(why, lane))?;
        match copy.transfer {
            Transfer::Load(Destination { shared, object }) => {
                let bytes = rows.bytes();
                for row in rows {
                    self.load_row(map, &row, shared, lane)?;
                }
                self.complete_if_any(Some(object), bytes, lane)?;
            }
            Transfer::Store(source) => {
                for row in rows {
                    self.store_row(map, &row, source, lane)?;
                }
            }
            Transfer::Reduce(source, reduction) => {
                for row in rows {
                    self.reduce_row(map, &row, source, reduction, lane)?;
                }
            }
        }
        Ok(())
    }

    /// Copies a row to shared memory; elements outside of the tensor are filled.
    fn load_row(
        &mut self,
        map: &TensorMap,
        row: &Row,
        target: Location,
        lane: usize,
    ) -> Result<(), Failed> {
        let target = target.plus(row.shared);
        let unit = map.element.unit();
        let unit_bytes = u64::from(unit.global_bytes);
        let units = u64::from(row.elements / unit.elements);
        let inside = units_inside(map, row);
        if map.element.is_padded() {
            return self.load_padded_row(map, row, target, lane);
        }
        let units_of_chunk = CHUNK / unit_bytes;
        for first in (0..units).step_by(units_of_chunk as usize) {
            self.handle(CHUNK, lane)?;
            let present = inside.start.max(first)..inside.end.min(first + units_of_chunk);
            let mut data = map.fill.bits();
            if let (Some(address), false) = (row.address, present.is_empty()) {
                let bytes = (present.end - present.start) * unit_bytes;
                let address = address.wrapping_add(present.start * unit_bytes);
                let shift = 8 * (present.start - first) * unit_bytes;
                let mask = u128::MAX >> (8 * (CHUNK - bytes)) << shift;
                let read = self.read_elements(address, bytes, unit_bytes, lane)?;
                data = data & !mask | map.element.rounded(read << shift) & mask;
            }
            let location = target.plus(first * unit_bytes);
            self.write_swizzled(location, map.swizzle, data, lane)?;
        }
        Ok(())
    }

    /// Copies a row of elements that have gaps in shared memory, which are not written.
    fn load_padded_row(
        &mut self,
        map: &TensorMap,
        row: &Row,
        target: Location,
        lane: usize,
    ) -> Result<(), Failed> {
        let unit = map.element.unit();
        let inside = units_inside(map, row);
        // 8 or 12 bytes.
        let part = if unit.global_bytes == 8 { 8 } else { 4 };
        for index in 0..u64::from(row.elements / unit.elements) {
            self.handle(CHUNK, lane)?;
            let source = row.address.filter(|_| inside.contains(&index));
            for offset in (0..u64::from(unit.global_bytes)).step_by(part) {
                let source = source.map(|address| {
                    address.wrapping_add(index * u64::from(unit.global_bytes) + offset)
                });
                let data = match source {
                    Some(address) => self.read(Location::Global(address), part as u8, lane)?,
                    None => 0,
                };
                let location = target.plus(index * u64::from(unit.shared_bytes) + offset);
                self.write(swizzled(location, map.swizzle), part as u8, data, lane)?;
            }
        }
        Ok(())
    }

    /// Copies a row from shared memory; elements outside of the tensor are not copied.
    fn store_row(
        &mut self,
        map: &TensorMap,
        row: &Row,
        source: Location,
        lane: usize,
    ) -> Result<(), Failed> {
        let source = source.plus(row.shared);
        let unit = map.element.unit();
        let inside = units_inside(map, row);
        if map.element == TensorElement::B6x16P32 {
            return self.store_packed_row(map, row, source, lane);
        }
        let unit_bytes = u64::from(unit.global_bytes);
        let units_of_chunk = CHUNK / unit_bytes;
        let units = u64::from(row.elements / unit.elements);
        for first in (0..units).step_by(units_of_chunk as usize) {
            self.handle(CHUNK, lane)?;
            let present = inside.start.max(first)..inside.end.min(first + units_of_chunk);
            let (Some(address), false) = (row.address, present.is_empty()) else {
                continue;
            };
            let start = address.wrapping_add(first * unit_bytes);
            let location = source.plus(first * unit_bytes);
            let is_whole = present.end - present.start == units_of_chunk;
            if is_whole && start.is_multiple_of(CHUNK) && !flips(map.swizzle) {
                let data = self.read(swizzled(location, map.swizzle), CHUNK as u8, lane)?;
                self.write(Location::Global(start), CHUNK as u8, data, lane)?;
                continue;
            }
            for index in present {
                let offset = (index - first) * unit_bytes;
                let element = swizzled(location.plus(offset), map.swizzle);
                let data = self.read(element, unit_bytes as u8, lane)?;
                let target = Location::Global(start.wrapping_add(offset));
                self.write(target, unit_bytes as u8, data, lane)?;
            }
        }
        Ok(())
    }

    /// Copies a row of elements of 6 bits, each of which has a byte in shared memory.
    fn store_packed_row(
        &mut self,
        map: &TensorMap,
        row: &Row,
        source: Location,
        lane: usize,
    ) -> Result<(), Failed> {
        let unit = map.element.unit();
        let inside = units_inside(map, row);
        let Some(address) = row.address else {
            return Ok(());
        };
        for index in inside {
            self.handle(CHUNK, lane)?;
            let location = source.plus(index * u64::from(unit.shared_bytes));
            let data = self.read(swizzled(location, map.swizzle), CHUNK as u8, lane)?;
            let packed = (0..unit.elements).fold(0u128, |packed, element| {
                packed | (data >> (8 * element) & 0x3f) << (6 * element)
            });
            for offset in (0..u64::from(unit.global_bytes)).step_by(4) {
                let target = address.wrapping_add(index * u64::from(unit.global_bytes) + offset);
                let word = packed >> (8 * offset) & 0xffff_ffff;
                self.write(Location::Global(target), 4, word, lane)?;
            }
        }
        Ok(())
    }

    /// Combines the elements of a row in shared memory with those of the tensor.
    fn reduce_row(
        &mut self,
        map: &TensorMap,
        row: &Row,
        source: Location,
        reduction: Reduction,
        lane: usize,
    ) -> Result<(), Failed> {
        let source = source.plus(row.shared);
        let bytes = map.element.unit().global_bytes as u8;
        let Some(address) = row.address else {
            return Ok(());
        };
        for index in units_inside(map, row) {
            self.handle(bytes.into(), lane)?;
            let offset = index * u64::from(bytes);
            let element = swizzled(source.plus(offset), map.swizzle);
            let target = Location::Global(address.wrapping_add(offset));
            let other = self.read(element, bytes, lane)? as u64;
            let old = self.read(target, bytes, lane)? as u64;
            let new = reduction.apply(map.element, old, other).unwrap_or(old);
            self.write(target, bytes, new.into(), lane)?;
        }
        Ok(())
    }

    /// Reads at most 16 bytes of a tensor, as one access if possible, else element by element.
    fn read_elements(
        &self,
        address: u64,
        bytes: u64,
        element_bytes: u64,
        lane: usize,
    ) -> Result<u128, Failed> {
        if bytes == CHUNK && address.is_multiple_of(CHUNK) {
            return self.read(Location::Global(address), CHUNK as u8, lane);
        }
        let mut data = 0;
        for offset in (0..bytes).step_by(element_bytes as usize) {
            let location = Location::Global(address.wrapping_add(offset));
            data |= self.read(location, element_bytes as u8, lane)? << (8 * offset);
        }
        Ok(data)
    }

    /// Writes 16 bytes to the place where a swizzle has them.
    fn write_swizzled(
        &mut self,
        location: Location,
        swizzle: Swizzle,
        data: u128,
        lane: usize,
    ) -> Result<(), Failed> {
        if !flips(swizzle) {
            return self.write(swizzled(location, swizzle), CHUNK as u8, data, lane);
        }
        let [low, high] = [data & u128::from(u64::MAX), data >> 64];
        self.write(swizzled(location, swizzle), 8, low, lane)?;
        self.write(swizzled(location.plus(8), swizzle), 8, high, lane)
    }
}

/// Whether the halves of 16 bytes may change places.
fn flips(swizzle: Swizzle) -> bool {
    swizzle == Swizzle::Bytes128Atom32Flip8
}

/// The location in shared memory where a swizzle has the byte of a location.
const fn swizzled(location: Location, swizzle: Swizzle) -> Location {
    match location {
        Location::Shared(rank, offset) => Location::Shared(rank, swizzle.apply(offset)),
        other => other,
    }
}

/// The units of a row that are inside of the tensor.
fn units_inside(map: &TensorMap, row: &Row) -> Range<u64> {
    if row.address.is_none() {
        return 0..0;
    }
    let unit = i64::from(map.element.unit().elements);
    let dim = map.dims.first().map_or(0, |dim| *dim as i64) / unit;
    let (first, count) = (row.first / unit, i64::from(row.elements) / unit);
    let start = (-first).clamp(0, count);
    let end = (dim - first).clamp(start, count);
    start as u64..end as u64
}

/// The elements that an instruction accesses.
fn selection(act: &Act, coordinates: &[i32], offsets: Vec<u32>) -> Selection {
    let is_128 = act.has(Modifier::Im2colW128);
    if act.has(Modifier::TileGather4) || act.has(Modifier::TileScatter4) {
        Selection::Rows
    } else if act.has(Modifier::Im2col) {
        Selection::Column(offsets)
    } else if act.has(Modifier::Im2colNoOffs) {
        Selection::Column(vec![0; coordinates.len().saturating_sub(2)])
    } else if act.has(Modifier::Im2colW) || act.has(Modifier::Im2colNoOffsW) || is_128 {
        let mut offsets = offsets.into_iter();
        Selection::WideColumn {
            halo: offsets.next().unwrap_or(0),
            offset: offsets.next().unwrap_or(0),
            is_128,
        }
    } else {
        Selection::Box
    }
}

/// Checks what the direction of a copy requires of its map and its operands. The error is a sentence.
fn check_transfer(copy: &BoxCopy) -> Result<(), String> {
    let map = &copy.map;
    let (location, is_load) = match copy.transfer {
        Transfer::Load(destination) => (destination.shared, true),
        Transfer::Store(source) | Transfer::Reduce(source, _) => (source, false),
    };
    let address = location.address();
    if !address.is_multiple_of(SHARED_ALIGN) {
        return Err(format!(
            "the offset in shared memory is {address:#x}, but a multiple of {SHARED_ALIGN} is expected"
        ));
    }
    if !map.address.is_multiple_of(CHUNK) {
        let address = map.address;
        return Err(format!(
            "the address of the tensor is {address:#x}, but a multiple of {CHUNK} is expected"
        ));
    }
    if let (Selection::WideColumn { is_128: true, .. }, Swizzle::Bytes96) =
        (&copy.area.selection, map.swizzle)
    {
        return Err("the swizzle mode of the tensor map is 96 bytes, but another one is expected in mode im2col::w::128".into());
    }
    if is_load { Ok(()) } else { check_store(copy) }
}

/// Checks what copies and reductions from shared memory require.
fn check_store(copy: &BoxCopy) -> Result<(), String> {
    let map = &copy.map;
    let element = map.element;
    if let Some(coordinate) = copy.area.coordinates.iter().find(|c| **c < 0) {
        return Err(format!(
            "a coordinate is {coordinate}, but copies from shared memory expect at least 0"
        ));
    }
    if let Mode::Im2col(column) | Mode::Wide(column) = &map.mode
        && (column.lower.iter().any(|offset| *offset < 0)
            || column.upper.iter().any(|offset| *offset > 0))
    {
        return Err("the box of the tensor map is not within the images, but copies from shared memory expect that it is".into());
    }
    if element == TensorElement::B4x16P64 {
        return Err(format!(
            "the elements of the tensor map are {element}, but copies from shared memory expect another type"
        ));
    }
    if let Transfer::Reduce(_, reduction) = copy.transfer
        && reduction.apply(element, 0, 0).is_none()
    {
        return Err(format!(
            "the elements of the tensor map are {element}, but the reduction expects {}",
            reduction.types()
        ));
    }
    Ok(())
}
