//! The indices of the threads of a warp in their CTA.

use ptx_isa::{SpecialReg, Uniformity};

use super::number::{Assumed, Lanes, Number, ones};
use crate::memory_access::requests::LANES;
use crate::values::LaunchBounds;

/// The maximum number of threads of a CTA in each dimension.
const MOST_THREADS: [u32; 3] = [1024, 1024, 64];

/// The threads of the warps of a function.
#[derive(Copy, Clone, Debug)]
pub(super) struct Indices {
    bounds: LaunchBounds,
    /// The index in each dimension; `None` if the distances between lanes differ between warps.
    threads: [Option<Number>; 3],
}

impl Indices {
    /// The threads of CTAs that directives allow. Where they do not state the size, dimension x is assumed to be a multiple of 32.
    pub(super) fn new(bounds: LaunchBounds) -> Self {
        Self {
            bounds,
            threads: core::array::from_fn(|dimension| match bounds.threads {
                Some(threads) => index(threads, dimension),
                None => Some(likely_index(&bounds, dimension)),
            }),
        }
    }

    /// A component of a special register; `None` if nothing is known of it.
    pub(super) fn special(&self, register: SpecialReg, component: u8) -> Option<Number> {
        let lanes = |lane: fn(u32) -> u32| {
            let lane = |index: usize| i128::from(lane(index as u32));
            Some(Number::known(core::array::from_fn(lane)))
        };
        match register {
            SpecialReg::Tid if component > 2 => Some(Number::constant(0)),
            SpecialReg::Tid => *self.threads.get(usize::from(component))?,
            SpecialReg::Ntid if component < 3 => Some(self.size(component)),
            SpecialReg::Laneid => lanes(|lane| lane),
            SpecialReg::LanemaskEq => lanes(|lane| 1 << lane),
            SpecialReg::LanemaskLt => lanes(|lane| (1 << lane) - 1),
            SpecialReg::LanemaskLe => lanes(|lane| u32::MAX >> (31 - lane)),
            SpecialReg::LanemaskGe => lanes(|lane| u32::MAX << lane),
            SpecialReg::LanemaskGt => lanes(|lane| (u32::MAX << lane) << 1),
            _ if register.uniformity() <= Uniformity::Warp => {
                let bits = u32::from(register.scalar_type().bits());
                Some(Number::uniform(ones(bits)))
            }
            _ => None,
        }
    }

    /// The number of threads in a dimension.
    fn size(&self, component: u8) -> Number {
        let dimension = usize::from(component);
        if let Some(threads) = self.bounds.threads {
            let size = threads.get(dimension).copied().unwrap_or(1);
            return Number::constant(size.into());
        }
        let most = most_threads(&self.bounds, dimension);
        let bits = ones(u32::BITS - most.leading_zeros());
        if dimension == 0 && most >= LANES as u32 {
            return Number::uniform(bits & !ones(5)).assuming(SHAPE);
        }
        Number::uniform(bits)
    }
}

const SHAPE: Assumed = Assumed {
    shape: true,
    ..Assumed::NOTHING
};

fn most_threads(bounds: &LaunchBounds, dimension: usize) -> u32 {
    let most = MOST_THREADS.get(dimension).copied().unwrap_or(1);
    most.min(bounds.most.max(1))
}

/// The index in a dimension of CTAs of an unknown size.
fn likely_index(bounds: &LaunchBounds, dimension: usize) -> Number {
    let greatest = most_threads(bounds, dimension) - 1;
    let bits = ones(u32::BITS - greatest.leading_zeros());
    let number = if dimension == 0 {
        Number {
            base: bits & !ones(5),
            ..Number::known(core::array::from_fn(|lane| lane as i128))
        }
    } else if bounds.most <= LANES as u32 {
        Number::constant(0)
    } else {
        Number::uniform(bits)
    };
    number.assuming(SHAPE)
}

/// The index in a dimension of CTAs of a size; `None` if it is not a sum of an offset of each lane and an integer that is the same in a warp.
fn index(threads: [u32; 3], dimension: usize) -> Option<Number> {
    let [x, y, z] = threads.map(|size| i128::from(size.max(1)));
    let count = (x * y * z).min(MOST_THREADS[0].into());
    let indices = |thread: i128| [thread % x, thread / x % y, thread / x / y][dimension.min(2)];
    let warp = |first: i128| -> Lanes {
        core::array::from_fn(|lane| indices((first + lane as i128).min(count - 1)))
    };
    let mut number = Number::known(warp(0));
    for first in (LANES as i128..count).step_by(LANES) {
        let lanes = warp(first);
        let existing = usize::try_from(count - first).unwrap_or(LANES).min(LANES);
        let start = lanes[0].wrapping_sub(number.offsets[0]);
        let pairs = lanes.iter().zip(&number.offsets).take(existing);
        let mut pairs = pairs.map(|(lane, offset)| lane.wrapping_sub(*offset) == start);
        if start < 0 || !pairs.all(|is_same| is_same) {
            return None;
        }
        number.base |= start as u128;
    }
    Some(number)
}
