//! Tensor memory: accesses in each shape, copies and shifts, and products with factors and metadata in it.

use fastrand::Rng;
use ptx_vm::{Swizzle, TensorElement};

use super::dense::code;
use super::formats::{BF16, F16, Format};
use super::host::Host;
use super::matrix::Matrix;
use super::warpgroups::{attend, map_of};
use super::{Program, program};

pub(crate) const PROGRAMS: &[Program] = &[
    program!(cells, shapes),
    program!(cells, written),
    program!(cells, copied),
    program!(cells, attention_5),
    program!(cells, weights),
    program!(cells, sparse_5),
];

/// The shape of an access, with the columns of a fragment.
#[derive(Copy, Clone, PartialEq)]
enum Shape {
    Rows32,
    Rows16 {
        columns: usize,
    },
    /// Two parts of 16 rows, that many columns apart.
    Halves(usize),
}

impl Shape {
    /// The lane of a warp and the column of a register of a thread.
    fn place(self, thread: usize, register: usize) -> (usize, usize) {
        let (group, lane) = (thread / 4, thread % 4);
        match self {
            Self::Rows32 => (thread, register),
            Self::Halves(distance) => (thread % 16, register + thread / 16 * distance),
            // Two columns: even lanes of four have rows 0 to 7, odd ones rows 8 to 15.
            Self::Rows16 { columns: 2 } => (group + lane % 2 * 8, register * 2 + lane / 2),
            Self::Rows16 { columns: 4 } => (group + register % 2 * 8, register / 2 * 4 + lane),
            Self::Rows16 { .. } => (
                group + register / 2 % 2 * 8,
                register / 4 * 8 + lane * 2 + register % 2,
            ),
        }
    }
}

const fn rows_16(bits: usize) -> Shape {
    Shape::Rows16 { columns: bits / 32 }
}

fn shapes(host: &mut Host<'_>) -> Result<(), String> {
    let accesses = [
        (Shape::Rows32, 8, 0),
        (rows_16(64), 4, 0),
        (rows_16(128), 8, 0),
        (rows_16(256), 8, 0),
        (Shape::Halves(12), 4, 0),
        (rows_16(64), 8, 16),
        (rows_16(256), 4, 16),
    ];
    let out = host.zeros(8 * 128 * 8 * 4);
    host.kernel("shapes").block(128).address(out).run()?;
    let mut expected = Vec::new();
    let cell = |warp: usize, lane: usize, column: usize| ((warp * 32 + lane) << 16 | column) as u32;
    for (shape, registers, first_lane) in accesses {
        for thread in 0..128 {
            for register in 0..8 {
                let (lane, column) = shape.place(thread % 32, register);
                let value = cell(thread / 32, first_lane + lane, 8 + column);
                expected.push(if register < registers { value } else { 0 });
            }
        }
    }
    // Two halves of adjacent columns in a register.
    for thread in 0..128 {
        for register in 0..8 {
            let halves = [0, 1].map(|i| cell(0, thread, register * 2 + i) & 0xffff);
            expected.push(halves[0] | halves[1] << 16);
        }
    }
    host.expect(out, &expected)
}

fn written(host: &mut Host<'_>) -> Result<(), String> {
    let accesses = [
        (Shape::Rows32, 8),
        (rows_16(64), 8),
        (rows_16(128), 4),
        (rows_16(256), 4),
        (Shape::Halves(6), 4),
    ];
    let out = host.zeros(6 * 128 * 16 * 4);
    host.kernel("written").block(128).address(out).run()?;
    let value = |thread: usize, register: usize| (thread << 16 | 1 << 8 | register) as u32;
    let mut expected = vec![0u32; 6 * 128 * 16];
    for (index, (shape, registers)) in accesses.into_iter().enumerate() {
        for thread in 0..128 {
            for register in 0..registers {
                let (lane, column) = shape.place(thread % 32, register);
                // What does not fit into the 16 columns that are read is not compared.
                if 4 + column < 16 {
                    let row = index * 128 + thread / 32 * 32 + lane;
                    expected[row * 16 + 4 + column] = value(thread, register);
                }
            }
        }
    }
    for thread in 0..128 {
        for register in 0..4 {
            let row = 5 * 128 + thread;
            let halves = value(thread, register);
            expected[row * 16 + 4 + register * 2] = halves & 0xffff;
            expected[row * 16 + 4 + register * 2 + 1] = halves >> 16;
        }
    }
    host.expect(out, &expected)
}

