//! Random contents of buffers.

use ptx_isa::{ScalarType, TypeKind};
use ptx_report::clean;
use ptx_semantics::fold::number_bits;

use super::argument::array;
use super::npy::Layout;

/// Random elements of an array. The same seed gives the same elements on every host.
#[derive(Clone, Debug)]
pub(super) struct Random {
    pub(super) layout: Layout,
    ty: ScalarType,
    /// The seed; by default the number of the buffer.
    seed: Option<u64>,
}

impl Random {
    /// `f32[1024]` or `f32[1024]:7`
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (text, seed) = match text.rsplit_once(':') {
            None => (text, None),
            Some((array, seed)) => {
                let number = seed.parse().map_err(|_| {
                    let seed = clean(seed);
                    format!("expected a seed such as `random:f32[256]:7`, found `{seed}`")
                })?;
                (array, Some(number))
            }
        };
        let (ty, layout) = array(text)?;
        Ok(Self { layout, ty, seed })
    }

    /// Passes the bytes to `write`, in parts with their offsets.
    pub(super) fn copy<E>(
        &self,
        buffer: usize,
        mut write: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let element_bytes = usize::from(self.ty.bits() / 8).max(1);
        let total = self.layout.bytes().unwrap_or(0);
        let seed = self.seed.unwrap_or(buffer as u64);
        let mut bytes = Vec::with_capacity(CHUNK + element_bytes);
        let (mut start, mut index) = (0, 0);
        while start < total {
            bytes.clear();
            while bytes.len() < CHUNK && start + (bytes.len() as u64) < total {
                let element = self.element(seed, index).to_le_bytes();
                bytes.extend_from_slice(element.get(..element_bytes).unwrap_or(&element));
                index += 1;
            }
            write(start, &bytes)?;
            start += bytes.len() as u64;
        }
        Ok(())
    }

    /// The bits of an element of the array. A packed type has several random values.
    fn element(&self, seed: u64, index: u64) -> u128 {
        let count = u64::from(self.ty.elements().max(1));
        let ty = self.ty.element().unwrap_or(self.ty);
        let width = u32::from(self.ty.bits()) / count as u32;
        let mask = u128::MAX >> (128 - width.clamp(1, 128));
        (0..count).fold(0, |bits, part| {
            let value = value(ty, seed, index.wrapping_mul(count).wrapping_add(part));
            bits | (value & mask) << (part as u32 * width)
        })
    }
}

/// The number of bytes that are generated at a time.
const CHUNK: usize = 1 << 20;

/// A value of a type: any integer, or a number from -1 to 1.
fn value(ty: ScalarType, seed: u64, index: u64) -> u128 {
    let (low, high) = (split_mix(seed, 2 * index), split_mix(seed, 2 * index + 1));
    if matches!(ty.kind(), TypeKind::Float | TypeKind::Fixed) {
        // 53 bits are the precision of the numbers.
        let number = (low >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
        let bits = number_bits(ty, number).or_else(|| number_bits(ty, number.abs()));
        return bits.map_or(low.into(), u128::from);
    }
    u128::from(high) << 64 | u128::from(low)
}

/// Output `index` of the SplitMix64 generator with a seed.
fn split_mix(seed: u64, index: u64) -> u64 {
    let step = 0x9e37_79b9_7f4a_7c15u64;
    let start = seed.wrapping_mul(0xd134_2543_de82_ef95);
    let mut z = start.wrapping_add(index.wrapping_add(1).wrapping_mul(step));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
