//! Products with block scales.

use fastrand::Rng;
use ptx_vm::{Swizzle, TensorElement, TensorMap};

use super::dense::element;
use super::formats::{E2M1, E2M3, E3M2, E4M3, E5M2, Format};
use super::host::Host;
use super::matrix::{Matrix, singles};
use super::warpgroups::map_of;
use super::{Program, program};

pub(crate) const PROGRAMS: &[Program] = &[
    program!(scaled, scaled_mxf8f6f4),
    program!(scaled, scaled_mxf4),
    program!(scaled, scaled_nvf4_16),
    program!(scaled, scaled_nvf4_32),
];

/// A product of 128 x 64 elements.
struct Scaled {
    kernel: &'static str,
    formats: [Format; 2],
    scale: Format,
    /// The elements of a row that a scale multiplies.
    block: usize,
    /// The limit of scales, and the number of which they are multiples.
    limits: [f64; 2],
    code: u32,
}

/// A scale for each row and block.
fn scales(product: &Scaled, rows: usize, blocks: usize, random: &mut Rng) -> Matrix {
    let code = |_| loop {
        let code = match product.scale {
            Format::Ue8m0 => random.u32(124..131),
            _ => random.u32(0..128),
        };
        let value = product.scale.value(code);
        if value <= product.limits[0] && value % product.limits[1] == 0.0 {
            return code;
        }
    };
    Matrix {
        format: product.scale,
        rows,
        columns: blocks,
        codes: (0..rows * blocks).map(code).collect(),
    }
}

/// The words of scales: for each four scales of a row, the words of rows `lane`, `lane + 32`, `lane + 64` and `lane + 96` of each of 32 lanes.
fn words_of(scales: &Matrix) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in 0..scales.columns / 4 {
        for lane in 0..32 {
            for group in 0..4 {
                for byte in 0..4 {
                    let row = lane + 32 * group;
                    let place = row * scales.columns + word * 4 + byte;
                    bytes.push(scales.codes.get(place).map_or(0, |&code| code as u8));
                }
            }
        }
    }
    bytes
}

fn run(host: &mut Host<'_>, product: &Scaled) -> Result<(), String> {
    let mut random = Rng::with_seed(u64::from(product.code));
    // Packed elements of 4 bits have twice as many columns in 128 bytes.
    let is_packed = product.block != 32 || product.kernel != "scaled_mxf8f6f4";
    let columns = if is_packed { 256 } else { 128 };
    let limits = [2.0, 0.5];
    let [a, b] = [(0, 128), (1, 64)]
        .map(|(i, rows)| Matrix::random(product.formats[i], [rows, columns], &mut random, limits));
    let blocks = columns / product.block;
    let [a_scales, b_scales] = [128, 64].map(|rows| scales(product, rows, blocks, &mut random));
    let element_of = |matrix: &Matrix| {
        if is_packed {
            TensorElement::U8
        } else {
            element(matrix.format).0
        }
    };
    let maps = [&a, &b].map(|matrix| {
        let box_dims = [128, matrix.rows as u32];
        map_of(
            host,
            matrix,
            element_of(matrix),
            box_dims,
            Swizzle::Bytes128,
        )
    });
    let words = [words_of(&a_scales), words_of(&b_scales)].concat();
    let address = host.buffer(&words);
    let rows = words.len() / 512;
    let scale_map = TensorMap::tiled(
        TensorElement::U64,
        address,
        &[64, rows as u64],
        &[64, rows as u32],
    );
    let bytes = a.bytes().len() + b.bytes().len();
    let out = host.scratch(128 * 64 * 4);
    host.kernel(product.kernel)
        .block(128)
        .shared(24576 + 4096)
        .map(&maps[0])
        .map(&maps[1])
        .map(&scale_map)
        .integer(product.code as i32)
        .integer(bytes as i32)
        .address(out)
        .run()?;
    let scaled = |matrix: &Matrix, scales: &Matrix| -> Vec<Vec<f64>> {
        let number = |row, k| matrix.get(row, k) * scales.get(row, k / product.block);
        (0..matrix.rows)
            .map(|row| (0..columns).map(|k| number(row, k)).collect())
            .collect()
    };
    let (a, b) = (scaled(&a, &a_scales), scaled(&b, &b_scales));
    let mut sums = Vec::new();
    for row in &a {
        for column in &b {
            sums.push(row.iter().zip(column).map(|(x, y)| x * y).sum());
        }
    }
    host.expect(out, &singles(&sums))
}

/// The instruction descriptor without the positions of scales.
fn code(a: u32, b: u32, powers_of_two: bool) -> u32 {
    a << 7 | b << 10 | (64 / 8) << 17 | u32::from(powers_of_two) << 23 | 1 << 27
}

fn scaled_mxf8f6f4(host: &mut Host<'_>) -> Result<(), String> {
    for formats in [
        [E4M3, E5M2],
        [E2M1, E3M2],
        [E2M3, E2M1],
        [E5M2, E5M2],
        [E3M2, E4M3],
    ] {
        let [a, b] = formats.map(|format| element(format).1);
        let product = Scaled {
            kernel: "scaled_mxf8f6f4",
            formats,
            scale: Format::Ue8m0,
            block: 32,
            limits: [4.0, 0.25],
            code: code(a, b, true),
        };
        run(host, &product).map_err(|error| format!("{formats:?}: {error}"))?;
    }
    Ok(())
}

fn packed(
    host: &mut Host<'_>,
    kernel: &'static str,
    scale: Format,
    block: usize,
) -> Result<(), String> {
    let product = Scaled {
        kernel,
        formats: [E2M1; 2],
        scale,
        block,
        limits: [4.0, 0.25],
        code: code(1, 1, scale == Format::Ue8m0),
    };
    run(host, &product)
}

fn scaled_mxf4(host: &mut Host<'_>) -> Result<(), String> {
    packed(host, "scaled_mxf4", Format::Ue8m0, 32)
}

fn scaled_nvf4_16(host: &mut Host<'_>) -> Result<(), String> {
    packed(host, "scaled_nvf4_16", Format::Ue4m3, 16)
}

fn scaled_nvf4_32(host: &mut Host<'_>) -> Result<(), String> {
    packed(host, "scaled_nvf4_32", Format::Ue8m0, 32)
}
