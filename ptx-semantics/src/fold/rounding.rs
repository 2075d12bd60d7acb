//! Directions of rounding.

use ptx_isa::Modifier;

/// A direction of rounding of IEEE 754.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// To nearest, ties away from zero.
    NearestAway,
    Zero,
    Down,
    Up,
}

impl Rounding {
    /// The direction that a modifier means.
    pub(crate) fn of(modifier: Modifier) -> Option<Self> {
        Some(match modifier {
            Modifier::Rn | Modifier::Rni => Self::Nearest,
            Modifier::Rna => Self::NearestAway,
            Modifier::Rz | Modifier::Rzi => Self::Zero,
            Modifier::Rm | Modifier::Rmi => Self::Down,
            Modifier::Rp | Modifier::Rpi => Self::Up,
            _ => return None,
        })
    }

    /// The direction in which the magnitude of a number with this sign is rounded.
    pub(crate) const fn of_magnitude(self, negative: bool) -> MagnitudeRounding {
        match (self, negative) {
            (Self::Nearest, _) => MagnitudeRounding::Nearest,
            (Self::NearestAway, _) => MagnitudeRounding::NearestAway,
            (Self::Down, true) | (Self::Up, false) => MagnitudeRounding::Up,
            (Self::Zero | Self::Down | Self::Up, _) => MagnitudeRounding::Down,
        }
    }
}

/// A direction of rounding of a magnitude.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MagnitudeRounding {
    /// To nearest, ties to even.
    Nearest,
    /// To nearest, ties up.
    NearestAway,
    Down,
    Up,
}

/// Removes the lowest `drop` bits of a mantissa and rounds it. If `drop` is negative, multiplies the mantissa by a power of two.
pub(crate) fn round(mantissa: u128, drop: i32, direction: MagnitudeRounding) -> u128 {
    if drop <= 0 {
        return mantissa.checked_shl(drop.unsigned_abs()).unwrap_or(0);
    }
    let drop = drop.unsigned_abs();
    let kept = mantissa.checked_shr(drop).unwrap_or(0);
    let lost = mantissa & 1u128.checked_shl(drop).map_or(u128::MAX, |bit| bit - 1);
    // If more than 128 bits are lost, they are less than half of a unit.
    let half = 1u128.checked_shl(drop - 1).unwrap_or(u128::MAX);
    let rounds_up = match direction {
        MagnitudeRounding::Nearest => {
            drop <= 128 && (lost > half || (lost == half && kept & 1 == 1))
        }
        MagnitudeRounding::NearestAway => drop <= 128 && lost >= half,
        MagnitudeRounding::Down => false,
        MagnitudeRounding::Up => lost != 0,
    };
    kept + u128::from(rounds_up)
}
