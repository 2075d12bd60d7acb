//! Products of the fifth generation of tensor cores.

use fastrand::Rng;
use ptx_vm::{Swizzle, TensorElement, TensorMap};

use super::formats::{BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, Format, TF32};
use super::host::Host;
use super::matrix::{Matrix, singles};
use super::warpgroups::map_of;
use super::{Program, program};

pub(crate) const PROGRAMS: &[Program] = &[
    program!(dense, dense_f16),
    program!(dense, dense_tf32),
    program!(dense, dense_f8f6f4),
    program!(dense, dense_i8),
    program!(dense, pipeline),
    program!(dense, pairs),
    program!(majors, majors_128),
    program!(majors, majors_64),
    program!(majors, majors_32),
    program!(majors, majors_none),
    program!(majors, majors_base32),
];

/// Numbers of few bits, so that all sums are exact.
const SMALL: [f64; 2] = [4.0, 0.5];

/// The element of a tensor map for a format, and its code in instruction descriptors.
pub(crate) fn element(format: Format) -> (TensorElement, u32) {
    match format {
        BF16 => (TensorElement::Bf16, 1),
        TF32 => (TensorElement::Tf32, 2),
        E5M2 => (TensorElement::U8, 1),
        E2M3 => (TensorElement::B6x16P32, 3),
        E3M2 => (TensorElement::B6x16P32, 4),
        E2M1 => (TensorElement::B4x16P64, 5),
        F16 => (TensorElement::F16, 0),
        Format::Signed(_) => (TensorElement::U8, 1),
        _ => (TensorElement::U8, 0),
    }
}

/// The instruction descriptor of a product of `rows` x `columns`.
pub(crate) fn code(formats: [Format; 2], result: u32, rows: u32, columns: u32) -> u32 {
    let [a, b] = formats.map(|format| element(format).1);
    result << 4 | a << 7 | b << 10 | (columns / 8) << 17 | (rows / 16) << 24
}

const HALVES: u32 = 0;
const SINGLES: u32 = 1;
const INTEGERS: u32 = 2;

/// Random matrices of 128 and 64 rows, of which 128 bytes are in shared memory, and the result of a kernel.
fn run(
    host: &mut Host<'_>,
    kernel: &str,
    formats: [Format; 2],
    limits: [f64; 2],
    code: u32,
) -> Result<(u64, [Matrix; 2]), String> {
    let mut random = Rng::with_seed(u64::from(code));
    let columns = 128 / (formats[0].bits() as usize).div_ceil(8);
    let matrices = [(0, 128), (1, 64)]
        .map(|(i, rows)| Matrix::random(formats[i], [rows, columns], &mut random, limits));
    let maps = matrices.each_ref().map(|matrix| {
        let box_dims = [columns as u32, matrix.rows as u32];
        map_of(
            host,
            matrix,
            element(matrix.format).0,
            box_dims,
            Swizzle::Bytes128,
        )
    });
    let out = host.scratch(128 * 64 * 4);
    // Gaps between packed elements are not copied.
    let bytes: usize = matrices.iter().map(|matrix| matrix.bytes().len()).sum();
    host.kernel(kernel)
        .block(128)
        .shared(16384 + 8192)
        .map(&maps[0])
        .map(&maps[1])
        .integer(code as i32)
        .integer(bytes as i32)
        .address(out)
        .run()?;
    Ok((out, matrices))
}

fn dense_f16(host: &mut Host<'_>) -> Result<(), String> {
    // The signs of both factors are changed.
    let (out, [a, b]) = run(
        host,
        "dense_f16",
        [BF16; 2],
        SMALL,
        code([BF16; 2], SINGLES, 128, 64) | 3 << 13,
    )?;
    host.expect(out, &singles(&a.times(&b)))?;
    // The result has halves, in the lower half of each cell.
    let (out, [a, b]) = run(
        host,
        "dense_f16",
        [F16; 2],
        SMALL,
        code([F16; 2], HALVES, 128, 64) | 1 << 13,
    )?;
    let expected: Vec<u32> = a.times(&b).iter().map(|sum| F16.code(-sum)).collect();
    host.expect(out, &expected)
}

fn dense_tf32(host: &mut Host<'_>) -> Result<(), String> {
    let (out, [a, b]) = run(
        host,
        "dense_tf32",
        [TF32; 2],
        SMALL,
        code([TF32; 2], SINGLES, 128, 64),
    )?;
    host.expect(out, &singles(&a.times(&b)))
}

/// Each pair of formats, of 4, 6 and 8 bits.
fn dense_f8f6f4(host: &mut Host<'_>) -> Result<(), String> {
    for a in [E4M3, E5M2, E2M3, E3M2, E2M1] {
        for b in [E4M3, E5M2, E2M3, E3M2, E2M1] {
            let (out, [x, y]) = run(
                host,
                "dense_f8f6f4",
                [a, b],
                SMALL,
                code([a, b], SINGLES, 128, 64),
            )?;
            host.expect(out, &singles(&x.times(&y)))
                .map_err(|error| format!("{a:?} and {b:?}: {error}"))?;
        }
    }
    Ok(())
}

