//! Element types, and the places of elements in shared memory and of results in tensor memory, as the PTX ISA manual defines them.

use crate::Random;

/// A type of elements.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Type {
    pub(crate) name: &'static str,
    /// The code in instruction descriptors.
    pub(crate) code: u32,
    /// The bits of an element.
    pub(crate) bits: usize,
    /// The bits of the exponent and of the fraction; without an exponent, integers.
    exponent: u32,
    fraction: u32,
}

const fn float(name: &'static str, code: u32, bits: usize, exponent: u32, fraction: u32) -> Type {
    Type {
        name,
        code,
        bits,
        exponent,
        fraction,
    }
}

pub(crate) const F16: Type = float("f16", 0, 16, 5, 10);
pub(crate) const BF16: Type = float("bf16", 1, 16, 8, 7);
pub(crate) const TF32: Type = float("tf32", 2, 32, 8, 23);
pub(crate) const E4M3: Type = float("e4m3", 0, 8, 4, 3);
pub(crate) const E5M2: Type = float("e5m2", 1, 8, 5, 2);
pub(crate) const E2M3: Type = float("e2m3", 3, 6, 2, 3);
pub(crate) const E3M2: Type = float("e3m2", 4, 6, 3, 2);
pub(crate) const E2M1: Type = float("e2m1", 5, 4, 2, 1);
pub(crate) const U8: Type = float("u8", 0, 8, 0, 8);
pub(crate) const S8: Type = float("s8", 1, 8, 0, 7);

impl Type {
    /// The number that a code denotes, other than infinities and NaN.
    pub(crate) fn value(self, code: u32) -> f64 {
        let Self {
            exponent, fraction, ..
        } = self;
        if exponent == 0 {
            return match self.name {
                "u8" => f64::from(code as u8),
                _ => f64::from(code as i8),
            };
        }
        let sign = if code >> (exponent + fraction) & 1 == 1 {
            -1.0
        } else {
            1.0
        };
        let field = (code >> fraction & ((1 << exponent) - 1)) as i32;
        // The lowest bits of TF32 are ignored.
        let digits = code & ((1 << fraction) - 1) & if self.name == "tf32" { !0x1fff } else { !0 };
        let bias = (1 << (exponent - 1)) - 1;
        let significand = f64::from(digits) / f64::from(1u32 << fraction);
        let (significand, field) = if field == 0 {
            (significand, 1)
        } else {
            (significand + 1.0, field)
        };
        sign * significand * 2f64.powi(field - bias)
    }

    /// The codes of multiples of 1/2 that are at most 2 in magnitude, or of such integers.
    pub(crate) fn small_codes(self) -> Vec<u32> {
        let codes: Vec<u32> = match self.bits {
            32 => [0f32, 1.0, -1.0, 2.0, -0.5, 1.5].map(f32::to_bits).into(),
            bits => (0..1u32 << bits).collect(),
        };
        let small = |&code: &u32| {
            let value = self.value(code);
            (2.0 * value).fract() == 0.0 && value.abs() <= 2.0
        };
        codes.into_iter().filter(small).collect()
    }

    pub(crate) fn random_code(self, random: &mut Random, codes: &[u32]) -> u32 {
        let code = random.pick(codes);
        if self.name == "tf32" {
            code | random.next() as u32 & 0x1fff
        } else {
            code
        }
    }
}

/// A matrix in shared memory.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub(crate) start: usize,
    pub(crate) leading: usize,
    pub(crate) stride: usize,
    /// The code of the swizzling mode: 0 without, 1 for 128 bytes in atoms of 32, and 2, 4, 6 for 128, 64, 32 bytes.
    pub(crate) swizzle: usize,
    pub(crate) mn_major: bool,
}

impl Layout {
    pub(crate) fn descriptor(&self) -> u64 {
        let field = |bytes: usize| (bytes as u64 & 0x3ffff) >> 4;
        field(self.start)
            | field(self.leading) << 16
            | field(self.stride) << 32
            | 1 << 46
            | (self.swizzle as u64) << 61
    }