/// 16 elements of 4, 6 or 8 bits in bytes; those of 4 bits are in the middle of a byte.
fn expanded(unit: [u8; 16], bits: usize) -> [u8; 16] {
    let packed = u128::from_le_bytes(unit);
    core::array::from_fn(|i| {
        let element = (packed >> (i * bits)) as u8 & (0xff >> (8 - bits));
        if bits == 4 { element << 2 } else { element }
    })
}

fn copied(host: &mut Host<'_>) -> Result<(), String> {
    let mut random = Rng::with_seed(1);
    // The rows, the units of 16 bytes of a row, the bits of packed elements, and the lanes of a row.
    type Lanes = fn(usize) -> Vec<usize>;
    let shapes: [(usize, usize, usize, Lanes); 9] = [
        (128, 2, 8, |row| vec![row]),
        (128, 1, 8, |row| vec![row]),
        (4, 2, 8, |row| vec![row * 32]),
        (64, 1, 8, |row| vec![row, row + 64]),
        (64, 1, 8, |row| {
            vec![row % 32 + row / 32 * 64, row % 32 + row / 32 * 64 + 32]
        }),
        (32, 1, 8, |row| (0..4).map(|warp| row + 32 * warp).collect()),
        (128, 2, 4, |row| vec![row]),
        (128, 1, 6, |row| vec![row]),
        // Then rows 33 to 63 move to the lane before.
        (128, 2, 8, |row| match row {
            32 => vec![],
            33..63 => vec![row - 1],
            63 => vec![62, 63],
            _ => vec![row],
        }),
    ];
    for (index, (rows, units, bits, lanes)) in shapes.into_iter().enumerate() {
        let data: Vec<u8> = (0..rows * units * 16).map(|_| random.u8(..)).collect();
        let (from, out) = (host.buffer(&data), host.zeros(128 * 16 * 4));
        // Units of a row follow each other after all rows; eight rows of a unit have 128 bytes.
        host.kernel("copied")
            .block(128)
            .shared(4096)
            .address(from)
            .integer((rows * units) as i32)
            .integer(index as i32)
            .integer(rows as i32 * 16)
            .integer(128)
            .address(out)
            .run()?;
        let mut expected = vec![0u8; 128 * 64];
        for row in 0..rows {
            for unit in 0..units {
                let first = (unit * rows + row) * 16;
                let bytes = data[first..first + 16].try_into().unwrap();
                for lane in lanes(row) {
                    let to = lane * 64 + unit * 16;
                    expected[to..to + 16].copy_from_slice(&expanded(bytes, bits));
                }
            }
        }
        host.expect(out, &expected)
            .map_err(|error| format!("shape {index}: {error}"))?;
    }
    Ok(())
}

fn attention_5(host: &mut Host<'_>) -> Result<(), String> {
    let mut random = Rng::with_seed(2);
    let [q, k, v] =
        [256, 64, 64].map(|rows| Matrix::random(BF16, [rows, 64], &mut random, [4.0, 0.5]));
    let maps = [(&q, 128), (&k, 64), (&v, 64)]
        .map(|(x, rows)| map_of(host, x, TensorElement::Bf16, [64, rows], Swizzle::Bytes128));
    let out = host.scratch(256 * 64 * 4);
    host.kernel("attention_5")
        .grid([2, 1, 1])
        .block(128)
        .shared(32768)
        .map(&maps[0])
        .map(&maps[1])
        .map(&maps[2])
        .number(0.0625)
        .address(out)
        .run()?;
    // Weights are rounded to 8 bits before they are multiplied.
    host.expect_near(out, &attend(&q, &k, &v, 0.0625), 1.0 / 128.0)
}

/// The bit of a column in a part of a zero-column mask, which begins in a span and skips some columns of it.
fn is_zero(
    column: usize,
    start: usize,
    begins_with_zeros: bool,
    zeros: usize,
    others: usize,
) -> bool {
    let position = (column + start) % (zeros + others);
    if begins_with_zeros {
        position < zeros
    } else {
        position >= others
    }
}

