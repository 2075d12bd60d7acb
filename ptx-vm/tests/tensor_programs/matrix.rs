//! Matrices of numbers in a format, and their products by definition.

use fastrand::Rng;

use super::formats::Format;

/// A matrix, row by row.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    pub(crate) format: Format,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) codes: Vec<u32>,
}

impl Matrix {
    /// A matrix of random numbers, whose magnitudes are at most a limit, and multiples of a number.
    pub(crate) fn random(
        format: Format,
        [rows, columns]: [usize; 2],
        random: &mut Rng,
        [limit, multiple]: [f64; 2],
    ) -> Self {
        let code = |_| format.random(random, limit, multiple);
        Self {
            format,
            rows,
            columns,
            codes: (0..rows * columns).map(code).collect(),
        }
    }

    pub(crate) fn get(&self, row: usize, column: usize) -> f64 {
        self.format.value(self.codes[row * self.columns + column])
    }

    pub(crate) fn transposed(&self) -> Self {
        let mut codes = Vec::new();
        for column in 0..self.columns {
            for row in 0..self.rows {
                codes.push(self.codes[row * self.columns + column]);
            }
        }
        Self {
            rows: self.columns,
            columns: self.rows,
            codes,
            ..*self
        }
    }

    /// The bytes in memory: the codes one after the other, the first one in the lowest bits.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        pack(&self.codes, self.format.bits() as usize)
    }

    /// The numbers, row by row.
    pub(crate) fn values(&self) -> Vec<f64> {
        self.codes
            .iter()
            .map(|&code| self.format.value(code))
            .collect()
    }

    /// `self` times the transposed `other`: both have the elements over which products are summed in their rows.
    pub(crate) fn times(&self, other: &Self) -> Vec<f64> {
        assert_eq!(self.columns, other.columns);
        let (a, b) = (self.values(), other.values());
        let mut sums = Vec::new();
        for row in a.chunks(self.columns) {
            for column in b.chunks(self.columns) {
                sums.push(row.iter().zip(column).map(|(x, y)| x * y).sum());
            }
        }
        sums
    }
}

/// Numbers of some bits each, one after the other, the first one in the lowest bits of the first byte.
pub(crate) fn pack(codes: &[u32], bits: usize) -> Vec<u8> {
    let mut bytes = vec![0u8; (codes.len() * bits).div_ceil(8)];
    for (index, code) in codes.iter().enumerate() {
        for bit in 0..bits {
            let place = index * bits + bit;
            bytes[place / 8] |= ((code >> bit & 1) as u8) << (place % 8);
        }
    }
    bytes
}

pub(crate) fn singles(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}
