//! Address modes: the texels that a coordinate selects in one dimension, and their weights.
//!
//! The formulas are those of the section "Texture Fetching" of the CUDA programming guide. With a coordinate `u` in texels and a size `n`:
//!
//! ```text
//! nearest:  floor(u)
//! linear:   t = u - 0.5, i = floor(t), a = t - i:  (1 - a) texel(i) + a texel(i + 1), where a has 8 fractional bits
//! wrap:     u / n is replaced by its fraction
//! mirror:   u / n is replaced by its fraction f, or by 1 - f where floor(u / n) is odd
//! ```
//!
//! The guide does not say how `a` is rounded. It is assumed that `t` is rounded to the nearest multiple of 1/256, half up, before it is split.

use super::description::{AddressMode, FilterMode};

/// The weight of a texel that is read alone.
pub(super) const WHOLE: u32 = 256;

/// The texels that a coordinate selects in one dimension.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Neighbors {
    /// The texels with their weights in units of 1/256, whose sum is 1; `None` for the border.
    pub(super) texels: [(Option<u32>, u32); 2],
}

/// A coordinate beyond which all texels of a clamped texture are the same; it has an exact distance from the edge in units of 1/256.
const FAR: f64 = (1u64 << 40) as f64;

/// The texel numbers on both sides of a coordinate in texels and the weight of the upper one, as linear filtering selects them. The numbers may be
/// outside of the texture.
fn split(coordinate: f64) -> (i64, u32) {
    let fixed = libm::floor((coordinate - 0.5) * 256.0 + 0.5) as i64;
    (fixed >> 8, (fixed & 255) as u32)
}

/// The first of the two texels that linear filtering selects.
pub(super) fn first_neighbor(coordinate: f64) -> i64 {
    split(coordinate.clamp(-FAR, FAR)).0
}

/// A coordinate in texels that is inside of the texture, or at its upper edge; or outside where the mode reads what is there.
pub(super) fn folded(coordinate: f64, size: u32, mode: AddressMode) -> f64 {
    let size = f64::from(size);
    // The remainder of an infinite number is a NaN. What is not a number selects the first texel.
    let number = |value: f64| if value.is_nan() { 0.0 } else { value };
    match mode {
        AddressMode::Wrap => number(coordinate.rem_euclid(size)),
        AddressMode::Mirror => {
            let offset = number(coordinate.rem_euclid(2.0 * size));
            if offset < size {
                offset
            } else {
                2.0 * size - offset
            }
        }
        AddressMode::ClampOgl => number(coordinate).clamp(0.0, size),
        AddressMode::ClampToEdge | AddressMode::ClampToBorder => {
            number(coordinate).clamp(-FAR, FAR)
        }
    }
}

/// The number of the texel of a number that may be outside of the texture; `None` for the border.
pub(super) fn texel(number: i64, size: u32, mode: AddressMode) -> Option<u32> {
    let last = i64::from(size) - 1;
    let inside = match mode {
        AddressMode::Wrap => number.rem_euclid(last + 1),
        AddressMode::Mirror | AddressMode::ClampToEdge => number.clamp(0, last),
        AddressMode::ClampOgl | AddressMode::ClampToBorder => number,
    };
    (0..=last).contains(&inside).then_some(inside as u32)
}

/// The texels that a coordinate in texels selects.
pub(super) fn neighbors(
    coordinate: f64,
    size: u32,
    mode: AddressMode,
    filter: FilterMode,
) -> Neighbors {
    let coordinate = folded(coordinate, size, mode);
    match filter {
        FilterMode::Nearest => {
            let number = libm::floor(coordinate) as i64;
            // The upper edge belongs to the last texel, unless the border begins there.
            let mode = match mode {
                AddressMode::ClampToBorder => mode,
                _ => AddressMode::ClampToEdge,
            };
            let selected = texel(number, size, mode);
            Neighbors {
                texels: [(selected, WHOLE), (selected, 0)],
            }
        }
        FilterMode::Linear => {
            let (first, weight) = split(coordinate);
            Neighbors {
                texels: [
                    (texel(first, size, mode), WHOLE - weight),
                    (texel(first + 1, size, mode), weight),
                ],
            }
        }
    }
}

/// The two numbers of texels that linear filtering selects in a face of a cube with `size` texels in a row, with their weights. A number is outside of the
/// face by at most one.
pub(super) fn split_in_face(coordinate: f64, size: u32) -> [(i64, u32); 2] {
    let (first, weight) = split(folded(coordinate, size, AddressMode::ClampOgl));
    [(first, WHOLE - weight), (first + 1, weight)]
}
