//! The registers of the threads of a warp in one call of a function.

use super::{LANES, Place, lanes};

/// 32 bits per lane.
pub(crate) type Word = [u32; LANES];
/// 64 bits per lane.
pub(crate) type Double = [u64; LANES];

/// The values of registers, constants and intermediate results of all lanes.
#[derive(Clone, Default, Debug)]
pub(crate) struct Registers {
    pub(crate) predicates: Vec<u32>,
    pub(crate) words: Vec<Word>,
    pub(crate) doubles: Vec<Double>,
}

impl Registers {
    /// The memory that the values use.
    pub(crate) fn bytes(&self) -> u64 {
        let words = self.words.len() * size_of::<Word>();
        let doubles = self.doubles.len() * size_of::<Double>();
        (words + doubles + self.predicates.len() * size_of::<u32>()) as u64
    }

    /// The bits of a value in one lane.
    pub(crate) fn get(&self, place: Place, lane: usize) -> u128 {
        let double = |at: u32| self.doubles.get(at as usize).map_or(0, |d| d[lane % LANES]);
        match place {
            Place::Predicate(at) => {
                let bits = self.predicates.get(at as usize).copied().unwrap_or(0);
                (bits >> (lane % LANES) & 1).into()
            }
            Place::Word(at) => {
                let word = self.words.get(at as usize);
                word.map_or(0, |w| w[lane % LANES]).into()
            }
            Place::Double(at) => double(at).into(),
            Place::Quad(at) => u128::from(double(at)) | u128::from(double(at + 1)) << 64,
        }
    }

    /// Sets the bits of a value in one lane.
    pub(crate) fn set(&mut self, place: Place, lane: usize, bits: u128) {
        let lane = lane % LANES;
        match place {
            Place::Predicate(at) => {
                if let Some(all) = self.predicates.get_mut(at as usize) {
                    *all = *all & !(1 << lane) | (bits as u32 & 1) << lane;
                }
            }
            Place::Word(at) => {
                if let Some(word) = self.words.get_mut(at as usize) {
                    word[lane] = bits as u32;
                }
            }
            Place::Double(at) => self.set_double(at, lane, bits as u64),
            Place::Quad(at) => {
                self.set_double(at, lane, bits as u64);
                self.set_double(at + 1, lane, (bits >> 64) as u64);
            }
        }
    }

    /// The lowest 64 bits of a value in each lane.
    pub(crate) fn values(&self, place: Place) -> Double {
        match place {
            Place::Predicate(at) => {
                let bits = self.predicates.get(at as usize).copied().unwrap_or(0);
                core::array::from_fn(|lane| (bits >> lane & 1).into())
            }
            Place::Word(at) => {
                let words = self.words.get(at as usize);
                words.map_or([0; LANES], |words| words.map(u64::from))
            }
            Place::Double(at) | Place::Quad(at) => {
                self.doubles.get(at as usize).copied().unwrap_or([0; LANES])
            }
        }
    }

    /// Sets values of at most 64 bits in the lanes of a mask.
    pub(crate) fn set_values(&mut self, place: Place, mask: u32, values: &Double) {
        match place {
            Place::Word(at) => {
                if at < self.words.len() as u32 {
                    self.set_words(at, mask, &values.map(|v| v as u32));
                }
            }
            Place::Double(at) => {
                if at < self.doubles.len() as u32 {
                    self.set_doubles(at, mask, values);
                }
            }
            Place::Predicate(_) | Place::Quad(_) => {
                for lane in lanes(mask) {
                    self.set(place, lane, values[lane].into());
                }
            }
        }
    }

    fn set_double(&mut self, at: u32, lane: usize, bits: u64) {
        if let Some(double) = self.doubles.get_mut(at as usize) {
            double[lane] = bits;
        }
    }

    pub(super) fn word(&self, at: u32) -> Word {
        self.words[at as usize]
    }

    pub(super) fn double(&self, at: u32) -> Double {
        self.doubles[at as usize]
    }

    pub(super) fn set_words(&mut self, at: u32, mask: u32, values: &Word) {
        let target = &mut self.words[at as usize];
        if mask == u32::MAX {
            *target = *values;
            return;
        }
        for lane in 0..LANES {
            let keep = (mask >> lane & 1).wrapping_sub(1);
            target[lane] = target[lane] & keep | values[lane] & !keep;
        }
    }

    pub(super) fn set_doubles(&mut self, at: u32, mask: u32, values: &Double) {
        let target = &mut self.doubles[at as usize];
        if mask == u32::MAX {
            *target = *values;
            return;
        }
        for lane in 0..LANES {
            let keep = u64::from(mask >> lane & 1).wrapping_sub(1);
            target[lane] = target[lane] & keep | values[lane] & !keep;
        }
    }

    pub(super) fn set_predicate(&mut self, at: u32, mask: u32, bits: u32) {
        let target = &mut self.predicates[at as usize];
        *target = *target & !mask | bits & mask;
    }
}
