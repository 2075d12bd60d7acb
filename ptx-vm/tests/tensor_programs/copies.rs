//! Copies of parts of tensors: boxes, columns of pixels, and reductions.

use fastrand::Rng;
use ptx_vm::{Swizzle, TensorElement, TensorFill, TensorInterleave, TensorMap};

use super::host::Host;
use super::{Program, program};

pub(crate) const PROGRAMS: &[Program] = &[
    program!(copies, boxes),
    program!(copies, interleaved_boxes),
    program!(copies, transposed),
    program!(copies, multicast),
    program!(copies, convolution_1d),
    program!(copies, convolution_2d),
    program!(copies, convolution_3d),
    program!(copies, integer_reductions),
    program!(copies, float_reductions),
];

/// Random numbers of 32 bits, below a limit.
pub(crate) fn words(count: usize, limit: u32, seed: u64) -> Vec<u32> {
    let mut random = Rng::with_seed(seed);
    (0..count).map(|_| random.u32(0..limit)).collect()
}

/// The place of a byte of a box after swizzling, in lines of 32, 64 or 128 bytes: the units of 16 bytes of a line are exchanged, in another way in each of
/// the next 128 bytes.
pub(crate) fn swizzled(byte: usize, line: usize) -> usize {
    let units = line / 16;
    byte ^ (byte / 128 % units) << 4
}

/// The bytes in shared memory of a box of words.
struct Boxes<'a> {
    dims: &'a [usize],
    steps: &'a [usize],
    box_dims: &'a [usize],
    start: &'a [i32],
}

impl Boxes<'_> {
    /// The words of the box, in their order, and `fill` for those outside of the tensor.
    fn words(&self, tensor: &[u32], fill: u32) -> Vec<u32> {
        let counts: Vec<usize> = self
            .box_dims
            .iter()
            .zip(self.steps)
            .map(|(size, step)| size.div_ceil(*step))
            .collect();
        let mut found = Vec::new();
        for mut index in 0..counts.iter().product() {
            let (mut place, mut stride, mut inside) = (0i64, 1i64, true);
            for (dim, &count) in counts.iter().enumerate() {
                let in_box = index % count * self.steps[dim];
                index /= count;
                let coordinate = i64::from(self.start[dim]) + in_box as i64;
                inside &= (0..self.dims[dim] as i64).contains(&coordinate);
                place += coordinate * stride;
                stride *= self.dims[dim] as i64;
            }
            found.push(if inside { tensor[place as usize] } else { fill });
        }
        found
    }
}

/// Boxes of 1 to 5 dimensions, partly outside of the tensor, with each swizzle and traversal stride.
fn boxes(host: &mut Host<'_>) -> Result<(), String> {
    let dims: [usize; 5] = [36, 7, 5, 4, 3];
    for (rank, swizzle, line, nan, steps) in [
        (1, Swizzle::None, 16, false, [1; 5]),
        (2, Swizzle::Bytes128, 128, false, [1; 5]),
        (3, Swizzle::Bytes64, 64, true, [1, 2, 1, 1, 1]),
        (4, Swizzle::Bytes32, 32, true, [1, 1, 2, 3, 1]),
        (5, Swizzle::None, 32, false, [1, 3, 1, 2, 2]),
    ] {
        let box_dims = [line / 4, 5, 4, 3, 2];
        let start = [20, -2, 3, 1, 2];
        let element = if nan {
            TensorElement::F32
        } else {
            TensorElement::U32
        };
        let part = Boxes {
            dims: &dims[..rank],
            steps: &steps[..rank],
            box_dims: &box_dims[..rank],
            start: &start[..rank],
        };
        let tensor = words(dims[..rank].iter().product(), 1 << 30, rank as u64);
        let address = host.buffer(&tensor);
        let wide = part.dims.iter().map(|&dim| dim as u64).collect::<Vec<_>>();
        let sizes = part
            .box_dims
            .iter()
            .map(|&size| size as u32)
            .collect::<Vec<_>>();
        let steps = part
            .steps
            .iter()
            .map(|&step| step as u32)
            .collect::<Vec<_>>();
        let map = TensorMap::tiled(element, address, &wide, &sizes)
            .element_strides(&steps)
            .swizzle(swizzle)
            .fill(if nan {
                TensorFill::Nan
            } else {
                TensorFill::Zeros
            });
        let expected = part.words(&tensor, if nan { 0x7ff7_7ff7 } else { 0 });
        let bytes = expected.len() * 4;
        let out = host.zeros(bytes);
        let mut kernel = host
            .kernel("boxes")
            .block(64)
            .shared(bytes as u32)
            .map(&map)
            .integer(rank as i32);
        for coordinate in start {
            kernel = kernel.integer(coordinate);
        }
        kernel.integer(bytes as i32).address(out).run()?;
        let used = if swizzle == Swizzle::None { 16 } else { line };
        let mut moved = vec![0; expected.len()];
        for (index, word) in expected.into_iter().enumerate() {
            moved[swizzled(index * 4, used) / 4] = word;
        }
        host.expect(out, &moved)
            .map_err(|error| format!("rank {rank}: {error}"))?;
    }
    Ok(())
}

