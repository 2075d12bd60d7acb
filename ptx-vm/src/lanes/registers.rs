//! The registers of the threads of a warp in one call of a function.

use super::{LANES, Place, each, lanes};

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
        match place {
            Place::Predicate(predicate) => {
                let bits = self
                    .predicates
                    .get(predicate as usize)
                    .copied()
                    .unwrap_or(0);
                (bits >> (lane % LANES) & 1).into()
            }
            Place::Word(word) => {
                let word = self.words.get(word as usize);
                word.map_or(0, |w| w[lane % LANES]).into()
            }
            Place::Double(double) => self.double_of_lane(double, lane).into(),
            Place::Quad(low) => {
                u128::from(self.double_of_lane(low, lane))
                    | u128::from(self.double_of_lane(low + 1, lane)) << 64
            }
        }
    }

    /// Sets the bits of a value in one lane.
    pub(crate) fn set(&mut self, place: Place, lane: usize, bits: u128) {
        let lane = lane % LANES;
        match place {
            Place::Predicate(predicate) => {
                if let Some(bits_of_lanes) = self.predicates.get_mut(predicate as usize) {
                    *bits_of_lanes = *bits_of_lanes & !(1 << lane) | (bits as u32 & 1) << lane;
                }
            }
            Place::Word(word) => {
                if let Some(word) = self.words.get_mut(word as usize) {
                    word[lane] = bits as u32;
                }
            }
            Place::Double(double) => self.set_double(double, lane, bits as u64),
            Place::Quad(low) => {
                self.set_double(low, lane, bits as u64);
                self.set_double(low + 1, lane, (bits >> 64) as u64);
            }
        }
    }

    /// The lowest 64 bits of a value in each lane.
    #[inline(always)]
    pub(crate) fn values(&self, place: Place) -> Double {
        match place {
            Place::Predicate(predicate) => match self.predicates.get(predicate as usize) {
                Some(bits) => each(|lane| (bits >> lane & 1).into()),
                None => [0; LANES],
            },
            Place::Word(word) => match self.words.get(word as usize) {
                Some(words) => each(|lane| words[lane].into()),
                None => [0; LANES],
            },
            Place::Double(double) | Place::Quad(double) => {
                match self.doubles.get(double as usize) {
                    Some(doubles) => *doubles,
                    None => [0; LANES],
                }
            }
        }
    }

    /// Sets values of at most 64 bits in the lanes of a mask.
    #[inline(always)]
    pub(crate) fn set_values(&mut self, place: Place, mask: u32, values: &Double) {
        match place {
            Place::Word(word) => {
                if word < self.words.len() as u32 {
                    self.set_words(word, mask, &each(|lane| values[lane] as u32));
                }
            }
            Place::Double(double) => {
                if double < self.doubles.len() as u32 {
                    self.set_doubles(double, mask, values);
                }
            }
            Place::Predicate(_) | Place::Quad(_) => {
                for lane in lanes(mask) {
                    self.set(place, lane, values[lane].into());
                }
            }
        }
    }

    fn double_of_lane(&self, index: u32, lane: usize) -> u64 {
        self.doubles
            .get(index as usize)
            .map_or(0, |double| double[lane % LANES])
    }

    fn set_double(&mut self, index: u32, lane: usize, bits: u64) {
        if let Some(double) = self.doubles.get_mut(index as usize) {
            double[lane] = bits;
        }
    }

    #[inline(always)]
    pub(crate) fn word(&self, index: u32) -> &Word {
        &self.words[index as usize]
    }

    #[inline(always)]
    pub(super) fn double(&self, index: u32) -> &Double {
        &self.doubles[index as usize]
    }

    #[inline(always)]
    pub(crate) fn set_words(&mut self, index: u32, mask: u32, values: &Word) {
        let target = &mut self.words[index as usize];
        if mask == u32::MAX {
            *target = *values;
            return;
        }
        for lane in 0..LANES {
            let keep = (mask >> lane & 1).wrapping_sub(1);
            target[lane] = target[lane] & keep | values[lane] & !keep;
        }
    }

    #[inline(always)]
    pub(crate) fn set_doubles(&mut self, index: u32, mask: u32, values: &Double) {
        let target = &mut self.doubles[index as usize];
        if mask == u32::MAX {
            *target = *values;
            return;
        }
        for lane in 0..LANES {
            let keep = u64::from(mask >> lane & 1).wrapping_sub(1);
            target[lane] = target[lane] & keep | values[lane] & !keep;
        }
    }

    #[inline(always)]
    pub(super) fn set_predicate(&mut self, index: u32, mask: u32, bits: u32) {
        let target = &mut self.predicates[index as usize];
        *target = *target & !mask | bits & mask;
    }
}
