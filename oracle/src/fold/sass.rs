//! The constants in machine code: follows the instructions that only move constants between registers, up to the stores.
//!
//! All others make what they write unknown, and so do labels, where control may come from elsewhere, and calls.

use std::collections::HashMap;

/// 32 bits, of which those in `known` are constant.
#[derive(Copy, Clone, Default, PartialEq, Debug)]
pub(super) struct Word {
    pub(super) bits: u32,
    pub(super) known: u32,
}

/// What a kernel stores, by offset in bytes from the pointer that it gets.
pub(super) type Stored = HashMap<u32, Word>;

impl Word {
    const ZERO: Self = Self::constant(0);

    const fn constant(bits: u32) -> Self {
        let known = u32::MAX;
        Self { bits, known }
    }

    /// The low half of one word and a half of another above it.
    fn join(low: Self, high: Self, shift: u32) -> Self {
        let half = |of: fn(Self) -> u32| of(low) & 0xffff | (of(high) >> shift) << 16;
        Self {
            bits: half(|w| w.bits),
            known: half(|w| w.known),
        }
    }
}

/// What the kernels of a disassembled cubin store, by their names.
pub(super) fn stored(text: &str) -> HashMap<String, Stored> {
    let mut all = HashMap::new();
    let mut name = None;
    let mut state = State::new();
    for line in text.lines().map(str::trim) {
        if let Some(label) = line.strip_suffix(':').filter(|l| !l.contains(' ')) {
            let begins = label.strip_prefix(".text.");
            if let (Some(before), Some(_)) = (&name, begins) {
                all.insert(String::clone(before), std::mem::take(&mut state.stored));
            }
            name = begins.map(str::to_owned).or(name);
            state.forget();
        } else if let Some(instruction) = Instruction::parse(line) {
            state.step(&instruction);
        }
    }
    all.extend(name.map(|name| (name, state.stored)));
    all
}

/// A line of the disassembly.
struct Instruction<'a> {
    /// Whether it has a predicate.
    conditional: bool,
    /// Words between dots: `IMAD`, `MOV`, `U32`.
    words: Vec<&'a str>,
    operands: Vec<&'a str>,
    /// The bits of the encoding where a constant of 32 bits is.
    immediate: u32,
}

impl<'a> Instruction<'a> {
    /// Reads `/*0000*/ @P0 MOV R6, 0xfffffff9 ; /* 0xfffffff900067802 */`.
    fn parse(line: &'a str) -> Option<Self> {
        let (_, rest) = line.strip_prefix("/*")?.split_once("*/")?;
        let (text, encoding) = rest.split_once(';')?;
        let encoding = encoding.trim().strip_prefix("/* 0x")?.strip_suffix(" */")?;
        let immediate = (u64::from_str_radix(encoding, 16).ok()? >> 32) as u32;
        let text = text.trim();
        let conditional = text.starts_with('@');
        let text = if conditional {
            text.split_once(' ')?.1
        } else {
            text
        };
        let (mnemonic, operands) = text.trim().split_once(' ').unwrap_or((text, ""));
        Some(Self {
            conditional,
            words: mnemonic.split('.').collect(),
            operands: operands.split(',').map(str::trim).collect(),
            immediate,
        })
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
}

/// A register: whether it is uniform, and its number; `None` for those that are always zero.
type Place = (bool, Option<usize>);

fn place(operand: &str) -> Option<Place> {
    let operand = operand.strip_suffix(".reuse").unwrap_or(operand);
    let (uniform, number) = match operand.strip_prefix("UR") {
        Some(number) => (true, number),
        None => (false, operand.strip_prefix('R')?),
    };
    match number {
        "Z" => Some((uniform, None)),
        _ => Some((uniform, Some(number.parse().ok()?))),
    }
}

struct State {
    general: Vec<Word>,
    uniform: Vec<Word>,
    stored: Stored,
}

impl State {
    fn new() -> Self {
        Self {
            general: vec![Word::default(); 256],
            uniform: vec![Word::default(); 256],
            stored: Stored::new(),
        }
    }

    fn forget(&mut self) {
        self.general.fill(Word::default());
        self.uniform.fill(Word::default());
    }

