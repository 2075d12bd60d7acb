//! The definitions of the PTX ISA manual, element by element.

use ptx_vm::{Swizzle, TensorElement, TensorFill, TensorInterleave, TensorMap};

/// A tensor and a box, from which the map of a test is made.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) element: TensorElement,
    /// The offset of the tensor in memory.
    pub(super) start: usize,
    pub(super) dims: Vec<u64>,
    pub(super) strides: Vec<u64>,
    pub(super) steps: Vec<u32>,
    pub(super) interleave: TensorInterleave,
    pub(super) swizzle: Swizzle,
    pub(super) fill: TensorFill,
}

impl Tensor {
    /// The bytes of a row of a slice.
    pub(super) fn slice_bytes(&self) -> usize {
        match self.interleave {
            TensorInterleave::None => 0,
            TensorInterleave::Bytes16 => 16,
            TensorInterleave::Bytes32 => 32,
        }
    }

    pub(super) fn finish(&self, map: TensorMap) -> TensorMap {
        map.interleave(self.interleave)
            .strides(&self.strides)
            .element_strides(&self.steps)
            .swizzle(self.swizzle)
            .fill(self.fill)
    }

    /// The bit in memory of an element; `None` outside of the tensor.
    pub(super) fn bit(&self, coordinates: &[i64]) -> Option<usize> {
        let inside = coordinates
            .iter()
            .zip(&self.dims)
            .all(|(&c, &dim)| c >= 0 && c < dim as i64);
        if !inside {
            return None;
        }
        let bits = self.element.bits() as usize;
        let channel = coordinates[0] as usize;
        let row: usize = (1..coordinates.len())
            .map(|dim| coordinates[dim] as usize * self.strides[dim - 1] as usize)
            .sum();
        let in_row = match self.slice_bytes() {
            0 => channel * bits,
            bytes => {
                // NC/8DHWC8: a slice contains all pixels of an image.
                let of_slice = bytes * 8 / bits;
                let rank = self.dims.len();
                let slice = self.strides[rank - 3] as usize * self.dims[rank - 2] as usize;
                channel / of_slice * slice * 8 + channel % of_slice * bits
            }
        };
        Some((self.start + row) * 8 + in_row)
    }

    /// The bits of an element that a copy reads: those of memory, or those that fill.
    pub(super) fn read(&self, memory: &[u8], coordinates: &[i64]) -> u64 {
        let bits = self.element.bits() as usize;
        match self.bit(coordinates) {
            Some(bit) => {
                let value = get_bits(memory, bit, bits);
                match self.element {
                    TensorElement::Tf32 | TensorElement::Tf32Ftz => tf32(value as u32).into(),
                    _ => value,
                }
            }
            None => match self.fill {
                TensorFill::Zeros => 0,
                TensorFill::Nan => 0x7ff7_7ff7_7ff7_7ff7 & (u64::MAX >> (64 - bits)),
            },
        }
    }
}

/// Rounds to ten fraction bits, to nearest, away from zero if two numbers are as near.
fn tf32(bits: u32) -> u32 {
    let value = f32::from_bits(bits);
    if value.is_nan() {
        return 0x7fff_e000;
    }
    if value.is_infinite() {
        return bits;
    }
    let (below, above) = (bits & !0x1fff, (bits & !0x1fff) + 0x2000);
    let distance = bits - below;
    if distance >= 0x1000 { above } else { below }
}

pub(super) fn get_bits(memory: &[u8], start: usize, count: usize) -> u64 {
    (0..count).fold(0, |value, i| {
        let bit = start + i;
        value | u64::from(memory[bit / 8] >> (bit % 8) & 1) << i
    })
}

pub(super) fn set_bits(memory: &mut [u8], start: usize, count: usize, value: u64) {
    for i in 0..count {
        let bit = start + i;
        memory[bit / 8] &= !(1 << (bit % 8));
        memory[bit / 8] |= ((value >> i & 1) as u8) << (bit % 8);
    }
}

