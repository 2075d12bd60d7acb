//! The constants in machine code: tracks constants through the instructions that only move them between registers, up to the stores.
//!
//! The results of all other instructions are unknown. All registers are unknown after a label, which other code may branch to, and a call.

use std::collections::HashMap;

/// 32 bits, of which those in `known` are constant.
#[derive(Copy, Clone, Default, PartialEq, Debug)]
pub(super) struct Word {
    pub(super) bits: u32,
    pub(super) known: u32,
}

/// The values that a kernel stores, by offset in bytes from its pointer parameter.
pub(super) type Stored = HashMap<u32, Word>;

impl Word {
    const ZERO: Self = Self::constant(0);

    const fn constant(bits: u32) -> Self {
        Self {
            bits,
            known: u32::MAX,
        }
    }

    /// The low half of one word and a half of another above it.
    fn join(low: Self, high: Self, shift: u32) -> Self {
        Self {
            bits: low.bits & 0xffff | (high.bits >> shift) << 16,
            known: low.known & 0xffff | (high.known >> shift) << 16,
        }
    }
}

/// The values that the kernels of a disassembled cubin store, by the names of the kernels.
pub(super) fn stored(text: &str) -> HashMap<String, Stored> {
    let mut kernels = HashMap::new();
    let mut current: Option<String> = None;
    let mut state = State::new();
    for line in text.lines().map(str::trim) {
        if let Some(label) = line.strip_suffix(':').filter(|l| !l.contains(' ')) {
            if let Some(name) = label.strip_prefix(".text.") {
                let stored = std::mem::take(&mut state.stored);
                if let Some(previous) = current.replace(name.to_owned()) {
                    kernels.insert(previous, stored);
                }
            }
            state.forget();
        } else if let Some(instruction) = Instruction::parse(line) {
            state.step(&instruction);
        }
    }
    kernels.extend(current.map(|name| (name, state.stored)));
    kernels
}

/// A line of the disassembly.
struct Instruction<'a> {
    /// Whether the instruction has a predicate.
    is_conditional: bool,
    /// The words of the mnemonic: `IMAD`, `MOV`, `U32`.
    words: Vec<&'a str>,
    operands: Vec<&'a str>,
    /// The bits of the encoding that contain a constant of 32 bits.
    immediate: u32,
}

impl<'a> Instruction<'a> {
    /// Reads `/*0000*/ @P0 MOV R6, 0xfffffff9 ; /* 0xfffffff900067802 */`.
    fn parse(line: &'a str) -> Option<Self> {
        let (_, content) = line.strip_prefix("/*")?.split_once("*/")?;
        let (statement, encoding) = content.split_once(';')?;
        let encoding = encoding.trim().strip_prefix("/* 0x")?.strip_suffix(" */")?;
        let immediate = (u64::from_str_radix(encoding, 16).ok()? >> 32) as u32;
        let statement = statement.trim();
        let is_conditional = statement.starts_with('@');
        let text = if is_conditional {
            statement.split_once(' ')?.1
        } else {
            statement
        };
        let (mnemonic, operands) = text.trim().split_once(' ').unwrap_or((text, ""));
        Some(Self {
            is_conditional,
            words: mnemonic.split('.').collect(),
            operands: operands.split(',').map(str::trim).collect(),
            immediate,
        })
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
}

#[derive(Clone, Copy)]
struct Register {
    is_uniform: bool,
    /// The number; `None` for the register that is always zero.
    number: Option<usize>,
}

impl Register {
    fn parse(operand: &str) -> Option<Self> {
        let operand = operand.strip_suffix(".reuse").unwrap_or(operand);
        let (is_uniform, number) = match operand.strip_prefix("UR") {
            Some(number) => (true, number),
            None => (false, operand.strip_prefix('R')?),
        };
        let number = match number {
            "Z" => None,
            _ => Some(number.parse().ok()?),
        };
        Some(Self { is_uniform, number })
    }
}

/// The constants in registers, and the values stored so far.
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

    /// The word `index` of the value that begins in a register.
    fn read(&self, register: Register, index: usize) -> Word {
        let Some(number) = register.number else {
            return Word::ZERO;
        };
        let file = if register.is_uniform {
            &self.uniform
        } else {
            &self.general
        };
        file.get(number + index).copied().unwrap_or_default()
    }

