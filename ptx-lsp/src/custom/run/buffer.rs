//! Buffers that a kernel gets, and what is in them afterwards.

use ptx_analysis::fold::{number, number_bits};
use ptx_isa::ScalarType;
use ptx_report::scalars;
use ptx_vm::Machine;
use serde::{Deserialize, Serialize};

/// The most bytes of a buffer.
const MOST_BYTES: u64 = 64 << 20;
/// How many values are shown as text.
const SHOWN: usize = 64;
/// How many values are drawn.
const DRAWN: usize = 256;

/// A buffer and what is in it at first.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Buffer {
    /// The type of the elements without its dot.
    #[serde(rename = "type")]
    ty: String,
    count: u64,
    #[serde(default)]
    fill: Fill,
    /// The values, separated by commas, which are repeated.
    #[serde(default)]
    values: String,
}

/// What the elements are at first.
#[derive(Copy, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Fill {
    #[default]
    Zero,
    One,
    /// Each its index.
    Index,
    /// Integers from 0 to 99, or numbers from 0 to 1, always the same ones.
    Random,
    /// Those that are given.
    Values,
}

/// A buffer in the memory of a machine.
pub(super) struct Allocated {
    parameter: usize,
    address: u64,
    ty: ScalarType,
    before: Vec<u8>,
}

/// A buffer after a launch.
#[derive(Serialize)]
pub(super) struct After {
    /// The index of the parameter.
    parameter: usize,
    #[serde(rename = "type")]
    ty: &'static str,
    count: usize,
    /// How many elements were changed.
    changed: usize,
    /// The first ones.
    values: Vec<String>,
    /// Elements at equal distances, as numbers; `None` where one is not finite.
    samples: Vec<Option<f64>>,
}

impl Buffer {
    /// Allocates it and writes its elements.
    pub(super) fn allocate(
        &self,
        machine: &mut Machine<'_>,
        parameter: usize,
    ) -> Result<Allocated, String> {
        let ty = scalars::scalar_type(&self.ty)?;
        let each = u64::from(ty.bits() / 8).max(1);
        let bytes = self
            .count
            .checked_mul(each)
            .filter(|bytes| *bytes <= MOST_BYTES);
        let bytes = bytes.ok_or("a buffer has at most 64 MiB")?;
        let before = self.elements(ty, bytes)?;
        let address = machine.allocate(bytes).ok_or("not enough memory")?;
        machine
            .write(address, &before)
            .map_err(|error| error.to_string())?;
        Ok(Allocated {
            parameter,
            address,
            ty,
            before,
        })
    }

    fn elements(&self, ty: ScalarType, bytes: u64) -> Result<Vec<u8>, String> {
        let wanted = usize::try_from(bytes).map_err(|error| error.to_string())?;
        if self.fill == Fill::Zero {
            return Ok(vec![0; wanted]);
        }
        if self.fill == Fill::Values {
            let part = scalars::bytes(ty, &self.values)?;
            return Ok(part.iter().copied().cycle().take(wanted).collect());
        }
        let element = ty.element().unwrap_or(ty);
        let bits = u32::from(element.bits());
        let mut state = 1u32;
        let lanes = self.count * u64::from(ty.lanes().max(1));
        let mut all = Vec::with_capacity(wanted);
        let (mut packed, mut filled) = (0u128, 0);
        for index in 0..lanes {
            // A linear congruential generator: the same numbers each time.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let value = match self.fill {
                Fill::Index => index as f64,
                Fill::Random if element.is_float() => f64::from(state >> 8) / f64::from(1 << 24),
                Fill::Random => f64::from((state >> 16) % 100),
                _ => 1.0,
            };
            let one = match number_bits(element, value) {
                Some(bits) => bits.into(),
                None if element.is_float() => {
                    return Err(format!("`{element}` has no value near {value}"));
                }
                None => value as u128,
            };
            packed |= (one & (u128::MAX >> (128 - bits))) << filled;
            filled += bits;
            if filled == u32::from(ty.bits()) {
                all.extend_from_slice(&packed.to_le_bytes()[..usize::from(ty.bits() / 8)]);
                (packed, filled) = (0, 0);
            }
        }
        Ok(all)
    }
}

impl Allocated {
    pub(super) const fn address(&self) -> u64 {
        self.address
    }

    /// What is in it now.
    pub(super) fn after(&self, machine: &Machine<'_>) -> After {
        let bytes = machine
            .read(self.address, self.before.len())
            .unwrap_or_default();
        let each = usize::from(self.ty.bits() / 8).max(1);
        let elements = bytes.chunks_exact(each);
        let changed = elements.clone().zip(self.before.chunks_exact(each));
        let bits = |element: &[u8]| {
            element
                .iter()
                .rev()
                .fold(0u128, |all, byte| all << 8 | u128::from(*byte))
        };
        let step = elements.len().div_ceil(DRAWN).max(1);
        let samples = elements.clone().step_by(step).map(|e| self.number(bits(e)));
        After {
            parameter: self.parameter,
            ty: scalars::name(self.ty),
            count: elements.len(),
            changed: changed.filter(|(now, before)| now != before).count(),
            values: elements
                .clone()
                .take(SHOWN)
                .map(|e| scalars::plain(self.ty, bits(e)))
                .collect(),
            samples: samples.collect(),
        }
    }

    /// An element as a number; of a packed type the lowest one.
    fn number(&self, bits: u128) -> Option<f64> {
        let element = self.ty.element().unwrap_or(self.ty);
        let width = u32::from(element.bits());
        let bits = bits & (u128::MAX >> (128 - width));
        let value = match number(element, bits) {
            Some(value) => value,
            None => scalars::plain(element, bits).parse().ok()?,
        };
        value.is_finite().then_some(value)
    }
}