/// The address of a byte in shared memory: chunks of a line of 128 bytes change places as the tables of the PTX ISA manual show.
pub(super) fn swizzled(swizzle: Swizzle, address: usize) -> usize {
    // Bytes of a chunk, and the number of chunks that change places with each other.
    let (chunk_bytes, span) = match swizzle {
        Swizzle::None => return address,
        Swizzle::Bytes32 | Swizzle::Bytes96 => (16, 2),
        Swizzle::Bytes64 => (16, 4),
        Swizzle::Bytes128 => (16, 8),
        Swizzle::Bytes128Atom32 | Swizzle::Bytes128Atom32Flip8 => (32, 4),
        Swizzle::Bytes128Atom64 => (64, 2),
    };
    let (line, byte) = (address / 128, address % 128);
    let (chunk, mut in_chunk) = (byte / chunk_bytes, byte % chunk_bytes);
    if swizzle == Swizzle::Bytes128Atom32Flip8 && line % 2 == 1 {
        in_chunk = in_chunk / 16 * 16 + (in_chunk % 16 + 8) % 16;
    }
    // Line n of the table has chunk n ^ c at place c.
    let group = chunk / span * span;
    let place = group + ((chunk % span) ^ (line % span));
    line * 128 + place * chunk_bytes + in_chunk
}

/// Coordinates of the elements that a copy accesses, in the order of shared memory before swizzling.
pub(super) type Elements = Vec<Vec<i64>>;

/// The elements of a box in tiled mode.
pub(super) fn tile(tensor: &Tensor, box_dims: &[u32], start: &[i32]) -> Elements {
    let rank = tensor.dims.len();
    let along = |dim: usize| -> Vec<i64> {
        let step = if dim == 0 { 1 } else { tensor.steps[dim] };
        let count = box_dims[dim].div_ceil(step);
        (0..count)
            .map(|i| i64::from(start[dim]) + i64::from(i * step))
            .collect()
    };
    if tensor.interleave == TensorInterleave::None {
        // From the slowest dimension to the fastest one.
        let mut elements: Elements = vec![vec![]];
        for dim in (0..rank).rev() {
            elements = product(&elements, &along(dim));
        }
        return elements;
    }
    let of_slice = (tensor.slice_bytes() * 8 / tensor.element.bits() as usize) as i64;
    let slices = i64::from(box_dims[0]) / of_slice;
    let mut elements = Vec::new();
    for image in along(rank - 1) {
        for slice in (0..slices).step_by(tensor.steps[0] as usize) {
            let mut pixels: Elements = vec![vec![image]];
            for dim in (1..rank - 1).rev() {
                pixels = product(&pixels, &along(dim));
            }
            let first = i64::from(start[0]) + slice * of_slice;
            let channels: Vec<i64> = (first..first + of_slice).collect();
            elements.extend(product(&pixels, &channels));
        }
    }
    elements
}

/// Puts each value before each of the coordinates.
fn product(elements: &Elements, values: &[i64]) -> Elements {
    elements
        .iter()
        .flat_map(|outer| values.iter().map(|value| [&[*value], &outer[..]].concat()))
        .collect()
}

/// The elements of rows, for `tile::gather4` and `tile::scatter4`.
pub(super) fn rows(length: u32, start: &[i32]) -> Elements {
    let rows = start[1..].iter();
    rows.flat_map(|row| {
        (0..i64::from(length)).map(|i| vec![i64::from(start[0]) + i, (*row).into()])
    })
    .collect()
}

/// Images, and the box of a column of pixels in them.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) lower: Vec<i32>,
    pub(super) upper: Vec<i32>,
    pub(super) channels: u32,
    pub(super) pixels: u32,
}

/// The first pixels of filters from a start on, in order: in each dimension of the box from its lower to its upper corner.
fn filters(tensor: &Tensor, column: &Column, start: &[i32], count: usize) -> Vec<Vec<i64>> {
    let last = tensor.dims.len() - 1;
    let dims = column.lower.len();
    let positions = |dim: usize, first: i64| -> Vec<i64> {
        let end = tensor.dims[dim] as i64 - 1 + i64::from(column.upper[dim - 1]);
        (first..=end).step_by(tensor.steps[dim] as usize).collect()
    };
    let lower = |dim: usize| i64::from(column.lower[dim - 1]);
    let mut filters = Vec::new();
    let mut image = i64::from(start[last]);
    while filters.len() < count {
        // The coordinates in the box, the slowest dimension first. The first image begins at the start.
        let mut all: Vec<(Vec<i64>, bool)> = vec![(vec![], image == i64::from(start[last]))];
        for dim in (1..=dims).rev() {
            let mut longer = Vec::new();
            for (outer, is_first) in all {
                let first = if is_first {
                    start[dim].into()
                } else {
                    lower(dim)
                };
                for (i, position) in positions(dim, first).into_iter().enumerate() {
                    longer.push(([&[position], &outer[..]].concat(), is_first && i == 0));
                }
            }
            all = longer;
        }
        filters.extend(all.into_iter().map(|(pixel, _)| {
            let fixed = (dims + 1..last).map(|dim| i64::from(start[dim]));
            pixel.into_iter().chain(fixed).chain([image]).collect()
        }));
        image += 1;
    }
    filters.truncate(count);
    filters
}