/// Slices of 8 and 16 channels of 2 bytes: NC/8DHWC8 and NC/16DHWC16.
fn interleaved_boxes(host: &mut Host<'_>) -> Result<(), String> {
    for (interleave, slice) in [
        (TensorInterleave::Bytes16, 16),
        (TensorInterleave::Bytes32, 32),
    ] {
        let (channels, width, height, images) = (2 * slice / 2, 9, 6, 2);
        let mut random = Rng::with_seed(slice as u64);
        let tensor: Vec<u16> = (0..channels * width * height * images)
            .map(|_| random.u16(..))
            .collect();
        let address = host.buffer(&tensor);
        // The box has one slice of 4 x 3 pixels of an image, and the first row is outside.
        let per_slice = slice / 2;
        let dims = [channels, width, height, images].map(|dim| dim as u64);
        let map = TensorMap::tiled(
            TensorElement::U16,
            address,
            &dims,
            &[per_slice as u32, 4, 3, 1],
        )
        .interleave(interleave)
        .strides(&[
            slice as u64,
            (slice * width) as u64,
            (2 * slice * width * height) as u64,
        ])
        .swizzle(if slice == 32 {
            Swizzle::Bytes32
        } else {
            Swizzle::None
        });
        let bytes = slice * 12;
        let out = host.zeros(bytes);
        let mut kernel = host
            .kernel("boxes")
            .block(32)
            .shared(bytes as u32)
            .map(&map)
            .integer(4);
        for coordinate in [per_slice as i32, 6, -1, 1, 0] {
            kernel = kernel.integer(coordinate);
        }
        kernel.integer(bytes as i32).address(out).run()?;
        let mut expected = vec![0u16; bytes / 2];
        for y in 0..3i32 {
            for x in 0..4 {
                for channel in 0..per_slice {
                    let (column, row) = (6 + x, y - 1);
                    let inside = column < width && row >= 0;
                    let place = (((2 + 1) * height + row.max(0) as usize) * width + column)
                        * per_slice
                        + channel;
                    let at = ((y as usize * 4 + x) * per_slice + channel) * 2;
                    let to = if slice == 32 { swizzled(at, 32) } else { at };
                    expected[to / 2] = if inside { tensor[place] } else { 0 };
                }
            }
        }
        host.expect(out, &expected)
            .map_err(|error| format!("slices of {slice}: {error}"))?;
    }
    Ok(())
}

fn transposed(host: &mut Host<'_>) -> Result<(), String> {
    let (rows, columns) = (68, 44);
    let tensor = words(rows * columns, 1 << 30, 1);
    let (from, to) = (host.buffer(&tensor), host.zeros(rows * columns * 4));
    let map = |address, dims: [usize; 2]| {
        let dims = dims.map(|dim| dim as u64);
        TensorMap::tiled(TensorElement::S32, address, &dims, &[32, 32]).swizzle(Swizzle::Bytes128)
    };
    host.kernel("transposed")
        .grid([2, 3, 1])
        .block(128)
        .map(&map(from, [columns, rows]))
        .map(&map(to, [rows, columns]))
        .run()?;
    let expected: Vec<u32> = (0..rows * columns)
        .map(|i| tensor[i % rows * columns + i / rows])
        .collect();
    host.expect(to, &expected)
}

fn multicast(host: &mut Host<'_>) -> Result<(), String> {
    let (a, b) = (words(64 * 32, 100, 2), words(32 * 32, 100, 3));
    let (first, second, out) = (host.buffer(&a), host.buffer(&b), host.zeros(64 * 32 * 4));
    let map = |address, rows| TensorMap::tiled(TensorElement::U32, address, &[32, rows], &[32, 8]);
    host.kernel("multicast")
        .grid([8, 1, 1])
        .block(64)
        .map(&map(first, 64))
        .map(&map(second, 32))
        .address(out)
        .run()?;
    let sum =
        |row: usize, column: usize| (0..32).map(|k| a[row * 32 + k] * b[column * 32 + k]).sum();
    let expected: Vec<u32> = (0..64 * 32).map(|i| sum(i / 32, i % 32)).collect();
    host.expect(out, &expected)
}

