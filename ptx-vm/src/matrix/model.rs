//! The parameters of the sums that the tensor cores of each architecture compute.

use ptx_isa::{ScalarType, Target};

use super::dot::{Rounding, Rule};

/// The fractional bits of the terms in the units for factors of 8 bits of sm_89 and of warpgroups.
const SHORT_BITS: u32 = 13;

/// Architectures that differ in the sums that their tensor cores make.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Model {
    /// sm_70 and sm_72.
    Volta,
    /// sm_75.
    Turing,
    /// sm_80 to sm_88.
    Ampere,
    /// sm_89.
    Ada,
    /// sm_90.
    Hopper,
    /// sm_100 to sm_110.
    Blackwell,
    /// sm_120 and sm_121.
    BlackwellRtx,
}

/// The steps of a sum of products.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// By a tensor core, in blocks.
    Blocks(Rule),
    /// By a tensor core for wider factors, which adds the products of the first two of four columns and then the others to zero;
    /// the addend is added in the end, rounded to nearest.
    Halves(Rule),
    /// By multiplications and additions of binary32 in each lane.
    Lanes { half: bool },
}

impl Model {
    pub(crate) fn of(target: Target) -> Self {
        match target.number() {
            0..=74 => Self::Volta,
            75..=79 => Self::Turing,
            89 => Self::Ada,
            80..=88 => Self::Ampere,
            90..=99 => Self::Hopper,
            100..=119 => Self::Blackwell,
            _ => Self::BlackwellRtx,
        }
    }

    /// The method for factors of a type and results in binary16 (`half`) or binary32. `quads`: each eight lanes have their own matrices.
    pub(crate) fn method(self, factors: ScalarType, half: bool, quads: bool) -> Method {
        if quads && self >= Self::Ampere {
            return Method::Lanes { half };
        }
        let plain = |block| Method::Blocks(self.rule(block, half));
        match factors {
            ScalarType::F16 | ScalarType::Bf16 => plain(match self {
                Self::Volta if factors == ScalarType::F16 => 4,
                Self::Volta | Self::Turing | Self::Ampere | Self::Ada => 8,
                _ => 16,
            }),
            ScalarType::Tf32 => plain(match self {
                Self::Volta | Self::Turing | Self::Ampere | Self::Ada => 4,
                _ => 8,
            }),
            ScalarType::E4m3 | ScalarType::E5m2 => match self {
                Self::BlackwellRtx => plain(32),
                Self::Hopper | Self::Blackwell => Method::Halves(self.rule(16, half)),
                _ => Method::Blocks(Rule {
                    bits: SHORT_BITS,
                    result: if half {
                        Rounding::Half
                    } else {
                        Rounding::Short
                    },
                    ..Self::Ada.rule(16, half)
                }),
            },
            _ => Method::Blocks(Self::BlackwellRtx.rule(32, half)),
        }
    }

    /// The method for products of a warpgroup, which architectures before sm_90 do not have. Factors of 8 bits have a separate unit.
    pub(crate) fn warpgroup_method(self, factors: ScalarType, half: bool) -> Method {
        let model = self.max(Self::Hopper);
        match factors {
            ScalarType::E4m3 | ScalarType::E5m2 => Method::Blocks(Rule {
                bits: SHORT_BITS,
                result: if half {
                    Rounding::Half
                } else {
                    Rounding::Short
                },
                ..model.rule(32, half)
            }),
            _ => model.method(factors, half, false),
        }
    }

    /// The method of the fifth generation of tensor cores for factors of a type, of which it adds 32 bytes at once. Factors of less than 8 bits count as
    /// bytes.
    pub(crate) fn tensor_memory_method(factors: ScalarType, half: bool) -> Method {
        let block = 256 / usize::from(factors.bits()).max(8);
        Method::Blocks(Self::Blackwell.rule(block, half))
    }

    fn rule(self, block: usize, half: bool) -> Rule {
        let (bits, floors) = match self {
            Self::Volta => (23, [i32::MIN; 2]),
            Self::Turing | Self::Ampere | Self::Ada => (24, [-132, -20]),
            Self::Hopper | Self::Blackwell | Self::BlackwellRtx => (25, [-133, -21]),
        };
        Rule {
            block,
            bits,
            floor: floors[usize::from(half)],
            result: if half {
                Rounding::Half
            } else {
                Rounding::Single
            },
        }
    }
}

/// The rule for factors of 4 bits with block scales: terms are groups of 16 products.
pub(crate) const SCALED_GROUPS: Rule = Rule {
    block: 4,
    bits: 35,
    floor: i32::MIN,
    result: Rounding::Single,
};
