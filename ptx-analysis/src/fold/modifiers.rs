//! The modifiers of an instruction, sorted by what they are.

use ptx_isa::{Modifier, ScalarType};

pub(super) const FTZ: u8 = 1;
pub(super) const SAT: u8 = 2;
pub(super) const RELU: u8 = 4;
pub(super) const NAN: u8 = 8;
pub(super) const CC: u8 = 16;
pub(super) const SATFINITE: u8 = 32;

/// The modifiers of an instruction. One that has no field here makes the instruction unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Words {
    types: [Option<ScalarType>; 3],
    flags: u8,
    pub(super) rounding: Option<Modifier>,
    /// `.and`, `.or`, `.xor` of a comparison.
    pub(super) logic: Option<Modifier>,
    /// A comparison, a half (`.lo`), a mode (`.clamp`): at most one in every instruction known here but for shifts.
    pub(super) choice: [Option<Modifier>; 2],
}

impl Words {
    pub(super) fn read(modifiers: &[Modifier]) -> Option<Self> {
        let mut words = Self::default();
        for &m in modifiers {
            let place = match m {
                Modifier::Ftz => {
                    words.flags |= FTZ;
                    continue;
                }
                Modifier::Sat => {
                    words.flags |= SAT;
                    continue;
                }
                Modifier::Relu => {
                    words.flags |= RELU;
                    continue;
                }
                Modifier::NaN => {
                    words.flags |= NAN;
                    continue;
                }
                Modifier::Satfinite => {
                    words.flags |= SATFINITE;
                    continue;
                }
                Modifier::Cc => {
                    words.flags |= CC;
                    continue;
                }
                Modifier::Rn
                | Modifier::Rz
                | Modifier::Rm
                | Modifier::Rp
                | Modifier::Rni
                | Modifier::Rzi
                | Modifier::Rmi
                | Modifier::Rpi => &mut words.rounding,
                Modifier::And | Modifier::Or | Modifier::Xor => &mut words.logic,
                _ => {
                    if let Some(ty) = m.scalar_type() {
                        *words.types.iter_mut().find(|place| place.is_none())? = Some(ty);
                        continue;
                    }
                    words.choice.iter_mut().find(|place| place.is_none())?
                }
            };
            if place.replace(m).is_some() {
                return None;
            }
        }
        Some(words)
    }

    pub(super) fn types(&self) -> impl Iterator<Item = ScalarType> + '_ {
        self.types.iter().flatten().copied()
    }

    /// The type of this index.
    pub(super) fn ty(&self, index: usize) -> Option<ScalarType> {
        self.types.get(index).copied().flatten()
    }

    /// Whether one of these flags is there.
    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// `None` if a flag outside `allowed`, or a rounding, is there.
    pub(super) fn only(&self, allowed: u8) -> Option<()> {
        (self.flags & !allowed == 0 && self.rounding.is_none()).then_some(())
    }

    /// `None` if a flag outside `allowed` is there.
    pub(super) fn flags_within(&self, allowed: u8) -> Option<()> {
        (self.flags & !allowed == 0).then_some(())
    }
}
