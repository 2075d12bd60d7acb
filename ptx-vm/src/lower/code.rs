//! The operations of a function and the places of its values.

use core::mem::discriminant;
use std::collections::HashMap;

use crate::lanes::{Integer, Kind, LANES, LaneOp, Logic, Place, Registers, sign_extend};

/// Operations, and the constants and intermediate results that they use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub(crate) ops: Vec<LaneOp>,
    /// The values at the start of a call: constants, and zero everywhere else.
    pub(crate) initial: Registers,
    words: HashMap<u32, u32>,
    doubles: HashMap<u64, u32>,
    predicates: HashMap<bool, u32>,
    /// The width in bits of each word that is a register.
    widths: HashMap<u32, u16>,
    /// The places of intermediate results that are free.
    temporaries: Temporaries,
    /// The places of the intermediate results of the instruction.
    used: Temporaries,
}

/// The intermediate results of each kind; each instruction uses them again.
#[derive(Clone, Debug, Default)]
struct Temporaries {
    predicates: Vec<u32>,
    words: Vec<u32>,
    doubles: Vec<u32>,
}

impl Code {
    /// The predicate that is the carry flag.
    pub(crate) const CARRY: u32 = 0;

    /// The double that is the beginning of the frame of the function, as an offset in local memory.
    pub(crate) const FRAME: u32 = 0;

    pub(crate) fn new() -> Self {
        let mut code = Self::default();
        code.new_predicate();
        code.new_double();
        code
    }

    /// Begins an instruction: intermediate results of the last one are no longer needed.
    pub(crate) fn begin(&mut self) {
        let Temporaries {
            predicates,
            words,
            doubles,
        } = core::mem::take(&mut self.used);
        self.temporaries.predicates.extend(predicates);
        self.temporaries.words.extend(words);
        self.temporaries.doubles.extend(doubles);
    }

    fn new_predicate(&mut self) -> u32 {
        self.initial.predicates.push(0);
        self.initial.predicates.len() as u32 - 1
    }

    fn new_word(&mut self) -> u32 {
        self.initial.words.push([0; LANES]);
        self.initial.words.len() as u32 - 1
    }

    fn new_double(&mut self) -> u32 {
        self.initial.doubles.push([0; LANES]);
        self.initial.doubles.len() as u32 - 1
    }

    /// A place for a register of a width in bits.
    pub(crate) fn new_register(&mut self, bits: u16) -> Place {
        match bits {
            1 => Place::Predicate(self.new_predicate()),
            ..=32 => {
                let word = self.new_word();
                self.widths.insert(word, bits);
                Place::Word(word)
            }
            33..=64 => Place::Double(self.new_double()),
            _ => {
                let low = self.new_double();
                self.new_double();
                Place::Quad(low)
            }
        }
    }

    /// The width of a value: of a word other than a register, 32.
    pub(crate) fn width(&self, place: Place) -> u16 {
        match place {
            Place::Predicate(_) => 1,
            Place::Word(word) => self.widths.get(&word).copied().unwrap_or(32),
            Place::Double(_) => 64,
            Place::Quad(_) => 128,
        }
    }

    pub(crate) fn temporary_word(&mut self) -> u32 {
        let word = self.temporaries.words.pop();
        let word = word.unwrap_or_else(|| self.new_word());
        self.used.words.push(word);
        word
    }

    pub(crate) fn temporary_double(&mut self) -> u32 {
        let double = self.temporaries.doubles.pop();
        let double = double.unwrap_or_else(|| self.new_double());
        self.used.doubles.push(double);
        double
    }

    pub(crate) fn temporary_predicate(&mut self) -> u32 {
        let predicate = self.temporaries.predicates.pop();
        let predicate = predicate.unwrap_or_else(|| self.new_predicate());
        self.used.predicates.push(predicate);
        predicate
    }

    /// A place for an intermediate result of a width in bits.
    pub(crate) fn temporary(&mut self, bits: u16) -> Place {
        match bits {
            1 => Place::Predicate(self.temporary_predicate()),
            ..=32 => Place::Word(self.temporary_word()),
            33..=64 => Place::Double(self.temporary_double()),
            _ => self.new_register(bits),
        }
    }

    /// Whether the value is an intermediate result of the instruction.
    pub(crate) fn is_temporary(&self, place: Place) -> bool {
        match place {
            Place::Predicate(predicate) => self.used.predicates.contains(&predicate),
            Place::Word(word) => self.used.words.contains(&word),
            Place::Double(double) => self.used.doubles.contains(&double),
            Place::Quad(_) => false,
        }
    }

    /// Whether the value is a constant.
    pub(crate) fn is_constant(&self, place: Place) -> bool {
        match place {
            Place::Predicate(predicate) => self.predicates.values().any(|&p| p == predicate),
            Place::Word(word) => self.words.values().any(|&w| w == word),
            Place::Double(double) => self.doubles.values().any(|&d| d == double),
            Place::Quad(_) => false,
        }
    }

    pub(crate) fn constant_word(&mut self, value: u32) -> u32 {
        if let Some(&word) = self.words.get(&value) {
            return word;
        }
        let word = self.new_word();
        self.initial.words[word as usize] = [value; LANES];
        self.words.insert(value, word);
        word
    }

    pub(crate) fn constant_double(&mut self, value: u64) -> u32 {
        if let Some(&double) = self.doubles.get(&value) {
            return double;
        }
        let double = self.new_double();
        self.initial.doubles[double as usize] = [value; LANES];
        self.doubles.insert(value, double);
        double
    }

