//! Products of matrices.

use ptx_isa::{Modifier, ScalarType, TypeKind};
use rustc_apfloat::ieee::Double;
use rustc_apfloat::{Float, Round};

use super::dot::{self, Line, NAN, Numbers, dot};
use super::formats::{Format, Number};
use super::model::{Method, Model, SCALED_GROUPS};
use super::operation::Operation;
use crate::lanes::{canonical_long, half_to_single, single_to_half};

/// The bits of the elements of a matrix, row by row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Matrix {
    pub(crate) size: [usize; 2],
    pub(crate) elements: Vec<u64>,
}

impl Matrix {
    pub(crate) fn new(size: [usize; 2], mut element: impl FnMut(usize, usize) -> u64) -> Self {
        let [rows, columns] = size;
        let mut elements = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            elements.extend((0..columns).map(|column| element(row, column)));
        }
        Self { size, elements }
    }

    pub(crate) fn at(&self, row: usize, column: usize) -> u64 {
        self.elements[row * self.size[1] + column]
    }

    pub(crate) fn transposed(&self) -> Self {
        let [rows, columns] = self.size;
        Self::new([columns, rows], |row, column| self.at(column, row))
    }
}

/// The operands of a product.
#[derive(Debug)]
pub(crate) struct Operands {
    /// The elements of the first factor that are stored.
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Matrix,
    /// The column of each stored element of the first factor, if it is sparse.
    pub(crate) columns: Option<Matrix>,
    /// The scales of the rows of the first and the columns of the second factor, with blocks along their rows.
    pub(crate) scales: Option<[Matrix; 2]>,
}

/// Multiplies matrices and adds the addend. Returns `None` if no tensor core multiplies the types.
pub(crate) fn multiply(operation: &Operation, model: Model, operands: &Operands) -> Option<Matrix> {
    let half = operation.c == ScalarType::F16 && operation.d == ScalarType::F16;
    // Only one architecture has block scales.
    let model = match operation.scales {
        Some(_) => Model::BlackwellRtx,
        None => model,
    };
    let method = operation.method(model, half);
    multiply_by_method(operation, method, operands)
}

/// Multiplies matrices and adds the addend by a method for products of floating-point numbers.
pub(crate) fn multiply_by_method(
    operation: &Operation,
    method: Method,
    operands: &Operands,
) -> Option<Matrix> {
    match (operation.a, operation.a.kind()) {
        (ScalarType::F64, _) => Some(doubles(operation.rounding, operands)),
        (_, TypeKind::Float) => floats(operation, method, operands),
        (_, TypeKind::Signed | TypeKind::Unsigned | TypeKind::Bits) => {
            Some(integers(operation, operands))
        }
        _ => None,
    }
}

/// Sums of products, each rounded once, from the first column on.
fn doubles(rounding: Modifier, operands: &Operands) -> Matrix {
    let round = match rounding {
        Modifier::Rz => Round::TowardZero,
        Modifier::Rm => Round::TowardNegative,
        Modifier::Rp => Round::TowardPositive,
        _ => Round::NearestTiesToEven,
    };
    Matrix::new(operands.c.size, |row, column| {
        let products = 0..operands.b.size[0];
        products.fold(operands.c.at(row, column), |sum, k| {
            fused_multiply_add(
                [operands.a.at(row, k), operands.b.at(k, column), sum],
                round,
            )
        })
    })
}

/// The bits of `a · b + c` for numbers of 64 bits, rounded once.
fn fused_multiply_add(sources: [u64; 3], round: Round) -> u64 {
    let [a, b, c] = sources.map(|bits| Double::from_bits(bits.into()));
    let sum = f64::from_bits(a.mul_add_r(b, c, round).value.to_bits() as u64);
    canonical_long(sum, sources)
}

/// Exact sums of products of integers or of combinations of bits.
fn integers(operation: &Operation, operands: &Operands) -> Matrix {
    Matrix::new(operands.c.size, |row, column| {
        let mut sum = i64::from(operands.c.at(row, column) as i32);
        for stored in 0..operands.a.size[1] {
            let k = operands.column(row, stored);
            let (a, b) = (operands.a.at(row, stored), operands.b.at(k, column));
            sum += integer_product(operation, a, b);
        }
        let result = if operation.saturates {
            sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32
        } else {
            sum as i32
        };
        (result as u32).into()
    })
}