    fn write(&mut self, register: Register, words: &[Word]) {
        let Some(number) = register.number else {
            return;
        };
        let file = if register.is_uniform {
            &mut self.uniform
        } else {
            &mut self.general
        };
        for (target, word) in file.iter_mut().skip(number).zip(words) {
            *target = *word;
        }
    }

    fn step(&mut self, instruction: &Instruction<'_>) {
        match instruction.words.first() {
            Some(&"STG") => return self.store(instruction),
            Some(&("CALL" | "BRX" | "JMX")) => return self.forget(),
            _ => {}
        }
        // The first operands may be predicates.
        let Some(target) = instruction.operands.iter().find_map(|o| Register::parse(o)) else {
            return;
        };
        let words = match self.moved_constant(instruction) {
            Some(words) if !instruction.is_conditional => words,
            _ => vec![Word::default(); width(instruction)],
        };
        self.write(target, &words);
    }

    /// The result of an instruction that only moves constants.
    fn moved_constant(&self, instruction: &Instruction<'_>) -> Option<Vec<Word>> {
        let operands = &instruction.operands[1..];
        let value = |operand: &str| match Register::parse(operand) {
            Some(register) => Some(self.read(register, 0)),
            None => operand
                .trim_start_matches(['-', '+'])
                .starts_with(|c: char| c.is_ascii_digit() || c == 'Q' || c == 'I')
                .then(|| Word::constant(instruction.immediate)),
        };
        let has_only = |words: &[&str]| instruction.words.iter().skip(1).all(|w| words.contains(w));
        let opcode = *instruction.words.first()?;
        let is_wide = instruction.has("64") || instruction.has("WIDE");
        match (opcode, operands) {
            ("MOV" | "UMOV", [source]) if is_wide => match Register::parse(source) {
                Some(register) => Some(vec![self.read(register, 0), self.read(register, 1)]),
                None => {
                    let bits = u64::from_str_radix(source.strip_prefix("0x")?, 16).ok()?;
                    let halves = [bits as u32, (bits >> 32) as u32];
                    Some(halves.map(Word::constant).to_vec())
                }
            },
            ("MOV" | "UMOV" | "R2UR", [source]) => Some(vec![value(source)?]),
            ("IMAD", ["RZ", "RZ", source]) if has_only(&["MOV", "U32"]) => {
                Some(vec![value(source)?])
            }
            // The sum of -0 and a constant.
            ("HFMA2", ["-RZ", "RZ", _, _]) if has_only(&["MMA"]) => {
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
        let [address, source] = instruction.operands[..] else {
            return;
        };
        let sum = address.rsplit('[').next().and_then(|a| a.strip_suffix(']'));
        let (Some(sum), Some(source)) = (sum, Register::parse(source)) else {
            return;
        };
        let offset: u32 = sum
            .split('+')
            .filter_map(|term| term.strip_prefix("0x"))
            .filter_map(|digits| u32::from_str_radix(digits, 16).ok())
            .sum();
        let mask = if instruction.has("U8") || instruction.has("S8") {
            0xff
        } else if instruction.has("U16") || instruction.has("S16") {
            0xffff
        } else {
            u32::MAX
        };
        for i in 0..width(instruction) {
            let mut word = self.read(source, i);
            word.known &= if instruction.is_conditional { 0 } else { mask };
            self.stored.insert(offset + 4 * i as u32, word);
        }
    }
}

/// The number of registers that an instruction writes or stores.
fn width(instruction: &Instruction<'_>) -> usize {
    const PAIRS: [&str; 7] = ["DADD", "DMUL", "DFMA", "DMNMX", "FADD2", "FMUL2", "FFMA2"];
    const WIDE_WORDS: [&str; 5] = ["64", "F64", "S64", "U64", "WIDE"];
    let is_pair = match instruction.words.first() {
        Some(&"CS2R") => !instruction.has("32"),
        Some(opcode) => PAIRS.contains(opcode),
        None => false,
    };
    if instruction.has("128") {
        4
    } else if is_pair || WIDE_WORDS.iter().any(|word| instruction.has(word)) {
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
