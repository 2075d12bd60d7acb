//! Products of warpgroups.

use fastrand::Rng;
use ptx_vm::{Swizzle, TensorElement, TensorMap};

use super::formats::{BF16, E4M3, E5M2, F16, Format, TF32};
use super::host::Host;
use super::matrix::{Matrix, singles};
use super::{Program, program};

pub(crate) const PROGRAMS: &[Program] = &[
    program!(warpgroups, specialized_bf16),
    program!(warpgroups, registers_f16),
    program!(warpgroups, sparse_f16),
    program!(warpgroups, attention),
    program!(layouts, layouts_128),
    program!(layouts, layouts_64),
    program!(layouts, layouts_32),
    program!(layouts, layouts_none),
    program!(formats, eighths_e4m3_e5m2),
    program!(formats, eighths_e5m2_e4m3),
    program!(formats, tensor_floats),
    program!(formats, integers_s8_u8),
    program!(formats, integers_u8_s8_satfinite),
    program!(formats, single_bits),
];

/// Numbers of few bits, so that all sums are exact.
const SMALL: [f64; 2] = [4.0, 0.5];

fn matrix(format: Format, rows: usize, columns: usize, seed: u64) -> Matrix {
    Matrix::random(format, [rows, columns], &mut Rng::with_seed(seed), SMALL)
}

/// A map of a matrix whose rows are adjacent.
pub(crate) fn map_of(
    host: &mut Host<'_>,
    matrix: &Matrix,
    element: TensorElement,
    box_dims: [u32; 2],
    swizzle: Swizzle,
) -> TensorMap {
    let address = host.buffer(&matrix.bytes());
    let elements =
        matrix.columns as u64 * u64::from(matrix.format.bits()) / u64::from(element.bits());
    TensorMap::tiled(element, address, &[elements, matrix.rows as u64], &box_dims).swizzle(swizzle)
}

fn specialized_bf16(host: &mut Host<'_>) -> Result<(), String> {
    // The last step, the last rows and the last columns are not complete.
    let (m, n, k) = (200, 104, 296);
    let (a, b) = (matrix(BF16, m, k, 1), matrix(BF16, n, k, 2));
    let maps = [&a, &b].map(|x| map_of(host, x, TensorElement::Bf16, [64, 64], Swizzle::Bytes128));
    let out = host.zeros(m * n * 2);
    let c_map = TensorMap::tiled(TensorElement::Bf16, out, &[n as u64, m as u64], &[64, 64])
        .swizzle(Swizzle::Bytes128);
    host.kernel("specialized_bf16")
        .grid([2, 2, 1])
        .block(384)
        .shared(9 * 8192 + 2 * 8192)
        .map(&maps[0])
        .map(&maps[1])
        .map(&c_map)
        .integer(5)
        .run()?;
    let rounded: Vec<u16> = a.times(&b).iter().map(|&x| rounded_bf16(x)).collect();
    host.expect(out, &rounded)
}