/// The elements of pixels; slices come one after the other.
fn elements_of(tensor: &Tensor, pixels: &[Vec<i64>], channels: u32, start: i32) -> Elements {
    let of_slice = match tensor.slice_bytes() {
        0 => channels as usize,
        bytes => bytes * 8 / tensor.element.bits() as usize,
    };
    let channels: Vec<i64> = (0..channels)
        .map(|c| i64::from(start) + i64::from(c))
        .collect();
    let slices = channels.chunks(of_slice).step_by(tensor.steps[0] as usize);
    slices
        .flat_map(|slice| product(&pixels.to_vec(), slice))
        .collect()
}

/// The elements of a column in im2col mode.
pub(super) fn im2col(tensor: &Tensor, column: &Column, start: &[i32], offsets: &[u16]) -> Elements {
    let mut pixels = filters(tensor, column, start, column.pixels as usize);
    for pixel in &mut pixels {
        for (coordinate, offset) in pixel.iter_mut().zip(offsets) {
            *coordinate += i64::from(*offset);
        }
    }
    elements_of(tensor, &pixels, column.channels, start[0])
}

/// The elements of a column in the modes `im2col::w` and `im2col::w::128`.
pub(super) fn wide(
    tensor: &Tensor,
    column: &Column,
    start: &[i32],
    halo: u16,
    offset: u16,
    is_128: bool,
) -> Elements {
    let offset = i32::from(offset);
    let moved = Column {
        lower: vec![column.lower[0] + offset],
        upper: vec![column.upper[0] + offset],
        ..column.clone()
    };
    let mut start = start.to_vec();
    start[1] += offset;
    let count = if is_128 { 128 } else { column.pixels as usize };
    let all = filters(tensor, &moved, &start, count + usize::from(halo));
    let group = if is_128 { 32 } else { count };
    let pixels: Vec<Vec<i64>> = (0..count / group)
        .flat_map(|i| all[i * group..(i + 1) * group + usize::from(halo)].to_vec())
        .collect();
    elements_of(tensor, &pixels, column.channels, start[0])
}

/// Shared memory after a copy of elements to it.
pub(super) fn loaded(
    tensor: &Tensor,
    elements: &Elements,
    memory: &[u8],
    shared: &[u8],
    shift: u32,
) -> Vec<u8> {
    let bits = tensor.element.bits() as usize;
    let mut after = shared.to_vec();
    for (index, coordinates) in elements.iter().enumerate() {
        let value = tensor.read(memory, coordinates);
        for bit in 0..bits {
            let place = place(tensor, index, bit, false, shift);
            set_bits(&mut after, place, 1, value >> bit & 1);
        }
    }
    after
}

/// The bit of shared memory that contains a bit of an element. `stores`: the copy reads shared memory.
pub(super) fn place(tensor: &Tensor, index: usize, bit: usize, stores: bool, shift: u32) -> usize {
    let bits = tensor.element.bits() as usize;
    // Groups of 16 elements have 16 bytes.
    let (group, in_group) = (index / 16 * 128, index % 16);
    let linear = match tensor.element {
        TensorElement::B6x16P32 if stores => index * 8 + bit,
        TensorElement::B6x16P32 | TensorElement::B4x16P64 => group + in_group * bits + bit,
        _ => index * bits + bit,
    };
    swizzled(tensor.swizzle, shift as usize + linear / 8) * 8 + linear % 8
}

/// Combines an element of the tensor with one of shared memory.
pub(super) type Combine<'a> = &'a dyn Fn(u64, u64) -> u64;

/// The memory of a tensor after a copy of elements from shared memory, or after a reduction.
pub(super) fn stored(
    tensor: &Tensor,
    elements: &Elements,
    memory: &[u8],
    shared: &[u8],
    shift: u32,
    combine: Combine<'_>,
) -> Vec<u8> {
    let bits = tensor.element.bits() as usize;
    let mut after = memory.to_vec();
    for (index, coordinates) in elements.iter().enumerate() {
        let Some(target) = tensor.bit(coordinates) else {
            continue;
        };
        let value = (0..bits).fold(0, |value, bit| {
            let place = place(tensor, index, bit, true, shift);
            value | get_bits(shared, place, 1) << bit
        });
        let old = get_bits(&after, target, bits);
        set_bits(&mut after, target, bits, combine(old, value));
    }
    after
}
