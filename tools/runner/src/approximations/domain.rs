//! The recorded inputs, divided into binades: the inputs with one sign and exponent.

use ptx_isa::ScalarType;

/// The numbers of a format; of a format of 64 bits, their high halves.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Domain {
    /// The bits of an input.
    pub(super) bits: u32,
    /// The bits of the fraction among them.
    pub(super) fraction: u32,
    /// The lowest bits, which are zero in all recorded inputs.
    pub(super) skip: u32,
}

impl Domain {
    pub(super) fn new(element: ScalarType, skip: u32) -> Option<Self> {
        let (bits, fraction) = match element {
            ScalarType::F16 => (16, 10),
            ScalarType::Bf16 => (16, 7),
            ScalarType::F32 => (32, 23),
            // 20 of its 52 bits are in the high half.
            ScalarType::F64 => (32, 20),
            _ => return None,
        };
        (skip <= fraction).then_some(Self {
            bits,
            fraction,
            skip,
        })
    }

    /// The number of recorded inputs.
    pub(super) fn inputs(self) -> u64 {
        1 << (self.bits - self.skip)
    }

    /// The number of inputs of a binade.
    pub(super) fn size(self) -> usize {
        1 << (self.fraction - self.skip)
    }

    /// The number of recorded inputs of a block with a hash: those among 2^20 consecutive inputs.
    pub(super) fn block(self) -> usize {
        1 << 20u32.saturating_sub(self.skip)
    }

    /// The number of binades.
    pub(super) fn binades(self) -> usize {
        1 << (self.bits - self.fraction)
    }

    /// The binade of the number one.
    pub(super) fn one(self) -> usize {
        self.binades() / 4 - 1
    }

    /// An input of a binade.
    pub(super) fn input(self, binade: usize, index: usize) -> u32 {
        (binade << self.fraction | index << self.skip) as u32
    }

    /// The binade of an input and its index in the binade; `None` if it is not recorded.
    pub(super) fn position(self, input: u32) -> Option<(usize, usize)> {
        let is_recorded = input & ((1 << self.skip) - 1) == 0;
        let index = (input & ((1 << self.fraction) - 1)) >> self.skip;
        let binade = (input >> self.fraction) as usize;
        (is_recorded && binade < self.binades()).then_some((binade, index as usize))
    }

    /// An input as a number of 64 bits.
    pub(super) fn number(self, element: ScalarType, input: u32) -> f64 {
        match element {
            ScalarType::F32 => f32::from_bits(input).into(),
            ScalarType::F64 => f64::from_bits(u64::from(input) << 32),
            _ => ptx_semantics::fold::number(element, input.into()).unwrap_or(f64::NAN),
        }
    }

    /// The bits of the number of the format that is nearest to a number of 64 bits.
    pub(super) fn bits_of(self, element: ScalarType, number: f64) -> u32 {
        match element {
            ScalarType::F32 if number.is_nan() => 0x7fff_ffff,
            ScalarType::F32 => (number as f32).to_bits(),
            ScalarType::F64 => (number.to_bits() >> 32) as u32,
            _ => ptx_semantics::fold::number_bits(element, number).unwrap_or(0) as u32,
        }
    }
}