/// The nearest number of BF16, ties to even.
pub(crate) fn rounded_bf16(value: f64) -> u16 {
    let bits = (value as f32).to_bits();
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

fn registers_f16(host: &mut Host<'_>) -> Result<(), String> {
    let (a, b) = (matrix(F16, 64, 64, 3), matrix(F16, 64, 64, 4));
    let map = map_of(host, &b, TensorElement::F16, [64, 64], Swizzle::Bytes128);
    let first = host.buffer(&a.bytes());
    let out = host.zeros(64 * 64 * 2);
    host.kernel("registers_f16")
        .block(128)
        .shared(8192)
        .map(&map)
        .address(first)
        .address(out)
        .run()?;
    let expected: Vec<u16> = a
        .times(&b)
        .iter()
        .map(|sum| F16.code(1.0 - sum) as u16)
        .collect();
    host.expect(out, &expected)
}

fn sparse_f16(host: &mut Host<'_>) -> Result<(), String> {
    let mut random = Rng::with_seed(5);
    let (a, b) = (matrix(F16, 64, 32, 6), matrix(F16, 32, 64, 7));
    // The places of the two numbers of each four columns.
    let mut dense = a.clone();
    dense.columns = 64;
    dense.codes = vec![0; 64 * 64];
    let mut places = vec![[0u32; 2]; 64 * 16];
    for row in 0..64 {
        for quad in 0..16 {
            let first = random.u32(0..3);
            let second = random.u32(first + 1..4);
            places[row * 16 + quad] = [first, second];
            for (index, place) in [first, second].into_iter().enumerate() {
                dense.codes[row * 64 + quad * 4 + place as usize] =
                    a.codes[row * 32 + quad * 2 + index];
            }
        }
    }
    // In a step of 32 columns, two threads of each four have the places of rows `g` and `g + 8`, each for half of the columns. The selector is the index of
    // the pair of threads.
    let mut metadata = vec![0u32; 256];
    for step in 0..2 {
        for thread in 0..128 {
            let (warp, group, in_quad) = (thread / 32, thread % 32 / 4, thread % 4);
            if in_quad / 2 != step {
                continue;
            }
            for high in 0..2 {
                let row = warp * 16 + group + high * 8;
                for quad in 0..4 {
                    let [first, second] = places[row * 16 + step * 8 + in_quad % 2 * 4 + quad];
                    metadata[step * 128 + thread] |=
                        (first | second << 2) << (high * 16 + quad * 4);
                }
            }
        }
    }
    let a_map = map_of(host, &a, TensorElement::F16, [32, 64], Swizzle::Bytes64);
    let b_map = map_of(host, &b, TensorElement::F16, [64, 32], Swizzle::Bytes128);
    let (metadata, out) = (host.buffer(&metadata), host.zeros(64 * 32 * 4));
    host.kernel("sparse_f16")
        .block(128)
        .shared(8192)
        .map(&a_map)
        .map(&b_map)
        .address(metadata)
        .address(out)
        .run()?;
    host.expect(out, &singles(&dense.times(&b)))
}

/// The attention of queries: softmax of their products with the keys, times the values. Exponentials are powers of two.
pub(crate) fn attend(queries: &Matrix, keys: &Matrix, values: &Matrix, scale: f64) -> Vec<f64> {
    let products = queries.times(keys);
    let mut out = Vec::new();
    for row in products.chunks(keys.rows) {
        let top = row.iter().fold(f64::MIN, |a, &b| a.max(b * scale));
        let weights: Vec<f64> = row.iter().map(|x| (x * scale - top).exp2()).collect();
        let sum: f64 = weights.iter().sum();
        for column in 0..values.columns {
            let weighted = (0..keys.rows).map(|k| weights[k] * values.get(k, column));
            out.push(weighted.sum::<f64>() / sum);
        }
    }
    out
}

fn attention(host: &mut Host<'_>) -> Result<(), String> {
    let shapes = [(128, 8), (192, 9), (192, 10)];
    let [q, k, v] = shapes.map(|(rows, seed)| matrix(BF16, rows, 64, seed));
    let maps =
        [&q, &k, &v].map(|x| map_of(host, x, TensorElement::Bf16, [64, 64], Swizzle::Bytes128));
    let out = host.zeros(128 * 64 * 4);
    host.kernel("attention")
        .grid([2, 1, 1])
        .block(128)
        .shared(24576)
        .map(&maps[0])
        .map(&maps[1])
        .map(&maps[2])
        .integer(3)
        .number(0.0625)
        .address(out)
        .run()?;
    // Weights are rounded to 8 bits before they are multiplied.
    host.expect_near(out, &attend(&q, &k, &v, 0.0625), 1.0 / 128.0)
}

fn layouts_128(host: &mut Host<'_>) -> Result<(), String> {
    layouts(host, "layouts_128", 64, Swizzle::Bytes128)
}

fn layouts_64(host: &mut Host<'_>) -> Result<(), String> {
    layouts(host, "layouts_64", 32, Swizzle::Bytes64)
}

fn layouts_32(host: &mut Host<'_>) -> Result<(), String> {
    layouts(host, "layouts_32", 16, Swizzle::Bytes32)
}

fn layouts_none(host: &mut Host<'_>) -> Result<(), String> {
    layouts(host, "layouts_none", 8, Swizzle::None)
}

/// Each factor by rows and by columns.
fn layouts(host: &mut Host<'_>, kernel: &str, width: u32, swizzle: Swizzle) -> Result<(), String> {
    let (a, b) = (matrix(F16, 64, 64, 11), matrix(F16, 64, 64, 12));
    for (a_mn, b_mn) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let stored = |x: &Matrix, mn| if mn == 1 { x.transposed() } else { x.clone() };
        let maps = [stored(&a, a_mn), stored(&b, b_mn)]
            .map(|x| map_of(host, &x, TensorElement::F16, [width, 64], swizzle));
        let out = host.zeros(64 * 64 * 4);
        host.kernel(kernel)
            .block(128)
            .shared(16384)
            .map(&maps[0])
            .map(&maps[1])
            .integer(a_mn)
            .integer(b_mn)
            .address(out)
            .run()?;
        host.expect(out, &singles(&a.times(&b)))
            .map_err(|error| format!("layouts {a_mn} {b_mn}: {error}"))?;
    }
    Ok(())
}

