//! Smallest and largest elements of lanes of tensor memory, columns of 128 pixels, and multimem addresses.

use fastrand::Rng;
use ptx_vm::{Swizzle, TensorElement, TensorMap};

use super::copies::{swizzled, words};
use super::formats::F16;
use super::host::Host;
use super::{Program, program};

pub(crate) const PROGRAMS: &[Program] = &[
    program!(extremes, lane_extremes),
    program!(extremes, columns_of_128),
    program!(extremes, all_reduce),
    program!(extremes, halves_of_all),
];

/// The result of floating-point operations that is not a number.
const NAN: u32 = 0x7fff_ffff;

/// The smallest or largest number. Other elements than numbers are left out, unless one of them is enough.
fn extreme_number(elements: &[u32], is_smallest: bool, absolute: bool, keeps_nan: bool) -> u32 {
    let numbers: Vec<f32> = elements
        .iter()
        .map(|&bits| f32::from_bits(if absolute { bits & 0x7fff_ffff } else { bits }))
        .collect();
    let has_nan = numbers.iter().any(|number| number.is_nan());
    let mut ordered: Vec<f32> = numbers.into_iter().filter(|x| !x.is_nan()).collect();
    ordered.sort_by(f32::total_cmp);
    let extreme = if is_smallest {
        ordered.first()
    } else {
        ordered.last()
    };
    match extreme {
        Some(number) if !(has_nan && keeps_nan) => number.to_bits(),
        _ => NAN,
    }
}

fn extreme(kind: usize, elements: &[u32]) -> u32 {
    let signed = elements.iter().map(|&bits| bits as i32);
    match kind {
        0 => *elements.iter().min().unwrap(),
        1 | 8 => *elements.iter().max().unwrap(),
        2 => signed.min().unwrap() as u32,
        3 => signed.max().unwrap() as u32,
        4 => extreme_number(elements, true, false, false),
        5 => extreme_number(elements, false, false, false),
        6 => extreme_number(elements, false, true, false),
        7 => extreme_number(elements, true, false, true),
        _ => extreme_number(elements, true, true, true),
    }
}

fn lane_extremes(host: &mut Host<'_>) -> Result<(), String> {
    let mut random = Rng::with_seed(1);
    let mut data: Vec<u32> = Vec::new();
    for lane in 0..128 {
        for column in 0..16 {
            let is_nan = match lane % 8 {
                3 => random.usize(0..8) == 0,
                5 => column < 8,
                _ => false,
            };
            let number = (random.f32() - 0.5) * 100.0;
            data.push(if is_nan {
                0xffc0_0001
            } else {
                number.to_bits()
            });
        }
    }
    let (from, out) = (host.buffer(&data), host.scratch(10 * 128 * 9 * 4));
    host.kernel("lane_extremes")
        .block(128)
        .address(from)
        .address(out)
        .run()?;
    let mut expected = Vec::new();
    for kind in 0..10 {
        for thread in 0..128 {
            // Threads of the second half of a warp have the second part of the shape with 16 rows.
            let (lane, first) = if kind < 8 {
                (thread, 0)
            } else {
                (thread / 32 * 32 + thread % 16, thread / 16 % 2 * 8)
            };
            let elements = &data[lane * 16 + first..][..8];
            expected.extend(elements);
            expected.push(extreme(kind, elements));
        }
    }
    host.expect(out, &expected)
}

/// The pixels of a column from a place on: the next one, or at the end of the box the first one of the next image.
fn advanced(place: (i64, usize), steps: usize, box_of_line: [i64; 2]) -> (i64, usize) {
    let (mut x, mut image) = place;
    for _ in 0..steps {
        x += 1;
        if x > box_of_line[1] {
            (x, image) = (box_of_line[0], image + 1);
        }
    }
    (x, image)
}

