//! Clusters and asynchronous copies of threads.

use fastrand::Rng;

use super::copies::words;
use super::formats::F16;
use super::host::Host;
use super::matrix::{Matrix, singles};
use super::{Program, program};

pub(crate) const PROGRAMS: &[Program] = &[
    program!(clusters, distributed_histogram),
    program!(clusters, ring),
    program!(clusters, async_reductions),
    program!(clusters, multistage),
    program!(clusters, bulk),
    program!(clusters, stealing),
    program!(clusters, second_grid),
    program!(clusters, compacted),
];

fn distributed_histogram(host: &mut Host<'_>) -> Result<(), String> {
    let mut random = Rng::with_seed(1);
    let data: Vec<u8> = (0..3000).map(|_| random.u8(..)).collect();
    let (from, bins) = (host.buffer(&data), host.zeros(1024));
    host.kernel("distributed_histogram")
        .grid([8, 1, 1])
        .block(64)
        .address(from)
        .integer(data.len() as i32)
        .address(bins)
        .run()?;
    let mut expected = vec![0u32; 256];
    data.iter()
        .for_each(|&byte| expected[usize::from(byte)] += 1);
    host.expect(bins, &expected)
}

fn ring(host: &mut Host<'_>) -> Result<(), String> {
    let (blocks, rounds) = (8, 7);
    let data = words(blocks * 128, 1 << 30, 2);
    let (from, out) = (host.buffer(&data), host.zeros(blocks * 512));
    host.kernel("ring")
        .grid([blocks as u32, 1, 1])
        .block(32)
        .address(from)
        .address(out)
        .integer(rounds as i32)
        .run()?;
    let mut expected = vec![0u32; blocks * 128];
    for block in 0..blocks {
        let (cluster, first) = (block / 4 * 4, block % 4);
        let last = (first + rounds) % 4;
        for thread in 0..32 {
            let from = (block * 32 + thread) * 4;
            let mut value = [0, 1, 2, 3].map(|i| data[from + i]);
            for hop in 1..=rounds {
                value[0] = value[0].wrapping_add(1);
                value[3] ^= ((first + hop) % 4) as u32;
            }
            let to = ((cluster + last) * 32 + thread) * 4;
            expected[to..to + 4].copy_from_slice(&value);
        }
    }
    host.expect(out, &expected)
}

fn async_reductions(host: &mut Host<'_>) -> Result<(), String> {
    let data: Vec<u32> = words(256, u32::MAX, 3);
    let (from, out) = (host.buffer(&data), host.zeros(96));
    host.kernel("async_reductions")
        .grid([8, 1, 1])
        .block(32)
        .address(from)
        .address(out)
        .run()?;
    let mut expected = Vec::new();
    for numbers in data.chunks(128) {
        let signed = || numbers.iter().map(|&x| x as i32);
        let sum: u64 = numbers.iter().map(|&x| u64::from(x) << 8).sum();
        expected.extend([
            numbers.iter().fold(0, |a: u32, &b| a.wrapping_add(b)),
            signed().min().unwrap() as u32,
            *numbers.iter().min().unwrap(),
            signed().max().unwrap() as u32,
            numbers.iter().fold(!0, |a, b| a & (b | 0xfff)),
            *numbers.iter().max().unwrap(),
            !0,
            // 128 increments of a counter that returns to 0 after 100.
            128 % 101,
            numbers.iter().fold(0, |a, b| a | b & 0xf0f),
            numbers.iter().fold(0, |a, b| a ^ b),
            sum as u32,
            (sum >> 32) as u32,
        ]);
    }
    host.expect(out, &expected)
}

fn multistage(host: &mut Host<'_>) -> Result<(), String> {
    let (m, n, k) = (64, 96, 112);
    let mut random = Rng::with_seed(4);
    let [a, b] = [m, n].map(|rows| Matrix::random(F16, [rows, k], &mut random, [4.0, 0.5]));
    let (first, second) = (host.buffer(&a.bytes()), host.buffer(&b.bytes()));
    let out = host.zeros(m * n * 4);
    host.kernel("multistage")
        .grid([n as u32 / 32, m as u32 / 32, 1])
        .block(128)
        .address(first)
        .address(second)
        .address(out)
        .integer(n as i32)
        .integer(k as i32)
        .run()?;
    host.expect(out, &singles(&a.times(&b)))
}