/// The product of 64 and 32 rows of 64 bytes each.
fn two_steps(host: &mut Host<'_>, kernel: &str, a: &Matrix, b: &Matrix) -> Result<u64, String> {
    let maps = [(a, 64), (b, 32)]
        .map(|(x, rows)| map_of(host, x, TensorElement::U8, [64, rows], Swizzle::Bytes64));
    let out = host.zeros(64 * 32 * 4);
    host.kernel(kernel)
        .block(128)
        .shared(6144)
        .map(&maps[0])
        .map(&maps[1])
        .address(out)
        .run()?;
    Ok(out)
}

/// A product whose sums are multiplied by a sign.
fn floats(
    host: &mut Host<'_>,
    kernel: &str,
    formats: [Format; 2],
    sign: f32,
) -> Result<(), String> {
    let columns = 512 / formats[0].bits() as usize;
    let (a, b) = (
        matrix(formats[0], 64, columns, 13),
        matrix(formats[1], 32, columns, 14),
    );
    let out = two_steps(host, kernel, &a, &b)?;
    let sums = singles(&a.times(&b));
    let expected: Vec<f32> = sums.iter().map(|sum| sign * sum).collect();
    host.expect(out, &expected)
}

fn eighths_e4m3_e5m2(host: &mut Host<'_>) -> Result<(), String> {
    floats(host, "eighths_e4m3_e5m2", [E4M3, E5M2], 1.0)
}

fn eighths_e5m2_e4m3(host: &mut Host<'_>) -> Result<(), String> {
    floats(host, "eighths_e5m2_e4m3", [E5M2, E4M3], -1.0)
}

fn tensor_floats(host: &mut Host<'_>) -> Result<(), String> {
    floats(host, "tensor_floats", [TF32, TF32], -1.0)
}

fn integers(host: &mut Host<'_>, kernel: &str, formats: [Format; 2]) -> Result<(), String> {
    let mut random = Rng::with_seed(15);
    let columns = 512 / formats[0].bits() as usize;
    let [a, b] = [(0, 64), (1, 32)]
        .map(|(i, rows)| Matrix::random(formats[i], [rows, columns], &mut random, [255.0, 1.0]));
    let out = two_steps(host, kernel, &a, &b)?;
    let expected: Vec<i32> = a.times(&b).iter().map(|&sum| sum as i32).collect();
    host.expect(out, &expected)
}

fn integers_s8_u8(host: &mut Host<'_>) -> Result<(), String> {
    integers(
        host,
        "integers_s8_u8",
        [Format::Signed(8), Format::Unsigned(8)],
    )
}

fn integers_u8_s8_satfinite(host: &mut Host<'_>) -> Result<(), String> {
    integers(
        host,
        "integers_u8_s8_satfinite",
        [Format::Unsigned(8), Format::Signed(8)],
    )
}

fn single_bits(host: &mut Host<'_>) -> Result<(), String> {
    integers(host, "single_bits", [Format::Unsigned(1); 2])
}
