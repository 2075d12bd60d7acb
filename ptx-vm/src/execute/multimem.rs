//! Accesses to all memory locations of a multimem address: manual 9.7.9.14.
//!
//! An address that is not a multimem address denotes one location. The PTX ISA manual leaves open in which order values are combined: the machine takes
//! the locations in the order in which the range of addresses was made, and rounds each sum.

use ptx_isa::{Modifier, ScalarType};

use super::addresses::check_alignment;
use super::bulk::unsupported_operands;
use super::execution::{Control, Execution, Failed, Outcome};
use super::location::Location;
use crate::error::StopReason;
use crate::lanes::lanes;
use crate::matrix::formats::Format;
use crate::memory::is_multimem;
use crate::program::Act;
use crate::tensor::element::TensorElement;
use crate::tensor::reduce::{self, Reduction};

/// A type whose sums are added in a wider type.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Accumulator {
    /// The type of the values.
    Same,
    Half,
    Single,
}

impl Execution<'_> {
    /// The memory locations of bytes at a location, in the order of the members of the range.
    pub(super) fn all_locations(
        &self,
        act: &Act,
        location: Location,
        bytes: u64,
        lane: usize,
    ) -> Result<Vec<Location>, Failed> {
        let Location::Global(address) = location else {
            return Ok(vec![location]);
        };
        if !act.is_multimem || !is_multimem(address) {
            return Ok(vec![location]);
        }
        let locations = self.grid.device.multicasts().locations(address, bytes);
        let locations = locations.ok_or((StopReason::OutOfBounds(address), lane))?;
        Ok(locations.map(Location::Global).collect())
    }

    /// The locations of a vector of elements in a lane.
    fn locations_of_vector(
        &self,
        act: &Act,
        bytes: u64,
        lane: usize,
    ) -> Result<Vec<Location>, Failed> {
        let addresses = act.addresses();
        let address = addresses
            .first()
            .ok_or_else(|| unsupported_operands(lane))?;
        let location = self.location(address, lane);
        check_alignment(location, bytes, lane)?;
        self.all_locations(act, location, bytes, lane)
    }

    /// Loads from all locations, and combines the values.
    pub(super) fn multimem_load(&mut self, act: &Act) -> Outcome {
        let first = self.first();
        let ty = element_type(act).ok_or_else(|| unsupported_operands(first))?;
        let reduction = act.modifiers.iter().find_map(|m| Reduction::of(*m));
        let reduction = reduction.ok_or_else(|| unsupported_operands(first))?;
        let accumulator = if act.has(Modifier::AccF32) {
            Accumulator::Single
        } else if act.has(Modifier::AccF16) {
            Accumulator::Half
        } else {
            Accumulator::Same
        };
        let bytes = u64::from(ty.bits() / 8);
        let places = act.all_places(0);
        for lane in lanes(self.active) {
            let locations = self.locations_of_vector(act, bytes * places.len() as u64, lane)?;
            for (index, place) in (0u64..).zip(places) {
                self.handle(bytes * locations.len() as u64, lane)?;
                let values = locations
                    .iter()
                    .map(|location| self.read(location.plus(index * bytes), bytes as u8, lane))
                    .collect::<Result<Vec<u128>, Failed>>()?;
                let result = combine(ty, reduction, accumulator, &values);
                let result = result.ok_or_else(|| unsupported_operands(lane))?;
                self.set(*place, lane, result);
            }
        }
        Ok(Control::Next)
    }

    /// Stores to all locations.
    pub(super) fn multimem_store(&mut self, act: &Act) -> Outcome {
        let first = self.first();
        let ty = element_type(act).ok_or_else(|| unsupported_operands(first))?;
        let bytes = u64::from(ty.bits() / 8);
        let places = act.all_places(1);
        for lane in lanes(self.active) {
            for location in self.locations_of_vector(act, bytes * places.len() as u64, lane)? {
                self.handle(bytes * places.len() as u64, lane)?;
                for (index, place) in (0u64..).zip(places) {
                    let bits = self.get(*place, lane);
                    self.write(location.plus(index * bytes), bytes as u8, bits, lane)?;
                }
            }
        }
        Ok(Control::Next)
    }

    /// Performs an atomic operation on all locations.
    pub(super) fn multimem_reduce(&mut self, act: &Act) -> Outcome {
        let bytes: u64 = act.elements.iter().map(|e| u64::from(e.bytes)).sum();
        for lane in lanes(self.active) {
            for location in self.locations_of_vector(act, bytes, lane)? {
                let mut element_location = location;
                for element in &act.elements {
                    self.change(element, element_location, None, lane)?;
                    element_location = element_location.plus(element.bytes.into());
                }
            }
        }
        Ok(Control::Next)
    }
}

/// The type of the elements in memory.
fn element_type(act: &Act) -> Option<ScalarType> {
    act.modifiers.iter().rev().find_map(|m| m.scalar_type())
}

/// Combines values of a type; `None` if the operation does not exist for the type. The elements of packed values are combined separately.
fn combine(
    ty: ScalarType,
    reduction: Reduction,
    accumulator: Accumulator,
    values: &[u128],
) -> Option<u128> {
    let element = element_of_packed(ty);
    let bits = u32::from(element.bits());
    let mask = u128::MAX >> (128 - bits);
    let mut result = 0;
    for shift in (0..u32::from(ty.bits())).step_by(bits as usize) {
        let elements = values.iter().map(|value| (value >> shift & mask) as u64);
        let combined = combine_elements(element, reduction, accumulator, elements)?;
        result |= u128::from(combined) << shift;
    }
    Some(result)
}