fn bulk(host: &mut Host<'_>) -> Result<(), String> {
    let data = words(4 * 64 + 64, 100, 5);
    let (from, out) = (host.buffer(&data), host.zeros(4 * 256));
    let (sums, masked) = (host.zeros(256), host.buffer(&[0xeeu8; 1024]));
    host.kernel("bulk")
        .grid([4, 1, 1])
        .block(32)
        .address(from)
        .address(out)
        .address(sums)
        .address(masked)
        .run()?;
    let (mut expected, mut totals, mut bytes) = (Vec::new(), vec![0u32; 64], Vec::new());
    for block in 0..4 {
        for i in 0..64 {
            let (mine, other) = (data[block * 64 + i], data[(block ^ 1) * 64 + i]);
            expected.push(mine * 1_000_000 + other * 1000 + data[256 + i]);
            totals[i] += mine;
            for (byte, value) in mine.to_le_bytes().into_iter().enumerate() {
                let place = i * 4 + byte;
                bytes.push(if 0x5a0f >> (place % 16) & 1 == 1 {
                    value
                } else {
                    0xee
                });
            }
        }
    }
    host.expect(out, &expected)?;
    host.expect(sums, &totals)?;
    host.expect(masked, &bytes)
}

fn stealing(host: &mut Host<'_>) -> Result<(), String> {
    let (rows, k, parts) = (6 * 8, 64, 4);
    let (a, b) = (words(rows * k, 100, 6), words(k * 8, 100, 7));
    let (first, second, out) = (host.buffer(&a), host.buffer(&b), host.zeros(rows * 32));
    host.kernel("stealing")
        .grid([rows as u32 / 8, parts as u32, 1])
        .block(64)
        .address(first)
        .address(second)
        .address(out)
        .integer(k as i32)
        .integer(parts)
        .run()?;
    let sum = |row: usize, column: usize| (0..k).map(|i| a[row * k + i] * b[i * 8 + column]).sum();
    let expected: Vec<u32> = (0..rows * 8).map(|i| sum(i / 8, i % 8)).collect();
    host.expect(out, &expected)
}

fn second_grid(host: &mut Host<'_>) -> Result<(), String> {
    let (data, out) = (host.zeros(4 * 64 * 4), host.zeros(4 * 64 * 4));
    host.kernel("first_grid")
        .grid([4, 1, 1])
        .block(64)
        .address(data)
        .run()?;
    host.kernel("second_grid")
        .grid([4, 1, 1])
        .block(64)
        .address(data)
        .address(out)
        .integer(256)
        .run()?;
    let first: Vec<u32> = (0..256).map(|i| i / 64 * 1000 + i % 64).collect();
    let expected: Vec<u32> = first.iter().rev().map(|x| x * 2).collect();
    host.expect(out, &expected)
}

fn compacted(host: &mut Host<'_>) -> Result<(), String> {
    let data = words(512, 1000, 8);
    let (from, out, counts) = (host.buffer(&data), host.zeros(2048), host.zeros(133 * 4));
    host.kernel("compacted")
        .grid([4, 1, 1])
        .block(128)
        .address(from)
        .address(out)
        .address(counts)
        .run()?;
    let kept = |x: &&u32| x.is_multiple_of(3);
    let mut expected = vec![0u32; 133];
    for (warp, numbers) in data.chunks(32).enumerate() {
        expected[warp * 2] = numbers.iter().filter(kept).count() as u32;
    }
    expected[1] = data.iter().filter(kept).count() as u32;
    data.iter()
        .for_each(|x| expected[128 + *x as usize % 5] += 1);
    host.expect(counts, &expected)?;
    // The order of warps decides where their numbers are.
    let mut found: Vec<u32> = host.read(out, expected[1] as usize);
    let mut list: Vec<u32> = data.iter().filter(kept).copied().collect();
    found.sort_unstable();
    list.sort_unstable();
    if found == list {
        Ok(())
    } else {
        Err(format!("{list:?} was expected and {found:?} found"))
    }
}
