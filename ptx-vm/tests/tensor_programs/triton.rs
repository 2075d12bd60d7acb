//! Kernels of Triton: products with maps that the kernel makes, block scales, gathered rows, and attention.

use fastrand::Rng;

use super::copies::words;
use super::formats::{BF16, E2M1, E4M3, E5M2, F16, Format};
use super::host::{Host, Kernel};
use super::matrix::{Matrix, singles};
use super::warpgroups::attend;
use super::{Program, program};

pub(crate) const PROGRAMS: &[Program] = &[
    program!(triton_persistent_90, persistent),
    program!(triton_persistent_100, persistent),
    program!(triton_split_100, split),
    program!(triton_scaled_100, scaled),
    program!(triton_rows_100, rows),
    program!(triton_attend_90, attention),
    program!(triton_attend_100, attention),
];

/// Numbers of few bits, so that all sums are exact.
const SMALL: [f64; 2] = [4.0, 0.5];
/// Shared memory that is enough for each kernel.
const SHARED: u32 = 40992;
/// Scratch memory of a CTA for its tensor maps.
const SCRATCH: usize = 384;

/// Adds the arguments that all kernels have: scratch memory, and that of profiles.
fn launch(kernel: Kernel<'_, '_>, scratch: u64) -> Result<(), String> {
    kernel
        .block(128)
        .shared(SHARED)
        .address(scratch)
        .address(0)
        .run()
}

fn matrix(format: Format, rows: usize, columns: usize, seed: u64) -> Matrix {
    Matrix::random(format, [rows, columns], &mut Rng::with_seed(seed), SMALL)
}

fn persistent(host: &mut Host<'_>) -> Result<(), String> {
    let (m, n, k) = (136, 104, 200);
    let (a, b) = (matrix(F16, m, k, 1), matrix(F16, n, k, 2));
    let (first, second) = (host.buffer(&a.bytes()), host.buffer(&b.bytes()));
    let (out, scratch) = (host.zeros(m * n * 2), host.zeros(2 * SCRATCH));
    let kernel = host
        .kernel("persistent")
        .grid([2, 1, 1])
        .address(first)
        .address(second)
        .address(out)
        .integer(m as i32)
        .integer(n as i32)
        .integer(k as i32);
    launch(kernel, scratch)?;
    let sums = a.times(&b);
    // Sums of at most 1024 / 4 fit into halves, larger ones are rounded to nearest.
    let found: Vec<u16> = host.read(out, m * n);
    for (index, (&code, &sum)) in found.iter().zip(&sums).enumerate() {
        let error = (F16.value(code.into()) - sum).abs();
        if error > sum.abs() / 2048.0 {
            return Err(format!("at {index} {sum} was expected and {code:#x} found"));
        }
    }
    Ok(())
}

fn split(host: &mut Host<'_>) -> Result<(), String> {
    let (m, n, k) = (128, 128, 448);
    let (a, b) = (matrix(E5M2, m, k, 3), matrix(E5M2, n, k, 4));
    let (first, second) = (
        host.buffer(&a.bytes()),
        host.buffer(&b.transposed().bytes()),
    );
    let (out, scratch) = (host.zeros(m * n * 4), host.zeros(6 * SCRATCH));
    let kernel = host
        .kernel("split")
        .grid([2, 3, 1])
        .address(first)
        .address(second)
        .address(out)
        .integer(n as i32)
        .integer(k as i32);
    launch(kernel, scratch)?;
    host.expect(out, &singles(&a.times(&b)))
}

fn scaled(host: &mut Host<'_>) -> Result<(), String> {
    let (m, n, k) = (128, 64, 128);
    let (a, b) = (matrix(E2M1, m, k, 5), matrix(E4M3, n, k, 6));
    let mut random = Rng::with_seed(7);
    let [x, y] = [m, n].map(|rows| Matrix {
        format: Format::Ue8m0,
        rows,
        columns: k / 32,
        codes: (0..rows * k / 32).map(|_| random.u32(125..130)).collect(),
    });
    let [first, x_scales, second, y_scales] =
        [&a, &x, &b, &y].map(|matrix| host.buffer(&matrix.bytes()));
    let out = host.zeros(m * n * 4);
    let kernel = host
        .kernel("scaled")
        .address(first)
        .address(x_scales)
        .address(second)
        .address(y_scales)
        .address(out);
    launch(kernel, 0)?;
    let mut expected = Vec::new();
    for row in 0..m {
        for column in 0..n {
            let product =
                |i| a.get(row, i) * x.get(row, i / 32) * b.get(column, i) * y.get(column, i / 32);
            expected.push((0..k).map(product).sum::<f64>() as f32);
        }
    }
    host.expect(out, &expected)
}

fn rows(host: &mut Host<'_>) -> Result<(), String> {
    let table: Vec<f32> = words(40 * 32, 1000, 8).iter().map(|&x| x as f32).collect();
    let list = words(16, 40, 9);
    let (from, index) = (host.buffer(&table), host.buffer(&list));
    let (out, scratch) = (host.zeros(16 * 32 * 4), host.zeros(SCRATCH));
    let kernel = host
        .kernel("rows")
        .address(from)
        .address(index)
        .address(out)
        .integer(40);
    launch(kernel, scratch)?;
    let expected: Vec<f32> = (0..16 * 32)
        .map(|i| table[list[15 - i / 32] as usize * 32 + i % 32] * 2.0)
        .collect();
    host.expect(out, &expected)
}

fn attention(host: &mut Host<'_>) -> Result<(), String> {
    let [q, k, v] =
        [(128, 10), (192, 11), (192, 12)].map(|(rows, seed)| matrix(BF16, rows, 64, seed));
    let [queries, keys, values] = [&q, &k, &v].map(|matrix| host.buffer(&matrix.bytes()));
    let (out, scratch) = (host.zeros(128 * 64 * 4), host.zeros(2 * SCRATCH));
    let kernel = host
        .kernel("attend")
        .grid([2, 1, 1])
        .address(queries)
        .address(keys)
        .address(values)
        .address(out)
        .number(0.0625)
        .integer(192);
    launch(kernel, scratch)?;
    // Weights are rounded to 8 bits before they are multiplied.
    host.expect_near(out, &attend(&q, &k, &v, 0.0625), 1.0 / 128.0)
}