fn integer_product(operation: &Operation, a: u64, b: u64) -> i64 {
    if operation.a.bits() > 1 {
        integer(operation.a, a) * integer(operation.b, b)
    } else if operation.xor {
        (a ^ b).count_ones().into()
    } else {
        (a & b).count_ones().into()
    }
}

fn integer(ty: ScalarType, bits: u64) -> i64 {
    let unused = 64 - u32::from(ty.bits());
    match ty.kind() {
        TypeKind::Signed => (bits << unused) as i64 >> unused,
        _ => (bits << unused >> unused) as i64,
    }
}

impl Operands {
    /// The column of a stored element of the first factor.
    fn column(&self, row: usize, stored: usize) -> usize {
        let columns = self.columns.as_ref();
        columns.map_or(stored, |m| m.at(row, stored) as usize)
    }
}

/// The rows of the first factor: the numbers that are stored.
struct Rows {
    numbers: Numbers,
    /// The column of each number, where they are not all columns in their order.
    columns: Option<Vec<usize>>,
    /// The count of the numbers of each row that the unit adds first.
    first: Vec<usize>,
}

impl Rows {
    fn new(operands: &Operands, format: Format, method: Method) -> Self {
        let [rows, length] = operands.a.size;
        let mut numbers = Numbers::default();
        if !matches!(method, Method::Halves(_)) {
            operands
                .a
                .elements
                .iter()
                .for_each(|&e| numbers.push(format.decode(e as u32)));
            let columns = operands.columns.as_ref();
            return Self {
                numbers,
                columns: columns.map(|m| m.elements.iter().map(|&c| c as usize).collect()),
                first: Vec::new(),
            };
        }
        let (mut columns, mut first) = (Vec::new(), Vec::new());
        for row in 0..rows {
            let later = |stored: usize| operands.column(row, stored) % 4 >= 2;
            let mut stored: Vec<usize> = (0..length).collect();
            stored.sort_by_key(|&s| later(s));
            first.push(stored.partition_point(|&s| !later(s)));
            for &s in &stored {
                numbers.push(format.decode(operands.a.at(row, s) as u32));
                columns.push(operands.column(row, s));
            }
        }
        Self {
            numbers,
            columns: Some(columns),
            first,
        }
    }
}

fn floats(operation: &Operation, method: Method, operands: &Operands) -> Option<Matrix> {
    let formats = [operation.a, operation.b].map(|ty| Format::of(ty, operation.fragments.padded));
    let [Some(first), Some(second)] = formats else {
        return None;
    };
    if let Method::Lanes { half } = method {
        return Some(in_lanes(operation, half, operands));
    }
    let length = operands.a.size[1];
    let [depth, width] = operands.b.size;
    let rows = Rows::new(operands, first, method);
    let mut columns = Numbers::default();
    for column in 0..width {
        (0..depth).for_each(|k| columns.push(second.decode(operands.b.at(k, column) as u32)));
    }
    let mut selected = Numbers::default();
    Some(Matrix::new(operands.c.size, |row, column| {
        let stored = row * length..(row + 1) * length;
        let line = columns.line(column * depth..(column + 1) * depth, second);
        let b = match &rows.columns {
            None => line,
            Some(columns) => {
                selected.clear();
                let numbers = columns[stored.clone()].iter().map(|&k| line.number(k));
                numbers.for_each(|n| selected.push(n));
                selected.line(0..length, second)
            }
        };
        let a = rows.numbers.line(stored, first);
        let c = operands.c.at(row, column) as u32;
        let c = match operation.c {
            ScalarType::F16 => half_to_single(c),
            _ => c,
        };
        let sum = match &operands.scales {
            Some(scales) => {
                let scales = [scales[0].row(row), scales[1].row(column)];
                scaled(operation, method, a, b, scales, c)
            }
            None => sum(method, rows.first.get(row).copied().unwrap_or(0), a, b, c),
        };
        match operation.d {
            ScalarType::F16 => single_to_half(sum).into(),
            _ => sum.into(),
        }
    }))
}

impl Matrix {
    fn row(&self, row: usize) -> &[u64] {
        &self.elements[row * self.size[1]..][..self.size[1]]
    }
}