    /// A register and those after it.
    fn read(&self, place: Place, after: usize) -> Word {
        let (uniform, number) = place;
        let Some(number) = number else {
            return Word::ZERO;
        };
        let file = if uniform {
            &self.uniform
        } else {
            &self.general
        };
        file.get(number + after).copied().unwrap_or_default()
    }

    fn write(&mut self, place: Place, words: &[Word]) {
        let (uniform, Some(number)) = place else {
            return;
        };
        let file = if uniform {
            &mut self.uniform
        } else {
            &mut self.general
        };
        let registers = file.iter_mut().skip(number);
        registers.zip(words).for_each(|(r, w)| *r = *w);
    }

    fn step(&mut self, instruction: &Instruction<'_>) {
        match instruction.words.first() {
            Some(&"STG") => return self.store(instruction),
            Some(&("CALL" | "BRX" | "JMX")) => return self.forget(),
            _ => {}
        }
        // Predicates may be written first.
        let Some(target) = instruction.operands.iter().find_map(|o| place(o)) else {
            return;
        };
        let words = match self.moved(instruction) {
            Some(words) if !instruction.conditional => words,
            _ => vec![Word::default(); width(instruction)],
        };
        self.write(target, &words);
    }

    /// What an instruction writes that only moves constants.
    fn moved(&self, instruction: &Instruction<'_>) -> Option<Vec<Word>> {
        let operands = &instruction.operands[1..];
        let value = |operand: &str| match place(operand) {
            Some(place) => Some(self.read(place, 0)),
            None => operand
                .trim_start_matches(['-', '+'])
                .starts_with(|c: char| c.is_ascii_digit() || c == 'Q' || c == 'I')
                .then(|| Word::constant(instruction.immediate)),
        };
        let only = |words: &[&str]| instruction.words.iter().skip(1).all(|w| words.contains(w));
        let first = *instruction.words.first()?;
        let wide = instruction.has("64") || instruction.has("WIDE");
        match (first, operands) {
            ("MOV" | "UMOV", [from]) if wide => match place(from) {
                Some(place) => Some(vec![self.read(place, 0), self.read(place, 1)]),
                None => {
                    let bits = u64::from_str_radix(from.strip_prefix("0x")?, 16).ok()?;
                    let halves = [bits as u32, (bits >> 32) as u32];
                    Some(halves.map(Word::constant).to_vec())
                }
            },
            ("MOV" | "UMOV" | "R2UR", [from]) => Some(vec![value(from)?]),
            ("IMAD", ["RZ", "RZ", from]) if only(&["MOV", "U32"]) => Some(vec![value(from)?]),
            // The sum of -0 and a constant.
            ("HFMA2", ["-RZ", "RZ", _, _]) if only(&["MMA"]) => {
                Some(vec![Word::constant(instruction.immediate)])
            }
            ("CS2R", ["SRZ"]) => Some(vec![Word::ZERO; width(instruction)]),
            ("PRMT" | "UPRMT", [a, selector, b]) => {
                let shift = match *selector {
                    "0x7610" => 16,
                    "0x5410" => 0,
                    _ => return None,
                };
                Some(vec![Word::join(value(a)?, value(b)?, shift)])
            }
            _ => None,
        }
    }