fn columns_of_128(host: &mut Host<'_>) -> Result<(), String> {
    // The width, the corners of the box, the first pixel, and the size of the halo. 300 pixels are more than a column; 50 are those of a part of it.
    for (width, corners, x, offset, halo) in [
        (300usize, [0i32, 0], 7i32, 0u32, 2usize),
        (300, [-1, 1], -3, 2, 0),
        (50, [-1, 1], 5, 1, 3),
        (50, [0, -2], 40, 3, 31),
        (20, [-2, 0], 0, 0, 1),
    ] {
        let (channels, height, images) = (32, 3, 3);
        let image = words(channels * width * height * images, 1 << 30, width as u64);
        let from = host.buffer(&image);
        let dims = [channels, width, height, images].map(|dim| dim as u64);
        let corners_of_map = [corners[0], corners[1]];
        let map = TensorMap::im2col_wide(TensorElement::U32, from, &dims, corners_of_map, 32, 128)
            .swizzle(Swizzle::Bytes128);
        let bytes = (128 + 4 * halo) * channels * 4;
        let out = host.zeros(bytes);
        let (y, first_image) = (1, 1);
        host.kernel("columns_of_128")
            .block(64)
            .shared(bytes as u32)
            .map(&map)
            .integer(x)
            .integer(y)
            .integer(first_image as i32)
            .integer(offset as i32)
            .integer(halo as i32)
            .integer(bytes as i32)
            .address(out)
            .run()?;
        let shift = i64::from(offset);
        let box_of_line = [
            i64::from(corners[0]) + shift,
            width as i64 - 1 + i64::from(corners[1]) + shift,
        ];
        let first = (i64::from(x) + shift, first_image);
        let mut pixels = Vec::new();
        for group in 0..4 {
            for pixel in 0..32 + halo {
                pixels.push(advanced(first, 32 * group + pixel, box_of_line));
            }
        }
        let mut expected = vec![0u32; bytes / 4];
        for (pixel, (x, n)) in pixels.into_iter().enumerate() {
            if x < 0 || x >= width as i64 || n >= images {
                continue;
            }
            for channel in 0..channels {
                let to = swizzled((pixel * channels + channel) * 4, 128) / 4;
                let row = n * height + y as usize;
                expected[to] = image[(row * width + x as usize) * channels + channel];
            }
        }
        host.expect(out, &expected)
            .map_err(|error| format!("width {width}, halo {halo}: {error}"))?;
    }
    Ok(())
}

fn all_reduce(host: &mut Host<'_>) -> Result<(), String> {
    let mut random = Rng::with_seed(3);
    let elements = 1000;
    for count in [1, 2, 5] {
        let data: Vec<Vec<f32>> = (0..count)
            .map(|_| {
                (0..elements)
                    .map(|_| random.i32(-500..500) as f32)
                    .collect()
            })
            .collect();
        let members: Vec<u64> = data.iter().map(|part| host.buffer(part)).collect();
        let counters: Vec<u64> = (0..count).map(|index| host.buffer(&[index])).collect();
        let all = host.multicast(&members, elements as u64 * 4);
        let counter_of_all = host.multicast(&counters, 4);
        host.kernel("all_reduce")
            .grid([3, 1, 1])
            .block(64)
            .address(all)
            .integer(elements)
            .address(counter_of_all)
            .run()?;
        let sums: Vec<f32> = (0..elements as usize)
            .map(|index| data.iter().map(|part| part[index]).sum())
            .collect();
        for (index, (member, counter)) in members.iter().zip(&counters).enumerate() {
            host.expect(*member, &sums)?;
            host.expect(*counter, &[index as u32 + 3 * 64 * 65 / 2])?;
        }
    }
    Ok(())
}

fn halves_of_all(host: &mut Host<'_>) -> Result<(), String> {
    let mut random = Rng::with_seed(4);
    let mut numbers = || -> Vec<Vec<f64>> {
        let mut part = || (0..64).map(|_| f64::from(random.i32(-100..100))).collect();
        (0..3).map(|_| part()).collect()
    };
    let (largest, added) = (numbers(), numbers());
    let mut all_of = |parts: &[Vec<f64>]| {
        let members: Vec<u64> = parts
            .iter()
            .map(|part| {
                let codes: Vec<u16> = part.iter().map(|&x| F16.code(x) as u16).collect();
                host.buffer(&codes)
            })
            .collect();
        host.multicast(&members, 128)
    };
    let [all_largest, all_added] = [&largest, &added].map(|parts| all_of(parts));
    let tiles: Vec<u64> = (0..3).map(|_| host.scratch(128)).collect();
    let all_tiles = host.multicast(&tiles, 128);
    let out = host.scratch(256);
    host.kernel("halves_of_all")
        .block(32)
        .address(all_largest)
        .address(all_added)
        .address(all_tiles)
        .address(out)
        .run()?;
    let pair = |result: &dyn Fn(usize) -> f64, thread: usize| {
        let [low, high] = [0, 1].map(|half| F16.code(result(2 * thread + half)));
        low | high << 16
    };
    let (mut expected, mut tile) = (Vec::new(), Vec::new());
    for thread in 0..32 {
        let largest_of = |i: usize| largest.iter().map(|part| part[i]).fold(-1e9, f64::max);
        let sum_of = |i: usize| added.iter().map(|part| part[i]).sum();
        let results = [pair(&largest_of, thread), pair(&sum_of, thread)];
        expected.extend(results);
        tile.push(results[0] ^ results[1]);
    }
    host.expect(out, &expected)?;
    for member in tiles {
        host.expect(member, &tile)?;
    }
    Ok(())
}