/// Sizes of a convolution of images of words: width, height and depth are 1 where there are fewer dimensions.
struct Convolution {
    channels: usize,
    size: [usize; 3],
    images: usize,
    filters: usize,
    filter: [usize; 3],
}

impl Convolution {
    /// The pixels of the result, with zeros around the images.
    fn result(&self, image: &[u32], filter: &[u32]) -> Vec<u32> {
        let [width, height, depth] = self.size;
        let mut out = Vec::new();
        for pixel in 0..width * height * depth * self.images {
            let place = [
                pixel % width,
                pixel / width % height,
                pixel / width / height % depth,
            ];
            let n = pixel / width / height / depth;
            for f in 0..self.filters {
                let mut sum = 0u32;
                for tap in 0..self.filter.iter().product() {
                    let [taps_x, taps_y, _] = self.filter;
                    let offset = [tap % taps_x, tap / taps_x % taps_y, tap / taps_x / taps_y];
                    let read: Vec<i64> = (0..3)
                        .map(|d| (place[d] + offset[d]) as i64 - self.filter[d] as i64 / 2)
                        .collect();
                    if (0..3).any(|d| read[d] < 0 || read[d] >= self.size[d] as i64) {
                        continue;
                    }
                    let [x, y, z] = [0, 1, 2].map(|d| read[d] as usize);
                    let first = (((n * depth + z) * height + y) * width + x) * self.channels;
                    for c in 0..self.channels {
                        let weight = filter[(tap * self.channels + c) * self.filters + f];
                        sum = sum.wrapping_add(image[first + c].wrapping_mul(weight));
                    }
                }
                out.push(sum);
            }
        }
        out
    }

    fn run(&self, host: &mut Host<'_>, dimensions: usize) -> Result<(), String> {
        let pixels: usize = self.size.iter().product::<usize>() * self.images;
        let taps: usize = self.filter.iter().product();
        let image = words(pixels * self.channels, 50, 4);
        let filter = words(taps * self.channels * self.filters, 50, 5);
        let (from, weights) = (host.buffer(&image), host.buffer(&filter));
        let out = host.zeros(pixels * self.filters * 4);
        let mut dims = vec![self.channels as u64];
        dims.extend(self.size[..dimensions].iter().map(|&size| size as u64));
        dims.push(self.images as u64);
        // The first pixels under a filter are half of it before those of the result: there are as many of both.
        let lower: Vec<i32> = self.filter[..dimensions]
            .iter()
            .map(|&size| -(size as i32 / 2))
            .collect();
        let map = TensorMap::im2col(TensorElement::U32, from, &dims, [&lower, &lower], 8, 32)
            .swizzle(Swizzle::None);
        let mut parameters = Vec::new();
        for value in [
            self.channels,
            self.size[0],
            self.size[1],
            self.size[2],
            self.filters,
            self.filter[0],
            self.filter[1],
            self.filter[2],
        ] {
            parameters.extend((value as u32).to_le_bytes());
        }
        host.kernel(&format!("convolution_{dimensions}d"))
            .grid([pixels as u32 / 32, 1, 1])
            .block(256)
            .map(&map)
            .bytes(parameters)
            .address(weights)
            .address(out)
            .run()?;
        host.expect(out, &self.result(&image, &filter))
    }
}

fn convolution_1d(host: &mut Host<'_>) -> Result<(), String> {
    let sizes = Convolution {
        channels: 16,
        size: [24, 1, 1],
        images: 4,
        filters: 8,
        filter: [5, 1, 1],
    };
    sizes.run(host, 1)
}

fn convolution_2d(host: &mut Host<'_>) -> Result<(), String> {
    let sizes = Convolution {
        channels: 8,
        size: [12, 8, 1],
        images: 2,
        filters: 8,
        filter: [3, 3, 1],
    };
    sizes.run(host, 2)
}

fn convolution_3d(host: &mut Host<'_>) -> Result<(), String> {
    let sizes = Convolution {
        channels: 8,
        size: [4, 6, 4],
        images: 2,
        filters: 8,
        filter: [3, 2, 3],
    };
    sizes.run(host, 3)
}