fn dense_i8(host: &mut Host<'_>) -> Result<(), String> {
    let [signed, unsigned] = [Format::Signed(8), Format::Unsigned(8)];
    for formats in [[signed; 2], [unsigned; 2], [signed, unsigned]] {
        let code = code(formats, INTEGERS, 128, 64) | 1 << 3;
        let (out, [a, b]) = run(host, "dense_i8", formats, [255.0, 1.0], code)?;
        let expected: Vec<i32> = a.times(&b).iter().map(|&sum| sum as i32).collect();
        host.expect(out, &expected)?;
    }
    Ok(())
}

fn pipeline(host: &mut Host<'_>) -> Result<(), String> {
    let mut random = Rng::with_seed(1);
    let a = Matrix::random(BF16, [5 * 128, 160], &mut random, SMALL);
    let b = Matrix::random(BF16, [64, 160], &mut random, SMALL);
    let maps = [(&a, 128), (&b, 64)]
        .map(|(x, rows)| map_of(host, x, TensorElement::Bf16, [64, rows], Swizzle::Bytes128));
    let out = host.scratch(5 * 128 * 64 * 4);
    host.kernel("pipeline")
        .block(192)
        .shared(2 * 24576)
        .map(&maps[0])
        .map(&maps[1])
        .integer(5)
        .integer(3)
        .address(out)
        .run()?;
    host.expect(out, &singles(&a.times(&b)))
}

fn pairs(host: &mut Host<'_>) -> Result<(), String> {
    let mut random = Rng::with_seed(2);
    let [a, b] = [256, 128].map(|rows| Matrix::random(F16, [rows, 64], &mut random, SMALL));
    let maps = [(&a, 128), (&b, 64)]
        .map(|(x, rows)| map_of(host, x, TensorElement::F16, [64, rows], Swizzle::Bytes128));
    let out = host.scratch(256 * 128 * 4);
    host.kernel("pairs")
        .grid([2, 1, 1])
        .block(128)
        .shared(24576)
        .map(&maps[0])
        .map(&maps[1])
        .integer(code([F16; 2], SINGLES, 256, 128) as i32)
        .address(out)
        .run()?;
    host.expect(out, &singles(&a.times(&b)))
}

/// Each factor by rows and by columns.
fn majors(
    host: &mut Host<'_>,
    kernel: &str,
    format: Format,
    width: u32,
    swizzle: Swizzle,
) -> Result<(), String> {
    let columns = 1024 / format.bits() as usize;
    let mut random = Rng::with_seed(3);
    let [a, b] = [128, 64].map(|rows| Matrix::random(format, [rows, columns], &mut random, SMALL));
    for [a_mn, b_mn] in [[false, false], [false, true], [true, false], [true, true]] {
        // Elements of 32 bits have this mode only in columns.
        if swizzle == Swizzle::Bytes128Atom32 && !(a_mn && b_mn) {
            continue;
        }
        let maps: [TensorMap; 2] = [(&a, a_mn), (&b, b_mn)].map(|(matrix, by_columns)| {
            let stored = if by_columns {
                matrix.transposed()
            } else {
                matrix.clone()
            };
            let box_dims = [width, stored.rows as u32];
            map_of(host, &stored, element(format).0, box_dims, swizzle)
        });
        let out = host.scratch(128 * 64 * 4);
        let code =
            code([format; 2], SINGLES, 128, 64) | u32::from(a_mn) << 15 | u32::from(b_mn) << 16;
        host.kernel(kernel)
            .block(128)
            .shared(24576)
            .map(&maps[0])
            .map(&maps[1])
            .integer(code as i32)
            .address(out)
            .run()?;
        host.expect(out, &singles(&a.times(&b)))
            .map_err(|error| format!("by columns: {a_mn} {b_mn}: {error}"))?;
    }
    Ok(())
}

fn majors_128(host: &mut Host<'_>) -> Result<(), String> {
    majors(host, "majors_128", F16, 64, Swizzle::Bytes128)
}

fn majors_64(host: &mut Host<'_>) -> Result<(), String> {
    majors(host, "majors_64", BF16, 32, Swizzle::Bytes64)
}

fn majors_32(host: &mut Host<'_>) -> Result<(), String> {
    majors(host, "majors_32", F16, 16, Swizzle::Bytes32)
}

fn majors_none(host: &mut Host<'_>) -> Result<(), String> {
    majors(host, "majors_none", BF16, 8, Swizzle::None)
}

fn majors_base32(host: &mut Host<'_>) -> Result<(), String> {
    majors(host, "majors_base32", TF32, 32, Swizzle::Bytes128Atom32)
}