/// The sum of products and of an addend. Those before `first` are added first.
fn sum(method: Method, first: usize, a: Line<'_>, b: Line<'_>, c: u32) -> u32 {
    match method {
        Method::Blocks(rule) => dot(a, b, 0, c, rule),
        Method::Halves(rule) => {
            // Both steps add all of their products at once.
            let rule = dot::Rule {
                block: a.len(),
                ..rule
            };
            let step = |range: core::ops::Range<usize>, c| {
                dot(a.part(range.clone()), b.part(range), 0, c, rule)
            };
            let products = step(first..a.len(), step(0..first, 0));
            let sum = canonical(f32::from_bits(products) + f32::from_bits(c));
            match rule.result {
                // The sum of two numbers of binary16, rounded to that format.
                dot::Rounding::Half => half_to_single(single_to_half(sum)),
                _ => sum,
            }
        }
        Method::Lanes { .. } => NAN,
    }
}

/// Sums that each lane makes by operations on numbers of 32 bits. The products of two numbers of binary16 are exact there.
fn in_lanes(operation: &Operation, rounds_to_half: bool, operands: &Operands) -> Matrix {
    Matrix::new(operands.c.size, |row, column| {
        let product = |k: usize| half(operands.a.at(row, k)) * half(operands.b.at(k, column));
        let c = match operation.c {
            ScalarType::F16 => half(operands.c.at(row, column)),
            _ => f32::from_bits(operands.c.at(row, column) as u32),
        };
        let sum = canonical(if rounds_to_half {
            c + (product(0) + product(1)) + (product(2) + product(3))
        } else {
            c + (0.0 + product(0) + product(1) + product(2) + product(3))
        });
        match operation.d {
            ScalarType::F16 => single_to_half(sum).into(),
            _ => sum.into(),
        }
    })
}

/// The value of the bits of a number of binary16.
fn half(bits: u64) -> f32 {
    f32::from_bits(half_to_single(bits as u32))
}

fn canonical(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

/// The sum of products with block scales.
fn scaled(
    operation: &Operation,
    method: Method,
    a: Line<'_>,
    b: Line<'_>,
    scales: [&[u64]; 2],
    c: u32,
) -> u32 {
    let ty = operation.scales.map_or(ScalarType::Ue8m0, |(ty, _)| ty);
    let scales_of_block =
        |block: usize| scales.map(|scales| decode_scale(ty, scales[block] as u32));
    if operation.fragments.padded {
        let [first, second] = scales_of_block(0);
        if first.is_special() || second.is_special() {
            return NAN;
        }
        return match method {
            Method::Blocks(rule) => dot(a, b, first.exponent + second.exponent, c, rule),
            _ => NAN,
        };
    }
    // Groups of 16 products are added exactly and multiplied by two scales.
    let groups = a.len() / 16;
    let mut sums = Vec::with_capacity(groups);
    for group in 0..groups {
        let block = group * scales[0].len() / groups;
        let [first, second] = scales_of_block(block);
        if first.is_special() || second.is_special() {
            return NAN;
        }
        let range = 16 * group..16 * (group + 1);
        let products = a.part(range.clone()).numbers().zip(b.part(range).numbers());
        let sum: i64 = products.map(|(a, b)| fixed(a) * fixed(b)).sum();
        let significand = sum * i64::from(first.significand) * i64::from(second.significand);
        let exponent = match significand {
            0 => Number::ZERO,
            _ => first.exponent + second.exponent,
        };
        sums.push((significand, exponent));
    }
    let fraction = a.fraction + b.fraction + 2 * SCALE_FRACTION;
    dot::add_groups(&sums, fraction, c, SCALED_GROUPS)
}

/// Fractional bits of the significands of scales.
const SCALE_FRACTION: u32 = 3;

/// A scale, whose significand has [`SCALE_FRACTION`] fractional bits.
fn decode_scale(ty: ScalarType, bits: u32) -> Number {
    match Format::of(ty, false) {
        Some(format) => format.decode(bits & 0x7f),
        // Only an exponent.
        None if bits & 0xff == 0xff => Number {
            significand: 0,
            exponent: Number::SPECIAL,
        },
        None => Number {
            significand: 1 << SCALE_FRACTION,
            exponent: (bits & 0xff) as i32 - 127,
        },
    }
}

/// A number of few bits as an integer, in units of the lowest bit of its format.
const fn fixed(number: Number) -> i64 {
    match number.significand {
        0 => 0,
        significand => (significand as i64) << number.exponent,
    }
}