/// Runs the reduction with a number for two tiles of 8 x 8 elements, at a place where they are partly outside of the tensor.
fn reduce<T: ptx_vm::DeviceValue + PartialEq + core::fmt::Debug>(
    host: &mut Host<'_>,
    element: TensorElement,
    operation: i32,
    [tiles, tensor]: [&[T]; 2],
    combine: impl Fn(T, T) -> T,
) -> Result<(), String> {
    let bytes = size_of::<T>() * 64;
    let (from, to) = (host.buffer(tiles), host.buffer(tensor));
    let source = TensorMap::tiled(element, from, &[8, 8, 2], &[8, 8, 1]);
    let map = TensorMap::tiled(element, to, &[16, 12], &[8, 8]);
    host.kernel("reductions")
        .grid([2, 1, 1])
        .block(32)
        .shared(bytes as u32)
        .map(&source)
        .map(&map)
        .integer(operation)
        .integer(bytes as i32)
        .integer(10)
        .integer(7)
        .run()?;
    let mut expected = tensor.to_vec();
    for tile in tiles.chunks(64) {
        for (index, &value) in tile.iter().enumerate() {
            let (x, y) = (10 + index % 8, 7 + index / 8);
            if x < 16 && y < 12 {
                expected[y * 16 + x] = combine(expected[y * 16 + x], value);
            }
        }
    }
    host.expect(to, &expected)
        .map_err(|error| format!("{element:?}, operation {operation}: {error}"))
}

fn integer_reductions(host: &mut Host<'_>) -> Result<(), String> {
    let (tiles, tensor) = (words(128, 200, 6), words(192, 200, 7));
    let both = [&tiles[..], &tensor[..]];
    reduce(host, TensorElement::U32, 0, both, u32::wrapping_add)?;
    reduce(host, TensorElement::U32, 1, both, u32::min)?;
    reduce(host, TensorElement::U32, 2, both, u32::max)?;
    // The results of these depend on the order of different tiles.
    let equal = [&tiles[..64], &tiles[..64]].concat();
    let both = [&equal[..], &tensor[..]];
    reduce(host, TensorElement::U32, 3, both, |old, limit| {
        if old >= limit { 0 } else { old + 1 }
    })?;
    reduce(host, TensorElement::U32, 4, both, |old, limit| {
        if old == 0 || old > limit {
            limit
        } else {
            old - 1
        }
    })?;
    reduce(host, TensorElement::U32, 5, both, |old, value| old & value)?;
    reduce(host, TensorElement::S32, 6, both, |old, value| old | value)?;
    reduce(host, TensorElement::U32, 7, both, |old, value| old ^ value)?;
    let signed = |numbers: &[u32]| numbers.iter().map(|&x| x as i32 - 100).collect::<Vec<_>>();
    let (tiles, tensor) = (signed(&tiles), signed(&tensor));
    reduce(host, TensorElement::S32, 1, [&tiles, &tensor], i32::min)?;
    reduce(host, TensorElement::S32, 2, [&tiles, &tensor], i32::max)?;
    let wide = |numbers: &[i32]| {
        numbers
            .iter()
            .map(|&x| i64::from(x) << 33)
            .collect::<Vec<_>>()
    };
    let (tiles, tensor) = (wide(&tiles), wide(&tensor));
    reduce(host, TensorElement::S64, 1, [&tiles, &tensor], i64::min)?;
    let unsigned = |numbers: &[i64]| numbers.iter().map(|&x| x as u64).collect::<Vec<_>>();
    let (tiles, tensor) = (unsigned(&tiles), unsigned(&tensor));
    reduce(
        host,
        TensorElement::U64,
        0,
        [&tiles, &tensor],
        u64::wrapping_add,
    )?;
    reduce(host, TensorElement::U64, 2, [&tiles, &tensor], u64::max)
}

fn float_reductions(host: &mut Host<'_>) -> Result<(), String> {
    use super::formats::{BF16, F16};
    let numbers = |seed| {
        words(192, 64, seed)
            .iter()
            .map(|&x| f64::from(x) - 32.0)
            .collect::<Vec<_>>()
    };
    let (tiles, tensor) = (numbers(8), numbers(9));
    let single = |x: &[f64]| x.iter().map(|&x| x as f32).collect::<Vec<_>>();
    reduce(
        host,
        TensorElement::F32,
        0,
        [&single(&tiles[..128]), &single(&tensor)],
        |x, y| x + y,
    )?;
    for (format, element) in [(F16, TensorElement::F16), (BF16, TensorElement::Bf16)] {
        let codes = |x: &[f64]| x.iter().map(|&x| format.code(x) as u16).collect::<Vec<_>>();
        let (tiles, tensor) = (codes(&tiles[..128]), codes(&tensor));
        let both = [&tiles[..], &tensor[..]];
        let apply = |f: fn(f64, f64) -> f64| {
            move |x: u16, y: u16| {
                format.code(f(format.value(x.into()), format.value(y.into()))) as u16
            }
        };
        reduce(host, element, 0, both, apply(|x, y| x + y))?;
        reduce(host, element, 1, both, apply(f64::min))?;
        reduce(host, element, 2, both, apply(f64::max))?;
    }
    Ok(())
}