    /// `STG.E.64 desc[UR4][R2.64+0x28], R14`.
    fn store(&mut self, instruction: &Instruction<'_>) {
        let [address, from] = instruction.operands[..] else {
            return;
        };
        let inside = address.rsplit('[').next().and_then(|a| a.strip_suffix(']'));
        let (Some(inside), Some(from)) = (inside, place(from)) else {
            return;
        };
        let offsets = inside.split('+').filter_map(|part| part.strip_prefix("0x"));
        let offset: u32 = offsets
            .filter_map(|o| u32::from_str_radix(o, 16).ok())
            .sum();
        let used = if instruction.has("U8") || instruction.has("S8") {
            0xff
        } else if instruction.has("U16") || instruction.has("S16") {
            0xffff
        } else {
            u32::MAX
        };
        for i in 0..width(instruction) {
            let mut word = self.read(from, i);
            word.known &= if instruction.conditional { 0 } else { used };
            self.stored.insert(offset + 4 * i as u32, word);
        }
    }
}

/// How many registers an instruction writes or stores.
fn width(instruction: &Instruction<'_>) -> usize {
    const PAIRS: [&str; 7] = ["DADD", "DMUL", "DFMA", "DMNMX", "FADD2", "FMUL2", "FFMA2"];
    let has = |word: &&str| instruction.has(word);
    let pair = match instruction.words.first() {
        Some(&"CS2R") => !instruction.has("32"),
        Some(first) => PAIRS.contains(first),
        None => false,
    };
    if instruction.has("128") {
        4
    } else if pair || ["64", "F64", "S64", "U64", "WIDE"].iter().any(has) {
        2
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> Stored {
        let text = format!(".text.k:\n{}\n", lines.join("\n"));
        stored(&text).remove("k").unwrap_or_default()
    }

    fn full(stored: &Stored, offset: u32) -> Option<u32> {
        let word = stored.get(&offset)?;
        (word.known == u32::MAX).then_some(word.bits)
    }

    #[test]
    fn constants_reach_stores() {
        let found = of(&[
            "/*0010*/ HFMA2.MMA R4, -RZ, RZ, 1.875, 0.0141 ; /* 0x3f812345ff087431 */",
            "/*0020*/ IMAD.MOV.U32 R5, RZ, RZ, -0x530eca98 ; /* 0xacf13568ff0a7424 */",
            "/*0030*/ UMOV UR4, 0x5432 ; /* 0x0000543200067882 */",
            "/*0040*/ MOV R6, UR4 ; /* 0x0000000600047c02 */",
            "/*0050*/ MOV.64 R8, 0xa5b36e0467507c0 ; /* 0xe0467507c0047402 */",
            "/*0060*/ STG.E.64 desc[UR6][R2.64+0x10], R4 ; /* 0x0000280a02007986 */",
            "/*0070*/ STG.E.SYS [UR4], R6 ; /* 0x0000000aff007986 */",
            "/*0080*/ STG.E.64 desc[UR6][R2.64+0x20], R8 ; /* 0x0000280a02007986 */",
            "/*0090*/ STG.E desc[UR6][R2.64+0x30], RZ ; /* 0x0000280a02007986 */",
        ]);
        let values = [0x10, 0x14, 0, 0x20, 0x24, 0x30].map(|offset| full(&found, offset));
        let expected = [
            0x3f81_2345,
            0xacf1_3568,
            0x5432,
            0x4675_07c0,
            0x0a5b_36e0,
            0,
        ];
        assert_eq!(values, expected.map(Some));
    }

    #[test]
    fn what_is_computed_is_unknown() {
        let constant = "/*0010*/ MOV R4, 0x7 ; /* 0x0000000700047802 */";
        let store = "/*0030*/ STG.E desc[UR6][R2.64], R4 ; /* 0x0000000402007986 */";
        assert_eq!(full(&of(&[constant, store]), 0), Some(7));
        for between in [
            "/*0020*/ FADD R4, R4, 1 ; /* 0x3f80000004047421 */",
            "/*0020*/ @P0 MOV R4, 0x8 ; /* 0x0000000800047802 */",
            "/*0020*/ LOP3.LUT.PAND P0, R4, R5, R6, R7, 0x1, PT ; /* 0x0000000705047812 */",
            "/*0020*/ HFMA2.FTZ.RELU R4, -RZ, RZ, -1, -1 ; /* 0xbc00bc00ff047431 */",
            "/*0020*/ HFMA2.MMA R4, RZ, RZ, -1, -1 ; /* 0xbc00bc00ff047435 */",
            "/*0020*/ DADD R4, R6, R8 ; /* 0x0000000006047229 */",
            ".L_x_1:",
            "/*0020*/ CALL.REL.NOINC `(.L_x_2) ; /* 0x0000000000007944 */",
        ] {
            assert_eq!(full(&of(&[constant, between, store]), 0), None, "{between}");
        }
    }

    #[test]
    fn halves_are_known_alone() {
        let found = of(&[
            "/*0010*/ MOV R4, 0x3c09 ; /* 0x00003c0900047802 */",
            "/*0020*/ PRMT R5, R4, 0x7610, R5 ; /* 0x0000761004057816 */",
            "/*0030*/ STG.E.U16 desc[UR6][R2.64], R5 ; /* 0x0000000502007986 */",
        ]);
        let low = found.get(&0).map(|w| (w.bits & w.known, w.known));
        assert_eq!(low, Some((0x3c09, 0xffff)));
    }
}
