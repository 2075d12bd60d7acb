//! Copies with tensor maps that kernels make or change, of gathered and scattered rows, and of pixels along the width of an image.

use fastrand::Rng;
use ptx_vm::{Swizzle, TensorElement, TensorMap};

use super::copies::{swizzled, words};
use super::host::Host;
use super::{Program, program};

pub(crate) const PROGRAMS: &[Program] = &[
    program!(maps, grouped),
    program!(maps, moved),
    program!(maps, prefetched),
    program!(gathers, embedding),
    program!(gathers, wide_columns),
];

fn grouped(host: &mut Host<'_>) -> Result<(), String> {
    let shapes = [(20, 24), (16, 16), (7, 40), (33, 4)];
    let (mut problems, mut results) = (Vec::new(), Vec::new());
    for (seed, (rows, columns)) in (20..).zip(shapes) {
        let tensor = words(rows * columns, 1000, seed);
        let (from, to) = (host.buffer(&tensor), host.zeros(rows * columns * 4));
        problems.extend([from, to, (rows | columns << 32) as u64]);
        let expected: Vec<u32> = tensor.iter().map(|x| x * 3 + 1).collect();
        results.push((to, expected));
    }
    let (list, maps) = (host.buffer(&problems), host.scratch(8 * 128));
    host.kernel("grouped")
        .grid([4, 1, 1])
        .block(32)
        .address(list)
        .address(maps)
        .run()?;
    for (to, expected) in results {
        host.expect(to, &expected)?;
    }
    Ok(())
}

fn moved(host: &mut Host<'_>) -> Result<(), String> {
    let tensor = words(4 * 40, 1000, 30);
    let (from, out) = (host.buffer(&tensor), host.zeros(4 * 32 * 4));
    let map = TensorMap::tiled(TensorElement::U32, from, &[1], &[32]);
    let bytes = map.to_bytes().map_err(|error| error.to_string())?;
    let map = host.buffer(&bytes);
    host.kernel("moved")
        .block(32)
        .address(map)
        .address(from)
        .integer(40)
        .address(out)
        .run()?;
    let word = |row: usize, x: usize| {
        if x < 8 * (row + 1) {
            tensor[row * 40 + x]
        } else {
            0
        }
    };
    let expected: Vec<u32> = (0..128).map(|i| word(i / 32, i % 32)).collect();
    host.expect(out, &expected)
}

fn prefetched(host: &mut Host<'_>) -> Result<(), String> {
    let tensor = words(16 * 64, 1 << 30, 31);
    let (from, out) = (host.buffer(&tensor), host.zeros(2048));
    let map = TensorMap::tiled(TensorElement::U32, from, &[64, 16], &[64, 4]);
    host.kernel("prefetched")
        .block(32)
        .map(&map)
        .address(from)
        .address(out)
        .run()?;
    let expected = [&tensor[3 * 64..7 * 64], &tensor[..256]].concat();
    host.expect(out, &expected)
}

fn embedding(host: &mut Host<'_>) -> Result<(), String> {
    let table = words(50 * 32, 1000, 32);
    let (from, to) = (host.buffer(&table), host.zeros(40 * 32 * 4));
    let map = |address, rows| {
        TensorMap::tiled(TensorElement::U32, address, &[32, rows], &[32, 1]).swizzle(Swizzle::None)
    };
    let mut random = Rng::with_seed(33);
    // Row 60 does not exist: it is read as zeros, and not written.
    let mut rows: Vec<u32> = (0..16).map(|_| random.u32(0..50)).collect();
    let mut targets: Vec<u32> = (0..40).collect();
    random.shuffle(&mut targets);
    targets.truncate(16);
    (rows[5], targets[10]) = (60, 60);
    let lists = [host.buffer(&rows), host.buffer(&targets)];
    host.kernel("embedding")
        .block(32)
        .map(&map(from, 50))
        .map(&map(to, 40))
        .address(lists[0])
        .address(lists[1])
        .integer(16)
        .run()?;
    let mut expected = vec![0u32; 40 * 32];
    for (index, (&row, &target)) in rows.iter().zip(&targets).enumerate() {
        for x in 0..32 {
            let value = table.get(row as usize * 32 + x).copied().unwrap_or(0);
            if let Some(place) = expected.get_mut(target as usize * 32 + x) {
                *place = value + index as u32 % 4;
            }
        }
    }
    host.expect(to, &expected)
}

/// Pixels of a row from an offset on, which continue in the next row of the box, with a halo after them.
fn wide_columns(host: &mut Host<'_>) -> Result<(), String> {
    let (channels, width, height, images) = (32, 20, 3, 2);
    let image = words(channels * width * height * images, 1 << 30, 34);
    let from = host.buffer(&image);
    let dims = [channels, width, height, images].map(|dim| dim as u64);
    let (pixels, halo) = (10usize, 2usize);
    let map = TensorMap::im2col_wide(TensorElement::U32, from, &dims, [-1, 1], 32, pixels as u32)
        .swizzle(Swizzle::Bytes128);
    let bytes = (pixels + halo) * channels * 4;
    let out = host.zeros(bytes);
    host.kernel("wide_columns")
        .block(32)
        .shared(bytes as u32)
        .map(&map)
        .integer(-1)
        .integer(1)
        .integer(1)
        .integer(1)
        .integer(halo as i32)
        .integer(bytes as i32)
        .address(out)
        .run()?;
    // The first pixel is that of the coordinates, -1, plus the offset, 1.
    let mut expected = vec![0; bytes / 4];
    for pixel in 0..pixels + halo {
        for channel in 0..channels {
            let to = swizzled((pixel * channels + channel) * 4, 128) / 4;
            expected[to] = image[((height + 1) * width + pixel) * channels + channel];
        }
    }
    host.expect(out, &expected)
}