    /// A layout of a matrix with `mn` rows (or columns) of `k` elements, of which `per_unit` are in 16 bytes, and its end.
    pub(crate) fn random(
        random: &mut Random,
        start: usize,
        mn: usize,
        k: usize,
        per_unit: usize,
        mn_major: bool,
    ) -> (Self, usize) {
        let start = start.next_multiple_of(1024);
        let wide = mn_major && per_unit == 4;
        // Lines along the sum are not longer than the rows of the pattern.
        let longest = k.div_ceil(per_unit) * 16;
        let choices: Vec<usize> = [0, 2, 4, 6]
            .into_iter()
            .filter(|&mode| mode == 0 || mn_major || row_bytes(mode) >= longest)
            .collect();
        let swizzle = if wide { 1 } else { random.pick(&choices) };
        let units = match swizzle {
            1 | 2 => 8,
            4 => 4,
            6 => 2,
            _ => 1,
        };
        // The numbers of units along both dimensions of an atom of eight (or four) lines, and of atoms.
        let lines = if swizzle == 1 { 4 } else { 8 };
        let (line_count, unit_count) = if mn_major {
            (k, mn.div_ceil(per_unit))
        } else {
            (mn, k.div_ceil(per_unit))
        };
        let atom = lines * units * 16;
        let (across, along) = (line_count.div_ceil(lines), unit_count.div_ceil(units));
        // Atoms are consecutive along one of the dimensions, perhaps with a gap.
        let gap = random.below(2) * 1024;
        let (line_stride, unit_stride) = if random.below(2) == 0 {
            (atom, atom * across + gap)
        } else {
            (atom * along + gap, atom)
        };
        let (leading, stride) = match (mn_major, swizzle) {
            (false, 0) => (unit_stride, line_stride),
            (false, _) => (16, line_stride),
            (true, 0) => (line_stride, unit_stride),
            (true, _) => (unit_stride, line_stride),
        };
        let layout = Self {
            start,
            leading,
            stride,
            swizzle,
            mn_major,
        };
        let end = start + across * line_stride + along * unit_stride;
        (layout, end)
    }

    /// The address of the 16 bytes that contain an element, by the table of canonical layouts, and the index of the element in them.
    pub(crate) fn place(&self, per_unit: usize, mn: usize, k: usize) -> (usize, usize) {
        let t = per_unit;
        let (lbo, sbo) = (self.leading, self.stride);
        // ((T,s,m),(8,k)) : ((1,T,LBO),(sT,SBO)) and ((8,m),(T,2k)) : ((sT,SBO),(1,T)), in units of 16 bytes where T elements are one.
        let offset = match (self.mn_major, self.swizzle) {
            (false, 0) => mn % 8 * 16 + mn / 8 * sbo + k / t * lbo,
            (false, mode) => mn % 8 * row_bytes(mode) + mn / 8 * sbo + k / t * 16,
            (true, 0) => mn / t * sbo + k % 8 * 16 + k / 8 * lbo,
            (true, mode) => {
                let units = row_bytes(mode) / 16;
                let lines = if mode == 1 { 4 } else { 8 };
                mn / t % units * 16
                    + mn / t / units * lbo
                    + k % lines * row_bytes(mode)
                    + k / lines * sbo
            }
        };
        let address = self.start + offset;
        let (line, chunk) = (address / 128, address / 16 % 8);
        let chunk = match self.swizzle {
            0 => chunk,
            1 => chunk ^ (line % 4) << 1,
            2 => chunk ^ (line % 8),
            4 => chunk ^ (line % 4),
            _ => chunk ^ (line % 2),
        };
        (
            line * 128 + chunk * 16,
            if self.mn_major { mn % t } else { k % t },
        )
    }
}

const fn row_bytes(swizzle: usize) -> usize {
    match swizzle {
        1 | 2 => 128,
        4 => 64,
        6 => 32,
        _ => 16,
    }
}

/// Writes the bits of an element into 16 bytes of memory.
pub(crate) fn put(memory: &mut [u8], address: usize, index: usize, bits: usize, code: u32) {
    let mut unit = u128::from_le_bytes(memory[address..address + 16].try_into().unwrap());
    let mask = (1u128 << bits) - 1;
    unit = unit & !(mask << (index * bits)) | (u128::from(code) & mask) << (index * bits);
    memory[address..address + 16].copy_from_slice(&unit.to_le_bytes());
}

/// The place of an element of a result: the CTA of the pair, the lane, and the column from the first one on. `upper` selects the second half of the lanes
/// of each warp, where only half of them are used.
pub(crate) fn result_place(
    [rows, columns]: [usize; 2],
    [pair, sparse, stationary, upper]: [bool; 4],
    row: usize,
    column: usize,
) -> (usize, usize, usize) {
    let half_lanes = |row: usize| row / 16 * 32 + row % 16 + 16 * usize::from(upper);
    match (rows, pair, stationary) {
        (256, true, _) => (row / 128, row % 128, column),
        (128, true, _) if sparse => (row / 64, half_lanes(row % 64), column),
        (128, true, _) => (
            row / 64,
            row % 64 + 64 * (2 * column / columns),
            column % (columns / 2),
        ),
        (128, ..) => (0, row, column),
        (64, _, true) => (0, row + 64 * (2 * column / columns), column % (columns / 2)),
        (64, ..) => (0, half_lanes(row), column),
        (32, _, true) => (0, row + 32 * (4 * column / columns), column % (columns / 4)),
        _ => panic!("no such shape"),
    }
}

/// The bits of a number of binary16 that represents a value exactly.
pub(crate) fn half_bits(value: f64) -> u32 {
    let codes = (0..0x7c00u32).chain(0x8001..0xfc00);
    let found = codes.into_iter().find(|&code| F16.value(code) == value);
    found.unwrap()
}