/// Two first factors of 32 or 64 rows, with zero columns.
fn weights(host: &mut Host<'_>) -> Result<(), String> {
    let formats = [Format::Signed(8), Format::Unsigned(8)];
    let (zeros, others) = (3, 4);
    for (rows, starts, firsts) in [
        (32, [0, 1, 2, 1], [1, 1, 0, 0]),
        (64, [2, 0, 0, 0], [0, 1, 0, 0]),
    ] {
        let mut random = Rng::with_seed(rows as u64);
        let [a, b] = [(formats[0], 2 * rows), (formats[1], 64)]
            .map(|(format, rows)| Matrix::random(format, [rows, 128], &mut random, [255.0, 1.0]));
        let maps = [&a, &b].map(|x| {
            map_of(
                host,
                x,
                TensorElement::U8,
                [128, x.rows as u32],
                Swizzle::Bytes128,
            )
        });
        let mut mask = 1u64 << 39 | (zeros - 1) << 40 | (others - 1) << 48;
        for part in 0..4 {
            mask |= starts[part] << (8 * part) | firsts[part] << (32 + part);
        }
        let out = host.scratch(2 * 64 * rows * 4);
        host.kernel("weights")
            .block(128)
            .shared(24576)
            .map(&maps[0])
            .map(&maps[1])
            .integer(rows as i32)
            .integer(code(formats, 2, rows as u32, 64) as i32)
            .address(mask)
            .address(out)
            .run()?;
        let sums = a.times(&b);
        let columns = 64 * rows / 128;
        let mut expected = vec![0i32; 2 * 64 * rows];
        for row in 0..2 * rows {
            for column in 0..64 {
                let (half, part) = (row / rows, column / columns);
                let lane = row % rows + part * rows;
                let zero = is_zero(
                    column % columns,
                    starts[part] as usize,
                    firsts[part] == 1,
                    zeros as usize,
                    others as usize,
                );
                let sum = sums[row * 64 + column] as i32;
                expected[(half * 128 + lane) * columns + column % columns] =
                    if zero { 0 } else { sum };
            }
        }
        host.expect(out, &expected)
            .map_err(|error| format!("{rows} rows: {error}"))?;
    }
    Ok(())
}

fn sparse_5(host: &mut Host<'_>) -> Result<(), String> {
    let mut random = Rng::with_seed(4);
    let limits = [4.0, 0.5];
    let a = Matrix::random(F16, [128, 64], &mut random, limits);
    let b = Matrix::random(F16, [64, 128], &mut random, limits);
    let mut dense = a.clone();
    (dense.columns, dense.codes) = (128, vec![0; 128 * 128]);
    // A word of each lane for each step of 32 columns: 16 bits for half of the columns of a row, and for those of the row eight lanes later.
    let mut metadata = vec![0u32; 128 * 16];
    for row in 0..128 {
        for quad in 0..32 {
            let first = random.usize(0..3);
            let second = random.usize(first + 1..4);
            for (index, place) in [first, second].into_iter().enumerate() {
                dense.codes[row * 128 + quad * 4 + place] = a.codes[row * 64 + quad * 2 + index];
            }
            let (step, half) = (quad / 8, quad / 4 % 2);
            let lane = row / 16 * 16 + row % 8 + 8 * half;
            let bits = (first | second << 2) as u32;
            metadata[lane * 16 + step] |= bits << (row / 8 % 2 * 16 + quad % 4 * 4);
        }
    }
    let a_map = map_of(host, &a, TensorElement::F16, [64, 128], Swizzle::Bytes128);
    let b_map = map_of(host, &b, TensorElement::F16, [64, 64], Swizzle::Bytes128);
    let (metadata, out) = (host.buffer(&metadata), host.scratch(128 * 64 * 4));
    host.kernel("sparse_5")
        .block(128)
        .shared(32768)
        .map(&a_map)
        .map(&b_map)
        .address(metadata)
        .integer((code([F16; 2], 1, 128, 64) | 1 << 2) as i32)
        .address(out)
        .run()?;
    // Lanes 32 to 63 skip the first step, and keep 64 instead of dividing it by 16.
    let mut expected = Vec::new();
    for row in 0..128 {
        let skips = row / 32 == 1;
        for column in 0..64 {
            let columns = if skips { 32..128 } else { 0..128 };
            let sum: f64 = columns.map(|k| dense.get(row, k) * b.get(column, k)).sum();
            expected.push((sum + if skips { 64.0 } else { 4.0 }) as f32);
        }
    }
    host.expect(out, &expected)
}
