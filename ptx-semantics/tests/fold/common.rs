//! What all checks share: running an instruction, keeping cases, operands at the edges.

use crate::sample::sample;
use ptx_isa::{Modifier, Opcode};
use ptx_semantics::fold::{Folded, Operation, Video, fold};
use std::fmt::Write;

pub(crate) fn run(text: &str, operands: &[u128], carry: Option<bool>) -> Option<Folded> {
    with(text, operands, carry, Video::default())
}

/// The same with selected parts and signs of operands.
pub(crate) fn with(
    text: &str,
    operands: &[u128],
    carry: Option<bool>,
    video: Video,
) -> Option<Folded> {
    let (opcode, modifiers) = parts(text);
    fold(&Operation {
        opcode,
        modifiers: &modifiers,
        operands,
        carry,
        video,
    })
}

/// The distance between tested values. With `PTXKIT_SAMPLE`, all values are tested.
pub(crate) fn stride() -> usize {
    sample(47, 1).parts
}

/// The codes of 16 bits: all of them, or the ones at both ends of each exponent and a part of the others.
pub(crate) fn codes() -> impl Iterator<Item = u128> {
    let stride = stride() as u128;
    (0..=0xffff).filter(move |code| code % stride == 0 || [0, 1, 0x7f].contains(&(code & 0x7f)))
}

/// Numbers without a pattern, the same ones every time.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = (self.0)
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A word of 32 bits: at an edge of its bytes, half words or all of it, or any.
    pub(crate) fn word(&mut self) -> u32 {
        let edges = [
            0,
            1,
            0x7f,
            0x80,
            0xff,
            0x7fff,
            0x8000,
            0xffff,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0x807f_ff01,
            0x8000_7fff,
            0xfffe_0002,
            33,
            31,
        ];
        match self.below(3) {
            0 => (self.below(1 << 16) << 16 | self.below(1 << 16)) as u32,
            _ => self.of(&edges),
        }
    }
}

/// An instruction that is asked many times.
pub(crate) struct Asked {
    text: String,
    opcode: Opcode,
    modifiers: Vec<Modifier>,
}

impl Asked {
    pub(crate) fn new(text: &str) -> Self {
        let (opcode, modifiers) = parts(text);
        Self {
            text: text.to_owned(),
            opcode,
            modifiers,
        }
    }

    pub(crate) fn is(&self, operands: &[u128], expected: Option<u128>) {
        let found = fold(&Operation {
            opcode: self.opcode,
            modifiers: &self.modifiers,
            operands,
            carry: None,
            video: Video::default(),
        });
        let found = found.map(|f| f.value);
        assert_eq!(found, expected, "{} {operands:x?}", self.text);
    }
}

/// Checks instructions and keeps what it checked.
#[derive(Default)]
pub(crate) struct Cases {
    text: String,
    count: u64,
}

impl Cases {
    pub(crate) fn is(&mut self, text: &str, operands: &[u128], expected: Option<u128>) {
        let found = run(text, operands, None).map(|f| f.value);
        let hex = |x: u128| format!("{x:#x}");
        let shown: Vec<String> = operands.iter().map(|&x| hex(x)).collect();
        assert_eq!(found.map(hex), expected.map(hex), "{text} {shown:?}");
        if let Some(value) = expected {
            writeln!(self.text, "{text} {} = {value:#x}", shown.join(" ")).unwrap();
        }
        self.count += 1;
    }
}

impl Drop for Cases {
    fn drop(&mut self) {
        use std::io::Write;
        assert!(std::thread::panicking() || self.count > 0);
        if let Some(path) = std::env::var_os("PTXKIT_FOLD_CASES") {
            let mut file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .unwrap();
            file.write_all(self.text.as_bytes()).unwrap();
        }
    }
}

/// Numbers at the edges of a width.
pub(crate) fn edges(bits: u32) -> Vec<u64> {
    let all = u64::MAX >> (64 - bits);
    let mut edges = vec![
        0,
        1,
        2,
        3,
        7,
        10,
        all,
        all - 1,
        all >> 1,
        (all >> 1) + 1,
        (all >> 1) - 1,
    ];
    edges.extend([
        0x5555_5555_5555_5555 & all,
        0xaaaa_aaaa_aaaa_aaaa & all,
        0x0123_4567_89ab_cdef & all,
    ]);
    edges.extend(
        [8, 15, 16, 24, 31, 32, 33, 48, 63]
            .into_iter()
            .filter(|&k| k < bits)
            .map(|k| 1u64 << k),
    );
    edges.extend(
        [8, 16, 24, 31, 33]
            .into_iter()
            .filter(|&k| k < bits)
            .map(|k| (1u64 << k) - 1),
    );
    edges.sort();
    edges.dedup();
    edges
}

pub(crate) fn bit(x: u64, i: u32) -> u64 {
    x >> i & 1
}

/// Zeros, subnormals, the edges of the normal numbers, halfway cases, infinities, a NaN; each also negative.
pub(crate) fn floats() -> Vec<f64> {
    let mut values = vec![
        0.0,
        1.0,
        1.5,
        2.0,
        3.0,
        10.0,
        0.1,
        1.0 / 3.0,
        0.5,
        2.5,
        3.5,
        255.5,
        65504.0,
        65520.0,
        1e10,
        1e30,
    ];
    values.extend([
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::from_bits(1),
        f64::from_bits(0xf_ffff_ffff_ffff),
        1.0 + f64::EPSILON,
    ]);
    values.extend([
        1.0 - f64::EPSILON / 2.0,
        9007199254740993.0,
        4503599627370497.5,
        2147483647.5,
        4294967295.5,
        9.3e18,
        1.9e19,
    ]);
    let single = [
        1u32,
        0x7f_ffff,
        0x80_0000,
        0x7f7f_ffff,
        0x3f80_0001,
        0x3f7f_ffff,
        0x4b80_0001,
        0x3380_0000,
        0x3300_0000,
    ];
    values.extend(single.map(|b| f64::from(f32::from_bits(b))));
    values.extend([
        1.0 + 2f64.powi(-24),
        1.0 + 3.0 * 2f64.powi(-24),
        1.0 + 2f64.powi(-11),
        1.0 + 2f64.powi(-8),
        2f64.powi(-25),
    ]);
    values.extend([
        f64::INFINITY,
        f64::NAN,
        2f64.powi(-24),
        2f64.powi(-149),
        2f64.powi(-150),
        3e-8,
        6e-8,
        1e-40,
    ]);
    let negative: Vec<f64> = values.iter().map(|v| -v).collect();
    values.extend(negative);
    values
}

pub(crate) fn parts(text: &str) -> (Opcode, Vec<Modifier>) {
    let mut words = text.split('.');
    let opcode = Opcode::from_text(words.next().unwrap().as_bytes()).unwrap();
    let modifier = |w: &str| Modifier::from_text(format!(".{w}").as_bytes()).unwrap();
    (opcode, words.map(modifier).collect())
}