    pub(crate) fn constant_predicate(&mut self, holds: bool) -> u32 {
        if let Some(&predicate) = self.predicates.get(&holds) {
            return predicate;
        }
        let predicate = self.new_predicate();
        self.initial.predicates[predicate as usize] = if holds { u32::MAX } else { 0 };
        self.predicates.insert(holds, predicate);
        predicate
    }

    /// A constant of a width in bits.
    pub(crate) fn constant(&mut self, bits: u16, value: u128) -> Place {
        match bits {
            1 => Place::Predicate(self.constant_predicate(value & 1 != 0)),
            ..=32 => Place::Word(self.constant_word(sign_extend(
                value as u32,
                u32::from(bits).max(1),
                false,
            ))),
            33..=64 => Place::Double(self.constant_double(value as u64)),
            _ => {
                let place = self.new_register(128);
                for lane in 0..LANES {
                    self.initial.set(place, lane, value);
                }
                place
            }
        }
    }

    /// Adds an operation for all lanes.
    pub(crate) fn push(&mut self, kind: Kind, to: u32, [a, b, c]: [u32; 3]) {
        self.ops.push(LaneOp {
            kind,
            masked: false,
            to,
            a,
            b,
            c,
            imm: 0,
        });
    }

    /// An operation on words, whose result is a word.
    pub(crate) fn word(&mut self, kind: Kind, sources: [u32; 3]) -> u32 {
        let to = self.temporary_word();
        self.push(kind, to, sources);
        to
    }

    pub(crate) fn double(&mut self, kind: Kind, sources: [u32; 3]) -> u32 {
        let to = self.temporary_double();
        self.push(kind, to, sources);
        to
    }

    pub(crate) fn predicate(&mut self, kind: Kind, sources: [u32; 3]) -> u32 {
        let to = self.temporary_predicate();
        self.push(kind, to, sources);
        to
    }

    /// The lowest bits of a word, extended.
    pub(crate) fn extend(&mut self, word: Place, bits: u16, signed: bool) -> Place {
        let Place::Word(word) = word else { return word };
        Place::Word(self.word(Kind::Extend, [word, bits.into(), signed.into()]))
    }

    /// Copies results to their registers, which can be wider: all values are read before the first register is written, though some may be in these
    /// registers. Of a single result, the last operation writes the register itself where it can.
    pub(crate) fn write_results(&mut self, results: &mut [(Place, Place)]) {
        if let [(to, from)] = *results
            && discriminant(&to) == discriminant(&from)
            && self.is_temporary(from)
            && let Some(last) = self.ops.last_mut()
            && last.result() == from
        {
            last.to = to.index();
            last.masked = true;
            return;
        }
        for index in 1..results.len() {
            let (earlier, later) = results.split_at_mut(index);
            let Some((_, from)) = later.first_mut() else {
                continue;
            };
            if earlier.iter().any(|(to, _)| to == from) {
                let copy = self.temporary(self.width(*from));
                self.copy(copy, *from);
                *from = copy;
            }
        }
        for (to, from) in results {
            self.copy(*to, *from);
        }
    }

    /// Copies a value to a register, for the lanes that execute the instruction.
    pub(crate) fn copy(&mut self, to: Place, from: Place) {
        let first = self.ops.len();
        let (word, double) = (Kind::Word(Integer::Copy), Kind::Double(Integer::Copy));
        match (to, from) {
            (Place::Predicate(to), Place::Predicate(from)) => {
                self.push(Kind::Predicate(Logic::Copy), to, [from; 3]);
            }
            (Place::Word(to), Place::Word(from)) => self.push(word, to, [from; 3]),
            (Place::Double(to), Place::Double(from)) => self.push(double, to, [from; 3]),
            (Place::Quad(to), Place::Quad(from)) => {
                self.push(double, to, [from; 3]);
                self.push(double, to + 1, [from + 1; 3]);
            }
            (Place::Double(to), Place::Word(from)) => self.push(Kind::Widen, to, [from, 0, 0]),
            (Place::Quad(to), Place::Double(_) | Place::Word(_)) => {
                self.copy(Place::Double(to), from);
                let zero = Place::Double(self.constant_double(0));
                self.copy(Place::Double(to + 1), zero);
            }
            (Place::Word(to), Place::Double(from)) => self.push(Kind::Narrow, to, [from, 0, 0]),
            _ => {}
        }
        for op in &mut self.ops[first..] {
            op.masked = true;
        }
    }
}

impl LaneOp {
    /// The place that the operation writes.
    pub(crate) fn result(&self) -> Place {
        match self.kind {
            Kind::CompareWord(_)
            | Kind::CompareDouble(_)
            | Kind::Predicate(_)
            | Kind::CompareSingle(_)
            | Kind::CompareLong(_) => Place::Predicate(self.to),
            Kind::Double(_) | Kind::SelectDouble | Kind::Widen | Kind::Long(_) => {
                Place::Double(self.to)
            }
            Kind::Convert(conversion) if conversion.is_long() => Place::Double(self.to),
            _ => Place::Word(self.to),
        }
    }
}

impl Place {
    /// The index of the place in the file of its kind.
    pub(crate) const fn index(self) -> u32 {
        match self {
            Self::Predicate(index)
            | Self::Word(index)
            | Self::Double(index)
            | Self::Quad(index) => index,
        }
    }
}