const fn element_of_packed(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::F16x2 => ScalarType::F16,
        ScalarType::Bf16x2 => ScalarType::Bf16,
        ScalarType::E4m3x2 | ScalarType::E4m3x4 => ScalarType::E4m3,
        ScalarType::E5m2x2 | ScalarType::E5m2x4 => ScalarType::E5m2,
        other => other,
    }
}

fn combine_elements(
    ty: ScalarType,
    reduction: Reduction,
    accumulator: Accumulator,
    mut elements: impl Iterator<Item = u64>,
) -> Option<u64> {
    let first = elements.next()?;
    let element = match ty {
        ScalarType::B32 | ScalarType::U32 => TensorElement::U32,
        ScalarType::B64 | ScalarType::U64 => TensorElement::U64,
        ScalarType::S32 => TensorElement::S32,
        ScalarType::S64 => TensorElement::S64,
        ScalarType::F32 => TensorElement::F32,
        ScalarType::F16 => TensorElement::F16,
        ScalarType::Bf16 => TensorElement::Bf16,
        ScalarType::F64 => {
            let sum = elements.fold(f64::from_bits(first), |sum, element| {
                sum + f64::from_bits(element)
            });
            return (reduction == Reduction::Add).then_some(sum.to_bits());
        }
        ScalarType::E4m3 | ScalarType::E5m2 => {
            return combine_bytes(ty, reduction, accumulator, first, elements);
        }
        _ => return None,
    };
    if accumulator == Accumulator::Single {
        let single = |bits: u64| reduce::to_single(element, bits);
        let mut sum = single(first)?;
        for other in elements {
            sum = reduce::add(sum, single(other)?);
        }
        return reduce::from_single(element, sum);
    }
    elements.try_fold(first, |result, other| {
        reduction.apply(element, result, other)
    })
}

/// Combines floating-point numbers of 8 bits. Their sums are exact in binary32.
fn combine_bytes(
    ty: ScalarType,
    reduction: Reduction,
    accumulator: Accumulator,
    first: u64,
    elements: impl Iterator<Item = u64>,
) -> Option<u64> {
    let format = Format::of(ty, false)?;
    let single = |bits: u64| format.decode(bits as u32).to_single(format);
    let mut result = first;
    // Exact in binary16.
    let mut half = reduce::from_single(TensorElement::F16, single(first).to_bits())?;
    for other in elements {
        match (reduction, accumulator) {
            (Reduction::Add, Accumulator::Half) => {
                let other = reduce::from_single(TensorElement::F16, single(other).to_bits())?;
                half = reduction.apply(TensorElement::F16, half, other)?;
                let sum = reduce::to_single(TensorElement::F16, half)?;
                result = nearest(format, f32::from_bits(sum));
            }
            (Reduction::Add, _) => result = nearest(format, single(result) + single(other)),
            (Reduction::Min | Reduction::Max, _) => {
                let is_greatest = reduction == Reduction::Max;
                result = reduce::select(result, other, is_greatest, |bits| single(bits).to_bits());
            }
            _ => return None,
        }
    }
    Some(result)
}

/// The number of a format of 8 bits that is nearest to a number, with an even fraction between two of them; the greatest one in the place of numbers beyond
/// it and of infinities.
fn nearest(format: Format, number: f32) -> u64 {
    let single = |code: u32| format.decode(code).to_single(format);
    if number.is_nan() {
        return 0x7f;
    }
    let sign = u64::from(number.to_bits() >> 31) << 7;
    let magnitude = number.abs();
    let codes = (0u32..0x80).take_while(|code| single(*code).is_finite());
    let lower = codes.take_while(|code| single(*code) <= magnitude).last();
    let lower = lower.unwrap_or(0);
    let upper = single(lower + 1);
    // Exact.
    let middle = single(lower).midpoint(upper);
    let rounds_up =
        upper.is_finite() && (magnitude > middle || magnitude == middle && lower & 1 == 1);
    sign | u64::from(lower + u32::from(rounds_up))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a number of 8 bits, from its definition.
    fn value(code: u32, fraction_bits: u32) -> f64 {
        let exponent_bits = 7 - fraction_bits;
        let bias = (1 << (exponent_bits - 1)) - 1;
        let exponent = (code >> fraction_bits) as i32;
        let fraction = f64::from(code & ((1 << fraction_bits) - 1)) / f64::from(1 << fraction_bits);
        match exponent {
            0 => fraction * 2f64.powi(1 - bias),
            exponent => (1.0 + fraction) * 2f64.powi(exponent - bias),
        }
    }

    #[test]
    fn numbers_of_8_bits_are_rounded_to_the_nearest_one() {
        for (ty, fraction_bits, greatest) in
            [(ScalarType::E4m3, 3, 0x7e), (ScalarType::E5m2, 2, 0x7b)]
        {
            let format = Format::of(ty, false).unwrap();
            for low in 0..=greatest {
                let number = value(low, fraction_bits);
                assert_eq!(nearest(format, number as f32), u64::from(low));
                assert_eq!(nearest(format, -number as f32), u64::from(low) | 0x80);
                if low < greatest {
                    let above = value(low + 1, fraction_bits);
                    let middle = (number + above) / 2.0;
                    let even = u64::from(low + (low & 1));
                    assert_eq!(nearest(format, middle as f32), even, "{ty:?} {low}");
                    let quarter = (number + middle) / 2.0;
                    assert_eq!(nearest(format, quarter as f32), u64::from(low));
                    let three_quarters = (above + middle) / 2.0;
                    assert_eq!(nearest(format, three_quarters as f32), u64::from(low + 1));
                }
            }
            assert_eq!(nearest(format, 1e9), u64::from(greatest));
            assert_eq!(
                nearest(format, f32::NEG_INFINITY),
                u64::from(greatest) | 0x80
            );
            assert_eq!(nearest(format, f32::NAN), 0x7f);
        }
    }
}
