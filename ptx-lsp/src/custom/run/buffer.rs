//! Buffers for the parameters of a kernel: their initial elements, and their elements after a launch.

use ptx_isa::ScalarType;
use ptx_report::scalars;
use ptx_semantics::fold::{number, number_bits};
use ptx_vm::Machine;
use serde::{Deserialize, Serialize};

/// The maximum size of a buffer in bytes.
const MAX_BYTES: u64 = 64 << 20;
/// The number of elements that are shown as text.
const SHOWN: usize = 64;
/// The maximum number of elements that are drawn.
const MAX_SAMPLES: usize = 256;

/// The description of a buffer and its initial elements.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Buffer {
    /// The type of the elements without its dot.
    #[serde(rename = "type")]
    ty: String,
    count: u64,
    #[serde(default)]
    fill: Fill,
    /// Values separated by commas. They are repeated until the buffer is full.
    #[serde(default)]
    values: String,
}

/// The initial elements.
#[derive(Copy, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Fill {
    #[default]
    Zero,
    One,
    /// The index of each element.
    Index,
    /// Pseudo-random integers from 0 to 99 or floating-point numbers from 0 to 1. Each launch gets the same numbers.
    Random,
    /// The values of the description.
    Values,
}

/// A buffer in the memory of a machine.
pub(super) struct AllocatedBuffer {
    /// The index of the parameter.
    parameter: usize,
    address: u64,
    ty: ScalarType,
    initial: Vec<u8>,
}

/// A buffer after a launch.
#[derive(Serialize)]
pub(super) struct FinalBuffer {
    /// The index of the parameter.
    parameter: usize,
    #[serde(rename = "type")]
    ty: &'static str,
    count: usize,
    /// The number of elements that differ from their initial values.
    changed: usize,
    /// The first elements.
    values: Vec<String>,
    /// Elements at equal distances as numbers; `None` for an element that is not finite.
    samples: Vec<Option<f64>>,
}

impl Buffer {
    /// Allocates the buffer and writes its initial elements.
    pub(super) fn allocate(
        &self,
        machine: &mut Machine<'_>,
        parameter: usize,
    ) -> Result<AllocatedBuffer, String> {
        let ty = scalars::scalar_type(&self.ty)?;
        let element_bytes = u64::from(ty.bits() / 8).max(1);
        let bytes = self
            .count
            .checked_mul(element_bytes)
            .filter(|bytes| *bytes <= MAX_BYTES)
            .ok_or("a buffer has at most 64 MiB")?;
        let initial = self.initial_bytes(ty, bytes)?;
        let address = machine.allocate(bytes).ok_or("not enough memory")?;
        machine
            .write(address, &initial)
            .map_err(|error| error.to_string())?;
        Ok(AllocatedBuffer {
            parameter,
            address,
            ty,
            initial,
        })
    }

    fn initial_bytes(&self, ty: ScalarType, byte_count: u64) -> Result<Vec<u8>, String> {
        let byte_count = usize::try_from(byte_count).map_err(|error| error.to_string())?;
        if self.fill == Fill::Zero {
            return Ok(vec![0; byte_count]);
        }
        if self.fill == Fill::Values {
            let values = scalars::bytes(ty, &self.values)?;
            return Ok(values.iter().copied().cycle().take(byte_count).collect());
        }
        let element = ty.element().unwrap_or(ty);
        let bits = u32::from(element.bits());
        let mut state = 1u32;
        let element_count = self.count * u64::from(ty.elements().max(1));
        let mut bytes = Vec::with_capacity(byte_count);
        // The value of the packed type that is being filled, and the number of bits of it that are filled.
        let (mut packed, mut filled) = (0u128, 0);
        for index in 0..element_count {
            // A linear congruential generator with a constant seed.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let value = match self.fill {
                Fill::Index => index as f64,
                Fill::Random if element.is_float() => f64::from(state >> 8) / f64::from(1 << 24),
                Fill::Random => f64::from((state >> 16) % 100),
                _ => 1.0,
            };
            let element_bits = match number_bits(element, value) {
                Some(bits) => bits.into(),
                None if element.is_float() => {
                    return Err(format!("`{element}` has no value near {value}"));
                }
                None => value as u128,
            };
            packed |= (element_bits & (u128::MAX >> (128 - bits))) << filled;
            filled += bits;
            if filled == u32::from(ty.bits()) {
                bytes.extend_from_slice(&packed.to_le_bytes()[..usize::from(ty.bits() / 8)]);
                (packed, filled) = (0, 0);
            }
        }
        Ok(bytes)
    }
}

impl AllocatedBuffer {
    pub(super) const fn address(&self) -> u64 {
        self.address
    }

    /// Reads the elements after a launch.
    pub(super) fn read_back(&self, machine: &Machine<'_>) -> FinalBuffer {
        let bytes = machine
            .read(self.address, self.initial.len())
            .unwrap_or_default();
        let element_bytes = usize::from(self.ty.bits() / 8).max(1);
        let elements = bytes.chunks_exact(element_bytes);
        let step = elements.len().div_ceil(MAX_SAMPLES).max(1);
        FinalBuffer {
            parameter: self.parameter,
            ty: scalars::name(self.ty),
            count: elements.len(),
            changed: elements
                .clone()
                .zip(self.initial.chunks_exact(element_bytes))
                .filter(|(element, initial)| element != initial)
                .count(),
            values: elements
                .clone()
                .take(SHOWN)
                .map(|element| scalars::plain(self.ty, little_endian(element)))
                .collect(),
            samples: elements
                .step_by(step)
                .map(|element| self.number(little_endian(element)))
                .collect(),
        }
    }

    /// The number that the bits of an element encode. Of a packed type, this is the element in the lowest bits.
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

/// The unsigned integer of at most 16 bytes.
fn little_endian(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u128::from(*byte))
}
